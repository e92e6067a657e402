package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// This file notices runs that go on and have stopped telling of themselves. All
// of it is derived from events that come anyhow and from the rows of the mirror;
// the gateway is asked nothing. While it is away nobody can say, and nothing
// changes.

// Matter is something that needs a human: it becomes an item of the inbox.
type Matter struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
}

// signs are the last signs of life of runs. The zero value is ready to use.
type signs struct {
	mu    sync.Mutex
	last  map[string]time.Time // by session key; kept over connections: what was heard was heard
	first map[string]time.Time // when a run was first seen of which the gateway does not say when it began
	told  map[string]bool      // which sessions Changed was told to be stalled; of the goroutine that calls it
}

// note keeps a sign of life; an older one counts as nothing.
func (g *signs) note(key string, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[string]time.Time{}
	}
	if at.After(g.last[key]) && (len(g.last) < most || !g.last[key].IsZero()) {
		g.last[key] = at
	}
}

// heard notes what an event tells of a run.
func (g *signs) heard(e gateway.Event, now time.Time) {
	if key, ok := e.Activity(); ok {
		g.note(key, now)
	}
}

// of is the last sign of life of a row's run: what was heard, what the gateway
// has noted of the session, or when the run began. So the age is true also after
// a restart of ours, and after a connection that was gone.
func (g *signs) of(r *row, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	sign := g.last[r.Key]
	noted := r.ActiveAt.Time
	if began := r.started().Time; began.After(noted) {
		noted = began
	} else if began.IsZero() { // it waits for its turn; what was said was said in the run before
		noted = r.UpdatedAt.Time
	}
	if noted.After(sign) {
		sign = noted
	}
	if sign.IsZero() {
		if g.first == nil {
			g.first = map[string]time.Time{}
		}
		if g.first[r.Key].IsZero() {
			g.first[r.Key] = now
		}
		sign = g.first[r.Key]
	}
	if sign.After(now) {
		return now // the gateway's clock is ahead
	}
	return sign
}

// forget drops what is known of sessions that have no run any more.
func (g *signs) forget(active map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range []map[string]time.Time{g.last, g.first} {
		maps.DeleteFunc(m, func(key string, _ time.Time) bool { return !active[key] })
	}
}

// silent says since when a row's run has told nothing, when that is too long.
func (s *Service) silent(r *row) (since time.Time, stalled bool) {
	if !r.Active || s.StalledAfter <= 0 {
		return time.Time{}, false
	}
	now := s.Now()
	since = s.signs.of(r, now)
	return since, now.Sub(since) >= s.StalledAfter
}

// present is a row as the API answers it now.
func (s *Service) present(r *row) Session {
	out := r.show()
	if since, stalled := s.silent(r); stalled {
		out.Stalled, out.SilentSince = true, clock.Ptr(since)
	}
	return out
}

// glance is the last reading, if it is of the present connection.
func (s *Service) glance() *snapshot {
	on, err := s.Runtime.Connection()
	if err != nil {
		return nil
	}
	m := &s.mirror
	m.lock()
	defer m.mu.Unlock()
	if m.on != on || m.err != nil {
		return nil
	}
	return m.compose()
}

// find is the place of a session. The gateway writes keys small, so that those we
// have made, such as agent:cto:task:TASK-12, are found either way.
func (shown *snapshot) find(key string) (place int, ok bool) {
	if place, ok = shown.place[key]; !ok {
		place, ok = shown.place[strings.ToLower(key)]
	}
	return place, ok
}

// active are the rows that have a run; they come first.
func (shown *snapshot) active() []row {
	n := 0
	for n < len(shown.rows) && shown.rows[n].Active {
		n++
	}
	return shown.rows[:n]
}

