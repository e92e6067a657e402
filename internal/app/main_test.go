package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/app"
	"wardroom/internal/archive"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
	"wardroom/test/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Secrets that must never be shown. Each is unique, so finding one in an answer or in
// the log is no coincidence.
const (
	jwtSecret     = "jwt-secret-0123456789-0123456789-0123456789-0123456789"
	gatewayToken  = "gateway-token-7f3a91c2"
	password      = "correct horse battery 9c41"
	dbPassword    = "database-password-52be"
	encryptionKey = "encryption-key-5b1f-0123456789abcdefghij"
	ownerEmail    = "owner@example.com"
)

// both runs fn on each engine. A short run has it on SQLite, because the packages with SQL test that on both.
func both(t *testing.T, fn func(t *testing.T, engine db.Engine)) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && engine == db.Postgres {
				t.Skip("a short run has it on SQLite")
			}
			fn(t, engine)
		})
	}
}

// house is the environment of the service: a database, an agent runtime, settings and a
// log. It outlives the service.
type house struct {
	beforeRun func() // called between the opening of the database and the start
	t         *testing.T
	raw       config.Raw
	runtime   *faults.Runtime
	key       atomic.Pointer[string]  // the COO's key in the runtime's environment
	board     atomic.Pointer[app.App] // the App whose board the agents see
	onSetup   func(app.SetupOffer)    // nil creates no tokens
	backoff   link.Backoff
	lease     time.Duration // of jobs: after a crash, they rest that long on PostgreSQL
	labelled  string        // profiler label of the service's goroutines; empty is none
	seen      record        // everything the service has sent: answers and log lines

	mu      sync.Mutex
	secrets map[string]string // text → description
	shown   map[string]string // secrets that one answer must contain
}

// newHouse creates a house with a running agent runtime. change, if not nil, changes the
// settings.
func newHouse(t *testing.T, engine db.Engine, change func(*config.Raw)) *house {
	t.Helper()
	h := &house{t: t, lease: 30 * time.Second, secrets: map[string]string{
		jwtSecret: "JWT_SECRET", gatewayToken: "the gateway's token", password: "a password", dbPassword: "the database's password",
		encryptionKey: "ENCRYPTION_KEY",
	}}
	t.Cleanup(h.keptSecrets)
	runtime, err := faults.Start(context.Background(), demo.Options{Token: gatewayToken, Board: h.tasksOf, Env: h.env, Writes: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	h.runtime = runtime
	h.raw = config.Raw{
		Port: "0", JWTSecret: jwtSecret, BootstrapOwnerEmail: ownerEmail, BootstrapOwnerPassword: password,
		GatewayURL: runtime.URL(), GatewayToken: gatewayToken, GatewayTimeoutMS: "15000", // enough for a busy machine
		StandupAgentTimeout: "20s", StandupDeadline: "60s", StandupGatewayGrace: "20s",
	}
	h.raw.DataDir = t.TempDir() // for the key file
	if engine == db.Postgres {
		h.raw.EncryptionKey = encryptionKey // replicas share no folder
	}
	h.raw.DatabaseURL = h.database(engine)
	if change != nil {
		change(&h.raw)
	}
	return h
}

// env is the environment of the agent runtime.
func (h *house) env(_, name string) string {
	if key := h.key.Load(); key != nil && name == "WARDROOM_API_KEY" {
		return *key
	}
	return ""
}

// reopen starts another agent runtime at the address of the first one.
func (h *house) reopen() {
	h.t.Helper()
	_, address, _ := strings.Cut(h.runtime.URL(), "://")
	back, err := faults.Start(context.Background(), demo.Options{Token: gatewayToken, Board: h.tasksOf, Addr: address})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = back.Close() })
	h.runtime = back
}

// database creates an empty database whose address contains a password.
func (h *house) database(engine db.Engine) config.Secret {
	address := dbtest.URL(h.t, engine)
	if engine == db.SQLite {
		return config.Secret("sqlite:" + address)
	}
	u, err := url.Parse(address)
	if err != nil {
		h.t.Fatal(err)
	}
	if given, ok := u.User.Password(); ok {
		h.secrets[given] = "the database's password"
	} else {
		u.User = url.UserPassword(u.User.Username(), dbPassword)
	}
	return config.Secret(u.String())
}

