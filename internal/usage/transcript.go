package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
)

// sync reads a transcript and adds to the ledger the runs that have ended since the last read. The version is that of
// the session in the list.
func (r *reader) sync(ctx context.Context, row *gateway.Session, version int64) error {
	s, began := r.s, time.Now()
	s.messages.clear(row.Key)
	t, err := readTranscript(ctx, s.DB, row.ID)
	if err != nil {
		return fmt.Errorf("read the progress of %s: %w", row.Key, err)
	}
	if !row.Active && t.version == version && row.Version() == version {
		r.seen[row.ID] = version // read before a restart, or by another process
		return nil
	}
	read, err := s.turns(ctx, row, t.seq)
	if err != nil {
		return fmt.Errorf("read the usage of %s: %w", row.Key, err)
	}
	if read != nil {
		runs, going, upTo, whole := runsOf(read, row, r.parents)
		t.sessionKey, t.agentID, t.seq = row.Key, row.AgentID, max(t.seq, upTo)
		if !row.Active && whole {
			t.version = version
		}
		done := func(tx *db.Tx) error { return s.Read(ctx, tx, row, read.turns) }
		if err := r.noteAll(ctx, runs, going, t, done); err != nil {
			return err
		}
	}
	if row.Active {
		r.last[row.ID] = lastRead{s.Now(), time.Since(began)}
		return nil
	}
	// If the session was reset meanwhile, the next list has its new transcript.
	r.seen[row.ID] = version
	delete(r.reconciled, row.ID)
	return nil
}

// reading holds the turns that follow a given row of a transcript, oldest first. It also holds the
// earlier turns that the same read returned.
type reading struct {
	before, turns []gateway.Turn
	completeFrom  int64 // no rows are missing from this one on
}

// turns reads a transcript's turns after row number seq. It returns nil if the session
// has since switched to a new transcript.
func (s *Service) turns(ctx context.Context, row *gateway.Session, seq int64) (*reading, error) {
	page, err := s.Runtime.Turns(ctx, row.Key, pageSize, 0)
	var all []gateway.Turn
	total, shown := page.Total, int64(0)
	for range maxPages {
		if err != nil {
			return nil, err
		}
		if page.SessionID != row.ID {
			return nil, nil
		}
		all = slices.Concat(page.Turns, all)
		for _, n := range page.Seqs {
			if n > seq && n <= total {
				shown++
			}
		}
		if page.Older == 0 || len(page.Turns) == 0 || page.Turns[0].Seq <= seq+1 {
			break
		}
		page, err = s.Runtime.TurnsBefore(ctx, row.Key, pageSize, page.Older, page.Total, page.Turns[0].Seq)
	}
	if err != nil {
		return nil, err
	}
	completeFrom := seq + 1
	if hidden := total - seq - shown; hidden > 0 {
		var ours bool
		if all, completeFrom, ours, err = s.addHiddenTurns(ctx, row, all, total-seq); err != nil || !ours {
			return nil, err
		}
	}
	// If the gateway does not number the rows, all of them count as new.
	first := slices.IndexFunc(all, func(t gateway.Turn) bool { return t.Seq == 0 || t.Seq > seq })
	if first < 0 {
		first = len(all)
	}
	return &reading{all[:first], all[first:], completeFrom}, nil
}

// contextTurns is the number of earlier rows to read along with new ones. If the message
// that started a run is not among the new rows, it may be among these.
const contextTurns = 20

// addHiddenTurns returns the shown turns together with recent turns that the gateway's history
// omits. No turns are missing from row number completeFrom on. If the gateway cannot return the
// omitted turns, completeFrom is math.MaxInt64. The result ours is false if the turns may belong to
// another transcript.
func (s *Service) addHiddenTurns(
	ctx context.Context, row *gateway.Session, shown []gateway.Turn, newest int64,
) (all []gateway.Turn, completeFrom int64, ours bool, err error) {
	kept, err := s.Runtime.RawTurns(ctx, row.Key, int(min(newest, pageSize))+contextTurns)
	if errors.Is(err, link.ErrRefused) || err == nil && (len(kept) == 0 || kept[0].Seq == 0) {
		return shown, math.MaxInt64, true, nil // the runtime's totals cover their usage
	}
	if err != nil {
		return nil, 0, false, err
	}
	again, err := s.Runtime.Turns(ctx, row.Key, 1, 0)
	if err != nil || again.SessionID != row.ID {
		return nil, 0, false, err
	}
	completeFrom = kept[0].Seq
	older := slices.DeleteFunc(shown, func(t gateway.Turn) bool { return t.Seq >= completeFrom })
	return append(older, kept...), completeFrom, true, nil
}

