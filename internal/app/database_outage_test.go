package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// wire is a TCP proxy between the service and its database. It can simulate failures.
type wire struct {
	t      *testing.T
	ln     net.Listener
	target string
	all    sync.WaitGroup

	mu    sync.Mutex
	cut   bool          // connections are closed at once
	hang  chan struct{} // if not nil, no data passes until it is closed
	conns map[net.Conn]bool
}

// wired puts a wire between the service and its database. If the wire is going to hang, the service has the time limits
// that users have.
func (h *house) wired(hangs bool) *wire {
	h.t.Helper()
	address := h.raw.DatabaseURL.Reveal()
	if hangs {
		address = dbtest.ProductLimits(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		h.t.Fatal(err)
	}
	w := newWire(h.t, u.Host)
	u.Host = w.ln.Addr().String()
	h.raw.DatabaseURL = config.Secret(u.String())
	return w
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, ln: ln, target: target, conns: map[net.Conn]bool{}}
	w.all.Go(w.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		w.set(true, false)
		w.all.Wait()
	})
	return w
}

// set makes the wire cut or hang, or restores it.
func (w *wire) set(cut, hang bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if w.hang != nil {
		close(w.hang)
		w.hang = nil
	}
	if hang {
		w.hang = make(chan struct{})
	}
	if cut {
		for c := range w.conns {
			_ = c.Close()
		}
	}
}

func (w *wire) accept() {
	for {
		c, err := w.ln.Accept()
		if err != nil {
			return
		}
		w.all.Go(func() { w.carry(c) })
	}
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	far, err := new(net.Dialer).DialContext(context.Background(), "tcp", w.target)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer far.Close()
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return
	}
	w.conns[c], w.conns[far] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, far}, {far, c}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], held{way[1], w})
			_ = c.Close()
			_ = far.Close()
		})
	}
	both.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
	delete(w.conns, far)
}

// held delays the data that arrives while the wire hangs.
type held struct {
	net.Conn
	w *wire
}

func (h held) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	h.w.mu.Lock()
	hang := h.w.hang
	h.w.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return n, err
}

