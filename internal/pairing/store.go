package pairing

import (
	"context"
	"encoding/json"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// The places of a device.
const (
	current = "current"
	next    = "next"
)

// lockName makes the transactions that write devices run one after the other.
const lockName = "pairing"

const columns = `place, device_id, public_key, sealed_key, sealed_token, token_at, gateway, made_at, admitted, admitted_at, replaced_id, answer`

func scan(row db.Row) (r stored, err error) {
	var said string
	var made clock.Time
	d := &r.device
	err = row.Scan(&r.place, &d.ID, &d.PublicKey, &r.sealedKey, &r.sealedToken, &r.tokenAt, &r.gateway, &made, &r.admitted, &r.admittedAt, &r.replaced, &said)
	if err != nil {
		return r, err
	}
	d.MadeAt = &made
	return r, json.Unmarshal([]byte(said), &r.answer)
}

// all reads the devices: the current one and the next, each nil when there is none.
func all(ctx context.Context, q db.Queryer) (is, then *stored, err error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM pairing_devices ORDER BY place`)
	list, err := db.All(rows, err, scan)
	for i := range list {
		if list[i].place == current {
			is = &list[i]
		} else {
			then = &list[i]
		}
	}
	return is, then, err
}

// insert adds a device. askAt is when it is to be introduced, nil for one that
// the client itself shows.
func insert(ctx context.Context, tx *db.Tx, r stored, now time.Time, askAt *time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO pairing_devices (`+columns+`, ask_at) VALUES (?, ?, ?, ?, '', NULL, '', ?, '', NULL, '', '{}', ?)`,
		r.place, r.device.ID, r.device.PublicKey, r.sealedKey, clock.At(now), askAt)
	return err
}

// setToken stores the token of a device, or that there is none.
func setToken(ctx context.Context, tx *db.Tx, place, sealed, gateway string, at *clock.Time) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET sealed_token = ?, gateway = ?, token_at = ? WHERE place = ?`, sealed, gateway, at, place)
	return err
}

// setAdmitted notes how the gateway let a device in.
func setAdmitted(ctx context.Context, tx *db.Tx, place string, how State, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET admitted = ?, admitted_at = ? WHERE place = ?`, string(how), clock.At(at), place)
	return err
}

// setSealed stores the secrets of a device anew.
func setSealed(ctx context.Context, tx *db.Tx, place, sealedKey, sealedToken string) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET sealed_key = ?, sealed_token = ? WHERE place = ?`, sealedKey, sealedToken, place)
	return err
}

// claimNext takes the turn to introduce the next device, until a time; false when
// there is none, or it is not due, or another process has taken the turn.
func claimNext(ctx context.Context, tx *db.Tx, now, until time.Time) (r stored, ok bool, err error) {
	r, err = scan(tx.QueryRow(ctx, `
		UPDATE pairing_devices SET ask_at = ? WHERE place = 'next' AND ask_at <= ? RETURNING `+columns, until, now))
	if db.IsNotFound(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// setAnswer notes what the gateway said of the next device.
func setAnswer(ctx context.Context, tx *db.Tx, deviceID string, a answer, askAt time.Time) error {
	said, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE pairing_devices SET answer = ?, ask_at = ? WHERE place = 'next' AND device_id = ?`, string(said), askAt, deviceID)
	return err
}

// promote makes the next device the current one.
func promote(ctx context.Context, tx *db.Tx, deviceID, replaced string) error {
	if err := remove(ctx, tx, current); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE pairing_devices SET place = 'current', replaced_id = ?, answer = '{}', ask_at = NULL WHERE place = 'next' AND device_id = ?`, replaced, deviceID)
	return err
}

func remove(ctx context.Context, tx *db.Tx, place string) error {
	_, err := tx.Exec(ctx, `DELETE FROM pairing_devices WHERE place = ?`, place)
	return err
}
