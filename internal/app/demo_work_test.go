package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/dispatch"
	"wardroom/internal/event"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/money"
	"wardroom/internal/receipt"
	sessions "wardroom/internal/session"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

// visitor is the owner of a demo, and the keys of its tasks by title.
type visitor struct {
	caller

	demo *app.Demo
	keys map[string]string
}

func visit(t *testing.T) visitor {
	t.Helper()
	d := startDemo(t, t.TempDir())
	s, owner := serveDemo(t, d)
	t.Cleanup(s.stop)
	s.connected()
	v := visitor{owner, d, map[string]string{}}
	for _, c := range boardOf(t, d) {
		v.keys[c.Title] = c.Key
	}
	return v
}

// works sends a task to its agent and waits until the run has ended.
func (v visitor) works(key, note string) task.Task {
	v.house.t.Helper()
	v.post("/api/v1/tasks/"+key+"/dispatch", dispatch.New{Note: note}).want(http.StatusAccepted)
	return v.becomes(key, task.Ended)
}

// reports returns the kinds of the reports on a task, newest first, and checks who made them.
func (v visitor) reports(key, agent string) (kinds []task.Kind) {
	v.house.t.Helper()
	for _, e := range decode[[]event.Event](v.get("/api/v1/tasks/" + key + "/history").want(http.StatusOK)) {
		if e.Kind != "task.reported" {
			continue
		}
		if e.Actor.Name != agent {
			v.house.t.Errorf("%s reported on %s", e.Actor.Name, key)
		}
		var data struct{ Report task.Kind }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			v.house.t.Fatal(err)
		}
		kinds = append(kinds, data.Report)
	}
	return kinds
}

// transcript returns the texts and tool calls of the session in which an agent works on a task, and
// the number of its tool calls.
func (v visitor) transcript(t task.Task) (text string, calls int) {
	v.house.t.Helper()
	path := "/api/v1/agentrt/sessions/" + url.PathEscape(t.Dispatch.SessionKey) + "/messages?limit=200"
	for _, m := range decode[[]transcript.Message](v.get(path).want(http.StatusOK)) {
		for _, b := range m.Blocks {
			if b.Text != nil && m.Role != "user" {
				text += *b.Text + "\n"
			}
			if b.Tool != nil && b.Tool.Arguments != nil && b.Tool.Result != nil {
				calls++
				text += *b.Tool.Arguments + "\n" + *b.Tool.Result + "\n"
			}
		}
	}
	return text, calls
}

// lastComment returns the text of the newest comment on a task, and its author.
func (v visitor) lastComment(key string) (text, author string) {
	v.house.t.Helper()
	all := decode[[]task.Comment](v.get("/api/v1/tasks/" + key + "/comments?limit=100").want(http.StatusOK))
	if len(all) == 0 {
		return "", ""
	}
	return all[len(all)-1].Body, all[len(all)-1].AuthorName
}

// A task that is sent to an agent is worked on with tools until it is in review, and again, as asked,
// if it is sent back.
func TestDemoWorksOnTask(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	v := visit(t)
	key := v.keys["Write the brief for shared workspaces"]
	done := v.works(key, "")
	if done.Status != task.Review || done.CostUSD == nil || *done.CostUSD <= 0 {
		t.Errorf("it is %s and cost %v", done.Status, done.CostUSD)
	}
	if got := v.reports(key, "CPO"); !slices.Equal(got, []task.Kind{task.Finished, task.Progress, task.Ack}) {
		t.Errorf("the reports are %v", got)
	}
	text, calls := v.transcript(done)
	if calls < 6 || !strings.Contains(text, "/reports") || !strings.Contains(text, "$WARDROOM_API_KEY") || strings.Contains(text, "wrk_") {
		t.Errorf("%d tool calls, in the transcript\n%s", calls, text)
	}
	if said, by := v.lastComment(key); by != "CPO" || !strings.Contains(said, "permissions") {
		t.Errorf("%s commented %q", by, said)
	}
	v.post("/api/v1/tasks/"+key+"/send-back", map[string]any{"text": "Name the price of each plan."}).want(http.StatusOK)
	again := v.becomes(key, task.Ended)
	if again.Status != task.Review || again.Dispatch.SessionKey != done.Dispatch.SessionKey {
		t.Errorf("sent back: %s in %s", again.Status, again.Dispatch.SessionKey)
	}
	if said, by := v.lastComment(key); by != "CPO" || !strings.Contains(said, "Name the price of each plan.") {
		t.Errorf("after it was sent back %s commented %q", by, said)
	}
	if more, _ := v.transcript(again); !strings.Contains(more, "lint-docs briefs/shared-workspaces.md") || len(more) <= len(text) {
		t.Error("the agent did not check its change")
	}
	if approved := decode[task.Task](v.post("/api/v1/tasks/"+key+"/approve", nil).want(http.StatusOK)); approved.Status != task.Done {
		t.Errorf("approved, it is %s", approved.Status)
	}
}