// noteAll adds runs to the ledger, stores how far their transcript has been read, and
// stores the usage of the run in progress, if any. It calls done in the last transaction.
func (r *reader) noteAll(ctx context.Context, runs []Run, going *Run, t transcript, done func(*db.Tx) error) error {
	s, isGoing := r.s, false
	for {
		some := runs[:min(runsPerTx, len(runs))]
		runs = runs[len(some):]
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			var tasks []string
			for _, run := range some {
				if copied, err := recordCopy(ctx, tx, run, r.runs[run.RunID]); err != nil {
					return err
				} else if copied {
					continue
				}
				changed, err := s.note(ctx, tx, run, OfRun)
				if err != nil {
					return err
				}
				if changed {
					tasks = append(tasks, run.TaskKey)
				}
			}
			if len(runs) == 0 {
				if err := errors.Join(putTranscript(ctx, tx, t), tx.Wake(ctx, topic), done(tx)); err != nil {
					return err
				}
				if going != nil {
					kept, grown, err := s.storeInProgress(ctx, tx, t.sessionID, *going)
					if err != nil {
						return err
					}
					if isGoing = kept; grown {
						tasks = append(tasks, going.TaskKey)
					}
				}
			}
			return s.recordSpent(ctx, tx, tasks)
		})
		if err != nil {
			return fmt.Errorf("note the usage of %s: %w", t.sessionKey, err)
		}
		if len(runs) == 0 {
			break
		}
	}
	if isGoing {
		r.going[t.sessionID] = true
	}
	return nil
}

// transcriptRun is a run as found in a transcript.
type transcriptRun struct {
	Run
	trigger trigger
	begin   int64 // the row of its message, or its own first row
}

// runsOf returns a transcript's ended runs. The row upTo is the last one that need not be read again. In an active
// session, the last run is still in progress and is returned as going. In an idle session, runs that started after the
// session list was read are omitted, because they may still be in progress; whole is false then.
func runsOf(read *reading, row *gateway.Session, made parents) (ended []Run, going *Run, upTo int64, whole bool) {
	var earlier, current parser
	earlier.completeFrom, current.completeFrom = read.completeFrom, read.completeFrom
	earlier.addTurns(read.before, row)
	current.last = earlier.last
	current.addTurns(read.turns, row)
	all := current.runs
	whole = true
	if n := len(read.turns); n > 0 {
		upTo = read.turns[n-1].Seq
	}
	if waiting := current.firstUnfinished(row); waiting > 0 {
		upTo = waiting - 1
	}
	for len(all) > 0 {
		last := all[len(all)-1]
		if !row.Active && (row.UpdatedAt.IsZero() || !last.StartedAt.After(row.UpdatedAt.Time)) {
			break
		}
		all, upTo, whole = all[:len(all)-1], last.begin-1, false
		if row.Active {
			last.resolvePurpose(row, made)
			going = &last.Run
			break
		}
	}
	for i := range all {
		all[i].resolvePurpose(row, made)
		all[i].Partial = all[i].begin < read.completeFrom
		ended = append(ended, all[i].Run)
	}
	return ended, going, upTo, whole
}

// resolvePurpose sets the task, job or standup that the run works for.
func (f *transcriptRun) resolvePurpose(row *gateway.Session, made parents) {
	f.attribute(f.trigger)
	f.inheritPurpose(cmp.Or(f.trigger.from, row.Key), made)
}

// parser groups the model calls of a transcript by run.
type parser struct {
	completeFrom int64 // see reading
	runs         []transcriptRun
	last         trigger        // of the previous run
	question     *gateway.Turn  // the last message without an answer
	pending      *transcriptRun // a run without usage so far, such as after a failed first call
}

