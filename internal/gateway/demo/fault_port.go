package demo

import (
	"context"
	"net/http"
)

// Door is what answers at the runtime's port.
type Door uint8

// The doors. All but the first answer probes and upgrades alike.
const (
	OpenDoor   Door = iota // the runtime itself
	PageDoor               // a proxy that does not know upgrades: 200 and a web page
	BrokenDoor             // a proxy whose gateway is away: 502 and a web page
	BusyDoor               // a proxy or gateway that cannot take more: 503 with Retry-After, in seconds
	MovedDoor              // somebody who sends everyone elsewhere: 302
	ProxyDoor              // the gateway, which refuses a proxy that it does not trust: 403
	MuteDoor               // nobody: the connection is accepted and never answered, with TLS not even its handshake
	ResetDoor              // nobody: the connection is reset as soon as something is asked
)

// Front puts a door before the runtime for everybody who comes from now on.
// Connections that exist stay. OpenDoor heals.
func (r *Runtime) Front(d Door) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.enter(d)
}

// enter changes the door and wakes those who wait at the mute one.
func (f *faults) enter(d Door) {
	if f.bell != nil {
		close(f.bell)
		f.bell = nil
	}
	if f.door = d; d == MuteDoor {
		f.bell = make(chan struct{})
	}
}

// refuseDoor is what the real gateway answers to proxies that it does not trust.
const refuseDoor = `{"error":{"message":"Proxy client attribution is required..","type":"proxy_attribution_required"}}`

// stopsAt answers a request in the place of the runtime, and says whether it did.
func (r *Runtime) stopsAt(b *boot, w http.ResponseWriter, req *http.Request) bool {
	if !r.admitted(req.Context(), b) {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	r.mu.Lock()
	door := r.faults.door
	r.mu.Unlock()
	page := func(status int, kind, body string) bool {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // who went away needs no answer
		return true
	}
	switch door {
	case PageDoor:
		return page(http.StatusOK, "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><h1>It works!</h1>\n")
	case BrokenDoor:
		return page(http.StatusBadGateway, "text/html; charset=utf-8", "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
	case BusyDoor:
		w.Header().Set("Retry-After", "7")
		return page(http.StatusServiceUnavailable, "text/plain; charset=utf-8", "Service Unavailable\n")
	case MovedDoor:
		w.Header().Set("Location", "https://elsewhere.invalid/")
		return page(http.StatusFound, "text/plain; charset=utf-8", "Found\n")
	case ProxyDoor:
		return page(http.StatusForbidden, "application/json; charset=utf-8", refuseDoor)
	case ResetDoor:
		reset(socketOf(req.Context()))
		panic(http.ErrAbortHandler)
	case OpenDoor, MuteDoor:
	}
	return false
}

// admitted keeps whoever comes waiting at a mute door, and in the frost. It
// says whether they may go on.
func (r *Runtime) admitted(ctx context.Context, b *boot) bool {
	r.mu.Lock()
	wait := r.faults.bell
	if wait == nil {
		wait = r.faults.ice
	}
	if wait == nil || b.draining {
		r.mu.Unlock()
		return true
	}
	r.work.Add(1)
	r.mu.Unlock()
	defer r.work.Done()
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	select {
	case <-wait:
		return r.admitted(ctx, b)
	case <-ctx.Done():
	case <-b.ctx.Done():
	case <-r.ctx.Done():
	}
	return false
}
