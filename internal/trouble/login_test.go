package trouble

import (
	"context"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// logins is a runtime with two agents, whose logins a test sets.
type logins struct {
	Runtime // the rest is not used

	of   map[string]gateway.Login // by agent
	down error
}

func (r *logins) Agents(context.Context) ([]gateway.Agent, error) {
	return []gateway.Agent{{ID: "cto", Name: "CTO", Model: "anthropic/large"}, {ID: "cpo", IdentityName: "Pia", Model: "anthropic/small"}, {ID: "coo"}}, r.down
}

func (r *logins) Jobs(context.Context, gateway.JobsWanted) ([]gateway.Job, error) {
	return []gateway.Job{{Name: "Nightly", AgentID: "cto", Enabled: true}, {Name: "Old", AgentID: "cto"}, {Name: "Other", AgentID: "coo", Enabled: true}}, nil
}

func (r *logins) Logins(_ context.Context, agentID string) ([]gateway.Login, error) {
	return []gateway.Login{{Provider: "unused", Name: "Unused", State: "expired"}, r.of[agentID]}, nil
}

// ends returns a login that ends after the given time.
func ends(after time.Duration, state string) gateway.Login {
	return gateway.Login{Provider: "anthropic", Name: "Claude", State: state, EndsAt: clock.Ptr(night.Add(after))}
}

// Whoever depends on a login is named three days before it ends. The item becomes urgent when it has
// ended, stays as a person left it, survives an outage, and resolves itself after a renewal.
func TestLoginEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		r := &logins{of: map[string]gateway.Login{"cto": ends(80*time.Hour, "ok"), "cpo": ends(80*time.Hour, "ok")}}
		s := &Checks{DB: d, Runtime: r, Now: w.clock, Inbox: w.box}
		want := func(after time.Duration, items ...string) {
			t.Helper()
			w.move(night.Add(after).Sub(w.clock()))
			if err := s.CheckLogins(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantItems(t, d, after, items...)
		}
		const soon = "The login to Claude ends at 2026-11-19 11:00 UTC, medium, "
		want(7 * time.Hour)
		want(8*time.Hour, soon+"open, 1")
		want(9*time.Hour, soon+"open, 1")
		var detail string
		if err := d.QueryRow(t.Context(), `SELECT detail FROM inbox_items`).Scan(&detail); err != nil || !strings.Contains(detail, ": CTO, Pia. Their scheduled jobs would fail: “Nightly”.") {
			t.Errorf("%q %v", detail, err)
		}
		w.person(inbox.LoginEnding, inbox.Resolved)
		want(10*time.Hour, soon+"resolved, 1")
		const over = "The login to Claude has ended, high, "
		want(80*time.Hour, over+"open, 2")
		r.down = link.ErrUnreachable
		r.of = nil
		want(81*time.Hour, over+"open, 2")
		r.down = nil
		r.of = map[string]gateway.Login{"cto": ends(999*time.Hour, "ok"), "cpo": {Provider: "anthropic", Name: "Claude", State: "static"}}
		want(82*time.Hour, over+"resolved, 2")
		r.of["cpo"] = gateway.Login{Provider: "anthropic", Name: "Claude", State: "missing"}
		want(83*time.Hour, over+"resolved, 2", "There is no login to Claude, high, open, 1")
		r.of["cpo"] = gateway.Login{Provider: "anthropic", Name: "Claude", State: "expiring"}
		want(84*time.Hour, over+"resolved, 2", "There is no login to Claude, high, open, 1")
	})
}

// A refusal of the gateway must not pass for healthy logins; without a gateway nothing is checked.
func TestLoginErrors(t *testing.T) {
	t.Parallel()
	s := &Checks{DB: dbtest.New(t), Runtime: &logins{down: link.ErrRefused}, Now: func() time.Time { return night }}
	if err := s.CheckLogins(actor.With(t.Context(), actor.System)); err == nil {
		t.Error("a refusal of the gateway was hidden")
	}
	s.Runtime = &logins{down: link.ErrNotConfigured}
	if err := s.CheckLogins(t.Context()); err != nil {
		t.Errorf("without a gateway: %v", err)
	}
}