// addTurns parses more turns of the transcript.
func (s *parser) addTurns(turns []gateway.Turn, row *gateway.Session) {
	for i := range turns {
		t := &turns[i]
		switch {
		case t.Role == "user":
			s.question = t
		case t.RunID != "" || t.Usage != nil:
			s.addTurn(t, row)
		}
	}
}

// messageRun is the prefix of the IDs that Wardroom gives to runs without an ID.
const messageRun = "message:"

// addTurn parses a turn of a run.
func (s *parser) addTurn(t *gateway.Turn, row *gateway.Session) {
	id := t.RunID
	if id == "" {
		id = messageRun + row.ID + ":" + cmp.Or(t.ID, fmt.Sprint(t.Seq))
	}
	at := t.At.Time
	if at.IsZero() {
		at = row.UpdatedAt.Time
	}
	n := slices.IndexFunc(s.runs, func(f transcriptRun) bool { return f.RunID == id })
	if n < 0 && (s.pending == nil || s.pending.RunID != id) {
		s.startRun(id, t.Seq, at, row)
	}
	s.question = nil // a message to a run in progress is part of that run
	if t.Usage == nil {
		return
	}
	if n < 0 {
		n, s.runs = len(s.runs), append(s.runs, *s.pending)
		s.pending = nil
	}
	s.runs[n].add(t.Usage, at)
}

// resumeOrigin is the origin of the messages that the gateway sends after a restart to resume
// interrupted turns.
const resumeOrigin = "main_session_restart_recovery"

// startRun records the start of a run and what triggered it. A run that was not started by a
// new message, such as a turn that resumes after a restart, inherits the previous run's
// trigger. If rows before the run are missing, its trigger is unknown.
func (s *parser) startRun(id string, seq int64, at time.Time, row *gateway.Session) {
	f := transcriptRun{
		Run: Run{RunID: id, AgentID: row.AgentID, SessionKey: row.Key, SessionID: row.ID, StartedAt: at}, begin: seq,
	}
	switch q := s.question; {
	case q != nil && q.Origin == resumeOrigin && s.last != trigger{}:
		f.trigger, f.begin = s.last, q.Seq
	case q != nil:
		f.trigger, f.begin = trigger{asked: true, origin: q.Origin, job: q.JobID, from: q.From}, q.Seq
		if !q.At.IsZero() {
			f.StartedAt = q.At.Time
		}
	case seq >= s.completeFrom:
		f.trigger = s.last
	}
	s.pending, s.last = &f, f.trigger
}

// firstUnfinished returns the number of the first unfinished row: the last message if it has no
// answer yet, or else the beginning of an active run without usage. It returns 0 if all rows are
// finished.
func (s *parser) firstUnfinished(row *gateway.Session) int64 {
	switch {
	case s.question != nil:
		return s.question.Seq
	case s.pending != nil && row.Active:
		return s.pending.begin
	}
	return 0
}

// add adds a model call to a run. If a call has no known cost, the run's cost for that model is
// also unknown.
func (f *transcriptRun) add(u *gateway.Usage, at time.Time) {
	p := Part{Provider: u.Provider, Model: u.Model, Cost: costOf(0)}
	if i := slices.IndexFunc(f.Parts, func(p Part) bool {
		return p.Provider == u.Provider && p.Model == u.Model
	}); i >= 0 {
		p = f.Parts[i]
		f.Parts = slices.Delete(f.Parts, i, i+1)
	}
	p.Estimated = p.Estimated || u.Estimated
	p.Tokens = p.Tokens.plus(Tokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Other})
	if p.Cost != nil && u.CostNanoUSD != nil {
		p.Cost = costOf(int64(*p.Cost) + *u.CostNanoUSD)
	} else {
		p.Cost = nil
	}
	if before := latest(f.StartedAt, f.EndedAt); at.After(before) && !f.StartedAt.IsZero() {
		p.Took += at.Sub(before)
	}
	p.Calls++
	f.EndedAt, f.Parts = latest(f.EndedAt, at), append(f.Parts, p)
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
