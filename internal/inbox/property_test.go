package inbox

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// model is what an item is to be, told in the words of the API and not in those
// of the code.
type model struct {
	id       string
	count    int64
	state    State // as it is stored: a snooze that has ended is still one
	until    time.Time
	severity Severity
	assigned bool
}

func (m *model) now(at time.Time) State {
	if m.state == Snoozed && !m.until.After(at) {
		return Open
	}
	return m.state
}

func (m *model) raise(s Severity, at time.Time) {
	m.count++
	worse := slices.Index(Severities(), s) < slices.Index(Severities(), m.severity)
	m.state = m.now(at)
	if m.state == Resolved || worse {
		m.state, m.severity = Open, s
	}
}

// An item that is lost, doubled, counted wrongly, or quiet when it should not be
// is a failure that nobody hears of. Whatever happens to items, in whatever
// order and at whatever time, they are what people were promised.
func TestAnyLife(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		walk := 0
		rapid.Check(t, func(rt *rapid.T) {
			walk++
			models := map[string]*model{}
			cause := func() string { return fmt.Sprint(walk, "/", rapid.IntRange(0, 2).Draw(rt, "cause")) }
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				c := cause()
				k.step(rt, c, models)
				if m := models[c]; m != nil {
					k.is(rt, c, m)
				}
			}
			k.lists(rt, models)
			for c := range models { // or the lists would grow with each walk
				k.settle(c, "")
			}
		})
	})
}

// step does one thing to the item of a cause, and to its model.
func (k *desk) step(rt *rapid.T, cause string, models map[string]*model) {
	m := models[cause]
	what := rapid.SampledFrom([]string{"raise", "raise", "settle", "wait", "end", "ack", "snooze", "assign", "resolve", "reopen"}).Draw(rt, "what")
	switch what {
	case "raise":
		s := rapid.SampledFrom(Severities()).Draw(rt, "severity")
		k.raise(blocked(cause, s))
		if m == nil {
			models[cause] = &model{count: 1, state: Open, severity: s, id: k.of(cause).ID}
			return
		}
		m.raise(s, k.now)
	case "settle":
		k.settle(cause, "It ended.")
		if m != nil {
			m.state = Resolved
		}
	case "wait":
		k.now = k.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(rt, "hours")) * time.Hour)
	case "end":
		if err := k.EndSnoozes(actor.With(k.ctx, actor.System)); err != nil {
			rt.Fatal(err)
		}
	default:
		if m != nil {
			k.person(rt, what, m)
		}
	}
}

// person does what people do.
func (k *desk) person(rt *rapid.T, what string, m *model) {
	var err error
	closed := m.now(k.now) == Resolved
	switch what {
	case "ack":
		if _, err = k.Ack(k.ctx, m.id, nil); !closed {
			m.state = Acked
		}
	case "snooze":
		until := k.now.Add(time.Duration(rapid.IntRange(1, 4).Draw(rt, "for")) * time.Hour)
		if _, err = k.Snooze(k.ctx, m.id, until, nil); !closed {
			m.state, m.until = Snoozed, until
		}
	case "assign":
		if _, err = k.Assign(k.ctx, m.id, &k.me.ID, nil); !closed {
			m.assigned = true
		}
	case "resolve":
		_, err = k.Resolve(k.ctx, m.id, "Done", nil)
		m.state, closed = Resolved, false
	case "reopen":
		_, err = k.Reopen(k.ctx, m.id, nil)
		m.state, closed = Open, false
	}
	if closed != errors.Is(err, ErrResolved) || !closed && err != nil {
		rt.Fatalf("%s of what is resolved (%t): %v", what, closed, err)
	}
}

// is compares an item with what it is to be.
func (k *desk) is(rt *rapid.T, cause string, m *model) {
	i := k.of(cause)
	if i.ID != m.id || i.Count != m.count || i.State != m.now(k.now) || i.Severity != m.severity || (i.Assignee != nil) != m.assigned {
		rt.Fatalf("%s is %+v, want %+v", cause, i, *m)
	}
	if i.State == Snoozed && !i.SnoozedUntil.Equal(m.until) {
		rt.Fatalf("%s is put off until %s, want %s", cause, i.SnoozedUntil, m.until)
	}
}

// lists reads every state and wants each item in its own.
func (k *desk) lists(rt *rapid.T, models map[string]*model) {
	listed := map[string]State{}
	for _, s := range States() {
		part, err := k.List(k.ctx, Filter{States: []State{s}}, page.Want{Query: page.Query{Limit: 500}, Sort: "-last"})
		if err != nil {
			rt.Fatal(err)
		}
		for _, i := range part.Rows {
			if listed[i.cause] != "" || i.State != s {
				rt.Fatalf("%s is listed as %s, is %s, and was listed as %q", i.cause, s, i.State, listed[i.cause])
			}
			listed[i.cause] = s
		}
	}
	for cause, m := range models {
		k.is(rt, cause, m)
		if listed[cause] != m.now(k.now) {
			rt.Fatalf("%s is listed as %q, want %s", cause, listed[cause], m.now(k.now))
		}
	}
}
