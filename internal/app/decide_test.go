package app_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// A person decides about an escalation, the agent acts, and the person reviews the result. The next
// standup tells of the decision.
func TestFromEscalationToDone(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto")
		agent := s.login("cto@example.com")
		made := owner.handed("cto", "Renew it")
		at := "/api/v1/tasks/" + made.Key
		report := func(kind, text string) {
			agent.post(at+"/reports", map[string]any{"kind": kind, "text": text}).want(http.StatusOK)
		}
		report("blocker", "No card")
		h.runtime.Answer("cto", func(demo.Question) string { return "Yesterday: a\nToday: b\nBlockers: " + made.Key + " has no card" })
		h.runtime.Answer("coo", func(demo.Question) string {
			return `{"summary": "One escalation.", "escalations": [{"title": "Pay the card", "detail": "It expired.", "blocker": 1}]}`
		})
		first := owner.hold(owner.open().ID)
		if items := owner.inboxOf(inbox.Escalation, "open"); len(items) != 1 || items[0].Subject.Name != made.Key {
			t.Fatalf("the inbox has %+v", items)
		}

		told, goOn := make(chan demo.Question, 5), make(chan struct{})
		h.runtime.Answer("cto", func(q demo.Question) string {
			told <- q
			<-goOn
			report("done", "Renewed.")
			return "It is renewed."
		})
		body := map[string]any{"text": "Use the new card.", "dispatch": true}
		for n := range 3 {
			a := owner.send(http.MethodPost, at+"/decide", body, "Idempotency-Key", "k-1").want(http.StatusOK)
			if got := decode[task.Task](a); got.Blocked != nil || got.Dispatch == nil || got.Comments != 1 || a.header.Get("Idempotency-Replayed") != map[bool]string{true: "true"}[n > 0] {
				t.Errorf("request %d: %s %+v", n, a.header.Get("Idempotency-Replayed"), got)
			}
		}
		q := <-told
		if !strings.Contains(q.Message, "who sent you this task, adds:\nUse the new card.\n") || strings.Contains(q.Message, "blocked:") {
			t.Errorf("the agent was told:\n%s", q.Message)
		}
		items := owner.inboxOf(inbox.Escalation, "resolved")
		if len(items) != 1 || items[0].Resolution.Note != "Use the new card." || items[0].Resolution.By.Name != nameOf(owner) {
			t.Errorf("resolved are %+v", items)
		}
		if m := decode[meeting](owner.get("/api/v1/standups/" + first.ID).want(http.StatusOK)); m.Blockers[0].Status != standup.BlockerEnded || *m.Blockers[0].EndedWhy != "decided" {
			t.Errorf("the blocker is %+v", m.Blockers[0])
		}

		// While the agent works, another dispatch is refused with everything else.
		before := owner.task(made.Key)
		owner.post(at+"/decide", body).wantProblem(http.StatusConflict, "already_dispatched")
		if is := owner.task(made.Key); is.Version != before.Version || is.Comments != 1 {
			t.Errorf("the refused decision made %+v", is)
		}
		close(goOn)
		if is := owner.becomes(made.Key, task.Ended); is.Status != task.Review {
			t.Errorf("the agent moved it to %s", is.Status)
		}
		agent.post(at+"/approve", nil).wantProblem(http.StatusForbidden, "forbidden")
		owner.post(at+"/send-back", map[string]any{"text": "Not for the new domain."}).want(http.StatusOK)
		if again := <-told; again.SessionKey != q.SessionKey || again.RunID == q.RunID || !strings.Contains(again.Message, "adds:\nNot for the new domain.\n") {
			t.Errorf("sent back in %s: %s", again.SessionKey, again.Message)
		}
		waitFor(t, "the second report", func() bool { return owner.becomes(made.Key, task.Ended).Status == task.Review })
		if is := decode[task.Task](owner.post(at+"/approve", nil).want(http.StatusOK)); is.Status != task.Done || is.DoneAt == nil {
			t.Errorf("approved: %+v", is)
		}
		owner.post(at+"/approve", nil).wantProblem(http.StatusConflict, "task_not_in_review")

		h.runtime.Answer("cto", func(q demo.Question) string { told <- q; return "Yesterday: a\nToday: b\nBlockers: none" })
		tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
		second := owner.hold(decode[meeting](owner.post("/api/v1/standups", map[string]any{"date": tomorrow}).want(http.StatusCreated)).ID)
		if len(second.Decisions) != 1 || second.Decisions[0].Text != "Use the new card." || second.Decisions[0].By != nameOf(owner) || len(second.Blockers) != 0 {
			t.Errorf("the next standup has %+v and the blockers %+v", second.Decisions, second.Blockers)
		}
		if q := <-told; !strings.Contains(q.Message, "about "+made.Key+" (Renew it), which is unblocked: Use the new card.") {
			t.Errorf("the next standup asks:\n%s", q.Message)
		}
	})
}

// A board without a gateway can be decided on and reviewed, but nothing can be sent.
func TestDecideWithoutGateway(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" })
	s := h.start()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	made := owner.handed("cto", "Alone")
	at := "/api/v1/tasks/" + made.Key
	owner.post(at+"/decide", map[string]any{"text": "Go", "dispatch": true}).wantProblem(http.StatusServiceUnavailable, "gateway_not_configured")
	owner.post(at+"/decide", map[string]any{"text": "Go"}).want(http.StatusOK)
	owner.patch(at, map[string]any{"status": "review"}).want(http.StatusOK)
	owner.post(at+"/send-back", map[string]any{"text": "Again"}).want(http.StatusOK)
	if is := owner.task(made.Key); is.Status != task.InProgress || is.Comments != 2 || is.Dispatch != nil {
		t.Errorf("sent back: %+v", is)
	}
}

