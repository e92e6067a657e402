package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"wardroom/internal/limit"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/usage"
)

// fetch sends a request without a token and records the answer.
func (s *service) fetch(method, url string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(context.Background(), method, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	res, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	fmt.Fprintf(&s.house.seen, "%s %s → %d %s\n", method, url, res.StatusCode, data)
	return res.StatusCode, string(data), err
}

// scrape reads the metrics, by name with labels.
func (s *service) scrape() map[string]float64 {
	t := s.house.t
	t.Helper()
	status, body, err := s.fetch(http.MethodGet, s.MetricsAddress())
	if err != nil || status != http.StatusOK {
		t.Fatalf("metrics: %d, %v", status, err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			if values[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return values
}

// lastEvent returns the ID of the newest event.
func (s *service) lastEvent() (id float64) {
	s.house.t.Helper()
	if err := s.DB.QueryRow(s.house.t.Context(), `SELECT last FROM event_counter`).Scan(&id); err != nil {
		s.house.t.Fatal(err)
	}
	return id
}

// The metrics must change with what they measure.
func TestMetrics(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.MetricsAddr = "127.0.0.1:0" })
		s := h.start().connected()
		owner := s.login(ownerEmail)
		s.anonymous().post("/api/v1/auth/login", map[string]string{"email": ownerEmail, "password": "wrong"}).want(http.StatusUnauthorized)
		for range 5 {
			s.anonymous().post("/api/v1/auth/login", map[string]string{"email": "other@example.com", "password": "wrong"}).want(http.StatusUnauthorized)
		}
		s.anonymous().post("/api/v1/auth/login", map[string]string{"email": "other@example.com", "password": "wrong"}).want(http.StatusTooManyRequests)
		owner.post("/api/v1/tasks", map[string]string{"title": "One"}).want(http.StatusCreated)
		for range 3 {
			owner.get("/api/v1/tasks/TASK-1").want(http.StatusOK)
		}
		owner.get("/api/v1/tasks/TASK-2").want(http.StatusNotFound)
		waitFor(t, "a timer to run", func() bool { return s.scrape()[`wardroom_job_runs_total{kind="timer",outcome="done"}`] > 0 })
		got := s.scrape()
		pool := map[db.Engine]string{db.SQLite: "write", db.Postgres: "all"}[engine]
		for name, want := range map[string]float64{
			`wardroom_http_requests_total{method="GET",route="/api/v1/tasks/{id}",status="200"}`:           3,
			`wardroom_http_requests_total{method="GET",route="/api/v1/tasks/{id}",status="404"}`:           1,
			`wardroom_http_requests_total{method="POST",route="/api/v1/auth/login",status="401"}`:          6,
			`wardroom_http_request_duration_seconds_count{method="GET",route="/api/v1/tasks/{id}"}`:        4,
			`wardroom_http_request_duration_seconds_bucket{method="POST",route="/api/v1/tasks",le="+Inf"}`: 1,
			`wardroom_http_requests_in_flight`:                          0,
			`wardroom_logins_total{outcome="succeeded"}`:                1,
			`wardroom_logins_total{outcome="failed"}`:                   6,
			`wardroom_logins_total{outcome="throttled"}`:                1,
			`wardroom_logins_total{outcome="busy"}`:                     0,
			`wardroom_logins_total{outcome="error"}`:                    0,
			`wardroom_database_up`:                                      1,
			`wardroom_database_connections_in_use{pool="` + pool + `"}`: got[`wardroom_database_connections_in_use{pool="`+pool+`"}`],
			`wardroom_gateway_state{state="connected"}`:                 1,
			`wardroom_gateway_state{state="unreachable"}`:               0,
			`wardroom_gateway_connections_total`:                        1,
			`wardroom_gateway_connected{purpose="everything"}`:          1,
		} {
			if v, ok := got[name]; !ok || v != want {
				t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
			}
		}
		if most := got[`wardroom_database_connections_max{pool="`+pool+`"}`]; most < 1 {
			t.Errorf("the maximum of connections is %v", most)
		}
		if got[`go_goroutines`] < 1 || got[`process_start_time_seconds`] < 1 {
			t.Error("the runtime's metrics are missing")
		}
		for name := range got {
			if strings.Contains(name, "@") || strings.Contains(name, "TASK-") {
				t.Errorf("%s identifies too much", name)
			}
		}
		err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `
				INSERT INTO jobs (id, kind, key, payload, state, run_at, attempt, failures, created_at) VALUES
					('a', 'standup', 'a', '{}', 'failed', ?, 1, 1, ?), ('b', 'of another version', 'b', '{}', 'ready', ?, 0, 0, ?)`,
				time.Now(), time.Now(), time.Now(), time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// The audit events of the failed logins may still be written.
		waitFor(t, "the newest event", func() bool {
			newest := s.scrape()[`wardroom_events_last_id`]
			return newest == s.lastEvent() && newest >= 4 // the owner, the start, the login and the task
		})
		waitFor(t, "the jobs", func() bool {
			got := s.scrape()
			return got[`wardroom_jobs{kind="standup",state="failed"}`] == 1 && got[`wardroom_jobs{kind="of another version",state="ready"}`] == 1
		})
		l := decode[limit.Limit](owner.post("/api/v1/limits", map[string]any{"scope": "all", "measure": "usd", "amount": "4", "window": "day", "action": "tell"}).want(http.StatusCreated))
		owner.post("/api/v1/limits", map[string]any{"scope": "all", "measure": "usd", "amount": "4", "window": "run", "action": "tell"}).want(http.StatusCreated)
		s.spend(usage.Run{RunID: "metrics", AgentID: "cto", EndedAt: time.Now()}, cents(100))
		waitFor(t, "what is used of the limit", func() bool {
			return s.scrape()[`wardroom_limit_used_ratio{limit="`+l.ID+`",measure="usd",scope="all",window="day"}`] == 0.25
		})
		address := s.MetricsAddress()
		s.stop()
		if status, _, err := s.fetch(http.MethodGet, address); err == nil {
			t.Errorf("after the stop it answers %d", status)
		}
	})
}

