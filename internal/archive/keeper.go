package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// The pace of the archive.
const (
	// retry is how soon is tried again what failed, or what another process does.
	retry = 5 * time.Second
	// look is how often the archive looks although nothing was heard.
	look = time.Minute
	// hidden is how long a session is taken to be in the runtime that is in no list
	// and was there when it was asked for: twice as long each time, up to hiddenMost.
	hidden, hiddenMost = 10 * time.Minute, 24 * time.Hour
	// refused is how long a session is left alone of which the runtime, or what is
	// here of it, cannot be read; slow the same when it only took too long.
	refused, slow = 10 * time.Minute, time.Minute
	// asksAtOnce is how many sessions that are in no list are asked for in one pass,
	// and failsAtOnce how many in a row may not be read until the fault is not theirs.
	asksAtOnce, failsAtOnce = 100, 3

	rowsAtOnce = 100 // that one transaction writes
	batch      = 20  // readings after which the claim is renewed, and the rows are looked at anew
)

// Pace bounds what the archive asks of the runtime. Zero fields get the defaults
// that are named beside them.
type Pace struct {
	Pass  time.Duration // between two looks at what has changed; 2 s
	Call  time.Duration // between two readings of the runtime; 250 ms, which is four a second
	Rest  time.Duration // how long nothing happens in a session before it is archived; 30 s
	Final time.Duration // the same for a sub-agent's and a scheduled job's, which do not go on; 3 s
	Lease time.Duration // for how long the process that archives keeps the others from it; 20 s
}

func (p Pace) withDefaults() Pace {
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	or(&p.Pass, 2*time.Second)
	or(&p.Call, 250*time.Millisecond)
	or(&p.Rest, 30*time.Second)
	or(&p.Final, 3*time.Second)
	or(&p.Lease, 20*time.Second)
	return p
}

// mirror is what the runtime was last heard to have. The zero value is ready to use.
type mirror struct {
	mu      sync.Mutex
	rows    []gateway.Session        // of the last list
	at      clock.Time               // when it was read
	fresh   bool                     // nobody has looked at it yet
	skipped map[name]gateway.Session // sessions of lists that nobody looked at, and that the next did not have
	wake    chan struct{}
}

// skippedMost is how many sessions are remembered that came and went between two looks.
const skippedMost = 1000

func (m *mirror) signal() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wake == nil {
		m.wake = make(chan struct{}, 1)
	}
	return m.wake
}

// Read takes a reading of the runtime's sessions. It does not wait, and keeps it.
func (s *Service) Read(rows []gateway.Session) {
	m := &s.mirror
	m.mu.Lock()
	if m.fresh {
		there := make(map[name]bool, len(rows))
		for i := range rows {
			there[nameOf(&rows[i])] = true
		}
		if m.skipped == nil {
			m.skipped = map[name]gateway.Session{}
		}
		for _, g := range m.rows {
			if n := nameOf(&g); !there[n] && len(m.skipped) < skippedMost {
				m.skipped[n] = g
			}
		}
	}
	m.rows, m.at, m.fresh = rows, clock.At(s.Now()), true
	m.mu.Unlock()
	select {
	case m.signal() <- struct{}{}:
	default: // it has been told already
	}
}

// take is what was heard since the last look.
func (m *mirror) take() (rows []gateway.Session, skipped map[name]gateway.Session, at clock.Time, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, skipped, at, fresh = m.rows, m.skipped, m.at, m.fresh
	m.skipped, m.fresh = nil, false
	return rows, skipped, at, fresh
}

// again makes a look that failed have what it took once more.
func (m *mirror) again(skipped map[name]gateway.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = len(m.rows) > 0 || !m.at.IsZero()
	if m.skipped == nil {
		m.skipped = skipped
	}
}

