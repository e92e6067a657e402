package app_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/web"
)

// A balancer must not send requests to a process without a database, and a supervisor
// must not restart one because the gateway is offline.
func TestProbes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.GatewayURL = "ws://127.0.0.1:1" })
		s := h.start()
		// On a busy machine, a check may exceed its time limit.
		well := func(method, path string) (a answer) {
			waitFor(t, path, func() bool {
				a = s.anonymous().send(method, path, nil)
				return a.status == http.StatusOK || path == "/livez"
			})
			return a.want(http.StatusOK)
		}
		for _, path := range []string{"/livez", "/readyz"} {
			if a := well(http.MethodGet, path); string(a.body) != `{"status":"ok"}`+"\n" {
				t.Errorf("%s answers %s", path, a.body)
			}
			well(http.MethodHead, path)
		}
		waitFor(t, "the background work", func() bool {
			var n int
			return s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM job_timers`).Scan(&n) == nil && n > 0
		})
		time.Sleep(time.Second) // the queue without timers leaves no sign that it has started
		before := len(h.seen.String())
		if err := s.DB.Close(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the failed probe", func() bool { return s.anonymous().get("/readyz").status != http.StatusOK })
		lost := s.anonymous().get("/readyz")
		lost.wantProblem(http.StatusServiceUnavailable, "not_ready")
		if got := decode[struct {
			Why []string `json:"not_ready"`
		}](lost).Why; len(got) != 1 || got[0] != "database" || strings.Contains(string(lost.body), "closed") {
			t.Errorf("the answer is %s", lost.body)
		}
		s.anonymous().get("/livez").want(http.StatusOK)
		s.crash()

		for line := range strings.Lines(h.seen.String()) {
			quiet := strings.Contains(line, "status=200") && strings.Contains(line, "route=/readyz")
			if quiet && !strings.Contains(line, "level=DEBUG") {
				t.Errorf("a probe leaves a log line: %s", line)
			}
		}
		for line := range strings.Lines(h.seen.String()[before:]) {
			if strings.Contains(line, "status=503") && !strings.Contains(line, "closed") {
				t.Errorf("the log lacks the cause: %s", line)
			}
		}
	})
}

// While it stops, the service is alive but not ready.
func TestReadyWhileStopping(t *testing.T) {
	t.Parallel()
	a := newHouse(t, db.SQLite, nil).build()
	ln, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{}, 2)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-web.Stopping(r.Context())
		a.Handler().ServeHTTP(w, r)
	})
	go func() { ended <- web.Serve(ctx, ln, h, slog.New(slog.DiscardHandler), time.Minute) }()
	type said struct {
		status int
		body   string
	}
	answers := map[string]chan said{"/readyz": make(chan said, 1), "/livez": make(chan said, 1)}
	for path, c := range answers {
		go func() {
			status, body := fetch(ln.Addr(), path)
			c <- said{status, body}
		}()
		<-arrived
	}
	stop()
	if got := <-answers["/readyz"]; got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"not_ready":["stopping"]`) {
		t.Errorf("/readyz answers %d %s", got.status, got.body)
	}
	if got := <-answers["/livez"]; got.status != http.StatusOK {
		t.Errorf("/livez answers %d %s", got.status, got.body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// fetch uses a new connection. A status of 0 means that the request failed.
func fetch(at net.Addr, path string) (status int, body string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+at.String()+path, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(all)
}
