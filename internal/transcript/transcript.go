// Package transcript is what was said in a session of the runtime, as people
// read it: messages in typed blocks. It is the same whether the runtime has the
// session still or only the archive does.
package transcript

import (
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
)

// Message is one part of a conversation: what was said, with the tools that
// were called along the way. Texts come from agents and are not to be trusted.
type Message struct {
	ID         *string     `json:"id"`
	Seq        *int64      `json:"seq" doc:"Its place in the transcript, counted from 1; some numbers have no message of their own. Null when the runtime does not say."`
	Role       string      `json:"role" doc:"user for what was said to the agent, assistant for what it said, tool for a result whose call is in an earlier message or gone, or another of the runtime's."`
	At         *clock.Time `json:"at"`
	Blocks     []Block     `json:"blocks" nullable:"false" doc:"What it consists of, in order."`
	BlocksCut  int         `json:"blocks_cut" doc:"How many further blocks it had; 0 is none."`
	Error      *string     `json:"error" doc:"Why the run went wrong here."`
	RunID      *string     `json:"run_id"`
	Model      *string     `json:"model"`
	StopReason *string     `json:"stop_reason" doc:"Why the model stopped, in the runtime's words: stop, toolUse, error, aborted and others."`
	Tokens     *Tokens     `json:"tokens" doc:"Of this one model call; null when nobody counted."`
	CostUSD    *money.Nano `json:"cost_usd" doc:"Null when unknown or without a price."`
	Origin     *string     `json:"origin" doc:"From where it came when nobody outside the runtime said it, such as cron or sessions_send."`
}

// Tokens are what a model call used, by class.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"In the runtime's total and in none of the other four."`
}

// Block is a piece of a message.
type Block struct {
	Type string    `json:"type" enum:"text,thinking,tool_call,other" doc:"text was said; thinking came before it, where the runtime tells; tool_call is a call of a tool with its result; other is anything else, such as an image, which is not shown."`
	Text *string   `json:"text" doc:"Of text and thinking: Markdown. Of other: its kind, such as image. Null for tool_call."`
	Cut  int64     `json:"cut" doc:"How many characters of the text were left out at its end; 0 is none. The runtime gives us 40,000 of one text, so there may have been more."`
	Tool *ToolCall `json:"tool" doc:"Null but for tool_call."`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID           *string `json:"id" doc:"Names the call in its session."`
	Name         string  `json:"name"`
	Status       string  `json:"status" enum:"done,failed,pending" doc:"Pending while there is no result."`
	IsError      bool    `json:"is_error" doc:"Whether the tool says that it failed."`
	Arguments    *string `json:"arguments" doc:"A document of JSON, unless some of it was left out."`
	ArgumentsCut int64   `json:"arguments_cut" doc:"How many characters of the arguments were left out at their end."`
	Result       *string `json:"result" doc:"What the tool answered, as text."`
	ResultCut    int64   `json:"result_cut" doc:"How many characters of the result were left out at its end; see cut."`
}

// Of is a turn of the runtime as a message.
func Of(t gateway.Turn) Message {
	m := Message{
		ID: some(t.ID), Role: t.Role, Blocks: make([]Block, len(t.Blocks)), BlocksCut: t.Left, Error: some(t.Error), RunID: some(t.RunID),
		StopReason: some(t.Reason), Origin: some(t.Origin),
	}
	if t.Seq > 0 {
		m.Seq = &t.Seq
	}
	if !t.At.IsZero() {
		m.At = &t.At
	}
	for i, b := range t.Blocks {
		m.Blocks[i] = blockOf(b)
	}
	if u := t.Usage; u != nil {
		m.Model = some(strings.Trim(u.Provider+"/"+u.Model, "/"))
		m.Tokens = &Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Other: u.Other}
		if u.CostNanoUSD != nil {
			cost := money.Nano(*u.CostNanoUSD)
			m.CostUSD = &cost
		}
	}
	return m
}

func blockOf(b gateway.Block) Block {
	out := Block{Type: string(b.Kind), Cut: b.Cut}
	if b.Tool == nil {
		out.Text = &b.Text
		return out
	}
	out.Tool = &ToolCall{
		ID: some(b.Tool.ID), Name: b.Tool.Name, Status: string(b.Tool.Status), IsError: b.Tool.Status == gateway.ToolFailed,
		Arguments: some(b.Tool.Arguments), ArgumentsCut: b.Tool.ArgumentsCut, ResultCut: b.Tool.ResultCut,
	}
	if b.Tool.Status != gateway.ToolPending {
		out.Tool.Result = &b.Tool.Result
	}
	return out
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Each calls fn with every text of the message that came from outside, which may
// change it. cut says that its end is not there; json that it is a document of
// JSON.
func (m *Message) Each(fn func(text *string, cut, json bool)) {
	do := func(text *string, cut, json bool) {
		if text != nil {
			fn(text, cut, json)
		}
	}
	do(m.Error, false, false)
	for i := range m.Blocks {
		b := &m.Blocks[i]
		do(b.Text, b.Cut > 0, false)
		if t := b.Tool; t != nil {
			do(t.Arguments, t.ArgumentsCut > 0, t.ArgumentsCut == 0)
			do(t.Result, t.ResultCut > 0, false)
		}
	}
}

// Brief is the message with less of its texts where they are more than that many
// bytes together; what is left out is counted as cut.
func (m Message) Brief(most int) Message {
	const each, blocks = 500, 16
	size := 0
	m.Each(func(text *string, _, _ bool) { size += len(*text) })
	if size <= most {
		return m
	}
	all := m.Blocks[:min(blocks, len(m.Blocks))]
	m.BlocksCut += len(m.Blocks) - len(all)
	m.Blocks = make([]Block, len(all))
	shorten := func(text **string, cut *int64) {
		if *text == nil {
			return
		}
		if r := []rune(**text); len(r) > each {
			short := string(r[:each])
			*text, *cut = &short, *cut+int64(len(r)-each)
		}
	}
	for i, b := range all {
		shorten(&b.Text, &b.Cut)
		if b.Tool != nil {
			t := *b.Tool
			shorten(&t.Arguments, &t.ArgumentsCut)
			shorten(&t.Result, &t.ResultCut)
			b.Tool = &t
		}
		m.Blocks[i] = b
	}
	return m
}