// A task in review is in the inbox until it leaves review, and more urgent the longer it waits.
func TestReviewsReachTheInbox(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		agent := s.login("cto@example.com")
		system := actor.With(t.Context(), actor.System)
		// since sets for how many hours the task has been in review, and returns since when.
		since := func(key string, hours int) clock.Time {
			t.Helper()
			at := clock.At(time.Now().Add(-time.Duration(hours) * time.Hour))
			if err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE tasks SET created_at = ? WHERE id = ?`, at, owner.task(key).ID)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			owner.patch("/api/v1/tasks/"+key, map[string]any{"status": "review", "moved_at": at}).want(http.StatusOK)
			return at
		}
		// ages lets hours pass for a task in review and its item.
		ages := func(key string, hours int) {
			t.Helper()
			at, id := clock.At(time.Now().Add(-time.Duration(hours)*time.Hour)), owner.task(key).ID
			if err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE inbox_items SET last_at = ? WHERE subject_id = ?`, at, id)
				if err == nil {
					_, err = tx.Exec(t.Context(), `UPDATE tasks SET moved_at = ?, created_at = ? WHERE id = ?`, at, at, id)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		inReview := func(title string, hours int) string {
			made := owner.handed("cto", title)
			since(made.Key, hours)
			return made.Key
		}
		wants := func(when string, want map[string]string) {
			t.Helper()
			if err := s.Tasks.WatchReviews(system); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, i := range owner.inboxOf(inbox.TaskReview, "open") {
				got[i.Subject.Name] = string(i.Severity)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: open are %v, want %v", when, got, want)
			}
		}

		today := inReview("Since this morning", 23)
		old, older, moved, away, gone := inReview("Old", 25), inReview("Older", 73), inReview("Moved", 25), inReview("Away", 25), inReview("Gone", 25)
		told := owner.handed("cto", "Told")
		before := since(told.Key, 25)
		agent.post("/api/v1/tasks/"+told.Key+"/reports", map[string]any{"kind": "done", "text": "It is\n# done"}).want(http.StatusOK)
		first := map[string]string{today: "low", old: "medium", older: "high", moved: "medium", away: "medium", gone: "medium", told.Key: "medium"}
		wants("at first", first)
		wants("at the second look", first)
		for _, i := range owner.inboxOf(inbox.TaskReview, "open") {
			if i.Subject.Name != told.Key {
				continue
			}
			if age := time.Since(i.FirstAt.Time).Round(time.Hour); age != 25*time.Hour || i.Count != 1 || i.Title != told.Key+" is waiting for review: Told" {
				t.Errorf("the item is %s old: %+v", age, i)
			}
			if !strings.Contains(i.Detail, "CTO reported:\n\n> It is\n> # done\n\nApprove the task, or send it back.") {
				t.Errorf("its detail is %q", i.Detail)
			}
		}

		owner.post("/api/v1/tasks/"+told.Key+"/approve", nil).want(http.StatusOK)
		owner.patch("/api/v1/tasks/"+moved, map[string]any{"status": "todo"}).want(http.StatusOK)
		owner.post("/api/v1/tasks/"+away+"/archive", nil).want(http.StatusOK)
		owner.send(http.MethodDelete, "/api/v1/tasks/"+gone, nil).want(http.StatusNoContent)
		ages(old, 73)
		wants("two days later", map[string]string{today: "low", old: "high", older: "high"})
		notes := map[string]string{}
		for _, i := range owner.inboxOf(inbox.TaskReview, "resolved") {
			notes[i.Subject.Name] = i.Resolution.By.ID + ": " + i.Resolution.Note
		}
		if want := map[string]string{
			told.Key: "system: " + nameOf(owner) + " approved it.", moved: "system: " + nameOf(owner) + " moved it to todo.", away: "system: " + nameOf(owner) + " archived it.", gone: "system: " + nameOf(owner) + " deleted it.",
		}; !maps.Equal(notes, want) {
			t.Errorf("resolved with %v, want %v", notes, want)
		}

		// An approval that is undone brings the item back.
		owner.patch("/api/v1/tasks/"+told.Key, map[string]any{"status": "review", "moved_at": before}).want(http.StatusOK)
		wants("after the approval was undone", map[string]string{today: "low", old: "high", older: "high", told.Key: "medium"})

		// An item that a person has resolved stays resolved until the task comes back to review.
		for _, i := range owner.inboxOf(inbox.TaskReview, "open") {
			owner.post("/api/v1/inbox/"+i.ID+"/resolve", nil).want(http.StatusOK)
		}
		wants("after a person has resolved them", map[string]string{})
		owner.patch("/api/v1/tasks/"+old, map[string]any{"status": "in_progress"}).want(http.StatusOK)
		since(old, 25)
		wants("in review again", map[string]string{old: "medium"})
		owner.patch("/api/v1/tasks/"+old, map[string]any{"status": "in_progress"}).want(http.StatusOK)
		owner.patch("/api/v1/tasks/"+old, map[string]any{"status": "review"}).want(http.StatusOK)
		wants("in review since just now", map[string]string{old: "low"})
	})
}
