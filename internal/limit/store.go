package limit

import (
	"context"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const columns = `id, scope, scope_id, measure, span, timezone, amount, act, created_at, updated_at, version`

func scan(r db.Row) (l Limit, err error) {
	err = r.Scan(&l.ID, &l.Scope, &l.ScopeID, &l.Measure, &l.Window, &l.Timezone, &l.amount, &l.Action, &l.CreatedAt,
		&l.UpdatedAt, &l.Version)
	if err != nil {
		return l, err
	}
	return l.complete()
}

func list(ctx context.Context, q db.Queryer) ([]Limit, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM spend_limits ORDER BY created_at, id`)
	return db.All(rows, err, scan)
}

func find(ctx context.Context, q db.Queryer, id string) (Limit, error) {
	l, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM spend_limits WHERE id = ?`, id))
	if db.IsNotFound(err) {
		return l, ErrNotFound
	}
	return l, err
}

func insert(ctx context.Context, tx *db.Tx, l Limit) error {
	_, err := tx.Exec(ctx, `INSERT INTO spend_limits (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, l.Scope, l.ScopeID, l.Measure, l.Window, l.Timezone, l.amount, l.Action, l.CreatedAt, l.UpdatedAt, l.Version)
	return err
}

// update stores a changed limit. It reports whether the limit still had the version before.
func update(ctx context.Context, tx *db.Tx, l Limit) (bool, error) {
	n, err := tx.Exec(ctx,
		`UPDATE spend_limits SET amount = ?, act = ?, updated_at = ?, version = ? WHERE id = ? AND version = ?`, l.amount,
		l.Action, l.UpdatedAt, l.Version, l.ID, l.Version-1)
	return n == 1, err
}

func remove(ctx context.Context, tx *db.Tx, id string) error {
	for _, query := range []string{
		`DELETE FROM spend_limit_crossings WHERE limit_id = ?`, `DELETE FROM spend_limit_allowances WHERE limit_id = ?`,
		`DELETE FROM spend_limits WHERE id = ?`,
	} {
		if _, err := tx.Exec(ctx, query, id); err != nil {
			return err
		}
	}
	return nil
}

// allowance returns what people allowed in addition in a period.
func allowance(ctx context.Context, q db.Queryer, l Limit, p period) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT amount FROM spend_limit_allowances WHERE limit_id = ? AND period = ?`,
		l.ID, p.key).Scan(&n)
	if db.IsNotFound(err) {
		return 0, nil
	}
	return n, err
}

func addAllowance(ctx context.Context, tx *db.Tx, l Limit, p period, n int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO spend_limit_allowances (limit_id, period, amount) VALUES (?, ?, ?)
		ON CONFLICT (limit_id, period) DO UPDATE SET amount = spend_limit_allowances.amount + excluded.amount`, l.ID, p.key, n)
	return err
}

// crossing is usage that crossed a level of a limit.
type crossing struct {
	level, bar, used int64
	at               clock.Time
}

// insertCrossing reports whether the crossing is new.
func insertCrossing(ctx context.Context, tx *db.Tx, l Limit, p period, c crossing) (bool, error) {
	var ends *clock.Time
	if !p.to.IsZero() {
		ends = clock.Ptr(p.to)
	}
	n, err := tx.Exec(ctx, `INSERT INTO spend_limit_crossings (limit_id, period, level, amount, used, at, ends_at, closed)
		VALUES (?, ?, ?, ?, ?, ?, ?, FALSE) ON CONFLICT DO NOTHING`, l.ID, p.key, c.level, c.bar, c.used, c.at, ends)
	return n == 1, err
}

// lastPeriod returns the key of the period of the last crossing of a limit, or "".
func lastPeriod(ctx context.Context, q db.Queryer, id string) (key string, err error) {
	err = q.QueryRow(ctx, `SELECT period FROM spend_limit_crossings WHERE limit_id = ? ORDER BY at DESC LIMIT 1`,
		id).Scan(&key)
	if db.IsNotFound(err) {
		return "", nil
	}
	return key, err
}

// ended is a period that has ended and in which usage crossed a level of a limit.
type ended struct{ limitID, period string }

func endedPeriods(ctx context.Context, q db.Queryer, now clock.Time) ([]ended, error) {
	rows, err := q.Query(ctx, `SELECT DISTINCT limit_id, period FROM spend_limit_crossings WHERE NOT closed AND (ends_at <= ? OR ends_at IS NOT NULL AND at > ?) LIMIT 100`, now, now.Add(clock.Skew))
	return db.All(rows, err, func(r db.Row) (e ended, err error) { return e, r.Scan(&e.limitID, &e.period) })
}

func closePeriod(ctx context.Context, tx *db.Tx, e ended) error {
	_, err := tx.Exec(ctx, `UPDATE spend_limit_crossings SET closed = TRUE WHERE limit_id = ? AND period = ?`,
		e.limitID, e.period)
	return err
}
