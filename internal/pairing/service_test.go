package pairing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/vault"
	"wardroom/test/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	shared = "the-shared-token-of-the-gateway-0123"
	keyA   = "a-key-of-this-test-which-is-long-enough-A"
	keyB   = "a-key-of-this-test-which-is-long-enough-B"
)

// runtimeOf returns a gateway that accepts only paired devices.
func runtimeOf(t *testing.T) *faults.Runtime {
	t.Helper()
	r, err := faults.Start(context.Background(), demo.Options{Token: shared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.RequirePairing(true)
	return r
}

// process is a replica: a client and the service that manages its device.
type process struct {
	*pairing.Service
	t      *testing.T
	client *gateway.Client
	log    *record
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// record collects what is written to it, from any goroutine.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// start runs a replica. change, if not nil, modifies the service before it loads.
func start(t *testing.T, d *db.DB, r *faults.Runtime, change func(*pairing.Service, *link.Options)) *process {
	t.Helper()
	log := &record{}
	p := &process{t: t, log: log}
	opt := link.Options{
		URL: r.URL(), Token: shared, Scopes: []string{"operator.read", "operator.write"}, Timeout: 5 * time.Second,
		Backoff: link.Backoff{Min: 2 * time.Millisecond, Max: 20 * time.Millisecond, Quick: 10 * time.Millisecond, Pairing: 10 * time.Millisecond},
		Log:     slog.New(slog.NewTextHandler(log, nil)),
	}
	p.Service = &pairing.Service{
		DB: d, Keys: vault.Source{Key: keyA}, Log: opt.Log, Now: clock.Now,
		Every: 20 * time.Millisecond, Ask: 20 * time.Millisecond,
	}
	if change != nil {
		change(p.Service, &opt)
	}
	client, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	p.client, p.Runtime = client, client
	client.OnDeviceEvent(p.HandleEvent)
	if err := p.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	for _, run := range []func(context.Context) error{client.Run, p.Run} {
		p.ended.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(p.stop)
	return p
}

func (p *process) stop() {
	p.cancel()
	p.ended.Wait()
}

// becomes waits until the pairing satisfies ok.
func (p *process) becomes(what string, ok func(pairing.Pairing) bool) pairing.Pairing {
	p.t.Helper()
	var is pairing.Pairing
	late := time.Now().Add(20 * time.Second)
	for {
		var err error
		if is, err = p.Show(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
		if ok(is) {
			return is
		}
		if time.Now().After(late) {
			p.t.Fatalf("never %s: %+v device %+v request %+v next %+v\n%s", what, is, is.Device, is.Request, is.Next, p.log)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func state(s pairing.State) func(pairing.Pairing) bool {
	return func(p pairing.Pairing) bool { return p.State == s }
}

// admin returns the context of a user who may manage the pairing.
func admin(t *testing.T) context.Context {
	return actor.With(t.Context(), actor.Actor{ID: "0199a0b4-5c00-7000-8000-000000000001", Name: "Ada", Role: actor.Admin})
}

// pair creates a device and has it approved.
func (p *process) pair(r *faults.Runtime) pairing.Pairing {
	p.t.Helper()
	if _, made, err := p.Start(admin(p.t)); err != nil || !made {
		p.t.Fatalf("made %t, %v", made, err)
	}
	is := p.becomes("pending", func(is pairing.Pairing) bool { return is.State == pairing.Pending && is.Request != nil })
	if !r.Approve(is.Request.RequestID) {
		p.t.Fatal("the gateway knows of no such request")
	}
	return p.paired()
}

// paired waits until the device's token is stored and the connection is up.
func (p *process) paired() pairing.Pairing {
	p.t.Helper()
	return p.becomes("paired", func(is pairing.Pairing) bool {
		return is.State == pairing.Paired && is.TokenSince != nil && is.Connection == link.Connected
	})
}

// reconnects waits for another connection.
func (p *process) reconnects(r *faults.Runtime) link.Status {
	p.t.Helper()
	made := p.client.Connections()
	r.Drop()
	late := time.Now().Add(20 * time.Second)
	for p.client.Connections() == made || p.client.Status().State != link.Connected {
		if time.Now().After(late) {
			p.t.Fatalf("never connected again: %+v", p.client.Status())
		}
		<-time.After(2 * time.Millisecond)
	}
	return p.client.Status()
}

// The whole life of a device: created, approved, connected with its own token, and
// forgotten.
func TestPairing(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		p := start(t, d, r, nil)
		is := p.becomes("told that there is no device", func(is pairing.Pairing) bool { return is.Connection == link.Unpaired })
		if is.State != pairing.None || is.Device != nil || !strings.Contains(is.Detail, "Pair Wardroom") || strings.Contains(is.Detail, "/api/") {
			t.Errorf("before it begins: %+v", is)
		}
		if _, made, err := p.Start(admin(t)); err != nil || !made {
			t.Fatalf("made %t, %v", made, err)
		}
		is = p.becomes("pending", state(pairing.Pending))
		pending := r.Pending()
		if len(pending) != 1 || is.Request == nil || is.Request.Command != "openclaw devices approve "+pending[0].ID ||
			is.Device.ID != pending[0].DeviceID || is.Device.PublicKey != pending[0].PublicKey || len(is.Device.Fingerprint) != 95 {
			t.Fatalf("it shows %+v %+v, and the gateway %+v", is.Device, is.Request, pending)
		}
		if len(is.Missing) != 3 || is.Missing[0].Scope != "operator.read" || !strings.Contains(is.Missing[0].Fix, is.Request.Command) || len(is.Missing[1].NeededFor) == 0 ||
			is.Missing[2].Scope != "operator.admin" || is.Missing[2].Asked || !strings.Contains(is.Missing[2].Fix, "AGENTRT_GATEWAY_SCOPES") {
			t.Errorf("missing: %+v", is.Missing)
		}
		if again, made, err := p.Start(admin(t)); err != nil || made || again.Device.ID != is.Device.ID {
			t.Errorf("asked again: %+v, %t, %v", again.Device, made, err)
		}
		r.Approve(is.Request.RequestID)
		is = p.paired()
		if is.Request != nil || len(is.Missing) != 1 || is.Device.Remove != "openclaw devices remove "+is.Device.ID {
			t.Errorf("paired: %+v", is)
		}
		if st := p.reconnects(r); st.Auth != "device_token" {
			t.Errorf("it comes back with %s", st.Auth)
		}
		p.stop()

		p = start(t, d, r, func(_ *pairing.Service, o *link.Options) { o.Token = "" }) // the device token is enough
		if is = p.paired(); is.Auth != "device_token" {
			t.Errorf("after a restart it shows the %s", is.Auth)
		}
		p.stop()

		p = start(t, d, r, nil)
		gone, err := p.Forget(admin(t))
		if err != nil || len(gone.Devices) != 1 || gone.Devices[0].ID != is.Device.ID {
			t.Errorf("forgot %+v, %v", gone, err)
		}
		p.becomes("forgotten", func(is pairing.Pairing) bool { return is.State == pairing.None && is.Connection == link.Unpaired })
		if _, err := p.Forget(admin(t)); !errors.Is(err, pairing.ErrNone) {
			t.Errorf("forgot again: %v", err)
		}
		for _, kind := range []string{"pairing.started", "pairing.let_in", "pairing.forgotten"} {
			if n := count(t, d, kind); n != 1 {
				t.Errorf("the audit has %d of %s", n, kind)
			}
		}
	})
}

func count(t *testing.T, d *db.DB, kind string) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE class = 'audit' AND kind = ?`, kind).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// If the gateway replaces or revokes the token, Wardroom reconnects and stores the
// token that works.
func TestTokenIsReplaced(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		p := start(t, d, r, nil)
		id := p.pair(r).Device.ID
		p.reconnects(r)
		before := sealed(t, d)
		r.RotateToken(id)
		p.reconnects(r)
		p.becomes("kept", func(pairing.Pairing) bool { now := sealed(t, d); return now != "" && now != before })
		if st := p.reconnects(r); st.Auth != "device_token" {
			t.Errorf("with the new token it shows the %s", st.Auth)
		}
		if !strings.Contains(p.log.String(), "refused the device token") {
			t.Errorf("the log says nothing: %s", p.log)
		}
		r.Remove(id)
		is := p.becomes("asked for anew", func(is pairing.Pairing) bool { return is.State == pairing.Pending && is.TokenSince == nil })
		r.Approve(is.Request.RequestID)
		if p.paired().Device.ID != id {
			t.Error("another device was made")
		}
	})
}

func sealed(t *testing.T, d *db.DB) (token string) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT sealed_token FROM pairing_devices WHERE place = 'current'`).Scan(&token); err != nil {
		t.Fatal(err)
	}
	return token
}

// On the gateway's own host nothing needs approval: the pairing shows no pending
// request and no approved device.
func TestLocal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		r.RequirePairing(false)
		p := start(t, d, r, nil)
		if _, _, err := p.Start(admin(t)); err != nil {
			t.Fatal(err)
		}
		is := p.becomes("local", state(pairing.Local))
		if is.TokenSince != nil || !strings.Contains(is.Detail, "without approval") {
			t.Errorf("it shows %+v", is)
		}
		if _, _, err := p.Rotate(admin(t)); err != nil {
			t.Fatal(err)
		}
		p.becomes("another device", func(now pairing.Pairing) bool {
			return now.State == pairing.Local && now.Device.ID != is.Device.ID && now.Next == nil
		})
	})
}

// The key pair is replaced without a gap: the old one is used until the new one is
// approved.
func TestRotate(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		p := start(t, d, r, nil)
		if _, _, err := p.Rotate(admin(t)); !errors.Is(err, pairing.ErrNone) {
			t.Errorf("without a device: %v", err)
		}
		first := p.pair(r).Device
		made := p.client.Connections()
		_, ok, err := p.Rotate(admin(t))
		if err != nil || !ok {
			t.Fatalf("made %t, %v", ok, err)
		}
		asked := func(is pairing.Pairing) bool { return is.Next != nil && is.Next.Request != nil }
		is := p.becomes("the next one asked for", asked)
		if is.State != pairing.Paired || is.Device.ID != first.ID || is.Next.Device.ID == first.ID || is.Connection != link.Connected || p.client.Connections() != made {
			t.Errorf("meanwhile it shows %+v", is)
		}
		if again, ok, err := p.Rotate(admin(t)); err != nil || ok || again.Next.Device.ID != is.Next.Device.ID {
			t.Errorf("asked again: %+v, %t, %v", again.Next, ok, err)
		}
		if _, err := p.CancelRotation(admin(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.CancelRotation(admin(t)); !errors.Is(err, pairing.ErrNone) {
			t.Errorf("kept again: %v", err)
		}
		if _, _, err := p.Rotate(admin(t)); err != nil {
			t.Fatal(err)
		}
		dropped := is.Next.Device.ID
		is = p.becomes("another one asked for", func(is pairing.Pairing) bool { return asked(is) && is.Next.Device.ID != dropped })
		r.Approve(is.Next.Request.RequestID)
		then := is.Next.Device.ID
		is = p.becomes("replaced", func(is pairing.Pairing) bool {
			return is.State == pairing.Paired && is.Device.ID == then && is.Connection == link.Connected && p.client.Status().DeviceID == then
		})
		if is.Next != nil || is.Replaced == nil || is.Replaced.ID != first.ID || is.TokenSince == nil {
			t.Errorf("replaced, it shows %+v", is)
		}
		r.Remove(first.ID)
		if st := p.reconnects(r); st.Auth != "device_token" || st.DeviceID != then {
			t.Errorf("it comes back as %s with %s", st.DeviceID, st.Auth)
		}
		gone, err := p.Forget(admin(t))
		if err != nil || len(gone.Devices) != 2 {
			t.Errorf("forgot %+v, %v", gone, err)
		}
	})
}

// All replicas share one device and learn of its changes.
func TestReplicas(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.URL(t, db.Postgres))
	r := runtimeOf(t)
	a, b := start(t, d, r, nil), start(t, d, r, nil)
	b.becomes("unpaired", func(is pairing.Pairing) bool { return is.Connection == link.Unpaired })
	var made sync.WaitGroup
	won := make(chan bool, 2)
	for _, p := range []*process{a, b} {
		made.Go(func() {
			_, ok, err := p.Start(admin(t))
			if err != nil {
				t.Error(err)
			}
			won <- ok
		})
	}
	made.Wait()
	if x, y := <-won, <-won; x == y {
		t.Errorf("made %t and %t: one of them makes the device", x, y)
	}
	is := a.becomes("pending", func(is pairing.Pairing) bool { return is.State == pairing.Pending && is.Request != nil })
	if len(r.Pending()) != 1 {
		t.Errorf("they ask as %+v", r.Pending())
	}
	r.Approve(is.Request.RequestID)
	if x, y := a.paired(), b.paired(); x.Device.ID != y.Device.ID {
		t.Errorf("they are %s and %s", x.Device.ID, y.Device.ID)
	}
	if _, _, err := b.Rotate(admin(t)); err != nil {
		t.Fatal(err)
	}
	is = a.becomes("the next one asked for", func(is pairing.Pairing) bool { return is.Next != nil && is.Next.Request != nil })
	r.Approve(is.Next.Request.RequestID)
	for _, p := range []*process{a, b} {
		p.becomes("replaced", func(now pairing.Pairing) bool {
			return now.Device.ID == is.Next.Device.ID && now.Connection == link.Connected && p.client.Status().DeviceID == is.Next.Device.ID
		})
	}
	if _, err := b.Forget(admin(t)); err != nil {
		t.Fatal(err)
	}
	a.becomes("forgotten", func(is pairing.Pairing) bool {
		return is.State == pairing.None && a.client.Status().DeviceID == "" && is.Connection == link.Unpaired
	})
}

