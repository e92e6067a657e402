package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A supervisor sees whether the service is ready, with the settings of the service.
func TestHealth(t *testing.T) {
	machine(t)
	write(t, ".env", "JWT_SECRET="+secret+"\nHOST=0.0.0.0\nPORT=0\n")
	p := serve(t, "serve")
	port := p.address[strings.LastIndex(p.address, ":")+1:]
	command(t, "", "health", "--port", port).ends(0, "Wardroom is ready.")
	p.end()
	command(t, "", "health", "--port", port).ends(exitFailed, "not running, or not reachable")
	for _, is := range []struct {
		status     int
		body, want string
	}{
		{http.StatusServiceUnavailable, `{"detail":"The database is not responding."}`, "not ready: The database is not responding."},
		{http.StatusServiceUnavailable, "<h1>Something else</h1>", "is not Wardroom (HTTP 503)"},
		{http.StatusNotFound, `{"detail":"Not Found"}`, "is not Wardroom (HTTP 404)"},
		{http.StatusOK, "<h1>Something else</h1>", "is not Wardroom (HTTP 200)"},
		{http.StatusOK, `{"status":200}`, "is not Wardroom (HTTP 200)"},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, is.body, is.status) }))
		at, err := url.Parse(other.URL)
		if err != nil {
			t.Fatal(err)
		}
		command(t, "", "health", "--port", at.Port(), "--host", at.Hostname()).ends(exitFailed, is.want)
		other.Close()
	}
	command(t, "", "health", "--port", "x y").ends(exitUsage, "HOST or PORT is not valid")
}

// A service with secrets in files starts, and tells a stand-in for systemd that it is ready, works, and stops.
func TestSystemd(t *testing.T) {
	machine(t)
	at := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // only read
	heard := func(want string) {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 100)
		n, err := socket.Read(text)
		if err != nil || string(text[:n]) != want {
			t.Fatalf("systemd hears %q, want %q: %v", text[:n], want, err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", at)
	t.Setenv("WATCHDOG_USEC", "200000")
	t.Setenv("JWT_SECRET_FILE", "secret")
	write(t, "secret", "short")
	command(t, "", "serve").ends(exitUsage, "JWT_SECRET", "comes from the file that JWT_SECRET_FILE names")
	write(t, "secret", secret+"\n")
	p := serve(t, "serve", "--port=0")
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		heard(want)
	}
	go p.end()
	for said := "WATCHDOG=1"; said != "STOPPING=1"; {
		text := make([]byte, 100)
		n, err := socket.Read(text)
		if said = string(text[:n]); err != nil || said != "WATCHDOG=1" && said != "STOPPING=1" {
			t.Fatalf("systemd hears %q: %v", said, err)
		}
	}
	p.end()
}
