package standup

import (
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/plaintext"
)

// digest summarizes the facts of a standup as Markdown, without the help of a model. Every
// finished standup has a digest, even if it failed.
func digest(row Standup) string {
	var answered, silent, finished, moved []string
	asked := false
	for _, r := range row.Reports {
		asked = asked || r.AskedAt != nil
		if r.Status == Answered {
			answered = append(answered, r.AgentID+submittedMark(r))
		} else {
			silent = append(silent, r.AgentID+" ("+row.noReportReason(r)+")")
		}
		if r.Evidence == nil {
			continue
		}
		for _, i := range r.Evidence.Finished {
			finished = append(finished, i.Key)
		}
		for _, i := range r.Evidence.Moved {
			moved = append(moved, fmt.Sprintf("%s (%s)", i.Key, spaced(i.Status)))
		}
	}
	lines := []string{fmt.Sprintf("- Answered: %d of %d%s", len(answered), len(row.Reports), joinCapped(answered, ", "))}
	for _, l := range []struct {
		word    string
		items   []string
		between string // the separator; items that are sentences may contain commas
	}{
		{"No report", silent, ", "},
		{"Finished", finished, ", "},
		{"Moved", moved, ", "},
		{"Decided by people", row.decided(), ", "},
		{"Blocked", row.blockedFacts(), "; "},
		{"Contradicted by the board", row.contradicted(), "; "},
		{"Finished and not reported", row.omitted(), ", "},
	} {
		if len(l.items) > 0 {
			lines = append(lines, "- "+l.word+joinCapped(l.items, l.between))
		}
	}
	switch {
	case row.CostUSD != nil:
		lines = append(lines, "- Cost: $"+row.CostUSD.String())
	case row.spent != nil:
		lines = append(lines,
			fmt.Sprintf("- Cost: at least $%s; the cost of %s is unknown", row.spent, plural(row.unpricedRuns, "run")))
	case asked:
		lines = append(lines, "- Cost: unknown")
	}
	return strings.Join(lines, "\n")
}

// plural formats a number and a noun, as in "1 run" and "2 runs".
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// aged formats a blocker's age in days.
func aged(n int) string {
	if n == 0 {
		return "new"
	}
	return days(n)
}

// submittedMark returns a note for reports that were submitted without being asked for.
func submittedMark(r Report) string {
	if r.SubmittedAt != nil {
		return " (submitted)"
	}
	return ""
}

// noReportReason returns a text that explains why a participant's report is missing.
func (s Standup) noReportReason(r Report) string {
	switch r.Status {
	case Pending:
		return "not asked"
	case Asked:
		return "asked, no answer yet"
	case TimedOut:
		return "no answer in time"
	case Missing:
		return "no active account"
	}
	for _, l := range slices.Backward(s.Transcript) {
		if l.Kind == "failure" && l.From == r.AgentID {
			return "failed: " + escapeLine(strings.TrimPrefix(l.Text, noReport))
		}
	}
	return spaced(string(r.Status))
}

// noReport is the prefix of the transcript entry for a report that could not be obtained.
const noReport = "No report. "

// blockedFacts lists the standup's blockers and the other blocked tasks in its evidence, each with its age.
func (s Standup) blockedFacts() []string {
	var out []string
	named := map[string]bool{}
	for _, b := range s.Blockers {
		what := b.AgentID + ": " + escapeLine(b.Text)
		if b.Task != nil {
			named[*b.Task] = true
		}
		out = append(out, fmt.Sprintf("%s (%s)", what, aged(b.AgeDays)))
	}
	for _, r := range s.Reports {
		if r.Evidence == nil {
			continue
		}
		for _, i := range r.Evidence.Blocked {
			if !named[i.Key] {
				out = append(out, fmt.Sprintf("%s (%s)", i.Key, aged(i.AgeDays)))
			}
		}
	}
	return out
}

func (s Standup) contradicted() []string {
	var out []string
	for _, r := range s.Reports {
		for _, c := range r.Claims {
			out = append(out, r.AgentID+" says "+c.describe())
		}
	}
	return out
}

func (s Standup) omitted() []string {
	var out []string
	for _, r := range s.Reports {
		for _, i := range r.Omitted {
			out = append(out, fmt.Sprintf("%s (%s)", i.Key, r.AgentID))
		}
	}
	return out
}

// escapeLine makes an agent's text safe for use within a line of Markdown: it shortens the
// text, puts it on a single line and escapes it.
func escapeLine(s string) string {
	const most = 120
	if runes := []rune(strings.Join(strings.Fields(s), " ")); len(runes) > most {
		s = string(runes[:most]) + " …"
	}
	return markup.Replace(plaintext.Line(s))
}

var markup = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">",
	`\>`, "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`, "&", `\&`)

func spaced(s string) string { return strings.ReplaceAll(s, "_", " ") }

// joinCapped returns a colon followed by the joined items. If there are too many items, it
// includes only the first ones and says how many more there are.
func joinCapped(items []string, between string) string {
	const most = 100
	if len(items) == 0 {
		return ""
	}
	left := ""
	if n := len(items) - most; n > 0 {
		items, left = items[:most], fmt.Sprintf(" and %d more", n)
	}
	return ": " + strings.Join(items, between) + left
}
