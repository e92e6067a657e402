package app_test

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/dispatch"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// Every dispatch ends: with its run, at its time limit or when it is withdrawn. No run
// may be left running.
func TestDispatchEnds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.DispatchTimeout = "15s" })
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto", "cpo", "cmo", "coo")
		h.runtime.Silence("", true)
		still := func() { t.Helper(); waitFor(t, "the runs to stop", func() bool { return h.runtime.Busy() == 0 }) }
		slow := owner.handed("cto", "Slow")
		owner.dispatch(slow.Key)
		owner.becomes(slow.Key, task.Started)
		if d := owner.becomes(slow.Key, task.Failed).Dispatch; d.Error.Code != "timed_out" {
			t.Errorf("after its time limit: %+v", d.Error)
		}
		still()

		back := owner.handed("cpo", "Back")
		owner.dispatch(back.Key)
		owner.becomes(back.Key, task.Started)
		a := owner.send(http.MethodDelete, "/api/v1/tasks/"+back.Key+"/dispatch", nil).want(http.StatusOK)
		if d := decode[dispatch.Dispatch](a); d.State != task.Failed || d.Error.Code != dispatch.Cancelled {
			t.Errorf("withdrawn: %+v", d)
		}
		still()
		if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 1 || items[0].Subject.Name != slow.Key {
			t.Errorf("the inbox has %+v", items)
		}

		put, gone := owner.handed("cmo", "Put away"), owner.handed("coo", "Gone")
		owner.dispatch(put.Key)
		owner.dispatch(gone.Key)
		owner.becomes(put.Key, task.Started)
		owner.becomes(gone.Key, task.Started)
		archived := decode[task.Task](owner.post("/api/v1/tasks/"+put.Key+"/archive", nil).want(http.StatusOK))
		if d := archived.Dispatch; d.State != task.Failed || d.Error.Code != "withdrawn" {
			t.Errorf("archived: %+v", d)
		}
		owner.send(http.MethodDelete, "/api/v1/tasks/"+gone.Key, nil).want(http.StatusNoContent)
		still()
		owner.tells(gone.Key, "task.dispatch_ended")

		h.runtime.Silence("", false)
		h.runtime.Fail("cto", "no credit")
		owner.dispatch(slow.Key)
		if d := owner.becomes(slow.Key, task.Failed).Dispatch; d.Error.Code != "run_failed" || !strings.Contains(d.Error.Detail, "no credit") {
			t.Errorf("refused by the provider: %+v", d.Error)
		}
	})
}

// An inbox item is resolved when the task no longer needs attention.
func TestDispatchMoot(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		h.runtime.Fail("cto", "no credit")
		var keys []string
		for _, title := range []string{"Done", "Put away", "Gone", "Open"} {
			made := owner.handed("cto", title)
			owner.dispatch(made.Key)
			owner.becomes(made.Key, task.Failed)
			keys = append(keys, made.Key)
		}
		if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != len(keys) {
			t.Fatalf("the inbox has %+v", items)
		}
		owner.patch("/api/v1/tasks/"+keys[0], map[string]any{"status": "done"}).want(http.StatusOK)
		owner.post("/api/v1/tasks/"+keys[1]+"/archive", nil).want(http.StatusOK)
		owner.send(http.MethodDelete, "/api/v1/tasks/"+keys[2], nil).want(http.StatusNoContent)
		waitFor(t, "three items to be resolved", func() bool { return len(owner.inboxOf(inbox.DispatchFailed, "open")) == 1 })
		if items := owner.inboxOf(inbox.DispatchFailed, "open"); items[0].Subject.Name != keys[3] {
			t.Errorf("open is %+v", items[0])
		}
		notes := map[string]string{}
		for _, i := range owner.inboxOf(inbox.DispatchFailed, "resolved") {
			notes[i.Subject.Name] = i.Resolution.Note
		}
		want := map[string]string{keys[0]: keys[0] + " is done.", keys[1]: keys[1] + " is in the archive.", keys[2]: keys[2] + " was deleted."}
		if !maps.Equal(notes, want) {
			t.Errorf("resolved with %v, want %v", notes, want)
		}
		again := owner.inboxOf(inbox.DispatchFailed, "resolved")[0].ID
		owner.post("/api/v1/inbox/"+again+"/reopen", nil).want(http.StatusOK)
		if err := s.Dispatch.ResolveStale(actor.With(t.Context(), actor.System)); err != nil {
			t.Fatal(err)
		}
		if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 2 {
			t.Errorf("a reopened item was resolved; open are %+v", items)
		}
		// An item whose snooze ended was not reopened by a user.
		for _, i := range owner.inboxOf(inbox.DispatchFailed, "open") {
			if i.Subject.Name == keys[3] {
				owner.post("/api/v1/inbox/"+i.ID+"/resolve", nil).want(http.StatusOK)
			}
		}
		owner.dispatch(keys[3])
		waitFor(t, "the end of the snooze", func() bool { return len(owner.inboxOf(inbox.DispatchFailed, "open")) == 2 })
		owner.patch("/api/v1/tasks/"+keys[3], map[string]any{"status": "done"}).want(http.StatusOK)
		if err := s.Dispatch.ResolveStale(actor.With(t.Context(), actor.System)); err != nil {
			t.Fatal(err)
		}
		if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 1 || items[0].ID != again {
			t.Errorf("an item whose snooze ended was not resolved: open are %+v", items)
		}
	})
}

