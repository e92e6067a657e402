package web

import (
	"context"
	"net/netip"
	"slices"
	"strings"
)

const (
	// maxHops is how many entries of X-Forwarded-For are read. A chain of our own
	// proxies is never that long; whoever sends more wants us to work.
	maxHops = 32
	// maxHop is the longest entry, in bytes: an IPv6 address with a zone, brackets
	// and a port is under 64.
	maxHop = 64
)

// ClientAddress is where the request that ctx belongs to comes from: the peer
// of the connection, or, when that is one of Options.TrustedProxies, the
// address that the proxies give in X-Forwarded-For. Without zone when a header
// gave it. It is the zero Addr when there is no request, or no network that has
// addresses.
func ClientAddress(ctx context.Context) netip.Addr {
	if x := from(ctx); x != nil {
		return x.address
	}
	return netip.Addr{}
}

// clientAddress finds out who sent a request that came from peer. Each proxy
// appends whom it heard it from, so the entries are believed from the right,
// for as long as they are proxies that we trust: the first other address is the
// caller. What stands left of it may be anybody's invention. An entry that is
// no address ends the search, too, with the proxy that wrote it as the caller.
//
// The header Forwarded (RFC 7239) is not read: a proxy that writes only one of
// the two would pass on the other as the caller wrote it.
func clientAddress(peer string, forwardedFor []string, trusted []netip.Prefix) netip.Addr {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Addr{} // not a network that has addresses, such as a test's pipe
	}
	client := at.Addr().Unmap()
	hops := 0
	// Several lines are one list in their order (RFC 9110, 5.3).
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

// cutLast takes the last entry off a list.
func cutLast(list string) (last, rest string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return list, "", false
	}
	return list[i+1:], list[:i], true
}

// parseHop reads an entry: an address, with a port or without. The zone is
// dropped: it means something on the proxy's machine and nothing on ours.
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
	a = a.WithZone("") // a network contains no address with one
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}