// tasksOf returns the board as the agents see it.
func (h *house) tasksOf(ctx context.Context, agentID string) ([]demo.Task, error) {
	a := h.board.Load()
	if a == nil {
		return nil, nil
	}
	tasks, err := a.Tasks.Of(ctx, agentID, time.Now().Add(-48*time.Hour))
	out := make([]demo.Task, len(tasks))
	for i, t := range tasks {
		out[i] = demo.Task{Key: t.Key, Title: t.Title, Status: string(t.Status), Priority: string(t.Priority), UpdatedAt: t.MovedAt.Time}
		if t.Blocked != nil {
			out[i].Blocked = t.Blocked.Reason
		}
	}
	return out, err
}

// secret adds a secret that was created during the test.
func (h *house) secret(text, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets[text] = what
}

// secretOf adds a secret that one answer had to contain.
func (h *house) secretOf(text, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shown == nil {
		h.shown = map[string]string{}
	}
	h.shown[text] = what
}

// keptSecrets checks that no secret is in what the service has sent.
func (h *house) keptSecrets() {
	all := h.seen.String()
	h.mu.Lock()
	defer h.mu.Unlock()
	for text, what := range h.shown {
		if n := strings.Count(all, text); n != 1 {
			h.t.Errorf("%s was shown %d times, want once", what, n)
		}
	}
	for text, what := range h.secrets {
		if i := strings.Index(all, text); i >= 0 {
			h.t.Errorf("%s was shown: …%s", what, all[max(0, i-300):min(len(all), i+100)])
		}
	}
	if h.t.Failed() {
		for line := range strings.Lines(all) {
			if strings.HasPrefix(line, "time=") {
				fmt.Fprint(h.t.Output(), line)
			}
		}
	}
}

// record stores what is written to it. It is safe for concurrent use.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// Reset deletes what was written.
func (r *record) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf.Reset()
}

// service is a running process of the service.
type service struct {
	*app.App
	house  *house
	base   string
	client *http.Client
	cancel context.CancelFunc
	ended  chan error
	once   sync.Once
}

// build creates an App with fast background work without running it.
func (h *house) build() *app.App {
	h.t.Helper()
	cfg, _, err := h.raw.Check()
	if err != nil {
		h.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&h.seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
	log.Info("settings", "config", cfg)
	a, err := app.New(context.Background(), cfg, log, app.Options{Cost: bcrypt.MinCost, OnSetup: h.onSetup, Backoff: h.backoff})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = a.Close() }) // Run may have closed it already
	a.Queue.Poll, a.Queue.Lease = 50*time.Millisecond, h.lease
	for _, q := range []*job.Queue{a.StandupQueue, a.DispatchQueue, a.StopQueue} {
		q.Poll, q.Lease = a.Queue.Poll, a.Queue.Lease
	}
	a.Accounts.NoteEvery = 50 * time.Millisecond
	a.Archive.Pace = archive.Pace{Pass: 20 * time.Millisecond, Call: time.Millisecond, Rest: 300 * time.Millisecond, Final: 50 * time.Millisecond, Lease: 2 * time.Second}
	return a
}

// start runs the service on a free port until the test ends or stops it.
func (h *house) start() *service {
	h.t.Helper()
	var a *app.App
	labelled(h.labelled, func() { a = h.build() })
	return h.run(a)
}

// run is start for an existing App.
func (h *house) run(a *app.App) *service {
	h.t.Helper()
	ln, err := a.Listen(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	if h.beforeRun != nil {
		h.beforeRun()
	}
	h.board.CompareAndSwap(nil, a)
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{
		App: a, house: h, base: "http://" + ln.Addr().String(), cancel: cancel, ended: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{}, Timeout: 60 * time.Second},
	}
	labelled(h.labelled, func() { go func() { s.ended <- a.Run(ctx, ln) }() })
	h.t.Cleanup(func() { s.stop() })
	return s
}