// Requests with made-up paths and methods must not create new series.
func TestMetricsStayFew(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	s := newHouse(t, db.SQLite, func(r *config.Raw) { r.MetricsAddr, r.GatewayURL, r.GatewayToken = "127.0.0.1:0", "", "" }).start()
	rush := func(n int) int {
		for i := range 30 {
			for _, path := range []string{"/x%d", "/api/v1/tasks/%d", "/api/v1/%d", "/health?%d", "/livez/%d"} {
				for _, method := range []string{"GET", "MADEUP" + strconv.Itoa(n*100+i), "OPTIONS"} {
					if _, err := s.anonymous().try(method, fmt.Sprintf(path, n*100+i), nil, "Origin", "http://"+strconv.Itoa(i), "X-Request-Id", strconv.Itoa(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		count := 0
		for name := range s.scrape() {
			if strings.HasPrefix(name, "wardroom_http_") || strings.HasPrefix(name, "wardroom_logins") {
				count++
			}
		}
		return count
	}
	if first, second := rush(1), rush(2); first != second {
		t.Errorf("%d series, and then %d", first, second)
	}
}

// The address of the metrics must serve nothing else.
func TestMetricsServeNothingElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.MetricsAddr = "127.0.0.1:0" })
	s := h.start()
	base := strings.TrimSuffix(s.MetricsAddress(), "/metrics")
	for ask, want := range map[string]int{
		"GET /metrics": 200, "HEAD /metrics": 200, "POST /metrics": 405, "DELETE /metrics": 405, "GET /metrics/": 404, "GET /": 404, "GET /api/v1/config": 404,
		"POST /api/v1/auth/login": 404, "GET /health": 404, "GET /debug/pprof/": 404, "GET /debug/vars": 404,
	} {
		method, path, _ := strings.Cut(ask, " ")
		if status, body, err := s.fetch(method, base+path); err != nil || status != want {
			t.Errorf("%s: %d, %v, want %d\n%.200s", ask, status, err, want, body)
		}
	}
	if a := s.anonymous().get("/metrics"); a.status != http.StatusNotFound {
		t.Errorf("at the API's address: %d", a.status)
	}
	h.raw.DatabaseURL = h.database(db.SQLite)
	h.raw.MetricsAddr = strings.TrimPrefix(base, "http://")
	if _, err := h.build().Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "METRICS_ADDR") {
		t.Errorf("at an address in use: %v", err)
	}
	h.raw.DatabaseURL, h.raw.MetricsAddr = h.database(db.SQLite), ""
	if off := h.start(); off.MetricsAddress() != "" {
		t.Errorf("without the setting, the address is %s", off.MetricsAddress())
	}
}