// Run archives until ctx ends, in one process at a time. It returns nil.
func (s *Service) Run(ctx context.Context) error {
	k := &keeper{s: s, pace: s.Pace.withDefaults(), mask: newMasker(), owner: db.NewID()}
	defer k.release(ctx)
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.mirror.signal():
		case <-again.C:
		}
		next := k.pass(ctx)
		sleep(ctx, k.pace.Pass)
		again.Reset(next)
	}
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	rest := time.NewTimer(d)
	defer rest.Stop()
	select {
	case <-ctx.Done():
	case <-rest.C:
	}
}

// keeper archives; it belongs to the goroutine of Run.
type keeper struct {
	s      *Service
	pace   Pace
	mask   *masker
	owner  string
	took   bool           // the claim was ours once
	known  map[name]*kept // of those that the runtime has; nil before they are read from the database
	heard  clock.Time     // when the rows were read that known is made of
	noted  time.Time      // when that was last written down
	called time.Time      // when the runtime was last asked
	broken bool           // the last pass failed, and we have said so
	// claimed is when the claim was last renewed.
	claimed time.Time
	parting bool               // the last pass has not asked for all that are in no list
	bad     map[name]time.Time // could not be archived: no need to try again until then
}

// errClaimed says that another process archives.
var errClaimed = errors.New("another process archives")

// pass looks once at what has changed, and says when to look again although
// nothing is heard.
func (k *keeper) pass(ctx context.Context) time.Duration {
	rows, skipped, at, fresh := k.s.mirror.take()
	next, err := k.work(ctx, rows, skipped, at, fresh)
	switch {
	case err == nil:
		k.broken = false
		return next
	case ctx.Err() != nil:
		return retry
	}
	k.known, k.parting = nil, false
	if !errors.Is(err, errClaimed) {
		k.s.mirror.again(skipped)
	} else if fresh {
		k.s.mirror.again(nil) // the other one has heard of those
	}
	if !k.broken && !errors.Is(err, errClaimed) && (fault.Of(err) == nil || one(err)) && !k.s.away(err) { // that the gateway is away is told elsewhere
		k.broken = true
		k.s.Log.WarnContext(ctx, "sessions cannot be archived; it is tried again", "err", err)
	}
	return retry
}

func (k *keeper) work(ctx context.Context, rows []gateway.Session, skipped map[name]gateway.Session, at clock.Time, fresh bool) (time.Duration, error) {
	if at.IsZero() {
		return look, nil // nothing was ever heard
	}
	if err := k.claim(ctx); err != nil {
		return 0, err
	}
	if k.known == nil {
		present, err := findPresent(ctx, k.s.DB)
		if err != nil {
			return 0, fmt.Errorf("read what is archived: %w", err)
		}
		k.known = make(map[name]*kept, len(present))
		for _, p := range present {
			k.known[nameOf(&p.seen)] = p
		}
		// Another process may have heard more than we have.
		last, err := findReading(ctx, k.s.DB)
		if err != nil {
			return 0, fmt.Errorf("read when the runtime was heard: %w", err)
		}
		fresh = last == nil || !at.Before(last.Time)
	}
	if fresh {
		all := slices.Clone(rows)
		for _, g := range skipped {
			all = append(all, g)
		}
		if err := k.note(ctx, all, at); err != nil {
			return 0, err
		}
	}
	if fresh || k.parting {
		more, err := k.part(ctx, rows, at)
		if err != nil {
			return 0, err
		}
		k.parting = more
	}
	next, err := k.readDue(ctx)
	if k.parting {
		next = 0
	}
	return next, err
}

