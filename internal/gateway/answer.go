package gateway

import (
	"encoding/json"
	"strings"
)

// Usage is what a run consumed: tokens by class, and money.
type Usage struct {
	Provider, Model string
	Input           int64
	Output          int64
	CacheRead       int64
	CacheWrite      int64
	Other           int64  // in the gateway's total and in none of the above
	CostNanoUSD     *int64 // billionths of a dollar, as the gateway computed it; nil when it knows no price
	SessionID       string `json:",omitempty"` // of the transcript that it is counted in; only where the run itself ended with its usage, never from a history
}

// add sums two model calls of one run. A sum is unpriced as soon as one part is.
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
	if u.CostNanoUSD == nil || v.CostNanoUSD == nil {
		sum.CostNanoUSD = nil
	} else {
		cost := *u.CostNanoUSD + *v.CostNanoUSD
		sum.CostNanoUSD = &cost
	}
	return &sum
}

// wireUsage is the gateway's usage object; the total has two names.
type wireUsage struct {
	Input       number          `json:"input"`
	Output      number          `json:"output"`
	CacheRead   number          `json:"cacheRead"`
	CacheWrite  number          `json:"cacheWrite"`
	Total       number          `json:"total"`
	TotalTokens number          `json:"totalTokens"`
	Cost        json.RawMessage `json:"cost"`
}

// read gives the usage, or nil when nothing was counted. cost stands in where the
// object has no price of its own. The names are as the gateway sent them: see
// secrets.usage.
func (w *wireUsage) read(provider, model string, cost number) *Usage {
	if w == nil {
		return nil
	}
	u := Usage{Provider: provider, Model: model}
	for _, n := range []number{w.Input, w.Output, w.CacheRead, w.CacheWrite, w.Total, w.TotalTokens} {
		if n.absurd() {
			return nil // nor are the others to be believed
		}
	}
	known := false
	for _, class := range []struct {
		to   *int64
		from number
	}{{&u.Input, w.Input}, {&u.Output, w.Output}, {&u.CacheRead, w.CacheRead}, {&u.CacheWrite, w.CacheWrite}} {
		if v, ok := class.from.tokens(); ok {
			*class.to, known = v, true
		}
	}
	for _, total := range []number{w.Total, w.TotalTokens} {
		if v, ok := total.whole(); ok {
			known = true
			u.Other = max(u.Other, v-u.Input-u.Output-u.CacheRead-u.CacheWrite)
		}
	}
	if !known {
		return nil
	}
	var object struct {
		Total number `json:"total"`
	}
	if json.Unmarshal(w.Cost, &object) == nil && object.Total != "" {
		cost = object.Total
	}
	if cost != "" {
		// An amount of nothing for something is a model without a price.
		free := u.Input+u.Output+u.CacheRead+u.CacheWrite+u.Other == 0
		if nanos, err := cost.nanos(); err == nil && nanos <= mostNanos && (nanos > 0 || free) {
			u.CostNanoUSD = &nanos
		}
	}
	return &u
}

// waitPayload is the answer of agent.wait.
type waitPayload struct {
	Status        string `json:"status"`
	StartedAt     number `json:"startedAt"`
	EndedAt       number `json:"endedAt"`
	StopReason    string `json:"stopReason"`
	Error         string `json:"error"`
	TerminalReply struct {
		Disposition string `json:"disposition"` // "visible" when there is text for people
		Text        string `json:"text"`
	} `json:"terminalReply"`
}

// stopped says whether the reason is that of a run which somebody stopped: over
// the wire, or inside the gateway.
func stopped(reason string) bool { return reason == "rpc" || reason == "aborted" }

// readWait reads how a run stands. A status "timeout" has two meanings: with an
// end or an error the run itself timed out; with neither only our wait did.
func readWait(payload json.RawMessage) (Answer, error) {
	var p waitPayload
	if err := json.Unmarshal(payload, &p); err != nil {
		return Answer{}, ErrRefused.With("The gateway answers agent.wait in a way that this version does not understand.")
	}
	a := Answer{Error: p.Error}
	over := p.EndedAt != "" || p.Error != ""
	switch {
	case p.Status == "ok":
		a.Outcome = Finished
		if p.TerminalReply.Disposition == "visible" {
			a.Text, a.Cut = p.TerminalReply.Text, mayBeCut(p.TerminalReply.Text)
		}
	case p.Status != "error" && !over:
		a.Outcome = Running // "timeout", or a state that this version does not know
	case stopped(p.StopReason):
		a.Outcome = Stopped
	case p.Status == "timeout":
		a.Outcome = TimedOut
	default:
		a.Outcome = Failed
		a.NotBegun = p.StartedAt == "" && drains(p.Error)
		a.Overtaken = overtakes(p.Error)
	}
	return a, nil
}

// mayBeCut reports whether a text looks like the beginning of a longer one:
// agent.wait tells 4096 characters of an answer at most, and puts "…" at the end of
// those (OpenClaw 2026.9.6).
func mayBeCut(text string) bool { return len(text) > 2048 && strings.HasSuffix(text, "…") }

// overtakes recognises how the gateway says that a session changed between its
// taking a question and the run's beginning. The code is in its source; the
// words are seen with it and, on some paths, without.
func overtakes(message string) bool {
	return strings.Contains(message, "SESSION_WORK_START_CHANGED") || strings.Contains(message, "changed while starting work")
}

// readOvertaken is readOutcome for an error without a payload that can be read.
func readOvertaken(f frame) (Answer, bool) {
	if f.Error == nil || !overtakes(f.Error.Message) && !overtakes(f.Error.Details.Code) {
		return Answer{}, false
	}
	return Answer{Outcome: Failed, Error: f.Error.Message, Overtaken: true}, true
}

// outcomePayload is the second answer to a question, which is also what the
// gateway answers when a question is repeated after its end.
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
			VisibleText string `json:"finalAssistantVisibleText"`
			CostUSD     number `json:"costUsd"`
			AgentMeta   struct {
				Provider  string     `json:"provider"`
				Model     string     `json:"model"`
				SessionID word       `json:"sessionId"`
				Usage     *wireUsage `json:"usage"` // not lastCallUsage: that may be of an earlier run
				CostUSD   number     `json:"costUsd"`
			} `json:"agentMeta"`
		} `json:"meta"`
	} `json:"result"`
}

// readOutcome reads how a run ended; false when the payload does not say so,
// because it is the first answer to the question or something else.
func readOutcome(payload json.RawMessage) (Answer, bool) {
	var p outcomePayload
	if len(payload) == 0 || json.Unmarshal(payload, &p) != nil {
		return Answer{}, false
	}
	text, errText := p.texts()
	var a Answer
	switch {
	case p.Status == "ok":
		a = Answer{Outcome: Finished, Text: text}
	case p.Status != "timeout" && p.Status != "error":
		return Answer{}, false
	case stopped(p.StopReason):
		a = Answer{Outcome: Stopped}
	case p.Status == "timeout":
		a = Answer{Outcome: TimedOut, Error: errText}
	default:
		a = Answer{Outcome: Failed, Error: p.Summary, NotBegun: drains(p.Summary), Overtaken: overtakes(p.Summary)}
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

// texts are what the agent said, and what went wrong. A failure comes as a
// payload, too, and must not pass for an answer.
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
	if p.Result.Meta.VisibleText != "" {
		good = []string{p.Result.Meta.VisibleText}
	}
	return strings.Join(good, "\n\n"), strings.Join(bad, "\n")
}
