package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// The pace of the mirror.
const (
	// lease is for how long a process that reads transcripts keeps the others from
	// it. Two at once would cost the gateway twice, and the ledger nothing.
	lease = 15 * time.Second
	// retry is how soon is tried again what failed, or what another process does.
	retry = 5 * time.Second
	// between is how long nothing may happen before it is looked all the same.
	between = time.Minute
	// busyEvery is how often a transcript is read while a run goes on in it, and
	// busyShare how many times as long as that takes it is left alone at least: a
	// long run is read from its beginning each time.
	busyEvery, busyShare = 20 * time.Second, 20
	// quiet is how long a transcript that is in no list any more has said nothing
	// before its totals are final.
	quiet = 2 * time.Minute
	// told is how often those who show the ledger hear that it has grown.
	tellEvery = time.Second

	turnPage   = 500 // rows of a transcript that are read at once
	turnPages  = 40  // at most; what is older is in the runtime's totals
	runsAtOnce = 100 // that one transaction notes
)

// mirror is what the gateway was last heard to have. The zero value is ready to use.
type mirror struct {
	mu      sync.Mutex
	rows    []gateway.Session     // of the last list
	listed  bool                  // there has been one
	counted *gateway.SessionUsage // the last totals that were fresh
	wake    chan struct{}
}

// signal is the channel that says that there is something to do.
func (m *mirror) signal() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wake == nil {
		m.wake = make(chan struct{}, 1)
	}
	return m.wake
}

func (m *mirror) nudge() {
	select {
	case m.signal() <- struct{}{}:
	default: // it has been told already
	}
}

// Read takes a reading of the runtime's sessions, and of their totals when they
// are fresh; nil before they have come. It does not wait, and keeps both.
func (s *Service) Read(rows []gateway.Session, counted *gateway.SessionUsage) {
	m := &s.mirror
	m.mu.Lock()
	if counted == nil {
		m.rows, m.listed = rows, true
	} else {
		m.counted = counted
	}
	m.mu.Unlock()
	m.nudge()
}

// Follow notes that the runtime is followed from now on, the first time that it is
// called: of what was before then the ledger has only what the runtime still has.
func (s *Service) Follow(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return follow(ctx, tx, clock.At(s.Now())) })
	if err != nil {
		return fmt.Errorf("note that the runtime is followed: %w", err)
	}
	return nil
}

// Run writes what the transcripts tell until ctx ends, in one process at a time,
// and tells in all of them that the ledger has grown. It returns nil, after
// everything that it started has ended.
func (s *Service) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	changed := make(chan struct{}, 1)
	work.Go(func() {
		s.DB.Watch(ctx, topic, func() {
			if s.Changed != nil {
				s.Changed()
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}, func(err error) {
			s.Log.WarnContext(ctx, "the usage is shown late: the database cannot be watched", "err", err)
		})
	})
	work.Go(func() { s.tell(ctx, changed) })
	r := newReader(s)
	defer r.release(ctx)
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.mirror.signal():
		case <-again.C:
		}
		again.Reset(r.pass(ctx))
	}
}

// tell tells Grown what is new, not more often than tellEvery, and wakes the
// mirror, for whom there may be new prices.
func (s *Service) tell(ctx context.Context, changed <-chan struct{}) {
	last := int64(-1)
	var version int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		n, err := grown(ctx, s.DB)
		if err == nil && n != last && last >= 0 && s.Grown != nil {
			s.Grown(clock.At(s.Now()))
		}
		if err == nil {
			last = n
		}
		if v, err := pricesVersion(ctx, s.DB); err == nil && v != version {
			version = v
			s.mirror.nudge()
		}
		rest := time.NewTimer(tellEvery)
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
	}
}

// reader is the mirror's work; it belongs to the goroutine of Run.
type reader struct {
	s       *Service
	owner   string
	family  family               // of the sessions of the list
	runs    map[string]string    // in which transcript a run is going, as far as the list says
	blind   bool                 // there was no list yet
	going   map[string]bool      // transcripts of which something is kept that is going; nil until we know
	learned time.Time            // when that was found
	follows bool                 // it is noted that the runtime is followed
	took    bool                 // this process has had the claim
	seen    map[string]int64     // by transcript: the version of its session up to which all is in the ledger
	next    map[string]time.Time // by transcript of a busy session: when it is read again
	settled map[string]string    // by transcript: the totals that the ledger equals
	absent  map[string]time.Time // by transcript with totals that is in no list: since when
	priced  int64                // the version of the prices that has been applied; -1 is none
	broken  bool                 // the log has been told that the ledger cannot be kept
	bad     map[string]time.Time // by transcript that cannot be read: no need to try again until then
	stuck   map[string]time.Time // by the same: since when
	fails   int                  // how many could not be read in a row, for the first time
	tries   int                  // how many of the others could not be read again in this pass
}

