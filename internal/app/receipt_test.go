package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/agent"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/receipt"
	"wardroom/internal/task"
)

// called returns the lines of a tool call with its result.
func called(id, tool string, args map[string]any, result string) []demo.Line {
	return []demo.Line{
		{Role: "assistant", Call: id, Tool: tool, Args: args},
		{Role: "toolResult", Call: id, Tool: tool, Text: result},
		{Role: "assistant", Text: "Next."},
	}
}

// A reviewer sees that the required check never ran, sends the task back, and sees that it ran then.
// Without that, "done" is only what the agent says.
func TestReceipt(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		worker := s.login("cto@example.com")
		made := decode[task.Task](owner.post("/api/v1/tasks", map[string]any{
			"title": "Fix it", "assignee_id": "cto", "checks": []string{"make lint"},
			"criteria": []map[string]any{{"text": "Tests pass", "check": "make test"}, {"text": "It is fast"}},
		}).want(http.StatusCreated))
		at, key := "/api/v1/tasks/"+made.Key, "agent:cto:task:"+strings.ToLower(made.Key)
		worker.patch(at, map[string]any{"checks": []string{"true"}, "criteria": []map[string]any{{"text": "None"}}}).want(http.StatusUnprocessableEntity)
		owner.get(at + "/receipt").want(http.StatusNoContent)
		// read waits until the receipt is complete and ok reports true.
		read := func(ok func(receipt.Receipt) bool) receipt.Receipt {
			for end := time.Now().Add(atMost); ; time.Sleep(20 * time.Millisecond) {
				if err := s.Receipts.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := decode[receipt.Receipt](owner.get(at + "/receipt").want(http.StatusOK))
				if !r.Pending && ok(r) {
					return r
				}
				if time.Now().After(end) {
					t.Fatalf("the receipt is %+v", r)
				}
			}
		}
		// done reports from a turn, which ends after that.
		done := func(text string) {
			worker.post(at+"/reports", map[string]any{"kind": "done", "text": text, "session_key": key}).want(http.StatusOK)
			h.recite(key, demo.Line{Role: "assistant", Text: text})
		}

		h.recite(key, called("c-1", "edit", map[string]any{"path": "a.go", "oldText": "a", "newText": "b"}, "ok")...)
		done("Fixed. All tests pass.")
		first := read(func(r receipt.Receipt) bool { return r.Seen != nil })
		if first.Grade != receipt.Claimed || len(first.Gaps) != 3 || first.Seen.Calls != 1 || first.AgentID != "cto" {
			t.Errorf("the first receipt is %+v", first)
		}
		owner.tells(made.Key, "task.receipt_made")
		owner.post(at+"/send-back", map[string]any{"text": "Run the checks."}).want(http.StatusOK)
		owner.becomes(made.Key, task.Ended) // a session has one run at a time

		h.recite(key, called("c-2", "exec", map[string]any{"command": "make test"}, "ok")...)
		h.recite(key, called("c-3", "exec", map[string]any{"command": "make lint"}, "ok")...)
		done("The checks pass.")
		second := read(func(r receipt.Receipt) bool { return r.ID != first.ID && r.Seen != nil })
		if second.Grade != receipt.Checked || len(second.Gaps) != 0 || len(second.Earlier) != 1 || second.Earlier[0].Verdict.Kind != task.VerdictSentBack {
			t.Errorf("the second receipt is %+v", second)
		}
		if c := owner.task(made.Key).Criteria; !c[0].Met || c[0].MetBy != nil || c[1].Met {
			t.Errorf("the criteria are %+v", c)
		}
		owner.patch(at, map[string]any{"criteria": []map[string]any{{"text": "Tests pass", "check": "make test", "met": true}, {"text": "It is fast", "met": true}}}).want(http.StatusOK)
		if c := owner.task(made.Key).Criteria; c[0].MetBy != nil || c[1].MetBy == nil {
			t.Errorf("after a person ticked one, the criteria are %+v", c)
		}

		owner.post(at+"/approve", nil).want(http.StatusOK)
		if r := read(func(receipt.Receipt) bool { return true }); r.Grade != receipt.Approved || r.Evidence != receipt.Checked || r.Verdict == nil {
			t.Errorf("the approved receipt is %+v", r)
		}
		if v := decode[agent.Page](owner.get("/api/v1/agents/cto").want(http.StatusOK)).Verdicts; v.Approved != 1 || v.SentBack != 1 {
			t.Errorf("the agent's verdicts are %+v", v)
		}
		owner.patch(at, map[string]any{"status": "review"}).want(http.StatusOK)
		if r := read(func(receipt.Receipt) bool { return true }); r.Grade != receipt.Checked || r.Verdict != nil {
			t.Errorf("after the approval was undone, the receipt is %+v", r)
		}
	})
}

