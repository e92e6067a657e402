package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// This file detects stalled runs: active runs without activity. It uses only events and rows of the
// mirror and sends no requests to the gateway. While the gateway is unreachable, nothing changes.

// activityLog holds the time of the last activity of each run. The zero value is ready to use.
type activityLog struct {
	mu       sync.Mutex
	seen     map[string]time.Time // last event by session key; kept across connections
	first    map[string]time.Time // when a run without a known start was first seen
	waits    map[string]time.Time // until when a run may wait for a person
	reported map[string]bool      // sessions last published as stalled; used only by the notifier's goroutine
}

// record stores the time of a run's activity, unless a later one is already stored.
func (g *activityLog) record(key string, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = map[string]time.Time{}
	}
	if at.After(g.seen[key]) && (len(g.seen) < maxSessions || !g.seen[key].IsZero()) {
		g.seen[key] = at
	}
}

// WaitForPeople sets the sessions whose runs wait for a person, by lower-case key, with the time until
// which they may. Until then they do not stall. The end of the wait counts as activity.
func (s *Service) WaitForPeople(until map[string]time.Time) {
	g := &s.activity
	g.mu.Lock()
	was := g.waits
	g.waits = until
	g.mu.Unlock()
	for key := range was {
		if _, still := until[key]; !still {
			g.record(key, s.Now())
		}
	}
}

