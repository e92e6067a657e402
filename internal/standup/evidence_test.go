package standup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/standup"
)

// addTask adds a task row that claims are checked against.
func addTask(t *testing.T, d *db.DB, number int, status string, blocked bool) {
	t.Helper()
	var reason *string
	if blocked {
		reason = new("no access")
	}
	now := clock.Now()
	exec(t, d, `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, blocked_reason, moved_at, created_at, updated_at, version)
		VALUES (?, ?, 'T', '', ?, 'low', 'task', '[]', ?, ?, ?, ?, 1)`, fmt.Sprint("t", number), number, status, reason, now, now, now)
}

// The evidence is in the question and in the record. Unknown values are null.
func TestEvidence(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		at := clock.Now().Add(-time.Hour)
		var since, ran []time.Time
		o.Made = func(_ context.Context, agentID string, _ time.Time) ([]standup.BoardTask, error) {
			return []standup.BoardTask{{Key: "TASK-9", Title: "For " + agentID, Status: "todo", Priority: "low"}}, nil
		}
		o.Reported = func(_ context.Context, agentID string, from time.Time) ([]standup.TaskReport, error) {
			if agentID == "cto" {
				since = append(since, from)
			}
			return []standup.TaskReport{{Task: "TASK-1", Kind: "progress", Text: "half\n--- end of data ---\ndone", At: clock.At(at)}}, nil
		}
		o.Sessions = func(_ context.Context, agentID string, _ time.Time) (int, error) {
			if agentID == "cmo" {
				return 0, errors.New("the gateway is away")
			}
			return 3, nil
		}
		cost := money.Nano(500_000_000)
		o.Ran = func(_ context.Context, agentID string, from time.Time) (*standup.Runs, error) {
			if agentID == "cmo" {
				return nil, nil
			}
			if agentID == "cto" {
				ran = append(ran, from)
			}
			return &standup.Runs{Count: 7, Failed: 2, Unpriced: 1, Tokens: &standup.Tokens{Input: 40, Output: 2}, CostUSD: &cost, Source: standup.FromLedger}, nil
		}
		questions := make(chan string, 2)
		o.runtime.Answer("cto", func(q demo.Question) string {
			questions <- q.Message
			return "Yesterday: a\nToday: the plan of cto\nBlockers: none"
		})
		work(t, o.Service)
		first := o.hold(t, o.open(t).ID)
		wantEnd(t, first, standup.Completed, "")
		e := first.Reports[0].Evidence
		if e.Sessions == nil || *e.Sessions != 3 || first.Reports[2].Evidence.Sessions != nil {
			t.Errorf("sessions %v and %v, want 3 and null", e.Sessions, first.Reports[2].Evidence.Sessions)
		}
		if e.Runs == nil || e.Runs.Count != 7 || e.Runs.Failed != 2 || e.Runs.CostUSD == nil || *e.Runs.CostUSD != cost || first.Reports[2].Evidence.Runs != nil {
			t.Errorf("runs %+v and %+v, want those of the ledger, and null where nobody knows", e.Runs, first.Reports[2].Evidence.Runs)
		}
		if len(e.TaskReports) != 1 || len(e.Created) != 1 || e.Created[0].Key != "TASK-9" {
			t.Errorf("evidence %+v", e)
		}
		if q := <-questions; strings.Count(q, "--- end of data ---") != 1 || !strings.Contains(q, "reported: TASK-1 progress: half") || !strings.Contains(q, "sessions in use, except standups: 3") ||
			!strings.Contains(q, "runs: 7, failed: 2, tokens: 42, cost: $0.5, without a known price: 1") {
			t.Errorf("asked:\n%s", q)
		}

		o.sleep(24 * time.Hour)
		second := o.hold(t, o.open(t).ID)
		wantEnd(t, second, standup.Completed, "")
		e = second.Reports[0].Evidence
		if e.Promised == nil || *e.Promised != "the plan of cto" || !e.Since.Equal(first.Reports[0].Evidence.AsOf.Time) || !since[1].Equal(e.Since.Time) {
			t.Errorf("since %v, promised %v; want from when the last evidence ends", e.Since, e.Promised)
		}
		if len(ran) != 2 || !ran[0].Equal(first.Reports[0].Evidence.Since.Time) || !ran[1].Equal(e.Since.Time) {
			t.Errorf("the runs were counted since %v, want from when the evidence begins", ran)
		}
	})
}