// TestVerdicts checks the numbers on an agent's page: the cost per approved task is an average of what is known.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		receipts := 0
		// judged adds a task of the agent with the verdicts on its reports and the cost of its runs.
		judged := func(cost *int64, unpriced int, verdicts ...string) {
			made := decode[task.Task](owner.post("/api/v1/tasks", map[string]any{"title": "Fix it", "assignee_id": "cto"}).want(http.StatusCreated))
			err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE tasks SET cost_nano = ?, unpriced = ? WHERE id = ?`, cost, unpriced, made.ID)
				for _, verdict := range verdicts {
					receipts++
					if err == nil {
						_, err = tx.Exec(t.Context(), `INSERT INTO receipts (id, task_id, agent_id, user_id, reported_at, claim, checks, pending,
							source, grade, body, verdict, verdict_by) VALUES (?, ?, 'cto', 'u', ?, '', '[]', FALSE, '', 'claimed', '{}', ?, 'Ada')`,
							fmt.Sprint("r", receipts), made.ID, time.Now(), verdict)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(approved, sentBack int64, cost *money.Nano, complete bool) {
			t.Helper()
			is := decode[agent.Page](owner.get("/api/v1/agents/cto").want(http.StatusOK)).Verdicts
			if diff := cmp.Diff(agent.Verdicts{Approved: approved, SentBack: sentBack, CostUSD: cost, Complete: complete}, is); diff != "" {
				t.Errorf("the verdicts (-want +got):\n%s", diff)
			}
		}
		want(0, 0, nil, true)
		judged(new(int64(400)), 0, "sent_back", "sent_back", "approved")
		judged(new(int64(900)), 0, "sent_back") // not approved
		judged(new(int64(900)), 0, "")          // not judged
		want(1, 3, new(money.Nano(400)), true)
		judged(new(int64(200)), 1, "approved") // a part has no price
		want(2, 3, new(money.Nano(300)), false)
		judged(nil, 1, "approved")
		want(3, 3, new(money.Nano(300)), false)
	})
}

// A session that does not belong to the task counts from the agent's first step on the task, which is not the
// report itself, however slow the machine is.
func TestReceiptOfMainSession(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		begin := s.Tasks.Reported
		s.Tasks.Reported = func(ctx context.Context, tx *db.Tx, t task.Task, text string) error {
			time.Sleep(2 * time.Millisecond)
			return begin(ctx, tx, t, text)
		}
		owner := s.login(ownerEmail)
		owner.hire("cto")
		at := "/api/v1/tasks/" + decode[task.Task](owner.post("/api/v1/tasks", map[string]any{"title": "Fix it", "assignee_id": "cto"}).want(http.StatusCreated)).Key
		h.recite("agent:cto:main", called("c-1", "edit", map[string]any{"path": "a.go", "oldText": "a", "newText": "b"}, "ok")...)
		s.login("cto@example.com").post(at+"/reports", map[string]any{"kind": "done", "session_key": "agent:cto:main"}).want(http.StatusOK)
		h.recite("agent:cto:main", demo.Line{Role: "assistant", Text: "Done."})
		var r receipt.Receipt
		waitFor(t, "the receipt", func() bool {
			if err := s.Receipts.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			r = decode[receipt.Receipt](owner.get(at + "/receipt").want(http.StatusOK))
			return !r.Pending
		})
		if r.Seen == nil || r.Seen.Calls != 1 {
			t.Errorf("the receipt is %+v", r)
		}
	})
}