// last returns the time at which a row's run was last active: the latest of its last event, its
// last activity according to the gateway, and its start. The gateway's times keep the result
// correct after a restart or a lost connection.
func (g *activityLog) last(r *row, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	sign := g.seen[r.Key]
	noted := r.ActiveAt.Time
	if began := r.started().Time; began.After(noted) {
		noted = began
	} else if began.IsZero() { // queued; earlier activity was of the previous run
		noted = r.UpdatedAt.Time
	}
	if noted.After(sign) && !noted.After(now.Add(clock.Skew)) { // a gateway whose clock is wrong knows nothing
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
	if until := g.waits[r.Key]; until.After(sign) {
		sign = until
	}
	if sign.After(now) {
		return now // it may wait, or the gateway's clock is ahead
	}
	return sign
}

// prune removes a session from the log if it has no active run.
func (g *activityLog) prune(active map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range []map[string]time.Time{g.seen, g.first} {
		maps.DeleteFunc(m, func(key string, _ time.Time) bool { return !active[key] })
	}
}

// silentSince returns the time at which a row's run was last active, and whether the run is stalled.
func (s *Service) silentSince(r *row) (since time.Time, stalled bool) {
	if !r.Active || s.StalledAfter <= 0 {
		return time.Time{}, false
	}
	now := s.Now()
	since = s.activity.last(r, now)
	return since, now.Sub(since) >= s.StalledAfter
}

// latestSnapshot returns the current snapshot without waiting, or nil if the session list has not
// been read successfully on the current connection.
func (s *Service) latestSnapshot() *snapshot {
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

// find returns the index of a session. The gateway stores keys in lower case, so find also looks up
// the lower-case form of a key like agent:cto:task:TASK-12.
func (shown *snapshot) find(key string) (place int, ok bool) {
	if place, ok = shown.place[key]; !ok {
		place, ok = shown.place[strings.ToLower(key)]
	}
	return place, ok
}

// active returns the rows with an active run, which come first in the snapshot.
func (shown *snapshot) active() []row {
	n := 0
	for n < len(shown.rows) && shown.rows[n].Active {
		n++
	}
	return shown.rows[:n]
}

// withStalled returns each agent's activity, including its stalled runs.
func (s *Service) withStalled(shown *snapshot) map[string]Activity {
	all, copied := shown.agents, false
	for i := range shown.active() {
		r := &shown.rows[i]
		since, stalled := s.silentSince(r)
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

// stallCheckInterval returns the interval at which to check for stalled runs.
func (s *Service) stallCheckInterval() time.Duration {
	const longest = 5 * time.Second
	if s.StalledAfter <= 0 {
		return time.Hour
	}
	return max(min(s.StalledAfter/10, longest), 10*time.Millisecond)
}

// notifyStalled publishes the sessions whose run has stalled or recovered since the last
// call. Only the notifier's goroutine calls it. It skips sessions that pendingChanges has not
// reported yet, because pendingChanges would not report their removal later.
func (s *Service) notifyStalled() {
	shown := s.latestSnapshot()
	if shown == nil {
		return
	}
	var changed []Session
	for i := range shown.active() {
		r := &shown.rows[i]
		if _, stalled := s.silentSince(r); stalled != s.activity.reported[r.Key] && s.mirror.wasNotified(r.Key) {
			changed = append(changed, s.apiSession(r))
		}
	}
	s.notifyChanged(changed, nil)
}

// watchStalls raises inbox items for stalled runs, and resolves them when the runs recover or end,
// until ctx ends.
func (s *Service) watchStalls(ctx context.Context) {
	if s.StalledAfter <= 0 {
		return
	}
	var was map[string]bool // stalled runs in the table after the last write; nil if unknown
	var start mirror.Signal
	pass := func(ctx context.Context) (next time.Duration, err error) {
		shown := s.latestSnapshot()
		if shown == nil {
			was = nil // another replica may change the table
		} else if seen := s.runStates(shown); was == nil || !maps.Equal(was, seen.stalled()) {
			var kept map[string]bool
			if kept, err = s.storeStalls(ctx, seen); err == nil {
				was = kept // the state that was written, not the current one
			}
		}
		return s.stallCheckInterval(), err
	}
	loop := mirror.Loop{Name: "stalled runs", DB: s.DB, Log: s.Log, Pass: pass}
	start.Wake()
	loop.Run(actor.With(ctx, actor.System), &start)
}

// runState is the state of an active run.
type runState struct {
	agentID string
	sign    time.Time
	stalled bool
}

// runStates maps session keys to the states of their active runs.
type runStates map[string]runState

// runStates returns the state of each active run in a snapshot.
func (s *Service) runStates(shown *snapshot) runStates {
	seen, active := runStates{}, map[string]bool{}
	for i := range shown.active() {
		r := &shown.rows[i]
		active[r.Key] = true
		since, stalled := s.silentSince(r)
		seen[r.Key] = runState{r.AgentID, since, stalled}
	}
	s.activity.prune(active)
	return seen
}

// stalled returns the keys of stalled runs.
func (l runStates) stalled() map[string]bool {
	keys := map[string]bool{}
	for key, of := range l {
		if of.stalled {
			keys[key] = true
		}
	}
	return keys
}

// storeStalls updates the table of stalled runs and the inbox, and returns the runs that the table
// lists as stalled. Each change is made once, by the first replica that sees it. If another replica
// has seen later activity, that activity takes precedence.
func (s *Service) storeStalls(ctx context.Context, seen runStates) (kept map[string]bool, err error) {
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		kept = seen.stalled()
		before, err := readStalls(ctx, tx)
		if err != nil {
			return err
		}
		var raise, resolve []string
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			is, was := seen[key], before[key]
			switch {
			case is.stalled && was.sign.After(is.sign):
				s.activity.record(key, was.sign) // another replica has seen later activity
				if !was.stalled {
					delete(kept, key)
				}
			case is.stalled && !was.stalled:
				raise, err = append(raise, key), putStall(ctx, tx, key, is)
			case !is.stalled && was.stalled:
				resolve, err = append(resolve, key), putStall(ctx, tx, key, is)
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
				resolve = append(resolve, key)
			}
		}
		return s.updateInbox(ctx, tx, seen, raise, resolve)
	})
	return kept, err
}

// endedRetention is how long an ended run is kept in the table, so that a replica that learns of
// the end late does not raise another inbox item.
const endedRetention = time.Hour

// endStall updates the table after a run has ended. If the run had stalled, it stores the current
// time as that of the run's last activity. Otherwise, it deletes the run if its last activity was
// at least endedRetention ago.
func (s *Service) endStall(ctx context.Context, tx *db.Tx, key string, of runState) error {
	now := s.Now()
	if of.stalled {
		return putStall(ctx, tx, key, runState{sign: now})
	}
	if now.Sub(of.sign) < endedRetention {
		return nil
	}
	_, err := tx.Exec(ctx, `DELETE FROM stalled_runs WHERE session_key = ?`, key)
	return err
}

// updateInbox raises and resolves the inbox items of runs.
func (s *Service) updateInbox(ctx context.Context, tx *db.Tx, seen runStates, raise, resolve []string) error {
	for _, key := range raise {
		is := seen[key]
		err := s.Inbox.Raise(ctx, tx, inbox.NewItem{
			Cause: stallCause(key), Kind: inbox.RunStalled, Severity: inbox.Medium,
			Subject: event.Subject{Kind: event.TopicSession, ID: key, Name: key}, At: is.sign,
			Title: account.AgentName(ctx, tx, is.agentID) + "'s run has stalled",
			Detail: fmt.Sprintf("The run in `%s` has shown no activity since %s. It may be waiting for a tool or a model that does not respond. Check the session and stop the run if necessary.",
				key, is.sign.UTC().Format("2006-01-02 15:04:05 UTC")),
		})
		if err != nil {
			return err
		}
	}
	for _, key := range resolve {
		why := "The run has ended."
		if _, ok := seen[key]; ok {
			why = "The run is active again."
		}
		if err := s.Inbox.ResolveCause(ctx, tx, stallCause(key), why); err != nil {
			return err
		}
	}
	return nil
}

// stallCause returns the text that identifies the cause of a stalled run's inbox item. It hashes
// the session key, because a key can be long.
func stallCause(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "stalled/" + hex.EncodeToString(sum[:])
}

func readStalls(ctx context.Context, q db.Queryer) (map[string]runState, error) {
	type stall struct {
		key string
		runState
	}
	rows, err := q.Query(ctx, `SELECT session_key, stalled, last_sign FROM stalled_runs`)
	all, err := db.All(rows, err, func(r db.Row) (o stall, err error) { return o, r.Scan(&o.key, &o.stalled, &o.sign) })
	by := make(map[string]runState, len(all))
	for _, o := range all {
		by[o.key] = o.runState
	}
	return by, err
}

func putStall(ctx context.Context, tx *db.Tx, key string, l runState) error {
	_, err := tx.Exec(ctx, `INSERT INTO stalled_runs (session_key, stalled, last_sign) VALUES (?, ?, ?)
		ON CONFLICT (session_key) DO UPDATE SET stalled = excluded.stalled, last_sign = excluded.last_sign`, key, l.stalled, l.sign)
	if err != nil {
		return fmt.Errorf("store a stalled run: %w", err)
	}
	return nil
}
