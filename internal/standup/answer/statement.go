package answer

import (
	"regexp"
	"strings"
)

// What a report may plainly say of a task.
const (
	Done       = "done"
	NotDone    = "not_done"
	InProgress = "in_progress"
	Blocked    = "blocked"
	Unblocked  = "unblocked"
)

// Statement is what a report plainly says of a task.
type Statement struct {
	Task string // its key
	Says string // one of the five
}

// The forms that count, each from the beginning of a clause: the key, nothing
// but "is" and the like behind it, and the word. What says it of a part of the
// task ("TASK-3's rollout is blocked"), of another one ("blocked by TASK-3") or
// of another time ("TASK-3 was blocked") does not have them.
var statementForms = []struct {
	says string
	form *regexp.Regexp
}{
	{Unblocked, statementForm(`K is (now |finally )?(unblocked|no longer blocked|not blocked( any ?more| any longer)?)( now)?$`)},
	{Blocked, statementForm(`K( is| remains| stays)?( still| now| currently)? blocked( (by|on|because|until|for|since|waiting)\b.*| now| again)?$`)},
	{Blocked, statementForm(`(still |currently )?blocked:? K$`)},
	{NotDone, statementForm(`K (is (still )?not|isn't|is still not) (yet )?(done|finished|complete|completed)( yet)?$`)},
	{InProgress, statementForm(`K( is)?( still| now| currently)? (in progress|ongoing|underway|under way|being worked on)$`)},
	{InProgress, statementForm(`((i am|i'm|we are|we're) (still |currently )|still |currently )working on K$`)},
	{InProgress, statementForm(`in progress: K$`)},
}

// statementForm is a form with K for a key.
func statementForm(s string) *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.ReplaceAll(s, "K", `(?P<key>task-\d+)`))
}

// supposed matches what makes a statement none.
var hedge = regexp.MustCompile(`(?i)\b(if|unless|whether|would|could|might|may|should|will|won't|not sure|unclear|maybe|perhaps|probably|no idea)\b|\?`)

// Statements returns what text plainly says of tasks besides that they are
// finished, for which see FinishedClaims: in their order, each once. Better to
// miss one than to hold somebody to what they did not say. Quotations and code
// do not count.
func Statements(text string) []Statement {
	var out []Statement
	seen, fenced := map[Statement]bool{}, false
	for raw := range strings.SplitSeq(text, "\n") {
		if mark, _ := fence(raw); mark != "" {
			fenced = !fenced
			continue
		}
		line := strings.TrimSpace(raw)
		if fenced || len(line) > maxStatement || strings.HasPrefix(line, ">") || hedge.MatchString(line) {
			continue
		}
		if rest, ok := cutMarker(line); ok {
			line, _ = cutMarker(rest)
		}
		for _, clause := range clauseEnd.Split(line, -1) {
			if s, ok := readStatement(clause); ok && !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// longestStatement bounds the lines that are looked at, in bytes.
const maxStatement = 500

var (
	statementMarks = strings.NewReplacer("**", "", "__", "", "`", "", "[", "", "]", "", "’", "'", " – ", " ", " — ", " ", " - ", " ", "(", " ", ")", " ", "‑", "-", "‐", "-")
	keyColon       = regexp.MustCompile(`^(task-\d+):`)
	joiner         = regexp.MustCompile(`^(and|but|also|so) `)
)

func readStatement(clause string) (Statement, bool) {
	s := strings.ToLower(strings.Join(strings.Fields(statementMarks.Replace(clause)), " "))
	s = strings.TrimRight(keyColon.ReplaceAllString(joiner.ReplaceAllString(s, ""), "$1"), ".! ")
	for _, f := range statementForms {
		m := f.form.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		if keys := TaskKeys(m[f.form.SubexpIndex("key")]); len(keys) == 1 {
			return Statement{keys[0], f.says}, true
		}
	}
	return Statement{}, false
}
