package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/platform/vault"
)

// Runtime is the part of the gateway client that the settings need.
type Runtime interface {
	SetEndpoint(e link.Endpoint) error
	CheckEndpoint(e link.Endpoint) error
	Examine(ctx context.Context, report func(link.Step)) (link.Examination, error)
	ExamineAs(ctx context.Context, e link.Endpoint) (link.Examination, error)
}

// Service stores the settings and passes them to the gateway client. Call Load before
// anything else. It must not be copied after first use.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Keys    vault.Source
	Log     *slog.Logger
	Now     func() time.Time
	Fixed   Fixed // what the environment determines
	// Configured has the numbers of days of retention.
	Configured []ConfiguredDays

	Accounts *account.Service // checks the caller's password
	// Changed, if set, is called after the gateway client has got another address or token.
	Changed func()

	Every time.Duration // how often to check the database for changes by other replicas; default 2 s

	mu      sync.Mutex
	applied int64  // version that the gateway client uses; 0 before Load
	problem string // why the stored values cannot be used; logged once
}

// Show returns the settings.
func (s *Service) Show(ctx context.Context) (Settings, error) {
	w, err := load(ctx, s.DB)
	if err != nil {
		return Settings{}, fmt.Errorf("read the settings: %w", err)
	}
	is := s.show(w)
	is.Retention, err = s.days(ctx, s.DB)
	return is, err
}

// show returns the gateway's settings as clients see them.
func (s *Service) show(w stored) Settings {
	e, trouble := s.Fixed.endpoint(w, s.Keys)
	url := Address{Value: link.ShownURL(e.URL), Source: s.source(e.URL != "", s.Fixed.URL != ""), Editable: e.URLEditable}
	if v := s.Fixed.url(); v != "" {
		url.Detail = s.Fixed.why(v, "address")
	} else if err := s.Runtime.CheckEndpoint(e); err != nil {
		url.Detail = plaintext.Capital(err.Error()) + "."
	}
	hasToken := e.Token != "" || trouble != nil
	token := Token{Set: hasToken, Source: s.source(hasToken, s.Fixed.Token != ""), Editable: e.TokenEditable}
	_, noKey := s.Keys.Find()
	switch v := s.Fixed.token(); {
	case v != "":
		token.Detail = s.Fixed.why(v, "token")
	case trouble != nil:
		token.Detail = unreadable(trouble)
	case errors.Is(noKey, vault.ErrNoKey) && s.Keys.File == "":
		token.Editable, token.Detail = false, "A token cannot be stored without an encryption key. "+vault.HowToSetKey
	}
	return Settings{
		Gateway: Gateway{URL: url, Token: token}, Holds: Holds{w.holds}, UpdatedAt: w.updatedAt, Version: w.version,
	}
}

// HoldsInRuntime reports whether a person has allowed holds to change the runtime.
func (s *Service) HoldsInRuntime(ctx context.Context) (bool, error) {
	w, err := load(ctx, s.DB)
	if err != nil {
		return false, fmt.Errorf("read the settings: %w", err)
	}
	return w.holds, nil
}

// source returns where a value comes from.
func (s *Service) source(has, fixed bool) Source {
	switch {
	case !has:
		return None
	case s.Fixed.Demo:
		return Demo
	case fixed:
		return Environment
	}
	return Stored
}

// unreadable explains why the stored token cannot be decrypted, and what to do.
func unreadable(err error) string {
	if errors.Is(err, vault.ErrBroken) {
		return "The stored token was modified, or copied from another database. Enter it again."
	}
	what := "Restore the encryption key, or enter the token again."
	if errors.Is(err, vault.ErrFile) { // the error says what to do
		what = ""
	}
	return strings.TrimSpace(fmt.Sprintf("Wardroom could not decrypt the stored token: %s. %s", err, what))
}

// Change changes settings and passes them to the gateway client. A change of the gateway requires
// the caller's password. It returns ErrFixed if the environment determines a setting, and
// ErrStale if version is given and is not the current one.
func (s *Service) Change(ctx context.Context, c Change, version *int64) (Settings, error) {
	if c.Gateway.empty() && c.Retention.empty() && c.Holds.InRuntime == nil {
		return s.unchanged(ctx, version)
	}
	if err := c.Retention.refuse(s.Configured); err != nil {
		return Settings{}, err
	}
	if err := s.check(ctx, c.Gateway); err != nil {
		return Settings{}, err
	}
	var v *vault.Vault
	if c.Gateway.Token.Value != nil {
		var err error
		if v, err = s.Keys.Make(); err != nil {
			return Settings{}, vault.Explain(err)
		}
	}
	write := func(check func(context.Context, *db.Tx) error) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			if err := check(ctx, tx); err != nil {
				return err
			}
			return s.changeIn(ctx, tx, c, v, version)
		})
	}
	var err error
	if c.Gateway.empty() && (c.Holds.InRuntime == nil || !*c.Holds.InRuntime) { // needs no password
		err = write(func(context.Context, *db.Tx) error { return nil })
	} else {
		err = s.Accounts.Confirm(ctx, c.CurrentPassword, auditName, write)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("change the settings: %w", err)
	}
	if err := s.sync(ctx); err != nil {
		return Settings{}, err
	}
	return s.Show(ctx)
}

