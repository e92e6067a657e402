package approval

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/task"
)

var deploy = Ask{Question: "Where shall I deploy?\n" + token, Options: []string{"Staging", "Production"}, Task: "task-7"}

// answering returns the answer with these words to what the question shows.
func answering(q Question, words string) Answer {
	return Answer{Shown: q.Shown, Answers: map[string][]string{answerPart: {words}}}
}

// atOnce calls fn on each replica at the same time and returns what the calls returned.
func atOnce[T any](all []*Service, fn func(n int, s *Service) T) []T {
	out := make([]T, len(all))
	var wg sync.WaitGroup
	for n, s := range all {
		wg.Go(func() { out[n] = fn(n, s) })
	}
	wg.Wait()
	return out
}

// jobs returns the number of jobs that wait to deliver an answer.
func (w *world) jobs() (n int) {
	w.t.Helper()
	if err := w.d.QueryRow(w.t.Context(), `SELECT COUNT(*) FROM jobs WHERE kind = ?`, kindDeliver).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) tends(s *Service) {
	w.t.Helper()
	if err := s.Tend(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// A question that is asked on several replicas at once is one question, several people answer it once,
// and the agent hears the answer once, although it could not be reached at first and Wardroom restarted.
func TestAskHuman(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		all := []*Service{w.replica(), w.replica(), w.replica()}
		type got struct {
			q    Question
			made bool
			err  error
		}
		made := 0
		var q Question
		for _, g := range atOnce(all, func(n int, s *Service) got {
			a := deploy
			a.Until = clock.Ptr(noon.Add(time.Duration(n+1) * time.Hour)) // an agent that repeats the call computes it anew
			q, made, err := s.Ask(w.agent("cto"), a)
			return got{q, made, err}
		}) {
			if g.made {
				made++
			}
			if q.ID == "" {
				q = g.q
			}
			if g.err != nil || g.q.ID != q.ID || g.q.State != Pending || g.q.Task != "TASK-7" || g.q.SessionKey != "agent:cto:main" || g.q.Source != "wardroom" {
				t.Fatalf("%v: %+v", g.err, g.q)
			}
		}
		w.wantItems("question high open CTO asks: Where shall I deploy? [masked:github_token]")
		if made != 1 {
			t.Errorf("%d calls made the question, want 1", made)
		}
		all[0].Receive(mirror.Event{Event: link.Event{Resync: true}}) // the gateway does not know it
		w.passes(all[0])

		won := 0
		for n, err := range atOnce(all, func(n int, s *Service) error {
			_, err := s.Reply(w.as([]string{"Owner", "Admin", "User"}[n]), q.ID, answering(q, "Staging"))
			return err
		}) {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrDecided) {
				t.Errorf("answer %d: %v", n, err)
			}
		}
		is, again, err := all[1].Ask(w.agent("cto"), deploy)
		if won != 1 || again || err != nil || is.ID != q.ID || is.State != Answered || is.Answers[answerPart][0] != "Staging" || is.Delivery != Due {
			t.Fatalf("%d won, %v, asked anew %v: %+v", won, err, again, is)
		}
		comments := w.comments()
		if len(comments) != 1 || w.jobs() != 1 || !strings.HasPrefix(comments[0], "TASK-7 by "+is.By.Name+": Question of CTO:\n\n```\nWhere") ||
			!strings.HasSuffix(comments[0], "\n\nStaging") {
			t.Errorf("%d jobs, comments %q", w.jobs(), comments)
		}

		w.deaf = link.ErrUnreachable.With("Start it.")
		w.tends(all[0])
		if is, err = all[0].GetQuestion(w.as("Owner"), q.ID); err != nil || is.Delivery != Due || !strings.Contains(is.DeliveryNote, "Start it.") {
			t.Errorf("%v: %+v", err, is)
		}
		w.deaf = nil
		restarted := w.replica()
		w.tends(restarted)
		w.tends(restarted)
		if is, err = restarted.GetQuestion(w.as("Owner"), q.ID); err != nil || is.Delivery != Sent || is.DeliveryNote != "" {
			t.Errorf("%v: %+v", err, is)
		}
		name := once.Name(once.With(t.Context(), once.New(is.By.ID, "answer", q.ID, []byte(q.ID))), "")
		want := is.By.Name + " in agent:cto:main as " + name + ": Answer to the question that you asked with ask_human " +
			"at 12:00 UTC on 16 November 2026 about TASK-7:\n\n" +
			"> Where shall I deploy?\n> [masked:github_token]\n\n" + is.By.Name + " answers: Staging\n\nContinue the work that waited for this answer."
		if len(w.told) != 1 || w.told[0] != want {
			t.Errorf("the agent hears %q, want %q", w.told, want)
		}
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE class = 'audit' AND kind IN ('question.asked', 'approval.answered')`).Scan(&made); err != nil || made != 2 {
			t.Errorf("%v: %d entries in the audit log, want 2", err, made)
		}
		w.move(25 * time.Hour)
		if is, again, err = restarted.Ask(w.agent("cto"), deploy); err != nil || !again || is.ID == q.ID {
			t.Errorf("a day later: %v, %v, %+v", again, err, is)
		}
	})
}

// A question ends when it expires or is withdrawn, and says so; skipping it tells the agent. One without
// an expiry waits.
func TestAskedEndings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		ask := func(text string, life time.Duration) Question {
			a := Ask{Question: text}
			if life > 0 {
				a.Until = clock.Ptr(w.clock().Add(life))
			}
			q, _, err := s.Ask(w.agent("cto"), a)
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		waits, late, back, skipped := ask("waits", 0), ask("late", time.Hour), ask("back", 0), ask("skipped", time.Hour)
		if _, err := s.Reply(w.as("Owner"), skipped.ID, Answer{Shown: skipped.Shown}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reply(w.as("Owner"), waits.ID, Answer{Shown: "other"}); !errors.Is(err, ErrChanged) {
			t.Errorf("an answer to something else: %v", err)
		}
		if _, err := s.Withdraw(w.agent("cmo"), back.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("another agent withdraws it: %v", err)
		}
		for range 2 {
			if q, err := s.Withdraw(w.agent("cto"), back.ID); err != nil || q.State != Withdrawn {
				t.Errorf("%v: %+v", err, q)
			}
		}
		w.move(time.Hour)
		if _, err := s.Reply(w.as("Owner"), late.ID, answering(late, "yes")); !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("a late answer: %v", err)
		}
		w.tends(s)
		if _, err := s.Withdraw(w.agent("cto"), late.ID); !errors.Is(err, ErrDecided) {
			t.Errorf("withdrawn after it has expired: %v", err)
		}
		w.move(60 * 24 * time.Hour)
		w.tends(s)
		for q, want := range map[*Question]State{&waits: Pending, &late: Expired, &back: Withdrawn, &skipped: Skipped} {
			if got, err := s.GetQuestion(w.as("Owner"), q.ID); err != nil || got.State != want {
				t.Errorf("%s: %v, %s", q.Parts[0].Text, err, got.State)
			}
		}
		if len(w.told) != 1 || !strings.Contains(w.told[0], "Owner leaves the decision to you.") {
			t.Errorf("the agent hears %q", w.told)
		}
		w.wantItems(
			"question high open CTO asks: waits",
			"question high resolved CTO asks: late (Wardroom: CTO got no answer in time.)",
			"question medium open CTO got no answer in time. late",
			"question high resolved CTO asks: back (Wardroom: CTO withdrew the question.)",
			"question high resolved CTO asks: skipped (Owner: Owner left the decision to CTO.)",
		)
	})
}

// A question that was asked or answered while the clock was ahead must not wait, or answer the next one, for years.
func TestAskedWhileClockWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		const ahead = 10 * 365 * 24 * time.Hour
		w.move(ahead)
		late, _, err := s.Ask(w.agent("cto"), Ask{Question: "late", Until: clock.Ptr(w.clock().Add(time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		said, _, err := s.Ask(w.agent("cto"), Ask{Question: "said"})
		if err == nil {
			_, err = s.Reply(w.as("Owner"), said.ID, Answer{Shown: said.Shown})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.move(-ahead)
		w.tends(s)
		if q, err := s.GetQuestion(w.as("Owner"), late.ID); err != nil || q.State != Expired {
			t.Errorf("%v: it is %s", err, q.State)
		}
		if q, made, err := s.Ask(w.agent("cto"), Ask{Question: "said"}); err != nil || !made || q.State != Pending {
			t.Errorf("%v: asked again, it is %s", err, q.State)
		}
	})
}

// What cannot be asked is refused, and an agent cannot flood the inbox.
func TestAskRefusals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		for name, a := range map[string]Ask{
			"/question":    {Question: " \u202e"},
			"/options":     {Question: "x", Options: []string{"1", "2", "3", "4", "5"}},
			"/options/1":   {Question: "x", Options: []string{"a", " a "}},
			"/session_key": {Question: "x", Session: "agent:cmo:main"},
			"/until":       {Question: "x", Until: clock.Ptr(noon.Add(30*24*time.Hour + time.Second))},
		} {
			_, _, err := s.Ask(w.agent("cto"), a)
			if f := fault.Of(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != name {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := s.Ask(w.agent("cto"), Ask{Question: "x", Task: "TASK-8"}); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("an unknown task: %v", err)
		}
		for n := range maxWaiting {
			if _, _, err := s.Ask(w.agent("cto"), Ask{Question: strings.Repeat("x", n+1)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Ask(w.agent("cto"), Ask{Question: "one more"}); !errors.Is(err, ErrTooMany) {
			t.Errorf("one more: %v", err)
		}
		if _, made, err := s.Ask(w.agent("cto"), Ask{Question: "x"}); err != nil || made {
			t.Errorf("repeated: %v, %v", made, err)
		}
		if _, made, err := s.Ask(w.agent("cmo"), Ask{Question: "x"}); err != nil || !made {
			t.Errorf("another agent's: %v, %v", made, err)
		}
	})
}

// An answer that the runtime refuses becomes an inbox item. It can be deleted later, but not while it is due.
func TestUndeliverableAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		q, _, err := s.Ask(w.agent("cto"), Ask{Question: "Deploy?", Session: "agent:CTO:task:task-7"})
		if err != nil || q.Task != "TASK-7" {
			t.Fatalf("%v: %+v", err, q)
		}
		if _, err := s.Reply(w.as("Owner"), q.ID, answering(q, "yes")); err != nil {
			t.Fatal(err)
		}
		w.deaf = context.DeadlineExceeded // not known to be temporary or final
		if err := s.Tend(t.Context()); !errors.Is(err, w.deaf) {
			t.Errorf("an unknown failure: %v", err)
		}
		ended := w.clock().Add(time.Hour)
		if n, _, err := s.CountEnded(t.Context(), ended); err != nil || n != 0 {
			t.Errorf("%v: %d could be deleted while the answer is due", err, n)
		}
		w.deaf = link.ErrRefused.With("No such session.")
		w.tends(s)
		w.tends(s)
		w.wantItems("question high resolved CTO asks: Deploy? (Owner: Owner answered.)", "question high open Could not tell CTO the answer: Deploy?")
		part, err := s.Questions(w.as("Owner"), Filter{Task: "TASK-7"}, page.Want{})
		if err != nil || len(part.Rows) != 1 || part.Rows[0].Delivery != Failed || !strings.Contains(part.Rows[0].DeliveryNote, "No such session.") {
			t.Errorf("%v: %+v", err, part.Rows)
		}
		if n, _, err := s.CountEnded(t.Context(), ended); err != nil || n != 1 {
			t.Errorf("%v: %d can be deleted", err, n)
		}
	})
}
