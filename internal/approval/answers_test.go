package approval

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Rounds of two people on two replicas, a client of the runtime and an expiry at once have one outcome
// everywhere: in the runtime, in the row, and in what each person is told.
func TestSimultaneousAnswers(t *testing.T) {
	t.Parallel()
	rounds := 200
	if testing.Short() {
		rounds = 12
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) { simultaneous(t, newWorld(t, d), rounds) })
}

func simultaneous(t *testing.T, w *world, rounds int) {
	one, two := w.replica(), w.replica()
	for n := range rounds {
		id := fmt.Sprintf("a%d", n)
		a := w.asks(id, "ls "+id, one, two)
		var told [2]error
		var all sync.WaitGroup
		all.Go(func() { _, told[0] = one.Decide(w.as("Owner"), id, Answer{Shown: a.Digest, Decision: AllowOnce}) })
		all.Go(func() { _, told[1] = two.Decide(w.as("Admin"), id, Answer{Shown: a.Digest, Decision: AllowOnce}) })
		client := []gateway.Ending{{State: "allowed", Decision: "allow-once", By: "cli"}, {State: "denied", Decision: "deny", By: "cli"}}[n%2]
		for _, other := range []gateway.Ending{client, {State: "expired"}} {
			all.Go(func() { _ = w.rt.take(id, other) })
		}
		all.Wait()
		for _, s := range []*Service{one, two} {
			w.tell(gateway.AskedOrAnswered{ID: id, Ending: &gateway.Ending{Decision: "deny"}}, s)
		}
		r, err := find(t.Context(), w.d, id)
		if err != nil {
			t.Fatal(err)
		}
		is := w.rt.ended[id]
		won := ""
		for i, name := range []string{"Owner", "Admin"} {
			if told[i] == nil {
				won += name
			} else if !errors.Is(told[i], ErrDecided) {
				t.Errorf("%s: %s was told %v", id, name, told[i])
			}
		}
		by := ""
		if r.By != nil {
			by = r.By.Name
		}
		want := is.By
		if is.By == link.DisplayName {
			want = won
		} else if won != "" {
			t.Errorf("%s: %s was told to have won over %+v", id, won, is)
		}
		if string(r.State) != is.State || by != want || by == "" && is.State != "expired" {
			t.Errorf("%s: the row is %s by %q, the runtime has %+v, %q won", id, r.State, by, is, won)
		}
	}
}

// The empty list says truthfully that the gateway asks nobody.
func TestPolicy(t *testing.T) {
	t.Parallel()
	s := newWorld(t, dbtest.New(t)).replica()
	p, err := s.Policy(t.Context())
	if err != nil || p.Asks || !p.CanHear || len(p.Agents) != 1 || !p.Agents[0].Asks {
		t.Errorf("%v: %+v", err, p)
	}
}

// Old requests are deleted, and those that wait never.
func TestPurge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		a := w.asks("a1", "ls", s)
		w.asks("a2", "ls", s)
		if _, err := s.Decide(w.as("Owner"), "a1", Answer{Shown: a.Digest, Decision: Deny}); err != nil {
			t.Fatal(err)
		}
		later := noon.Add(time.Hour)
		if n, oldest, err := s.CountEnded(t.Context(), later); err != nil || n != 1 || !oldest.Equal(noon) {
			t.Errorf("%v: %d since %s", err, n, oldest)
		}
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			n, err := s.PurgeEnded(t.Context(), tx, later, 10)
			if n != 1 {
				t.Errorf("%d are deleted", n)
			}
			return err
		})
		if all, err2 := pending(t.Context(), d); err != nil || err2 != nil || len(all) != 1 {
			t.Errorf("%v, %v: %d wait", err, err2, len(all))
		}
	})
}

// An answer whose result is unknown keeps others from answering, and is attributed once the runtime
// tells what became of it.
func TestUnsureAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		a := w.asks("a1", "ls", s)
		w.rt.failSend = errors.Join(link.ErrUnreachable, link.ErrUnsure)
		if _, err := s.Decide(w.as("Owner"), "a1", Answer{Shown: a.Digest, Decision: Deny}); !errors.Is(err, link.ErrUnsure) {
			t.Fatal(err)
		}
		w.rt.failSend = nil
		if _, err := s.Decide(w.as("Admin"), "a1", Answer{Shown: a.Digest, Decision: AllowOnce}); !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "Owner is answering") {
			t.Errorf("while an answer is on its way: %v", err)
		}
		w.passes(s)
		if got, err := s.Get(w.as("Admin"), "a1"); err != nil || got.State != Denied || got.By.Name != "Owner" {
			t.Errorf("%v: %+v", err, got)
		}
	})
}

// A request whose times the runtime sent in a form that Wardroom can't read waits until it is answered, and is not taken
// for one that has expired.
func TestRequestWithoutTimes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		a := w.waitsFor(gateway.Approval{ID: "a1", Kind: gateway.ExecApproval, Command: "ls", AgentID: "cto", SessionKey: "agent:cto:main", Decisions: []string{"allow-once"}, Digest: "d"}, s)
		w.move(time.Minute)
		w.passes(s)
		if !w.waits[a.SessionKey].After(w.clock()) {
			t.Errorf("%v wait", w.waits)
		}
		if got, err := s.Decide(w.as("Owner"), a.ID, Answer{Shown: a.Digest, Decision: AllowOnce}); err != nil || got.State != Allowed || got.ExpiresAt != nil || !got.CreatedAt.Equal(noon) {
			t.Errorf("%v: %+v", err, got)
		}
	})
}
