package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// all returns the causes on all pages, in order.
func (k *fixture) all(f Filter, sort string, limit int, between func()) (causes []string) {
	k.t.Helper()
	want := page.Want{Query: page.Query{Limit: limit}, Sort: sort, Total: true}
	for {
		part, err := k.List(k.ctx, f, want)
		if err != nil {
			k.t.Fatal(err)
		}
		if len(part.Rows) > limit || *part.Total < int64(len(part.Rows)) {
			k.t.Fatalf("a page of %d has %d rows of %d", limit, len(part.Rows), *part.Total)
		}
		for _, i := range part.Rows {
			causes = append(causes, i.cause)
		}
		if want.Cursor = part.Next; want.Cursor == "" {
			return causes
		}
		between()
	}
}

// The list is ordered by rank, with each item once, for any page size and at
// any time.
func TestRank(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		var made []Item
		for n := range 23 {
			k.now = monday.Add(time.Duration(n*7%5) * time.Hour) // several at the same time
			made = append(made, k.raise(blocked(fmt.Sprintf("%02d", n), Severities()[n*3%4])))
		}
		k.now = monday.Add(10 * time.Hour)
		for n := range 6 { // still snoozed, so not listed
			if _, err := k.Snooze(k.ctx, made[n*4].ID, k.now.Add(time.Duration(n)*time.Minute+time.Minute), nil); err != nil {
				t.Fatal(err)
			}
		}
		made[1] = k.raise(blocked("01", Urgent)) // the severity rises, the age stays
		rank := func(a, b Item) int {
			return cmp.Or(cmp.Compare(a.Severity.urgency(), b.Severity.urgency()), a.FirstAt.Compare(b.FirstAt.Time), strings.Compare(a.ID, b.ID))
		}
		var want []string
		for _, i := range slices.SortedFunc(slices.Values(made), rank) {
			if k.of(i.cause).State == Open {
				want = append(want, i.cause)
			}
		}
		if len(want) != 17 {
			t.Fatalf("%d are open", len(want))
		}
		loop := blocked("loop", Urgent) // newer than all others, and before them
		loop.Kind = Loop
		want = append([]string{k.raise(loop).cause}, want...)
		urgent := k.all(Filter{Severities: []Severity{Urgent}}, "", 2, func() {})
		if len(urgent) < 2 || urgent[0] != want[0] || urgent[1] != want[1] {
			t.Errorf("the urgent ones are %v", urgent)
		}
		for _, limit := range []int{1, 2, 5, 18, 100} {
			if got := k.all(Filter{}, "", limit, func() { k.now = k.now.Add(time.Second) }); !slices.Equal(got, want) {
				t.Errorf("in pages of %d:\n%v, want\n%v", limit, got, want)
			}
		}
		slices.SortFunc(made, func(a, b Item) int {
			return cmp.Or(k.of(b.cause).LastAt.Compare(k.of(a.cause).LastAt.Time), strings.Compare(b.ID, a.ID))
		})
		last := []string{"loop"}
		for _, i := range made {
			last = append(last, i.cause)
		}
		if got := k.all(Filter{States: States()}, "-last", 4, func() {}); !slices.Equal(got, last) || got[1] != "01" {
			t.Errorf("the last first:\n%v, want\n%v", got, last)
		}
	})
}

// Each filter returns exactly the matching items.
func TestFilters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		other := makeUser(t, d, "bob", actor.Admin, true)
		makeUser(t, d, "cto", actor.Agent, true)
		ids := map[string]string{}
		for _, m := range []struct {
			cause string
			kind  Kind
			s     Severity
		}{{"esc", Escalation, High}, {"fail", StandupFailed, Urgent}, {"miss", StandupMissed, Medium}, {"old", OldBlocker, Low}, {"off", Escalation, High}} {
			matter := blocked(m.cause, m.s)
			matter.Kind = m.kind
			ids[m.cause] = k.raise(matter).ID
		}
		do := func(_ Item, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		do(k.Assign(k.ctx, ids["esc"], &k.me.ID, nil))
		do(k.Assign(k.ctx, ids["old"], new("bob@example.com"), nil))
		do(k.Ack(k.ctx, ids["miss"], nil))
		do(k.Resolve(k.ctx, ids["fail"], "", nil))
		do(k.Snooze(k.ctx, ids["off"], k.now.Add(time.Hour), nil))
		for _, tt := range []struct {
			name string
			f    Filter
			want string
		}{
			{"what waits", Filter{}, "esc miss old"},
			{"open", Filter{States: []State{Open}}, "esc old"},
			{"acked", Filter{States: []State{Acked}}, "miss"},
			{"snoozed", Filter{States: []State{Snoozed}}, "off"},
			{"resolved", Filter{States: []State{Resolved}}, "fail"},
			{"open and snoozed", Filter{States: []State{Open, Snoozed}}, "esc off old"},
			{"snoozed and resolved", Filter{States: []State{Resolved, Snoozed}}, "fail off"},
			{"every state", Filter{States: States()}, "fail esc off miss old"},
			{"a kind", Filter{Kinds: []Kind{Escalation}}, "esc"},
			{"two kinds", Filter{Kinds: []Kind{Escalation, OldBlocker}}, "esc old"},
			{"a severity", Filter{Severities: []Severity{Medium, Low}}, "miss old"},
			{"urgent", Filter{Severities: []Severity{Urgent}, States: States()}, "fail"},
			{"mine", Filter{Assignee: "me"}, "esc"},
			{"nobody's", Filter{Assignee: "none"}, "miss"},
			{"by id", Filter{Assignee: other.ID}, "old"},
			{"by another's email", Filter{Assignee: "Bob@Example.com"}, ""},
			{"an agent's", Filter{Assignee: "cto"}, ""},
			{"all at once", Filter{States: []State{Open}, Kinds: []Kind{Escalation}, Severities: []Severity{High}, Assignee: "me"}, "esc"},
		} {
			if got := strings.Join(k.all(tt.f, "", 2, func() {}), " "); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
		k.raise(blocked("free", Low))
		boss := actor.With(t.Context(), other)
		for want, by := range map[string]actor.Actor{"esc free": k.me, "old free": other} {
			k.ctx = actor.With(t.Context(), by)
			if got := strings.Join(k.all(Filter{NeedsMe: true}, "", 2, func() {}), " "); got != want {
				t.Errorf("what %s has to handle: %q, want %q", by.Name, got, want)
			}
		}
		k.ctx = actor.With(t.Context(), k.me)
		if part, err := k.List(boss, Filter{Assignee: "Bob@Example.com"}, page.Want{Query: page.Query{Limit: 10}}); err != nil || len(part.Rows) != 1 || part.Rows[0].ID != ids["old"] {
			t.Errorf("by email, as an admin: %+v, %v", part.Rows, err)
		}
		if _, err := k.List(k.ctx, Filter{Assignee: "nobody"}, page.Want{}); !errors.Is(err, ErrAssignee) {
			t.Errorf("nobody's: %v, want ErrAssignee", err)
		}
	})
}
