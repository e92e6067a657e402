package archive

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A session whose time stands still must not be archived only in part and called whole.
func TestArchiveWithStuckTimes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i, stuck := range []time.Time{monday.AddDate(70, 0, 0), monday.AddDate(-20, 0, 0), {}} {
			name := []string{"future", "past", "never"}[i]
			b, key := newBench(t, d), "agent:cto:"+name
			b.now = b.now.AddDate(0, 0, i) // later than the others
			say := func(n int, text string) {
				b.say(key, plain(n)...)
				g := &b.rows[len(b.rows)-1]
				g.UpdatedAt, g.EndedAt, g.LastMessage = clock.At(stuck), clock.Time{}, text
			}
			say(2, "two")
			b.look(t.Context())
			b.look(t.Context()) // its time does not say how long it has been idle
			if a, _ := b.stored(key, 10); a.Coverage != Whole || a.Messages != 2 {
				t.Errorf("%s: %d messages, %s", name, a.Messages, a.Coverage)
			}
			say(2, "four")
			b.observe()
			b.pass(t.Context())
			// A session that seems to have been idle for years is read at once.
			if a, _ := b.stored(key, 10); name != "past" && a.Coverage != Partial {
				t.Errorf("%s: before the rest is read it is %s", name, a.Coverage)
			}
			b.look(t.Context())
			if a, got := b.stored(key, 10); a.Coverage != Whole || len(got) != 4 {
				t.Errorf("%s: %d messages, %s", name, len(got), a.Coverage)
			}
			say(1, "five")
			b.observe()
			b.pass(t.Context())
			b.runtime.rows[key], b.rows = nil, nil // deleted before the last message was read
			b.look(t.Context())
			if a, _ := b.stored(key, 10); name != "past" && a.Coverage != Partial || a.Present {
				t.Errorf("%s: deleted, it is %s", name, a.Coverage)
			}
			b.release()
		}
	})
}

// What was stored while the clock was ahead must not keep a session from being updated for years.
func TestArchiveAfterClockWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const key = "agent:cto:main"
		now := b.now
		b.now = now.AddDate(10, 0, 0)
		b.say(key, plain(1)...)
		b.look(t.Context())
		b.now = now
		b.say(key, plain(1)...)
		b.rows[0].Label = "Renamed"
		b.look(t.Context())
		b.look(t.Context())
		a, got := b.stored(key, 10)
		if a.Label == nil || *a.Label != "Renamed" || len(got) != 2 || a.LastAt.After(b.now) {
			t.Errorf("%d messages: %+v", len(got), a)
		}
	})
}
