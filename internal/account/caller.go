package account

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// What every request asks.

// caller is what a request needs to know of who sent it.
type caller struct {
	actor.Actor
	active bool
	key    Key // that they sent, if it was one
}

const callerColumns = `u.id, u.name, u.role, u.agent_id, u.active, ` + event.LogVersionColumns

// scanCaller reads callerColumns, and what else there is to them.
func scanCaller(row db.Row, more ...any) (c caller, err error) {
	var agent *string
	var mark event.LogVersion
	err = row.Scan(slices.Concat([]any{&c.ID, &c.Name, &c.Role, &agent, &c.active}, mark.Columns(), more)...)
	if agent != nil {
		c.AgentID = *agent
	}
	c.AsOf = mark.String()
	return c, err
}

// findCaller reads who a token was issued to.
func findCaller(ctx context.Context, q db.Queryer, id string) (caller, error) {
	return scanCaller(q.QueryRow(ctx, `SELECT `+callerColumns+` FROM users u WHERE u.id = ?`, id))
}

// findKeyHolder reads who has a key.
func findKeyHolder(ctx context.Context, q db.Queryer, digest string) (caller, error) {
	var k Key
	c, err := scanCaller(q.QueryRow(ctx, `
		SELECT `+callerColumns+`, k.id, k.expires_at, k.last_used_at, k.revoked_at
		FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.digest = ?`, digest),
		&k.ID, &k.ExpiresAt, &k.LastUsedAt, &k.RevokedAt)
	c.key = k
	return c, err
}

// mostTokens is how many tokens are remembered: some for each of those who are
// signed in.
const mostTokens = 1000

// tokens are those whose signature was found good. A signature stays good; when
// a token ends is compared each time, and what its account may do is read.
type tokens struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]signed // by a digest: the tokens themselves are nowhere
}

// signed is what a token says.
type signed struct {
	subject string
	expires time.Time
}

func (t *tokens) find(token string) (signed, bool) {
	sum := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.known[sum]
	return s, ok
}

// keep remembers a token, and forgets all others when they are too many: those
// in use are back at once.
func (t *tokens) keep(token string, s signed) {
	sum := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= mostTokens {
		t.known = map[[sha256.Size]byte]signed{}
	}
	t.known[sum] = s
}