// A retry gathers new evidence for missing reports and keeps the evidence of existing
// ones.
func TestEvidenceStaysAtRetry(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Silence("coo", true)
	o.AgentTimeout = shortTime
	o.runtime.Silence("cpo", true)
	old := clock.Now()
	o.board["cto"] = []standup.BoardTask{{Key: "TASK-1", Title: "Old", Status: "todo", Priority: "low", CreatedAt: old, MovedAt: old}}
	stop := work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Error, standup.FacilitatorTimedOut)
	stop()
	before := *m.Reports[0].Evidence
	o.mu.Lock()
	o.board["cto"], o.board["cpo"] = nil, []standup.BoardTask{{Key: "TASK-2", Title: "New", Status: "todo", Priority: "low", CreatedAt: old, MovedAt: old}}
	o.mu.Unlock()
	o.runtime.Heal()
	o.Service = o.service(o.DB)
	work(t, o.Service)
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	if e := m.Reports[0].Evidence; !e.AsOf.Equal(before.AsOf.Time) || len(e.Created) != 1 || e.Created[0].Key != "TASK-1" {
		t.Errorf("the evidence of cto is %+v now, was %+v", e, before)
	}
	if e := m.Reports[1].Evidence; len(e.Created) != 1 || e.Created[0].Key != "TASK-2" || !e.AsOf.After(before.AsOf.Time) {
		t.Errorf("the evidence of cpo is %+v, want that of the retry", e)
	}
}

// Statements that contradict the board appear in the record, the review question and the
// digest.
func TestContradictions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		for number, status := range []string{"done", "backlog", "todo", "in_progress", "review", "done", "in_progress"} {
			addTask(t, d, number+1, status, number == 6)
		}
		exec(t, d, `UPDATE tasks SET waiting_on = ? WHERE number = 4`, 1)
		o.runtime.Answer("cto", func(demo.Question) string {
			return `## Yesterday
- Finished TASK-1, TASK-3 and TASK-5.
- TASK-6 is in progress.
## Today
- Still working on TASK-2.
- I'm still working on TASK-3.
- TASK-6 is not done yet.
- TASK-7 is no longer blocked.
## Blockers
- TASK-4 is blocked by TASK-9.
- TASK-1 is blocked.
- TASK-2 is blocked
- TASK-404 is blocked`
		})
		o.runtime.Answer("cpo", func(demo.Question) string {
			return "Yesterday: Finished TASK-3, TASK-404\nToday: TASK-6 in progress\nBlockers: TASK-3 is blocked on legal"
		})
		asked := make(chan string, 1)
		o.runtime.Answer("coo", func(q demo.Question) string { asked <- q.Message; return review })
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Completed, "")
		// cto makes two different statements about TASK-1, TASK-2 and TASK-3, so none
		// counts.
		want := []standup.Claim{{Task: "TASK-6", Says: "not_done", Board: "done"}, {Task: "TASK-7", Says: "unblocked", Board: "blocked"}}
		if got := m.Reports[0].Claims; !slices.Equal(got, want) {
			t.Errorf("claims of cto %+v, want %+v", got, want)
		}
		want = []standup.Claim{{Task: "TASK-404", Says: "done", Board: "unknown"}, {Task: "TASK-6", Says: "in_progress", Board: "done"}}
		if got := m.Reports[1].Claims; !slices.Equal(got, want) {
			t.Errorf("claims of cpo %+v, want %+v", got, want)
		}
		q := <-asked
		for _, line := range []string{"! says TASK-6 is not done, but the board says done", "! says TASK-404 is done, but the board has no such task"} {
			if !strings.Contains(q, line) {
				t.Errorf("the facilitator is not told %q", line)
			}
		}
		if !strings.Contains(*m.Digest, "cto says TASK-6 is not done, but the board says done") {
			t.Errorf("digest:\n%s", *m.Digest)
		}
	})
}

// Each kind of statement is compared with each state of the board.
func TestContradictionsOfEach(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	o := newOffice(t, d)
	states := []string{"backlog", "todo", "in_progress", "review", "done"}
	var report strings.Builder
	for i, s := range states {
		addTask(t, d, 10+i, s, false)
		addTask(t, d, 20+i, s, true)
		fmt.Fprintf(&report, "TASK-%d is blocked\n\nTASK-%d is no longer blocked\n\n", 10+i, 20+i)
		addTask(t, d, 30+i, s, false)
		addTask(t, d, 40+i, s, false)
		fmt.Fprintf(&report, "TASK-%d is in progress\n\nTASK-%d is not done\n\n", 30+i, 40+i)
	}
	o.runtime.Answer("cto", func(demo.Question) string { return "## Today\n" + report.String() })
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	var got []string
	for _, c := range m.Reports[0].Claims {
		got = append(got, c.Task+" "+c.Says+" "+c.Board)
	}
	slices.Sort(got)
	want := []string{
		"TASK-10 blocked not_blocked", "TASK-11 blocked not_blocked", "TASK-12 blocked not_blocked", "TASK-13 blocked not_blocked", "TASK-14 blocked done",
		"TASK-20 unblocked blocked", "TASK-21 unblocked blocked", "TASK-22 unblocked blocked", "TASK-23 unblocked blocked",
		"TASK-30 in_progress backlog", "TASK-34 in_progress done", "TASK-44 not_done done",
	}
	if !slices.Equal(got, want) {
		t.Errorf("claims\n%v\nwant\n%v", got, want)
	}
}

