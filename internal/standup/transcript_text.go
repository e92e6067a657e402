package standup

import (
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// maxLineText is the length in characters, about two pages, at which an entry of
// the plain-text transcript is cut. It keeps one long answer from burying the rest.
const maxLineText = 4000

// plainText formats an entry of the plain-text transcript: time, sender and
// receiver, then the indented text.
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
		// Questions repeat every day; the standup's record has the full text.
		first, rest, _ := strings.Cut(text, "\n")
		text = fmt.Sprintf("%s (and %d more lines)", first, strings.Count(rest, "\n")+1)
	}
	if most := []rune(text); len(most) > maxLineText {
		text = fmt.Sprintf("%s…\n(and %d more characters in the standup's record)", string(most[:maxLineText]), len(most)-maxLineText)
	}
	var b strings.Builder
	b.WriteString(plaintext.Lines(head) + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("    " + line + "\n")
	}
	return b.String() + "\n"
}

// errorText returns err as sentences for the transcript.
func errorText(err error) string {
	f := fault.Of(err)
	if f == nil {
		return sentence(err.Error())
	}
	return strings.TrimSpace(f.Title + " " + sentence(f.Detail))
}

// sentence returns s trimmed and with a final period, unless it already ends a sentence.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// formatDuration formats a duration without zero units: 2m, not 2m0s.
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
