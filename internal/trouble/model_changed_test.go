package trouble

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
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
		w, held := newWorld(t, d), false
		is := &modelConfig{cto: gateway.ConfiguredModels{Primary: "p/own", Fallbacks: []string{"p/spare", "p/dear"}, Others: []string{"p/beat"}}}
		s := &Models{
			DB: d, Runtime: is, Now: w.clock, Inbox: w.box,
			AgentName: func(_ context.Context, _ db.Queryer, id string) string { return "the " + id },
			Held:      func(context.Context, string) (bool, error) { return held, nil },
			Estimate: func(_ context.Context, _, model string, _ gateway.Usage) (*money.Nano, error) {
				if cost, ok := map[string]money.Nano{"own": 10, "spare": 20, "dear": 22}[model]; ok {
					return &cost, nil
				}
				return nil, nil
			},
		}
		call := func(session, model string, output int64) {
			t.Helper()
			s.Receive(mirror.Event{
				Event: gateway.Event{Name: "session.message"},
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
		held = true
		call(main, "another", 5)
		held = false
		want("as configured, unknown, without tokens, or held")
		call(main, "dear", 5)
		dear := "the cto uses p/dear instead of p/own, high, open, 1"
		want("a fallback at more than twice the price", dear)
		is.down = gateway.ErrUnreachable
		call("agent:cto:cron:gone:run:1", "night", 5)
		call("agent:cto:cron:gone:run:2", "night", 5)
		want("an outage", dear)
		is.down = nil
		call(main, "own", 5)
		other := "the cto uses p/night instead of p/own, medium, open, 1"
		want("the model of another job", dear, other)

		w.person(inbox.ModelChanged, inbox.Resolved)
		other = strings.Replace(other, "open", "resolved", 1)
		w.move(23 * time.Hour)
		call(main, "dear", 5)
		want("resolved today", "the cto uses p/dear instead of p/own, high, resolved, 1", other)
		w.move(2 * time.Hour)
		call(main, "dear", 5)
		want("a day later", "the cto uses p/dear instead of p/own, high, open, 2", other)

		reads := is.reads
		is.cto = gateway.ConfiguredModels{Primary: "p/new"}
		call(main, "new", 5)
		is.cto.Primary = "alias"
		call(main, "any", 5)
		want("a new configuration, then an alias", "the cto uses p/dear instead of p/own, high, open, 2", other)
		call(main, "any", 5)
		if is.reads != reads+2 {
			t.Errorf("the configuration was read %d times, want 2", is.reads-reads)
		}
	})
}
