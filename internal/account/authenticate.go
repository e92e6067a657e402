package account

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// This file contains the database reads that authenticate every request.

// caller is the account that sent a request.
type caller struct {
	actor.Actor
	active bool
	key    Key        // the API key of the request; zero if the request has a token instead
	used   clock.Time // when the token's device was last used
}

const callerColumns = `u.id, u.name, u.role, u.agent_id, u.active, ` + event.TaskVersion

// scanCaller scans callerColumns into c, and any further columns into more.
func scanCaller(row db.Row, more ...any) (c caller, err error) {
	var agent *string
	err = row.Scan(slices.Concat([]any{&c.ID, &c.Name, &c.Role, &agent, &c.active, &c.TaskVersion}, more)...)
	if agent != nil {
		c.AgentID = *agent
	}
	return c, err
}

// findCaller returns the account with the given ID, if the device is signed in to it.
func findCaller(ctx context.Context, q db.Queryer, id, device string) (caller, error) {
	var used clock.Time
	c, err := scanCaller(q.QueryRow(ctx, `
		SELECT `+callerColumns+`, s.last_used_at
		FROM sign_ins s JOIN users u ON u.id = s.user_id WHERE s.id = ? AND s.user_id = ?`, device, id), &used)
	c.used, c.Device = used, device
	return c, err
}

// findKeyHolder returns the account whose API key has the given digest. The result's key field
// contains that key.
func findKeyHolder(ctx context.Context, q db.Queryer, digest string) (caller, error) {
	var k Key
	c, err := scanCaller(q.QueryRow(ctx, `
		SELECT `+callerColumns+`, k.id, k.expires_at, k.last_used_at, k.revoked_at
		FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.digest = ?`, digest),
		&k.ID, &k.ExpiresAt, &k.LastUsedAt, &k.RevokedAt)
	c.key = k
	return c, err
}

// maxTokens is the capacity of the token cache. It is large enough for several tokens per signed-in
// user.
const maxTokens = 1000

// tokens caches tokens whose signature has been verified. The token's expiry and the account's
// permissions are still checked on every request.
type tokens struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]cachedToken // by digest, so that no token stays in memory
}

// cachedToken holds the claims of a verified token.
type cachedToken struct {
	subject string
	device  string // the jti
	expires time.Time
}

func (t *tokens) find(token string) (cachedToken, bool) {
	sum := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.known[sum]
	return s, ok
}

// keep adds a token to the cache. If the cache is full, it is emptied first; tokens that are still
// in use are added again on their next request.
func (t *tokens) keep(token string, s cachedToken) {
	sum := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTokens {
		t.known = map[[sha256.Size]byte]cachedToken{}
	}
	t.known[sum] = s
}