// stalled adds to what the sessions tell of the agents which of their runs have
// stopped telling of themselves.
func (s *Service) stalled(shown *snapshot) map[string]Activity {
	all, copied := shown.agents, false
	for i := range shown.active() {
		r := &shown.rows[i]
		since, stalled := s.silent(r)
		if !stalled {
			continue
		}
		if !copied {
			all, copied = maps.Clone(all), true
		}
		a := all[r.AgentID]
		if a.Stalled++; a.Stalled == 1 || since.Before(a.Silent.Time) {
			a.Silent = clock.At(since)
		}
		all[r.AgentID] = a
	}
	return all
}

// pace is how often runs are looked at.
func (s *Service) pace() time.Duration {
	const most = 5 * time.Second
	if s.StalledAfter <= 0 {
		return time.Hour
	}
	return max(min(s.StalledAfter/10, most), 10*time.Millisecond)
}

// flip tells Changed of the sessions whose run has stalled, or tells of itself
// again, since it was told of them. It belongs to the goroutine that calls
// Changed. Sessions that it was not told of yet are not for this to tell first:
// nobody would hear that they are gone.
func (s *Service) flip() {
	shown := s.glance()
	if shown == nil || s.Changed == nil {
		return
	}
	var changed []Session
	for i := range shown.active() {
		r := &shown.rows[i]
		if _, stalled := s.silent(r); stalled != s.signs.told[r.Key] && s.mirror.knownToAll(r.Key) {
			changed = append(changed, s.present(r))
		}
	}
	s.tell(changed, nil)
}

// tell tells Changed, and keeps what it was told of stalled runs.
func (s *Service) tell(changed []Session, gone []string) {
	if len(changed)+len(gone) == 0 {
		return
	}
	if s.signs.told == nil {
		s.signs.told = map[string]bool{}
	}
	for i := range changed {
		if changed[i].Stalled {
			s.signs.told[changed[i].Key] = true
		} else {
			delete(s.signs.told, changed[i].Key)
		}
	}
	for _, key := range gone {
		delete(s.signs.told, key)
	}
	s.Changed(changed, gone)
}

// watchStalls brings stalled runs to the inbox, and takes them out again, until
// ctx ends.
func (s *Service) watchStalls(ctx context.Context) {
	if s.DB == nil || s.StalledAfter <= 0 {
		return
	}
	ctx = actor.With(ctx, actor.System)
	tick := time.NewTicker(s.pace())
	defer tick.Stop()
	var was map[string]bool // what the table was last made equal to; nil before
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		shown := s.glance()
		if shown == nil {
			was = nil // another replica may have learned more meanwhile
			continue
		}
		seen := s.lookOver(shown)
		if was == nil || !maps.Equal(was, seen.stalled()) {
			kept, err := s.keepStalls(ctx, seen)
			switch {
			case err == nil:
				was = kept // not what is so by now: what changed meanwhile is in no table
			case ctx.Err() == nil && fault.Of(err) == nil && (s.Away == nil || !s.Away(err)):
				s.Log.WarnContext(ctx, "stalled runs cannot be brought to the inbox; it is tried again", "err", err)
			}
		}
	}
}

// life is how a run does.
type life struct {
	agentID string
	sign    time.Time
	stalled bool
}

// lives are the runs that go on, by session key.
type lives map[string]life

func (s *Service) lookOver(shown *snapshot) lives {
	seen, active := lives{}, map[string]bool{}
	for i := range shown.active() {
		r := &shown.rows[i]
		active[r.Key] = true
		since, stalled := s.silent(r)
		seen[r.Key] = life{r.AgentID, since, stalled}
	}
	s.signs.forget(active)
	return seen
}

func (l lives) stalled() map[string]bool {
	keys := map[string]bool{}
	for key, of := range l {
		if of.stalled {
			keys[key] = true
		}
	}
	return keys
}

