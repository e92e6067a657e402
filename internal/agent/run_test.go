package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// brittle is a runtime whose connection breaks with each request for its agents and recovers at
// once.
type brittle struct {
	team
	state link.State
	asked int
	back  chan struct{}
}

func (b *brittle) Status() link.Status { return link.Status{State: b.state} }

func (b *brittle) Watch(ctx context.Context, tell func(link.Status)) {
	for {
		tell(b.Status())
		select {
		case <-ctx.Done():
			return
		case <-b.back:
		}
	}
}

func (b *brittle) Agents(ctx context.Context) ([]gateway.Agent, error) {
	b.asked++
	time.Sleep(time.Second)
	select {
	case b.back <- struct{}{}:
	case <-ctx.Done():
	}
	return nil, link.ErrUnreachable
}

// TestRunLeavesTheRuntimeAlone checks that a request that breaks connections is not repeated on
// each new connection.
func TestRunLeavesTheRuntimeAlone(t *testing.T) {
	for state, want := range map[link.State]int{link.Connected: 10, link.MissingScopes: 10, link.Unpaired: 0} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &brittle{state: state, back: make(chan struct{})}
				s := &Service{Runtime: b, Now: time.Now}
				ctx, cancel := context.WithTimeout(t.Context(), 10*rosterRetry-time.Second)
				defer cancel()
				if err := s.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if b.asked != want {
					t.Errorf("in ten minutes it asked %d times, want %d", b.asked, want)
				}
			})
		})
	}
}
