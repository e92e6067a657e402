package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// Usage contains the tokens that a run used, by class, and their cost.
type Usage struct {
	Provider, Model string
	Input           int64
	Output          int64
	CacheRead       int64
	CacheWrite      int64
	Other           int64  // tokens in the gateway's total that belong to none of the classes above
	CostNanoUSD     *int64 // cost in billionths of a dollar, as the gateway computed it; nil without a known price
	// transcript that includes this usage; set only from a run's final answer, never from a history
	SessionID string `json:",omitempty"`
	// Estimated means that the gateway's numbers contradict each other, so that tokens and cost are
	// the best guess.
	Estimated bool `json:",omitempty"`
}

// add returns the combined usage of two model calls in a run. If one of them has no
// price, the sum has no price either.
func (u *Usage) add(v *Usage) *Usage {
	if u == nil || v == nil {
		if u == nil {
			return v
		}
		return u
	}
	sum := *v
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.Other += u.Other
	sum.Estimated = u.Estimated || v.Estimated
	if u.CostNanoUSD == nil || v.CostNanoUSD == nil {
		sum.CostNanoUSD = nil
	} else {
		cost := *u.CostNanoUSD + *v.CostNanoUSD
		sum.CostNanoUSD = &cost
	}
	return &sum
}

// cleanUsage returns a copy of u with sanitized names and session id.
func cleanUsage(s *wire.Secrets, u *Usage) *Usage {
	if u == nil {
		return nil
	}
	clean := *u
	clean.Provider, clean.Model, clean.SessionID = s.Line(u.Provider), s.Line(u.Model), s.Line(u.SessionID)
	return &clean
}

// wireUsage is the gateway's usage object.
type wireUsage struct {
	wireTokens
	Cost json.RawMessage `json:"cost"`
}

// read returns the usage, or nil if the object contains neither token counts nor a price. If the
// object contains no price, read uses the given cost. It does not sanitize the provider's and
// model's names: see cleanUsage.
func (w *wireUsage) read(provider, model string, cost wire.Number) *Usage {
	if w == nil {
		return nil
	}
	t := w.wireTokens.read()
	u := Usage{
		Provider: provider, Model: model, Estimated: !t.agree,
		Input: t.input, Output: t.output, CacheRead: t.cacheRead, CacheWrite: t.cacheWrite, Other: t.other,
	}
	var price wireCosts
	if json.Unmarshal(w.Cost, &price) != nil || price == (wireCosts{}) {
		price.Total = cost
	}
	// A cost of zero for a nonzero number of tokens means that the model has no price.
	free := t.sum()+t.other == 0
	if nanos, ok := price.of(t); ok && nanos <= wire.MostNanos && (nanos > 0 || free) {
		u.CostNanoUSD = &nanos
	}
	if !t.known && (u.CostNanoUSD == nil || *u.CostNanoUSD == 0) {
		return nil
	}
	return &u
}

// waitPayload is the payload of the response to agent.wait.
type waitPayload struct {
	Status        string      `json:"status"`
	StartedAt     wire.Number `json:"startedAt"`
	EndedAt       wire.Number `json:"endedAt"`
	StopReason    string      `json:"stopReason"`
	Error         string      `json:"error"`
	TerminalReply struct {
		Disposition string `json:"disposition"` // "visible" when the reply contains text for people
		Text        string `json:"text"`
	} `json:"terminalReply"`
}

// stopped reports whether a run was stopped, either by a client or by the gateway itself. A run that waited in a
// session that was stopped has no stop reason, but an error such as `Command lane "session:agent:cto:main" cleared`
// (OpenClaw 2026.9.6).
func stopped(reason, message string) bool {
	return reason == "rpc" || reason == "aborted" ||
		strings.HasPrefix(message, "Command lane ") && strings.HasSuffix(message, " cleared")
}

// readWait reads the state of a run from the response to agent.wait. The status "timeout"
// has two meanings. If the response contains an end time or an error, the run itself
// timed out. Otherwise only the request timed out.
func readWait(payload json.RawMessage) (Answer, error) {
	var p waitPayload
	if err := json.Unmarshal(payload, &p); err != nil {
		return Answer{}, link.ErrUnreadable("agent.wait")
	}
	a := Answer{Error: p.Error, EndedAt: p.EndedAt.Time().Time}
	over := p.EndedAt != "" || p.Error != ""
	switch {
	case p.Status == "ok" && (p.Error != "" || p.StopReason == "error"):
		a.Outcome = Failed
	case p.Status == "ok":
		a.Outcome = Finished
		if p.TerminalReply.Disposition == "visible" {
			a.Text, a.Cut = p.TerminalReply.Text, mayBeCut(p.TerminalReply.Text)
		}
	case p.Status != "error" && !over:
		a.Outcome = Running // "timeout", or an unknown status
	case stopped(p.StopReason, p.Error):
		a.Outcome = Stopped
	case p.Status == "timeout":
		a.Outcome = TimedOut
	default:
		a.Outcome = Failed
		a.NotBegun = p.StartedAt == "" && link.IsDraining(p.Error)
		a.Overtaken = isOvertaken(p.Error)
	}
	return a, nil
}

