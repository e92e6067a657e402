package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"wardroom/internal/platform/db"
)

const (
	// batchSize is the number of events read and sent at a time.
	batchSize = 256
	// After a batch, Run pauses, so that many quick commits become few batches. Each batch is one
	// write per stream, whatever its size. The pause grows with the number of streams. An event is
	// delayed by at most one pause. After a quiet period, events are sent at once.
	minPause       = 5 * time.Millisecond
	pausePerStream = 40 * time.Microsecond
	maxPause       = 40 * time.Millisecond
	// pollInterval is how often Run reads the log even without a notification, because
	// notifications can be lost.
	pollInterval = 2 * time.Second
)

// Run reads the log for all streams of this process until ctx ends, and then ends the streams. It
// always returns nil. Streams receive events only while Run is running.
func (s *Service) Run(ctx context.Context) error {
	h := s.hub()
	defer h.close()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		s.DB.Watch(ctx, topicOfLog, h.wake, func(err error) {
			s.log().WarnContext(ctx, "cannot receive database notifications; live updates are delayed", "err", err)
		})
	})
	again := time.NewTicker(pollInterval)
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
		if err != nil && healthy && !s.away(err) { // log only the first failure
			s.log().ErrorContext(ctx, "cannot read events for the streams", "err", err)
		}
		healthy = err == nil
	}
}

// pull reads and broadcasts all new events.
func (s *Service) pull(ctx context.Context) error {
	h := s.hub()
	for {
		at, wanted := h.position()
		if !wanted {
			return nil
		}
		batch, err := s.readBatch(ctx, at)
		switch {
		case errors.Is(err, errPurged):
			h.dropAll() // the clients reconnect and get a reset
			return nil
		case err != nil:
			return fmt.Errorf("read the log: %w", err)
		case len(batch) == 0:
			return nil
		}
		streams := h.broadcast(batch, batch[len(batch)-1].id)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pauseFor(streams)):
		}
	}
}

// pauseFor returns how long to pause after sending a batch to the given number of streams.
func pauseFor(streams int) time.Duration {
	return min(minPause+time.Duration(streams)*pausePerStream, maxPause)
}

// readBatch returns the frames of the events after id, within the timeout Limits.Read. Without that
// timeout, a connection that died silently would block all streams for about 15 minutes, until the
// kernel closes it.
func (s *Service) readBatch(ctx context.Context, id int64) (batch []frame, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Limits.withDefaults().Read)
	defer cancel()
	err = s.DB.View(ctx, func(q db.Queryer) error {
		events, err := following(ctx, q, id, batchSize)
		if err != nil {
			return err
		}
		tasks, err := s.changedTasks(ctx, q, events)
		if err != nil {
			return err
		}
		batch, err = frames(events, tasks)
		return err
	})
	return batch, err
}

// changedTasks returns the tasks that the events are about, by ID, as they are now.
func (s *Service) changedTasks(ctx context.Context, q db.Queryer, events []Event) (map[string]json.RawMessage, error) {
	var ids []string
	for _, e := range events {
		if e.isAboutTask() && !slices.Contains(ids, e.Subject.ID) {
			ids = append(ids, e.Subject.ID)
		}
	}
	if s.Tasks == nil || len(ids) == 0 {
		return nil, nil
	}
	return s.Tasks(ctx, q, ids)
}

// frames encodes events. The last event about each task contains the task; in the others before it, the task would only
// be repeated.
func frames(events []Event, tasks map[string]json.RawMessage) ([]frame, error) {
	list := make([]frame, len(events))
	sent := map[string]bool{}
	for i, e := range slices.Backward(events) {
		var task json.RawMessage
		if id := e.Subject.ID; e.isAboutTask() && !sent[id] {
			task, sent[id] = tasks[id], true
		}
		var err error
		if list[i], err = frameOf(e, task); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Publish sends each state to those of this process's streams that selected its topic. States are
// not stored; streams that start later get them from Current. Publish never blocks. It sends the
// states of one call as one batch. A short pause follows each batch, and states published during
// the pause are sent together when it ends. If a state cannot be encoded, Publish logs that and sends none.
func (s *Service) Publish(states ...State) {
	if _, wanted := s.hub().position(); !wanted {
		return // skip the encoding
	}
	list := make([]frame, len(states))
	for i, state := range states {
		var err error
		if list[i], err = state.frame(); err != nil {
			s.log().Error("could not publish live updates", "err", err)
			return
		}
	}
	s.hub().publish(list)
}

// away reports whether err means that the database is unavailable or does not
// respond in time.
func (s *Service) away(err error) bool {
	return s.DB.Away("live streams", err) || errors.Is(err, context.DeadlineExceeded)
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
