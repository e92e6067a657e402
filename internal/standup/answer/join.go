package answer

import "strings"

// Join builds a report from its three parts. It returns the report's text, with a heading
// for each part, and the parts in the form that ParseReport returns. A line that looks like
// a heading does not start another part.
func Join(yesterday, today, blockers string) (text string, p Parsed) {
	part := func(s string) (*string, string) {
		s = trimBlock(strings.Split(s, "\n"), false)
		kept := joined([]string{s})
		if kept == nil {
			return nil, "None."
		}
		return kept, s
	}
	var b strings.Builder
	write := func(heading, said string) { b.WriteString("## " + heading + "\n" + said + "\n\n") }
	var y, t, x string
	p.Yesterday, y = part(yesterday)
	p.Today, t = part(today)
	if p.Blockers, x = part(blockers); SaysNone(blockers) {
		p.Blockers = nil
	}
	write("Yesterday", y)
	write("Today", t)
	write("Blockers", x)
	return strings.TrimSpace(b.String()), p
}
