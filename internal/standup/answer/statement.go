package answer

import (
	"regexp"
	"strings"
)

// Task states that a report can mention.
const (
	Done       = "done"
	NotDone    = "not_done"
	InProgress = "in_progress"
	Blocked    = "blocked"
	Unblocked  = "unblocked"
)

// Statement is an unambiguous statement about a task in a report.
type Statement struct {
	Task string // the task's key
	Says string // one of the states above
}

// statementForms lists the forms of a clause that count as a statement. The forms are
// strict: they must not match a clause about a part of a task ("TASK-3's rollout is
// blocked"), another task ("blocked by TASK-3") or another time ("TASK-3 was blocked").
var statementForms = []struct {
	says string
	form *regexp.Regexp
}{
	{
		Unblocked,
		statementForm(`K is (now |finally )?(unblocked|no longer blocked|not blocked( any ?more| any longer)?)( now)?$`),
	},
	{Blocked, statementForm(`K( is| remains| stays)?( still| now| currently)? blocked( (by|on|because|until|for|since|waiting)\b.*| now| again)?$`)},
	{Blocked, statementForm(`(still |currently )?blocked:? K$`)},
	{NotDone, statementForm(`K (is (still )?not|isn't|is still not) (yet )?(done|finished|complete|completed)( yet)?$`)},
	{
		InProgress,
		statementForm(`K( is)?( still| now| currently)? (in progress|ongoing|underway|under way|being worked on)$`),
	},
	{InProgress, statementForm(`((i am|i'm|we are|we're) (still |currently )|still |currently )working on K$`)},
	{InProgress, statementForm(`in progress: K$`)},
}

// statementForm compiles a pattern that uses K as a placeholder for a task key.
func statementForm(s string) *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.ReplaceAll(s, "K", `(?P<key>task-\d+)`))
}

// hedge matches words that make a statement uncertain.
var hedge = regexp.MustCompile(`(?i)\b(if|unless|whether|would|could|might|may|should|will|won't|not sure|unclear|maybe|perhaps|probably|no idea)\b|\?`)

// Statements returns the unambiguous statements about tasks in text, in order of
// appearance and without duplicates. It ignores quotations and code. It prefers to miss a
// statement rather than detect one that the agent did not make. For claims that a task is
// finished, see FinishedClaims.
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

// maxStatement is the maximum length of a line, in bytes. Longer lines are not parsed for statements.
const maxStatement = 500

var (
	statementMarks = strings.NewReplacer("**", "", "__", "", "`", "", "[", "", "]", "", "’", "'", " – ", " ", " — ", " ",
		" - ", " ", "(", " ", ")", " ", "‑", "-", "‐", "-")
	keyColon = regexp.MustCompile(`^(task-\d+):`)
	joiner   = regexp.MustCompile(`^(and|but|also|so) `)
)

// readStatement parses a clause as a statement. It returns false if the clause has none
// of the accepted forms.
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
