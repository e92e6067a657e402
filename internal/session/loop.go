package session

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/plaintext"
)

// shape is the way in which a run repeats itself.
type shape string

const (
	sameCall       shape = "same_call"       // the same call with the same result
	changingResult shape = "changing_result" // the same call; the results differ only in times and IDs
	sameFailure    shape = "same_failure"    // the same failure, although the arguments change
	twoCalls       shape = "two_calls"       // two calls in turn, each with the same result
	unknownTool    shape = "unknown_tool"    // a tool that does not exist
)

// Numbers of calls in a row that are a loop. Healthy runs repeat a call a few times, such as to wait
// for a build, or to retry.
const (
	unknownToolCalls    = 4
	sameCallCalls       = 6
	sameFailureCalls    = 6
	twoCallsCalls       = 8
	changingResultCalls = 8
)

// loop is a repetition that makes no progress.
type loop struct {
	shape shape
	tool  string
	other string // the second tool of twoCalls
	count int    // calls in a row
	runID string
}

// madeCall is a tool call as loopFinder compares it.
type madeCall struct {
	tool, arguments, result string
	failed                  bool
}

// loopFinder finds loops in the calls of a run, in constant memory. The zero value is ready to use.
type loopFinder struct {
	last, before madeCall
	// The number of calls in a row, up to the last one, of each shape.
	same, alike, failing, inTurn, unknown int
}

// loopsIn returns the loops since the last message to the agent, one of each shape.
func loopsIn(turns []gateway.Turn) []loop {
	var f loopFinder
	var found []loop
	for _, t := range turns {
		if t.Role == "user" {
			f, found = loopFinder{}, nil
		}
		for _, b := range t.Blocks {
			if b.Tool == nil || b.Tool.Status == gateway.ToolPending || t.Role == "tool" { // its arguments are unknown
				continue
			}
			l, ok := f.add(*b.Tool)
			if !ok {
				continue
			}
			l.runID = t.RunID
			if i := slices.IndexFunc(found, func(o loop) bool { return o.shape == l.shape }); i >= 0 {
				found[i] = l
			} else {
				found = append(found, l)
			}
		}
	}
	return found
}

// add takes the next call of a run, and returns the loop that it is part of.
func (f *loopFinder) add(t gateway.ToolCall) (loop, bool) {
	c := madeCall{tool: t.Name, arguments: t.Arguments, result: t.Result, failed: t.Status == gateway.ToolFailed}
	last := f.last
	count := func(n *int, goesOn bool) {
		if *n++; !goesOn {
			*n = 1
		}
	}
	count(&f.same, c == last)
	count(&f.alike, c.isLike(last))
	count(&f.failing, c.failed && last.failed && c.tool == last.tool && c.failure() == last.failure())
	count(&f.unknown, c.noTool() && last.noTool() && c.tool == last.tool)
	if f.inTurn++; f.alike > 1 || !c.isLike(f.before) {
		f.inTurn = 2
	}
	f.before, f.last = last, c
	switch {
	case c.noTool() && f.unknown >= unknownToolCalls:
		return loop{shape: unknownTool, tool: c.tool, count: f.unknown}, true
	case f.same >= sameCallCalls:
		return loop{shape: sameCall, tool: c.tool, count: f.same}, true
	case c.failed && f.failing >= sameFailureCalls && f.failing > f.alike:
		return loop{shape: sameFailure, tool: c.tool, count: f.failing}, true
	case f.inTurn >= twoCallsCalls:
		return loop{shape: twoCalls, tool: last.tool, other: c.tool, count: f.inTurn}, true
	case f.alike >= changingResultCalls:
		return loop{shape: changingResult, tool: c.tool, count: f.alike}, true
	}
	return loop{}, false
}

// isLike reports whether two calls are the same except for times and IDs in their results.
func (c madeCall) isLike(o madeCall) bool {
	return c.tool == o.tool && c.arguments == o.arguments &&
		(c.result == o.result || withoutTimes(c.result) == withoutTimes(o.result))
}

// noTool reports whether the runtime answered that the tool does not exist.
func (c madeCall) noTool() bool {
	return c.failed && strings.Contains(c.result, "Tool "+c.tool+" not found")
}

// failure returns the error of a failed call without the values of its arguments, which errors quote.
func (c madeCall) failure() string {
	var arguments map[string]any
	_ = json.Unmarshal([]byte(c.arguments), &arguments) // truncated arguments are not JSON; their values stay in the error
	text := withoutTimes(c.result)
	for _, v := range arguments {
		if s, ok := v.(string); ok && s != "" {
			text = strings.ReplaceAll(text, withoutTimes(s), "…")
		}
	}
	return text
}

var (
	// timeOrID matches UUIDs, dates, times, and durations.
	timeOrID = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?)?` +
		`|\b\d\d?:\d\d(:\d\d)?([.,]\d+)?\b|\b\d+(\.\d+)? ?(ns|µs|us|ms|s|sec|seconds|min|minutes)\b`)
	// longWord matches words that are IDs if they have a digit. Short ones, such as 45%, can be progress.
	longWord = regexp.MustCompile(`\w{6,}`)
)

// withoutTimes replaces the times and IDs in a text.
func withoutTimes(text string) string {
	return longWord.ReplaceAllStringFunc(timeOrID.ReplaceAllString(text, "#"), func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "#"
		}
		return word
	})
}

// say describes the loop in one sentence of Markdown.
func (l loop) say() string {
	code := func(tool string) string {
		return "`" + plaintext.Cut(strings.ReplaceAll(plaintext.Line(tool), "`", "'"), 80, "…") + "`"
	}
	tool := code(l.tool)
	switch l.shape {
	case sameFailure:
		return fmt.Sprintf("%s has failed at least %d times in a row with the same error, although the arguments changed.",
			tool, l.count)
	case twoCalls:
		return fmt.Sprintf("It has called %s and %s in turn at least %d times, each with the same result.", tool,
			code(l.other), l.count)
	case unknownTool:
		return fmt.Sprintf("It has called the tool %s at least %d times in a row, which does not exist.", tool, l.count)
	case changingResult:
		return fmt.Sprintf(
			"It has made the same call of %s at least %d times in a row, with results that differ only in times or IDs.", tool,
			l.count,
		)
	default:
		return fmt.Sprintf("It has made the same call of %s at least %d times in a row, with the same result.", tool, l.count)
	}
}
