package faults

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"wardroom/internal/gateway/demo"
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
	if r.faults.portReleased != nil {
		close(r.faults.portReleased)
		r.faults.portReleased = nil
	}
	if r.faults.port = d; d == PortSilent {
		r.faults.portReleased = make(chan struct{})
	}
}

// proxyRefusal is the real gateway's response to a proxy that it doesn't trust.
const proxyRefusal = `{"error":{"message":"Proxy client attribution is required..","type":"proxy_attribution_required"}}`

// atPort returns a handler that answers in place of the runtime if the port mode requires it.
func (r *Runtime) atPort(runtime http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		mode, starting := r.faults.port, r.faults.starting
		r.mu.Unlock()
		page := func(status int, kind, body string) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client may be gone
		}
		switch mode {
		case PortWebPage:
			page(http.StatusOK, "text/html; charset=utf-8", "<!doctype html><title>Welcome</title><h1>It works!</h1>\n")
		case PortBadGateway:
			page(http.StatusBadGateway, "text/html; charset=utf-8", "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
		case PortUnavailable:
			w.Header().Set("Retry-After", "7")
			page(http.StatusServiceUnavailable, "text/plain; charset=utf-8", "Service Unavailable\n")
		case PortRedirect:
			w.Header().Set("Location", "https://elsewhere.invalid/")
			page(http.StatusFound, "text/plain; charset=utf-8", "Found\n")
		case PortProxyRefused:
			page(http.StatusForbidden, "application/json; charset=utf-8", proxyRefusal)
		case PortReset:
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				reset(c)
				_ = c.Close()
			}
		case PortNormal, PortSilent:
			if starting && !strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
				w = &startingProbe{ResponseWriter: w}
			}
			runtime.ServeHTTP(w, req)
		}
	})
}

// startingProbe turns the answer to a health probe into that of a starting gateway.
type startingProbe struct {
	http.ResponseWriter
	status int
}

// WriteHeader keeps the status for Write, because it depends on the body.
func (p *startingProbe) WriteHeader(status int) { p.status = status }

// Write writes the whole answer to a probe.
func (p *startingProbe) Write(body []byte) (int, error) {
	var answer object
	if json.Unmarshal(body, &answer) != nil || answer["status"] == "live" {
		p.ResponseWriter.WriteHeader(p.status)
		return p.ResponseWriter.Write(body)
	}
	if _, ok := answer["ready"]; ok {
		maps.Copy(answer, object{"ready": false, "failing": []string{"startup-sidecars"}})
	} else {
		maps.Copy(answer, object{"ok": false, "status": "starting", "pendingReason": "startup-sidecars"})
	}
	p.ResponseWriter.WriteHeader(http.StatusServiceUnavailable)
	return p.ResponseWriter.Write(demo.Encode(answer))
}
