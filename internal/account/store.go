package account

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/plaintext"
)

// row is a user together with the password hash. The hash must not leave this package.
type row struct {
	User
	hash string
}

const columns = `id, email, name, role, agent_id, active, avatar_url, last_login_at, created_at, updated_at, version, password_hash`

func scan(r db.Row) (row, error) {
	var u row
	err := r.Scan(&u.ID, &u.Email, &u.Name, &u.Role, &u.AgentID, &u.Active, &u.AvatarURL,
		&u.LastLoginAt, &u.CreatedAt, &u.UpdatedAt, &u.Version, &u.hash)
	return u, err
}

func scanUser(r db.Row) (User, error) {
	u, err := scan(r)
	return u.User, err
}

// where returns the row of the user that matches an SQL condition. If no user matches, it
// returns ErrNotFound.
func where(ctx context.Context, q db.Queryer, condition string, arg any) (row, error) {
	u, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM users WHERE `+condition, arg))
	if db.IsNotFound(err) {
		return row{}, ErrNotFound
	}
	return u, err
}

// findEmail returns the user with the given email.
func findEmail(ctx context.Context, q db.Queryer, email string) (row, error) {
	key := emailKey(email)
	if key == "" {
		return row{}, ErrNotFound
	}
	return where(ctx, q, `email_key = ?`, key)
}

// find returns a user by ID or email.
func find(ctx context.Context, q db.Queryer, ref string) (row, error) {
	if strings.Contains(plaintext.Fold(ref), "@") {
		return findEmail(ctx, q, ref)
	}
	if !utf8.ValidString(ref) || strings.ContainsRune(ref, 0) {
		return row{}, ErrNotFound // PostgreSQL rejects it as a parameter
	}
	return where(ctx, q, `id = ?`, ref)
}

// findAgent returns the active account of the agent with the given ID.
func findAgent(ctx context.Context, q db.Queryer, id string) (row, error) {
	return where(ctx, q, `active AND agent_id = ?`, id)
}

func findOwner(ctx context.Context, q db.Queryer) (row, error) {
	return where(ctx, q, `role = ?`, actor.Owner)
}

// users defines the list of accounts.
var users = list.List[User]{
	Table: `users`, Columns: columns, Scan: scanUser, Usual: "created",
	Sorts: map[string]list.Sort[User]{
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(u User) []any { return []any{u.CreatedAt.Time, u.ID} },
		},
		"name": {
			Columns: []string{`name_key`, `id`}, Position: func(u User) []any { return []any{plaintext.Fold(u.Name), u.ID} },
		},
		"email": {Columns: []string{`email_key`}, Position: func(u User) []any { return []any{plaintext.Fold(u.Email)} }},
	},
}

// people defines the list of all accounts, with only the fields that every user can read.
var people = list.List[Person]{
	Table: `users`, Columns: `id, name, active`, Usual: "name",
	Scan: func(r db.Row) (p Person, err error) { return p, r.Scan(&p.ID, &p.Name, &p.Active) },
	Sorts: map[string]list.Sort[Person]{
		"name": {
			Columns: []string{`name_key`, `id`}, Position: func(p Person) []any { return []any{plaintext.Fold(p.Name), p.ID} },
		},
	},
}

// where returns the filter as an SQL condition.
func (f Filter) where() list.Where {
	var w list.Where
	list.Is(&w, `role`, f.Role)
	list.Is(&w, `agent_id`, f.AgentID)
	list.Has(&w, `(name_key || ' ' || email_key)`, f.Text)
	if f.Active != nil {
		w.And(map[bool]string{true: `active`, false: `NOT active`}[*f.Active])
	}
	return w
}

func agentUsers(ctx context.Context, q db.Queryer) ([]AgentUser, error) {
	rows, err := q.Query(ctx,
		`SELECT id, agent_id, name FROM users WHERE active AND agent_id IS NOT NULL ORDER BY agent_id`)
	return db.All(rows, err, func(r db.Row) (a AgentUser, err error) { return a, r.Scan(&a.UserID, &a.AgentID, &a.Name) })
}

// nameTaken reports whether another account has a name that looks the same as u's. It includes
// deactivated accounts, because their names still appear on past work. An agent's accounts can share
// a name.
func nameTaken(ctx context.Context, q db.Queryer, u User) (bool, error) {
	var n int
	err := q.QueryRow(ctx,
		`SELECT COUNT(*) FROM users WHERE name_key = ? AND id <> ? AND (agent_id IS NULL OR agent_id <> ?)`,
		plaintext.Fold(u.Name), u.ID, cmp.Or(u.AgentID, new(""))).Scan(&n)
	return n > 0, err
}

func insert(ctx context.Context, tx *db.Tx, u row) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO users (id, email, email_key, name, name_key, role, agent_id, active, avatar_url, created_at, updated_at, version, password_hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		u.ID, u.Email, plaintext.Fold(u.Email), u.Name, plaintext.Fold(u.Name), u.Role, u.AgentID, u.Active, u.AvatarURL,
		u.CreatedAt.Time, u.UpdatedAt.Time, u.Version, u.hash)
	return err
}

// update writes all columns that a change can affect.
func update(ctx context.Context, tx *db.Tx, u row) error {
	_, err := tx.Exec(ctx, `
		UPDATE users SET email = ?, email_key = CASE WHEN email = ? THEN email_key ELSE ? END, name = ?, name_key = ?, role = ?, agent_id = ?, active = ?, avatar_url = ?,
			updated_at = ?, version = ?, password_hash = ?
		WHERE id = ?`,
		u.Email, u.Email, plaintext.Fold(u.Email), u.Name, plaintext.Fold(u.Name), u.Role, u.AgentID, u.Active, u.AvatarURL,
		u.UpdatedAt.Time, u.Version, u.hash, u.ID)
	return err
}

// touch stores the time of the user's last login. It stores nothing and returns false if the
// account has been deactivated or its password has changed since u was read.
func touch(ctx context.Context, tx *db.Tx, u row, at clock.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE users SET last_login_at = ? WHERE id = ? AND active AND password_hash = ?`, at.Time,
		u.ID, u.hash)
	return n == 1, err
}

