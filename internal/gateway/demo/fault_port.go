package demo

import (
	"context"
	"net/http"
)

// PortMode selects what answers connections to the runtime's port.
type PortMode uint8

// Port modes. All except PortNormal treat health probes and WebSocket upgrades alike.
const (
	PortNormal       PortMode = iota // the runtime itself
	PortWebPage                      // a proxy that doesn't support upgrades: 200 and a web page
	PortBadGateway                   // a proxy that can't reach its gateway: 502 and a web page
	PortUnavailable                  // an overloaded proxy or gateway: 503 and Retry-After in seconds
	PortRedirect                     // a redirect to another host: 302
	PortProxyRefused                 // the gateway refusing an untrusted proxy: 403
	PortSilent                       // accepts connections and never answers, not even the TLS handshake
	PortReset                        // resets the connection as soon as a request arrives
)

// SetPort selects what answers new connections to the runtime's port. Existing
// connections stay open. PortNormal restores normal behavior.
func (r *Runtime) SetPort(d PortMode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.setPort(d)
}

// setPort changes the port mode and releases the connections that the mode PortSilent
// held.
func (f *faults) setPort(d PortMode) {
	if f.portReleased != nil {
		close(f.portReleased)
		f.portReleased = nil
	}
	if f.port = d; d == PortSilent {
		f.portReleased = make(chan struct{})
	}
}

// proxyRefusal is the real gateway's response to a proxy that it doesn't trust.
const proxyRefusal = `{"error":{"message":"Proxy client attribution is required..","type":"proxy_attribution_required"}}`

// answeredAtPort answers a request in place of the runtime if the current port mode requires it, and reports whether
// it did.
func (r *Runtime) answeredAtPort(b *boot, w http.ResponseWriter, req *http.Request) bool {
	if !r.waitAdmitted(req.Context(), b) {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	r.mu.Lock()
	mode := r.faults.port
	r.mu.Unlock()
	page := func(status int, kind, body string) bool {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may be gone
		return true
	}
	switch mode {
	case PortWebPage:
		return page(http.StatusOK, "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><h1>It works!</h1>\n")
	case PortBadGateway:
		return page(http.StatusBadGateway, "text/html; charset=utf-8", "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
	case PortUnavailable:
		w.Header().Set("Retry-After", "7")
		return page(http.StatusServiceUnavailable, "text/plain; charset=utf-8", "Service Unavailable\n")
	case PortRedirect:
		w.Header().Set("Location", "https://elsewhere.invalid/")
		return page(http.StatusFound, "text/plain; charset=utf-8", "Found\n")
	case PortProxyRefused:
		return page(http.StatusForbidden, "application/json; charset=utf-8", proxyRefusal)
	case PortReset:
		reset(socketOf(req.Context()))
		panic(http.ErrAbortHandler)
	case PortNormal, PortSilent:
	}
	return false
}

// waitAdmitted waits while the port is silent or the runtime is frozen. It returns false
// if the request's context or the runtime ends first.
func (r *Runtime) waitAdmitted(ctx context.Context, b *boot) bool {
	r.mu.Lock()
	wait := r.faults.portReleased
	if wait == nil {
		wait = r.faults.frozen
	}
	if wait == nil || b.draining {
		r.mu.Unlock()
		return true
	}
	r.work.Add(1)
	r.mu.Unlock()
	defer r.work.Done()
	r.heldAtPort.Add(1)
	defer r.heldAtPort.Add(-1)
	select {
	case <-wait:
		return r.waitAdmitted(ctx, b)
	case <-ctx.Done():
	case <-b.ctx.Done():
	case <-r.ctx.Done():
	}
	return false
}
