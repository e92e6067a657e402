package gateway

import (
	"encoding/json"
	"strings"
)

// Block is a part of a message.
type Block struct {
	Kind BlockKind
	Text string    // text of a TextBlock or ThinkingBlock; for an OtherBlock, the type of the part, such as image
	Cut  int64     // characters that were truncated from Text
	Tool *ToolCall // set only for a ToolBlock
}

// BlockKind is the kind of a block.
type BlockKind string

// The kinds of blocks.
const (
	TextBlock     BlockKind = "text"
	ThinkingBlock BlockKind = "thinking"  // the model's reasoning, where the gateway provides it
	ToolBlock     BlockKind = "tool_call" // a tool call with its result
	OtherBlock    BlockKind = "other"     // any other part; only its type is kept
)

// ToolCall is an agent's call of a tool. ToolCalls are comparable.
type ToolCall struct {
	ID           string // unique within the session
	Name         string
	Status       ToolStatus
	Arguments    string // JSON, unless truncated
	ArgumentsCut int64  // characters that were truncated from Arguments
	Result       string
	ResultCut    int64
}

// ToolStatus is the state of a tool call.
type ToolStatus string

// The states of a tool call. A pending call is still running, or its run ended before
// the tool returned.
const (
	ToolDone    ToolStatus = "done"
	ToolFailed  ToolStatus = "failed"
	ToolPending ToolStatus = "pending"
)

// The limits of a message, in characters except for the last two. A message that
// reaches all of them has about 600,000 characters.
const (
	turnChars     = 20_000 // all texts together
	thinkingChars = 8_000  // all reasoning together
	argumentChars = 4_000  // arguments of one call
	resultChars   = 8_000  // result of one call
	blocksOfTurn  = 100
	toolsOfTurn   = 50
)

// part is a part of a message on the wire.
type part struct {
	Type       word            `json:"type"`
	Text       word            `json:"text"`
	Thinking   word            `json:"thinking"`
	ID         word            `json:"id"`
	Name       word            `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	ToolCallID word            `json:"toolCallId"`
	ToolName   word            `json:"toolName"`
	IsError    flag            `json:"isError"`
	Content    json.RawMessage `json:"content"`
}

// parts reads the content of a message. A plain string counts as one text part.
func parts(raw json.RawMessage) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: word(text)}}
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

// visible returns the text parts, one per line.
func visible(list []part) string {
	var texts []string
	for _, p := range list {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, string(p.Text))
		}
	}
	return strings.Join(texts, "\n")
}

// blocks converts the parts of a message; left is the number of parts that were
// dropped. Results are merged into their calls when both are in the same message.
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
			b.Text, b.Cut = c.secrets.bound(b.Text, room[b.Kind])
			room[b.Kind] -= len([]rune(b.Text))
		}
		blocks = append(blocks, b)
	}
	return blocks, left
}

// toolCall converts a tool call, without its result.
func (c *Client) toolCall(p part) *ToolCall {
	call := &ToolCall{ID: c.short(string(p.ID)), Name: c.short(string(p.Name)), Status: ToolPending}
	call.Arguments, call.ArgumentsCut = c.arguments(p.Arguments)
	return call
}

// attachResult adds a result to its pending call, and returns false if the call is not
// among the blocks.
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

// setResult adds the result to a call.
func (c *Client) setResult(call *ToolCall, p part) {
	call.Status = ToolDone
	if p.IsError.is() {
		call.Status = ToolFailed
	}
	call.Result, call.ResultCut = c.secrets.bound(visible(parts(p.Content)), resultChars)
}

// fold converts rows into turns and merges tool results into their calls.
func (c *Client) fold(rows []turnRow) []Turn {
	turns := make([]Turn, 0, len(rows))
	calls := map[string]*ToolCall{} // pending calls by id
	for _, r := range rows {
		if r.Role == "toolResult" {
			done := part{Name: r.ToolName, ToolCallID: r.ToolCallID, IsError: r.IsError, Content: r.Content}
			if call := calls[string(r.ToolCallID)]; call != nil {
				c.setResult(call, done)
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

// result converts a tool result whose call is not among the rows.
func (c *Client) result(r turnRow, done part) Turn {
	t := c.turn(r, nil)
	call := &ToolCall{ID: c.short(string(r.ToolCallID)), Name: c.short(string(r.ToolName))}
	c.setResult(call, done)
	t.Role, t.Blocks = "tool", []Block{{Kind: ToolBlock, Tool: call}}
	return t
}

// arguments returns the arguments of a call as JSON, with every text in them cleaned.
// cut is the number of characters that were truncated.
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
	return c.secrets.bound(strings.TrimSpace(b.String()), argumentChars)
}

// cleanJSON cleans every text in a JSON value.
func (c *Client) cleanJSON(v any) any {
	switch v := v.(type) {
	case string:
		return c.secrets.multiline(v)
	case []any:
		for i := range v {
			v[i] = c.cleanJSON(v[i])
		}
		return v
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, e := range v {
			clean[c.secrets.multiline(name)] = c.cleanJSON(e)
		}
		return clean
	default:
		return v
	}
}

// Said returns the text blocks of a turn, one per line.
func (t Turn) Said() string {
	var texts []string
	for _, b := range t.Blocks {
		if b.Kind == TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// MessageEvent is a new message, as the gateway reports it in an event.
type MessageEvent struct {
	SessionKey   string
	TranscriptID string
	Turn         Turn
}

// MessageEvent reads an event about a new message, and returns false for any other event.
// A tool result is a message of its own here, because an earlier event reported its call.
func (c *Client) MessageEvent(e Event) (MessageEvent, bool) {
	if e.Name != "session.message" {
		return MessageEvent{}, false
	}
	var p struct {
		SessionKey word    `json:"sessionKey"`
		Message    turnRow `json:"message"`
		Seq        number  `json:"messageSeq"`
		SessionID  word    `json:"sessionId"`
		Session    struct {
			ID word `json:"sessionId"`
		} `json:"session"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || !validKey(string(p.SessionKey)) {
		return MessageEvent{}, false
	}
	turns := c.fold([]turnRow{p.Message})
	h := MessageEvent{SessionKey: string(p.SessionKey), TranscriptID: c.short(string(first(p.SessionID, p.Session.ID))), Turn: turns[0]}
	if h.Turn.Seq == 0 {
		h.Turn.Seq = p.Seq.count()
	}
	return h, true
}

// MessageOf returns the key of the session that a new message belongs to, and false for
// events of any other kind. It does not read the message itself.
func (e Event) MessageOf() (sessionKey string, ok bool) {
	if e.Name != "session.message" {
		return "", false
	}
	var p struct {
		SessionKey word `json:"sessionKey"`
	}
	err := json.Unmarshal(e.Payload, &p)
	return string(p.SessionKey), err == nil && p.SessionKey != ""
}