// A run whose dispatch was given up while the gateway was offline must be stopped.
func TestDispatchGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayTimeoutMS, r.DispatchPatience = "1000", "4s" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	h.runtime.Silence("cto", true)
	h.runtime.Hang("agent", true)
	h.runtime.Hang("chat.history", true)
	made := owner.handed("cto", "In doubt")
	owner.dispatch(made.Key)
	d := owner.becomes(made.Key, task.Failed).Dispatch
	if d.Error.Code != "gateway_unreachable" || !strings.Contains(d.Error.Detail, "may have accepted the task") || h.runtime.Asked("cto") != 1 {
		t.Errorf("the dispatch is %+v, with %d runs", d.Error, h.runtime.Asked("cto"))
	}
	h.runtime.Hang("agent", false)
	h.runtime.Hang("chat.history", false)
	waitFor(t, "the run to stop", func() bool { return h.runtime.Busy() == 0 })
}

// A task that is reassigned before its agent starts must not be started by the former
// assignee. A task in progress stays with its agent.
func TestDispatchOfReassigned(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto", "cpo")
	word := make(chan struct{})
	h.runtime.Answer("cto", func(demo.Question) string { <-word; return "Done." })
	working := owner.handed("cto", "Working")
	owner.dispatch(working.Key)
	owner.becomes(working.Key, task.Started)
	owner.patch("/api/v1/tasks/"+working.Key, map[string]any{"assignee_id": "cpo"}).want(http.StatusOK)
	if d := owner.task(working.Key).Dispatch; d.State != task.Started || d.AgentID != "cto" {
		t.Errorf("while cto works: %+v", d)
	}
	close(word)
	owner.becomes(working.Key, task.Ended)

	if n := h.runtime.Asked(""); n != 1 {
		t.Errorf("%d runs started, want one", n)
	}

	_ = h.runtime.Close()
	waiting := owner.handed("cto", "Waiting")
	owner.dispatch(waiting.Key)
	owner.patch("/api/v1/tasks/"+waiting.Key, map[string]any{"assignee_id": "cpo"}).want(http.StatusOK)
	h.reopen()
	if d := owner.becomes(waiting.Key, task.Failed).Dispatch; d.Error.Code != "reassigned" {
		t.Errorf("reassigned: %+v", d.Error)
	}
	if n := h.runtime.Asked(""); n != 0 {
		t.Errorf("%d runs started for a reassigned task", n)
	}
	if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 0 {
		t.Errorf("the inbox has %+v", items)
	}
}

// An agent whose account is deactivated gets no tasks, not even those already queued. The
// inbox has an item, because the task has no agent.
func TestDispatchOfDeactivated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto", "cpo")
	turn := func(active bool) {
		t.Helper()
		owner.patch("/api/v1/users/cto@example.com", map[string]any{"active": active}).want(http.StatusOK)
	}
	h.runtime.Silence("cto", true)
	begun, moved, waiting := owner.handed("cto", "Begun"), owner.handed("cto", "Moved"), owner.handed("cto", "Waiting")
	for _, key := range []string{begun.Key, moved.Key} {
		owner.dispatch(key)
		owner.becomes(key, task.Started)
	}

	_ = h.runtime.Close()
	owner.dispatch(waiting.Key)
	turn(false)
	a := owner.post("/api/v1/tasks/"+waiting.Key+"/dispatch", nil).wantProblem(http.StatusConflict, "task_without_agent")
	if text := string(a.body); !strings.Contains(text, "The account of agent CTO is deactivated.") || !strings.Contains(text, "assignee_id") {
		t.Errorf("the detail does not say what to do: %s", text)
	}
	owner.patch("/api/v1/tasks/"+moved.Key, map[string]any{"assignee_id": "cpo"}).want(http.StatusOK)
	h.reopen()
	h.runtime.Answer("cto", func(demo.Question) string { return "Done." })
	// The runs that had started were lost with their gateway. They are not repeated.
	for _, key := range []string{waiting.Key, begun.Key} {
		if d := owner.becomes(key, task.Failed).Dispatch; d.Error.Code != "agent_deactivated" || !strings.Contains(d.Error.Detail, "CTO") {
			t.Errorf("%s: %+v", key, d.Error)
		}
	}
	if d := owner.becomes(moved.Key, task.Failed).Dispatch; d.Error.Code != "withdrawn" {
		t.Errorf("reassigned: %+v", d.Error)
	}
	if n := h.runtime.Asked(""); n != 0 {
		t.Errorf("%d runs started for an agent whose account is deactivated", n)
	}
	if items := owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 2 {
		t.Errorf("the inbox has %+v", items)
	}
	turn(true)
	owner.dispatch(waiting.Key)
	owner.becomes(waiting.Key, task.Ended)
}

