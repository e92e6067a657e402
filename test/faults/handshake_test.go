package faults

import (
	"maps"
	"testing"

	"wardroom/internal/gateway/demo"
)

// A valid connect gets the same answer as from the real gateway.
func TestConnect(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := dial(t, r, nil)
	sameShape(t, "challenge", recording(t, "responses.json", "connect.challenge"), without(c.event("connect.challenge"), "seq"))
	got := c.call("connect", hello(nil))
	sameShape(t, "hello", recording(t, "responses.json", "hello-ok"), got, "/payload/pluginSurfaceUrls")
}

// without returns a copy of o without the given members.
func without(o object, keys ...string) object {
	c := maps.Clone(o)
	for _, k := range keys {
		delete(c, k)
	}
	return c
}
