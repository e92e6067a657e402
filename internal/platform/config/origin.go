package config

import (
	"net"
	"net/url"
	"strings"
)

// public reads the address at which others reach the service. Agents paste it
// into a command line, so that nothing gets through that a shell would read.
func (k *checker) public(name, s string) string {
	v := strings.TrimRight(strings.TrimSpace(s), "/")
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isHost(u.Hostname()) || !validPort(u.Port()) ||
		u.Opaque != "" || strings.Trim(v, addressLetters) != "" {
		// The text may hold a password in the wrong place, so it is not repeated.
		k.reject(name, "is not an address that can be used: set it to one such as https://ops.example.com (http or https, no user, no query)")
		return ""
	}
	return strings.TrimSuffix(v, "/api/v1")
}

// addressLetters are what a public address may be made of: no user, no query,
// nothing that has to be escaped.
const addressLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:[]"

// origin reads one origin and writes it as browsers do, because that text is
// what theirs is compared with: in small letters and without the port that the
// scheme implies.
func (k *checker) origin(name, s string, production bool) string {
	v := strings.TrimSpace(s)
	switch {
	case v == "":
		return ""
	case v == "*" && production:
		k.reject(name, "is *: in production set it to the dashboard's own origin, such as https://ops.example.com")
		return ""
	case v == "*":
		return v
	}
	u, err := url.Parse(v)
	// Whatever is more than scheme, host and port makes the texts differ.
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(v, u.Scheme+"://"+u.Host) ||
		strings.Contains(v, "%") || strings.HasSuffix(v, ":") || !isHost(u.Hostname()) || !validPort(u.Port()) {
		k.reject(name, "is %q: set it to one origin such as https://ops.example.com: http or https, the host, a port if there is one, and nothing after it", s)
		return ""
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}
