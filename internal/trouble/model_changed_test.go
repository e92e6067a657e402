package trouble

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

// modelConfig is a gateway whose configuration a test sets.
type modelConfig struct {
	cto   gateway.ConfiguredModels
	down  error
	reads int
}

func (c *modelConfig) ConfiguredModels(context.Context) (map[string]gateway.ConfiguredModels, error) {
	c.reads++
	return map[string]gateway.ConfiguredModels{"cto": c.cto}, c.down
}

func (*modelConfig) Job(_ context.Context, id string) (gateway.Job, error) {
	if id != "night" {
		return gateway.Job{}, gateway.ErrNoJob
	}
	return gateway.Job{Payload: gateway.JobPayload{Model: "p/night"}}, nil
}

// Each model call is judged by the configuration at that time. What people chose is not reported, nobody is told
// twice in a day, and a call during an outage of the gateway is judged after it.
func TestModelChanged(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		is := &modelConfig{cto: gateway.ConfiguredModels{Primary: "p/own", Fallbacks: []string{"p/spare", "p/dear"}, Others: []string{"p/beat"}}}
		s := &Models{
			DB: d, Runtime: is, Now: w.clock, Inbox: w.box,
			Holds: &hold.Service{DB: d}, Usage: &usage.Service{DB: d, Now: w.clock},
		}
		var prices []usage.Price
		for model, price := range map[string]money.Nano{"own": 2_000_000, "spare": 4_000_000, "dear": 4_400_000} {
			prices = append(prices, usage.Price{Model: model, From: "2026-01-01", Output: price})
		}
		if _, err := s.Usage.SetPrices(actor.With(t.Context(), actor.System), prices, nil); err != nil {
			t.Fatal(err)
		}
		exec := func(query string, args ...any) {
			t.Helper()
			err := d.Tx(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
			if err != nil {
				t.Fatal(err)
			}
		}
		call := func(session, model string, output int64) {
			t.Helper()
			s.Receive(mirror.Event{
				Event: link.Event{Name: "session.message"},
				Content: gateway.Content{Active: session, Message: func() gateway.Turn {
					return gateway.Turn{RunID: "run", Usage: &gateway.Usage{Provider: "p", Model: model, Output: output}}
				}},
			})
			_, err := s.pass(actor.With(t.Context(), actor.System))
			if !errors.Is(err, is.down) {
				t.Fatal(err)
			}
		}
		want := func(name string, items ...string) { t.Helper(); wantItems(t, d, name, items...) }
		const main = "agent:cto:main"
		for _, model := range []string{"own", "spare", "beat"} {
			call(main, model, 5)
		}
		call("agent:cto:cron:night:run:1", "night", 5)
		call("agent:nobody:main", "any", 5)
		call(main, "gateway-injected", 0)
		exec(`INSERT INTO agent_holds (id, agent_id, reason, by_id, by_name, since, state, runtime, runtime_detail, before)
			VALUES ('h', 'cto', '', '', '', ?, 'held', 'held', '', '')`, w.clock())
		call(main, "another", 5)
		exec(`DELETE FROM agent_holds`)
		want("as configured, unknown, without tokens, or held")
		call(main, "dear", 5)
		dear := "cto uses p/dear instead of p/own, high, open, 1"
		want("a fallback at more than twice the price", dear)
		is.down = link.ErrUnreachable
		call("agent:cto:cron:gone:run:1", "night", 5)
		call("agent:cto:cron:gone:run:2", "night", 5)
		want("an outage", dear)
		is.down = nil
		call(main, "own", 5)
		other := "cto uses p/night instead of p/own, medium, open, 1"
		want("the model of another job", dear, other)

		w.person(inbox.ModelChanged, inbox.Resolved)
		other = strings.Replace(other, "open", "resolved", 1)
		w.move(23 * time.Hour)
		call(main, "dear", 5)
		want("resolved today", "cto uses p/dear instead of p/own, high, resolved, 1", other)
		w.move(2 * time.Hour)
		call(main, "dear", 5)
		want("a day later", "cto uses p/dear instead of p/own, high, open, 2", other)

		reads := is.reads
		is.cto = gateway.ConfiguredModels{Primary: "p/new"}
		call(main, "new", 5)
		is.cto.Primary = "alias"
		call(main, "any", 5)
		want("a new configuration, then an alias", "cto uses p/dear instead of p/own, high, open, 2", other)
		call(main, "any", 5)
		if is.reads != reads+2 {
			t.Errorf("the configuration was read %d times, want 2", is.reads-reads)
		}
	})
}