// The cost of runs that overlap must be that of all their model calls as soon as they have ended: the same in the task,
// in its session, in Spend and in the runtime.
func TestDemoOverlappingRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	v := visit(t)
	keys := []string{v.keys["Write the brief for shared workspaces"], v.keys["Restore a backup to a new machine"], v.handed("cmo", "Translate the home page").Key}
	for _, key := range keys {
		v.post("/api/v1/tasks/"+key+"/dispatch", dispatch.New{}).want(http.StatusAccepted)
	}
	for _, key := range keys {
		session := strings.ToLower(v.becomes(key, task.Ended).Dispatch.SessionKey)
		var said string
		defer func() { t.Log(key, said) }()
		waitFor(t, "the cost of "+key, func() bool { // the totals would mend it only after minutes
			used, err := v.demo.App.Gateway.Usage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			costs := map[string]*money.Nano{"the runtime": new(money.Nano)}
			for _, of := range used.Transcripts {
				for _, m := range of.Models {
					if of.SessionKey == session {
						*costs["the runtime"] += money.Nano(m.CostNanoUSD)
					}
				}
			}
			for _, g := range v.usage("group=session").Groups {
				if g.Key != nil && *g.Key == session {
					costs["Spend"] = g.CostUSD
				}
			}
			if a := v.get("/api/v1/agentrt/sessions/" + url.PathEscape(session)); a.status == http.StatusOK {
				costs["the session"] = decode[sessions.Session](a).CostUSD
			}
			for _, g := range v.usage("group=task").Groups {
				if g.Key != nil && *g.Key == key {
					costs["the task in Spend"] = g.CostUSD
				}
			}
			costs["the task"] = decode[task.Task](v.get("/api/v1/tasks/" + key).want(http.StatusOK)).CostUSD
			said = fmt.Sprint(costs)
			same := func(a, b string) bool { return costs[a] != nil && costs[b] != nil && *costs[a] == *costs[b] }
			return same("the runtime", "Spend") && same("the runtime", "the session") && same("the task", "the task in Spend") && *costs["the task"] >= *costs["Spend"]
		})
	}
}

// A blocked task stays blocked until a person decides, and then goes on.
func TestDemoGoesOnAfterDecision(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	v := visit(t)
	key := v.keys["Renew the signing certificate"]
	if still := v.works(key, ""); still.Blocked == nil || still.Status != task.InProgress {
		t.Errorf("without a decision it is %s, blocked %v", still.Status, still.Blocked)
	}
	if said, _ := v.lastComment(key); !strings.Contains(said, "I can't go on") {
		t.Errorf("about the blocker: %q", said)
	}
	v.post("/api/v1/tasks/"+key+"/decide", map[string]any{"text": "Use a prepaid account.", "dispatch": true}).want(http.StatusOK)
	done := v.becomes(key, task.Ended)
	if done.Status != task.Review || done.Blocked != nil {
		t.Errorf("after the decision it is %s, blocked %v", done.Status, done.Blocked)
	}
	if open := v.inboxOf(inbox.Escalation, "open"); len(open) > 0 {
		t.Errorf("the inbox still has %+v", open)
	}
	if text, _ := v.transcript(done); !strings.Contains(text, "openssl verify") || !strings.Contains(text, "Use a prepaid account.") {
		t.Errorf("the transcript is\n%s", text)
	}
}

// One agent claims more than it did, and a task that nobody planned for is worked on too.
func TestDemoClaimsAndUnknownTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	v := visit(t)
	claimed := v.works(v.keys["Restore a backup to a new machine"], "")
	text, _ := v.transcript(claimed)
	commands := regexp.MustCompile(`"command":"[^"]*bin/restore`).FindAllString(text, -1)
	if claimed.Status != task.Review || !strings.Contains(text, "I restored last night's backup") || len(commands) > 0 {
		t.Errorf("it is %s after %q:\n%s", claimed.Status, commands, text)
	}
	for agent, want := range map[string]string{"cto": "go test ./...", "cmo": "notes/translate-the-home-page.md"} {
		made := v.handed(agent, "Translate the home page's “café” menu")
		done := v.works(made.Key, "Keep it short.")
		text, _ := v.transcript(done)
		if done.Status != task.Review || !strings.Contains(text, want) || !strings.Contains(text, "Keep it short.") {
			t.Errorf("%s: it is %s, without %q in\n%s", agent, done.Status, want, text)
		}
	}
}

