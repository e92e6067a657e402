package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// desk is a board with an inbox, on which the boss decides about a task of the CTO.
type desk struct {
	*Service
	t              *testing.T
	boss, ada, cto actor.Actor
	sent           []string // notes of dispatches
	ended          []string // keys of tasks whose blockers ended
	failing        string   // the step that fails: blockers or send
}

var errStep = errors.New("this step fails")

func newDesk(t *testing.T, d *db.DB) *desk {
	t.Helper()
	s := &desk{Service: newService(d), t: t}
	s.boss, s.ada = makeUser(t, d, "boss", actor.Admin, true), makeUser(t, d, "ada", actor.User, true)
	s.cto = makeUser(t, d, "cto", actor.Agent, true)
	fail := func(step string) error {
		if s.failing == step {
			return errStep
		}
		return nil
	}
	s.EndBlockers = func(_ context.Context, tx *db.Tx, key, _ string) error {
		tx.Committed(func() { s.ended = append(s.ended, key) })
		return fail("blockers")
	}
	s.Send = func(_ context.Context, tx *db.Tx, id, note string) error {
		tx.Committed(func() { s.sent = append(s.sent, id+" "+note) })
		return fail("send")
	}
	return s
}

// as returns a context in which the actor makes the request with an idempotency key, if key is not
// empty.
func (s *desk) as(by actor.Actor, key string) context.Context {
	ctx := actor.With(s.t.Context(), by)
	if key != "" {
		ctx = once.With(ctx, once.New(by.ID, "decide", key, []byte("the same request")))
	}
	return ctx
}

