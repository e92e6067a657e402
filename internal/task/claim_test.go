package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

// The rules for who can continue work on a claimed task.
func TestHolding(t *testing.T) {
	t.Parallel()
	cto, cmo := actor.Actor{ID: "cto", Name: "CTO", Role: actor.Agent}, actor.Actor{ID: "cmo", Name: "CMO", Role: actor.Agent}
	later := monday.Add(time.Hour)
	claimed := func(by actor.Actor) Task {
		is := card(t)
		is.claim(by, monday, later)
		return is
	}
	again := claimed(cto) // lost by the CTO to the CMO
	again.claim(cmo, later, later.Add(time.Hour))
	twice := claimed(cto) // by two workers of one account
	twice.claim(cto, later, later.Add(time.Hour))
	given := claimed(cto)
	given.move(Todo, monday, cto)
	taken := claimed(cto)
	taken.move(Todo, monday, ada)
	token := func(n int64) *int64 { return &n }
	for name, tt := range map[string]struct {
		task        Task
		by          actor.Actor
		at          time.Time
		token       *int64
		free, fence string
	}{
		"nobody's":                      {card(t), cto, monday, nil, "", ""},
		"the holder's":                  {claimed(cto), cto, monday, token(1), "", ""},
		"another's":                     {claimed(cto), cmo, monday, nil, ErrClaimed.Code, ""},
		"by another's token":            {claimed(cto), cmo, monday, token(1), ErrClaimed.Code, ErrClaimLost.Code},
		"by a token that never was":     {card(t), cto, monday, token(1), "", ErrClaimLost.Code},
		"until just before the end":     {claimed(cto), cmo, later.Add(-time.Millisecond), nil, ErrClaimed.Code, ""},
		"at the end":                    {claimed(cto), cmo, later, nil, "", ""},
		"of the holder at the end":      {claimed(cto), cto, later, token(1), ErrClaimLost.Code, ErrClaimLost.Code},
		"of one who lost it to another": {again, cto, later, token(1), ErrClaimLost.Code, ErrClaimLost.Code},
		"of the other":                  {again, cmo, later, token(2), "", ""},
		"by one's earlier token":        {twice, cto, later, token(1), "", ErrClaimLost.Code},
		"by one's later token":          {twice, cto, later, token(2), "", ""},
		"given back":                    {given, cto, monday, nil, "", ""},
		"given back, by the token":      {given, cto, monday, token(1), "", ErrClaimLost.Code},
		"taken away":                    {taken, cto, monday, nil, ErrClaimLost.Code, ErrClaimLost.Code},
		"taken away, to another":        {taken, cmo, monday, nil, "", ""},
	} {
		if tt.fence == ErrClaimLost.Code && tt.token == nil {
			tt.fence = ""
		}
		for what, got := range map[string][2]string{
			"free": {codeOf(tt.task.checkHolder(tt.by, tt.at)), tt.free}, "fence": {codeOf(tt.task.checkToken(tt.token, tt.by, tt.at)), tt.fence},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %s is %q, want %q", name, what, got[0], got[1])
			}
		}
	}
	for want, task := range map[string]Task{"now claimed by CMO, until": again, "not belong to your current claim": twice} {
		if err := fault.Of(task.checkToken(token(1), cto, later)); err == nil || !strings.Contains(err.Detail, want) {
			t.Errorf("an earlier token is refused with %v, want %q", err, want)
		}
	}
}

