package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Intervals and size limits for the mirror.
const (
	// lease is how long a process holds the claim to read transcripts.
	lease = 15 * time.Second
	// idleInterval is the longest time between two passes.
	idleInterval = time.Minute
	// busyInterval is how often a transcript with an active run is read, and callInterval how
	// soon after a new message. The delay is at least busyFactor times the duration of the last
	// read, because a long run is read from its beginning each time.
	busyInterval, callInterval, busyFactor = 20 * time.Second, 2 * time.Second, 20
	// urgentInterval and urgentFactor replace callInterval and busyFactor while a limit is close.
	urgentInterval, urgentFactor = 100 * time.Millisecond, 1
	// settleTime is how long a transcript must be unchanged, or missing from the
	// list, before its totals are final.
	settleTime = 2 * time.Minute
	// notifyInterval is the minimum time between two live updates.
	notifyInterval = time.Second

	pageSize  = 500 // rows of a transcript per request
	maxPages  = 40  // per read; older usage is covered by the runtime's totals
	runsPerTx = 100 // noted in one transaction
)

// Follow stores the time of its first call as the start of usage tracking. The ledger contains
// earlier usage only if the runtime still had it at that time.
func (s *Service) Follow(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return setFollowedSince(ctx, tx, clock.At(s.Now())) })
	if err != nil {
		return fmt.Errorf("store when Wardroom began to follow the runtime: %w", err)
	}
	return nil
}

// Run reads transcripts and adds their usage to the ledger until ctx ends. Only one process at a
// time does this, but Changed is called, and live streams are told, in every process. Run returns nil after its
// goroutines have ended.
func (s *Service) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	var changed mirror.Signal
	work.Go(func() {
		s.DB.Watch(ctx, topic, func() {
			s.Changed()
			changed.Wake()
		}, func(err error) {
			s.Log.WarnContext(ctx, "cannot watch the database; usage updates are delayed", "err", err)
		})
	})
	work.Go(func() { s.publishGrowth(ctx, &changed) })
	r := newReader(s)
	defer r.totals.running.Wait()
	loop := mirror.Loop{Name: "usage", DB: s.DB, Log: s.Log, Pass: r.pass, Claim: r.claim}
	s.Lists.WakeAtList(&s.wake)
	s.wake.Wake()
	loop.Run(ctx, &s.wake)
	return nil
}

// grownUsage is the event payload that says that the ledger has changed.
type grownUsage struct {
	AsOf clock.Time `json:"as_of"`
}

// publishGrowth tells live streams whenever the ledger changes, at most once per notifyInterval,
// and wakes the reader whenever the prices change.
func (s *Service) publishGrowth(ctx context.Context, changed *mirror.Signal) {
	last := int64(-1)
	var version int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed.C():
		}
		n, err := changeCount(ctx, s.DB)
		if err == nil && n != last && last >= 0 {
			s.Events.Publish(event.State{
				Kind: "usage.grown", Topics: []string{event.TopicUsage}, Data: grownUsage{clock.At(s.Now())},
			})
		}
		if err == nil {
			last = n
		}
		if v, err := pricesVersion(ctx, s.DB); err == nil && v != version {
			version = v
			s.wake.Wake()
		}
		mirror.Sleep(ctx, notifyInterval)
	}
}

// reader reads transcripts for the mirror. Only Run's goroutine uses it.
type reader struct {
	s            *Service
	claim        *mirror.Claim
	totals       totalsReader
	parents      parents              // of the sessions in the list
	runs         map[string]string    // by run ID: the transcript in which the list shows the run as active
	unlisted     bool                 // no list was received yet
	going        map[string]bool      // transcripts with stored usage of a run in progress; nil if not loaded
	learned      time.Time            // when going was loaded
	follows      bool                 // Follow has succeeded
	seen         map[string]int64     // by transcript: the session version up to which the ledger is complete
	last         map[string]lastRead  // by transcript with an active run
	reconciled   map[string]string    // by transcript: the totals that the ledger was reconciled with
	absent       map[string]time.Time // by transcript with totals: since when it has been missing from the list
	priced       int64                // the version of the prices that has been applied; -1 if none
	retryAt      map[string]time.Time // by unreadable transcript: when to retry
	failingSince map[string]time.Time // by unreadable transcript: since when it has been unreadable
	fails        int                  // consecutive first failures, each of another transcript
	tries        int                  // failed retries in this pass
}