// findTally returns the tally of failed logins for a subject, which is an account or an IP address.
// If there is none, it returns the zero tally.
func findTally(ctx context.Context, q db.Queryer, subject string) (tally, error) {
	var t tally
	var until *clock.Time
	err := q.QueryRow(ctx, `SELECT failures, last_at, blocked_until FROM login_failures WHERE subject = ?`, subject).
		Scan(&t.failures, &t.lastAt, &until)
	if db.IsNotFound(err) {
		return tally{}, nil
	}
	if until != nil {
		t.blockedUntil = until.Time
	}
	return t, err
}

func putTally(ctx context.Context, tx *db.Tx, subject string, t tally) error {
	var until *time.Time
	if !t.blockedUntil.IsZero() {
		until = &t.blockedUntil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO login_failures (subject, failures, last_at, blocked_until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subject) DO UPDATE SET
			failures = excluded.failures, last_at = excluded.last_at, blocked_until = excluded.blocked_until`,
		subject, t.failures, t.lastAt, until)
	return err
}

func dropTally(ctx context.Context, tx *db.Tx, subject string) error {
	_, err := tx.Exec(ctx, `DELETE FROM login_failures WHERE subject = ?`, subject)
	return err
}

func purgeTallies(ctx context.Context, tx *db.Tx, now time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM login_failures WHERE last_at <= ? OR last_at > ?`,
		now.Add(-forgetAfter), now.Add(forgetAfter))
	return err
}

