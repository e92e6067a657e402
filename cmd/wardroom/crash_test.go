package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestKilledUnderLoad kills the service while agents and people work. Every write that
// was answered with a 2xx must still be there, and no write may be half done.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "wardroom")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", bin, "wardroom/cmd/wardroom").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	kills := map[db.Engine]int{db.SQLite: 50, db.Postgres: 15}
	if testing.Short() {
		kills = map[db.Engine]int{db.SQLite: 10, db.Postgres: 5}
	}
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			rounds, v := kills[engine], newVictim(t, bin, dbtest.URL(t, engine))
			for range rounds {
				v.round()
			}
			v.start()
			v.check()
			v.again()
			v.check()
			t.Logf("%d kills: %d writes were acknowledged, %d broke off; the log has %d events", rounds, v.acked, v.broken, v.last)
			// Killing an idle process would prove nothing.
			if v.acked < 10*rounds || v.broken < rounds {
				t.Errorf("too little work for %d kills: %d acknowledged, %d broken off", rounds, v.acked, v.broken)
			}
			var sound string
			if engine == db.Postgres {
				return
			}
			if err := v.db.QueryRow(t.Context(), `PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
				t.Errorf("the file is %s, %v", sound, err)
			}
		})
	}
}

// victim is a service that is killed and restarted on the same database.
type victim struct {
	t       *testing.T
	bin     string
	env     []string
	db      *db.DB // the test's own connection to its database
	tokens  []string
	ids     []string // IDs of the users of the tokens
	cmd     *exec.Cmd
	out     *output
	address string
	client  *http.Client

	mu     sync.Mutex
	sent   []*sent // all writes that were sent
	rounds int
	acked  int // number of acknowledged writes
	broken int // number of writes that were interrupted by a kill

	last    int64             // ID of the last event that was checked
	stories map[string]*story // by task ID
	told    map[string]int    // number of occurrences of each mark in the log
}

// sent is one write and its outcome.
type sent struct {
	kind    string // kind of the event that it records
	by      int    // index of the user's token
	mark    string // text that no other write has; empty for claims
	key     string // Idempotency-Key
	body    any    // body, to repeat the request
	round   int
	acked   bool
	refused bool // answered with an error
	task    string
	version int64
	token   int64 // claim token of the answer
}

// newVictim starts a service with an owner and three agents.
func newVictim(t *testing.T, bin, address string) *victim {
	t.Helper()
	v := &victim{
		t: t, bin: bin, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 30 * time.Second},
		stories: map[string]*story{}, told: map[string]int{},
	}
	setting := address
	if filepath.IsAbs(address) {
		setting = "sqlite:" + address
	}
	v.env = []string{
		"DATABASE_URL=" + setting, "DATA_DIR=" + t.TempDir(), "HOST=127.0.0.1", "PORT=0", "JWT_SECRET=" + secret,
		"BOOTSTRAP_OWNER_EMAIL=owner@example.com", "BOOTSTRAP_OWNER_PASSWORD=" + password,
	}
	t.Cleanup(func() {
		v.kill()
		v.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("output of the last process:\n%s", v.out)
		}
	})
	v.start()
	var in struct {
		Token string
		User  struct{ ID string }
	}
	v.must("", "/auth/login", map[string]any{"email": "owner@example.com", "password": password}, &in)
	v.tokens, v.ids = []string{in.Token}, []string{in.User.ID}
	for _, agent := range []string{"coo", "cto", "cpo"} {
		var user struct{ ID string }
		v.must(in.Token, "/users", map[string]any{"email": agent + "@example.com", "password": password, "role": "agent", "agent_id": agent}, &user)
		var made struct{ Key string }
		v.must(in.Token, "/users/"+user.ID+"/keys", map[string]any{"name": "work"}, &made)
		v.tokens, v.ids = append(v.tokens, made.Key), append(v.ids, user.ID)
	}
	d, err := db.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	v.db = d
	return v
}

// start starts the process and waits until it answers.
func (v *victim) start() {
	v.t.Helper()
	v.out = new(output)
	v.cmd = exec.CommandContext(context.WithoutCancel(v.t.Context()), v.bin, "serve")
	v.cmd.Dir, v.cmd.Env = filepath.Dir(v.bin), v.env
	v.cmd.Stdout, v.cmd.Stderr = v.out, v.out
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	listening := regexp.MustCompile(`address=(http://[0-9.:]+)`)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if m := listening.FindStringSubmatch(v.out.String()); m != nil {
			v.address = m[1]
			return
		}
		if time.Now().After(end) {
			v.t.Fatalf("the service did not start:\n%s", v.out)
		}
	}
}

// kill ends the process with SIGKILL.
func (v *victim) kill() {
	if v.cmd == nil {
		return
	}
	_ = v.cmd.Process.Signal(os.Kill)
	_ = v.cmd.Wait() // always an error after a kill
	v.cmd = nil
	v.client.CloseIdleConnections()
}

