package gateway

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// Block is a part of a message.
type Block struct {
	Kind BlockKind
	Text string    // text of a TextBlock or ThinkingBlock; for an OtherBlock, the type of the part, such as image
	Cut  int64     // characters that were truncated from Text
	Tool *ToolCall // set only for a ToolBlock
}

// BlockKind says what a Block contains.
type BlockKind string

// Kinds of blocks.
const (
	TextBlock     BlockKind = "text"
	ThinkingBlock BlockKind = "thinking"  // the model's reasoning, where the gateway provides it
	ToolBlock     BlockKind = "tool_call" // a tool call with its result
	OtherBlock    BlockKind = "other"     // any other part; only its type is kept
)

// ToolCall is an agent's call of a tool. ToolCalls can be compared with ==.
type ToolCall struct {
	ID           string // unique within the session
	Name         string
	Status       ToolStatus
	Arguments    string // JSON, unless truncated
	ArgumentsCut int64  // characters that were truncated from Arguments
	Result       string
	ResultCut    int64
	EndedAt      clock.Time // when the tool returned its result; zero if unknown
	ExitCode     int64      // of the command, if Exited
	Exited       bool       // whether the tool ran a command that has ended, and its exit code is known
}

// ToolStatus is the state of a tool call.
type ToolStatus string

// States of a tool call. A pending call is still running, or its run ended before the
// tool returned a result.
const (
	ToolDone    ToolStatus = "done"
	ToolFailed  ToolStatus = "failed"
	ToolPending ToolStatus = "pending"
)

// Limits for a message: the last two are numbers of blocks and tool calls, and the others
// are in characters. A message that reaches all limits has about 600,000 characters.
const (
	turnChars     = 20_000 // all texts together
	thinkingChars = 8_000  // all reasoning together
	argumentChars = 4_000  // arguments of one call
	resultChars   = 8_000  // result of one call
	blocksOfTurn  = 100
	toolsOfTurn   = 50
)

