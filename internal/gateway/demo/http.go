package demo

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"
)

// handler returns the HTTP handler for the runtime's port. It serves health probes, and
// WebSocket upgrades on any path.
func (r *Runtime) handler(b *boot) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
			r.serveSocket(b, w, req)
			return
		}
		r.serveProbe(b, w, req)
	})
}

// serveProbe answers health probes. They do not require a token.
func (r *Runtime) serveProbe(b *boot, w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	draining := b.draining
	r.mu.Unlock()
	uptime := time.Since(b.since).Milliseconds()
	status := http.StatusOK
	var body object
	switch req.URL.Path {
	case "/health", "/healthz":
		body = object{"ok": true, "status": "live"}
	case "/startup", "/startupz":
		body = object{"ok": !draining, "status": "started", "version": Version, "uptimeMs": uptime}
		if draining {
			status, body["status"] = http.StatusServiceUnavailable, "draining"
		}
	case "/ready", "/readyz":
		body = object{"ready": true, "uptimeMs": uptime}
	default:
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(Encode(body)) // the client may be gone
}

type socketKey struct{}

// withSocket adds a request's TCP connection to its context, so that Cut can close
// it without a close frame.
func withSocket(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, socketKey{}, c)
}

// socketOf returns the TCP connection over which a request arrived.
func socketOf(ctx context.Context) net.Conn {
	c, _ := ctx.Value(socketKey{}).(net.Conn)
	return c
}