// stop stops the service as a supervisor does, and waits for its end.
func (s *service) stop() {
	s.once.Do(func() {
		s.forget()
		s.cancel()
		if err := s.wait(); err != nil {
			s.house.t.Errorf("stopped with %v", err)
		}
	})
}

// crash simulates a crash: the database is closed first, so that no job is returned to
// its queue.
func (s *service) crash() {
	s.once.Do(func() {
		s.forget()
		_ = s.DB.Close()
		s.cancel()
		_ = s.wait() // an error is expected
	})
}

// forget makes the agents no longer use this process for the board.
func (s *service) forget() { s.house.board.CompareAndSwap(s.App, nil) }

func (s *service) wait() error {
	select {
	case err := <-s.ended:
		s.client.CloseIdleConnections()
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("still running after a minute")
	}
}

// connected waits for the gateway connection.
func (s *service) connected() *service {
	s.house.t.Helper()
	waitFor(s.house.t, "the gateway", func() bool { return s.Gateway.Status().State == link.Connected })
	return s
}

// atMost is how long tests wait for an event. It is shorter than the two minutes after
// which the runtime is read again, which would hide missing events.
const atMost = 100 * time.Second

// waitFor waits for a condition, long enough for a slow machine.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waitAtMost(t, atMost, what, ok)
}

// waitAtMost waits for a condition.
func waitAtMost(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		began := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited for %s for %s", what, limit)
		}
		time.Sleep(max(5*time.Millisecond, 2*time.Since(began))) // checking must not slow down what is awaited
	}
}

// answer is the response to a request.
type answer struct {
	t      *testing.T
	what   string // the request, for messages
	status int
	header http.Header
	body   []byte
}

// caller sends requests as a user, or anonymously without a token.
type caller struct {
	*service
	token string
}

func (s *service) anonymous() caller { return caller{s, ""} }

// at returns the same caller for another replica.
func (c caller) at(s *service) caller { return caller{s, c.token} }

// login logs a user in.
func (s *service) login(email string) caller {
	s.house.t.Helper()
	a := s.anonymous().post("/api/v1/auth/login", map[string]string{"email": email, "password": password}).want(http.StatusOK)
	c := caller{s, decode[struct{ Token string }](a).Token}
	return c
}

func (c caller) get(path string) answer             { return c.send(http.MethodGet, path, nil) }
func (c caller) post(path string, body any) answer  { return c.send(http.MethodPost, path, body) }
func (c caller) patch(path string, body any) answer { return c.send(http.MethodPatch, path, body) }

// send sends body as JSON unless it is nil. headers are pairs of name and value.
func (c caller) send(method, path string, body any, headers ...string) answer {
	t := c.house.t
	t.Helper()
	a, err := c.try(method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is send for requests that may fail, and for other goroutines.
func (c caller) try(method, path string, body any, headers ...string) (answer, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, c.base+path, content)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	whole := io.Reader(res.Body)
	if res.Header.Get("Content-Type") == "text/event-stream" {
		whole = io.LimitReader(whole, 16) // the stream has no end, and its start is enough
	}
	data, err := io.ReadAll(whole)
	if err != nil {
		return answer{}, err
	}
	fmt.Fprintf(&c.house.seen, "%s %s → %d %v %s\n", method, path, res.StatusCode, res.Header, data)
	return answer{c.house.t, method + " " + path, res.StatusCode, res.Header, data}, nil
}

// want ends the test unless the status matches.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d, want %d\n%s", a.what, a.status, status, a.body)
	}
	return a
}

// wantProblem ends the test unless the answer is a problem with the status and code.
func (a answer) wantProblem(status int, code string) answer {
	a.t.Helper()
	a.want(status)
	if got := decode[struct{ Code string }](a).Code; got != code {
		a.t.Fatalf("%s: %d %s, want %s\n%s", a.what, a.status, got, code, a.body)
	}
	return a
}

// decode decodes the body.
func decode[T any](a answer) T {
	a.t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("%s: %v\n%s", a.what, err, a.body)
	}
	return v
}
