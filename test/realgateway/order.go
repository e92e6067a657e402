//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Orders are for the model itself, in a question or in what a tool has answered:
//
//	[[say TEXT]]         the answer
//	[[use TOOL {JSON}]]  a call of a tool before the answer
//	[[wait 30s]]         nothing for so long
//	[[fail 400]]         an HTTP status instead of an answer
//
// A run of several model calls that fails at the last has a shell echo the order.
var orders = regexp.MustCompile(`\[\[(say|use|wait|fail) ([^\[\]]*(?:\[\[[^\[\]]*\]\])?[^\[\]]*)\]\]`)

// obey does what text orders: it returns the answer, or the tool, that it asks
// for, and stop when there is nothing more to answer.
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
			case <-r.Context().Done(): // the run was stopped, or the gateway is gone
				return "", nil, true
			case <-m.closing:
				return "", nil, true
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

// manners is how a model answers that has nothing to say, where the gateway has
// asked it to say so: to its own clock, and to the talk of agents among
// themselves, which else goes on for a while.
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
