package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
)

// TestHiddenSessionsAreReadTogether checks that concurrent reads of a session that is not in the
// list are shared.
func TestHiddenSessionsAreReadTogether(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.begin()
		list(t, s)
		r.slowPage = time.Second
		var readers sync.WaitGroup
		for range 500 {
			readers.Go(func() {
				if got, err := s.Get(t.Context(), "agent:cto:archived"); err != nil || got.Key != "agent:cto:archived" {
					t.Errorf("read %+v, %v", got, err)
				}
			})
		}
		readers.Wait()
		if n := r.count("describe"); n > 2 {
			t.Errorf("500 readers made %d readings", n)
		}
	})
}

// TestMessagesAreReadTogether checks that concurrent reads of a page are shared, and that each
// caller gets a read that started after its call.
func TestMessagesAreReadTogether(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.begin()
		list(t, s)
		r.slowPage = time.Second
		r.page = gateway.TurnPage{SessionID: "one", Turns: []gateway.Turn{{Seq: 1, Role: "user"}}, Total: 1}
		var readers sync.WaitGroup
		read := func(ctx context.Context, want int64, wantErr error) {
			readers.Go(func() {
				m, err := s.Messages(ctx, "agent:cto:main", 10, nil)
				if !errors.Is(err, wantErr) || err == nil && (len(m.List) != 1 || *m.List[0].Seq < want) {
					t.Errorf("read %+v, %v", m, err)
				}
			})
		}
		impatient, leave := context.WithCancel(t.Context())
		read(t.Context(), 1, nil)
		synctest.Wait()
		r.change("", func() { r.page.Turns = []gateway.Turn{{Seq: 2, Role: "user"}} })
		read(impatient, 2, context.Canceled) // canceled while it reads for the others
		synctest.Wait()
		for range 500 {
			read(t.Context(), 2, nil)
		}
		synctest.Wait()
		leave()
		readers.Wait()
		if n := r.count("turns"); n > 3 {
			t.Errorf("502 readers made %d readings", n)
		}
		read(impatient, 2, context.Canceled)
		read(t.Context(), 2, nil)
		readers.Wait()
		time.Sleep(2 * r.slowPage) // the read continues, although its caller has left
		if n := s.pages.Running(); n > 0 {
			t.Errorf("%d readings are left", n)
		}
	})
}
