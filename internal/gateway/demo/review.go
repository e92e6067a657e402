package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// escalateAfter is how many days a task may be blocked before it is escalated.
const escalateAfter = 3

// review is the JSON that the facilitator returns to close a standup.
type review struct {
	Summary     string       `json:"summary"`
	Resolutions []resolution `json:"resolutions"`
	Escalations []escalation `json:"escalations"`
	ActionItems []actionItem `json:"action_items"`
}

type resolution struct {
	Blocker    int     `json:"blocker,omitempty"` // its number in the question; 0 if it has none
	Task       *string `json:"task"`
	Resolution string  `json:"resolution"`
}

type escalation struct {
	Title   string  `json:"title"`
	Detail  string  `json:"detail"`
	Blocker int     `json:"blocker,omitempty"`
	Task    *string `json:"task"`
}

type actionItem struct {
	Title    string `json:"title"`
	Assignee string `json:"assignee"`
}

// assignedTask is a task together with the agent that it is assigned to.
type assignedTask struct {
	Task
	agent Agent
}

// review returns the facilitator's closing answer for a standup, based on the agents'
// tasks. The answer resolves recent blockers and escalates old ones. Like a real model's
// answer, it consists of some text, followed by JSON in a code fence.
func (r *Runtime) review(ctx context.Context, in Question) (string, error) {
	all, done := []assignedTask{}, []string{}
	for _, a := range r.options.Agents {
		tasks, err := r.options.Board(ctx, a.ID)
		if err != nil {
			return "", err
		}
		since, err := r.reviewSince(ctx, a, in.SessionKey)
		if err != nil {
			return "", err
		}
		for _, t := range ordered(tasks, byUrgency) {
			all = append(all, assignedTask{t, a})
			if t.finished(since) {
				done = append(done, t.Key)
			}
		}
	}
	blocked := slices.DeleteFunc(slices.Clone(all), func(t assignedTask) bool {
		return t.Blocked == "" || t.Status == "done"
	})
	slices.SortStableFunc(blocked, func(a, b assignedTask) int { return cmp.Compare(b.BlockedDays, a.BlockedDays) })
	out := review{Resolutions: []resolution{}, Escalations: []escalation{}, ActionItems: proposeActions(all, blocked)}
	numbers := blockerNumbers(in.Message)
	for _, t := range blocked {
		if t.BlockedDays >= escalateAfter {
			out.Escalations = append(out.Escalations, escalation{
				Title: clip(fmt.Sprintf("%s is stuck: %s", t.Key, t.reason()), 120), Blocker: numbers[t.Key], Task: &t.Key,
				Detail: fmt.Sprintf("%s, assigned to %s, has been blocked %s: %s. The team can't resolve this on its own; someone outside it has to decide.",
					t.named(), t.agent.Name, age(t.BlockedDays), t.reason()),
			})
			continue
		}
		out.Resolutions = append(out.Resolutions, resolution{
			Blocker: numbers[t.Key], Task: &t.Key, Resolution: resolutionFor(t),
		})
	}
	out.Summary = summary(all, done, out)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return "", fmt.Errorf("encode the review: %w", err)
	}
	return "I went through the reports. Here's how we close today's standup.\n\n```json\n" + b.String() + "```", nil
}

// reviewSince returns the start of the period whose finished tasks of an agent a review mentions: that of
// the agent's own report, or for the facilitator, who gives none, the time of the others' last reports.
func (r *Runtime) reviewSince(ctx context.Context, of Agent, sessionKey string) (time.Time, error) {
	last, err := r.lastReport(ctx, of.ID, sessionKey)
	if err != nil || !last.IsZero() {
		return r.since(last), err
	}
	for _, a := range r.options.Agents {
		other, err := r.lastReport(ctx, a.ID, sessionKey)
		if err != nil {
			return last, err
		}
		if other.After(last) {
			last = other
		}
	}
	return r.since(last), nil
}

// numberedBlocker matches an open blocker in the question to the facilitator, such as
// "2. cto, for 3 days: TASK-4 …".
var numberedBlocker = regexp.MustCompile(`(?m)^(\d+)\. .*?\b(TASK-\d+)\b`)