func codeOf(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

// live returns a board on the real clock, which PostgreSQL's leases use.
func live(d *db.DB) *Service { return serviceAt(d, clock.Now) }

// expire makes the claim of a task expire now.
func expire(t testing.TB, d *db.DB, key string) {
	t.Helper()
	number, _ := parseKey(key)
	err := d.Tx(asService(t), func(tx *db.Tx) error {
		n, err := tx.Exec(asService(t), `UPDATE tasks SET claim_until = ? WHERE number = ? AND claim_by IS NOT NULL`, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), number)
		if n != 1 {
			t.Errorf("%s was not claimed", key)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Claiming, renewing, and releasing a task.
func TestClaim(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		a, b := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "cmo", actor.Agent, true)
		cto, cmo := actor.With(t.Context(), a), actor.With(t.Context(), b)
		makeTask(t, s, "Ship it")
		began := time.Now()
		got, err := s.Claim(cto, "TASK-1", ClaimOptions{})
		if err != nil || got.Status != InProgress || got.Claim == nil || got.Claim.By != a.ID || got.Claim.Name != "CTO" || got.Claim.Token != 1 || got.AssigneeID != nil {
			t.Fatalf("claimed: %+v, %+v, %v", got, got.Claim, err)
		}
		if left := got.Claim.ExpiresAt.Sub(began); left < 14*time.Minute || left > 16*time.Minute {
			t.Errorf("it lasts for %v", left)
		}
		if is, err := s.Get(cmo, "TASK-1"); err != nil || is.Claim == nil || is.Claim.Token != 0 {
			t.Errorf("others see %+v, %v", is.Claim, err)
		}
		if own, err := s.Of(cto, "cto", began); err != nil || keys(own) != "1" {
			t.Errorf("it has %s, %v", keys(own), err)
		}
		f := fault.Of(second(s.Claim(cmo, "TASK-1", ClaimOptions{})))
		if held, _ := f.Facts["claim"].(*Claim); f.Code != ErrClaimed.Code || held == nil || held.By != a.ID || held.Token != 0 {
			t.Errorf("the second is told %+v", f)
		}
		for _, status := range []Status{Done, Review} {
			if _, err := s.Update(cmo, "TASK-1", to(status), nil); !errors.Is(err, ErrClaimed) {
				t.Errorf("another moves it to %s: %v", status, err)
			}
		}
		if _, err := s.Update(cmo, "TASK-1", Change{Title: new("Ship it now")}, nil); err != nil {
			t.Errorf("another gives it a title: %v", err)
		}
		renewed, err := s.Claim(cto, "TASK-1", ClaimOptions{Lease: time.Hour, Token: new(int64(1))})
		if err != nil || renewed.Version != 3 || renewed.Claim.Token != 1 || !renewed.Claim.ExpiresAt.After(got.Claim.ExpiresAt.Time) {
			t.Errorf("renewed: %+v at version %d, %v", renewed.Claim, renewed.Version, err)
		}
		if _, err := s.Release(cmo, "TASK-1", ClaimOptions{}); !errors.Is(err, ErrClaimed) {
			t.Errorf("another gives it back: %v", err)
		}
		back, err := s.Release(cto, "TASK-1", ClaimOptions{Token: new(int64(1))})
		if err != nil || back.Claim != nil || back.Status != Todo {
			t.Errorf("given back: %+v in %s, %v", back.Claim, back.Status, err)
		}
		if same, err := s.Release(cto, "TASK-1", ClaimOptions{}); err != nil || same.Version != back.Version {
			t.Errorf("given back again: version %d, %v", same.Version, err)
		}
		// An unassigned task is assigned to the holder who finishes it.
		if _, err = s.Claim(cmo, "TASK-1", ClaimOptions{}); err == nil {
			got, err = s.Update(cmo, "TASK-1", to(Done), nil)
		}
		if err != nil || got.Claim != nil || got.Status != Review || got.AssigneeID == nil || *got.AssigneeID != b.ID {
			t.Errorf("finished: %+v, %v", got, err)
		}
		if _, err := s.Claim(cto, "TASK-1", ClaimOptions{}); !errors.Is(err, ErrNotOpen) {
			t.Errorf("claimed in review: %v", err)
		}
		for _, bad := range []time.Duration{-time.Second, 24*time.Hour + 1, time.Millisecond} {
			if got := refused(t, second(s.Claim(cto, "TASK-1", ClaimOptions{Lease: bad}))); len(got) != 1 {
				t.Errorf("%v: refused %v", bad, got)
			}
		}
	})
}

// A claim expires if it is not renewed, and its former holder cannot overwrite
// the next holder's work.
func TestLease(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		cto, cmo := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true)), actor.With(t.Context(), makeUser(t, d, "cmo", actor.Agent, true))
		makeTask(t, s, "Ship it")
		makeTask(t, s, "Nobody's")
		end := func() {
			t.Helper()
			if err := s.EndLeases(asService(t)); err != nil {
				t.Fatal(err)
			}
		}
		end()
		claimed, err := s.Claim(cto, "TASK-1", ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		end()
		if is, err := s.Get(cto, "TASK-1"); err != nil || is.Claim == nil {
			t.Fatalf("a claim was ended before its time: %v", err)
		}
		late := func(when string) {
			t.Helper()
			for what, err := range map[string]error{
				"a report":            second(s.Report(cto, "TASK-1", Report{Kind: Finished})),
				"a note":              second(s.Report(cto, "TASK-1", Report{Kind: Progress, Text: "half"})),
				"a move":              second(s.Update(cto, "TASK-1", to(Done), nil)),
				"a change by token":   second(s.Update(cto, "TASK-1", Change{Branch: patch.Set("x"), ClaimToken: &claimed.Claim.Token}, nil)),
				"a renewal by token":  second(s.Claim(cto, "TASK-1", ClaimOptions{Token: &claimed.Claim.Token})),
				"a release by token":  second(s.Release(cto, "TASK-1", ClaimOptions{Token: &claimed.Claim.Token})),
				"a report with token": second(s.Report(cto, "TASK-1", Report{Kind: Ack, ClaimToken: &claimed.Claim.Token})),
			} {
				if codeOf(err) != ErrClaimLost.Code {
					t.Errorf("%s: %s: %v", when, what, err)
				}
			}
		}
		expire(t, d, "TASK-1")
		if is, err := s.Get(cmo, "TASK-1"); err != nil || is.Claim != nil {
			t.Errorf("a claim that has ended is shown: %+v, %v", is.Claim, err)
		}
		late("ended")
		end()
		is, err := s.Get(cmo, "TASK-1")
		if err != nil || is.Claim != nil || is.Status != Todo {
			t.Errorf("freed: %+v in %s, %v", is.Claim, is.Status, err)
		}
		if e := events(t, d)[0]; e.Kind != "task.lease_ended" || e.Actor.ID != actor.System.ID {
			t.Errorf("told as %s by %s", e.Kind, e.Actor.Name)
		}
		late("freed")
		if _, ok, err := s.ClaimNext(cmo, ClaimOptions{}); err != nil || !ok {
			t.Fatal(ok, err)
		}
		late("another's")
		if _, err := s.Report(cmo, "TASK-1", Report{Kind: Finished}); err != nil {
			t.Errorf("the other reports: %v", err)
		}
		// After another user moved the task, the lost claim is forgotten.
		if _, err := s.Update(cmo, "TASK-1", to(Todo), nil); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Claim(cto, "TASK-1", ClaimOptions{}); err != nil || got.Claim.Token != 3 {
			t.Errorf("claimed anew: %+v, %v", got.Claim, err)
		}
	})
}

