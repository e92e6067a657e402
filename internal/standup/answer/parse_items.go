package answer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Items splits a part of a report, such as its blockers, into items: one for each list item,
// and one for each paragraph outside a list. A nested list stays in the item that contains
// it. A heading, or a line such as "Two things:", is dropped if it only introduces a list.
func Items(markdown string) []string {
	var out []string
	var item []string
	listed := false // the item starts with a list marker
	flush := func(list bool) {
		text := trimBlock(item, listed)
		lead := !listed && (strings.HasSuffix(strings.TrimRight(text, "*_ "), ":") || headingLevel(text) > 0)
		if text = strings.TrimLeft(text, "# "); text != "" && (!list || !lead) {
			out = append(out, text)
		}
		item, listed = nil, false
	}
	base := listIndent(markdown)
	blank, fenced := false, false
	for line := range strings.SplitSeq(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		rest, marker := cutMarker(strings.TrimLeft(line, " \t"))
		mark, _ := fence(line)
		switch {
		case fenced || mark != "":
			if mark != "" {
				fenced = !fenced
			}
			item = append(item, line)
		case strings.TrimSpace(line) == "":
			item, blank = append(item, line), true
			continue
		case marker && indent <= base && !thematicBreak.MatchString(strings.TrimSpace(line)):
			flush(true)
			rest, _ = cutMarker(rest) // "- [ ] TASK-3"
			item, listed = []string{rest}, true
		case blank && indent <= base, headingLevel(line) > 0:
			flush(false)
			item = []string{line}
		default:
			item = append(item, line)
		}
		blank = false
	}
	flush(false)
	return out
}

// listIndent returns the indentation of the outermost list in a text.
func listIndent(markdown string) int {
	least := -1
	for line := range strings.SplitSeq(markdown, "\n") {
		t := strings.TrimLeft(line, " \t")
		if _, ok := cutMarker(t); ok && (least < 0 || len(line)-len(t) < least) {
			least = len(line) - len(t)
		}
	}
	return max(least, 0)
}

var taskKey = regexp.MustCompile(`(?i)\btask[-‐‑–](\d{1,10})\b`)

// TaskKeys returns the task keys in text, such as TASK-12, in order of appearance. The
// keys are in upper case and without duplicates.
func TaskKeys(text string) []string {
	var out []string
	seen := map[string]bool{} // a text can contain tens of thousands of keys
	for _, m := range taskKey.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > 0 && text[m[0]-1] == '-' { // MY-TASK-3 is not a task key
			continue
		}
		number := strings.TrimLeft(text[m[2]:m[3]], "0")
		if key := "TASK-" + number; number != "" && !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	return out
}

// verdict is what a clause says about the state of the tasks that it names.
type verdict uint8

const (
	unsaid    verdict = iota // no statement
	claimed                  // finished
	otherwise                // another state
	denied                   // not quite finished
)

const (
	finishedWords = " done finished completed complete shipped closed merged delivered resolved deployed released landed fixed wrapped ✅ ☑ ✔ "
	// qualifiers are words that invalidate a claim. It is better to miss a claim than to
	// detect one that the agent did not make.
	qualifiers = " not no never none nothing almost nearly mostly partly partially half halfway part parts some most draft pass will would could should can may might must " +
		"need needs needed want wants plan plans planned planning hope hoping aim aiming try trying going about close yet until till unless once when if before after still " +
		"remaining pending awaiting waiting except tomorrow failed unable soon ready expect expected ought to-be what unfinished incomplete wip blocked cannot without towards toward "
	otherVerbs = " started start starting began begun continued continuing continue reviewed reviewing worked working investigated investigating looked looking drafted discussed " +
		"tested testing planned opened reopened assigned picked created filed wrote in-progress progressing paused stopped postponed "
)

var (
	clauseEnd = regexp.MustCompile(
		`[.!?]+(\s+|$)|[,;]\s|\s+(but|while|whereas|however|although|though|and|yet|then)\s+|\s+&\s+`,
	)
	sentence = regexp.MustCompile(`^[.!?]`)
	percent  = regexp.MustCompile(`\b(\d+(\.\d+)?)\s?%`)
	toBe     = regexp.MustCompile(
		`(?i)\bto be\b|\bis being\b|\bare being\b|\bin progress\b|\bdone (on|for|in|so)\b|\bwork\w* done\b`,
	)
)

