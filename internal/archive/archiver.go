package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/redact"
)

// Intervals and batch sizes for the archiver.
const (
	// look is the interval between passes if there is no new snapshot of the sessions.
	look = time.Minute
	// hidden is how long to assume that the runtime still has a session that it
	// does not list. It doubles each time, up to hiddenMost.
	hidden, hiddenMost = 10 * time.Minute, 24 * time.Hour
	// refused is how long to skip a session if its transcript cannot be read; slow is how long to
	// skip it after a timeout.
	refused, slow = 10 * time.Minute, time.Minute
	// maxLookups is the maximum number of unlisted sessions to look up in one pass. A pass is
	// aborted after maxFailures consecutive failed reads.
	maxLookups, maxFailures = 100, 3

	rowsAtOnce = 100  // rows per transaction
	maxBad     = 2000 // sessions that failed, before all are tried again
	batch      = 20   // transcripts to read before renewing the claim and checking for changes
)

// Pace limits the rate of requests to the runtime. Zero fields get the defaults given below.
type Pace struct {
	Pass  time.Duration // between two passes; 2 s
	Call  time.Duration // between two requests to the runtime; 250 ms
	Rest  time.Duration // how long a session must be idle before it is archived; 30 s
	Final time.Duration // the same for ended sessions of sub-agents and scheduled jobs; 3 s
	Lease time.Duration // lease of the archiving replica; 20 s
}

func (p Pace) withDefaults() Pace {
	return Pace{
		Pass: cmp.Or(p.Pass, 2*time.Second), Call: cmp.Or(p.Call, 250*time.Millisecond), Rest: cmp.Or(p.Rest, 30*time.Second),
		Final: cmp.Or(p.Final, 3*time.Second), Lease: cmp.Or(p.Lease, 20*time.Second),
	}
}

// Run archives sessions until ctx ends, and then returns nil. Only one replica does so at a time.
func (s *Service) Run(ctx context.Context) error {
	k := newArchiver(s)
	loop := mirror.Loop{Name: "archive", DB: s.DB, Log: s.Log, Pass: k.pass, Rest: k.pace.Pass, Claim: k.claim}
	s.Lists.WakeAtList(&s.wake)
	s.wake.Wake()
	loop.Run(ctx, &s.wake)
	return nil
}

// archiver does the work of Run. It is not safe for concurrent use.
type archiver struct {
	s        *Service
	pace     Pace
	redact   *redact.Redactor
	mask     func(text *string, cut, json bool) // redacts a text of a message; tests slow it down
	claim    *mirror.Claim
	known    map[name]*kept     // sessions that the runtime has; nil before they are read from the database
	readAt   clock.Time         // time of the reading that known reflects
	storedAt time.Time          // when that time was last stored
	called   time.Time          // time of the last request to the runtime
	moreGone bool               // the last pass has not looked up all unlisted sessions
	bad      map[name]time.Time // sessions that failed, and when to retry
}

func newArchiver(s *Service) *archiver {
	pace := s.Pace.withDefaults()
	claim := mirror.NewClaim(s.DB, claimQuery, pace.Lease, s.Now)
	claim.Ends = claimEnd
	k := &archiver{s: s, pace: pace, redact: redact.New(), claim: claim}
	k.mask = func(text *string, cut, json bool) {
		switch {
		case json:
			*text = k.redact.JSON(*text)
		case cut:
			*text = k.redact.Truncated(*text)
		default:
			*text = k.redact.Text(*text)
		}
	}
	return k
}

// pass processes the changes since the last pass, and returns the delay before the next one.
func (k *archiver) pass(ctx context.Context) (time.Duration, error) {
	list, fresh := k.s.Lists.Take()
	next, err := k.work(ctx, list, fresh)
	if err == nil || ctx.Err() != nil {
		return next, err
	}
	k.known, k.moreGone = nil, false
	if !errors.Is(err, mirror.ErrClaimed) {
		k.s.Lists.PutBack(list.Skipped)
	} else if fresh {
		k.s.Lists.PutBack(nil) // the other replica has seen the skipped ones
	}
	return 0, err
}

