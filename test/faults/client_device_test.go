package faults

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// keyOf returns the n-th test key.
func keyOf(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

// clientWithEvents returns a client whose notices are recorded and that doesn't retry where only a
// person can help.
func clientWithEvents(t *testing.T, r *Runtime, change ...func(*link.Options)) (*gateway.Client, func() []link.DeviceEvent) {
	t.Helper()
	var mu sync.Mutex
	var heard []link.DeviceEvent
	o := link.Options{
		URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite}, Timeout: patience,
		Backoff: link.Backoff{Min: 2 * time.Millisecond, Max: time.Hour, Quick: 10 * time.Millisecond, Pairing: 5 * time.Millisecond},
	}
	for _, set := range change {
		set(&o)
	}
	c, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.OnDeviceEvent(func(n link.DeviceEvent) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, n)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c, func() []link.DeviceEvent {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
}

// deviceID returns the gateway's ID of the device with a key: the SHA-256 of its public key.
func deviceID(key ed25519.PrivateKey) string {
	sum := sha256.Sum256(key.Public().(ed25519.PublicKey)) //nolint:errcheck // it is one
	return hex.EncodeToString(sum[:])
}

// connectedAs waits until the client is connected as the given device, or without one.
func connectedAs(t *testing.T, c *gateway.Client, key ed25519.PrivateKey) link.Status {
	t.Helper()
	want := ""
	if key != nil {
		want = deviceID(key)
	}
	late := time.Now().Add(patience)
	for s := c.Status(); ; s = c.Status() {
		if s.State == link.Connected && s.DeviceID == want {
			return s
		}
		if time.Now().After(late) {
			t.Fatalf("is %s as %s (%s), want to be connected as %q", s.State, s.DeviceID, s.LastError, want)
		}
		<-time.After(time.Millisecond)
	}
}

// A device can be set or removed while the service runs, even if the next attempt is half a
// minute or more away.
func TestClientSetIdentity(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	c, _ := clientWithEvents(t, r)
	in(t, c, link.Unpaired) // without a device; the next attempt is an hour away
	c.SetIdentity(link.Identity{Key: keyOf(1)})
	late := time.Now().Add(patience)
	for len(r.Pending()) == 0 || c.Status().Pairing == nil {
		if time.Now().After(late) {
			t.Fatalf("it does not ask: %+v", c.Status())
		}
		<-time.After(time.Millisecond)
	}
	r.Approve(r.Pending()[0].ID)
	connectedAs(t, c, keyOf(1))
	made := c.Connections()
	c.SetIdentity(link.Identity{Key: keyOf(1), Token: "another-token-0123456789"})
	if c.Connections() != made || c.Status().State != link.Connected {
		t.Error("another token ended the connection")
	}
	r.RequirePairing(false)
	c.SetIdentity(link.Identity{Key: keyOf(2)})
	if s := connectedAs(t, c, keyOf(2)); s.Auth != "token" {
		t.Errorf("as another device it shows the %s", s.Auth)
	}
	c.SetIdentity(link.Identity{})
	connectedAs(t, c, nil)
	works(t, c, "run-after")
}

// The client must report what the gateway says about its device, because it is stored: a
// lost token costs another approval.
func TestClientReportsDeviceEvents(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	c, heard := clientWithEvents(t, r)
	key := keyOf(1)
	id := deviceID(key)
	c.SetIdentity(link.Identity{Key: key})
	in(t, c, link.Unpaired)
	late := time.Now().Add(patience)
	until := func(what string, ok func([]link.DeviceEvent) bool) {
		t.Helper()
		for !ok(heard()) {
			if time.Now().After(late) {
				t.Fatalf("never heard of %s: %+v", what, heard())
			}
			<-time.After(time.Millisecond)
		}
	}
	last := func(kind link.DeviceEventKind, token string) func([]link.DeviceEvent) bool {
		return func(all []link.DeviceEvent) bool {
			return len(all) > 0 && all[len(all)-1] == link.DeviceEvent{DeviceID: id, Kind: kind, Token: token, Gateway: r.URL()}
		}
	}
	for len(r.Pending()) == 0 {
		<-time.After(time.Millisecond)
	}
	r.Approve(r.Pending()[0].ID)
	connectedAs(t, c, key)
	first := r.DeviceToken(id)
	until("the token", last(link.TokenIssued, first))
	r.RotateToken(id)
	r.Drop()
	until("the other token", last(link.TokenIssued, r.DeviceToken(id)))
	refused := 0
	for _, n := range heard() {
		if n.Kind == link.TokenRefused && n.Token == first {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("that the first one was refused was told %d times: %+v", refused, heard())
	}
	r.RequirePairing(false)
	c.SetIdentity(link.Identity{Key: keyOf(3)})
	connectedAs(t, c, keyOf(3))
	if all := heard(); all[len(all)-1].Kind != link.AcceptedLocally || all[len(all)-1].Token != "" {
		t.Errorf("at last it heard %+v", all[len(all)-1])
	}
}

// Introducing another device must not affect the existing connection.
func TestIntroduce(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	made := c.Connections()
	r.RequirePairing(true)
	key := keyOf(7)
	first := c.Introduce(t.Context(), key)
	if first.State != link.Unpaired || first.Pairing == nil || first.Pairing.RequestID != r.Pending()[0].ID || first.Token != "" {
		t.Errorf("not approved: %+v", first)
	}
	r.Approve(first.Pairing.RequestID)
	if in := c.Introduce(t.Context(), key); in.State != link.Connected || in.Token != r.DeviceToken(deviceID(key)) || len(in.Scopes) != 2 {
		t.Errorf("approved: %s, scopes %v, %s", in.State, in.Scopes, in.Error)
	}
	r.RequirePairing(false)
	if in := c.Introduce(t.Context(), keyOf(8)); in.State != link.Connected || in.Token != "" {
		t.Errorf("on the gateway's own host: %s %s", in.State, in.Error)
	}
	r.LockOut(time.Minute)
	if in := c.Introduce(t.Context(), key); in.State != link.Unauthorized || in.After < 30*time.Second {
		t.Errorf("locked out: %s, not before %s", in.State, in.After)
	}
	r.LockOut(0)
	if c.Connections() != made || c.Status().State != link.Connected || c.Status().DeviceID != "" {
		t.Errorf("the connection noticed: %+v", c.Status())
	}
	said := fmt.Sprintf("%+v", c.Status())
	if strings.Contains(said, r.DeviceToken(deviceID(key))) {
		t.Error("the status has the token")
	}
}
