package event

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// scatter records events of all kinds, with pauses of hours between some of
// them. Their times deviate from the order of their IDs by up to half the
// allowed disorder.
func scatter(t testing.TB, d *db.DB, random *rand.Rand, n int) (all []Event) {
	t.Helper()
	at := monday
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for i := range n {
			at = at.Add(time.Duration(random.IntN(20)) * time.Minute)
			if random.IntN(10) == 0 {
				at = at.Add(3 * time.Hour)
			}
			subject := []string{"task", "task", "standup", "inbox", "user"}[random.IntN(5)]
			kind := subject + []string{".opened", ".changed", ".changed", ".closed"}[random.IntN(4)]
			class := map[bool]Class{true: Audit, false: Activity}[subject == "user"]
			who := []string{"ada", "bob", "cto", "system"}[random.IntN(4)]
			id := fmt.Sprint(subject, random.IntN(4))
			then := at.Add(time.Duration(random.IntN(61)-30) * time.Minute / 2)
			if err := add(t.Context(), tx, false, then, class, kind, who, who, subject, id, id, "{}", "", ""); err != nil {
				return err
			}
			e := Event{ID: int64(i + 1), Class: class, Kind: kind, Actor: Author{who, who}, Subject: Subject{subject, id, id}}
			e.At.Time = then
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// matches is a reference implementation of the filter.
func (f Filter) matches(e Event) bool {
	among := func(list []string, v string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(l string) bool {
			return l == v || strings.HasSuffix(l, ".*") && strings.HasPrefix(v, strings.TrimSuffix(l, "*"))
		})
	}
	return e.Class == f.Class && (f.SubjectKind == "" || e.Subject.Kind == f.SubjectKind) && (f.SubjectID == "" || e.Subject.ID == f.SubjectID) &&
		!slices.Contains(f.hidden, e.Subject.Kind) && among(f.ActorIDs, e.Actor.ID) && among(f.Kinds, e.Kind) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || e.At.Before(f.Until))
}

// The index hints of a filter never exclude a matching event.
func TestEveryFilter(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		all := scatter(t, d, random, 400)
		pick := func(of ...[]string) []string { return of[random.IntN(len(of))] }
		for range 400 {
			f := Filter{
				Class: Activity, SubjectKind: pick([]string{""}, []string{"task"}, []string{"project"}, []string{"inbox"})[0],
				SubjectID: pick([]string{""}, []string{""}, []string{"task2"})[0], ActorIDs: pick(nil, nil, []string{"ada"}, []string{"system"}, []string{"cto", "bob"}),
				Kinds:  pick(nil, []string{"task.opened"}, []string{"task.opened", "inbox.closed", "none"}, []string{"task.*", "inbox.closed"}, []string{"none.*"}),
				hidden: pick(nil, []string{"inbox"}),
			}
			if random.IntN(2) == 0 {
				f.Since = all[random.IntN(len(all))].At.Time
			}
			if random.IntN(2) == 0 {
				f.Until = all[random.IntN(len(all))].At.Time
			}
			if random.IntN(8) == 0 {
				f.Class = Audit
			}
			holdRead(t.Context(), t, d, f, all, pick([]string{"-id"}, []string{"id"})[0])
		}
	})
}

// holdRead reads all pages of a filter and compares them with the matching
// events.
func holdRead(ctx context.Context, t *testing.T, d *db.DB, f Filter, all []Event, sort string) {
	t.Helper()
	var want, got []Event
	for _, e := range all {
		if f.matches(e) {
			want = append(want, e)
		}
	}
	if sort == "-id" {
		slices.Reverse(want)
	}
	for p := (page.Want{Sort: sort, Query: page.Query{Limit: 30}}); ; {
		part, err := Read(ctx, d, f, p)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		got = append(got, part.Rows...)
		if p.Cursor = part.Next; p.Cursor == "" {
			break
		}
	}
	if ids(got) != ids(want) {
		t.Errorf("%+v by %s reads %s, want %s", f, sort, ids(got), ids(want))
	}
}

// A selective filter does not scan the whole log.
func TestFilterPlans(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.URL(t, db.SQLite))
	scatter(t, d, rand.New(rand.NewPCG(1, 1)), 50)
	for name, tt := range map[string]struct {
		f    Filter
		want []string
	}{
		"a day":            {Filter{Since: monday}, []string{"events_of_class (class=? AND id>?)", "events_by_time (at<?)"}},
		"long ago":         {Filter{Until: monday}, []string{"events_of_class (class=? AND id<?)", "events_by_time (at>?)"}},
		"kinds of a day":   {Filter{Since: monday, SubjectKind: "task", Kinds: []string{"task.opened", "task.closed"}}, []string{"MERGE", "events_of_kind (kind=? AND class=? AND id>?)"}},
		"kinds that begin": {Filter{Kinds: []string{"task.*"}}, []string{"MERGE", "events_of_kind (kind=? AND class=?)"}},
		"things of a kind": {Filter{SubjectKind: "project"}, []string{"events_of_subject_kind (subject_kind=?)"}},
		"a thing":          {Filter{SubjectKind: "task", SubjectID: "task1", Since: monday}, []string{"events_of_subject (subject_id=? AND id>?)"}},
		"a person":         {Filter{ActorIDs: []string{"ada"}, Kinds: []string{"task.*"}}, []string{"events_of_actor (actor_id=? AND class=?)"}},
		"the service":      {Filter{ActorIDs: []string{"system"}, Kinds: []string{"task.opened"}}, []string{"events_of_kind (kind=? AND class=?)"}},
	} {
		tt.f.Class = Activity
		known, err := knownKinds(t.Context(), d, tt.f.Kinds)
		if err != nil {
			t.Fatal(err)
		}
		query, args, err := events.Query(db.SQLite, tt.f.where(known), page.Want{})
		if err != nil {
			t.Fatal(err)
		}
		plan := planOf(t, d, `EXPLAIN QUERY PLAN `+query, args...)
		missing := slices.DeleteFunc(slices.Clone(tt.want), func(w string) bool { return strings.Contains(plan, w) })
		if len(missing) > 0 || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN events") {
			t.Errorf("%s: no %q in\n%s", name, missing, plan)
		}
	}
}
