package standup

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
)

// Claim is a statement of a report that the board contradicts. Only what says
// plainly how a task stands is a statement: see answer.FinishedClaims and
// answer.Statements.
type Claim struct {
	Task  string `json:"task"`
	Says  string `json:"says" enum:"done,not_done,in_progress,blocked,unblocked" doc:"What the report calls it."`
	Board string `json:"board" doc:"What the board says: its column, blocked or not_blocked; unknown when there is no such task."`
}

// against says in words what the report says, and what the board does.
func (c Claim) describe() string {
	board := "by the board it is " + spaced(c.Board)
	if c.Board == boardUnknown {
		board = "the board has no such task"
	}
	return c.Task + " is " + spaced(c.Says) + ", " + board
}

// boardUnknown is what the board says of a task that it does not have.
const boardUnknown = "unknown"

// boardState is how a task stands on the board.
type boardState struct {
	status  string
	blocked bool // by somebody's word, or because it waits for other tasks
}

// against is what the board says against a statement, or empty when it agrees,
// or could.
func (b boardState) disputes(says string) string {
	switch {
	case says == answer.Done && b.status == "":
		return boardUnknown
	case b.status == "":
		return "" // a key that is written wrongly says nothing
	case says == answer.Done && b.status != "done" && b.status != "review": // an agent's done is a review until somebody has looked
		return b.status
	case says == answer.NotDone && b.status == "done", says == answer.Blocked && b.status == "done":
		return b.status
	case says == answer.InProgress && (b.status == "done" || b.status == "backlog"):
		return b.status
	case says == answer.Blocked && !b.blocked:
		return "not_blocked"
	case says == answer.Unblocked && b.blocked && b.status != "done":
		return "blocked"
	}
	return ""
}

// contradictions finds the statements of a report that the board contradicts.
func contradictions(ctx context.Context, q db.Queryer, r Report) ([]Claim, error) {
	said := r.statements()
	keys := make([]string, len(said))
	for i, s := range said {
		keys[i] = s.Task
	}
	board, err := boardStates(ctx, q, keys)
	if err != nil {
		return nil, err
	}
	claims := []Claim{}
	for _, s := range said {
		if says := board[s.Task].disputes(s.Says); says != "" {
			claims = append(claims, Claim{Task: s.Task, Says: s.Says, Board: says})
		}
	}
	return claims, nil
}

// statements are what a report says plainly of tasks: what it calls finished
// under Yesterday, and how others stand now. What it says of one task in two
// ways counts as nothing.
func (r Report) statements() []answer.Statement {
	var said []answer.Statement
	if r.Yesterday != nil {
		for _, key := range answer.FinishedClaims(*r.Yesterday) {
			said = append(said, answer.Statement{Task: key, Says: answer.Done})
		}
	}
	finished := len(said)
	known := map[answer.Statement]bool{}
	for _, s := range said {
		known[s] = true
	}
	for _, part := range []*string{r.Yesterday, r.Today, r.Blockers, r.Other} {
		if part == nil {
			continue
		}
		for _, s := range answer.Statements(*part) {
			// What was going on yesterday may be over now.
			if (part != r.Yesterday || s.Says != answer.InProgress) && !known[s] {
				known[s] = true
				said = append(said, s)
			}
		}
	}
	ways := map[string]int{}
	for _, s := range said {
		ways[s.Task]++
	}
	plain := slices.DeleteFunc(slices.Clone(said[finished:]), func(s answer.Statement) bool { return ways[s.Task] > 1 })
	done := slices.DeleteFunc(said[:finished:finished], func(s answer.Statement) bool { return ways[s.Task] > 1 })
	return first(append(done, plain...), maxFindings)
}

// omissions are the tasks that were finished by the evidence and that neither
// the report nor the agent's last one names. last may be nil.
func (r Report) omissions(last *string) []Item {
	left := []Item{}
	if r.Evidence == nil || r.Text == nil {
		return left
	}
	told := *r.Text
	if last != nil { // between that one's evidence and its end
		told += "\n" + *last
	}
	keys := map[string]bool{}
	for _, k := range answer.TaskKeys(told) {
		keys[k] = true
	}
	words := map[string]bool{}
	for _, w := range wordsOf(told) {
		words[w] = true
	}
	for _, i := range r.Evidence.Finished {
		if !keys[i.Key] && !mentionsTitle(words, i.Title) {
			left = append(left, i)
		}
	}
	return first(left, maxFindings)
}

// tells reports whether all the words of a title that carry it are there:
// agents do not always name the key.
func mentionsTitle(words map[string]bool, title string) bool {
	const short = 4 // letters; what is shorter carries nothing, unless there is nothing else
	all := wordsOf(title)
	long := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return utf8.RuneCountInString(w) < short })
	if len(long) == 0 {
		long = all
	}
	for _, w := range long {
		if !words[w] {
			return false
		}
	}
	return len(long) > 0
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// boardStates reads how tasks stand, by key; unknown ones are absent.
func boardStates(ctx context.Context, q db.Queryer, keys []string) (map[string]boardState, error) {
	states := map[string]boardState{}
	var args []any
	for _, k := range keys {
		if n, err := strconv.ParseInt(strings.TrimPrefix(k, "TASK-"), 10, 64); err == nil {
			args = append(args, n)
		}
	}
	if len(args) == 0 {
		return states, nil
	}
	rows, err := q.Query(ctx, `
		SELECT number, status, CASE WHEN blocked_reason IS NOT NULL OR waiting_on > 0 THEN 1 ELSE 0 END FROM tasks
		WHERE number IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	_, err = db.All(rows, err, func(row db.Row) (n int64, err error) {
		var b boardState
		var blocked int
		err = row.Scan(&n, &b.status, &blocked)
		b.blocked = blocked == 1
		states["TASK-"+strconv.FormatInt(n, 10)] = b
		return n, err
	})
	return states, err
}
