package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// recentWindow is how far back an agent's first report reaches: on a Monday, into the
	// weekend but not into the previous work week.
	recentWindow = 48 * time.Hour
	// maxReportWindow is how far back a report reaches at most, after a long time without
	// standups.
	maxReportWindow = 14 * 24 * time.Hour
)

// reply returns an agent's answer, based on the agent's tasks on the board. The same
// tasks and time always give the same answer.
func (r *Runtime) reply(ctx context.Context, a Agent, in Question) (string, error) {
	text := strings.ToLower(in.Message)
	switch {
	case a.ID == "coo" && strings.Contains(text, "action_items"):
		return r.review(ctx, in)
	case isStandupCall(in.Message):
		return r.runStandup(ctx, a.ID, in.Message), nil
	case strings.Contains(text, "standup"), strings.Contains(text, "yesterday") && strings.Contains(text, "today"):
		tasks, err := r.options.Board(ctx, a.ID)
		if err != nil {
			return "", err
		}
		since, err := r.reportSince(ctx, a.ID, in.SessionKey)
		if err != nil {
			return "", err
		}
		return formatReport(styleOf(a.ID), newReport(tasks, since, r.options.Now())), nil
	}
	return r.chat(ctx, a, in)
}

// report is an agent's standup report. Each entry is one sentence.
type report struct {
	yesterday, today, blockers []string
}

// reportSince returns the start of the period that an agent reports on: the time of its
// last answer in an earlier standup. Answers in the current standup don't count.
func (r *Runtime) reportSince(ctx context.Context, agentID, sessionKey string) (time.Time, error) {
	last, err := r.lastReport(ctx, agentID, sessionKey)
	return r.since(last), err
}

// lastReport returns the time of an agent's last answer in a standup other than that of the session, or
// the zero time if there is none.
func (r *Runtime) lastReport(ctx context.Context, agentID, sessionKey string) (time.Time, error) {
	_, name, _ := strings.Cut(strings.TrimPrefix(canonical(sessionKey), "agent:"), ":")
	return r.options.LastStandup(ctx, agentID, name)
}

// since returns the start of the period since the last report, at most maxReportWindow ago.
func (r *Runtime) since(last time.Time) time.Time {
	now := r.options.Now()
	if last.IsZero() {
		return now.Add(-recentWindow)
	}
	if first := now.Add(-maxReportWindow); last.Before(first) {
		return first
	}
	return last
}

// finished reports whether the task was finished after the given time.
func (t Task) finished(since time.Time) bool { return t.DoneAt != nil && t.DoneAt.After(since) }

// newReport derives a report from the tasks on the board: the work done since the given
// time, the work that comes next, and the blockers.
func newReport(tasks []Task, since, now time.Time) report {
	var out report
	for _, t := range ordered(tasks, byUpdate) {
		switch {
		case t.finished(since):
			out.yesterday = append(out.yesterday, "Finished "+t.named())
		case t.DoneAt != nil:
		case t.Status == "review" && t.UpdatedAt.After(since):
			out.yesterday = append(out.yesterday, "Moved "+t.named()+" to review")
		case t.Status == "in_progress" && t.Blocked == "" && now.Sub(t.UpdatedAt) <= recentWindow:
			out.yesterday = append(out.yesterday, "Worked on "+t.named())
		}
	}
	for _, t := range ordered(tasks, byUrgency) {
		switch {
		case t.Status == "done" || t.Blocked != "":
		case t.Status == "in_progress":
			out.today = append(out.today, "Continue with "+t.named())
		case t.Status == "review":
			out.today = append(out.today, "Get "+t.named()+" through review")
		case t.Status == "todo":
			out.today = append(out.today, "Start "+t.named()+urgency(t))
		}
	}
	for _, t := range ordered(tasks, byBlockedDays) {
		if t.Status != "done" && t.Blocked != "" {
			out.blockers = append(out.blockers, fmt.Sprintf("%s: %s (%s)", t.named(), t.reason(), age(t.BlockedDays)))
		}
	}
	out.yesterday = firstEntries(out.yesterday, 4, "No tasks moved")
	out.today = firstEntries(out.today, 3, "Pick the next task from the backlog")
	return out
}

