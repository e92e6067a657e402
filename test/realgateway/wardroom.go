//go:build journey

package realgateway

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The owner account that a Server creates on first start.
const (
	OwnerEmail    = "owner@wardroom.test"
	OwnerPassword = "a long password of the owner"
)

// Time limits for starting and stopping Wardroom. It usually starts within a second, but takes
// longer on busy machines. Before it stops, it waits for open requests.
const (
	serverStart = time.Minute
	serverStop  = time.Minute
)

// Build builds the wardroom binary and returns its path. All tests use the same file.
func Build(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// build builds the binary once, because linking takes seconds.
var build = sync.OnceValues(func() (string, error) {
	bin, err := filepath.Abs("../../bin/journey-wardroom")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "wardroom/cmd/wardroom").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return bin, nil
})

// Server runs `wardroom serve` as a separate process. It keeps its address, settings
// and data across restarts.
type Server struct {
	URL string
	Dir string            // its DATA_DIR
	Env map[string]string // its settings; a change takes effect at the next Start

	owner testing.TB // the test that it ends with
	bin   string
	proc  *process
	old   string // output of earlier processes
}

// StartServer starts the program bin with an empty data folder, a free port and the other settings
// that it needs. The settings in env are added to these. StartServer waits until the service is
// healthy, and stops it when the test ends.
func StartServer(t testing.TB, bin string, env map[string]string) *Server {
	t.Helper()
	port := freePort(t)
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Dir: t.TempDir(), owner: t, bin: bin}
	s.Env = map[string]string{
		"HOST":                     "127.0.0.1",
		"PORT":                     strconv.Itoa(port),
		"DATA_DIR":                 s.Dir,
		"JWT_SECRET":               rand.Text() + rand.Text(), // 52 characters
		"BOOTSTRAP_OWNER_EMAIL":    OwnerEmail,
		"BOOTSTRAP_OWNER_PASSWORD": OwnerPassword,
	}
	maps.Copy(s.Env, env)
	s.Start(t)
	return s
}

// Start starts a stopped or killed service and waits until it is healthy.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if s.proc != nil {
		if s.proc.running() {
			t.Fatal("the service runs already")
		}
		s.old = s.Log()
	}
	//nolint:noctx // it is stopped by its own means, and must outlive this call
	cmd := exec.Command(s.bin, "serve")
	cmd.Dir = s.Dir // so that no .env file is read
	cmd.Env = inherit()
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	s.proc = startProcess(t, s.owner, "wardroom", cmd)
	s.proc.ready(t, http.DefaultClient, s.URL+"/health", serverStart)
}

// Stop stops the service as its operator would. It fails the test if the exit
// status is not 0.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if code := s.proc.stop(t, serverStop); code != 0 {
		t.Errorf("the service ended with status %d, want 0\n%s", code, s.proc.log.tail(20))
	}
}

// Kill9 kills the Wardroom process with SIGKILL.
func (s *Server) Kill9(testing.TB) { s.proc.kill() }

// Log returns the service's output, including the output from before any restarts.
func (s *Server) Log() string { return s.old + s.proc.log.String() }

// Client calls the service's API as one user.
type Client struct {
	URL   string
	Token string // of the user; empty for public routes
}

// Response is a response from the API.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into checks that the response has the given status and decodes its body into v.
func (r Response) Into(t testing.TB, status int, v any) {
	t.Helper()
	r.Want(t, status)
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("decode the answer: %v\n%s", err, r.Body)
	}
}

// Want fails the test if the response does not have the given status.
func (r Response) Want(t testing.TB, status int) {
	t.Helper()
	if r.Status != status {
		t.Fatalf("status %d, want %d\n%s", r.Status, status, r.Body)
	}
}

// Login logs in with the given email address and password and returns a client for
// that account.
func (s *Server) Login(t testing.TB, email, password string) Client {
	t.Helper()
	c := Client{URL: s.URL}
	var out struct {
		Token string `json:"token"`
	}
	c.Post(t, "/api/v1/auth/login", map[string]string{"email": email, "password": password}).Into(t, http.StatusOK, &out)
	if out.Token == "" {
		t.Fatalf("the login of %s gave no token", email)
	}
	c.Token = out.Token
	return c
}

// Get sends a GET request.
func (c Client) Get(t testing.TB, path string) Response {
	t.Helper()
	return c.Do(t, http.MethodGet, path, nil, nil)
}

// Post sends a POST request. Its body is the JSON encoding of in, or empty if in is nil.
func (c Client) Post(t testing.TB, path string, in any) Response {
	t.Helper()
	return c.Do(t, http.MethodPost, path, in, nil)
}

// Do sends a request with the given method and headers. It ends the test if the
// service cannot be reached.
func (c Client) Do(t testing.TB, method, path string, in any, header http.Header) Response {
	t.Helper()
	var body io.Reader = http.NoBody
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatalf("%s %s: encode the body: %v", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	maps.Copy(req.Header, header)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return Response{Status: res.StatusCode, Header: res.Header, Body: data}
}

// WaitFor waits until cond returns true, which it checks every 100 ms. After the time
// limit, it fails the test with an error that names what it waited for.
func WaitFor(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			t.Fatalf("after %s still not: %s", limit, what)
		case <-tick.C:
		}
	}
}