func newReader(s *Service) *reader {
	claim := mirror.NewClaim(s.DB, claimQuery, lease, s.Now)
	claim.Ends = claimEnd
	return &reader{
		s: s, claim: claim, priced: -1,
		seen: map[string]int64{}, last: map[string]lastRead{}, reconciled: map[string]string{},
		absent: map[string]time.Time{},
	}
}

// pass does the work that is due and returns the time until the next pass.
func (r *reader) pass(ctx context.Context) (time.Duration, error) {
	list := r.s.Lists.Latest()
	r.unlisted = list.At.IsZero()
	if !r.unlisted && !r.follows {
		if err := r.s.Follow(ctx); err != nil {
			return 0, err
		}
		r.follows = true
	}
	if err := r.work(ctx, list.Rows, r.totals.latest()); err != nil {
		return 0, err
	}
	next := r.pause(list.Rows)
	if r.unlisted {
		return next, nil
	}
	due, err := r.readTotals(ctx, list.Rows)
	return min(next, max(due, time.Second)), err
}

// pause returns the delay between a successful pass and the next one.
func (r *reader) pause(rows []gateway.Session) time.Duration {
	wait := idleInterval
	for i := range rows {
		if _, ok := r.last[rows[i].ID]; ok && rows[i].Active {
			next := r.nextRead(&rows[i])
			if retryAt := r.retryAt[rows[i].ID]; retryAt.After(next) {
				next = retryAt
			}
			wait = min(wait, next.Sub(r.s.Now()))
		}
	}
	if r.s.urgent() {
		return max(wait, urgentInterval)
	}
	return max(wait, time.Second)
}

func (r *reader) work(ctx context.Context, rows []gateway.Session, counted *gateway.SessionUsage) error {
	r.tries = 0
	r.prune(rows, counted)
	prices, err := pricesVersion(ctx, r.s.DB)
	if err != nil {
		return err
	}
	by, due := r.dueTranscripts(rows)
	if err := r.loadInProgress(ctx); err != nil {
		return err
	}
	if len(due) == 0 && len(r.unreconciled(by, counted)) == 0 && prices == r.priced && len(r.stopped(by)) == 0 {
		return nil
	}
	if err := r.claim.Hold(ctx); err != nil {
		return err
	}
	if prices != r.priced { // works without a gateway
		if err := r.s.reprice(ctx); err != nil {
			return err
		}
		r.priced = prices
	}
	for i, row := range due {
		if i%50 == 49 {
			if err := r.claim.Hold(ctx); err != nil {
				return err
			}
		}
		if _, err := r.trySync(ctx, row, row.Version()); err != nil {
			return err
		}
	}
	if err := r.deleteStopped(ctx, by); err != nil {
		return err
	}
	for _, u := range r.unreconciled(by, counted) {
		if row := by[u.SessionID]; row != nil && u.LastAt.After(row.UpdatedAt.Time) && !r.givenUp(u.SessionID) {
			// In the list, the session of a job's run keeps the time at which the run
			// started (observed in OpenClaw 2026.9.6).
			late := *row
			late.UpdatedAt = u.LastAt
			if done, err := r.trySync(ctx, &late, row.Version()); err != nil {
				return err
			} else if !done {
				continue
			}
		}
		done, err := r.s.reconcile(ctx, u, counted.At)
		if err != nil {
			return err
		}
		if done {
			r.reconciled[u.SessionID] = fingerprint(u)
		}
	}
	return nil
}

