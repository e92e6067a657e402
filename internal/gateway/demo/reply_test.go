package demo

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nine is the time of every standup in these tests.
var nine = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func ago(h int) time.Time { return nine.Add(-time.Duration(h) * time.Hour) }

func done(key, title string, hours int) Task {
	at := ago(hours)
	return Task{Key: key, Title: title, Status: "done", Priority: "medium", UpdatedAt: at, DoneAt: &at}
}

// board returns the board of a team in the middle of its work.
func board() map[string][]Task {
	return map[string][]Task{
		"cto": {
			{Key: "TASK-12", Title: "Add\nrate limits", Status: "todo", Priority: "medium", UpdatedAt: ago(90)},
			{Key: "TASK-3", Title: "Move the queue", Status: "in_progress", Priority: "high", UpdatedAt: ago(5)},
			done("TASK-1", "Fix the login", 20),
			done("TASK-2", "An old thing", 100),
			{Key: "TASK-4", Title: "Sign the contract", Status: "in_progress", Blocked: "Waiting for legal.", BlockedDays: 4, UpdatedAt: ago(96)},
			{Key: "TASK-5", Title: "Page the docs", Status: "todo", Priority: "urgent", UpdatedAt: ago(70)},
		},
		"cpo": {{Key: "TASK-7", Title: "Interview users", Status: "review", Priority: "low", UpdatedAt: ago(3)}},
		"cmo": {{Key: "TASK-9", Title: "Launch page", Status: "todo", Priority: "high", Blocked: "no access to the domain", BlockedDays: 1, UpdatedAt: ago(30)}},
	}
}

// agents are the agents of a runtime.
type agents struct {
	t *testing.T
	r *Runtime
}

func team(t *testing.T, tasks map[string][]Task) agents {
	t.Helper()
	return agents{t, open(t, Options{
		Now:   func() time.Time { return nine },
		Board: func(_ context.Context, id string) ([]Task, error) { return tasks[id], nil },
	})}
}

// said asks an agent and returns its answer.
func (a agents) said(id, text string) string {
	a.t.Helper()
	agent, _ := a.r.agent(id)
	answer, err := a.r.reply(a.t.Context(), agent, Question{AgentID: id, SessionKey: "agent:" + id + ":test", Message: text})
	if err != nil {
		a.t.Fatal(err)
	}
	return answer
}

const standup = "Daily standup. What did you do yesterday, what do you do today, what blocks you?"

// Each agent reports from its own tasks in its own format, all of which Wardroom must be
// able to parse.
func TestReports(t *testing.T) {
	t.Parallel()
	c := team(t, board())
	for agent, want := range map[string]string{
		"cto": `## Yesterday
- Worked on TASK-3 Move the queue.
- Finished TASK-1 Fix the login.

## Today
- Continue with TASK-3 Move the queue.
- Start TASK-5 Page the docs (urgent priority).
- Start TASK-12 Add rate limits.

## Blockers
- TASK-4 Sign the contract: Waiting for legal (for 4 days).`,
		"cpo": `Here's my update.

**Yesterday**
* Moved TASK-7 Interview users to review

**Today**
* Get TASK-7 Interview users through review

**Blockers:**
* None`,
		"cmo": `Yesterday: No tasks moved.
Today: Pick the next task from the backlog.
Blockers: TASK-9 Launch page: no access to the domain (for 1 day).`,
		"coo": `1. **Blockers**
   - None.

2. **Yesterday**
   - No tasks moved.

3. **Today**
   - Pick the next task from the backlog.`,
	} {
		got := c.said(agent, standup)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
		if again := c.said(agent, standup); again != got {
			t.Errorf("%s says something else about the same board:\n%s", agent, again)
		}
	}
}

