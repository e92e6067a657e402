package demo

import (
	"context"
	"net/http"
)

// PortMode selects what answers at the runtime's port.
type Door uint8

// The port modes. All except PortNormal answer probes and upgrades alike.
const (
	OpenDoor   Door = iota // the runtime itself
	PageDoor               // a proxy that doesn't support upgrades: 200 and a web page
	BrokenDoor             // a proxy that can't reach its gateway: 502 and a web page
	BusyDoor               // an overloaded proxy or gateway: 503 and Retry-After in seconds
	MovedDoor              // a redirect to another host: 302
	ProxyDoor              // the gateway refusing an untrusted proxy: 403
	MuteDoor               // accepts connections and never answers, not even the TLS handshake
	ResetDoor              // resets the connection as soon as a request arrives
)

// SetPort sets what answers new connections. Existing connections stay. PortNormal restores
// normal behavior.
func (r *Runtime) Front(d Door) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.enter(d)
}

// setPort changes the port mode and releases the connections held by PortSilent.
func (f *faults) enter(d Door) {
	if f.bell != nil {
		close(f.bell)
		f.bell = nil
	}
	if f.door = d; d == MuteDoor {
		f.bell = make(chan struct{})
	}
}

// proxyRefusal is the real gateway's answer to a proxy that it doesn't trust.
const refuseDoor = `{"error":{"message":"Proxy client attribution is required..","type":"proxy_attribution_required"}}`

// answeredAtPort answers a request according to the port mode. It reports whether it did;
// if not, the runtime answers.
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
		_, _ = w.Write([]byte(body)) // the client may be gone
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

// waitAdmitted waits while the port is silent or the runtime frozen. It reports whether the
// request may proceed; if not, its context or the runtime has ended.
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
