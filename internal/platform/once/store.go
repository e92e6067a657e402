package once

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/db"
)

// look returns the request digest and the resource name that are stored with an idempotency key, if
// the key is valid now. A key from a time that is further away than Life was stored while the clock was wrong.
func look(ctx context.Context, q db.Queryer, name string, now time.Time) (digest, made string, err error) {
	err = q.QueryRow(ctx, `SELECT digest, made FROM idempotency_keys WHERE name = ? AND at > ? AND at < ?`, name,
		now.Add(-Life), now.Add(Life)).Scan(&digest, &made)
	return digest, made, err
}

// keep stores a key. It replaces an expired key that has not been purged yet.
func keep(ctx context.Context, tx *db.Tx, r *Request, made string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO idempotency_keys (name, digest, made, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, made = excluded.made, at = excluded.at`,
		r.name, r.digest, made, now)
	return err
}

// batch is the maximum number of keys deleted per transaction. It is small so that
// other writers do not wait long.
const batch = 500

// Purge deletes expired keys.
func Purge(ctx context.Context, d *db.DB, now time.Time) error {
	for {
		var n int64
		err := d.Tx(ctx, func(tx *db.Tx) (err error) {
			n, err = tx.Exec(ctx, `
				DELETE FROM idempotency_keys WHERE name IN (SELECT name FROM (
					SELECT name FROM idempotency_keys WHERE at <= ? UNION ALL
					SELECT name FROM idempotency_keys WHERE at >= ?) AS expired LIMIT ?)`, now.Add(-Life), now.Add(Life), batch)
			return err
		})
		if err != nil {
			return fmt.Errorf("purge idempotency keys: %w", err)
		}
		if n < batch {
			return nil
		}
	}
}