// findSetupTokens returns the digests of all valid setup tokens.
func findSetupTokens(ctx context.Context, q db.Queryer, now time.Time) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT digest FROM setup_tokens WHERE expires_at > ? AND expires_at <= ?`, now,
		now.Add(SetupLife+clock.Skew))
	return db.All(rows, err, func(r db.Row) (digest string, err error) { return digest, r.Scan(&digest) })
}

func putSetupToken(ctx context.Context, tx *db.Tx, digest string, until time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO setup_tokens (digest, expires_at) VALUES (?, ?)`, digest, until)
	return err
}

func purgeSetupTokens(ctx context.Context, tx *db.Tx, now time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM setup_tokens WHERE expires_at <= ? OR expires_at > ?`, now,
		now.Add(SetupLife+clock.Skew))
	return err
}

func dropSetupTokens(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM setup_tokens`)
	return err
}

const keyColumns = `id, name, hint, created_at, expires_at, last_used_at, revoked_at`

func scanKey(r db.Row) (k Key, err error) {
	return k, r.Scan(&k.ID, &k.Name, &k.Hint, &k.CreatedAt, &k.ExpiresAt, &k.LastUsedAt, &k.RevokedAt)
}

// keys defines the list of a user's API keys.
var keys = list.List[Key]{
	Table: `api_keys`, Columns: keyColumns, Scan: scanKey, Usual: "created",
	Sorts: map[string]list.Sort[Key]{
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(k Key) []any { return []any{k.CreatedAt.Time, k.ID} },
		},
	},
}

// findKey returns one of a user's API keys, or ErrKeyNotFound.
func findKey(ctx context.Context, q db.Queryer, userID, id string) (Key, error) {
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return Key{}, ErrKeyNotFound // PostgreSQL rejects it as a parameter
	}
	k, err := scanKey(q.QueryRow(ctx, `SELECT `+keyColumns+` FROM api_keys WHERE id = ? AND user_id = ?`, id, userID))
	if db.IsNotFound(err) {
		return Key{}, ErrKeyNotFound
	}
	return k, err
}

func insertKey(ctx context.Context, tx *db.Tx, userID string, k Key, digest string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO api_keys (id, user_id, name, digest, hint, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		k.ID, userID, k.Name, digest, k.Hint, k.CreatedAt.Time, timePtr(k.ExpiresAt))
	return err
}

// timePtr converts an optional time to a query parameter.
func timePtr(t *clock.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// revokeKey revokes an API key. It returns false if the key was already revoked.
func revokeKey(ctx context.Context, tx *db.Tx, id string, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, at, id)
	return n == 1, err
}

// touchKey stores the time of an API key's last use, unless a later time is already stored.
func touchKey(ctx context.Context, tx *db.Tx, id string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ? OR last_used_at > ?)`, at, id, at, at.Add(clock.Skew))
	return err
}

// touchTools stores the time at which an API key last called the tools, unless a later time is already stored.
func touchTools(ctx context.Context, tx *db.Tx, id string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE api_keys SET tools_used_at = ? WHERE id = ? AND (tools_used_at IS NULL OR tools_used_at < ? OR tools_used_at > ?)`, at, id, at, at.Add(clock.Skew))
	return err
}

// usableKeys returns, for each agent with an active account that has a usable key, when such a key last
// called the tools; nil if none did.
func usableKeys(ctx context.Context, q db.Queryer, now time.Time) (map[string]*clock.Time, error) {
	rows, err := q.Query(ctx, `
		SELECT u.agent_id, k.tools_used_at FROM api_keys k JOIN users u ON u.id = k.user_id
		WHERE u.active AND u.agent_id IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`, now)
	type key struct {
		agentID string
		used    *clock.Time
	}
	all, err := db.All(rows, err, func(r db.Row) (k key, err error) { return k, r.Scan(&k.agentID, &k.used) })
	last := map[string]*clock.Time{}
	for _, k := range all {
		if was := last[k.agentID]; was == nil || k.used != nil && k.used.After(was.Time) {
			last[k.agentID] = k.used
		}
	}
	return last, err
}
