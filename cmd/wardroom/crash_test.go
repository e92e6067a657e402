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

// Somebody pulls the plug while agents and people work. What was answered with
// a 2xx was promised: all of it is there, and nothing else is half there.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "wardroom")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", bin, "wardroom/cmd/wardroom").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	kills := map[db.Engine]int{db.SQLite: 50, db.Postgres: 15}
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
			// A test that kills an idle process shows nothing.
			if v.acked < 10*rounds || v.broken < rounds {
				t.Errorf("too few for %d kills: %d acknowledged, %d broken off", rounds, v.acked, v.broken)
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

// victim is a service that is killed and started again on the same database.
type victim struct {
	t       *testing.T
	bin     string
	env     []string
	db      *db.DB // our own look at its database
	tokens  []string
	ids     []string // of those whose tokens they are
	cmd     *exec.Cmd
	out     *output
	address string
	client  *http.Client

	mu     sync.Mutex
	sent   []*sent // every write that was ever sent
	rounds int
	acked  int // of them, in time
	broken int // of them, when the process was killed

	last    int64             // the id of the last event that was checked
	stories map[string]*story // by the task's id
	told    map[string]int    // how often the log has each mark
}

// sent is one write and what came of it.
type sent struct {
	kind    string // of the event that it leaves
	by      int    // whose token
	mark    string // a text that no other write has; empty for claims
	key     string // its Idempotency-Key
	body    any    // for again
	round   int
	acked   bool
	refused bool // answered, and not by a 2xx
	task    string
	version int64
	token   int64 // that a claim was given
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
			t.Logf("the last process said:\n%s", v.out)
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
			v.t.Fatalf("it does not serve:\n%s", v.out)
		}
	}
}

// kill is the end without a last word.
func (v *victim) kill() {
	if v.cmd == nil {
		return
	}
	_ = v.cmd.Process.Signal(os.Kill)
	_ = v.cmd.Wait() // killed is what it says
	v.cmd = nil
	v.client.CloseIdleConnections()
}

// round starts the process where the last one was killed, looks for what that
// had promised, and kills it in the middle of the next work.
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
	<-time.After(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) // anywhere in a request
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

// ask sends one request and reads all of the answer. An error is that of a
// connection that broke: nobody knows what became of the request.
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

// must makes something before anybody is killed.
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

// card is what the answer to a write says of the task.
type card struct {
	ID      string
	Version int64
	Claim   *struct{ Token int64 }
}

// write sends one write and keeps what came of it. It answers false when the
// process is gone.
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
	case status == http.StatusNoContent, status == http.StatusConflict: // nothing to claim, or somebody was faster
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

// work is what somebody does until the process is gone: two new tasks, a new
// title for one, and the next task claimed, reported on and finished or given back.
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

// again repeats what was made in the last round, whether it was answered or
// not: there must be one effect of both.
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
			v.t.Errorf("%s was made, and again it is %s, replayed: %q", w.task, c.ID, header.Get("Idempotency-Replayed"))
		}
		if !w.acked {
			w.acked, w.task, w.version = true, c.ID, 1
		}
	}
	v.rounds++
}
