package standup

import (
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// maxLineText is the maximum length of an entry in the plain-text transcript, in
// characters. It is about two pages. Longer entries are truncated, so that a long answer
// does not bury the other entries.
const maxLineText = 4000

// plainText formats an entry for the plain-text transcript. The first line contains the
// time, the sender and the receiver; the entry's text follows, indented.
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
		text = fmt.Sprintf("%s…\n(and %d more characters in the standup's record)", string(most[:maxLineText]),
			len(most)-maxLineText)
	}
	var b strings.Builder
	b.WriteString(plaintext.Lines(head) + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("    " + line + "\n")
	}
	return b.String() + "\n"
}

// errorText returns an error as complete sentences for the transcript.
func errorText(err error) string {
	f := fault.Of(err)
	if f == nil {
		return sentence(err.Error())
	}
	return strings.TrimSpace(f.Title + " " + sentence(f.Detail))
}

// sentence trims s and appends a period if s does not already end with a punctuation mark.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// formatDuration formats a duration and omits units that are zero: it returns 2m, not 2m0s.
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
