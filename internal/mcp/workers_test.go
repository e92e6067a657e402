package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// errDied ends a connection of a worker. The worker does not know whether its last call had an effect.
var errDied = errors.New("the worker died")

// mortal sends requests with a key. Some calls of tools end with the worker's death, before or after Wardroom handles
// them or in between, and some are sent twice.
type mortal struct {
	key    string
	mu     sync.Mutex
	rng    *rand.Rand
	deaths int
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	fate, instant := m.rng.IntN(100), time.Duration(m.rng.IntN(5_000))*time.Microsecond
	if !bytes.Contains(body, []byte(`"tools/call"`)) {
		fate = 100
	}
	if fate < 9 {
		m.deaths++
	}
	m.mu.Unlock()
	send := func(ctx context.Context) (*http.Response, error) {
		again := r.Clone(ctx)
		again.Header.Set("Authorization", "Bearer "+m.key)
		again.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(again)
	}
	lose := func(ctx context.Context) error {
		res, err := send(ctx)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return errors.Join(err, res.Body.Close())
	}
	switch {
	case fate < 3:
		return nil, errDied
	case fate < 6:
		return nil, errors.Join(errDied, lose(r.Context()))
	case fate < 9:
		ctx, cancel := context.WithTimeout(r.Context(), instant)
		defer cancel()
		return nil, errors.Join(errDied, lose(ctx))
	case fate < 18:
		if err := lose(r.Context()); err != nil {
			return nil, err
		}
	}
	return send(r.Context())
}

// worker is an agent that claims tasks and reports on them until none is left. It remembers which reports were
// acknowledged.
type worker struct {
	*site
	*mortal

	name, version string
	said          int
	acknowledged  []string
	// leaves is after how many reports the worker dies for good; 0 is never.
	leaves int
}

// work lives until no task is left, or the worker leaves for good.
func (w *worker) work(ctx context.Context) error {
	for {
		idle, err := w.live(ctx)
		if idle || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !strings.Contains(err.Error(), errDied.Error()) {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
}

// live connects and works until the connection dies. It reports whether the worker has nothing to do any more.
func (w *worker) live(ctx context.Context) (idle bool, err error) {
	c, err := sdk.NewClient(&sdk.Implementation{Name: w.name, Version: "1"}, nil).Connect(ctx,
		&sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: w.mortal}, MaxRetries: -1},
		&sdk.ClientSessionOptions{ProtocolVersion: w.version})
	if err != nil {
		return false, err
	}
	defer func() { _ = c.Close() }() // the connection may be broken
	agent := client{c, w.t}
	for {
		text, failed, err := agent.try("next_task", nil)
		if err != nil || failed {
			return false, refusedError(err, text)
		}
		key, _, _ := strings.Cut(text, " ")
		if !strings.HasPrefix(key, "TASK-") {
			return true, nil
		}
		for _, in := range []args{{"kind": "ack"}, {"kind": "progress"}, {"kind": "done", "checked": "twice", "not_checked": "nothing"}} {
			w.said++
			if w.said == w.leaves {
				return true, nil
			}
			in["task"], in["text"] = key, fmt.Sprintf("%s says %d", w.name, w.said)
			if text, failed, err := agent.try("report", in); err != nil || failed {
				return false, refusedError(err, text)
			}
			w.acknowledged = append(w.acknowledged, fmt.Sprint(in["text"]))
		}
	}
}

// refusedError returns err, or else an error with the text of a refusal.
func refusedError(err error, refusal string) error {
	if err != nil {
		return err
	}
	return errors.New("refused: " + refusal)
}