func newReader(s *Service) *reader {
	return &reader{
		s: s, owner: db.NewID(), priced: -1,
		seen: map[string]int64{}, next: map[string]time.Time{}, settled: map[string]string{}, absent: map[string]time.Time{},
	}
}

// pass does what is due, and says when to look again although nothing happens.
func (r *reader) pass(ctx context.Context) time.Duration {
	m := &r.s.mirror
	m.mu.Lock()
	rows, counted, listed := m.rows, m.counted, m.listed
	if !listed {
		// The totals may come before the first list. Held against them, a ledger that
		// lacks every run would get a correction for each of them.
		counted = nil
	}
	m.mu.Unlock()
	var err error
	if r.blind = !listed; listed && !r.follows {
		err = r.s.Follow(ctx)
		r.follows = err == nil
	}
	if err == nil {
		err = r.work(ctx, rows, counted)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		r.broken = false
		return r.pause(rows)
	case !r.broken && !errors.Is(err, errClaimed) && fault.Of(err) == nil && !r.s.away(err): // that the gateway is away is told elsewhere
		r.broken = true
		r.s.Log.WarnContext(ctx, "the usage of the runs cannot be written down; it is tried again", "err", err)
	}
	return retry
}

// pause is how long there is nothing to do, unless something happens.
func (r *reader) pause(rows []gateway.Session) time.Duration {
	wait := between
	for i := range rows {
		if next, ok := r.next[rows[i].ID]; ok && rows[i].Active {
			if bad := r.bad[rows[i].ID]; bad.After(next) {
				next = bad
			}
			wait = min(wait, next.Sub(r.s.Now()))
		}
	}
	return max(wait, time.Second)
}

// errClaimed says that another process does the work.
var errClaimed = errors.New("another process reads the transcripts")