// blockerNumbers returns the numbers of the open blockers in a question, by task key.
func blockerNumbers(question string) map[string]int {
	numbers := map[string]int{}
	for _, m := range numberedBlocker.FindAllStringSubmatch(question, -1) {
		numbers[m[2]], _ = strconv.Atoi(m[1])
	}
	return numbers
}

// resolutionFor proposes what to do about a recent blocker.
func resolutionFor(t assignedTask) string {
	reason := strings.ToLower(t.Blocked)
	for _, rule := range []struct{ word, way string }{
		{"review", "%s asks for a review in the team channel before noon, and the first person free picks it up."},
		{"access", "%s resends the access request and names the owner. I'll follow up today."},
		{"credential", "%s resends the access request and names the owner. I'll follow up today."},
		{"waiting", "%s asks for a date today and works on the next task in the meantime."},
		{"decision", "%s adds the options to the task today, and I bring them to the next sync."},
	} {
		if strings.Contains(reason, rule.word) {
			return fmt.Sprintf(rule.way, t.agent.Name)
		}
	}
	return fmt.Sprintf("%s splits off the part that isn't blocked and tells me by end of day what is still missing.",
		t.agent.Name)
}

// proposeActions returns up to two action items. It skips items that are already on the
// board, so that the next standup doesn't repeat them.
func proposeActions(all, blocked []assignedTask) []actionItem {
	items := []actionItem{}
	propose := func(title, assignee string) {
		title = clip(title, 120)
		onBoard := slices.ContainsFunc(all, func(t assignedTask) bool {
			return t.Status != "done" && strings.EqualFold(clip(t.Title, 120), title)
		})
		proposed := slices.ContainsFunc(items, func(i actionItem) bool { return i.Title == title })
		if len(items) < 2 && !onBoard && !proposed {
			items = append(items, actionItem{Title: title, Assignee: assignee})
		}
	}
	for _, t := range blocked {
		if t.BlockedDays >= escalateAfter {
			propose("List the options for "+t.Key+" and what each would cost", t.agent.ID)
		} else {
			propose("Clear the blocker on "+t.Key+": "+t.reason(), t.agent.ID)
		}
	}
	for _, t := range all {
		if len(items) == 0 && t.Status == "review" {
			propose("Review "+t.Key+" and close it", t.agent.ID)
		}
	}
	return items
}

// summary returns two to four sentences about the tasks that were finished since the last
// standup and those that are in progress, blocked or escalated.
func summary(all []assignedTask, done []string, out review) string {
	active := []string{}
	for _, t := range all {
		if t.Status == "in_progress" && t.Blocked == "" {
			active = append(active, t.Key)
		}
	}
	first := "Nothing has been finished since the last standup"
	if len(done) > 0 {
		first = "Since the last standup the team finished " + enumerate(done)
	}
	second := "No tasks are in progress"
	if len(active) > 0 {
		second = "Work continues on " + enumerate(active)
	}
	sentences := []string{first + ".", second + "."}
	recent, old := []string{}, []string{}
	for _, x := range out.Resolutions {
		recent = append(recent, *x.Task)
	}
	for _, x := range out.Escalations {
		old = append(old, *x.Task)
	}
	if len(recent) > 0 {
		sentences = append(sentences, "The team is unblocking "+enumerate(recent)+" today.")
	}
	if len(old) > 0 {
		verb := " need"
		if len(old) == 1 {
			verb = " needs"
		}
		sentences = append(sentences, enumerate(old)+verb+" a decision from outside the team.")
	}
	return strings.Join(sentences, " ")
}

// enumerate joins task keys into a phrase that contains at most three of them, such as
// "A, B, C and 2 more".
func enumerate(keys []string) string {
	more := len(keys) - 3
	switch {
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:3], ", "), more)
	case len(keys) > 1:
		return strings.Join(keys[:len(keys)-1], ", ") + " and " + keys[len(keys)-1]
	}
	return keys[0]
}
