package gateway

import (
	"crypto/ed25519"
	"testing"
)

// A device that is given up while its connection is made must not be what requests
// go on with: neither when that is said just before they use it, nor just after.
func TestGivenUpWhileConnecting(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	for _, early := range []bool{true, false} {
		c, err := New(Options{URL: "ws://127.0.0.1:1", Token: "a-token-of-the-gateway-0123456789"})
		if err != nil {
			t.Fatal(err)
		}
		c.Become(Identity{Key: key})
		c.adopt()
		k := newConn(c)
		if early {
			c.Become(Identity{})
		}
		attached := c.attach(k, hello{}) == nil
		if !early {
			c.Become(Identity{})
		}
		if ended := k.life.Err() != nil; attached == early || ended == early || (c.conn == k) == early {
			t.Errorf("given up before it was attached: %t; attached %t, ended %t", early, attached, ended)
		}
		c.adopt()
		if c.outdated() || c.attach(newConn(c), hello{}) != nil {
			t.Error("the next connection is not taken")
		}
		k.end(nil)
	}
}
