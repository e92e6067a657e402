package demo

import (
	"maps"
	"slices"
)

// hello returns the answer to a connect request. The auth object says how the client authenticated.
// The caller must hold r.mu.
func (r *Runtime) hello(c *Conn, auth object) object {
	// Hidden methods, such as sessions.usage, are served but not listed, as on the gateway.
	served := slices.DeleteFunc(slices.Sorted(maps.Keys(r.methods)), func(m string) bool {
		return r.methods[m].hidden || !r.options.Behavior.Serves(m)
	})
	return object{
		"type": "hello-ok", "protocol": r.options.Behavior.Protocol(),
		"server":   object{"version": Version, "bootId": c.boot.id, "connId": c.id},
		"features": object{"methods": served},
		"auth":     auth,
		"policy":   object{"maxPayload": maxPayload, "tickIntervalMs": r.options.Timing.Tick.Milliseconds()},
	}
}
