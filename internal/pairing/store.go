package pairing

import (
	"context"
	"encoding/json"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Values of the column place, which distinguishes the current device from its replacement.
const (
	placeCurrent = "current"
	placeNext    = "next"
)

const columns = `place, device_id, public_key, sealed_key, sealed_token, token_at, gateway, made_at, admitted, admitted_at, replaced_id, answer`

func scan(row db.Row) (r stored, err error) {
	var said string
	var made clock.Time
	d := &r.device
	err = row.Scan(&r.place, &d.ID, &d.PublicKey, &r.sealedKey, &r.sealedToken, &r.tokenAt, &r.gateway, &made, &r.admitted,
		&r.admittedAt, &r.replaced, &said)
	if err != nil {
		return r, err
	}
	d.MadeAt = &made
	return r, json.Unmarshal([]byte(said), &r.answer)
}

// load reads the current device and its replacement; each is nil if there is no such device.
func load(ctx context.Context, q db.Queryer) (current, next *stored, err error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM pairing_devices ORDER BY place`)
	list, err := db.All(rows, err, scan)
	for i := range list {
		if list[i].place == placeCurrent {
			current = &list[i]
		} else {
			next = &list[i]
		}
	}
	return current, next, err
}

// insert adds a device. The client uses the current device immediately, so its askAt is nil. For a replacement device,
// askAt is the time of the first attempt to connect with it.
func insert(ctx context.Context, tx *db.Tx, r stored, now time.Time, askAt *time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO pairing_devices (`+columns+`, ask_at) VALUES (?, ?, ?, ?, '', NULL, '', ?, '', NULL, '', '{}', ?)`,
		r.place, r.device.ID, r.device.PublicKey, r.sealedKey, clock.At(now), askAt)
	return err
}

// setToken stores the token of a device, or removes it if sealed is empty.
func setToken(ctx context.Context, tx *db.Tx, place, sealed, gateway string, at *clock.Time) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET sealed_token = ?, gateway = ?, token_at = ? WHERE place = ?`,
		sealed, gateway, at, place)
	return err
}

// setAdmitted stores how the gateway accepted a device: with or without approval.
func setAdmitted(ctx context.Context, tx *db.Tx, place string, how State, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET admitted = ?, admitted_at = ? WHERE place = ?`, string(how),
		clock.At(at), place)
	return err
}

// setSealed replaces the encrypted secrets of a device.
func setSealed(ctx context.Context, tx *db.Tx, place, sealedKey, sealedToken string) error {
	_, err := tx.Exec(ctx, `UPDATE pairing_devices SET sealed_key = ?, sealed_token = ? WHERE place = ?`, sealedKey,
		sealedToken, place)
	return err
}

// claimNext claims the replacement device until the given time, so that only the caller connects
// with it. It returns false if there is no replacement device, if the next attempt is not due yet,
// or if another replica has claimed the device.
func claimNext(ctx context.Context, tx *db.Tx, now, until time.Time) (r stored, ok bool, err error) {
	r, err = scan(tx.QueryRow(ctx, `
		UPDATE pairing_devices SET ask_at = ? WHERE place = 'next' AND (ask_at <= ? OR ask_at > ?) RETURNING `+columns, until, now, until.Add(clock.Skew)))
	if db.IsNotFound(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// setAnswer stores the gateway's response to the replacement device, and the time of the next attempt.
func setAnswer(ctx context.Context, tx *db.Tx, deviceID string, a answer, askAt time.Time) error {
	said, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE pairing_devices SET answer = ?, ask_at = ? WHERE place = 'next' AND device_id = ?`,
		string(said), askAt, deviceID)
	return err
}

// promote makes the replacement device the current one.
func promote(ctx context.Context, tx *db.Tx, deviceID, replaced string) error {
	if err := remove(ctx, tx, placeCurrent); err != nil {
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
