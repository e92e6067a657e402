package demo

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// recently is how far back "yesterday" reaches: over a weekend's day, but not
// into last week.
const recently = 48 * time.Hour

// speak is an agent's answer in its own voice, written from the board. The same
// board and the same moment give the same answer.
func (r *Runtime) speak(ctx context.Context, a Agent, in Question) (string, error) {
	text := strings.ToLower(in.Message)
	switch {
	case a.ID == "coo" && strings.Contains(text, "action_items"):
		return r.review(ctx)
	case isErrand(in.Message):
		return r.act(ctx, in.Message), nil
	case strings.Contains(text, "standup"), strings.Contains(text, "yesterday") && strings.Contains(text, "today"):
		tasks, err := r.options.Board(ctx, a.ID)
		if err != nil {
			return "", err
		}
		return write(r.style(a), tell(tasks, r.options.Now())), nil
	}
	tasks, err := r.options.Board(ctx, a.ID)
	if err != nil {
		return "", err
	}
	return a.chat(tasks), nil
}

// report is what an agent has to say in a standup, a sentence per entry.
type report struct {
	yesterday, today, blockers []string
}

// tell reads a report off the board.
func tell(tasks []Task, now time.Time) report {
	var out report
	for _, t := range ordered(tasks, newest) {
		switch since := now.Sub(t.UpdatedAt); {
		case t.DoneAt != nil && now.Sub(*t.DoneAt) <= recently:
			out.yesterday = append(out.yesterday, "Finished "+t.named())
		case since > recently || t.DoneAt != nil:
		case t.Status == "review":
			out.yesterday = append(out.yesterday, "Brought "+t.named()+" to review")
		case t.Status == "in_progress" && t.Blocked == "":
			out.yesterday = append(out.yesterday, "Worked on "+t.named())
		}
	}
	for _, t := range ordered(tasks, urgent) {
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
	for _, t := range ordered(tasks, oldest) {
		if t.Status != "done" && t.Blocked != "" {
			out.blockers = append(out.blockers, fmt.Sprintf("%s: %s (%s)", t.named(), t.reason(), age(t.BlockedDays)))
		}
	}
	out.yesterday = atMost(out.yesterday, 4, "No task moved")
	out.today = atMost(out.today, 3, "Pick the next task from the backlog")
	return out
}

// atMost keeps the first few entries, or says something when there are none.
func atMost(list []string, n int, none string) []string {
	if len(list) == 0 {
		return []string{none}
	}
	return list[:min(n, len(list))]
}

// named is a task as people name it: by key and title.
func (t Task) named() string {
	title := clip(t.Title, 100)
	if title == "" {
		return t.Key
	}
	return t.Key + " " + title
}

// reason is why a task is blocked, as half a sentence.
func (t Task) reason() string { return strings.TrimRight(clip(t.Blocked, 200), ".!") }

func urgency(t Task) string {
	if t.Priority == "urgent" || t.Priority == "high" {
		return ", which is " + t.Priority + " priority"
	}
	return ""
}

// age says how long something has been blocked.
func age(days int) string {
	switch {
	case days <= 0:
		return "since today"
	case days == 1:
		return "for 1 day"
	}
	return fmt.Sprintf("for %d days", days)
}

// ordered is a copy of the tasks in an order; the key decides between equals,
// so that the same board always reads the same.
func ordered(tasks []Task, by func(a, b Task) int) []Task {
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b Task) int {
		return cmp.Or(by(a, b), cmp.Compare(len(a.Key), len(b.Key)), strings.Compare(a.Key, b.Key))
	})
}

func newest(a, b Task) int { return b.UpdatedAt.Compare(a.UpdatedAt) }
func oldest(a, b Task) int { return cmp.Compare(b.BlockedDays, a.BlockedDays) }

// urgent puts what is under way first, then by priority.
func urgent(a, b Task) int {
	under := func(t Task) int { return slices.Index([]string{"in_progress", "review", "todo"}, t.Status) & 3 }
	prio := func(t Task) int { return slices.Index([]string{"low", "medium", "high", "urgent"}, t.Priority) }
	return cmp.Or(cmp.Compare(under(a), under(b)), cmp.Compare(prio(b), prio(a)))
}

// style is how an agent formats a report. Models differ in this, and whoever
// reads the reports has to cope with all of it.
type style uint8

const (
	headings style = iota // Markdown headings and lists
	bold                  // bold labels and lists
	plain                 // "Yesterday: …" on one line each
	numbered              // numbered sections, the blockers first
	styles
)

func (r *Runtime) style(a Agent) style {
	switch a.ID {
	case "cto":
		return headings
	case "cpo":
		return bold
	case "cmo":
		return plain
	case "coo":
		return numbered
	}
	h := fnv.New32a()
	h.Write([]byte(a.ID))
	return style(h.Sum32() % uint32(styles))
}

// write puts a report into words.
func write(s style, rep report) string {
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
		b.WriteString("Here is where I stand.\n\n")
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

// chat is the answer to anything that is not a standup.
func (a Agent) chat(tasks []Task) string {
	open, blocked := []Task{}, 0
	for _, t := range ordered(tasks, urgent) {
		switch {
		case t.Status == "done":
		case t.Blocked != "":
			blocked++
		case t.Status != "backlog":
			open = append(open, t)
		}
	}
	who := a.Name
	if a.Title != "" {
		who = a.Title + " here"
	}
	switch {
	case len(open) == 0 && blocked == 0:
		return fmt.Sprintf("%s: understood. My board is clear, so I can take this on next.", who)
	case len(open) == 0:
		return fmt.Sprintf("%s: understood. All of my open work is blocked (%d), so I can take this on next.", who, blocked)
	}
	return fmt.Sprintf("%s: understood. I am on %s first and will come back to this after it.", who, open[0].named())
}
