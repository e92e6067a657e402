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
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// follow notes the runs of a transcript that have ended since it was last read.
func (r *reader) follow(ctx context.Context, row *gateway.Session) error {
	s, version, began := r.s, versionOf(row), time.Now()
	t, err := readTranscript(ctx, s.DB, row.ID)
	if err != nil {
		return fmt.Errorf("read how far %s is noted: %w", row.Key, err)
	}
	if !row.Active && version > 0 && t.version >= version {
		r.seen[row.ID] = version // before a restart, or by another process
		return nil
	}
	read, err := s.turns(ctx, row, t.seq)
	if err != nil {
		return fmt.Errorf("read what %s used: %w", row.Key, err)
	}
	if read != nil {
		runs, going, upTo := runsOf(read, row, r.family)
		t.sessionKey, t.agentID, t.seq = row.Key, row.AgentID, max(t.seq, upTo)
		if !row.Active {
			t.version = max(t.version, version)
		}
		if err := r.noteAll(ctx, runs, going, t); err != nil {
			return err
		}
	}
	if row.Active {
		r.next[row.ID] = s.Now().Add(max(busyEvery, busyShare*time.Since(began)))
		return nil
	}
	// One that was begun anew meanwhile is another one in the next list.
	r.seen[row.ID] = version
	delete(r.settled, row.ID)
	return nil
}

// reading is what was read of a transcript: the rows behind one, the oldest
// first, and those before it as far as they came along.
type reading struct {
	before, turns []gateway.Turn
	whole         int64 // from this row on nothing is left out
}

// turns reads what a transcript has behind seq; nil when the session has another
// transcript by now.
func (s *Service) turns(ctx context.Context, row *gateway.Session, seq int64) (*reading, error) {
	page, err := s.Runtime.Turns(ctx, row.Key, turnPage, 0)
	var all []gateway.Turn
	total, shown := page.Total, int64(0)
	for range turnPages {
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
		page, err = s.Runtime.TurnsBefore(ctx, row.Key, turnPage, page.Older, page.Total, page.Turns[0].Seq)
	}
	if err != nil {
		return nil, err
	}
	whole := seq + 1
	if hidden := total - seq - shown; hidden > 0 {
		var ours bool
		if all, whole, ours, err = s.unhide(ctx, row, all, total-seq); err != nil || !ours {
			return nil, err
		}
	}
	// A gateway that does not number the rows has them all behind seq.
	first := slices.IndexFunc(all, func(t gateway.Turn) bool { return t.Seq == 0 || t.Seq > seq })
	if first < 0 {
		first = len(all)
	}
	return &reading{all[:first], all[first:], whole}, nil
}

// alongside is how many rows before those that are new are read again with them:
// they tell what a run goes on with that nobody asked anew.
const alongside = 20

// unhide puts those of the newest rows into a transcript that are left out where
// people read it, and says from which row on they are all there: never where the
// gateway cannot tell them. It is false when they may be of another transcript.
func (s *Service) unhide(ctx context.Context, row *gateway.Session, shown []gateway.Turn, newest int64) (all []gateway.Turn, whole int64, ours bool, err error) {
	kept, err := s.Runtime.RawTurns(ctx, row.Key, int(min(newest, turnPage))+alongside)
	if errors.Is(err, gateway.ErrRefused) || err == nil && (len(kept) == 0 || kept[0].Seq == 0) {
		return shown, math.MaxInt64, true, nil // what they used is in the runtime's totals
	}
	if err != nil {
		return nil, 0, false, err
	}
	again, err := s.Runtime.Turns(ctx, row.Key, 1, 0)
	if err != nil || again.SessionID != row.ID {
		return nil, 0, false, err
	}
	whole = kept[0].Seq
	older := slices.DeleteFunc(shown, func(t gateway.Turn) bool { return t.Seq >= whole })
	return append(older, kept...), whole, true, nil
}