// clause is a part of a line, delimited by punctuation or conjunctions.
type clause struct {
	keys  []string
	words int // without the keys
	says  verdict
	ends  bool // a sentence ends after it
}

// FinishedClaims returns the keys of the tasks that the text says are finished, in order
// of appearance and without duplicates. The text is usually the Yesterday part of a
// report.
func FinishedClaims(text string) []string {
	var out []string
	seen, not := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		clauses := readClauses(line)
		propagateVerdicts(clauses)
		for _, c := range clauses {
			for _, k := range c.keys {
				switch {
				case c.says == claimed && !seen[k]:
					seen[k] = true
					out = append(out, k)
				case c.says == denied && c.words > 0:
					not[k] = true
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(k string) bool { return not[k] })
}

// readClauses splits a line into clauses. It returns no clauses for an unchecked to-do item.
func readClauses(line string) []clause {
	t := strings.TrimSpace(line)
	checked := false
	if rest, ok := cutMarker(t); ok {
		if strings.HasPrefix(rest, "[ ]") {
			return nil
		}
		checked = strings.HasPrefix(rest, "[x]") || strings.HasPrefix(rest, "[X]")
		t = strings.TrimPrefix(strings.TrimPrefix(rest, "[x]"), "[X]")
	}
	var out []clause
	start := 0
	for _, m := range append(clauseEnd.FindAllStringIndex(t, -1), []int{len(t), len(t)}) {
		c := readClause(t[start:m[0]])
		c.ends = sentence.MatchString(t[m[0]:m[1]])
		if len(out) == 0 && checked && c.says == unsaid {
			c.says = claimed
		}
		if c.words > 0 || len(c.keys) > 0 {
			out = append(out, c)
		}
		start = m[1]
	}
	return out
}

// readClause returns the tasks that a clause names and what the clause says about them.
func readClause(s string) clause {
	c := clause{keys: TaskKeys(s)}
	for _, mark := range []string{"✅", "☑", "✔"} {
		s = strings.ReplaceAll(s, mark, " "+mark+" ")
	}
	claim, doubt := false, toBe.MatchString(s)
	for _, m := range percent.FindAllStringSubmatch(s, -1) {
		doubt = doubt || m[1] != "100"
	}
	plain := taskKey.ReplaceAllString(strings.ToLower(strings.ReplaceAll(s, "’", "'")), " ")
	for _, w := range strings.FieldsFunc(plain, func(r rune) bool {
		return unicode.IsSpace(r) || r == '\ufe0f' || unicode.IsPunct(r) && r != '\'' && r != '-'
	}) {
		w = " " + strings.Trim(w, "-'") + " "
		if w == "  " {
			continue
		}
		c.words++
		claim = claim || strings.Contains(finishedWords, w)
		doubt = doubt || strings.Contains(qualifiers, w) || strings.Contains(otherVerbs, w) || strings.HasSuffix(w, "n't ") ||
			strings.HasSuffix(w, "'ll ")
	}
	switch {
	case doubt && claim:
		c.says = denied
	case doubt:
		c.says = otherwise
	case claim:
		c.says = claimed
	}
	return c
}

// propagateVerdicts gives each clause that makes no statement the verdict of a neighboring
// clause. Examples: "Finished TASK-1 and TASK-2", "TASK-1 and TASK-2 are done", "TASK-3:
// the login page. Done!".
func propagateVerdicts(clauses []clause) {
	const few = 3 // up to this many words do not form a statement of their own
	for i := len(clauses) - 2; i >= 0; i-- {
		c, next := &clauses[i], clauses[i+1]
		if c.says != unsaid || len(c.keys) == 0 || next.says == unsaid {
			continue
		}
		alone := len(next.keys) == 0 && (!c.ends || next.words <= few)
		listed := !c.ends && c.words == 0 && (i == 0 || clauses[i-1].says == unsaid || clauses[i-1].ends)
		if alone || listed {
			c.says = next.says
		}
	}
	for i := 1; i < len(clauses); i++ {
		c, before := &clauses[i], clauses[i-1]
		if c.says == unsaid && c.words <= few && !before.ends {
			c.says = before.says
		}
	}
}
