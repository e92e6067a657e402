package gateway

import (
	"encoding/json"
	"strings"
)

// Block is a piece of a message.
type Block struct {
	Kind BlockKind
	Text string    // of text and thinking; of OtherBlock its kind, such as image
	Cut  int64     // how many characters of Text were left out, as far as the gateway gave them to us
	Tool *ToolCall // of ToolBlock
}

// BlockKind says what a block is.
type BlockKind string

// The kinds of blocks.
const (
	TextBlock     BlockKind = "text"
	ThinkingBlock BlockKind = "thinking"  // what the model thought before it spoke, where the gateway tells
	ToolBlock     BlockKind = "tool_call" // a call of a tool, with its result
	OtherBlock    BlockKind = "other"     // anything else, of which we only say that it is there
)

// ToolCall is a call of a tool by an agent. Two can be compared.
type ToolCall struct {
	ID           string // names the call among those of its session
	Name         string
	Status       ToolStatus
	Arguments    string // JSON, unless some of it was left out
	ArgumentsCut int64  // how many characters of it were
	Result       string
	ResultCut    int64
}

// ToolStatus says what became of a call.
type ToolStatus string

// What became of a call. A call has no result while it runs, and none is kept
// of one whose run died.
const (
	ToolDone    ToolStatus = "done"
	ToolFailed  ToolStatus = "failed"
	ToolPending ToolStatus = "pending"
)

// What of a message is passed on, in characters. One whose texts are all that
// long has some 600,000.
const (
	turnChars     = 20_000 // of its texts together
	thinkingChars = 8_000  // of its thoughts together
	argumentChars = 4_000  // of the arguments of one call
	resultChars   = 8_000  // of the result of one call
	blocksOfTurn  = 100
	toolsOfTurn   = 50
)

// part is a piece of a message on the wire.
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

// parts reads a content, of which a bare text is the one part.
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

func visible(list []part) string {
	var texts []string
	for _, p := range list {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, string(p.Text))
		}
	}
	return strings.Join(texts, "\n")
}

// blocks are the pieces of a message; left says how many there are beyond them.
// Results are with their calls, where those are in the same message.
func (c *Client) blocks(list []part) (blocks []Block, left int) {
	blocks = []Block{}
	room := map[BlockKind]int{TextBlock: turnChars, ThinkingBlock: thinkingChars}
	tools := 0
	for _, p := range list {
		b := Block{Kind: OtherBlock, Text: c.short(string(p.Type))}
		switch p.Type {
		case "toolResult":
			if !c.settleIn(blocks, p) {
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

func (c *Client) toolCall(p part) *ToolCall {
	call := &ToolCall{ID: c.short(string(p.ID)), Name: c.short(string(p.Name)), Status: ToolPending}
	call.Arguments, call.ArgumentsCut = c.arguments(p.Arguments)
	return call
}

// settleIn notes a result at its call, and says false when that is not there.
func (c *Client) settleIn(blocks []Block, p part) bool {
	id := c.short(string(p.ToolCallID))
	for i := range blocks {
		if call := blocks[i].Tool; call != nil && call.ID == id && call.Status == ToolPending {
			c.settleCall(call, p)
			return true
		}
	}
	return false
}

// settleCall notes the result of a call.
func (c *Client) settleCall(call *ToolCall, p part) {
	call.Status = ToolDone
	if p.IsError.is() {
		call.Status = ToolFailed
	}
	call.Result, call.ResultCut = c.secrets.bound(visible(parts(p.Content)), resultChars)
}

// fold turns rows into turns; the result of a tool goes to its call.
func (c *Client) fold(rows []turnRow) []Turn {
	turns := make([]Turn, 0, len(rows))
	calls := map[string]*ToolCall{} // that wait for their result, by id
	for _, r := range rows {
		if r.Role == "toolResult" {
			done := part{Name: r.ToolName, ToolCallID: r.ToolCallID, IsError: r.IsError, Content: r.Content}
			if call := calls[string(r.ToolCallID)]; call != nil {
				c.settleCall(call, done)
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

// result is the turn of a result whose call is not here.
func (c *Client) result(r turnRow, done part) Turn {
	t := c.turn(r, nil)
	call := &ToolCall{ID: c.short(string(r.ToolCallID)), Name: c.short(string(r.ToolName))}
	c.settleCall(call, done)
	t.Role, t.Blocks = "tool", []Block{{Kind: ToolBlock, Tool: call}}
	return t
}

// arguments are those of a call as JSON, each text in them as one that an agent
// said, and how many characters too long they are.
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
	if err := e.Encode(c.said(v)); err != nil {
		return "", 0 // what was read can be written
	}
	return c.secrets.bound(strings.TrimSpace(b.String()), argumentChars)
}

// said cleans every text in a value of JSON.
func (c *Client) said(v any) any {
	switch v := v.(type) {
	case string:
		return c.secrets.said(v)
	case []any:
		for i := range v {
			v[i] = c.said(v[i])
		}
		return v
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, e := range v {
			clean[c.secrets.said(name)] = c.said(e)
		}
		return clean
	default:
		return v
	}
}

// Said is what the texts of a message say, one after another.
func (t Turn) Said() string {
	var texts []string
	for _, b := range t.Blocks {
		if b.Kind == TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Heard is a message that the gateway told of as it was written.
type Heard struct {
	SessionKey   string
	TranscriptID string
	Turn         Turn
}

// Heard reads an event about a new message; false for any other event. The
// result of a tool is a message of its own here: its call was told of before.
func (c *Client) Heard(e Event) (Heard, bool) {
	if e.Name != "session.message" {
		return Heard{}, false
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
		return Heard{}, false
	}
	turns := c.fold([]turnRow{p.Message})
	h := Heard{SessionKey: string(p.SessionKey), TranscriptID: c.short(string(first(p.SessionID, p.Session.ID))), Turn: turns[0]}
	if h.Turn.Seq == 0 {
		h.Turn.Seq = p.Seq.count()
	}
	return h, true
}

// MessageOf is the session that an event tells a new message of; false for any
// other event. It reads no more of it than that.
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
