package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// A dashboard on another origin can log in, read a task and poll for changes.
func TestDashboardElsewhere(t *testing.T) {
	t.Parallel()
	const origin = "https://ops.example.com"
	s := newHouse(t, db.SQLite, func(r *config.Raw) { r.CORSOrigin = "https://Ops.Example.com:443" }).start()
	allowed := func(a answer) answer {
		t.Helper()
		if got := a.header.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s: the allowed origin is %q", a.what, got)
		}
		return a
	}
	ask := s.anonymous().send(http.MethodOptions, "/api/v1/auth/login", nil, "Origin", origin,
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
	allowed(ask).want(http.StatusNoContent)
	allowed(s.anonymous().send(http.MethodPost, "/api/v1/auth/login", map[string]string{"email": ownerEmail, "password": "wrong"}, "Origin", origin)).want(http.StatusUnauthorized)
	owner := s.login(ownerEmail)
	allowed(owner.send(http.MethodPost, "/api/v1/tasks", map[string]string{"title": "Watched"}, "Origin", origin)).want(http.StatusCreated)

	const path = "/api/v1/tasks/TASK-1"
	tag := allowed(owner.send(http.MethodGet, path, nil, "Origin", origin)).want(http.StatusOK).header.Get("ETag")
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		same := allowed(owner.send(method, path, nil, "Origin", origin, "If-None-Match", tag)).want(http.StatusNotModified)
		if len(same.body) > 0 || same.header.Get("ETag") != tag {
			t.Errorf("%s: a 304 with the ETag %q and %s", method, same.header.Get("ETag"), same.body)
		}
	}
	owner.patch(path, map[string]string{"title": "Changed"}).want(http.StatusOK)
	if got := owner.send(http.MethodGet, path, nil, "If-None-Match", tag).want(http.StatusOK).header.Get("ETag"); got == tag {
		t.Errorf("another title has the ETag %s as well", got)
	}
}

// Below the path of PUBLIC_URL, a proxy may remove that path or not: pages, files, and the API are found, and the link
// that creates the owner leads to them.
func TestDashboardBelowPath(t *testing.T) {
	t.Parallel()
	const public = "https://ops.example.com/wardroom"
	h := newHouse(t, db.SQLite, func(r *config.Raw) {
		r.PublicURL, r.BootstrapOwnerEmail, r.BootstrapOwnerPassword = public, "", ""
	})
	offers := make(chan app.SetupOffer, 1)
	h.onSetup = func(o app.SetupOffer) { offers <- o }
	s := h.start()
	if offer := <-offers; offer.Page != public || offer.Address != s.base {
		t.Errorf("the setup is at %s and %s", offer.Page, offer.Address)
	}
	for _, before := range []string{"/wardroom", ""} {
		for _, place := range []string{"/", "/tasks/TASK-1"} {
			page := s.anonymous().send(http.MethodGet, before+place, nil, "Accept", "text/html").want(http.StatusOK)
			parts := regexp.MustCompile(`(?:src|href)="(/wardroom/[^"]+)"`).FindAllStringSubmatch(string(page.body), -1)
			if len(parts) < 3 {
				t.Fatalf("%s names %d scripts and styles: %s", before+place, len(parts), page.body)
			}
			for _, part := range parts {
				s.anonymous().get(before + strings.TrimPrefix(part[1], "/wardroom")).want(http.StatusOK)
			}
		}
		s.anonymous().get(before + "/api/v1/config").want(http.StatusOK)
	}
}

// The service serves the complete dashboard, with a policy that allows no other scripts.
func TestDashboardIsServed(t *testing.T) {
	t.Parallel()
	s := newHouse(t, db.SQLite, nil).start()
	for _, place := range []string{"/", "/tasks", "/standups"} {
		page := s.anonymous().send(http.MethodGet, place, nil, "Accept", "text/html").want(http.StatusOK)
		if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", place, policy)
		}
		parts := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(string(page.body), -1)
		if len(parts) < 3 {
			t.Fatalf("%s names %d scripts and styles: %s", place, len(parts), page.body)
		}
		for _, part := range parts {
			s.anonymous().get(part[1]).want(http.StatusOK)
		}
	}
}
