package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// For a release built from a source archive, only the version tells builds apart:
// without it, clients with a cached list would never get new fields.
func TestTagOfAnotherVersion(t *testing.T) {
	t.Parallel()
	tag := func(version string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Prefix+"/toys", nil)
		x := &exchange{api: New(Options{Version: version}), r: r}
		return x.listETag("mark")
	}
	one, again, next := tag("1.0.0"), tag("1.0.0"), tag("1.0.1")
	if one != again || one == next {
		t.Errorf("the tags are %s, %s and %s", one, again, next)
	}
}
