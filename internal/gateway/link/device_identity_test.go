package link

import (
	"crypto/ed25519"
	"testing"
)

// A device that is removed while its connection is being made must not be used for
// requests, whether it is removed just before or just after the connection is attached.
func TestGivenUpWhileConnecting(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	for _, early := range []bool{true, false} {
		c, err := New(Options{URL: "ws://127.0.0.1:1", Token: "a-token-of-the-gateway-0123456789"})
		if err != nil {
			t.Fatal(err)
		}
		c.SetIdentity(Identity{Key: key})
		c.applyIdentity()
		k := newConn(c)
		if early {
			c.SetIdentity(Identity{})
		}
		attached := c.attach(k, hello{}) == nil
		if !early {
			c.SetIdentity(Identity{})
		}
		if ended := k.life.Err() != nil; attached == early || ended == early || (c.conn == k) == early {
			t.Errorf("given up before it was attached: %t; attached %t, ended %t", early, attached, ended)
		}
		c.applyIdentity()
		if c.outdated() || c.attach(newConn(c), hello{}) != nil {
			t.Error("the next connection is not taken")
		}
		k.end(nil)
	}
}
