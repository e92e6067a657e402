package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
)

// withoutBase returns the request as if Wardroom were at the root of its host. A request without
// Options.BasePath, from a proxy that removes it or from a client without a proxy, stays as it is.
func (a *API) withoutBase(r *http.Request) *http.Request {
	base := a.opts.BasePath
	rest, ok := strings.CutPrefix(r.URL.Path, base)
	if base == "" || !ok || rest != "" && rest[0] != '/' {
		return r
	}
	below := new(http.Request)
	*below = *r
	below.URL = new(url.URL)
	*below.URL = *r.URL
	below.URL.Path = cmp.Or(rest, "/")
	below.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, base)
	return below
}

// addBase puts Options.BasePath in front of the paths in the response's header, so that a client
// resolves them to addresses that reach Wardroom through the proxy.
func (a *API) addBase(h http.Header) {
	base := a.opts.BasePath
	if base == "" {
		return
	}
	if at := h.Get("Location"); strings.HasPrefix(at, "/") {
		h.Set("Location", base+at)
	}
	if link, ok := strings.CutPrefix(h.Get("Link"), "</"); ok {
		h.Set("Link", "<"+base+"/"+link)
	}
}
