package answer

import (
	"regexp"
	"slices"
	"strings"
)

// findFences marks the lines that belong to code blocks or to the agent's thinking. Such lines are never labels.
func (d *document) findFences() {
	d.fenced = make([]bool, len(d.lines))
	thinking := thinkingLines(d.lines)
	open := ""
	for i, line := range d.lines {
		if i < thinking {
			d.fenced[i] = true
			continue
		}
		mark, info := fence(line)
		switch {
		case open == "" && mark != "":
			open, d.fenced[i] = mark, true
		case open != "":
			d.fenced[i] = true
			if info == "" && strings.HasPrefix(mark, open) {
				open = ""
			}
		}
	}
}

var thinkingTag = regexp.MustCompile(`^<(think|thinking|thought|reasoning|scratchpad|analysis)>`)

// thinkingLines returns the number of lines at the start of a text that contain an agent's
// thinking, between tags such as <think>. These lines are not part of the report.
func thinkingLines(lines []string) int {
	start := 0
	for start < len(lines) && strings.TrimSpace(lines[start]) == "" {
		start++
	}
	if start == len(lines) {
		return 0
	}
	m := thinkingTag.FindStringSubmatch(strings.ToLower(strings.TrimSpace(lines[start])))
	if m == nil {
		return 0
	}
	for i := start; i < len(lines); i++ {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(lines[i])), "</"+m[1]+">") {
			return i + 1
		}
	}
	return 0
}

// fence returns the marker and the info string of a line that opens or closes a code block.
// The marker is empty if the line does neither.
func fence(line string) (mark, info string) {
	t := strings.TrimLeft(line, "> \t")
	if rest, ok := cutMarker(t); ok {
		t = rest
	}
	for _, c := range []string{"`", "~"} {
		n := len(t) - len(strings.TrimLeft(t, c))
		if n >= 3 && !strings.Contains(t[n:], "`") {
			return t[:n], strings.ToLower(strings.TrimSpace(t[n:]))
		}
	}
	return "", ""
}

// unwrapFence removes the first line that opens a code block of text and the last one that closes it.
func unwrapFence(d *document) []string {
	for i := thinkingLines(d.lines); i < len(d.lines); i++ {
		mark, info := fence(d.lines[i])
		if mark == "" || !slices.Contains([]string{"", "text", "txt", "plaintext", "markdown", "md", "yaml", "yml"}, info) {
			continue
		}
		for end := len(d.lines) - 1; end > i; end-- {
			if m, info := fence(d.lines[end]); info == "" && strings.HasPrefix(m, mark) {
				return slices.Concat(d.lines[:i], d.lines[i+1:end], d.lines[end+1:])
			}
		}
		return slices.Delete(slices.Clone(d.lines), i, i+1) // it is not closed
	}
	return d.lines
}

// unwrapQuote removes the marks of a quotation.
func unwrapQuote(d *document) []string {
	lines := slices.Clone(d.lines)
	for i, line := range lines {
		if rest, quoted := strings.CutPrefix(strings.TrimLeft(line, " "), ">"); quoted && !d.fenced[i] {
			lines[i] = strings.TrimPrefix(rest, " ")
		}
	}
	return lines
}
