package faults

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/demo"
)

// badPackets returns the received packets that are not valid frames.
func (c *client) badPackets() (bad []demo.Packet) {
	for _, p := range c.wire() {
		var f struct{ Type, ID, Event string }
		if p.Kind != websocket.MessageText || !utf8.Valid(p.Data) || json.Unmarshal(p.Data, &f) != nil || f.Type == "" {
			bad = append(bad, p)
		}
	}
	return bad
}

// The client tests depend on these frames, so they must really be sent, and the valid
// frames must still arrive.
func TestGarble(t *testing.T) {
	t.Parallel()
	for kind, there := range map[Garbage]func(*client) bool{
		NotJSON:    func(c *client) bool { return c.has("") && c.has("{") && c.has("not json at all") },
		WrongShape: func(c *client) bool { return c.has(`[]`) && c.has(`null`) && c.has(`{"type":"res"}`) && c.has(`42`) },
		BinaryFrame: func(c *client) bool {
			return len(c.badPackets()) == 2 && c.badPackets()[0].Kind == websocket.MessageBinary && json.Valid(c.badPackets()[0].Data)
		},
		InvalidUTF8:  func(c *client) bool { return len(c.badPackets()) == 1 && !utf8.Valid(c.badPackets()[0].Data) },
		StrayAnswer:  func(c *client) bool { return len(c.named("nobody-asked")) == 2 },
		UnknownEvent: func(c *client) bool { return c.event("weather.changed") != nil },
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := open(t, demo.Options{})
			c := join(t, r)
			c.garbled = true
			before := len(c.wire())
			r.Garble(kind)
			c.ok("health", object{})
			r.Garble()
			c.ok("agents.list", object{}) // everything that followed the first answer has arrived
			after := c.wire()
			if !there(c) {
				t.Errorf("after the answer came %s", list(after[before:]))
			}
			c.ok("models.list", object{})
			if n := len(c.wire()) - len(after); n != 1 {
				t.Errorf("after Heal, %d frames arrived for one answer", n)
			}
			c.numbered()
		})
	}
}

// numbered checks that the events so far are numbered without a gap.
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

// named returns the answers to a request id.
func (c *client) named(id string) (all []object) {
	for _, f := range c.seen() {
		if f["id"] == id {
			all = append(all, f)
		}
	}
	return all
}

// has reports whether exactly this frame arrived.
func (c *client) has(frame string) bool {
	for _, p := range c.wire() {
		if string(p.Data) == frame {
			return true
		}
	}
	return false
}

func list(packets []demo.Packet) string {
	var b strings.Builder
	for _, p := range packets {
		b.WriteString("\n" + string(p.Data[:min(100, len(p.Data))]))
	}
	return b.String()
}

// Answers can be garbled, and are normal again after Heal.
func TestGarbleAnswers(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
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
	first := as[object](must[[]any](t, f, "payload", "agents")[0])
	if first["id"] != "coo" || len(first) != 1 || f["ok"] != true {
		t.Errorf("missing members: %v", f)
	}
	f = ask(ControlCharacters)
	first = as[object](must[[]any](t, f, "payload", "agents")[0])
	if name := as[string](first["name"]); !strings.Contains(name, "\x00") || !strings.Contains(name, "\u202e") || first["id"] != "coo" {
		t.Errorf("control characters: %q", name)
	}
	if wire := c.wire(); !bytes.Contains(wire[len(wire)-1].Data, []byte(`\ud800`)) {
		t.Error("no half of a surrogate pair")
	}
	f = ask()
	first = as[object](must[[]any](t, f, "payload", "agents")[0])
	if f["x-unheard-of"] != nil || first["name"] != "COO" || first["identity"] == nil {
		t.Errorf("healed: %v", f)
	}
}