// mayBeCut reports whether a text looks truncated. The method agent.wait returns at most
// 4096 characters of an answer and ends a truncated answer with "…" (OpenClaw 2026.9.6).
func mayBeCut(text string) bool { return len(text) > 2048 && strings.HasSuffix(text, "…") }

// isOvertaken reports whether the gateway dropped a question because its session changed
// before the run started. It checks the error message for both the error code and the
// text, because some errors do not contain the code.
func isOvertaken(message string) bool {
	return strings.Contains(message, "SESSION_WORK_START_CHANGED") ||
		strings.Contains(message, "changed while starting work")
}

// readEnd reads how a run ended from a response to its question. It returns false if the response does not report the
// end: the gateway sends one response immediately, and one when the run ends, and only their content tells them apart.
func readEnd(f link.Frame) (Answer, bool) {
	if a, ended := readOutcome(f.Payload); ended {
		return a, true
	}
	return readOvertaken(f)
}

// readOvertaken reads an error response. It returns false unless the error means that the
// gateway dropped the question because its session had changed.
func readOvertaken(f link.Frame) (Answer, bool) {
	if f.Error == nil || !isOvertaken(f.Error.Message) && !isOvertaken(f.Error.Details.Code) {
		return Answer{}, false
	}
	return Answer{Outcome: Failed, Error: f.Error.Message, Overtaken: true}, true
}

// outcomePayload is the payload of the second response to a question. The gateway sends
// this response when the run has ended, and again if the question is repeated later.
type outcomePayload struct {
	Status     string `json:"status"`
	Summary    string `json:"summary"`
	StopReason string `json:"stopReason"`
	Result     struct {
		Payloads []struct {
			Text    string `json:"text"`
			IsError bool   `json:"isError"`
		} `json:"payloads"`
		Meta struct {
			VisibleText string          `json:"finalAssistantVisibleText"`
			StopReason  wire.Word       `json:"stopReason"`
			Error       json.RawMessage `json:"error"` // an object with a message, or a text
			CostUSD     wire.Number     `json:"costUsd"`
			AgentMeta   struct {
				Provider  string      `json:"provider"`
				Model     string      `json:"model"`
				SessionID wire.Word   `json:"sessionId"`
				Usage     *wireUsage  `json:"usage"` // not lastCallUsage, which may be of an earlier run
				CostUSD   wire.Number `json:"costUsd"`
			} `json:"agentMeta"`
		} `json:"meta"`
	} `json:"result"`
}

// readOutcome reads the outcome of a run from the gateway's second response to the
// question. It returns false for any other payload.
func readOutcome(payload json.RawMessage) (Answer, bool) {
	var p outcomePayload
	if len(payload) == 0 || json.Unmarshal(payload, &p) != nil {
		return Answer{}, false
	}
	text, errText := p.texts()
	var a Answer
	switch {
	case p.Status == "ok" && text == "" && (errText != "" || p.Result.Meta.StopReason == "error"):
		a = Answer{Outcome: Failed, Error: errText}
	case p.Status == "ok":
		a = Answer{Outcome: Finished, Text: text}
	case p.Status != "timeout" && p.Status != "error":
		return Answer{}, false
	case stopped(p.StopReason, p.Summary):
		a = Answer{Outcome: Stopped}
	case p.Status == "timeout":
		a = Answer{Outcome: TimedOut, Error: errText}
	default:
		a = Answer{Outcome: Failed, Error: p.Summary, NotBegun: link.IsDraining(p.Summary), Overtaken: isOvertaken(p.Summary)}
	}
	meta := p.Result.Meta
	cost := meta.AgentMeta.CostUSD
	if cost == "" {
		cost = meta.CostUSD
	}
	a.Usage = meta.AgentMeta.Usage.read(meta.AgentMeta.Provider, meta.AgentMeta.Model, cost)
	if a.Usage != nil {
		a.Usage.SessionID = string(meta.AgentMeta.SessionID)
	}
	return a, true
}

// texts returns the agent's answer and the error text. The gateway also sends errors as
// payloads, which must not be mistaken for an answer.
func (p outcomePayload) texts() (said, wrong string) {
	var good, bad []string
	for _, part := range p.Result.Payloads {
		switch {
		case part.Text == "":
		case part.IsError:
			bad = append(bad, part.Text)
		default:
			good = append(good, part.Text)
		}
	}
	meta := p.Result.Meta
	if meta.VisibleText != "" && !slices.Contains(bad, meta.VisibleText) {
		good = []string{meta.VisibleText}
	}
	if len(bad) == 0 {
		var object struct {
			Message wire.Word `json:"message"`
		}
		var text wire.Word
		if json.Unmarshal(meta.Error, &object) != nil {
			_ = json.Unmarshal(meta.Error, &text) // empty if it is neither
		}
		bad = []string{string(first(object.Message, text))}
	}
	return strings.Join(good, "\n\n"), strings.Join(bad, "\n")
}