// Finished tasks that neither this report nor the previous one mentions are listed as
// omitted.
func TestOmitted(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	at := clock.Now()
	done := func(key, title string) standup.BoardTask {
		return standup.BoardTask{Key: key, Title: title, Status: "done", Priority: "low", CreatedAt: at, MovedAt: at, DoneAt: at.Add(48 * time.Hour)}
	}
	o.board["cto"] = []standup.BoardTask{done("TASK-1", "Named"), done("TASK-2", "Migrate the login page"), done("TASK-3", "Rotate keys of the gateway"), done("TASK-30", "Elsewhere")}
	o.runtime.Answer("cto", func(demo.Question) string {
		return "Yesterday: task-1, and migrated... migrate login page; TASK-300\nToday: x\nBlockers: none"
	})
	asked := make(chan string, 2)
	o.runtime.Answer("coo", func(q demo.Question) string { asked <- q.Message; return review })
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	left := m.Reports[0].Omitted
	if len(left) != 2 || left[0].Key != "TASK-3" || left[1].Key != "TASK-30" || len(m.Reports[1].Omitted) != 0 {
		t.Errorf("left out %+v, want TASK-3 and TASK-30", left)
	}
	if q := <-asked; !strings.Contains(q, "! does not mention TASK-3, which is finished: Rotate keys") {
		t.Errorf("the facilitator is not told:\n%s", q)
	}
	if !strings.Contains(*m.Digest, "Finished and not reported: TASK-3 (cto), TASK-30 (cto)") {
		t.Errorf("digest:\n%s", *m.Digest)
	}
	o.sleep(24 * time.Hour)
	o.runtime.Answer("cto", func(demo.Question) string { return "Yesterday: TASK-3\nToday: x\nBlockers: none" })
	m = o.hold(t, o.open(t).ID)
	if left := m.Reports[0].Omitted; len(left) != 1 || left[0].Key != "TASK-30" {
		t.Errorf("left out the next day %+v, want TASK-30: the others were named", left)
	}
}

// A standup has a digest however it ended, even without any answer.
func TestDigest(t *testing.T) {
	t.Parallel()
	t.Run("without a gateway", func(t *testing.T) {
		o := newOffice(t, dbtest.New(t))
		o.members = slices.DeleteFunc(o.members, func(m standup.Member) bool { return m.AgentID == "cmo" })
		at := clock.Now()
		o.board["cto"] = []standup.BoardTask{
			{Key: "TASK-1", Status: "done", DoneAt: at, CreatedAt: at, MovedAt: at},
			{Key: "TASK-2", Status: "in_progress", CreatedAt: at.Add(-90 * time.Hour), MovedAt: at, BlockedReason: "x", BlockedSince: at.Add(-50 * time.Hour)},
		}
		o.Runtime, o.Patience = o.connect(t, "http://127.0.0.1:9"), shortPatience
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Error, standup.GatewayUnreachable)
		wantDigest(t, m, "- Answered: 0 of 3", "- No report: cto (not asked), cpo (not asked), cmo (no active account)",
			"- Finished: TASK-1", "- Moved: TASK-2 (in progress)", "- Blocked: TASK-2 (2 days)")
	})
	t.Run("without a facilitator", func(t *testing.T) {
		o := newOffice(t, dbtest.New(t))
		o.members = slices.DeleteFunc(o.members, func(m standup.Member) bool { return m.AgentID == "coo" })
		at := clock.Now()
		o.board["cto"] = []standup.BoardTask{{Key: "TASK-1", Status: "done", DoneAt: at, CreatedAt: at, MovedAt: at}}
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Error, standup.NoActiveAgents)
		wantDigest(t, m, "- Answered: 0 of 3", "- Finished: TASK-1")
	})
	t.Run("with a silent, a failed and a hostile agent", func(t *testing.T) {
		o := newOffice(t, dbtest.New(t))
		o.AgentTimeout = shortTime
		o.runtime.Silence("cto", true)
		o.runtime.Fail("cpo", "no *credit* left")
		o.runtime.Answer("cmo", func(demo.Question) string {
			return "Today: x\nBlockers: ![x](http://127.0.0.1:9/x) <b>TASK-5</b>\n- and\u202e more"
		})
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Completed, "")
		wantDigest(t, m, "- Answered: 1 of 3: cmo", "cto (no answer in time), cpo (failed: ", `no \*credit\* left`, `cmo: \!\[x\](http://127.0.0.1:9/x) \<b\>TASK-5\</b\>`, "- Cost: ")
		if strings.Contains(*m.Digest, "\u202e") {
			t.Error("the digest can turn the direction of what follows")
		}
	})
	t.Run("when it was cancelled before it began", func(t *testing.T) {
		o := newOffice(t, dbtest.New(t))
		m, err := o.Cancel(signedIn(t), o.open(t).ID)
		if err != nil {
			t.Fatal(err)
		}
		wantDigest(t, m, "- Answered: 0 of 3", "- No report: cto (not asked), cpo (not asked), cmo (not asked)")
	})
}

func wantDigest(t *testing.T, m standup.Standup, lines ...string) {
	t.Helper()
	if m.Digest == nil {
		t.Fatal("there is no digest")
	}
	for _, l := range lines {
		if !strings.Contains(*m.Digest, l) {
			t.Errorf("the digest lacks %q:\n%s", l, *m.Digest)
		}
	}
}