// auditName is the name of a change in the audit log if the password was wrong.
const auditName = "settings change"

// unchanged returns the settings for a change that names none.
func (s *Service) unchanged(ctx context.Context, version *int64) (Settings, error) {
	is, err := s.Show(ctx)
	if err != nil {
		return Settings{}, err
	}
	return is, ErrStale.Unless(version, is.Version, "settings")
}

// check rejects a change that is impossible or has invalid values. It does so before the
// password is checked, because a wrong password counts as a failed login.
func (s *Service) check(ctx context.Context, c GatewayChange) error {
	if c.empty() {
		return nil
	}
	if err := s.Fixed.refuse(c); err != nil {
		return err
	}
	w, err := load(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	to, err := c.target(s.Fixed.address(w), s.Fixed.hasToken(w))
	if err != nil {
		return err
	}
	return s.checkAddress(to)
}

// checkAddress returns an error that names the field if the gateway client cannot use an
// address.
func (s *Service) checkAddress(address string) error {
	var bad fault.Fields
	if err := s.Runtime.CheckEndpoint(link.Endpoint{URL: address}); err != nil {
		bad.Add("/gateway/url", "%s.", plaintext.Capital(err.Error()))
	}
	return bad.Err()
}

// changeIn stores a change and records it in the audit log.
func (s *Service) changeIn(ctx context.Context, tx *db.Tx, all Change, v *vault.Vault, version *int64) error {
	c := all.Gateway
	was, err := load(ctx, tx)
	if err != nil {
		return err
	}
	if err := ErrStale.Unless(version, was.version, "settings"); err != nil {
		return err
	}
	from, had := s.Fixed.address(was), s.Fixed.hasToken(was)
	to, err := c.target(from, had)
	if err != nil {
		return err
	}
	is := was
	if c.URL.Given {
		is.url = to
	}
	if c.Token.Given || to != from {
		is.sealed, is.tokenFor = "", ""
	}
	if c.Token.Value != nil {
		is.sealed, is.tokenFor = v.Seal(tokenPlace(to), []byte(*c.Token.Value)), to
	}
	facts := map[string]change{}
	if on := all.Holds.InRuntime; on != nil && *on != was.holds {
		is.holds = *on
		facts["holds_in_runtime"] = change{strconv.FormatBool(was.holds), strconv.FormatBool(*on)}
	}
	if to != from {
		facts["gateway_url"] = change{link.ShownURL(from), link.ShownURL(to)}
	}
	if has := is.sealed != ""; is.sealed != was.sealed && (has || had) {
		facts["gateway_token"] = change{shown(had), shown(has)}
		if had && has {
			facts["gateway_token"] = change{shown(had), "[new secret]"}
		}
	}
	if err := s.changeDays(ctx, tx, all.Retention, facts); err != nil {
		return err
	}
	if is == was && len(facts) == 0 {
		return nil
	}
	now := clock.At(s.Now())
	if err := save(ctx, tx, is, now); err != nil {
		return err
	}
	return event.Record(ctx, tx, now.Time, event.Audit, "settings.changed",
		event.Subject{Kind: "service", ID: "wardroom", Name: "Wardroom"}, map[string]any{"changes": facts})
}

// change is a setting before and after a change, in the audit log.
type change struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// shown returns what the audit log shows of a token.
func shown(set bool) string {
	if set {
		return "[secret]"
	}
	return ""
}

// Test checks the connection to the gateway with the given values in place of the current
// ones, and stores nothing. It requires the caller's password, so that nobody can explore the
// network or try tokens with only a stolen login. A stored token is sent only to the address
// for which it was entered.
func (s *Service) Test(ctx context.Context, c Change) (link.Examination, error) {
	if c.Gateway.empty() {
		return s.Runtime.Examine(ctx, nil)
	}
	if err := s.check(ctx, c.Gateway); err != nil {
		return link.Examination{}, err
	}
	err := s.Accounts.Confirm(ctx, c.CurrentPassword, auditName, func(check func(context.Context, *db.Tx) error) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) error { return check(ctx, tx) })
	})
	if err != nil {
		return link.Examination{}, fmt.Errorf("test the settings: %w", err)
	}
	w, err := load(ctx, s.DB)
	if err != nil {
		return link.Examination{}, fmt.Errorf("read the settings: %w", err)
	}
	e, _ := s.Fixed.endpoint(w, s.Keys) // a token that cannot be decrypted counts as missing
	to, err := c.Gateway.target(e.URL, s.Fixed.hasToken(w))
	if err != nil {
		return link.Examination{}, err
	}
	if to != e.URL || c.Gateway.Token.Given {
		e.Token = ""
	}
	if c.Gateway.Token.Value != nil {
		e.Token = *c.Gateway.Token.Value
	}
	e.URL = to
	return s.Runtime.ExamineAs(ctx, e)
}