// A run that succeeded while Wardroom was down must be found, even if its time limit has
// passed by then.
func TestDispatchEndedLongAgo(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		const limit = 8 * time.Second // long enough for a busy machine to reach the crash
		h := newHouse(t, engine, func(r *config.Raw) { r.DispatchTimeout = limit.String() })
		h.lease = 3 * time.Second
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		word := make(chan struct{})
		h.runtime.Answer("cto", func(demo.Question) string { <-word; return "Done." })
		made := owner.handed("cto", "Long ago")
		owner.dispatch(made.Key)
		owner.becomes(made.Key, task.Started)
		s.crash()
		close(word)
		waitFor(t, "the end of the run", func() bool { return h.runtime.Busy() == 0 })
		time.Sleep(limit)
		owner = owner.at(h.start())
		if d := owner.becomes(made.Key, task.Ended).Dispatch; d.Error != nil || h.runtime.Asked("cto") != 1 {
			t.Errorf("the dispatch is %+v, and the agent was asked %d times", d, h.runtime.Asked("cto"))
		}
	})
}

// A finished task is not started again when the runtime has lost its run.
func TestDispatchOfDone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	h.runtime.Silence("cto", true)
	made := owner.handed("cto", "Finished by hand")
	owner.dispatch(made.Key)
	owner.becomes(made.Key, task.Started)
	// The same holds if the new assignee has finished it.
	owner.patch("/api/v1/tasks/"+made.Key, map[string]any{"status": "done", "assignee_id": nil}).want(http.StatusOK)
	h.runtime.Restart(100 * time.Millisecond)
	if d := owner.becomes(made.Key, task.Failed).Dispatch; d.Error.Code != "withdrawn" || h.runtime.Asked("cto") != 1 {
		t.Errorf("the dispatch is %+v, and the agent was asked %d times", d.Error, h.runtime.Asked("cto"))
	}
}

// A question that waits in the queue of its session is not given up when the connection
// breaks. If it is stopped in the runtime, the dispatch ends.
func TestDispatchThatWaitsItsTurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	word := make(chan struct{})
	release := sync.OnceFunc(func() { close(word) })
	t.Cleanup(release)
	h.runtime.Answer("cto", func(q demo.Question) string {
		if strings.HasPrefix(q.RunID, "before ") {
			<-word
		}
		return "Done."
	})
	made, stopped := owner.handed("cto", "Waits"), owner.handed("cto", "Stopped")
	for _, m := range []task.Task{made, stopped} {
		s.ask("before "+m.Key, "agent:cto:task:"+strings.ToLower(m.Key), "One moment.")
		owner.dispatch(m.Key)
		owner.becomes(m.Key, task.Started)
	}
	h.runtime.Drop()
	calls := h.runtime.Calls("agent.wait")
	waitFor(t, "the waits at the runtime", func() bool { return h.runtime.Calls("agent.wait") >= calls+2 })
	if d := owner.task(made.Key).Dispatch; d.State != task.Started {
		t.Errorf("while it waits: %+v", d)
	}
	if ended, err := s.Gateway.Stop(t.Context(), "agent:cto:task:"+stopped.Key, owner.task(stopped.Key).Dispatch.RunID); err != nil || !ended {
		t.Errorf("the stopped one: %v, %v", ended, err)
	}
	owner.becomes(stopped.Key, task.Failed)
	release()
	owner.becomes(made.Key, task.Ended)
	if n := h.runtime.Asked("cto"); n != 3 {
		t.Errorf("the agent was asked %d times, want 3", n)
	}
}

// A lost claim does not keep an agent from getting the task dispatched, and no other
// agent can claim a dispatched task.
func TestDispatchOfClaimed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		cto := s.login("cto@example.com")
		h.runtime.Silence("cto", true)
		made := owner.handed("cto", "Lost before")
		cto.post("/api/v1/tasks/"+made.Key+"/claim", nil).want(http.StatusOK)
		owner.patch("/api/v1/tasks/"+made.Key, map[string]any{"status": "todo"}).want(http.StatusOK)
		report := map[string]any{"kind": "ack"}
		cto.post("/api/v1/tasks/"+made.Key+"/reports", report).wantProblem(http.StatusConflict, "claim_lost")
		owner.dispatch(made.Key)
		owner.becomes(made.Key, task.Started)
		cto.post("/api/v1/tasks/claim", nil).want(http.StatusNoContent)
		cto.post("/api/v1/tasks/"+made.Key+"/reports", report).want(http.StatusOK)
	})
}