// Requests during a database outage fail quickly with the right error, and afterwards
// everything works again without a restart.
func TestDatabaseAway(t *testing.T) {
	for name, hang := range map[string]bool{"cut": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			if !hang { // the limits of a hanging connection need a machine that is not too busy
				t.Parallel()
			}
			h := newHouse(t, db.Postgres, func(r *config.Raw) { r.MetricsAddr = "127.0.0.1:0" })
			w := h.wired(hang)
			s := h.start()
			owner := s.login(ownerEmail)
			kept := map[string]bool{}
			create := func(title string) answer {
				a := owner.post("/api/v1/tasks", map[string]string{"title": title})
				if a.status == http.StatusCreated {
					kept[title] = true
				}
				return a
			}
			create("before").want(http.StatusCreated)

			rounds := 2
			if testing.Short() {
				rounds = 1
			}
			for round := range rounds {
				w.set(!hang, hang)
				waitFor(t, "the outage in the log", func() bool {
					return s.anonymous().get("/readyz").status == http.StatusServiceUnavailable
				})
				var asking sync.WaitGroup
				for _, ask := range []struct {
					of           caller
					method, path string
					body         any
				}{
					{owner, http.MethodPost, "/api/v1/tasks", map[string]string{"title": fmt.Sprintf("during %d", round)}},
					{owner, http.MethodGet, "/api/v1/tasks", nil},
					{s.anonymous(), http.MethodGet, "/api/v1/config", nil},
					{s.anonymous(), http.MethodPost, "/api/v1/auth/login", map[string]string{"email": ownerEmail, "password": password}},
				} {
					asking.Go(func() {
						began := time.Now()
						a, err := ask.of.try(ask.method, ask.path, ask.body)
						if took := time.Since(began); err != nil || took > 30*time.Second || a.header.Get("Retry-After") == "" ||
							a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), `"database_unavailable"`) {
							t.Errorf("%s %s took %v: %d %s, Retry-After %q, %v", ask.method, ask.path, took, a.status, a.body, a.header.Get("Retry-After"), err)
						}
					})
				}
				asking.Wait()
				if s.anonymous().get("/livez").status != http.StatusOK || s.scrape()[`wardroom_database_up`] != 0 {
					t.Error("/livez fails without a database")
				}
				w.set(false, false)
				waitFor(t, "the recovery", func() bool {
					return s.anonymous().get("/readyz").status == http.StatusOK && create(fmt.Sprintf("after %d", round)).status == http.StatusCreated
				})
				waitFor(t, "the end of the outage in the log", func() bool { return strings.Count(h.seen.String(), `msg="database available again"`) == round+1 })
			}
			ran := s.scrape()[`wardroom_job_runs_total{kind="timer",outcome="done"}`]
			err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE job_timers SET next_at = ?`, time.Now().Add(-time.Minute))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, "background work", func() bool { return s.scrape()[`wardroom_job_runs_total{kind="timer",outcome="done"}`] > ran })
			list := string(s.login(ownerEmail).get("/api/v1/tasks").want(http.StatusOK).body)
			for title := range kept {
				if !strings.Contains(list, `"`+title+`"`) {
					t.Errorf("%q was acknowledged but is lost", title)
				}
			}
			log := h.seen.String()
			if n := strings.Count(log, `msg="database unavailable"`); n != rounds {
				t.Errorf("the log has the outage %d times", n)
			}
			for line := range strings.Lines(log) {
				if strings.Contains(line, "the process ended") {
					continue // a job whose end could not be written, which looks like one of a crashed process
				}
				if strings.Contains(line, "level=ERROR") && !strings.Contains(line, "database unavailable") || strings.Contains(line, "stack=") {
					t.Errorf("the log also has: %s", line)
				}
			}
		})
	}
}

// A database outage during a standup loses neither the standup nor an answer, and no
// agent is asked twice.
func TestStandupSurvivesItsDatabase(t *testing.T) {
	for name, hang := range map[string]bool{"cut": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			if !hang { // the limits of a hanging connection need a machine that is not too busy
				t.Parallel()
			}
			h := newHouse(t, db.Postgres, nil)
			w := h.wired(hang)
			s := h.start().connected()
			owner := s.login(ownerEmail)
			owner.hire("coo", "cto", "cpo", "cmo")
			m, speak := underWay(t, s, owner)
			w.set(!hang, hang)
			waitFor(t, "the outage in the log", func() bool {
				return s.anonymous().get("/readyz").status == http.StatusServiceUnavailable
			})
			speak() // cannot be stored during the outage
			waitFor(t, "the answer", func() bool { return h.runtime.Busy() == 0 })
			w.set(false, false)
			waitFor(t, "the database", func() bool { return s.anonymous().get("/readyz").status == http.StatusOK })
			wantWhole(t, owner, m.ID)
		})
	}
}

// A database outage during the start must not end the process, because a restart would
// not help.
func TestDatabaseAwayAtTheStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.Postgres, nil)
	w := h.wired(false)
	h.beforeRun = func() { w.set(true, false) }
	s := h.start()
	waitFor(t, "the outage in the log", func() bool { return strings.Contains(h.seen.String(), `msg="database unavailable"`) })
	s.anonymous().get("/livez").want(http.StatusOK)
	w.set(false, false)
	waitFor(t, "the background work", func() bool {
		var n int
		return s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM job_timers`).Scan(&n) == nil && n > 0
	})
	s.login(ownerEmail).get("/api/v1/tasks").want(http.StatusOK)
}

// A full disk is reported as such, and writing continues as soon as there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start()
	owner := s.login(ownerEmail)
	pages := func(n int) {
		t.Helper()
		err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	long := map[string]string{"title": "Long", "description": strings.Repeat("x", 20_000)}
	owner.post("/api/v1/tasks", long).want(http.StatusCreated)
	pages(1) // the current number of pages
	waitFor(t, "the disk to be full", func() bool { return owner.post("/api/v1/tasks", long).status != http.StatusCreated })
	if a := owner.post("/api/v1/tasks", long).wantProblem(http.StatusServiceUnavailable, "database_unavailable"); a.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	owner.get("/api/v1/tasks").want(http.StatusOK) // reading still works
	if log := h.seen.String(); strings.Count(log, `reason="the disk is full"`) != 1 {
		t.Error("the log does not have the full disk once")
	}
	pages(1_000_000)
	owner.post("/api/v1/tasks", long).want(http.StatusCreated)
	waitFor(t, "the end of the outage in the log", func() bool { return strings.Contains(h.seen.String(), `msg="database available again"`) })
}