// ClaimNext returns the best available task, and none that the agent cannot
// work on.
func TestClaimNext(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		cto := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true))
		makeUser(t, d, "cmo", actor.Agent, true)
		day := func(n int) *clock.Time { return clock.Ptr(monday.AddDate(0, 0, n)) }
		for i, n := range []New{
			{Title: "nobody's, urgent", Priority: Urgent},
			{Title: "own, low", Priority: Low, Assignee: new("cto")},
			{Title: "own, medium, due late", Assignee: new("cto"), DueAt: day(9)},
			{Title: "own, medium, due soon", Assignee: new("cto"), DueAt: day(2)},
			{Title: "own, medium, due never", Assignee: new("cto")},
			{Title: "own, medium, due never, moved up", Assignee: new("cto")},
			{Title: "another's", Priority: Urgent, Assignee: new("cmo")},
			{Title: "own, blocked", Priority: Urgent, Assignee: new("cto")},
			{Title: "own, waits", Priority: Urgent, Assignee: new("cto"), DependsOn: []Name{"TASK-7"}},
			{Title: "own, in the backlog", Priority: Urgent, Assignee: new("cto"), Status: Backlog},
			{Title: "own, begun", Priority: Urgent, Assignee: new("cto"), Status: InProgress},
			{Title: "own, put away", Priority: Urgent, Assignee: new("cto")},
			{Title: "nobody's, high", Priority: High},
		} {
			made, err := s.Create(asService(t), n)
			if err != nil || made.number != int64(i+1) {
				t.Fatal(made.Key, err)
			}
		}
		_, err := s.Update(asService(t), "TASK-6", Change{Position: &Place{At: new("first")}}, nil)
		_, err2 := s.Update(asService(t), "TASK-8", Change{Blocked: patch.Set(BlockedReason{Reason: "No key"})}, nil)
		_, err3 := s.Archive(asService(t), "TASK-12", nil)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		var got []Task
		for {
			next, ok, err := s.ClaimNext(cto, ClaimOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if next.Status != InProgress || next.Claim == nil || next.Claim.Token != 1 {
				t.Errorf("got %s in %s with %+v", next.Key, next.Status, next.Claim)
			}
			got = append(got, next)
		}
		if want := "4 3 6 5 2 1 13"; keys(got) != want {
			t.Errorf("the order is %s, want %s", keys(got), want)
		}
	})
}

