//go:build journey

package realgateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// orders matches instructions to the model, which are called orders. They can appear in a
// question or in a tool's result:
//
//	[[say TEXT]]         answer with TEXT
//	[[use TOOL {JSON}]]  call a tool before the answer
//	[[wait 30s]]         wait before the answer
//	[[fail 400]]         return an HTTP status instead of an answer
//	[[ask 30 QUESTION]]  ask a person, for at least 30 seconds
//	[[rounds 200]]       call the shell that many times, two seconds each, at costly per call
//
// The output of a shell command is a tool's result. A command can therefore print an
// order for the next model call of the same run.
var orders = regexp.MustCompile(`\[\[(say|use|wait|fail|ask|rounds) ([^\[\]]*(?:\[\[[^\[\]]*\]\])?[^\[\]]*)\]\]`)

// costly is the usage of a call that costs $0.05 on the small model.
var costly = usage{Prompt: 10_000, Completion: 8_000, Total: 18_000}

// obey executes the orders in text and returns the answer or the tool call that they request. It
// also reports whether the caller must stop without sending an answer.
func (m *Model) obey(w http.ResponseWriter, r *http.Request, in completion, text string, usual *toolCall) (say string, do *toolCall, stop bool) {
	do = usual
	for _, order := range orders.FindAllStringSubmatch(text, -1) {
		what := order[2]
		switch order[1] {
		case "say":
			say = what
		case "use":
			name, args, _ := strings.Cut(what, " ")
			do = &toolCall{Name: name}
			if json.Unmarshal([]byte(args), &do.Args) != nil {
				refuse(w, http.StatusBadRequest, "an order that cannot be read: "+what)
				return "", nil, true
			}
		case "wait":
			long, _ := time.ParseDuration(what)
			select {
			case <-time.After(long):
			case <-r.Context().Done(): // the run was stopped, or the gateway was stopped
				return "", nil, true
			case <-m.closing:
				return "", nil, true
			}
		case "ask":
			seconds, question, _ := strings.Cut(what, " ")
			long, _ := strconv.Atoi(seconds)
			do = &toolCall{Name: "ask_user", Args: map[string]any{"timeoutSeconds": long, "questions": []any{map[string]any{
				"id": "where", "header": "Deploy", "question": question, "options": []any{map[string]string{"label": "Staging"}, map[string]string{"label": "Production"}},
			}}}}
		case "rounds":
			if left, _ := strconv.Atoi(what); left > 0 {
				do = &toolCall{"exec", map[string]any{"command": fmt.Sprintf("sleep 2; echo '[[rounds %d]]'", left-1)}, &costly}
			}
		case "fail":
			refuse(w, http.StatusBadRequest, "as the question says")
			return "", nil, true
		}
	}
	if say == "" && do == nil {
		say = in.manners()
	}
	return say, do, false
}

// manners returns the fixed phrase with which a model declines to answer. The gateway offers such
// phrases for heartbeats and for conversations between agents, which would otherwise continue for a
// while. If the gateway offers no phrase, manners returns "".
func (c completion) manners() string {
	for _, word := range []string{"ANNOUNCE_SKIP", "REPLY_SKIP"} {
		for _, m := range c.Messages {
			if (m.Role == "system" || m.Role == "developer") && strings.Contains(string(m.Content), word) {
				return word
			}
		}
		if strings.Contains(c.question(), word) {
			return word
		}
	}
	if strings.Contains(c.question(), "If nothing needs attention") {
		return "HEARTBEAT_OK"
	}
	return ""
}
