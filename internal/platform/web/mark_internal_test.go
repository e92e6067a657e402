package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Of a release that was built from an archive nothing but the version says that it
// is another: whoever kept a list would never get its new fields.
func TestTagOfAnotherVersion(t *testing.T) {
	t.Parallel()
	tag := func(version string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Prefix+"/toys", nil)
		x := &exchange{api: New(Options{Version: version}), r: r}
		return x.tagOf("mark")
	}
	one, again, next := tag("1.0.0"), tag("1.0.0"), tag("1.0.1")
	if one != again || one == next {
		t.Errorf("the tags are %s, %s and %s", one, again, next)
	}
}
