package standup

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/standup/answer"
)

// Claim is a statement about a task in an agent's report that the board contradicts. Only
// unambiguous statements are considered; see answer.FinishedClaims and answer.Statements.
type Claim struct {
	Task  string `json:"task"`
	Says  string `json:"says" enum:"done,not_done,in_progress,blocked,unblocked" doc:"What the report says."`
	Board string `json:"board" doc:"What the board says: the task's column, blocked or not_blocked; unknown if the task does not exist."`
}

// describe returns a sentence that contrasts the claim with the task's state on the board.
func (c Claim) describe() string {
	board := "but the board says " + spaced(c.Board)
	if c.Board == boardUnknown {
		board = "but the board has no such task"
	}
	return c.Task + " is " + spaced(c.Says) + ", " + board
}

// boardUnknown is the value of Claim.Board for a task that does not exist.
const boardUnknown = "unknown"

// disputes returns the task's state on the board if it contradicts the given statement, or
// "" if it does not.
func (t taskState) disputes(says string) string {
	switch {
	case says == answer.Done && t.status == "":
		return boardUnknown
	case t.status == "":
		return "" // probably a mistyped key
	case says == answer.Done && t.status != "done" && t.status != "review":
		// a task that an agent finished stays in review until it is approved
		return t.status
	case says == answer.NotDone && t.status == "done", says == answer.Blocked && t.status == "done":
		return t.status
	case says == answer.InProgress && (t.status == "done" || t.status == "backlog"):
		return t.status
	case says == answer.Blocked && !t.blocked && !t.waiting:
		return "not_blocked"
	case says == answer.Unblocked && (t.blocked || t.waiting) && t.status != "done":
		return "blocked"
	}
	return ""
}

// contradictions returns the statements in a report that the board contradicts.
func contradictions(ctx context.Context, q db.Queryer, r Report) ([]Claim, error) {
	said := r.statements()
	keys := make([]string, len(said))
	for i, s := range said {
		keys[i] = s.Task
	}
	board, err := taskStatesByKey(ctx, q, keys)
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

// statements returns the report's statements about tasks. Tasks that the Yesterday part
// calls finished come first. If the report makes different statements about a task, none
// of them is returned.
func (r Report) statements() []answer.Statement {
	var said []answer.Statement
	if r.Yesterday != nil {
		for _, key := range answer.FinishedClaims(*r.Yesterday) {
			said = append(said, answer.Statement{Task: key, Says: answer.Done})
		}
	}
	known := map[answer.Statement]bool{}
	for _, s := range said {
		known[s] = true
	}
	for _, part := range []*string{r.Yesterday, r.Today, r.Blockers, r.Other} {
		if part == nil {
			continue
		}
		for _, s := range answer.Statements(*part) {
			// A task that was in progress yesterday may be finished now.
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
	return first(slices.DeleteFunc(said, func(s answer.Statement) bool { return ways[s.Task] > 1 }), maxFindings)
}

// omissions returns the finished tasks in the evidence that neither this report nor the agent's
// previous one mentions. If there is no previous report, last is nil.
func (r Report) omissions(last *string) []Item {
	left := []Item{}
	if r.Evidence == nil || r.Text == nil {
		return left
	}
	told := *r.Text
	if last != nil { // a task may have finished between that report's evidence and its answer
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

// mentionsTitle reports whether a text's words include all significant words of a task's title.
// Agents sometimes mention a task by its title instead of its key.
func mentionsTitle(words map[string]bool, title string) bool {
	const short = 4 // letters; shorter words count only if the title has no longer ones
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
	return strings.FieldsFunc(plaintext.Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
