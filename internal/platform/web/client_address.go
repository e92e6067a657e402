package web

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"wardroom/internal/platform/actor"
)

const (
	// maxHops limits how many entries of X-Forwarded-For are read. Real chains of
	// proxies are much shorter.
	maxHops = 32
	// maxHop is the longest accepted entry, in bytes. An IPv6 address with zone,
	// brackets and port is shorter.
	maxHop = 64
)

// ClientAddress returns the IP address, without a zone, of the client that sent the request in
// ctx. If the connection comes from one of Options.TrustedProxies, the IP address is taken from
// the X-Forwarded-For header. The result is the zero Addr if ctx has no request or the
// connection has no IP address.
func ClientAddress(ctx context.Context) netip.Addr {
	if x := from(ctx); x != nil {
		return x.address
	}
	return netip.Addr{}
}

// origin describes where the request comes from.
func (x *exchange) origin() actor.Origin {
	return actor.Origin{Via: actor.ViaAPI, Address: x.address, UserAgent: x.r.UserAgent()}
}

// Local reports whether the request in ctx comes directly from a program on this machine: over a
// loopback connection that no proxy forwarded, and with a loopback address or localhost as its Host.
// The Host matters because a website can point its own name to a loopback address (DNS rebinding).
func Local(ctx context.Context) bool {
	x := from(ctx)
	return x != nil && local(x.r)
}

func local(r *http.Request) bool {
	if r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil || foreign(r) {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	at, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && at.Unmap().IsLoopback()
}

// clientAddress returns the IP address of the client whose request arrived from peer. In the
// X-Forwarded-For header, each proxy appends the IP address that sent it the request. The header's
// entries are therefore read from right to left, skipping trusted proxies. The first address that
// does not belong to a trusted proxy is the client's. Entries to its left can be forged. An invalid
// entry ends the search at the proxy that wrote it.
//
// The Forwarded header (RFC 7239) is ignored: a proxy that sets only one of the two
// headers would pass on the client's version of the other.
func clientAddress(peer string, forwardedFor []string, trusted []netip.Prefix) netip.Addr {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Addr{} // no network address, such as a pipe in a test
	}
	client := at.Addr().Unmap()
	hops := 0
	// Repeated header lines form one list in their order (RFC 9110, 5.3).
	for _, line := range slices.Backward(forwardedFor) {
		for more := true; more; hops++ {
			if hops == maxHops || !isTrusted(client, trusted) {
				return client
			}
			var entry string
			entry, line, more = cutLast(line)
			next, ok := parseHop(entry)
			if !ok {
				return client
			}
			client = next
		}
	}
	return client
}

// cutLast splits off the last entry of a comma-separated list.
func cutLast(list string) (last, rest string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return list, "", false
	}
	return list[i+1:], list[:i], true
}

// parseHop parses an entry of X-Forwarded-For, an address with or without a port. It
// drops the zone, because a zone has a meaning only on the proxy's host.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || len(s) > maxHop {
		return netip.Addr{}, false
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if bare, ok := strings.CutSuffix(inner, "]"); ok {
			a, err := netip.ParseAddr(bare)
			return a.Unmap().WithZone(""), err == nil && a.Is6()
		}
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(s)
		a = at.Addr()
	}
	return a.Unmap().WithZone(""), err == nil
}

func isTrusted(a netip.Addr, trusted []netip.Prefix) bool {
	a = a.WithZone("") // prefixes never contain an address with a zone
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}