// keepStalls makes the table and the inbox equal to what is seen, once whichever
// replica sees it, and answers which of the runs are stalled there. One that has
// heard more is believed.
func (s *Service) keepStalls(ctx context.Context, seen lives) (kept map[string]bool, err error) {
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		kept = seen.stalled()
		if err := tx.Lock(ctx, "stalled runs"); err != nil {
			return err
		}
		before, err := readStalls(ctx, tx)
		if err != nil {
			return err
		}
		var raise, settle []string
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			is, was := seen[key], before[key]
			switch {
			case is.stalled && was.sign.After(is.sign):
				s.signs.note(key, was.sign) // another replica has heard of it since
				if !was.stalled {
					delete(kept, key)
				}
			case is.stalled && !was.stalled:
				raise, err = append(raise, key), putStall(ctx, tx, key, is)
			case !is.stalled && was.stalled:
				settle, err = append(settle, key), putStall(ctx, tx, key, is)
			}
			if err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if _, ok := seen[key]; ok {
				continue
			}
			if err := s.endStall(ctx, tx, key, before[key]); err != nil {
				return err
			}
			if before[key].stalled {
				settle = append(settle, key)
			}
		}
		return s.tellStalls(ctx, tx, seen, raise, settle)
	})
	return kept, err
}

// lateFor is how long is kept that a run has ended, for replicas that hear of it
// late: that it had stalled is no news any more.
const lateFor = time.Hour

// endStall notes of a run that is in the table that it goes on no more. Its end is
// its last sign of life.
func (s *Service) endStall(ctx context.Context, tx *db.Tx, key string, of life) error {
	now := s.Now()
	if of.stalled {
		return putStall(ctx, tx, key, life{sign: now})
	}
	if now.Sub(of.sign) < lateFor {
		return nil
	}
	_, err := tx.Exec(ctx, `DELETE FROM stalled_runs WHERE session_key = ?`, key)
	return err
}

// tellStalls brings runs to the inbox and takes others out of it. Nothing may be
// written after it.
func (s *Service) tellStalls(ctx context.Context, tx *db.Tx, seen lives, raise, settle []string) error {
	for _, key := range raise {
		is := seen[key]
		err := s.Raise(ctx, tx, Matter{
			Cause: stallCause(key), Kind: "run_stalled", Severity: "medium", Subject: event.Subject{Kind: event.TopicSession, ID: key, Name: key},
			Title: "A run of " + cmp.Or(is.agentID, "an agent") + " has stalled",
			Detail: fmt.Sprintf("It goes on in `%s` and has told nothing since %s. It may wait for a tool or a model that does not answer. Look at what it was doing, and stop it if need be.",
				key, is.sign.UTC().Format("2006-01-02 15:04:05 UTC")),
		})
		if err != nil {
			return err
		}
	}
	for _, key := range settle {
		why := "The run has ended."
		if _, ok := seen[key]; ok {
			why = "The run tells of itself again."
		}
		if err := s.Settle(ctx, tx, stallCause(key), why); err != nil {
			return err
		}
	}
	return nil
}

// stallCause names what brings a stalled run to the inbox; keys may be long.
func stallCause(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "stalled/" + hex.EncodeToString(sum[:])
}

func readStalls(ctx context.Context, q db.Queryer) (map[string]life, error) {
	type stall struct {
		key string
		life
	}
	rows, err := q.Query(ctx, `SELECT session_key, stalled, last_sign FROM stalled_runs`)
	all, err := db.All(rows, err, func(r db.Row) (o stall, err error) { return o, r.Scan(&o.key, &o.stalled, &o.sign) })
	by := make(map[string]life, len(all))
	for _, o := range all {
		by[o.key] = o.life
	}
	return by, err
}

func putStall(ctx context.Context, tx *db.Tx, key string, l life) error {
	_, err := tx.Exec(ctx, `INSERT INTO stalled_runs (session_key, stalled, last_sign) VALUES (?, ?, ?)
		ON CONFLICT (session_key) DO UPDATE SET stalled = excluded.stalled, last_sign = excluded.last_sign`, key, l.stalled, l.sign)
	if err != nil {
		return fmt.Errorf("note a stalled run: %w", err)
	}
	return nil
}
