package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
)

// brittle is a runtime whose connection breaks whenever somebody asks for its
// agents, and which is there again at once.
type brittle struct {
	team
	asked int
	back  chan struct{}
}

func (b *brittle) Status() gateway.Status { return gateway.Status{State: gateway.Connected} }

func (b *brittle) Watch(ctx context.Context, tell func(gateway.Status)) {
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
	return nil, gateway.ErrUnreachable
}

// Who asks again with each new connection what breaks connections leaves none to
// the others.
func TestRunLeavesTheRuntimeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brittle{back: make(chan struct{})}
		s := &Service{Runtime: b, Now: time.Now}
		ctx, cancel := context.WithTimeout(t.Context(), 10*keepPause-time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if b.asked != 10 {
			t.Errorf("in ten minutes it asked %d times, not once in each", b.asked)
		}
	})
}
