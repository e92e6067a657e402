package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// portion is how many events are read and handed out at once.
	portion = 256
	// The tail stays away from the log for a breath after it found something, and
	// states that change meanwhile gather, so that many commits in a row become few portions: to each stream a portion is
	// one write, however much is in it, and 500 streams are 500 of them. So it
	// breathes longer the more there are. It is the most that this adds to the way
	// of an event; one that comes after a rest is told at once.
	leastBreath   = 5 * time.Millisecond
	breathPerEach = 40 * time.Microsecond
	mostBreath    = 40 * time.Millisecond
	// lookAnyway is when the tail looks although nobody woke it: what wakes can be lost,
	// the rows cannot.
	lookAnyway = 2 * time.Second
)

// Run reads the log for all streams of this process until ctx ends, which ends
// them. It returns nil. Without it a stream stands still.
func (s *Service) Run(ctx context.Context) error {
	h := s.hub()
	defer h.close()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		s.DB.Watch(ctx, topicOfLog, h.wake, func(err error) {
			s.log().WarnContext(ctx, "events are noticed late: the database cannot be watched", "err", err)
		})
	})
	again := time.NewTicker(lookAnyway)
	defer again.Stop()
	for healthy := true; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-h.poke:
		case <-again.C:
		}
		err := s.pull(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && healthy && !s.away(err) { // one trouble is told once
			s.log().ErrorContext(ctx, "events cannot be read for the live streams", "err", err)
		}
		healthy = err == nil
	}
}

// pull hands out everything that is new.
func (s *Service) pull(ctx context.Context) error {
	h := s.hub()
	for {
		at, wanted := h.position()
		if !wanted {
			return nil
		}
		events, err := s.portion(ctx, at)
		switch {
		case errors.Is(err, errForgotten):
			h.dropAll() // they come back and are told
			return nil
		case err != nil:
			return fmt.Errorf("read the log: %w", err)
		case len(events) == 0:
			return nil
		}
		batch, err := frames(events)
		if err != nil {
			return err
		}
		streams := h.hand(batch, batch[len(batch)-1].id)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(breath(streams)):
		}
	}
}

// breath is how long so many streams are left alone after a portion.
func breath(streams int) time.Duration {
	return min(leastBreath+time.Duration(streams)*breathPerEach, mostBreath)
}

// portion reads what follows the id. It waits for Limits.Read at most: a
// connection that died without a word would otherwise hold the tail, and with
// it every stream, until the kernel gives it up, which takes a quarter of an hour.
func (s *Service) portion(ctx context.Context, id int64) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Limits.withDefaults().Read)
	defer cancel()
	return following(ctx, s.DB, id, portion)
}

func frames(events []Event) ([]frame, error) {
	list := make([]frame, len(events))
	for i, e := range events {
		var err error
		if list[i], err = frameOf(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Tell sends states to all open streams of this process that want their topics.
// They are not kept: whoever comes later hears of them from Current, or reads
// them. It never waits. What is told within a breath is one portion of what a
// stream may fall behind, as is all of one call.
func (s *Service) Tell(states ...State) error {
	if _, wanted := s.hub().position(); !wanted {
		return nil // nor is it worth the encoding
	}
	list := make([]frame, len(states))
	for i, state := range states {
		var err error
		if list[i], err = state.frame(); err != nil {
			return err
		}
	}
	s.hub().tell(list)
	return nil
}

// away reports whether err says that the database is away, or hangs: then it
// was asked in vain for as long as we wait for it.
func (s *Service) away(err error) bool {
	known := s.Away != nil && s.Away(err)
	return known || errors.Is(err, context.DeadlineExceeded)
}

func (s *Service) hub() *hub {
	s.once.Do(func() { s.live = newHub() })
	return s.live
}

func (s *Service) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s *Service) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}
