package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wardroom/internal/app"
)

// `wardroom demo` prints six lines and logs to a file. It keeps the password after a restart, and
// each start has a link that signs in once.
func TestDemo(t *testing.T) {
	machine(t)
	t.Setenv("PORT", "") // an empty value counts as unset
	write(t, ".env", "of the service, and nothing to a demo beside it\n")
	said := regexp.MustCompile(`Open +\S+/sign-in#(\S+)\n.*\n +Password +(\S+)`)
	var first string
	for range 2 {
		p := serve(t, "demo", "--dir", "demo", "--port", "0", "--pace", "0s", "--work", "0s")
		out := p.out.String()
		m := said.FindStringSubmatch(out)
		if m == nil || !strings.Contains(out, app.DemoOwner) || strings.Count(out, "\n") != 6 || p.err.String() != "" {
			t.Fatalf("the output is\n%s%s", out, p.err.String())
		}
		token, pass := m[1], m[2]
		if status, role := p.login(app.DemoOwner, pass); status != http.StatusOK || role != "owner" {
			t.Errorf("the owner's login: %d, %s", status, role)
		}
		if status, role := p.signIn("link", map[string]string{"token": token}); status != http.StatusOK || role != "owner" {
			t.Errorf("the link: %d, %s", status, role)
		}
		if status, _ := p.signIn("link", map[string]string{"token": token}); status != http.StatusForbidden {
			t.Errorf("the link the second time: %d", status)
		}
		if first == "" {
			first = pass
		}
		if pass != first {
			t.Errorf("the password was %s and is %s", first, pass)
		}
		p.end()
		data, err := os.ReadFile(filepath.Join("demo", "wardroom.log"))
		if err != nil {
			t.Fatal(err)
		}
		if log := string(data); !strings.Contains(log, "/api/v1/auth/link") || strings.Contains(log, pass) || strings.Contains(log, token) || strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
			t.Errorf("the log lacks the requests, or contains a secret or a warning:\n%s", log)
		}
	}
}

// The demo opens a browser only for a person at a graphical terminal, and never through a shell.
func TestOpenBrowser(t *testing.T) {
	t.Setenv("DISPLAY", ":0")
	t.Setenv("SSH_CONNECTION", "")
	if hasDisplay(&output{}) {
		t.Error("a buffer is a terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if hasDisplay(file) {
		t.Error("a file is a terminal")
	}
	const url = "http://127.0.0.1:3000/sign-in#A;&$(B)"
	for system, program := range map[string]string{"linux": "xdg-open", "darwin": "open", "windows": "rundll32", "freebsd": "xdg-open"} {
		if c := browserCommand(system, url); c[0] != program || c[len(c)-1] != url {
			t.Errorf("%s: %q", system, c)
		}
	}
}

func TestLocalZone(t *testing.T) {
	for tz, want := range map[string]string{
		"Europe/Lisbon": "Europe/Lisbon", "UTC": "UTC", "Etc/UTC": "UTC", "Local": "UTC", "Moon/Base": "UTC", "EST5EDT,M3.2.0": "UTC",
	} {
		t.Setenv("TZ", tz)
		if got := localZone(); got != want {
			t.Errorf("with TZ=%s the zone is %s, want %s", tz, got, want)
		}
	}
}