// Concurrent agents get different tasks, and every task is claimed.
func TestClaimNextRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		const tasks, agents = 1000, 16
		err := d.Tx(asService(t), func(tx *db.Tx) error {
			for i := range tasks {
				made, err := New{Title: "A task", Priority: []Priority{Low, Medium, High, Urgent}[i%4]}.make(db.NewID(), monday, actor.System)
				if err == nil {
					err = insert(asService(t), tx, &made)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var who []context.Context
		for i := range agents {
			who = append(who, actor.With(t.Context(), makeUser(t, d, fmt.Sprint("agent", i), actor.Agent, true)))
		}
		var mu sync.Mutex
		var all []int64
		began := time.Now()
		got := race(agents, func(i int) error {
			for {
				next, ok, err := s.ClaimNext(who[i], ClaimOptions{})
				if err != nil || !ok {
					return err
				}
				mu.Lock()
				all = append(all, next.number)
				mu.Unlock()
			}
		})
		took := time.Since(began)
		t.Logf("%d claims by %d agents took %v: %.0f a second", tasks, agents, took, tasks/took.Seconds())
		slices.Sort(all)
		if len(all) != tasks || len(slices.Compact(all)) != tasks || got["won"] != agents {
			t.Errorf("%d claims, outcomes %v; want each of %d tasks once", len(all), got, tasks)
		}
		if n := len(eventsOf(t, d, "task.claimed")); n != tasks {
			t.Errorf("%d claims are in the log", n)
		}
	})
}

// Of many concurrent claims one succeeds, and the others get the holder's name.
func TestClaimRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		makeTask(t, s, "Wanted")
		var who []context.Context
		for i := range 8 {
			who = append(who, actor.With(t.Context(), makeUser(t, d, fmt.Sprint("agent", i), actor.Agent, true)))
		}
		got := race(len(who), func(i int) error { return second(s.Claim(who[i], "TASK-1", ClaimOptions{})) })
		if got["won"] != 1 || got[ErrClaimed.Code] != 7 {
			t.Errorf("outcomes are %v", got)
		}
	})
}

// eventsOf returns the IDs of the events of a kind.
func eventsOf(t testing.TB, d *db.DB, kind string) []int64 {
	t.Helper()
	rows, err := d.Query(asService(t), `SELECT id FROM events WHERE kind = ? ORDER BY id`, kind)
	ids, err := db.All(rows, err, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