// A service that also requests operator.admin keeps working with the scopes that are
// already approved. Both connections share one device and one approval.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		p := start(t, d, r, nil)
		if is := p.pair(r); len(is.Connections) != 1 || is.Connections[0].Purpose != link.Everything {
			t.Errorf("without operator.admin: %+v", is.Connections)
		}
		p.stop()
		p = start(t, d, r, func(_ *pairing.Service, o *link.Options) { o.Scopes = append(o.Scopes, "operator.admin") })
		is := p.becomes("pending for more", func(is pairing.Pairing) bool {
			return is.State == pairing.Pending && is.Request != nil && is.Connection == link.MissingScopes
		})
		if len(is.Missing) != 1 || is.Missing[0].Scope != "operator.admin" || !strings.Contains(is.Missing[0].Fix, is.Request.Command) {
			t.Errorf("missing: %+v", is.Missing)
		}
		if c := is.Connections; len(c) != 2 || c[0].Purpose != link.StartsRuns || c[0].State != link.Connected || c[1].State != link.Unpaired {
			t.Errorf("connections: %+v", c)
		}
		if n := len(r.Pending()); n != 1 {
			t.Errorf("%d requests wait", n)
		}
		r.Approve(is.Request.RequestID)
		is = p.paired()
		if c := is.Connections; len(c) != 2 || len(c[0].ScopesGranted) != 2 || len(c[1].ScopesGranted) != 3 || len(is.Missing) != 0 {
			t.Errorf("approved: %+v, missing %+v", c, is.Missing)
		}
	})
}