// blocked creates a blocked task of the CTO with an item of each kind that is about it, and an item of
// another task.
func (s *desk) blocked() Task {
	s.t.Helper()
	made, err := s.Create(s.as(s.boss, ""), New{Title: "Renew it", Assignee: new("cto")})
	if err == nil {
		made, err = s.Update(s.as(s.boss, ""), made.ID, Change{Blocked: patch.Set(BlockedReason{Reason: "No card"})}, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.raise(made, inbox.Kinds()...)
	s.raise(makeTask(s.t, s.Service, "Another"), inbox.Escalation)
	return made
}

// raise raises an item of each kind about a task.
func (s *desk) raise(about Task, kinds ...inbox.Kind) {
	s.t.Helper()
	err := s.DB.Tx(s.t.Context(), func(tx *db.Tx) error {
		for _, k := range kinds {
			cause := string(k) + about.ID
			if k == inbox.TaskReview {
				cause = reviewCause + about.ID
			}
			m := inbox.NewItem{Cause: cause, Kind: k, Severity: inbox.High, Title: about.Key, Subject: about.Subject()}
			if err := s.Inbox.Raise(s.t.Context(), tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// items returns the items as "kind of task state by note", without those that are open.
func (s *desk) items() []string {
	s.t.Helper()
	part, err := s.Inbox.List(asService(s.t), inbox.Filter{States: inbox.States()}, page.Want{Query: page.Query{Limit: 100}})
	if err != nil {
		s.t.Fatal(err)
	}
	out := []string{}
	for _, i := range part.Rows {
		line := fmt.Sprint(i.Kind, " ", i.Title, " ", i.State)
		if i.Resolution != nil {
			line += " by " + i.Resolution.By.Name + ": " + i.Resolution.Note
		}
		if i.State != inbox.Open {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// comments returns the comments on a task as "author: body".
func (s *desk) comments(key string) []string {
	s.t.Helper()
	part, err := s.Comments(asService(s.t), key, want(100, "", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	out := []string{}
	for _, c := range part.Rows {
		out = append(out, c.AuthorName+": "+c.Body)
	}
	return out
}

// everything returns all that a decision can change.
func (s *desk) everything(key string) string {
	s.t.Helper()
	t, err := s.Get(asService(s.t), key)
	if err != nil {
		s.t.Fatal(err)
	}
	part, err := event.Read(asService(s.t), s.DB, event.Filter{Class: event.Activity}, want(1000, "", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(t.Version, t.Status, t.Blocked != nil, t.Comments, s.comments(key), s.items(), len(part.Rows), s.sent, s.ended)
}

// A decision comments, unblocks, resolves what it answers, and reaches the agent, once.
func TestDecide(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		made := s.blocked()
		counts := race(8, func(int) error { // the same request, sent again and again
			got, err := s.Decide(s.as(s.boss, "k"), made.Key, Decision{Text: "Use the\u202e new card.\r\nAsk @cto.\u0000", Dispatch: true})
			if err == nil && (got.Blocked != nil || got.Version != made.Version+1 || got.Comments != 1 || got.Status != Todo) {
				err = fmt.Errorf("decided: %+v", got)
			}
			return err
		})
		if counts["won"] != 8 {
			t.Errorf("the requests ended with %v", counts)
		}
		const text = "Use the new card.\nAsk @cto."
		if diff := cmp.Diff([]string{"BOSS: " + text}, s.comments(made.Key)); diff != "" {
			t.Error(diff)
		}
		answered := " TASK-1 resolved by BOSS: " + text
		if diff := cmp.Diff([]string{"escalation" + answered, "old_blocker" + answered, "task_blocked" + answered}, s.items()); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(s.sent, []string{made.ID + " " + text}) || !slices.Equal(s.ended, []string{made.Key}) {
			t.Errorf("sent %q, ended the blockers of %q", s.sent, s.ended)
		}
		var kinds []string
		for _, e := range events(t, d) {
			if e.Subject.ID == made.ID {
				kinds = append(kinds, e.Kind)
			}
			if strings.Contains(string(e.Data), "new card") {
				t.Errorf("the event %s has the text, which stays when the comment is deleted: %s", e.Kind, e.Data)
			}
		}
		if got := strings.Join(kinds, " "); got != "task.decided task.commented task.changed task.created" {
			t.Errorf("the history has %s", got)
		}
	})
}

// A decision that does not unblock leaves its items to be answered, acknowledged.
func TestDecideWithoutUnblocking(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		made := s.blocked()
		got, err := s.Decide(s.as(s.ada, ""), made.Key, Decision{Text: "Wait for Friday.", Unblock: new(false)})
		if err != nil || got.Blocked == nil || got.Blocked.Reason != "No card" {
			t.Errorf("decided: %+v, %v", got.Blocked, err)
		}
		if diff := cmp.Diff([]string{"escalation TASK-1 acked", "old_blocker TASK-1 acked", "task_blocked TASK-1 acked"}, s.items()); diff != "" {
			t.Error(diff)
		}
		if len(s.sent)+len(s.ended) > 0 || !slices.Equal(s.comments(made.Key), []string{"ADA: Wait for Friday."}) {
			t.Errorf("sent %q, ended %q, comments %q", s.sent, s.ended, s.comments(made.Key))
		}
	})
}

// A request that fails at any step, or is refused, leaves nothing behind.
func TestDecideWhollyOrNotAtAll(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		made := s.blocked()
		review, err := s.Create(s.as(s.boss, ""), New{Title: "Look at it", Status: Review, Assignee: new("cto")})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("é", maxDecision+1)
		for _, tt := range []struct {
			name, failing string
			by            actor.Actor
			do            func(ctx context.Context) error
			want          error // nil means that of the missing table
		}{
			{"the inbox fails", "", s.boss, func(ctx context.Context) error {
				defer dbtest.Hide(t, d, "inbox_items")()
				_, err := s.Decide(ctx, made.Key, Decision{Text: "Go", Dispatch: true})
				return err
			}, nil},
			{"the blockers fail", "blockers", s.boss, func(ctx context.Context) error {
				_, err := s.Decide(ctx, made.Key, Decision{Text: "Go", Dispatch: true})
				return err
			}, errStep},
			{"the dispatch fails", "send", s.boss, func(ctx context.Context) error {
				_, err := s.Decide(ctx, made.Key, Decision{Text: "Go", Dispatch: true})
				return err
			}, errStep},
			{"a user dispatches", "", s.ada, func(ctx context.Context) error {
				_, err := s.Decide(ctx, made.Key, Decision{Text: "Go", Dispatch: true})
				return err
			}, ErrMayNotDispatch},
			{"without words", "", s.boss, func(ctx context.Context) error {
				_, err := s.Decide(ctx, made.Key, Decision{Text: " \u200b\n"})
				return err
			}, fault.ErrInvalid},
			{"too many words", "", s.boss, func(ctx context.Context) error { _, err := s.Decide(ctx, made.Key, Decision{Text: long}); return err }, fault.ErrInvalid},
			{"no such task", "", s.boss, func(ctx context.Context) error { _, err := s.Decide(ctx, "TASK-99", Decision{Text: "Go"}); return err }, ErrNotFound},
			{"approve a task that is not in review", "", s.boss, func(ctx context.Context) error { _, err := s.Approve(ctx, made.Key); return err }, ErrNotInReview},
			{"send it back", "", s.boss, func(ctx context.Context) error { _, err := s.SendBack(ctx, made.Key, Return{Text: "No"}); return err }, ErrNotInReview},
			{"the approval fails", "", s.boss, func(ctx context.Context) error {
				defer dbtest.Hide(t, d, "inbox_items")()
				_, err := s.Approve(ctx, review.Key)
				return err
			}, nil},
			{"sending back fails", "send", s.boss, func(ctx context.Context) error { _, err := s.SendBack(ctx, review.Key, Return{Text: "No"}); return err }, errStep},
			{"sent back without words", "", s.boss, func(ctx context.Context) error { _, err := s.SendBack(ctx, review.Key, Return{}); return err }, fault.ErrInvalid},
		} {
			before := s.everything(made.Key) + s.everything(review.Key)
			s.failing = tt.failing
			err := tt.do(s.as(tt.by, tt.name))
			if err == nil || !errors.Is(err, tt.want) && (tt.want != nil || !strings.Contains(err.Error(), "inbox_items")) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
			if after := s.everything(made.Key) + s.everything(review.Key); after != before {
				t.Errorf("%s: now there is\n%s\nbefore there was\n%s", tt.name, after, before)
			}
		}
		s.failing = ""
		if _, err := s.Archive(s.as(s.boss, ""), made.Key, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Decide(s.as(s.boss, ""), made.Key, Decision{Text: "Go"}); !errors.Is(err, ErrArchived) {
			t.Errorf("decide on an archived task: %v", err)
		}
	})
}

// A person approves a task in review or sends it back, and its inbox item is resolved.
func TestReview(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		inReview := func(assignee string) Task {
			t.Helper()
			made, err := s.Create(s.as(s.boss, ""), New{Title: "Look at it", Status: Review, Assignee: &assignee})
			if err != nil {
				t.Fatal(err)
			}
			s.raise(made, inbox.Escalation)
			return made
		}
		first := inReview("cto")
		dispatched := func(state DispatchState) {
			t.Helper()
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return s.SetDispatch(t.Context(), tx, first.ID, Dispatch{State: state, AgentID: "cto"})
			}); err != nil {
				t.Fatal(err)
			}
		}
		// Its agent has reported, but its run goes on.
		dispatched(Started)
		if _, err := s.Approve(s.as(s.boss, ""), first.Key); !errors.Is(err, ErrRunActive) {
			t.Errorf("approved during the run: %v", err)
		}
		if _, err := s.SendBack(s.as(s.boss, ""), first.Key, Return{Text: "No"}); !errors.Is(err, ErrRunActive) || len(s.comments(first.Key)) > 0 {
			t.Errorf("sent back during the run: %v, with the comments %q", err, s.comments(first.Key))
		}
		dispatched(Ended)
		for range 2 {
			got, err := s.Approve(s.as(s.ada, "k"), first.Key)
			if err != nil || got.Status != Done || got.DoneAt == nil || got.Version != first.Version+1 {
				t.Errorf("approved: %+v, %v", got, err)
			}
		}
		if diff := cmp.Diff([]string{"task_review TASK-1 is waiting for review: Look at it resolved by Wardroom: ADA approved it."}, s.items()); diff != "" {
			t.Error(diff)
		}
		if _, err := s.Approve(s.as(s.boss, ""), first.Key); !errors.Is(err, ErrNotInReview) || fault.Of(err).Facts["status"] != Done {
			t.Errorf("approved again: %v", err)
		}

		second := inReview("cto")
		for range 2 {
			got, err := s.SendBack(s.as(s.boss, "k2"), second.Key, Return{Text: "  The \u202etests fail."})
			if err != nil || got.Status != InProgress || got.Comments != 1 {
				t.Errorf("sent back: %+v, %v", got, err)
			}
		}
		if !slices.Equal(s.sent, []string{second.ID + " The tests fail."}) || !slices.Equal(s.comments(second.Key), []string{"BOSS: The tests fail."}) {
			t.Errorf("sent %q, comments %q", s.sent, s.comments(second.Key))
		}
		// A user may not start runs, and not every task has an agent.
		third, fourth := inReview("cto"), inReview(s.ada.ID)
		if got, err := s.SendBack(s.as(s.ada, ""), third.Key, Return{Text: "No"}); err != nil || got.Status != InProgress || len(s.sent) != 1 {
			t.Errorf("sent back by a user: %+v, %v, sent %q", got, err, s.sent)
		}
		s.Send = func(context.Context, *db.Tx, string, string) error { return ErrNoAgent }
		if got, err := s.SendBack(s.as(s.boss, ""), fourth.Key, Return{Text: "No"}); err != nil || got.Status != InProgress {
			t.Errorf("sent back to a person: %+v, %v", got, err)
		}
		fifth := inReview("cto")
		s.Send = func(context.Context, *db.Tx, string, string) error {
			return fault.New(fault.Unavailable, "none", "No gateway.")
		}
		if got, err := s.SendBack(s.as(s.boss, ""), fifth.Key, Return{Text: "No"}); err != nil || got.Status != InProgress {
			t.Errorf("sent back without a gateway: %+v, %v", got, err)
		}
		for _, line := range s.items() {
			if strings.HasPrefix(line, "escalation") {
				t.Errorf("a review answers %s", line)
			}
		}
		if n := len(s.items()); n != 5 {
			t.Errorf("answered are %q", s.items())
		}
	})
}

// A task in review is an inbox item from its first second until it leaves review, however it gets there
// and away. If the move is undone, the item is as it was before.
func TestReviewItem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		now := monday
		s.Now, s.Inbox.Now = func() time.Time { return now }, func() time.Time { return now }
		ctx := s.as(s.boss, "")
		do := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		made, err := s.Create(ctx, New{Title: "Look at it", Status: Review})
		do(made, err)
		key, since := made.Key, made.MovedAt
		move := func(to Status, at *clock.Time) {
			t.Helper()
			do(s.Update(ctx, key, Change{Status: &to, MovedAt: at}, nil))
		}
		is := func(when, want string) {
			t.Helper()
			i := s.review(made.ID)
			got := fmt.Sprint(i.Severity, " ", i.State, " ", i.Count, " ", i.LastAt.Sub(since.Time))
			if i.Resolution != nil {
				got += " " + i.Resolution.By.Name + ": " + i.Resolution.Note
			}
			if got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		later := func(by time.Duration) {
			t.Helper()
			now = now.Add(by)
			do(nil, s.WatchReviews(asService(t)))
		}
		is("at first", "low open 1 0s")
		do(s.Update(ctx, key, Change{Title: new("Look again")}, nil))
		if i := s.review(made.ID); i.Title != key+" is waiting for review: Look again" {
			t.Errorf("renamed: %q", i.Title)
		}
		later(24 * time.Hour)
		is("after a day", "medium open 1 0s")
		do(s.Inbox.Snooze(ctx, s.review(made.ID).ID, now.Add(time.Hour), nil))
		do(s.Approve(ctx, key))
		is("approved", "medium resolved 1 0s Wardroom: BOSS approved it.")
		move(Review, &since)
		is("the approval undone", "medium snoozed 1 0s")
		do(s.Archive(ctx, key, nil))
		is("archived", "medium resolved 1 0s Wardroom: BOSS archived it.")
		do(s.Restore(ctx, key, nil))
		is("restored", "medium snoozed 1 0s")
		later(48 * time.Hour)
		is("after three days", "high open 1 0s")
		do(s.Inbox.Ack(ctx, s.review(made.ID).ID, nil))
		move(InProgress, nil)
		is("moved", "high resolved 1 0s Wardroom: BOSS moved it to in progress.")
		move(Review, &since)
		is("moved back", "high acked 1 0s")
		do(s.Inbox.Resolve(ctx, s.review(made.ID).ID, "Enough", nil))
		do(s.Approve(ctx, key))
		move(Review, &since)
		later(0)
		is("resolved by a person", "high resolved 1 0s BOSS: Enough")
		move(Todo, nil)
		move(Review, nil)
		is("in review again", "low open 2 72h0m0s")
		do(nil, s.Delete(ctx, key, nil))
		is("deleted", "low resolved 2 72h0m0s Wardroom: BOSS deleted it.")

		// A version of Wardroom that raised items only after a day has moved this one to review.
		made, err = s.Create(ctx, New{Title: "Older", Status: Review})
		do(made, err)
		do(nil, d.Tx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM inbox_items WHERE subject_id = ?`, made.ID)
			return err
		}))
		since = made.MovedAt
		later(time.Hour)
		is("after an update", "low open 1 0s")
	})
}

// review returns the inbox item of a task in review.
func (s *desk) review(taskID string) inbox.Item {
	s.t.Helper()
	part, err := s.Inbox.List(asService(s.t), inbox.Filter{States: inbox.States(), Kinds: []inbox.Kind{inbox.TaskReview}}, page.Want{Query: page.Query{Limit: 100}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range part.Rows {
		if i.Subject.ID == taskID {
			return i
		}
	}
	s.t.Fatalf("%s has no item among %d", taskID, len(part.Rows))
	return inbox.Item{}
}

// A standup reads what was decided since the last one, in order, with the comment as it is now.
func TestDecisionsSince(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		made, other := s.blocked(), makeTask(t, s.Service, "Nobody's")
		gone := makeTask(t, s.Service, "Gone")
		for n, key := range []string{made.Key, gone.Key, other.Key} {
			s.Now = func() time.Time { return monday.Add(time.Duration(n) * time.Hour) }
			if _, err := s.Decide(s.as(s.boss, ""), key, Decision{Text: "Answer " + key, Unblock: new(n == 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(s.as(s.boss, ""), gone.Key, nil); err != nil {
			t.Fatal(err)
		}
		all := []Decided{
			{Key: made.Key, Title: "Renew it", AgentID: "cto", By: "BOSS", Text: "Answer " + made.Key, Unblock: true, At: monday},
			{Key: other.Key, Title: "Nobody's", By: "BOSS", Text: "Answer " + other.Key, At: monday.Add(2 * time.Hour)},
		}
		for since, want := range map[time.Time][]Decided{monday: all, monday.Add(time.Minute): all[1:], monday.Add(3 * time.Hour): {}} {
			got, err := s.DecisionsSince(t.Context(), since)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("since %v: %v\n%s", since, err, diff)
			}
		}
	})
}