// Workers that die at any moment, repeat calls, and sometimes never return, finish all tasks: no task has two holders at
// a time, each is finished once, and each acknowledged report is in its history once.
func TestMortalWorkers(t *testing.T) {
	t.Parallel()
	workers, tasks := 40, 1000
	if testing.Short() {
		workers, tasks = 8, 60
	}
	both(t, func(t *testing.T, s *site) {
		for i := range tasks {
			s.add(task.New{Title: fmt.Sprintf("Count the chairs on floor %d", i)})
		}
		all := make([]*worker, workers)
		for i := range all {
			name := fmt.Sprintf("worker%d", i)
			s.addUser(name)
			all[i] = &worker{site: s, mortal: &mortal{key: name, rng: rand.New(rand.NewPCG(1, uint64(i)))}, name: name, version: []string{runtimeVersion, "2026-07-28"}[i%2]}
			if i%4 == 0 {
				all[i].leaves = 2 + i%3
			}
		}
		labor(t, all)
		abandoned := s.passHours(t)
		for _, w := range all {
			w.leaves = 0
		}
		labor(t, all)
		http.DefaultClient.CloseIdleConnections()

		deaths, acknowledged := 0, map[string]int{}
		for _, w := range all {
			deaths += w.deaths
			for _, text := range w.acknowledged {
				acknowledged[text] = 0
			}
		}
		if deaths < workers || int(abandoned) < workers/8 {
			t.Errorf("only %d deaths, and %d abandoned tasks", deaths, abandoned)
		}
		s.checkHistory(t, tasks, acknowledged)
		t.Logf("%d workers finished %d tasks with %d deaths, %d abandoned tasks, and %d acknowledged reports", workers, tasks, deaths, abandoned, len(acknowledged))
	})
}

// labor lets the workers work at the same time.
func labor(t *testing.T, all []*worker) {
	t.Helper()
	var wg sync.WaitGroup
	for _, w := range all {
		wg.Go(func() {
			if err := w.work(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// passHours ends the claims of workers that left, as time does, and returns their number.
func (s *site) passHours(t *testing.T) (ended int64) {
	t.Helper()
	err := s.db.Tx(t.Context(), func(tx *db.Tx) (err error) {
		ended, err = tx.Exec(t.Context(), `UPDATE tasks SET claim_until = ? WHERE claim_until IS NOT NULL`, time.Now().Add(-time.Hour))
		return err
	})
	if err == nil {
		err = s.Tasks.EndLeases(actor.With(t.Context(), actor.System))
	}
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// checkHistory reads the log in its order: a task is claimed only while no one holds it, only its holder, or who finished
// it, reports on it, it is finished once, and the reports with the given texts are there once.
func (s *site) checkHistory(t *testing.T, tasks int, reports map[string]int) {
	t.Helper()
	type happened struct{ task, kind, by, data string }
	rows, err := s.db.Query(t.Context(), `SELECT subject_name, kind, actor_id, data FROM events
		WHERE kind IN ('task.claimed', 'task.reported', 'task.lease_ended') AND class = 'activity' ORDER BY id`)
	log, err := db.All(rows, err, func(r db.Row) (e happened, err error) { return e, r.Scan(&e.task, &e.kind, &e.by, &e.data) })
	if err != nil {
		t.Fatal(err)
	}
	holder, finisher, finished := map[string]string{}, map[string]string{}, map[string]int{}
	for _, e := range log {
		var data struct {
			Kind task.Kind `json:"report"`
			Text string
		}
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			t.Fatal(err)
		}
		switch held := holder[e.task]; {
		case e.kind == "task.claimed" && held == "":
			holder[e.task] = e.by
		case e.kind == "task.lease_ended" && held != "":
			delete(holder, e.task)
		// The last call of a dead worker can finish its task after the worker has taken it up again.
		case e.kind == "task.reported" && (held == e.by || held == "" && finisher[e.task] == e.by):
			text, _, _ := strings.Cut(data.Text, "\n")
			if _, ok := reports[text]; ok {
				reports[text]++
			}
			if data.Kind == task.Finished && held != "" {
				finished[e.task]++
				finisher[e.task] = e.by
				delete(holder, e.task)
			}
		default:
			t.Errorf("%s of %s by %s, while %q holds it", e.kind, e.task, e.by, held)
		}
	}
	for name, n := range finished {
		if n != 1 {
			t.Errorf("%s is finished %d times", name, n)
		}
	}
	if len(finished) != tasks || len(reports) < 2*tasks {
		t.Errorf("%d tasks are finished, and %d reports acknowledged; want %d, and 2 for each", len(finished), len(reports), tasks)
	}
	for text, n := range reports {
		if n != 1 {
			t.Errorf("the acknowledged report %q is in the history %d times", text, n)
		}
	}
}
