package standup

import (
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// longestLine is how much of what was said the minutes have, in characters:
// two pages. One agent that runs wild must not bury what the others say.
const maxLineText = 4000

// minutes is the line as it stands in the minutes: when, who to whom, and what
// was said, indented.
func (l Line) plainText(timezone string) string {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		zone = time.UTC
	}
	head := l.At.In(zone).Format(time.TimeOnly) + "  " + l.From
	if l.To != team {
		head += " → " + l.To
	}
	switch l.Kind {
	case "error", "timeout", "failure", "summary":
		head += "  [" + l.Kind + "]"
	}
	text := strings.TrimSpace(plaintext.Lines(l.Text))
	if l.Kind == "question" {
		// What is asked is the same every day; the record has all of it.
		first, rest, _ := strings.Cut(text, "\n")
		text = fmt.Sprintf("%s (and %d lines more)", first, strings.Count(rest, "\n")+1)
	}
	if most := []rune(text); len(most) > maxLineText {
		text = fmt.Sprintf("%s…\n(and %d characters more, which the record has)", string(most[:maxLineText]), len(most)-maxLineText)
	}
	var b strings.Builder
	b.WriteString(plaintext.Lines(head) + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("    " + line + "\n")
	}
	return b.String() + "\n"
}

// words is what went wrong, as the transcript tells it.
func errorText(err error) string {
	f := fault.Of(err)
	if f == nil {
		return sentence(err.Error())
	}
	return strings.TrimSpace(f.Title + " " + sentence(f.Detail))
}

// sentence gives a text that ends as one.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// length is a time as people write it: 2m, and not 2m0s.
func formatDuration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
