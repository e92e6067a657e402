package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Unlisted is an address that forwards requests like a proxy, although its X-Forwarded-For header is not used.
type Unlisted struct {
	Address  netip.Addr
	Header   string // the header that shows it
	Listed   bool   // it is one of Options.TrustedProxies, but does not send X-Forwarded-For
	First    time.Time
	Last     time.Time
	Requests int64
}

// Text says what the address does and what to change.
func (u Unlisted) Text() string {
	if u.Listed {
		return fmt.Sprintf("The proxy %s sends %s but not X-Forwarded-For, so everyone behind it shares one limit on failed logins, and the audit log shows its address. Configure it to send X-Forwarded-For.", u.Address, u.Header)
	}
	return fmt.Sprintf("Requests with the header %s arrive from %s, which is not in TRUSTED_PROXIES, so everyone behind it shares one limit on failed logins, and the audit log shows its address. "+
		"If it is your proxy, add %[2]s to TRUSTED_PROXIES and restart Wardroom.", u.Header, u.Address)
}

// maxUnlisted is how many addresses are kept in each of two groups: those of private networks, where proxies usually
// are, and all others. Anyone can send the headers, so neither the list nor the log may grow with the number of
// senders, and senders elsewhere must not displace a proxy.
const maxUnlisted = 8

// unlistedProxies notes the addresses that forward requests without being used as proxies. The zero value is ready to
// use.
type unlistedProxies struct {
	mu   sync.Mutex
	seen []*Unlisted
}

// note notes the sender of a request if it forwards the request for someone, and logs a new one.
func (p *unlistedProxies) note(o *Options, r *http.Request, client netip.Addr) {
	u := forwarder(r, client, o.TrustedProxies)
	if !u.Address.IsValid() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, similar := o.Now(), 0
	for _, s := range p.seen {
		if s.Address == u.Address {
			s.Last, s.Requests = now, s.Requests+1
			return
		}
		if inside(s.Address) == inside(u.Address) {
			similar++
		}
	}
	if similar == maxUnlisted {
		return
	}
	u.First, u.Last, u.Requests = now, now, 1
	p.seen = append(p.seen, &u)
	o.Log.WarnContext(r.Context(), "a proxy hides the addresses of its clients", slog.Any("address", u.Address),
		slog.String("detail", u.Text()))
}

// forwarder returns who forwarded a request although the resulting client address is the forwarder's own, or the zero
// Unlisted.
func forwarder(r *http.Request, client netip.Addr, trusted []netip.Prefix) Unlisted {
	i := slices.IndexFunc(forwardingHeaders, func(name string) bool { return r.Header.Get(name) != "" })
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if i < 0 || err != nil {
		return Unlisted{}
	}
	peer, header := at.Addr().Unmap().WithZone(""), forwardingHeaders[i]
	// The address that the client would have if the one found were a trusted proxy, too.
	beyond := func() netip.Addr {
		return clientAddress(r.RemoteAddr, r.Header.Values(header),
			append(slices.Clone(trusted), netip.PrefixFrom(client, client.BitLen())))
	}
	switch {
	case !isTrusted(peer, trusted):
		return Unlisted{Address: peer, Header: header}
	case i > 0:
		return Unlisted{Address: peer, Header: header, Listed: true}
	case client != peer && inside(client) && beyond() != client:
		return Unlisted{Address: client, Header: header} // a second proxy, before the listed one
	}
	return Unlisted{}
}

// forwardingHeaders are the headers in which proxies pass on the client's address. Only the first is used.
var forwardingHeaders = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"}

// inside reports whether an address belongs to this machine or to a private network.
func inside(a netip.Addr) bool {
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// Unlisted returns the addresses that forward requests although their X-Forwarded-For is not used, the latest first.
func (a *API) Unlisted() []Unlisted {
	a.unlisted.mu.Lock()
	defer a.unlisted.mu.Unlock()
	list := make([]Unlisted, len(a.unlisted.seen))
	for i, u := range a.unlisted.seen {
		list[i] = *u
	}
	slices.SortStableFunc(list, func(x, y Unlisted) int { return y.Last.Compare(x.Last) })
	return list
}
