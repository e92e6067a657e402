package answer

import (
	"regexp"
	"slices"
	"strings"
)

// findFences marks the lines that belong to code blocks or to the agent's thinking. Such lines are never labels.
func (r *document) findFences() {
	r.fenced = make([]bool, len(r.lines))
	r.thinkingLines = thinkingLines(r.lines)
	for i := range r.thinkingLines {
		r.fenced[i] = true
	}
	open := ""
	for i, line := range r.lines {
		if i < r.thinkingLines {
			continue
		}
		mark, info := fence(line)
		switch {
		case open == "" && mark != "":
			open, r.fenced[i] = mark, true
		case open != "":
			r.fenced[i] = true
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

// unwrapFences removes the delimiters of code blocks that contain labels. It returns
// false if there are no such blocks.
func unwrapFences(r *document) ([]string, bool) {
	var out []string
	found := false
	for i := 0; i < len(r.lines); i++ {
		mark, info := fence(r.lines[i])
		if i < r.thinkingLines || !r.fenced[i] || !slices.Contains([]string{"", "text", "txt", "plaintext", "markdown", "md", "yaml", "yml"}, info) {
			out = append(out, r.lines[i])
			continue
		}
		end, holds := i+1, false
		for ; end < len(r.lines) && r.fenced[end]; end++ {
			m, info := fence(r.lines[end])
			if info == "" && strings.HasPrefix(m, mark) {
				break
			}
			_, ok := readLabel(r.lines[end])
			holds = holds || ok
		}
		if !holds {
			out = append(out, r.lines[i:min(end+1, len(r.lines))]...)
		} else {
			out = append(out, r.lines[i+1:end]...)
			found = true
		}
		i = end
	}
	return out, found
}
