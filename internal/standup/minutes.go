package standup

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"wardroom/internal/platform/web"
)

// serveTranscript writes the transcript as plain text, for a terminal. While
// the meeting goes on it stays and adds each line as it is said.
func (s *Service) serveTranscript(w http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), r.PathValue("id")
	m, err := s.Get(ctx, id)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := http.NewResponseController(w)
	for said := 0; ; {
		var b strings.Builder
		if said == 0 {
			fmt.Fprintf(&b, "%s\n\n", printable(m.Title))
		}
		for _, l := range m.Transcript[min(said, len(m.Transcript)):] {
			b.WriteString(l.minutes(m.Timezone))
		}
		said = len(m.Transcript)
		if _, err := w.Write([]byte(b.String())); err != nil || out.Flush() != nil {
			return // the reader left
		}
		if m.Status != Running || m.Phase == Opened || !s.await(ctx, m) {
			return
		}
		if m, err = s.Get(ctx, id); err != nil {
			return // it was deleted under the reader
		}
	}
}

// await waits until the standup has moved on from m, and reports false when
// nobody waits any more.
func (s *Service) await(ctx context.Context, m Standup) bool {
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-web.Stopping(ctx):
			return false
		case <-tick.C:
		}
		now, err := find(ctx, s.DB, m.ID)
		if err != nil || now.Version != m.Version {
			return err == nil
		}
	}
}

// minutes is the line as it stands in the minutes: when, who to whom, and what
// was said, indented.
func (l Line) minutes(timezone string) string {
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
	text := strings.TrimSpace(l.Text)
	if l.Kind == "question" {
		// What is asked is the same every day; the record has all of it.
		first, rest, _ := strings.Cut(text, "\n")
		text = fmt.Sprintf("%s (and %d lines more)", first, strings.Count(rest, "\n")+1)
	}
	var b strings.Builder
	b.WriteString(printable(head) + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("    " + printable(line) + "\n")
	}
	return b.String() + "\n"
}

// printable drops what could command a terminal: agent text is hostile.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, s)
}
