package config

import (
	"net"
	"net/url"
	"path"
	"strings"
)

// public validates the URL of Wardroom. It rejects characters that a shell interprets,
// because agents paste the URL into shell commands.
func (k *checker) public(name, s string) string {
	v := strings.TrimRight(strings.TrimSpace(s), "/")
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isHost(u.Hostname()) || !validPort(u.Port()) ||
		u.Opaque != "" || strings.Trim(v, addressLetters) != "" {
		// The text may contain a misplaced password, so the message does not quote it.
		k.reject(name, "is not a valid URL: set it to one such as https://ops.example.com (http or https, no user, no query)")
		return ""
	}
	v = strings.TrimSuffix(v, "/api/v1")
	switch at := basePath(v); {
	case at != "" && path.Clean(at) != at:
		// The dashboard's page refers to its files below this path. After //, a browser expects a host.
		k.reject(name, "has a path with an empty segment, . or ..: set it to one such as https://ops.example.com/wardroom")
		return ""
	case at == "/api" || at == "/assets":
		k.reject(name, "ends in %s, which is also the beginning of Wardroom's own paths: use another path, such as /wardroom",
			at)
		return ""
	}
	return v
}

// basePath returns the path of a public URL, such as "/wardroom". It is empty for the root.
func basePath(public string) string {
	u, err := url.Parse(public)
	if err != nil {
		return ""
	}
	return u.Path
}

// BasePath returns the path below which a proxy serves Wardroom, such as "/wardroom". It is empty
// if Wardroom is at the root of its host.
func (c Config) BasePath() string { return basePath(c.PublicURL) }

// addressLetters lists the characters allowed in a public URL. It excludes characters
// that need escaping. It also excludes @ and ?, so that the URL cannot contain a user
// name or a query.
const addressLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:[]"

// origin validates an origin and returns it as browsers send it: in lower case and
// without the scheme's default port. The result is compared with the Origin header of
// requests.
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
	// Browsers send only scheme, host and port, so anything else would never match.
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(v, u.Scheme+"://"+u.Host) ||
		strings.Contains(v, "%") || strings.HasSuffix(v, ":") || !isHost(u.Hostname()) || !validPort(u.Port()) {
		k.reject(name, "is %q: set it to one origin such as https://ops.example.com, with http or https, a host, an optional port, and nothing else", s)
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