// part is a part of a message as the gateway sends it.
type part struct {
	Type       wire.Word       `json:"type"`
	Text       wire.Word       `json:"text"`
	Thinking   wire.Word       `json:"thinking"`
	ID         wire.Word       `json:"id"`
	Name       wire.Word       `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	ToolCallID wire.Word       `json:"toolCallId"`
	ToolName   wire.Word       `json:"toolName"`
	IsError    wire.Flag       `json:"isError"`
	Content    json.RawMessage `json:"content"`
}

// parts reads the content of a message. It treats a plain string as a single text part.
func parts(raw json.RawMessage) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: wire.Word(text)}}
	}
	var pieces []json.RawMessage
	if json.Unmarshal(raw, &pieces) != nil {
		return nil
	}
	list := make([]part, 0, len(pieces))
	for _, piece := range pieces {
		var p part
		if json.Unmarshal(piece, &p) == nil {
			list = append(list, p)
		}
	}
	return list
}

// visible returns the text parts of a message, one per line.
func visible(list []part) string {
	var texts []string
	for _, p := range list {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, string(p.Text))
		}
	}
	return strings.Join(texts, "\n")
}

// blocks converts the parts of a message to blocks. If a tool call and its result are in
// the same message, they become one block. The function also returns the number of parts
// that it dropped.
func (c *Client) blocks(list []part) (blocks []Block, left int) {
	blocks = []Block{}
	room := map[BlockKind]int{TextBlock: turnChars, ThinkingBlock: thinkingChars}
	tools := 0
	for _, p := range list {
		b := Block{Kind: OtherBlock, Text: c.short(string(p.Type))}
		switch p.Type {
		case "toolResult":
			if !c.attachResult(blocks, p) {
				left++
			}
			continue
		case "text":
			b = Block{Kind: TextBlock, Text: string(p.Text)}
		case "thinking", "reasoning":
			b = Block{Kind: ThinkingBlock, Text: string(first(p.Thinking, p.Text))}
		case "toolCall":
			tools++
			b = Block{Kind: ToolBlock}
		case "":
			continue
		}
		if b.Kind != ToolBlock && b.Text == "" {
			continue
		}
		if len(blocks) == blocksOfTurn || b.Kind == ToolBlock && tools > toolsOfTurn {
			left++
			continue
		}
		switch {
		case b.Kind == ToolBlock:
			b.Tool = c.toolCall(p)
		case b.Kind != OtherBlock:
			b.Text, b.Cut = c.secrets.Bound(b.Text, room[b.Kind])
			room[b.Kind] -= len([]rune(b.Text))
		}
		blocks = append(blocks, b)
	}
	return blocks, left
}

// toolCall converts a part of a message to a tool call without a result.
func (c *Client) toolCall(p part) *ToolCall {
	call := &ToolCall{ID: c.short(string(p.ID)), Name: c.short(string(p.Name)), Status: ToolPending}
	call.Arguments, call.ArgumentsCut = c.arguments(p.Arguments)
	return call
}

// attachResult adds a tool result to its pending call. It returns false if the call is
// not among the blocks.
func (c *Client) attachResult(blocks []Block, p part) bool {
	id := c.short(string(p.ToolCallID))
	for i := range blocks {
		if call := blocks[i].Tool; call != nil && call.ID == id && call.Status == ToolPending {
			c.setResult(call, p)
			return true
		}
	}
	return false
}

// setResult adds a result to a tool call.
func (c *Client) setResult(call *ToolCall, p part) {
	call.Status = ToolDone
	if p.IsError.Is() {
		call.Status = ToolFailed
	}
	text := visible(parts(p.Content))
	call.ExitCode, call.Exited = exitCode(call.Name, text, call.Status == ToolFailed)
	call.Result, call.ResultCut = c.secrets.Bound(text, resultChars)
}

var (
	exitText    = regexp.MustCompile(`\(?Command exited with code (\d{1,9})\)?\s*$`)
	processText = regexp.MustCompile(`Process exited with code (\d{1,9})\.\s*$`)
)

// exitCode returns the exit code of a command from the end of the tool's result. The runtime adds no
// text if the command succeeded.
func exitCode(tool, result string, failed bool) (code int64, known bool) {
	var m []string
	switch tool {
	case "exec", "bash":
		if m = exitText.FindStringSubmatch(result); m == nil {
			return 0, !failed && !strings.Contains(result, "Command still running (session ")
		}
	case "process":
		m = processText.FindStringSubmatch(result)
	}
	if m == nil {
		return 0, false
	}
	code, err := strconv.ParseInt(m[1], 10, 64)
	return code, err == nil
}

// fold converts transcript rows to turns and merges tool results into their calls.
func (c *Client) fold(rows []row) []Turn {
	turns := make([]Turn, 0, len(rows))
	calls := map[string]*ToolCall{} // pending calls by id
	for _, r := range rows {
		if r.Role == "toolResult" {
			done := part{Name: r.ToolName, ToolCallID: r.ToolCallID, IsError: r.IsError, Content: r.Content}
			if call := calls[string(r.ToolCallID)]; call != nil {
				c.setResult(call, done)
				call.EndedAt = r.Timestamp.Time()
				continue
			}
			turns = append(turns, c.result(r, done))
			continue
		}
		t := c.turn(r, parts(r.Content))
		for _, b := range t.Blocks {
			if b.Tool != nil && b.Tool.ID != "" && b.Tool.Status == ToolPending {
				calls[b.Tool.ID] = b.Tool
			}
		}
		turns = append(turns, t)
	}
	return turns
}

// result converts a tool result to a separate turn. It is used if the rows do not include
// the tool call.
func (c *Client) result(r row, done part) Turn {
	t := c.turn(r, nil)
	call := &ToolCall{ID: c.short(string(r.ToolCallID)), Name: c.short(string(r.ToolName)), EndedAt: t.At}
	c.setResult(call, done)
	t.Role, t.Blocks = "tool", []Block{{Kind: ToolBlock, Tool: call}}
	return t
}

// arguments returns the arguments of a tool call as JSON, with every string in them
// sanitized. It also returns the number of characters that it removed from the end.
func (c *Client) arguments(raw json.RawMessage) (text string, cut int64) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", 0
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return "", 0
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c.cleanJSON(v)); err != nil {
		return "", 0 // cannot happen: v was decoded from JSON
	}
	return c.secrets.Bound(strings.TrimSpace(b.String()), argumentChars)
}

// cleanJSON sanitizes every string in a JSON value.
func (c *Client) cleanJSON(v any) any {
	switch v := v.(type) {
	case string:
		return c.secrets.Lines(v)
	case []any:
		for i := range v {
			v[i] = c.cleanJSON(v[i])
		}
		return v
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, e := range v {
			clean[c.secrets.Lines(name)] = c.cleanJSON(e)
		}
		return clean
	default:
		return v
	}
}
