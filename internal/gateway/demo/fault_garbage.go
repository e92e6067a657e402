package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// Garbage is a way in which frames may be bad.
type Garbage string

// The kinds of garbage. Those of the first group are frames of their own, which
// follow every proper one; those of the second change the proper ones. All of
// them hold for the handshake, too.
const (
	NotJSON      Garbage = "not_json"      // text frames that are no JSON: empty, cut short, words, a NUL
	WrongShape   Garbage = "wrong_shape"   // JSON that is no frame: lists, numbers, null, nothing in it, wrong types of id and event, deep nesting
	BinaryFrame  Garbage = "binary_frame"  // a binary frame with a proper event in it, and one with a proper answer
	InvalidUTF8  Garbage = "invalid_utf8"  // a text frame with bytes that are no UTF-8, which a WebSocket forbids
	StrayAnswer  Garbage = "stray_answer"  // answers to requests that nobody made, one good and one bad
	UnknownEvent Garbage = "unknown_event" // events of a kind nobody knows, with and without a payload; they are counted like all others

	WrongTypes        Garbage = "wrong_types"        // inside payload and error, texts are numbers, numbers are texts, and lists are objects
	ExtraMembers      Garbage = "extra_members"      // every object has members that nobody knows
	MissingMembers    Garbage = "missing_members"    // of every object only what it is pointless without is there
	ControlCharacters Garbage = "control_characters" // texts that people read hold NUL, escapes, direction marks and half a surrogate pair
)

// Garble makes frames bad in all the given ways, for all connections, until it
// is called again. Without any kind it heals.
func (r *Runtime) Garble(kinds ...Garbage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.wire.garbage = slices.Clone(kinds)
}

// Inject sends everybody who is connected a frame of the caller's making, as it
// is, behind what waits already.
func (r *Runtime) Inject(frame []byte, binary bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		if c.greeted {
			c.post(packet{kind: messageType(binary), data: bytes.Clone(frame)})
		}
	}
}

// changes are the kinds that change frames, as functions.
var changes = map[Garbage]func(object) object{
	WrongTypes: func(frame object) object {
		return everywhere(frame, "payload", "error", "seq")(twist)
	},
	ExtraMembers: func(frame object) object {
		return only[object](walk(generic(frame), func(_ string, v any) any {
			if o, ok := v.(object); ok {
				o["x-unheard-of"] = object{"deep": []any{1, "two", nil, object{}}}
				o[""] = "a member without a name"
			}
			return v
		}))
	},
	MissingMembers: func(frame object) object {
		return only[object](walk(generic(frame), func(_ string, v any) any {
			if o, ok := v.(object); ok {
				for k := range o {
					if !slices.Contains(indispensable, k) {
						delete(o, k)
					}
				}
			}
			return v
		}))
	},
	ControlCharacters: func(frame object) object {
		return only[object](walk(generic(frame), func(name string, v any) any {
			if s, ok := v.(string); ok && slices.Contains(readByPeople, name) {
				return dirt + s + dirt
			}
			return v
		}))
	},
}

var (
	// indispensable are the members that a frame, a payload or a row is pointless without.
	indispensable = words(`type id ok payload event error code message nonce protocol auth scopes server bootId runId
		status sessionKey agentId key sessionId session sessions agents messages role content text terminalReply result
		payloads task action jobs models stream data phase state reason requestId details`)
	// readByPeople are the members whose text ends before people's eyes.
	readByPeople = words(`text content delta deltaText title label displayName derivedTitle lastMessagePreview error
		errorMessage summary terminalSummary name emoji`)
)

// mark stands for half a surrogate pair until the frame is bytes: no Go string
// can hold one.
const mark = "\uE000"

// dirt is what control characters and their like are.
const dirt = "\x00\a\b\x1b[31m\x7f\u0085\u200b\u202e\u2028\ufeff" + mark

func loneSurrogates(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte(mark), []byte(`\ud800`))
}

// litter is the garbage that follows a frame.
func (c *connection) litter(g Garbage) []packet {
	const event = `{"type":"event","event":"tick","payload":{"ts":1}}`
	switch g {
	case NotJSON:
		return texts("", "{", "not json at all", `{"type":"event","event":"tick","payload":{`, "\x00", event+event)
	case WrongShape:
		return texts(
			`[]`, `"text"`, `42`, `null`, `true`, `{}`, `[`+event+`]`, `{"type":"res"}`, `{"type":"event"}`, `{"type":7}`,
			`{"type":"event","event":7,"payload":{}}`, `{"type":"res","id":7,"ok":"yes","payload":[]}`,
			`{"type":"res","id":null,"ok":true}`, `{"type":"req","id":"1","method":"connect"}`, `{"type":"event","event":""}`,
			strings.Repeat(`[`, 9_000)+strings.Repeat(`]`, 9_000),
		)
	case BinaryFrame:
		return []packet{
			{kind: websocket.MessageBinary, data: []byte(event)},
			{kind: websocket.MessageBinary, data: []byte(`{"type":"res","id":"1","ok":true,"payload":{}}`)},
		}
	case InvalidUTF8:
		return texts("{\"type\":\"event\",\"event\":\"ti\xff\xfeck\",\"payload\":{\"text\":\"\xc3\x28\"}}")
	case StrayAnswer:
		return texts(
			`{"type":"res","id":"nobody-asked","ok":true,"payload":{"status":"ok"}}`,
			`{"type":"res","id":"nobody-asked","ok":false,"error":{"code":"UNAVAILABLE","message":"nobody asked"}}`,
		)
	case UnknownEvent:
		var out []packet
		for _, payload := range []string{`{"forecast":"rain"}`, `"rain"`, `null`} {
			seq := ""
			if c.greeted {
				c.seq++
				seq = fmt.Sprintf(`,"seq":%d`, c.seq)
			}
			out = append(out, texts(`{"type":"event","event":"weather.changed","payload":`+payload+seq+`}`)...)
		}
		return out
	case WrongTypes, ExtraMembers, MissingMembers, ControlCharacters:
	}
	return nil
}

func texts(list ...string) []packet {
	out := make([]packet, len(list))
	for i, s := range list {
		out[i] = text([]byte(s))
	}
	return out
}

// generic is a frame as a client that knows nothing of it would decode it.
func generic(frame object) any {
	d := json.NewDecoder(bytes.NewReader(encode(frame)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("demo: a frame that is no JSON: %v", err))
	}
	return v
}

// walk rebuilds a value from its leaves up; change gets each with the name of
// the member that it is, or whose list it is in.
func walk(v any, change func(name string, v any) any) any {
	var down func(name string, v any) any
	down = func(name string, v any) any {
		switch v := v.(type) {
		case object:
			for k := range v {
				v[k] = down(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = down(name, v[i])
			}
		}
		return change(name, v)
	}
	return down("", v)
}

// everywhere applies a change below some members of a frame.
func everywhere(frame object, members ...string) func(func(string, any) any) object {
	return func(change func(string, any) any) object {
		out := only[object](generic(frame))
		for _, k := range members {
			if v, ok := out[k]; ok {
				out[k] = walk(v, change)
			}
		}
		return out
	}
}

// twist gives a value another type.
func twist(_ string, v any) any {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.Number:
		return v.String() + " or so"
	case bool:
		return "yes"
	case []any:
		return object{"0": v}
	case nil:
		return object{}
	}
	return v
}

// only is v as what it is known to be.
func only[T any](v any) T {
	t, _ := v.(T)
	return t
}
