package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

// Each run of a job makes its task once: over restarts, with two replicas that read at the same time,
// and whether the run was seen in progress or only at its end.
func TestRunTasks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		accounts := &account.Service{DB: d, Now: h.r.clock, Cost: bcrypt.MinCost}
		cto := account.NewUser{Email: "c@example.com", Password: "password of an agent", Role: actor.Agent, AgentID: patch.Set("cto")}
		if _, err := accounts.Create(h.ctx(), cto); err != nil {
			t.Fatal(err)
		}
		beside := h.replica(d)
		const one = "Look for for cto of job:j"
		last := 0
		want := func(n int) {
			t.Helper()
			rows, err := d.Query(t.Context(), `SELECT number, title || ' for ' || agent_id || ' of ' || origin
				FROM tasks JOIN users ON users.id = assignee_id WHERE number > ? ORDER BY number`, last)
			made, err := db.All(rows, err, func(r db.Row) (is string, err error) { return is, r.Scan(&last, &is) })
			if err != nil || !slices.Equal(made, slices.Repeat([]string{one}, n)) {
				t.Errorf("at %s the tasks %q were made, %v; want %d times %q", h.r.clock().Format("15:04:05"), made, err, n, one)
			}
		}
		both := func(when string) {
			t.Helper()
			h.r.change(func() { h.r.now = at(when) })
			var all sync.WaitGroup
			for _, s := range []*Service{h.Service, beside, h.Service} {
				all.Go(func() {
					if err := (&reader{s: s}).read(h.ctx()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		set := func(task *RunTask) {
			t.Helper()
			j, err := h.Change(h.ctx(), "j", Change{Task: patch.Field[RunTask]{Given: true, Value: task}})
			if err != nil || (j.Task == nil) != (task == nil) {
				t.Fatalf("%+v, %v", j.Task, err)
			}
		}
		h.at("08:30:00")
		h.r.ended("j", "08:00:01", "08:01:00", "ok", "0")
		set(&RunTask{Title: " Look for "})
		both("08:31:00")
		want(0) // the run was before
		run := func(at *clock.Time) {
			h.r.change(func() { j := h.r.jobs["j"]; j.State.RunningAt = at; h.r.jobs["j"] = j })
		}
		run(clock.Ptr(at("09:00:01")))
		both("09:00:02")
		want(1)
		run(nil)
		h.r.ended("j", "09:00:01", "09:01:00", "error", "1")
		both("09:01:01")
		want(0)
		h.r.ended("j", "10:00:01", "10:01:00", "ok", "2")
		h.r.ended("j", "11:00:01", "11:01:00", "skipped", "3")
		h.r.ended("j", "12:00:01", "12:01:00", "ok", "manual:4")
		both("12:01:01") // both were offline
		want(2)
		if j, err := h.Get(h.ctx(), "j"); err != nil || *j.Task != (RunTask{"Look for", "", "medium"}) {
			t.Errorf("%+v, %v", j.Task, err)
		}
		title := func(is string) {
			t.Helper()
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE schedule_jobs SET task = ?`, `{"title":"`+is+`","priority":"medium"}`)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		title("") // which the board refuses
		h.r.ended("j", "13:00:01", "13:01:00", "ok", "5")
		both("13:01:01")
		want(0)
		title("Look for")
		h.r.ended("j", "14:00:01", "14:01:00", "ok", "6")
		both("14:01:01")
		want(1)
		set(nil)
		h.r.ended("j", "15:00:01", "15:01:00", "ok", "7")
		both("15:01:01")
		want(0)
	})
}

// A job can be created with its task. A task that the board would refuse is refused, and a change of
// only the task is not sent to the runtime.
func TestRunTaskChanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d)
		h.at("08:30:00")
		draft := Draft{Name: "Watch", AgentID: "cto", Schedule: Times{Expr: "0 9 * * *"}, Payload: Payload{Message: "Look."}, Task: patch.Set(RunTask{Title: " "})}
		if _, err := h.Make(h.ctx(), draft); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(fmt.Sprint(fault.Of(err).Fields), "/task/title") {
			t.Errorf("a task without a title: %v", err)
		}
		draft.Task = patch.Set(RunTask{Title: "Look around", Priority: "high"})
		j, err := h.Make(h.ctx(), draft)
		if err != nil || j.Task == nil || *j.Task != *draft.Task.Value {
			t.Fatalf("%+v, %v", j.Task, err)
		}
		if _, err := h.Change(h.ctx(), j.ID, Change{Task: patch.Set(RunTask{Title: strings.Repeat("x", 501)})}); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("a long title: %v", err)
		}
		for _, c := range []Change{{Task: patch.Set(RunTask{Title: "Look twice"})}, {Name: new("Guard")}} {
			if j, err = h.Change(h.ctx(), j.ID, c); err != nil || j.Task == nil || j.Task.Title != "Look twice" {
				t.Errorf("%+v, %v", j.Task, err)
			}
		}
		h.at("08:31:00")
		all, _, err := h.List(h.ctx(), Filter{}, "", 10)
		if err != nil || len(all) != 1 || all[0].Task == nil || all[0].Name != "Guard" || h.r.calls["change"] != 1 {
			t.Errorf("%+v, %v, %d changes in the runtime", all, err, h.r.calls["change"])
		}
	})
}
