package settings_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/vault"
	"wardroom/internal/settings"
)

const (
	keyA    = "a-key-of-this-test-which-is-long-enough-A"
	keyB    = "a-key-of-this-test-which-is-long-enough-B"
	address = "ws://gateway.test:18789"
	token   = "the-token-of-the-gateway-0123"
)

// process is a replica, whose gateway client does not run.
type process struct {
	*settings.Service
	client *gateway.Client
	log    *bytes.Buffer
}

// start loads the settings in a new replica.
func start(t *testing.T, d *db.DB, keys vault.Source) process {
	t.Helper()
	client, err := gateway.New(link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	p := process{client: client, log: log, Service: &settings.Service{
		DB: d, Runtime: client, Keys: keys, Log: slog.New(slog.NewTextHandler(log, nil)), Now: clock.Now, Every: 5 * time.Millisecond,
		Accounts: &account.Service{DB: d, Now: clock.Now, Cost: bcrypt.MinCost},
	}}
	if err := p.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

const password = "four random words are good"

// newAdmin returns a context with a new admin as the caller.
func (p process) newAdmin(t *testing.T) context.Context {
	t.Helper()
	u, err := p.Accounts.Create(actor.With(t.Context(), actor.System),
		account.NewUser{Email: "ada@example.com", Name: "Ada", Password: password, Role: actor.Admin})
	if err != nil {
		t.Fatal(err)
	}
	return actor.With(t.Context(), actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
}

// set changes the gateway's address and token.
func (p process) set(t *testing.T, url, token string) {
	t.Helper()
	ctx, c := p.newAdmin(t), settings.Change{Gateway: settings.GatewayChange{URL: patch.Set(url), Token: patch.Set(token)}}
	for _, missing := range []*string{nil, new("wrong")} {
		c.CurrentPassword = missing
		if _, err := p.Change(ctx, c, nil); !errors.Is(err, account.ErrConfirm) && !errors.Is(err, account.ErrPassword) {
			t.Errorf("without the password: %v", err)
		}
	}
	c.CurrentPassword = new(password)
	if _, err := p.Change(ctx, c, nil); err != nil {
		t.Fatal(err)
	}
}

// A lost encryption key is reported, deletes nothing, and can be replaced.
func TestStoredTokenNeedsItsKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		start(t, d, vault.Source{Key: keyA}).set(t, address, token)
		for name, keys := range map[string]vault.Source{"another key": {Key: keyB}, "no key": {}} {
			p := start(t, d, keys)
			is, err := p.Show(t.Context())
			if err != nil || !is.Gateway.Token.Set || !strings.Contains(is.Gateway.Token.Detail, "encryption key") || p.client.HasToken() || p.client.Address() != address {
				t.Errorf("%s: %+v, %v", name, is.Gateway, err)
			}
			if said := p.log.String(); !strings.Contains(said, "could not use the stored gateway settings") || strings.Contains(said, token) {
				t.Errorf("%s: the log says %s", name, said)
			}
		}
		if p := start(t, d, vault.Source{Key: keyB, Old: []string{keyA}}); !p.client.HasToken() {
			t.Error("with both keys: no token")
		}
		p := start(t, d, vault.Source{Key: keyB})
		if is, err := p.Show(t.Context()); err != nil || is.Gateway.Token.Detail != "" || !p.client.HasToken() || is.Version != 2 {
			t.Errorf("with the new key alone: %+v, %v", is, err)
		}
	})
}

// Another replica uses a change without a restart.
func TestReplicaFollows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, other := start(t, d, vault.Source{Key: keyA}), start(t, d, vault.Source{Key: keyA})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- other.Run(ctx) }()
		one.set(t, address, token)
		for late := time.Now().Add(20 * time.Second); other.client.Address() != address || !other.client.HasToken(); {
			if time.Now().After(late) {
				t.Fatal("the other replica does not follow")
			}
			<-time.After(time.Millisecond)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// People change the days of retention without a restart, in every replica; the environment wins.
func TestRetentionDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, other := start(t, d, vault.Source{Key: keyA}), start(t, d, vault.Source{Key: keyA})
		for _, p := range []process{one, other} {
			p.Configured = []settings.ConfiguredDays{{Setting: "ARCHIVE_AFTER_DAYS", Days: 7}, {Setting: "HISTORY_RETENTION_DAYS", Days: 90, Fixed: true}}
		}
		ctx := one.newAdmin(t)
		was, err := other.Show(ctx)
		if err != nil || was.Retention[0].Value != 7 || was.Retention[0].Source != settings.Default || !was.Retention[0].Editable {
			t.Fatalf("before: %+v, %v", was.Retention, err)
		}
		is, err := one.Change(ctx, settings.Change{Retention: settings.RetentionChange{ArchiveAfterDays: new(30)}}, &was.Version)
		if err != nil || is.Version != was.Version+1 || is.Retention[0].Value != 30 || is.Retention[0].Source != settings.Stored {
			t.Errorf("after: %+v, %v", is, err)
		}
		if days, err := other.Days(ctx); err != nil || days["ARCHIVE_AFTER_DAYS"] != 30 || days["HISTORY_RETENTION_DAYS"] != 90 {
			t.Errorf("the other replica uses %v, %v", days, err)
		}
		_, err = other.Change(ctx, settings.Change{Retention: settings.RetentionChange{ArchiveAfterDays: new(1)}}, &was.Version)
		if !errors.Is(err, settings.ErrStale) {
			t.Errorf("with an old version: %v", err)
		}
		_, err = one.Change(ctx, settings.Change{Retention: settings.RetentionChange{HistoryRetentionDays: new(1)}}, nil)
		if !errors.Is(err, settings.ErrFixed) || !strings.Contains(err.Error(), "HISTORY_RETENTION_DAYS") {
			t.Errorf("what the environment determines: %v", err)
		}
		if same, err := one.Change(ctx, settings.Change{Retention: settings.RetentionChange{ArchiveAfterDays: new(30)}}, nil); err != nil || same.Version != is.Version {
			t.Errorf("the same number: %+v, %v", same, err)
		}
		var data string
		if err := d.QueryRow(ctx, `SELECT data FROM events WHERE kind = 'settings.changed'`).Scan(&data); err != nil || !strings.Contains(data, `"ARCHIVE_AFTER_DAYS"`) {
			t.Errorf("the audit log has %s, %v", data, err)
		}
	})
}
