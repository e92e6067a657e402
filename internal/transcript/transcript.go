// Package transcript defines the messages of a session in API responses. The format is
// the same for sessions in the runtime and in the archive.
package transcript

import (
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
)

// Message is one message of a conversation, with its tool calls. Its text comes from agents and is
// untrusted.
type Message struct {
	ID         *string     `json:"id"`
	Seq        *int64      `json:"seq" doc:"The position in the transcript, from 1. Some numbers have no message. Null if unknown."`
	Role       string      `json:"role" doc:"user for messages to the agent, assistant for its answers, tool for a result without its call in the same message, or another role of the runtime."`
	At         *clock.Time `json:"at"`
	Blocks     []Block     `json:"blocks" nullable:"false" doc:"The content, in order."`
	BlocksCut  int         `json:"blocks_cut" doc:"The number of omitted blocks."`
	Error      *string     `json:"error" doc:"The error if the run failed here."`
	RunID      *string     `json:"run_id" doc:"The run that wrote the message. For a message to the agent: the ID with which it was sent, which is that of the run that answers it unless it became part of a run in progress."`
	Sender     *string     `json:"sender" doc:"The name of the user who sent the message to the agent through Wardroom; null for all other messages."`
	Prompt     *string     `json:"prompt" enum:"task,standup" doc:"Set if Wardroom wrote the message to the agent. task: the instructions of a dispatch. standup: a question in a standup."`
	Waiting    *string     `json:"waiting" enum:"queued,dropped" doc:"Set if the agent has not read the message. queued: it reads the message during the current run, or in the next one. dropped: it never will, because the session was stopped or the gateway restarted."`
	Model      *string     `json:"model"`
	StopReason *string     `json:"stop_reason" doc:"The runtime's reason why the model stopped, such as stop, toolUse, error or aborted."`
	Tokens     *Tokens     `json:"tokens" doc:"The usage of this model call; null if unknown."`
	CostUSD    *money.Nano `json:"cost_usd" doc:"Null if unknown or if the model has no price."`
	Origin     *string     `json:"origin" doc:"The source of a message from inside the runtime, such as cron or sessions_send."`
}

// Tokens holds a model call's token counts.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"Tokens in the runtime's total that are in none of the other classes."`
}

// Block is a part of a message.
type Block struct {
	Type string    `json:"type" enum:"text,thinking,tool_call,other" doc:"text: the message. thinking: the model's reasoning, if available. tool_call: a tool call with its result. other: content that is not shown, such as an image."`
	Text *string   `json:"text" doc:"For text and thinking: Markdown. For other: the kind, such as image. Null for tool_call."`
	Cut  int64     `json:"cut" doc:"The number of characters omitted at the end. The runtime returns at most 40,000 characters, so more may be missing."`
	Tool *ToolCall `json:"tool" doc:"Null unless type is tool_call."`
}

// ToolCall is a tool call with its result.
type ToolCall struct {
	ID           *string `json:"id" doc:"The ID of the call in its session."`
	Name         string  `json:"name"`
	Status       string  `json:"status" enum:"done,failed,pending" doc:"pending while there is no result."`
	IsError      bool    `json:"is_error" doc:"Whether the tool reported an error."`
	Arguments    *string `json:"arguments" doc:"A JSON document, unless truncated."`
	ArgumentsCut int64   `json:"arguments_cut" doc:"The number of characters omitted at the end of the arguments."`
	Result       *string `json:"result" doc:"The result as text."`
	ResultCut    int64   `json:"result_cut" doc:"The number of characters omitted at the end of the result; see cut."`

	ExitCode *int64 `json:"exit_code" doc:"The exit code of the command that the tool ran; null for other tools, or if unknown."`

	EndedAt *clock.Time `json:"ended_at" doc:"When the tool returned its result; null while it is pending, or if unknown."`
}

// Of converts a turn from the runtime to a message.
func Of(t gateway.Turn) Message {
	m := Message{
		ID: some(t.ID), Role: t.Role, Blocks: make([]Block, len(t.Blocks)), BlocksCut: t.Left, Error: some(t.Error),
		RunID: some(t.RunID), StopReason: some(t.Reason), Origin: some(t.Origin),
	}
	if t.Role == "user" && t.RunID == "" {
		m.RunID, m.Prompt = some(t.SentAs), promptOf(t.SentAs)
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

// Values of Message.Waiting.
const (
	queued  = "queued"
	dropped = "dropped"
)

// OfPending converts a message that the agent has not read.
func OfPending(p gateway.Pending) Message {
	m := Of(p.Turn)
	m.Waiting = some(queued)
	if p.Dropped {
		m.Waiting = some(dropped)
	}
	return m
}

// Prefixes of the run IDs that Wardroom chooses. They tell who wrote a message to an agent.
const (
	UserRun    = "wardroom-" // a user's message
	taskRun    = "task-"     // a dispatch
	standupRun = "standup-"  // a question in a standup
)

// promptOf returns the value of Message.Prompt for a message with the given ID.
func promptOf(sentAs string) *string {
	switch {
	case strings.HasPrefix(sentAs, taskRun):
		return some("task")
	case strings.HasPrefix(sentAs, standupRun):
		return some("standup")
	default:
		return nil
	}
}

// Name sets the senders of the messages that users sent through Wardroom. The lookup returns the names by run ID.
func Name(messages []Message, lookup func(runIDs []string) (map[string]string, error)) error {
	var ids []string
	for i := range messages {
		if m := &messages[i]; m.sentByUser() {
			ids = append(ids, *m.RunID)
		}
	}
	if len(ids) == 0 || lookup == nil {
		return nil
	}
	names, err := lookup(ids)
	if err != nil {
		return err
	}
	for i := range messages {
		if m := &messages[i]; m.sentByUser() {
			m.Sender = some(names[*m.RunID])
		}
	}
	return nil
}

func (m *Message) sentByUser() bool {
	return m.Role == "user" && m.RunID != nil && strings.HasPrefix(*m.RunID, UserRun)
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
	if b.Tool.Exited {
		out.Tool.ExitCode = &b.Tool.ExitCode
	}
	if at := b.Tool.EndedAt; !at.IsZero() {
		out.Tool.EndedAt = &at
	}
	return out
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Each calls fn for every text in the message that came from the runtime. fn can change
// the text. If cut is true, the text is truncated. If json is true, it is a JSON
// document.
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

// Brief returns the message, shortened if its texts together exceed the given number of bytes. The
// counts of omitted characters and blocks include those that Brief omits.
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
