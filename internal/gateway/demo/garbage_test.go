package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// junk are the things on the wire that no client should have to read.
func (c *client) junk() (bad []packet) {
	for _, p := range c.wire() {
		var f struct{ Type, ID, Event string }
		if p.kind != websocket.MessageText || !utf8.Valid(p.data) || json.Unmarshal(p.data, &f) != nil || f.Type == "" {
			bad = append(bad, p)
		}
	}
	return bad
}

// A client is held against these frames; if they were not on the wire, it would
// be held against nothing. And the proper ones must still come.
func TestGarble(t *testing.T) {
	t.Parallel()
	for kind, there := range map[Garbage]func(*client) bool{
		NotJSON:    func(c *client) bool { return c.has("") && c.has("{") && c.has("not json at all") },
		WrongShape: func(c *client) bool { return c.has(`[]`) && c.has(`null`) && c.has(`{"type":"res"}`) && c.has(`42`) },
		BinaryFrame: func(c *client) bool {
			return len(c.junk()) == 2 && c.junk()[0].kind == websocket.MessageBinary && json.Valid(c.junk()[0].data)
		},
		InvalidUTF8:  func(c *client) bool { return len(c.junk()) == 1 && !utf8.Valid(c.junk()[0].data) },
		StrayAnswer:  func(c *client) bool { return len(c.named("nobody-asked")) == 2 },
		UnknownEvent: func(c *client) bool { return c.event("weather.changed") != nil },
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := open(t, Options{})
			c := join(t, r)
			c.garbled = true
			before := len(c.wire())
			r.Garble(kind)
			c.ok("health", object{})
			r.Garble()
			c.ok("agents.list", object{}) // whatever followed the first answer has arrived
			after := c.wire()
			if !there(c) {
				t.Errorf("after the answer came %s", list(after[before:]))
			}
			c.ok("status", object{})
			if n := len(c.wire()) - len(after); n != 1 {
				t.Errorf("healed, %d frames came for one answer", n)
			}
			c.numbered()
		})
	}
}

// numbered checks that the events so far were counted without a gap.
func (c *client) numbered() {
	c.t.Helper()
	next := 1.0
	for _, f := range c.seen() {
		if seq, ok := f["seq"].(float64); ok {
			if seq != next {
				c.t.Errorf("event %v has number %v, want %v", f["event"], seq, next)
			}
			next = seq + 1
		}
	}
}

// named are the answers to an id.
func (c *client) named(id string) (all []object) {
	for _, f := range c.seen() {
		if f["id"] == id {
			all = append(all, f)
		}
	}
	return all
}

// has says whether exactly this came.
func (c *client) has(frame string) bool {
	for _, p := range c.wire() {
		if string(p.data) == frame {
			return true
		}
	}
	return false
}

func list(packets []packet) string {
	var b strings.Builder
	for _, p := range packets {
		b.WriteString("\n" + clip(string(p.data), 100))
	}
	return b.String()
}

// The answers themselves may be bad, and healed they must be as they were.
func TestGarbleAnswers(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	ask := func(kinds ...Garbage) object {
		r.Garble(kinds...)
		return c.call("agents.list", object{})
	}
	if f := ask(WrongTypes); dig[object](f, "payload", "agents") == nil || dig[float64](f, "payload", "defaultId") != 3 {
		t.Errorf("wrong types: %v", f)
	}
	if f := ask(ExtraMembers); f["x-unheard-of"] == nil || dig[object](f, "payload", "x-unheard-of") == nil {
		t.Errorf("extra members: %v", f)
	}
	f := ask(MissingMembers)
	first := only[object](must[[]any](t, f, "payload", "agents")[0])
	if first["id"] != "coo" || len(first) != 1 || f["ok"] != true {
		t.Errorf("missing members: %v", f)
	}
	f = ask(ControlCharacters)
	first = only[object](must[[]any](t, f, "payload", "agents")[0])
	if name := only[string](first["name"]); !strings.Contains(name, "\x00") || !strings.Contains(name, "\u202e") || first["id"] != "coo" {
		t.Errorf("control characters: %q", name)
	}
	if wire := c.wire(); !bytes.Contains(wire[len(wire)-1].data, []byte(`\ud800`)) {
		t.Error("no half of a surrogate pair")
	}
	f = ask()
	first = only[object](must[[]any](t, f, "payload", "agents")[0])
	if f["x-unheard-of"] != nil || first["name"] != "COO" || first["identity"] == nil {
		t.Errorf("healed: %v", f)
	}
}

// The handshake may be bad, too.
func TestGarbleHandshake(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	r.Garble(NotJSON, WrongTypes)
	c := dial(t, r, nil)
	c.garbled = true
	if nonce := c.event("connect.challenge")["payload"]; dig[float64](nonce, "nonce") != 36 {
		t.Errorf("challenge %v", nonce)
	}
	if got := c.ok("connect", hello(nil)); dig[object](got, "auth", "scopes") == nil {
		t.Errorf("hello %v", got)
	}
	if !c.has("{") {
		t.Error("no garbage after the challenge")
	}
}

// Tests may need a frame that nobody has thought of.
func TestInject(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	stranger, c := dial(t, r, nil), join(t, r)
	c.garbled = true
	r.Inject([]byte(`{"half`), false)
	r.Inject([]byte{0, 1, 2}, true)
	c.ok("health", object{})
	if !c.has(`{"half`) || !c.has("\x00\x01\x02") {
		t.Errorf("came %s", list(c.wire()))
	}
	stranger.event("connect.challenge")
	if len(stranger.wire()) != 1 {
		t.Error("one who is not connected got it, too")
	}
}