func (k *archiver) work(ctx context.Context, list mirror.List, fresh bool) (time.Duration, error) {
	rows, at := list.Rows, list.At
	if at.IsZero() {
		return look, nil // no reading yet
	}
	if err := k.claim.Hold(ctx); err != nil {
		return 0, err
	}
	if k.known == nil {
		present, err := findPresent(ctx, k.s.DB)
		if err != nil {
			return 0, fmt.Errorf("read the archived sessions: %w", err)
		}
		k.known = make(map[name]*kept, len(present))
		for _, p := range present {
			k.known[nameOf(&p.seen)] = p
		}
		// Another replica may have a newer reading.
		last, err := findReading(ctx, k.s.DB)
		if err != nil {
			return 0, fmt.Errorf("read the time of the last reading: %w", err)
		}
		fresh = last == nil || !at.Before(last.Time) || last.After(k.s.Now().Add(clock.Skew))
	}
	if fresh {
		if err := k.storeChanged(ctx, slices.Concat(rows, list.Skipped), at); err != nil {
			return 0, err
		}
	}
	if fresh || k.moreGone {
		more, err := k.archiveGone(ctx, rows, at)
		if err != nil {
			return 0, err
		}
		k.moreGone = more
	}
	next, err := k.readDue(ctx)
	if k.moreGone {
		next = 0
	}
	return next, err
}

// storeChanged stores the sessions that are new or have changed.
func (k *archiver) storeChanged(ctx context.Context, rows []gateway.Session, at clock.Time) error {
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
				version := g.Version()
				g.Label, g.LastMessage = k.redact.Text(g.Label), k.redact.Truncated(g.LastMessage)
				if err := putSeen(ctx, tx, db.NewID(), g, version, at, k.s.Now()); err != nil {
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
			return fmt.Errorf("store the runtime's sessions: %w", err)
		}
		for i, g := range some {
			p := found[i]
			p.seen, p.version, p.fresh, p.since = g, g.Version(), true, k.s.Now()
			k.known[nameOf(&g)] = &p
		}
	}
	k.readAt = at
	const often = 15 * time.Second
	if now := k.s.Now(); len(changed) > 0 || now.Sub(k.storedAt) >= often {
		if err := k.s.DB.Tx(ctx, func(tx *db.Tx) error { return putReading(ctx, tx, at, now) }); err != nil {
			return fmt.Errorf("store the time of the reading: %w", err)
		}
		k.storedAt = now
	}
	return nil
}

// archiveGone archives the sessions that the runtime no longer has. If more is true, some sessions that are
// missing from the runtime's list are left for the next pass.
func (k *archiver) archiveGone(ctx context.Context, rows []gateway.Session, at clock.Time) (more bool, err error) {
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
			if asked++; asked > maxLookups {
				more = true
				continue
			}
			if asked%batch == 0 {
				if err := k.claim.Hold(ctx); err != nil {
					return false, err
				}
			}
			var is bool
			if why, is, err = k.lookUp(ctx, p); err != nil {
				return false, fmt.Errorf("look up an unlisted session: %w", err)
			}
			if is {
				continue
			}
		}
		if err := k.markGone(ctx, p, why, at); err != nil {
			return false, fmt.Errorf("archive a deleted session: %w", err)
		}
		delete(k.known, n)
		delete(k.bad, n)
	}
	return more, nil
}

