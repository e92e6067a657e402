package settings

import (
	"context"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

func load(ctx context.Context, q db.Queryer) (w stored, err error) {
	err = q.QueryRow(ctx, `SELECT gateway_url, gateway_token, gateway_token_for, updated_at, version FROM settings WHERE id = 1`).
		Scan(&w.url, &w.sealed, &w.tokenFor, &w.updatedAt, &w.version)
	return w, err
}

// save stores a change of the settings as a new version.
func save(ctx context.Context, tx *db.Tx, w stored, at clock.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE settings SET gateway_url = ?, gateway_token = ?, gateway_token_for = ?, updated_at = ?, version = version + 1 WHERE id = 1`,
		w.url, w.sealed, w.tokenFor, at)
	return err
}

// setSealed replaces the encrypted token if it is still the given one. This is no new version.
func setSealed(ctx context.Context, tx *db.Tx, was, sealed string) error {
	_, err := tx.Exec(ctx, `UPDATE settings SET gateway_token = ? WHERE id = 1 AND gateway_token = ?`, sealed, was)
	return err
}
