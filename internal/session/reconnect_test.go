package session

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/test/faults"
)

// TestStormOfReconnects checks that the mirror agrees with the runtime after 100 reconnects during
// changes, and that no reads remain.
func TestStormOfReconnects(t *testing.T) {
	t.Parallel()
	r, err := faults.Start(t.Context(), demo.Options{Token: "storm", Pace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	short := link.Backoff{Min: time.Millisecond, Max: 5 * time.Millisecond, Quick: 5 * time.Millisecond, Jitter: func() float64 { return 0 }}
	c, err := gateway.New(link.Options{URL: r.URL(), Token: "storm", Scopes: []string{"operator.read", "operator.write"}, Backoff: short})
	if err != nil {
		t.Fatal(err)
	}
	s := newMirror(c, 20*time.Second, &event.Service{DB: dbtest.New(t)})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = c.Run(ctx) })
	running.Go(func() { _ = follow(ctx, s, c) })
	if _, err := c.Await(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		run := fmt.Sprint("run-", i)
		if _, err := c.Start(ctx, gateway.Question{RunID: run, AgentID: "cto", SessionKey: fmt.Sprint("agent:cto:storm-", i), Message: "Go on."}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(ctx, run, 20*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	const cuts = 100
	for n := range cuts {
		if err := r.Label(fmt.Sprint("agent:cto:storm-", n%5), fmt.Sprint("cut ", n)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the next connection", func() bool { return c.Connections() > uint64(n) && r.Connections() > 0 })
		r.Drop()
	}
	var diff string
	eventually(t, "the truth", func() bool {
		want, err := c.ListSessions(ctx, maxSessions)
		if err != nil {
			return false
		}
		got, _, err := s.List(ctx, Filter{}, nil, 100)
		if err != nil {
			return false
		}
		theirs, ours := map[string]string{}, map[string]string{}
		for i := range want.Rows {
			theirs[want.Rows[i].Key] = fmt.Sprint(want.Rows[i].Label, want.Rows[i].UpdatedAt, want.Rows[i].Active)
		}
		for i := range got {
			ours[got[i].Key] = fmt.Sprint(str(got[i].Label), *got[i].UpdatedAt, got[i].Active)
		}
		diff = cmp.Diff(theirs, ours)
		return diff == ""
	})
	if t.Failed() {
		t.Log(diff)
	}
	if n := s.Counts().Readings; n > 2*cuts+10 {
		t.Errorf("%d readings for %d connections", n, cuts)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("waited for %s for a minute", what)
		}
	}
}