// note writes down the sessions that are new or other than before.
func (k *keeper) note(ctx context.Context, rows []gateway.Session, at clock.Time) error {
	var changed []gateway.Session
	for i := range rows {
		g := &rows[i]
		if p := k.known[nameOf(g)]; g.ID != "" && g.Key != "" && (p == nil || !p.fresh || p.seen != *g) {
			changed = append(changed, *g)
		}
	}
	for some := range slices.Chunk(changed, rowsAtOnce) {
		found := make([]kept, len(some))
		err := k.s.DB.Tx(ctx, func(tx *db.Tx) error {
			for i, g := range some {
				g.Label, g.LastMessage = k.mask.text(g.Label, false), k.mask.text(g.LastMessage, true)
				if err := putSeen(ctx, tx, db.NewID(), g, at); err != nil {
					return err
				}
				var err error
				if found[i], err = findKept(ctx, tx, nameOf(&g)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("write down the runtime's sessions: %w", err)
		}
		for i, g := range some {
			p := found[i]
			p.seen, p.fresh, p.since = g, true, k.s.Now()
			k.known[nameOf(&g)] = &p
		}
	}
	k.heard = at
	const often = 15 * time.Second
	if now := k.s.Now(); len(changed) > 0 || now.Sub(k.noted) >= often {
		if err := k.s.DB.Tx(ctx, func(tx *db.Tx) error { return putReading(ctx, tx, at) }); err != nil {
			return fmt.Errorf("note when the runtime was heard: %w", err)
		}
		k.noted = now
	}
	return nil
}

// part parts with the sessions that the runtime has no more; more says that there
// are others to be asked for, after what else is to be done.
func (k *keeper) part(ctx context.Context, rows []gateway.Session, at clock.Time) (more bool, err error) {
	there, keys := make(map[name]bool, len(rows)), make(map[string]bool, len(rows))
	for i := range rows {
		there[nameOf(&rows[i])], keys[rows[i].Key] = true, true
	}
	asked := 0
	for n, p := range k.known {
		if there[n] {
			p.hiddenUntil, p.hiddenFor = time.Time{}, 0
			continue
		}
		why := Reset
		if !keys[n.key] {
			if k.s.Now().Before(p.hiddenUntil) {
				continue
			}
			if asked++; asked > asksAtOnce {
				more = true
				continue
			}
			if asked%batch == 0 {
				if err := k.claim(ctx); err != nil {
					return false, err
				}
			}
			var is bool
			if why, is, err = k.hides(ctx, p); err != nil {
				return false, fmt.Errorf("look for a session that is not listed: %w", err)
			}
			if is {
				continue
			}
		}
		if err := k.gone(ctx, p, why, at); err != nil {
			return false, fmt.Errorf("archive a session that is gone: %w", err)
		}
		delete(k.known, n)
		delete(k.bad, n)
	}
	return more, nil
}

// hides asks the runtime whether it has a session that is in no list, or else why
// it is gone. A list may leave sessions out: the oldest of very many, and those
// that people put away.
func (k *keeper) hides(ctx context.Context, p *kept) (why Ended, is bool, err error) {
	k.wait(ctx)
	g, ok, err := k.s.Runtime.Session(ctx, p.seen.Key)
	switch {
	case err != nil && (ctx.Err() != nil || !one(err)):
		return "", false, err
	case err != nil: // of this one nobody can tell; the others wait
		p.hiddenUntil = k.s.Now().Add(refused)
		return "", true, nil //nolint:nilerr // one that stays refused is no reason to stop
	case ok && g.ID == p.seen.ID:
		p.hiddenFor = min(max(2*p.hiddenFor, hidden), hiddenMost)
		p.hiddenUntil = k.s.Now().Add(p.hiddenFor)
		return "", true, nil
	case !ok:
		return Deleted, false, nil
	}
	return Reset, false, nil
}

// one says whether a failure of the runtime's may be of the one session that it
// was asked about, and nothing that keeps the others from being read.
func one(err error) bool {
	return errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrBusy) || errors.Is(err, gateway.ErrTimeout)
}

// gone archives a session that the runtime has no more, with what is here of it.
func (k *keeper) gone(ctx context.Context, p *kept, why Ended, at clock.Time) error {
	return k.s.DB.Tx(ctx, func(tx *db.Tx) error {
		is, err := findKept(ctx, tx, nameOf(&p.seen))
		switch {
		case db.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case is.purged && is.readVersion >= versionOf(&p.seen):
			return purge(ctx, tx, is.id, false)
		}
		coverage := is.coverage
		switch {
		case is.messages == 0 && coverage != Whole:
			coverage = None
		case is.readVersion < versionOf(&p.seen):
			coverage = Partial
		}
		if err := putGone(ctx, tx, &is, why, coverage, at); err != nil {
			return err
		}
		return k.index(ctx, tx, &is, &p.seen, nil)
	})
}

// readDue reads the transcripts of which something is not here, and says when
// the next will have rested for long enough.
func (k *keeper) readDue(ctx context.Context) (time.Duration, error) {
	next, n, fails := look, 0, 0
	now := k.s.Now()
	for at, p := range k.known {
		g := &p.seen
		if g.Active || p.readVersion >= versionOf(g) || now.Before(k.bad[at]) {
			continue
		}
		rest, ended := k.pace.Rest, Rests
		if onceOnly(g.Kind) && !g.EndedAt.IsZero() {
			rest, ended = k.pace.Final, Finished
		}
		// By the runtime's clock, and by ours where that is another one.
		quiet := max(now.Sub(lastOf(g, k.heard).Time), now.Sub(p.since))
		if wait := rest - quiet; wait > 0 {
			next = min(next, wait+time.Millisecond)
			continue
		}
		if n++; n > batch {
			return 0, nil // look first at what else has happened
		}
		err := k.read(ctx, p, ended)
		if err == nil {
			delete(k.bad, at)
			fails = 0
			continue
		}
		if err = k.failed(ctx, p, err); err != nil {
			return 0, err
		}
		if fails++; fails == failsAtOnce {
			return 0, fmt.Errorf("archive %s, like others before it: %w", g.Key, errSeveral)
		}
	}
	return next, nil
}

// errSeveral says that the fault does not seem to be one session's.
var errSeveral = errors.New("several sessions in a row cannot be read")

// failed notes that a session could not be archived, which must not keep the
// others out; the error is one that does.
func (k *keeper) failed(ctx context.Context, p *kept, err error) error {
	if ctx.Err() != nil || errors.Is(err, errClaimed) || fault.Of(err) != nil && !one(err) || k.s.away(err) {
		return fmt.Errorf("archive %s: %w", p.seen.Key, err)
	}
	again := refused
	if errors.Is(err, gateway.ErrBusy) || errors.Is(err, gateway.ErrTimeout) {
		again = slow
	}
	if k.bad == nil || len(k.bad) > 2*skippedMost {
		k.bad = map[name]time.Time{}
	}
	k.bad[nameOf(&p.seen)] = k.s.Now().Add(again)
	k.s.Log.WarnContext(ctx, "a session cannot be archived; it is tried again later", "session", p.seen.Key, "err", err)
	return nil
}

// wait keeps to the number of questions that the runtime is asked in a second.
func (k *keeper) wait(ctx context.Context) {
	sleep(ctx, k.pace.Call-time.Since(k.called))
	k.called = time.Now()
}

// claim makes this process the one that archives, for a while.
func (k *keeper) claim(ctx context.Context) error {
	mine := false
	err := k.s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		// One process owns an SQLite file: who held the claim before us is dead.
		mine, err = claim(ctx, tx, k.owner, k.s.Now(), k.pace.Lease, !k.took && tx.Engine() == db.SQLite)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("claim the archive: %w", err)
	case !mine:
		return errClaimed
	}
	k.took, k.claimed = true, k.s.Now()
	return nil
}

// hold is claim when that was a while ago, for whoever is at work for long.
func (k *keeper) hold(ctx context.Context) error {
	if k.s.Now().Sub(k.claimed) < k.pace.Lease/4 {
		return nil
	}
	return k.claim(ctx)
}

// release lets another process go on at once.
func (k *keeper) release(ctx context.Context) {
	if !k.took {
		return
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := k.s.DB.Tx(ctx, func(tx *db.Tx) error { return release(ctx, tx, k.owner) })
	if err != nil && !k.s.away(err) {
		k.s.Log.WarnContext(ctx, "the claim on the archive was not given back; it ends by itself", "err", err)
	}
}
