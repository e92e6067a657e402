package settings

import (
	"context"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

func load(ctx context.Context, q db.Queryer) (w stored, err error) {
	err = q.QueryRow(ctx, `SELECT gateway_url, gateway_token, gateway_token_for, holds_in_runtime, updated_at, version FROM settings WHERE id = 1`).
		Scan(&w.url, &w.sealed, &w.tokenFor, &w.holds, &w.updatedAt, &w.version)
	return w, err
}

// save stores a change of the settings as a new version.
func save(ctx context.Context, tx *db.Tx, w stored, at clock.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE settings SET gateway_url = ?, gateway_token = ?, gateway_token_for = ?, holds_in_runtime = ?, updated_at = ?, version = version + 1 WHERE id = 1`,
		w.url, w.sealed, w.tokenFor, w.holds, at)
	return err
}

func loadDays(ctx context.Context, q db.Queryer) (map[string]int, error) {
	rows, err := q.Query(ctx, `SELECT setting, days FROM retention_days`)
	out := map[string]int{}
	_, err = db.All(rows, err, func(r db.Row) (setting string, err error) {
		var days int
		err = r.Scan(&setting, &days)
		out[setting] = days
		return setting, err
	})
	return out, err
}

func saveDays(ctx context.Context, tx *db.Tx, setting string, days int) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO retention_days (setting, days) VALUES (?, ?) ON CONFLICT (setting) DO UPDATE SET days = excluded.days`,
		setting, days)
	return err
}

// setSealed replaces the encrypted token if it is still the given one. This is no new version.
func setSealed(ctx context.Context, tx *db.Tx, was, sealed string) error {
	_, err := tx.Exec(ctx, `UPDATE settings SET gateway_token = ? WHERE id = 1 AND gateway_token = ?`, sealed, was)
	return err
}
