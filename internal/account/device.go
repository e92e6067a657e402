package account

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
)

// Device is a browser or program that is signed in to an account: one token that works. API keys
// are not devices.
type Device struct {
	ID         string     `json:"id" doc:"The token's jti."`
	Name       string     `json:"device" doc:"The browser and system according to the User-Agent header, which any program can choose." example:"Firefox on Linux"`
	UserAgent  string     `json:"user_agent" doc:"The User-Agent header at sign-in, shortened."`
	CreatedAt  clock.Time `json:"created_at" doc:"When it signed in."`
	LastUsedAt clock.Time `json:"last_used_at" doc:"When it was last used, accurate to about an hour."`
	ExpiresAt  clock.Time `json:"expires_at" doc:"When its token expires."`
	Current    bool       `json:"current" doc:"Whether this request comes from it."`
}

// ErrDevice means that an account has no device with the given ID, or that it is signed out.
var ErrDevice = fault.New(fault.NotFound, "device_not_found", "Signed-in device not found.")

const (
	// currentDevice can be used in place of the ID of the caller's own device.
	currentDevice = "current"
	// deviceInterval is the minimum time between two writes of the same device's last use.
	deviceInterval = time.Hour
	maxUserAgent   = 300 // bytes
)

// cutUserAgent returns a User-Agent header as printable text of at most maxUserAgent bytes.
func cutUserAgent(s string) string {
	s = plaintext.Line(strings.ToValidUTF8(s, ""))
	if len(s) > maxUserAgent {
		s = strings.ToValidUTF8(s[:maxUserAgent], "")
	}
	return s
}

// markers map a part of a User-Agent header to a name. The first match counts, because browsers
// also name those that they resemble.
type markers [][2]string

var (
	browsers = markers{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
		{"Go-http-client/", "Go program"},
		{"python", "Python program"},
		{"node", "Node.js program"},
	}
	systems = markers{
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"},
		{"Linux", "Linux"},
	}
)

func (m markers) name(userAgent string) string {
	for _, one := range m {
		if strings.Contains(userAgent, one[0]) {
			return one[1]
		}
	}
	return ""
}

// deviceName describes a User-Agent header in words.
func deviceName(userAgent string) string {
	browser, system := browsers.name(userAgent), systems.name(userAgent)
	switch {
	case browser == "" && system == "":
		return "Unknown device"
	case browser == "":
		return system
	case system == "":
		return browser
	}
	return browser + " on " + system
}

const deviceColumns = `id, user_agent, created_at, last_used_at, expires_at`

func scanDevice(r db.Row) (d Device, err error) {
	err = r.Scan(&d.ID, &d.UserAgent, &d.CreatedAt, &d.LastUsedAt, &d.ExpiresAt)
	d.Name = deviceName(d.UserAgent)
	return d, err
}

// devices defines the list of a user's signed-in devices.
var devices = list.List[Device]{
	Table: `sign_ins`, Columns: deviceColumns, Scan: scanDevice, Usual: "-created",
	Sorts: map[string]list.Sort[Device]{
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(d Device) []any { return []any{d.CreatedAt.Time, d.ID} },
		},
	},
}

func insertDevice(ctx context.Context, tx *db.Tx, userID string, d Device) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO sign_ins (id, user_id, user_agent, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
		d.ID, userID, d.UserAgent, d.CreatedAt.Time, d.CreatedAt.Time, d.ExpiresAt.Time)
	return err
}

// touchDevice stores the time of a device's last use, unless a later time is already stored.
func touchDevice(ctx context.Context, tx *db.Tx, id string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE sign_ins SET last_used_at = ? WHERE id = ? AND (last_used_at < ? OR last_used_at > ?)`,
		at, id, at, at.Add(clock.Skew))
	return err
}

// Devices returns one page of the devices that are signed in to the caller's account, newest first.
func (s *Service) Devices(ctx context.Context, want page.Want) (page.Part[Device], error) {
	by := actor.From(ctx)
	var part page.Part[Device]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		var w list.Where
		w.And(`user_id = ?`, by.ID)
		w.And(`expires_at > ?`, s.Now())
		part, err = devices.Read(ctx, q, w, want)
		return err
	})
	for i := range part.Rows {
		part.Rows[i].Current = part.Rows[i].ID == by.Device
	}
	return part, err
}

// SignOut ends one sign-in of the caller's account; its ID can be "current". All replicas refuse
// its token from then on, and its open streams end. It returns ErrDevice for the devices of others.
func (s *Service) SignOut(ctx context.Context, id string) error {
	by := actor.From(ctx)
	if id == currentDevice {
		id = by.Device
	}
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return ErrDevice // PostgreSQL rejects it as a parameter
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		d, err := scanDevice(tx.QueryRow(ctx, `DELETE FROM sign_ins WHERE id = ? AND user_id = ? RETURNING `+deviceColumns,
			id, by.ID))
		switch {
		case db.IsNotFound(err):
			return ErrDevice
		case err != nil:
			return err
		}
		return s.recordSignOut(ctx, tx, map[string]any{"count": 1, "device": d.Name})
	})
	if err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}

// SignOutAll ends all sign-ins of the caller's account. Unless here is true, the caller's own stays.
func (s *Service) SignOutAll(ctx context.Context, here bool) error {
	by := actor.From(ctx)
	except := by.Device
	if here {
		except = ""
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.signOutAll(ctx, tx, except) })
	if err != nil {
		return fmt.Errorf("sign out everywhere: %w", err)
	}
	return nil
}

// signOutAll signs out the caller's devices except the given one.
func (s *Service) signOutAll(ctx context.Context, tx *db.Tx, except string) error {
	n, err := tx.Exec(ctx, `DELETE FROM sign_ins WHERE user_id = ? AND id <> ?`, actor.From(ctx).ID, except)
	if err != nil || n == 0 {
		return err
	}
	return s.recordSignOut(ctx, tx, map[string]any{"count": n})
}

// recordSignOut records an event about the account. It causes the account's open streams to be
// authenticated again.
func (s *Service) recordSignOut(ctx context.Context, tx *db.Tx, data map[string]any) error {
	by := actor.From(ctx)
	return event.Record(ctx, tx, s.Now(), event.Audit, loginEnded,
		event.Subject{Kind: "user", ID: by.ID, Name: by.Name}, data)
}