// dueTranscripts maps the given sessions by transcript ID. It also returns the sessions whose transcripts must be read
// now.
func (r *reader) dueTranscripts(rows []gateway.Session) (by map[string]*gateway.Session, due []*gateway.Session) {
	by = make(map[string]*gateway.Session, len(rows))
	r.runs, r.parents = map[string]string{}, parentsOf(rows)
	for i := range rows {
		row := &rows[i]
		by[row.ID] = row
		if !row.Active {
			r.s.messages.clear(row.Key)
		}
		if row.Active && row.RunID != "" {
			r.runs[row.RunID] = row.ID
		}
		if r.due(row) {
			due = append(due, row)
		}
	}
	return by, due
}

// prune drops the state of transcripts that no longer exist.
func (r *reader) prune(rows []gateway.Session, counted *gateway.SessionUsage) {
	if counted == nil || len(r.seen)+len(r.reconciled) < 2*(len(rows)+len(counted.Transcripts))+100 {
		return
	}
	there := map[string]bool{}
	for i := range rows {
		there[rows[i].ID] = true
	}
	for i := range counted.Transcripts {
		there[counted.Transcripts[i].SessionID] = true
	}
	keepOnly(r.seen, there)
	keepOnly(r.reconciled, there)
	keepOnly(r.absent, there)
	keepOnly(r.last, there)
	keepOnly(r.retryAt, there)
	keepOnly(r.failingSince, there)
}

func keepOnly[V any](of map[string]V, there map[string]bool) {
	maps.DeleteFunc(of, func(id string, _ V) bool { return !there[id] })
}

// Limits on retries for unreadable transcripts.
const (
	refusedRetry = 10 * time.Minute // delay after the runtime refused to return the transcript
	slowRetry    = time.Minute      // delay after a timeout
	maxFailures  = 3                // consecutive failures that mean the problem is not limited to one transcript
	// giveUpAfter is how long to retry before the transcript's totals are used instead.
	// Runs that are read later are subtracted from those totals.
	giveUpAfter = time.Hour
)

// givenUp reports whether a transcript has been unreadable for at least giveUpAfter.
func (r *reader) givenUp(id string) bool {
	since, ok := r.failingSince[id]
	return ok && r.s.Now().Sub(since) >= giveUpAfter
}

// trySync calls sync. If only this transcript cannot be read, trySync returns false without an
// error, and the transcript is read again later. An error means that the failure affects all
// transcripts.
func (r *reader) trySync(ctx context.Context, row *gateway.Session, version int64) (done bool, err error) {
	now := r.s.Now()
	_, failing := r.failingSince[row.ID]
	if now.Before(r.retryAt[row.ID]) || failing && r.tries >= maxFailures {
		return false, nil
	}
	err = r.sync(ctx, row, version)
	again := slowRetry
	switch {
	case err == nil:
		r.fails = 0
		delete(r.retryAt, row.ID)
		delete(r.failingSince, row.ID)
		return true, nil
	case errors.Is(err, link.ErrRefused):
		again = refusedRetry
	case ctx.Err() != nil || !errors.Is(err, link.ErrBusy) && !errors.Is(err, link.ErrTimeout):
		return false, err
	}
	if failing {
		r.tries++
		r.retryAt[row.ID] = now.Add(refusedRetry)
		return false, nil
	}
	if r.fails++; r.fails >= maxFailures {
		r.fails = 0
		return false, err
	}
	if r.retryAt == nil {
		r.retryAt, r.failingSince = map[string]time.Time{}, map[string]time.Time{}
	}
	r.retryAt[row.ID], r.failingSince[row.ID] = now.Add(again), now
	r.s.Log.WarnContext(ctx, "could not read the usage of a session; retrying later", "session", row.Key, "err", err)
	return false, nil
}

// due reports whether the session's transcript must be read now.
func (r *reader) due(row *gateway.Session) bool {
	if row.ID == "" || row.Key == "" || r.s.Now().Before(r.retryAt[row.ID]) {
		return false
	}
	if row.Active {
		return !r.s.Now().Before(r.nextRead(row))
	}
	version, ok := r.seen[row.ID]
	return !ok || version != row.Version()
}