func (r *reader) work(ctx context.Context, rows []gateway.Session, counted *gateway.SessionUsage) error {
	r.tries = 0
	r.forget(rows, counted)
	prices, err := pricesVersion(ctx, r.s.DB)
	if err != nil {
		return err
	}
	by, due := r.look(rows)
	if err := r.learnGoing(ctx); err != nil {
		return err
	}
	if len(due) == 0 && len(r.unsettled(by, counted)) == 0 && prices == r.priced && len(r.stopped(by)) == 0 {
		return nil
	}
	if err := r.claim(ctx); err != nil {
		return err
	}
	if prices != r.priced { // for which no gateway is needed
		if err := r.s.reprice(ctx); err != nil {
			return err
		}
		r.priced = prices
	}
	for i, row := range due {
		if i%50 == 49 {
			if err := r.claim(ctx); err != nil {
				return err
			}
		}
		if _, err := r.tryFollow(ctx, row); err != nil {
			return err
		}
	}
	if err := r.forgetStopped(ctx, by); err != nil {
		return err
	}
	for _, u := range r.unsettled(by, counted) {
		if row := by[u.SessionID]; row != nil && u.LastAt.After(row.UpdatedAt.Time) && !r.givenUp(u.SessionID) {
			// The list never tells that a job's run has said something: its row keeps the
			// time at which the run began (observed in OpenClaw 2026.9.6).
			late := *row
			late.UpdatedAt = u.LastAt
			if done, err := r.tryFollow(ctx, &late); err != nil {
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
			r.settled[u.SessionID] = fingerprint(u)
		}
	}
	return nil
}

// look goes through a list: which transcripts there are, and which are to be read.
func (r *reader) look(rows []gateway.Session) (by map[string]*gateway.Session, due []*gateway.Session) {
	by = make(map[string]*gateway.Session, len(rows))
	r.runs, r.family = map[string]string{}, familyOf(rows)
	for i := range rows {
		row := &rows[i]
		by[row.ID] = row
		if row.Active && row.RunID != "" {
			r.runs[row.RunID] = row.ID
		}
		if r.due(row) {
			due = append(due, row)
		}
	}
	return by, due
}

// forget drops what is known of transcripts that are gone.
func (r *reader) forget(rows []gateway.Session, counted *gateway.SessionUsage) {
	if counted == nil || len(r.seen)+len(r.settled) < 2*(len(rows)+len(counted.Transcripts))+100 {
		return
	}
	there := map[string]bool{}
	for i := range rows {
		there[rows[i].ID] = true
	}
	for i := range counted.Transcripts {
		there[counted.Transcripts[i].SessionID] = true
	}
	for id := range r.seen {
		if !there[id] {
			delete(r.seen, id)
		}
	}
	for id := range r.settled {
		if !there[id] {
			delete(r.settled, id)
		}
	}
	for id := range r.absent {
		if !there[id] {
			delete(r.absent, id)
		}
	}
	for id := range r.next {
		if !there[id] {
			delete(r.next, id)
		}
	}
	for id := range r.stuck {
		if !there[id] {
			delete(r.bad, id)
			delete(r.stuck, id)
		}
	}
}

// How a transcript that cannot be read is left alone.
const (
	refused     = 10 * time.Minute // after the runtime would not show it
	slow        = time.Minute      // after it took too long
	failsAtOnce = 3                // in a row: then the fault does not seem to be one transcript's
	// giveUp is after how long its totals are counted all the same. What is read of
	// it later is taken from them.
	giveUp = time.Hour
)

// givenUp says whether a transcript could not be read for so long that its
// totals have to do.
func (r *reader) givenUp(id string) bool {
	since, ok := r.stuck[id]
	return ok && r.s.Now().Sub(since) >= giveUp
}

// tryFollow is follow, for which one transcript that the runtime cannot show must
// not keep the others out of the ledger: it is left alone for a while, and done is
// false. The error is one that concerns them all.
func (r *reader) tryFollow(ctx context.Context, row *gateway.Session) (done bool, err error) {
	now := r.s.Now()
	_, stuck := r.stuck[row.ID]
	if now.Before(r.bad[row.ID]) || stuck && r.tries >= failsAtOnce {
		return false, nil
	}
	err = r.follow(ctx, row)
	again := slow
	switch {
	case err == nil:
		r.fails = 0
		delete(r.bad, row.ID)
		delete(r.stuck, row.ID)
		return true, nil
	case errors.Is(err, gateway.ErrRefused):
		again = refused
	case ctx.Err() != nil || !errors.Is(err, gateway.ErrBusy) && !errors.Is(err, gateway.ErrTimeout):
		return false, err
	}
	if stuck {
		r.tries++
		r.bad[row.ID] = now.Add(refused)
		return false, nil
	}
	if r.fails++; r.fails >= failsAtOnce {
		r.fails = 0
		return false, err
	}
	if r.bad == nil {
		r.bad, r.stuck = map[string]time.Time{}, map[string]time.Time{}
	}
	r.bad[row.ID], r.stuck[row.ID] = now.Add(again), now
	r.s.Log.WarnContext(ctx, "what a session used cannot be read; it is tried again later", "session", row.Key, "err", err)
	return false, nil
}

func versionOf(row *gateway.Session) int64 {
	if row.UpdatedAt.IsZero() {
		return 0
	}
	return row.UpdatedAt.UnixMilli()
}

// due says whether a transcript has something that we have not read.
func (r *reader) due(row *gateway.Session) bool {
	if row.ID == "" || row.Key == "" || r.s.Now().Before(r.bad[row.ID]) {
		return false
	}
	if row.Active {
		return !r.s.Now().Before(r.next[row.ID])
	}
	version, ok := r.seen[row.ID]
	return !ok || version != versionOf(row)
}

// claim makes this process the one that does the work, for a while.
func (r *reader) claim(ctx context.Context) error {
	mine := false
	err := r.s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		// One process owns an SQLite file: who held the claim before us is dead.
		mine, err = claim(ctx, tx, r.owner, r.s.Now(), lease, !r.took && tx.Engine() == db.SQLite)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("claim the ledger: %w", err)
	case !mine:
		return errClaimed
	}
	r.took = true
	return nil
}

// release lets another process go on at once.
func (r *reader) release(ctx context.Context) {
	if !r.took {
		return
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := r.s.DB.Tx(ctx, func(tx *db.Tx) error { return release(ctx, tx, r.owner) })
	if err != nil && !r.s.away(err) {
		r.s.Log.WarnContext(ctx, "the claim on the usage ledger was not given back; it ends by itself", "err", err)
	}
}
