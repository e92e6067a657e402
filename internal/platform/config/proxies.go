package config

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// proxies reads a list of addresses and networks. An address is the network
// that has only it.
func (k *checker) proxies(name, s string) []netip.Prefix {
	var list []netip.Prefix
	for _, v := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		p, ok := network(v)
		switch {
		case !ok:
			k.reject(name, "names %q: set it to addresses such as 127.0.0.1 and networks such as 10.0.0.0/8 or fd00::/8, separated by commas", v)
		case p != p.Masked():
			k.reject(name, "names %s, which has bits set beyond its %d: write %s", v, p.Bits(), p.Masked())
		case slices.Contains(list, p):
			k.reject(name, "names %s twice: remove one of them", v)
		default:
			if p.Bits() == 0 {
				k.warn("%s names %s: anybody can then say to be anywhere, and the limits for an address hold nobody back", name, v)
			}
			list = append(list, p)
		}
	}
	return list
}

// network takes IPv4 written as IPv6 for IPv4, as it is compared.
func network(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), a.Zone() == ""
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil && !p.Addr().Is4In6()
}
