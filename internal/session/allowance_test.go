package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// A caller who asks for sessions that nobody has, or for one page after another,
// must not use up the gateway: others are answered as before.
func TestReadingsOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	hostile := actor.Actor{ID: "mallory", Role: actor.Agent}
	for name, read := range map[string]struct {
		call string
		do   func(ctx context.Context, s *Service, n int) error
	}{
		"unknown sessions": {"describe", func(ctx context.Context, s *Service, n int) error {
			_, err := s.Get(ctx, fmt.Sprint("agent:cto:none-", n))
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		}},
		"pages": {"turns", func(ctx context.Context, s *Service, n int) error {
			_, err := s.Messages(ctx, "agent:cto:main", 1+n%100, nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mirrored(t, func(t *testing.T, s *Service, r *runtime) {
				r.page = gateway.TurnPage{SessionID: "t"}
				list(t, s)
				ctx := actor.With(t.Context(), hostile)
				refused := 0
				for n := range 1000 {
					err := read.do(ctx, s, n)
					if errors.Is(err, ErrReads) {
						if f := fault.Of(err); f.RetryAfter <= 0 || f.RetryAfter > time.Second {
							t.Fatalf("refused for %s", f.RetryAfter)
						}
						refused++
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if asked := r.count(read.call); asked != readsBurst || refused != 1000-readsBurst {
					t.Errorf("the gateway was asked %d times, and %d requests were refused", asked, refused)
				}
				for _, other := range []actor.Actor{{ID: "ada", Role: actor.User}, {}} {
					if err := read.do(actor.With(t.Context(), other), s, 1001); err != nil {
						t.Errorf("%q is refused for another's requests: %v", other.ID, err)
					}
				}
				time.Sleep(10 * readsPause)
				for n := range 10 {
					if err := read.do(ctx, s, n); err != nil {
						t.Errorf("after a rest: %v", err)
					}
				}
				if err := read.do(ctx, s, 0); !errors.Is(err, ErrReads) {
					t.Errorf("after the rest is used up: %v", err)
				}
			})
		})
	}
}

// While the gateway is slow, one caller has a few requests waiting for it.
func TestReadingsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.slowPage = 10 * time.Second
		list(t, s)
		ctx := actor.With(t.Context(), actor.Actor{ID: "mallory", Role: actor.Agent})
		var wg sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for n := range 50 {
			wg.Go(func() {
				if _, err := s.Get(ctx, fmt.Sprint("agent:cto:none-", n)); errors.Is(err, ErrReads) {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if asked := r.count("describe"); asked != readsAtOnce || refused != 50-readsAtOnce {
			t.Errorf("the gateway was asked %d times at once, and %d requests were refused", asked, refused)
		}
		if _, err := s.Get(ctx, "agent:cto:none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("when they are answered: %v", err)
		}
		if len(s.reads.of) != 1 {
			t.Errorf("%d callers are kept", len(s.reads.of))
		}
	})
}