// reviewed decodes the JSON in the COO's answer, as Wardroom does.
func reviewed(t *testing.T, text string) review {
	t.Helper()
	before, rest, ok := strings.Cut(text, "```json\n")
	raw, _, closed := strings.Cut(rest, "```")
	if !ok || !closed || strings.TrimSpace(before) == "" {
		t.Fatalf("not a sentence and a fence:\n%s", text)
	}
	var out review
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return out
}

// The COO resolves recent blockers, escalates old ones, and summarizes the day.
func TestReview(t *testing.T) {
	t.Parallel()
	c := team(t, board())
	four, nine := "TASK-4", "TASK-9"
	want := review{
		Summary: "Since the last standup the team finished TASK-1. Work continues on TASK-3. " +
			"The team is unblocking TASK-9 today. TASK-4 needs a decision from outside the team.",
		Resolutions: []resolution{{
			Blocker: 2, Task: &nine,
			Resolution: "CMO resends the access request and names the owner. I'll follow up today.",
		}},
		Escalations: []escalation{{
			Task: &four, Title: "TASK-4 is stuck: Waiting for legal",
			Detail: "TASK-4 Sign the contract, assigned to CTO, has been blocked for 4 days: Waiting for legal. The team can't resolve this on its own; someone outside it has to decide.",
		}},
		ActionItems: []actionItem{
			{Title: "List the options for TASK-4 and what each would cost", Assignee: "cto"},
			{Title: "Clear the blocker on TASK-9: no access to the domain", Assignee: "cmo"},
		},
	}
	ask := `Close the standup. Answer with JSON: {"summary": "...", "action_items": []}` + "\n## open blockers\n1. cpo, for 1 day: no printer\n2. cmo, for 1 day: TASK-9 has no access"
	if diff := cmp.Diff(want, reviewed(t, c.said("coo", ask))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := c.said("cto", ask); strings.Contains(text, "```json") {
		t.Error("the CTO answered with a review")
	}
}

// Action items that are already on the board are not repeated.
func TestReviewDoesNotRepeat(t *testing.T) {
	t.Parallel()
	tasks := board()
	tasks["cto"] = append(tasks["cto"], Task{Key: "TASK-20", Title: "List the options for TASK-4 and what each would cost", Status: "todo", UpdatedAt: ago(1)})
	got := reviewed(t, team(t, tasks).said("coo", "action_items")).ActionItems
	if diff := cmp.Diff([]actionItem{{Title: "Clear the blocker on TASK-9: no access to the domain", Assignee: "cmo"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A day without work still has a summary, and puts nothing on the board.
func TestReviewOfNothing(t *testing.T) {
	t.Parallel()
	got := reviewed(t, team(t, nil).said("coo", "action_items"))
	want := review{
		Summary:     "Nothing has been finished since the last standup. No tasks are in progress.",
		Resolutions: []resolution{}, Escalations: []escalation{},
		ActionItems: []actionItem{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Resolutions depend on the reason for the blocker, and long lists of tasks are shortened.
func TestReviewWords(t *testing.T) {
	t.Parallel()
	for reason, part := range map[string]string{
		"needs a code review": "asks for a review", "waiting for the vendor": "asks for a date",
		"a DECISION is open": "adds the options to the task", "the build is red": "splits off",
	} {
		if got := resolutionFor(assignedTask{Task{Blocked: reason}, Agent{Name: "CTO"}}); !strings.Contains(got, part) || !strings.Contains(got, "CTO") {
			t.Errorf("%s: %s", reason, got)
		}
	}
	for want, keys := range map[string][]string{"A": {"A"}, "A and B": {"A", "B"}, "A, B and C": {"A", "B", "C"}, "A, B, C and 2 more": {"A", "B", "C", "D", "E"}} {
		if got := enumerate(keys); got != want {
			t.Errorf("%v: %q", keys, got)
		}
	}
}

// A message is answered from the board, and from what the agent found in its work.
func TestChat(t *testing.T) {
	t.Parallel()
	c := team(t, board())
	c.r.mu.Lock()
	c.r.seedRun("agent:cto:dashboard:search", "", ago(1), scenario{
		agent: "cto", label: "Slow search", ask: "Why is search slow?", answer: "It scans the table. The index takes 84 MB and 4.2 minutes to build.",
		steps: []Step{{Tool: "exec", Args: object{"command": "bin/explain"}, Result: "Seq Scan on documents"}},
	})
	c.r.mu.Unlock()
	const busy = "My plan: Continue with TASK-3 Move the queue; Start TASK-5 Page the docs (urgent priority); Start TASK-12 Add rate limits."
	for ask, want := range map[string]string{
		"What blocks you?":                       "Blocked: TASK-4 Sign the contract: Waiting for legal (for 4 days). " + busy,
		"How is task-7 going?":                   "TASK-7 Interview users (CPO) is in review.",
		"What are you working on?":               busy,
		"How long does the index take to build?": "The index takes 84 MB and 4.2 minutes to build. (from “Slow search”)",
		"Who pays for lunch?":                    "I don't know yet: “Who pays for lunch?” Neither my tasks nor my sessions answer that. Send it to me as a task, and I'll find out. " + busy,
		"Please make a plan for\nlunch?":         "I've read it: “Please make a plan for lunch?” " + busy + " Send it to me as a task if I should work on it first.",
	} {
		if diff := cmp.Diff(want, c.said("cto", ask)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ask, diff)
		}
	}
	agent, _ := c.r.agent("cto")
	if answer, err := c.r.chat(t.Context(), agent, Question{SessionKey: "agent:cto:task:task-3", Message: "Use smaller batches, please."}); err != nil || answer != "To do that I need a run of its own: “Use smaller batches, please.” Send TASK-3 to me again with it as the note, and I'll start at once." {
		t.Errorf("in the session of a task: %q, %v", answer, err)
	}
	if got := c.said("coo", "What's next?"); got != "My plan: Pick the next task from the backlog." {
		t.Errorf("without tasks: %q", got)
	}
}

// A standup doesn't repeat what the previous one reported, neither in the reports nor in
// the summary.
func TestReportsNothingTwice(t *testing.T) {
	t.Parallel()
	tasks := board()
	tasks["cpo"][0].UpdatedAt = ago(30)
	tasks["cto"] = append(tasks["cto"], done("TASK-6", "Rotate the keys", 30), done("TASK-8", "Renew the domain", 60))
	stood := map[string]time.Time{"cto": ago(24), "cpo": ago(24), "cmo": ago(24 * 30)}
	tasks["cmo"] = append(tasks["cmo"], done("TASK-10", "Newsletter", 24*13), done("TASK-11", "Old newsletter", 24*20))
	names := make(chan string, 100)
	c := agents{t, open(t, Options{
		Now:   func() time.Time { return nine },
		Board: func(_ context.Context, id string) ([]Task, error) { return tasks[id], nil },
		LastStandup: func(_ context.Context, id, name string) (time.Time, error) {
			names <- name
			return stood[id], nil
		},
	})}
	for agent, want := range map[string]string{
		"cto": "## Yesterday\n- Worked on TASK-3 Move the queue.\n- Finished TASK-1 Fix the login.\n\n",
		"cpo": "**Yesterday**\n* No tasks moved\n\n",
		"cmo": "Yesterday: Finished TASK-10 Newsletter.\n", // after a month, the report reaches back two weeks
	} {
		if got := c.said(agent, standup); !strings.Contains(got, want) {
			t.Errorf("%s says\n%s\nwant %q in it", agent, got, want)
		}
	}
	got := reviewed(t, c.said("coo", "action_items")).Summary
	if want := "Since the last standup the team finished TASK-1 and TASK-10. "; !strings.HasPrefix(got, want) {
		t.Errorf("the headline is %q, want %q", got, want)
	}
	if name := <-names; name != "test" {
		t.Errorf("LastStandup was called for %q", name)
	}
}
