package config_test

import (
	"strings"
	"testing"
)

// The origin must be in the exact form that browsers send, or the dashboard is
// silently blocked.
func TestCORSOrigin(t *testing.T) {
	for given, want := range map[string]string{
		"": "", " ": "", "*": "*", "https://ops.example.com": "https://ops.example.com", "HTTPS://Ops.Example.com": "https://ops.example.com",
		" http://localhost:5173 ": "http://localhost:5173", "https://ops.example.com:443": "https://ops.example.com", "http://ops:80": "http://ops",
		"https://ops:80": "https://ops:80", "http://127.0.0.1:8080": "http://127.0.0.1:8080", "http://[::1]:5173": "http://[::1]:5173", "https://[2001:DB8::1]:443": "https://[2001:db8::1]",
	} {
		r := good()
		r.CORSOrigin = given
		if c, warnings, err := r.Check(); err != nil || len(warnings) != 0 || c.CORSOrigin != want {
			t.Errorf("%q is %q, warnings %v, error %v; want %q", given, c.CORSOrigin, warnings, err, want)
		}
	}
	for _, given := range []string{
		"ops.example.com", "localhost:5173", "//ops", "null", "https://", "https:ops", "https://ops/", "https://ops/app", "https://ops?", "https://ops#", "https://ops?a=b",
		"https://user@ops", "https://ops:", "https://ops:0", "https://ops:65536", "https://ops:http", "ws://ops", "file://ops", "https://*.example.com", "https://*",
		"https://a,https://b", "https://a https://b", "*,https://a", "https://\u00e4.example", "https://a%41", "http://[fe80::1%25eth0]", "https://op\ns",
	} {
		r := good()
		r.CORSOrigin = given
		c, _, err := r.Check()
		if err == nil {
			t.Errorf("%q was accepted as %q", given, c.CORSOrigin)
		} else if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], "CORS_ORIGIN is ") || !strings.Contains(lines[0], "https://ops.example.com") {
			t.Errorf("%q: said %q", given, lines)
		}
	}
	r := good()
	r.NodeEnv, r.CORSOrigin = "production", "https://ops.example.com"
	if c, _, err := r.Check(); err != nil || c.CORSOrigin != "https://ops.example.com" {
		t.Errorf("in production: %q, %v", c.CORSOrigin, err)
	}
}

// Below a path of the public URL, everything that Wardroom says and serves depends on that path, so a path that would
// lead elsewhere stops the start.
func TestBasePath(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                      "",
		"https://ops.example.com":               "",
		"https://ops.example.com/":              "",
		"https://ops.example.com/api/v1/":       "",
		"https://ops.example.com/wardroom/":     "/wardroom",
		"https://ops.example.com/a/b":           "/a/b",
		"https://ops.example.com/a/api/v1":      "/a",
		"https://ops.example.com//evil.example": "PUBLIC_URL has a path",
		"https://ops.example.com/a/../b":        "PUBLIC_URL has a path",
		"https://ops.example.com/a//b":          "PUBLIC_URL has a path",
		"https://ops.example.com/api":           "PUBLIC_URL ends in /api",
		"https://ops.example.com/assets/":       "PUBLIC_URL ends in /assets",
	} {
		raw := good()
		raw.PublicURL = url
		c, _, err := raw.Check()
		got := c.BasePath()
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s is at %q, want %q", url, got, want)
		}
	}
}
