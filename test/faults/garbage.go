package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/demo"
)

// Garbage is a kind of malformed frame.
type Garbage string

// Kinds of garbage. Those in the first group add a malformed frame after every valid one.
// Those in the second group change the valid frames. Both also affect the handshake.
const (
	NotJSON      Garbage = "not_json"      // text frames that aren't JSON: empty, truncated, words, a NUL
	WrongShape   Garbage = "wrong_shape"   // JSON that isn't a frame: lists, numbers, null, an empty object, wrong types of id and event, deep nesting
	BinaryFrame  Garbage = "binary_frame"  // two binary frames, one with a valid event and one with a valid answer
	InvalidUTF8  Garbage = "invalid_utf8"  // a text frame with invalid UTF-8, which WebSocket forbids
	StrayAnswer  Garbage = "stray_answer"  // answers to requests that were never made, one success and one error
	UnknownEvent Garbage = "unknown_event" // events of an unknown kind, with and without a payload; they are numbered like all others

	WrongTypes        Garbage = "wrong_types"        // in payload and error, strings become numbers, numbers become strings, and lists become objects
	ExtraMembers      Garbage = "extra_members"      // every object has unknown members
	MissingMembers    Garbage = "missing_members"    // every object has only its required members
	ControlCharacters Garbage = "control_characters" // displayed strings contain NUL, escapes, direction marks and half a surrogate pair
)

// Garble corrupts the frames of all connections in all the given ways, until the next
// call to Garble. A call without arguments turns the fault off.
func (r *Runtime) Garble(kinds ...Garbage) {
	r.change(func(f *faults) { f.frames.garbage = slices.Clone(kinds) })
}

// Inject sends the given frame unchanged to every connected client, after the frames that
// are already queued.
func (r *Runtime) Inject(frame []byte, binary bool) {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	for _, c := range r.connected(func(c *connection) bool { return c.ready }) {
		c.conn.Queue(demo.Frame{}, demo.Packet{Kind: kind, Data: bytes.Clone(frame)})
	}
}

// changes contains a function for each kind of Garbage that is produced by changing valid frames.
var changes = map[Garbage]func(object) object{
	WrongTypes: func(frame object) object {
		return changeMembers(frame, "payload", "error", "seq")(changeType)
	},
	ExtraMembers: func(frame object) object {
		return as[object](walk(decoded(frame), func(_ string, v any) any {
			if o, ok := v.(object); ok {
				o["x-unheard-of"] = object{"deep": []any{1, "two", nil, object{}}}
				o[""] = "a member without a name"
			}
			return v
		}))
	},
	MissingMembers: func(frame object) object {
		return as[object](walk(decoded(frame), func(_ string, v any) any {
			if o, ok := v.(object); ok {
				for k := range o {
					if !slices.Contains(requiredMembers, k) {
						delete(o, k)
					}
				}
			}
			return v
		}))
	},
	ControlCharacters: func(frame object) object {
		return as[object](walk(decoded(frame), func(name string, v any) any {
			if s, ok := v.(string); ok && slices.Contains(displayedMembers, name) {
				return controlChars + s + controlChars
			}
			return v
		}))
	},
}

var (
	// requiredMembers are the members without which a frame, a payload or a row is useless.
	requiredMembers = strings.Fields(`type id ok payload event error code message nonce protocol auth scopes server bootId runId
		status sessionKey agentId key sessionId session sessions agents messages role content text terminalReply result
		payloads task action jobs models stream data phase state reason requestId details`)
	// displayedMembers are the members whose text is shown to users.
	displayedMembers = strings.Fields(`text content delta deltaText title label displayName derivedTitle lastMessagePreview error
		errorMessage summary terminalSummary name emoji`)
)

// surrogateMark is a placeholder for half of a surrogate pair, which a Go string can't
// hold. It is replaced when the frame is encoded.
const surrogateMark = "\uE000"

// controlChars is a sample of control and invisible characters.
const controlChars = "\x00\a\b\x1b[31m\x7f\u0085\u200b\u202e\u2028\ufeff" + surrogateMark

func loneSurrogates(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte(surrogateMark), []byte(`\ud800`))
}

// garbagePackets returns the malformed frames that follow a valid one. The caller must hold
// the runtime's lock.
func (c *connection) garbagePackets(g Garbage, after demo.Frame) []demo.Packet {
	const event = `{"type":"event","event":"tick","payload":{"ts":1}}`
	switch g {
	case NotJSON:
		return textPackets("", "{", "not json at all", `{"type":"event","event":"tick","payload":{`, "\x00", event+event)
	case WrongShape:
		return textPackets(
			`[]`, `"text"`, `42`, `null`, `true`, `{}`, `[`+event+`]`, `{"type":"res"}`, `{"type":"event"}`, `{"type":7}`,
			`{"type":"event","event":7,"payload":{}}`, `{"type":"res","id":7,"ok":"yes","payload":[]}`,
			`{"type":"res","id":null,"ok":true}`, `{"type":"req","id":"1","method":methodConnect}`, `{"type":"event","event":""}`,
			strings.Repeat(`[`, 9_000)+strings.Repeat(`]`, 9_000),
		)
	case BinaryFrame:
		return []demo.Packet{
			{Kind: websocket.MessageBinary, Data: []byte(event)},
			{Kind: websocket.MessageBinary, Data: []byte(`{"type":"res","id":"1","ok":true,"payload":{}}`)},
		}
	case InvalidUTF8:
		return textPackets("{\"type\":\"event\",\"event\":\"ti\xff\xfeck\",\"payload\":{\"text\":\"\xc3\x28\"}}")
	case StrayAnswer:
		return textPackets(
			`{"type":"res","id":"nobody-asked","ok":true,"payload":{"status":"ok"}}`,
			`{"type":"res","id":"nobody-asked","ok":false,"error":{"code":"UNAVAILABLE","message":"nobody asked"}}`,
		)
	case UnknownEvent:
		var out []demo.Packet
		for _, payload := range []string{`{"forecast":"rain"}`, `"rain"`, `null`} {
			seq := ""
			if c.ready && after.Name != methodConnect {
				c.seq++
				c.shift++
				seq = fmt.Sprintf(`,"seq":%d`, c.seq)
			}
			out = append(out, textPackets(`{"type":"event","event":"weather.changed","payload":`+payload+seq+`}`)...)
		}
		return out
	case WrongTypes, ExtraMembers, MissingMembers, ControlCharacters:
	}
	return nil
}

func textPackets(list ...string) []demo.Packet {
	out := make([]demo.Packet, len(list))
	for i, s := range list {
		out[i] = textPacket([]byte(s))
	}
	return out
}

// decoded converts a frame to the types that a generic JSON decoder would return.
func decoded(frame object) any {
	d := json.NewDecoder(bytes.NewReader(demo.Encode(frame)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("faults: decode frame: %v", err))
	}
	return v
}

// walk replaces each value in a JSON document, from the leaves up, with the result of calling
// change. The name passed to change is the value's member name. For a value in a list, it is
// the list's member name.
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

// changeMembers returns a function that copies the frame and applies a change to every value in the
// given members.
func changeMembers(frame object, members ...string) func(func(string, any) any) object {
	return func(change func(string, any) any) object {
		out := as[object](decoded(frame))
		for _, k := range members {
			if v, ok := out[k]; ok {
				out[k] = walk(v, change)
			}
		}
		return out
	}
}

// changeType returns a value of a different JSON type than v, or v itself if it is an
// object.
func changeType(_ string, v any) any {
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

// as returns v as a value of type T, or the zero value if v has another type.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}
