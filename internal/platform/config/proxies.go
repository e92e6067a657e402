package config

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// proxies parses a list of IP addresses and networks. A single address becomes a
// network that contains only that address.
func (k *checker) proxies(name, s string) []netip.Prefix {
	var list []netip.Prefix
	for _, v := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		p, ok := network(v)
		switch {
		case !ok:
			k.reject(name, "contains %q: set it to addresses such as 127.0.0.1 and networks such as 10.0.0.0/8 or fd00::/8, separated by commas", v)
		case p != p.Masked():
			k.reject(name, "contains %s, which has bits set after the first %d: write %s", v, p.Bits(), p.Masked())
		case slices.Contains(list, p):
			k.reject(name, "contains %s twice: remove one of them", v)
		default:
			if p.Bits() == 0 {
				k.warn("%s contains %s: any client can then fake its address and bypass the limits per address", name, v)
			}
			list = append(list, p)
		}
	}
	return list
}

// network parses an IP address or a network in CIDR notation. It converts an IPv4
// address in IPv6 notation to plain IPv4, because client addresses are compared in
// that form.
func network(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), a.Zone() == ""
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil && !p.Addr().Is4In6()
}