// noteAll notes runs, how far their transcript is read with them, and what the
// one behind them has used so far; nil when none is going.
func (r *reader) noteAll(ctx context.Context, runs []Run, going *Run, t transcript) error {
	s, isGoing := r.s, false
	for {
		some := runs[:min(runsAtOnce, len(runs))]
		runs = runs[len(some):]
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			var tasks []string
			if len(some) > 0 || going != nil {
				// Whoever notes the original of a copy meanwhile must be through with it.
				if err := tx.Lock(ctx, topic); err != nil {
					return err
				}
			}
			for _, run := range some {
				if copied, err := inherit(ctx, tx, run, r.runs[run.RunID]); err != nil {
					return err
				} else if copied {
					continue
				}
				isNew, err := s.note(ctx, tx, run)
				if err != nil {
					return err
				}
				if isNew {
					tasks = append(tasks, run.TaskKey)
				}
			}
			if len(runs) == 0 {
				if err := putTranscript(ctx, tx, t); err != nil {
					return err
				}
				if going != nil {
					var err error
					if isGoing, err = s.keepGoing(ctx, tx, t.sessionID, *going); err != nil {
						return err
					}
				}
			}
			return s.announce(ctx, tx, tasks)
		})
		if err != nil {
			return fmt.Errorf("note what %s used: %w", t.sessionKey, err)
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

// found is a run as a transcript tells of it.
type found struct {
	Run
	said  said
	begin int64 // the row of its question, or its own first
}

// runsOf are the runs of a transcript that have ended, the one that is going with
// what it has used so far, and the row up to which it need not be read again. The
// last one of a busy session goes on; one that began after its list was read may.
func runsOf(read *reading, row *gateway.Session, made family) (ended []Run, going *Run, upTo int64) {
	var earlier, story story
	earlier.whole, story.whole = read.whole, read.whole
	earlier.tell(read.before, row)
	story.last = earlier.last
	story.tell(read.turns, row)
	all := story.runs
	if n := len(read.turns); n > 0 {
		upTo = read.turns[n-1].Seq
	}
	if waiting := story.waiting(row); waiting > 0 {
		upTo = waiting - 1
	}
	for len(all) > 0 {
		last := all[len(all)-1]
		if !row.Active && (row.UpdatedAt.IsZero() || !last.StartedAt.After(row.UpdatedAt.Time)) {
			break
		}
		all, upTo = all[:len(all)-1], last.begin-1
		if row.Active {
			last.file(row, made)
			going = &last.Run
			break
		}
	}
	for i := range all {
		all[i].file(row, made)
		ended = append(ended, all[i].Run)
	}
	return ended, going, upTo
}

// file fills in what the run is for.
func (f *found) file(row *gateway.Session, made family) {
	f.attribute(f.said)
	f.serve(cmp.Or(f.said.from, row.Key), made)
}

// story puts the model calls of a transcript together by run.
type story struct {
	whole    int64 // see reading
	runs     []found
	last     said          // of the run before
	question *gateway.Turn // that nothing has answered yet
	idle     *found        // a run that has used nothing so far, as one whose first call failed
}

// tell goes on with the story.
func (s *story) tell(turns []gateway.Turn, row *gateway.Session) {
	for i := range turns {
		t := &turns[i]
		switch {
		case t.Role == "user":
			s.question = t
		case t.RunID != "" || t.Usage != nil:
			s.step(t, row)
		}
	}
}

// messageRun begins what we call a run whose row names none.
const messageRun = "message:"

// step is a row of a run.
func (s *story) step(t *gateway.Turn, row *gateway.Session) {
	id := t.RunID
	if id == "" {
		id = messageRun + row.ID + ":" + cmp.Or(t.ID, fmt.Sprint(t.Seq))
	}
	at := t.At.Time
	if at.IsZero() {
		at = row.UpdatedAt.Time
	}
	n := slices.IndexFunc(s.runs, func(f found) bool { return f.RunID == id })
	if n < 0 && (s.idle == nil || s.idle.RunID != id) {
		s.begin(id, t.Seq, at, row)
	}
	s.question = nil // asked of a run that is going, it is a part of that
	if t.Usage == nil {
		return
	}
	if n < 0 {
		n, s.runs = len(s.runs), append(s.runs, *s.idle)
		s.idle = nil
	}
	s.runs[n].add(t.Usage, at)
}

// resumption is by what the gateway goes on with a turn that its restart has cut.
const resumption = "main_session_restart_recovery"

// begin begins a run. One that nobody has asked goes on with what the run before
// was for: the turn that the gateway resumes after a restart, the last word of a
// talk among agents. Where rows are left out nobody knows.
func (s *story) begin(id string, seq int64, at time.Time, row *gateway.Session) {
	f := found{Run: Run{RunID: id, AgentID: row.AgentID, SessionKey: row.Key, SessionID: row.ID, StartedAt: at}, begin: seq}
	switch q := s.question; {
	case q != nil && q.Origin == resumption && s.last != said{}:
		f.said, f.begin = s.last, q.Seq
	case q != nil:
		f.said, f.begin = said{asked: true, origin: q.Origin, job: q.JobID, from: q.From}, q.Seq
		if !q.At.IsZero() {
			f.StartedAt = q.At.Time
		}
	case seq >= s.whole:
		f.said = s.last
	}
	s.idle, s.last = &f, f.said
}

// waiting is the row of what has begun and used nothing yet; 0 without such.
func (s *story) waiting(row *gateway.Session) int64 {
	switch {
	case s.question != nil:
		return s.question.Seq
	case s.idle != nil && row.Active:
		return s.idle.begin
	}
	return 0
}

// add adds a model call to a run. As soon as one has no price, the sum has none.
func (f *found) add(u *gateway.Usage, at time.Time) {
	if at.After(f.EndedAt) {
		f.EndedAt = at
	}
	t := Tokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Other}
	i := slices.IndexFunc(f.Parts, func(p Part) bool { return p.Provider == u.Provider && p.Model == u.Model })
	if i < 0 {
		p := Part{Provider: u.Provider, Model: u.Model, Tokens: t}
		if u.CostNanoUSD != nil {
			p.Cost = costOf(*u.CostNanoUSD)
		}
		f.Parts = append(f.Parts, p)
		return
	}
	p := &f.Parts[i]
	p.Tokens = p.Tokens.plus(t)
	if p.Cost == nil || u.CostNanoUSD == nil {
		p.Cost = nil
		return
	}
	sum := *p.Cost + money.Nano(*u.CostNanoUSD)
	p.Cost = &sum
}