// The demo has an agent in a loop and a limit that is almost reached, which is told only once.
func TestDemoAsks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dir := t.TempDir()
	for _, again := range []bool{false, true} {
		// With this, the loop goes on for minutes. A busy machine reads the past first.
		d, err := app.NewDemo(t.Context(), app.DemoOptions{Dir: dir, Port: "0", Work: 4 * time.Second}, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		s, owner := serveDemo(t, d)
		waitAtMost(t, 5*time.Minute, "the item of the loop", func() bool { return len(owner.inboxOf(inbox.Loop, "open")) == 1 })
		limits := decode[struct{ Limits []limit.Limit }](owner.get("/api/v1/limits").want(http.StatusOK)).Limits
		if len(limits) != 1 {
			t.Fatalf("start again: %v; the limits are %+v", again, limits)
		}
		const patience = 3 * time.Minute // the past is written on a busy machine
		waitAtMost(t, patience, "the item of the limit", func() bool { return len(owner.inboxOf(inbox.LimitReached, "open")) == 1 })
		s.stop()
	}
}

// wantReceipts waits for the receipts of the sample board: one that holds, one with a gap, and one of a
// task that was sent back and then done right.
func wantReceipts(t *testing.T, d *app.Demo, owner caller) {
	t.Helper()
	type facts struct {
		Evidence receipt.Grade
		Gaps     string
		Earlier  string
	}
	kinds := func(gaps []receipt.Gap) (s string) {
		for _, g := range gaps {
			s += string(g.Kind)
		}
		return s
	}
	for title, want := range map[string]facts{
		"Move sign-in to short-lived tokens":        {Evidence: receipt.Checked},
		"Interview five customers about onboarding": {Evidence: receipt.Claimed, Gaps: "named_check_not_run"},
		"Triage the feature requests from October":  {Evidence: receipt.Checked, Earlier: "sent_back changed_after_check"},
	} {
		board := boardOf(t, d)
		at := "/api/v1/tasks/" + board[slices.IndexFunc(board, func(c card) bool { return c.Title == title })].Key + "/receipt"
		var r receipt.Receipt
		waitAtMost(t, 3*time.Minute, "the receipt of "+title, func() bool {
			r = decode[receipt.Receipt](owner.get(at).want(http.StatusOK))
			return !r.Pending && !slices.ContainsFunc(r.Earlier, func(e receipt.Outline) bool { return e.Pending })
		})
		got := facts{Evidence: r.Evidence, Gaps: kinds(r.Gaps)}
		for _, e := range r.Earlier {
			got.Earlier += string(e.Verdict.Kind) + " " + kinds(e.Gaps)
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", title, got, want)
		}
	}
}

// There is something of each kind to act on: a failed job, a missed run with its reason, and a task
// in review for more than a day.
func TestDemoNeedsYou(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	d := startDemo(t, t.TempDir())
	review := slices.DeleteFunc(boardOf(t, d), func(c card) bool { return c.Status != "review" || c.MovedHours < 24 })
	if len(review) == 0 {
		t.Error("no task is in review for more than a day")
	}
	// Agents that asked before Wardroom connected wait too.
	d.Runtime.AskApproval(demo.Command{AgentID: "cto", SessionKey: "agent:cto:main", Text: "git push"})
	d.Runtime.AskQuestion("cmo", "agent:cmo:main", "", 0, map[string]any{"questionId": "place", "header": "Place", "question": "Where?", "options": []map[string]any{{"label": "Blog"}}})
	s, owner := serveDemo(t, d)
	defer s.stop()
	waitFor(t, "the item of the review", func() bool { return len(owner.inboxOf(inbox.TaskReview, "open")) == len(review) })
	waitFor(t, "the items of the agents' requests", func() bool {
		return len(owner.inboxOf(inbox.Approval, "open")) == 1 && len(owner.inboxOf(inbox.Question, "open")) == 1
	})
	for kind, reason := range map[string]string{"escalation": "The card on file", "task_review": "All five interviews are summarized", "job_failed": "no clean machine available", "job_missed": "The runtime did not start it by"} {
		items := decode[[]inbox.Item](owner.get("/api/v1/inbox?kind=" + kind).want(http.StatusOK))
		if len(items) != 1 || !strings.Contains(items[0].Detail, reason) {
			t.Errorf("%s: %+v", kind, items)
			continue
		}
		if kind == "job_failed" {
			if items[0].Run == nil {
				t.Fatal("the item of the failed job has no run")
			}
			owner.get("/api/v1/agentrt/sessions/" + url.PathEscape(items[0].Run.SessionKey)).want(http.StatusOK)
		}
	}
	wantReceipts(t, d, owner)
	said := decode[[]task.Comment](owner.get("/api/v1/tasks/TASK-7/comments").want(http.StatusOK))
	if !slices.ContainsFunc(said, func(c task.Comment) bool {
		return c.AuthorName == "CTO" && strings.HasPrefix(c.Body, "We could use a prepaid account")
	}) {
		t.Errorf("TASK-7 has the comments %+v, want the CTO's", said)
	}
}
