package gateway

import (
	"net/netip"
	"net/url"
	"sync/atomic"
)

// AgentURL is the URL at which the runtime's agents call Wardroom's API.
type AgentURL struct {
	Public string // as people have configured it; may be empty
	Client *Client

	own atomic.Pointer[string]
}

// Listen stores the URL at which Wardroom listens on this machine.
func (u *AgentURL) Listen(own string) { u.own.Store(&own) }

// Own returns the URL at which Wardroom listens, or an empty string if it does not yet, or if the gateway's URL does
// not point to this machine.
func (u *AgentURL) Own() string {
	own := u.own.Load()
	gateway, err := url.Parse(u.Client.Address())
	if own == nil || err != nil {
		return ""
	}
	host := gateway.Hostname()
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ""
	}
	return *own
}

// String returns the public URL, otherwise the own one.
func (u *AgentURL) String() string {
	if u.Public != "" {
		return u.Public
	}
	return u.Own()
}