// lookUp asks the runtime for a session that is missing from the runtime's session list, and reports whether the
// session may still exist. The list omits hidden sessions and, if there are very many, the oldest ones. If the
// session no longer exists, lookUp also returns the reason.
func (k *archiver) lookUp(ctx context.Context, p *kept) (why Ended, is bool, err error) {
	k.wait(ctx)
	g, ok, err := k.s.Runtime.Session(ctx, p.seen.Key)
	switch {
	case err != nil && (ctx.Err() != nil || !ofOneSession(err)):
		return "", false, err
	case err != nil: // unknown for this one; continue with the others
		p.hiddenUntil = k.s.Now().Add(refused)
		return "", true, nil //nolint:nilerr // one refused session must not stop the others
	case ok && g.ID == p.seen.ID:
		p.hiddenFor = min(max(2*p.hiddenFor, hidden), hiddenMost)
		p.hiddenUntil = k.s.Now().Add(p.hiddenFor)
		return "", true, nil
	case !ok:
		return Deleted, false, nil
	}
	return Reset, false, nil
}

// ofOneSession reports whether the cause of an error may be limited to the requested session.
func ofOneSession(err error) bool {
	return errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrBusy) || errors.Is(err, link.ErrTimeout)
}

// markGone records that a session was deleted or reset in the runtime, and how much of it is
// archived.
func (k *archiver) markGone(ctx context.Context, p *kept, why Ended, at clock.Time) error {
	return k.s.DB.Tx(ctx, func(tx *db.Tx) error {
		is, err := findKept(ctx, tx, nameOf(&p.seen))
		switch {
		case db.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case is.purged && is.readVersion == p.version:
			return purge(ctx, tx, is.id, false)
		}
		coverage := is.coverage
		switch {
		case is.messages == 0 && coverage != Whole:
			coverage = None
		case is.readVersion != p.version:
			coverage = Partial
		}
		if err := putGone(ctx, tx, &is, why, coverage, at); err != nil {
			return err
		}
		return k.index(ctx, tx, &is, &p.seen, nil)
	})
}

// readDue reads the transcripts that are not fully archived and have been idle long enough. It returns the time until
// the next transcript is due.
func (k *archiver) readDue(ctx context.Context) (time.Duration, error) {
	next, n, fails := look, 0, 0
	now := k.s.Now()
	for at, p := range k.known {
		g := &p.seen
		if g.Active || p.readVersion == p.version || now.Before(k.bad[at]) {
			continue
		}
		rest, ended := k.pace.Rest, Rests
		if onceOnly(g.Kind) && !g.EndedAt.IsZero() {
			rest, ended = k.pace.Final, Finished
		}
		// Use the larger of both clocks' idle times, because they may differ.
		quiet := max(now.Sub(lastOf(g, k.readAt).Time), now.Sub(p.since))
		if wait := rest - quiet; wait > 0 {
			next = min(next, wait+time.Millisecond)
			continue
		}
		if n++; n > batch {
			return 0, nil // check for other changes first
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
		if fails++; fails == maxFailures {
			return 0, fmt.Errorf("archive %s: %w", g.Key, errSeveral)
		}
	}
	return next, nil
}

// errSeveral means that several sessions in a row could not be read, so that the cause is probably
// not a single session.
var errSeveral = errors.New("several consecutive sessions cannot be read")

// failed schedules a retry for a session that could not be archived. It returns an error only if
// the failure affects other sessions, too.
func (k *archiver) failed(ctx context.Context, p *kept, err error) error {
	if ctx.Err() != nil || errors.Is(err, mirror.ErrClaimed) || fault.Of(err) != nil && !ofOneSession(err) ||
		k.s.DB.Away("archive", err) {
		return fmt.Errorf("archive %s: %w", p.seen.Key, err)
	}
	again := refused
	if errors.Is(err, link.ErrBusy) || errors.Is(err, link.ErrTimeout) {
		again = slow
	}
	if k.bad == nil || len(k.bad) > maxBad {
		k.bad = map[name]time.Time{}
	}
	k.bad[nameOf(&p.seen)] = k.s.Now().Add(again)
	k.s.Log.WarnContext(ctx, "cannot archive a session; will retry later", "session", p.seen.Key, "err", err)
	return nil
}

// wait pauses if necessary to limit the rate of requests to the runtime.
func (k *archiver) wait(ctx context.Context) {
	mirror.Sleep(ctx, k.pace.Call-time.Since(k.called))
	k.called = time.Now()
}