// firstEntries returns the first n entries of a list. For an empty list, it returns only
// the placeholder that is passed as none.
func firstEntries(list []string, n int, none string) []string {
	if len(list) == 0 {
		return []string{none}
	}
	return list[:min(n, len(list))]
}

// named returns the task's key and title in one string.
func (t Task) named() string {
	title := clip(t.Title, 100)
	if title == "" {
		return t.Key
	}
	return t.Key + " " + title
}

// reason returns why the task is blocked, without final punctuation.
func (t Task) reason() string { return strings.TrimRight(clip(t.Blocked, 200), ".!") }

func urgency(t Task) string {
	if t.Priority == "urgent" || t.Priority == "high" {
		return " (" + t.Priority + " priority)"
	}
	return ""
}

// age formats the number of days that a task has been blocked.
func age(days int) string {
	switch {
	case days <= 0:
		return "since today"
	case days == 1:
		return "for 1 day"
	}
	return fmt.Sprintf("for %d days", days)
}

// ordered returns the tasks sorted by the given function and then by key, so that the
// same tasks always give the same text.
func ordered(tasks []Task, by func(a, b Task) int) []Task {
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b Task) int {
		return cmp.Or(by(a, b), cmp.Compare(len(a.Key), len(b.Key)), strings.Compare(a.Key, b.Key))
	})
}

func byUpdate(a, b Task) int      { return b.UpdatedAt.Compare(a.UpdatedAt) }
func byBlockedDays(a, b Task) int { return cmp.Compare(b.BlockedDays, a.BlockedDays) }

// byUrgency orders tasks by status, those in progress first, and then by priority.
func byUrgency(a, b Task) int {
	under := func(t Task) int { return slices.Index([]string{"in_progress", "review", "todo"}, t.Status) & 3 }
	prio := func(t Task) int { return slices.Index([]string{"low", "medium", "high", "urgent"}, t.Priority) }
	return cmp.Or(cmp.Compare(under(a), under(b)), cmp.Compare(prio(b), prio(a)))
}

// style is the format of an agent's reports. Agents use different formats, as real models
// do, because Wardroom must be able to parse all of them.
type style uint8

const (
	headings style = iota // Markdown headings and lists
	bold                  // bold labels and lists
	plain                 // one line each, such as "Yesterday: …"
	numbered              // numbered sections, blockers first
)

// styleOf returns the style of an agent's reports. Agents outside the demo team use headings.
func styleOf(agentID string) style {
	return map[string]style{"cpo": bold, "cmo": plain, "coo": numbered}[agentID]
}

// formatReport returns a report in the given style.
func formatReport(s style, rep report) string {
	var b strings.Builder
	section := func(head, item string, lines []string, end string) {
		b.WriteString(head)
		for _, l := range lines {
			b.WriteString(item + l + end)
		}
		b.WriteString("\n")
	}
	blockers := rep.blockers
	if len(blockers) == 0 {
		blockers = []string{"None"}
	}
	switch s {
	case headings:
		section("## Yesterday\n", "- ", rep.yesterday, ".\n")
		section("## Today\n", "- ", rep.today, ".\n")
		section("## Blockers\n", "- ", blockers, ".\n")
	case bold:
		b.WriteString("Here's my update.\n\n")
		section("**Yesterday**\n", "* ", rep.yesterday, "\n")
		section("**Today**\n", "* ", rep.today, "\n")
		section("**Blockers:**\n", "* ", blockers, "\n")
	case numbered:
		section("1. **Blockers**\n", "   - ", blockers, ".\n")
		section("2. **Yesterday**\n", "   - ", rep.yesterday, ".\n")
		section("3. **Today**\n", "   - ", rep.today, ".\n")
	default:
		fmt.Fprintf(&b, "Yesterday: %s.\nToday: %s.\nBlockers: %s.\n",
			strings.Join(rep.yesterday, "; "), strings.Join(rep.today, "; "), strings.Join(blockers, "; "))
	}
	return strings.TrimSpace(b.String())
}