// round restarts the killed process, checks everything that it acknowledged, and kills
// the process again while it works.
func (v *victim) round() {
	v.t.Helper()
	if v.cmd == nil {
		v.start()
	}
	v.check()
	v.again()
	var acks atomic.Int64
	enough := make(chan struct{})
	many := 10 + rand.Int64N(50)
	var workers sync.WaitGroup
	for w := range 2 * len(v.tokens) {
		workers.Go(func() {
			v.work(w%len(v.tokens), func() {
				if acks.Add(1) == many {
					close(enough)
				}
			})
		})
	}
	select {
	case <-enough:
	case <-time.After(time.Minute):
		v.t.Errorf("only %d writes in a minute", acks.Load())
	}
	<-time.After(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) // at any point of a request
	v.kill()
	workers.Wait()
	for _, w := range v.sent {
		switch {
		case w.round != v.rounds || w.refused:
		case w.acked:
			v.acked++
		default:
			v.broken++
		}
	}
}

// ask sends one request and reads the whole answer. An error means that the
// connection broke and the outcome of the request is unknown.
func (v *victim) ask(method, token, path string, body any, headers ...string) (status int, header http.Header, text []byte, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, nil, err
	}
	r, err := http.NewRequestWithContext(context.Background(), method, v.address+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, text, err
}

// must sends a request of the setup, which must succeed.
func (v *victim) must(token, path string, body, into any) {
	v.t.Helper()
	status, _, text, err := v.ask(http.MethodPost, token, path, body)
	if err != nil || status > 299 {
		v.t.Fatalf("POST %s: %d %s %v", path, status, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		v.t.Fatal(err)
	}
}

// card is the part of a task that the tests read from an answer.
type card struct {
	ID      string
	Version int64
	Claim   *struct{ Token int64 }
}

// write sends one write and records its outcome. It returns false if the process is gone.
func (v *victim) write(w *sent, method, path string, body any, acked func()) (card, bool) {
	headers := []string{}
	if w.key != "" {
		headers = append(headers, "Idempotency-Key", w.key)
	}
	w.round, w.body = v.rounds, body
	v.mu.Lock()
	v.sent = append(v.sent, w)
	v.mu.Unlock()
	status, _, text, err := v.ask(method, v.tokens[w.by], path, body, headers...)
	var c card
	switch {
	case err != nil:
		return card{}, false
	case status == http.StatusNoContent, status == http.StatusConflict: // no task to claim, or another user was faster
		w.refused = true
		return card{}, true
	case status > 299:
		v.t.Errorf("%s %s: %d %s", method, path, status, text)
		return card{}, false
	}
	if err := json.Unmarshal(text, &c); err != nil {
		v.t.Errorf("%s %s: %v", method, path, err)
		return card{}, false
	}
	w.acked, w.task, w.version = true, c.ID, c.Version
	if c.Claim != nil {
		w.token = c.Claim.Token
	}
	acked()
	return c, true
}

// work does what an agent does until the process is gone: create two tasks, rename one,
// claim the next one, report on it, and finish or release it.
func (v *victim) work(by int, acked func()) {
	for n := 0; ; n++ {
		a := &sent{kind: "task.created", by: by, mark: db.NewID(), key: db.NewID()}
		first, ok := v.write(a, http.MethodPost, "/tasks", map[string]any{"title": a.mark}, acked)
		if !ok {
			return
		}
		b := &sent{kind: "task.created", by: by, mark: db.NewID(), key: db.NewID()}
		if _, ok := v.write(b, http.MethodPost, "/tasks", map[string]any{"title": b.mark, "tags": []string{"kill"}, "depends_on": []string{first.ID}}, acked); !ok {
			return
		}
		c := &sent{kind: "task.changed", by: by, mark: db.NewID()}
		if _, ok := v.write(c, http.MethodPatch, "/tasks/"+first.ID, map[string]any{"title": c.mark}, acked); !ok {
			return
		}
		mine, ok := v.write(&sent{kind: "task.claimed", by: by}, http.MethodPost, "/tasks/claim", map[string]any{}, acked)
		if !ok {
			return
		}
		if mine.Claim == nil {
			continue
		}
		for _, kind := range []string{"progress", "done"} {
			if kind == "done" && n%3 == 0 {
				if _, ok := v.write(&sent{kind: "task.released", by: by}, http.MethodPost, "/tasks/"+mine.ID+"/release",
					map[string]any{"claim_token": mine.Claim.Token}, acked); !ok {
					return
				}
				break
			}
			r := &sent{kind: "task.reported", by: by, mark: db.NewID()}
			body := map[string]any{"kind": kind, "text": r.mark, "claim_token": mine.Claim.Token}
			if _, ok := v.write(r, http.MethodPost, "/tasks/"+mine.ID+"/reports", body, acked); !ok {
				return
			}
		}
	}
}

// again repeats the creations of the last round, answered or not. Both requests together
// must have one effect.
func (v *victim) again() {
	v.t.Helper()
	for _, w := range v.sent {
		if w.round != v.rounds || w.key == "" || w.refused {
			continue
		}
		status, header, text, err := v.ask(http.MethodPost, v.tokens[w.by], "/tasks", w.body, "Idempotency-Key", w.key)
		var c card
		if err != nil || status != http.StatusCreated || json.Unmarshal(text, &c) != nil {
			v.t.Errorf("again: %d %s %v", status, text, err)
			continue
		}
		if w.acked && (c.ID != w.task || header.Get("Idempotency-Replayed") != "true") {
			v.t.Errorf("repeating the creation of %s returned %s, replayed: %q", w.task, c.ID, header.Get("Idempotency-Replayed"))
		}
		if !w.acked {
			w.acked, w.task, w.version = true, c.ID, 1
		}
	}
	v.rounds++
}
