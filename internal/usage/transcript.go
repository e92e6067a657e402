package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// follow notes the runs of a transcript that have ended since it was last read.
func (r *reader) follow(ctx context.Context, row *gateway.Session) error {
	s, version := r.s, versionOf(row)
	t, err := readTranscript(ctx, s.DB, row.ID)
	if err != nil {
		return fmt.Errorf("read how far %s is noted: %w", row.Key, err)
	}
	if !row.Active && version > 0 && t.version >= version {
		r.seen[row.ID] = version // before a restart, or by another process
		return nil
	}
	turns, ours, err := s.turns(ctx, row, t.seq)
	if err != nil {
		return fmt.Errorf("read what %s used: %w", row.Key, err)
	}
	if ours {
		runs, upTo := runsOf(turns, row)
		t.sessionKey, t.agentID, t.seq = row.Key, row.AgentID, max(t.seq, upTo)
		if !row.Active {
			t.version = max(t.version, version)
		}
		if err := s.noteAll(ctx, runs, t); err != nil {
			return err
		}
	}
	if row.Active {
		r.read[row.ID] = s.Now()
		return nil
	}
	// One that was begun anew meanwhile is another one in the next list.
	r.seen[row.ID] = version
	delete(r.settled, row.ID)
	return nil
}

// turns reads what a transcript has behind seq, the oldest first; false when the
// session has another transcript by now.
func (s *Service) turns(ctx context.Context, row *gateway.Session, seq int64) (turns []gateway.Turn, ours bool, err error) {
	page, err := s.Runtime.Turns(ctx, row.Key, turnPage, 0)
	for range turnPages {
		if err != nil {
			return nil, false, err
		}
		if page.SessionID != row.ID {
			return nil, false, nil
		}
		turns = slices.Concat(page.Turns, turns)
		if page.Older == 0 || len(page.Turns) == 0 || page.Turns[0].Seq <= seq+1 {
			break
		}
		page, err = s.Runtime.TurnsBefore(ctx, row.Key, turnPage, page.Older, page.Total, page.Turns[0].Seq)
	}
	return slices.DeleteFunc(turns, func(t gateway.Turn) bool { return t.Seq > 0 && t.Seq <= seq }), true, nil
}

// noteAll notes runs and how far their transcript is read with them.
func (s *Service) noteAll(ctx context.Context, runs []Run, t transcript) error {
	for {
		some := runs[:min(runsAtOnce, len(runs))]
		runs = runs[len(some):]
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			for _, r := range some {
				if _, err := s.note(ctx, tx, r); err != nil {
					return err
				}
			}
			if len(runs) > 0 {
				return nil
			}
			return putTranscript(ctx, tx, t)
		})
		if err != nil {
			return fmt.Errorf("note what %s used: %w", t.sessionKey, err)
		}
		if len(runs) == 0 {
			return nil
		}
	}
}

// found is a run as a transcript tells of it.
type found struct {
	Run
	said  said
	begin int64 // the row of its question, or its own first
}

// runsOf are the runs of a transcript that have ended, and the row up to which
// it need not be read again. The last one of a busy session goes on; one that
// began after its list was read may.
func runsOf(turns []gateway.Turn, row *gateway.Session) (ended []Run, upTo int64) {
	all, waiting := gather(turns, row)
	if n := len(turns); n > 0 {
		upTo = turns[n-1].Seq
	}
	if waiting > 0 { // a question without an answer
		upTo = waiting - 1
	}
	for len(all) > 0 {
		last := all[len(all)-1]
		if !row.Active && (row.UpdatedAt.IsZero() || !last.StartedAt.After(row.UpdatedAt.Time)) {
			break
		}
		all, upTo = all[:len(all)-1], last.begin-1
		if row.Active {
			break
		}
	}
	for i := range all {
		all[i].attribute(all[i].said)
		ended = append(ended, all[i].Run)
	}
	return ended, upTo
}

// gather puts the model calls of a transcript together by run. waiting is the
// row of a question that nothing has answered yet.
func gather(turns []gateway.Turn, row *gateway.Session) (all []found, waiting int64) {
	var question *gateway.Turn
	for i := range turns {
		t := &turns[i]
		if t.Role == "user" {
			question = t
			continue
		}
		if t.Usage == nil {
			continue
		}
		id := t.RunID
		if id == "" {
			id = "message:" + row.ID + ":" + cmp.Or(t.ID, fmt.Sprint(t.Seq))
		}
		at := t.At.Time
		if at.IsZero() {
			at = row.UpdatedAt.Time
		}
		n := slices.IndexFunc(all, func(f found) bool { return f.RunID == id })
		if n < 0 {
			f := found{Run: Run{RunID: id, AgentID: row.AgentID, SessionKey: row.Key, SessionID: row.ID, StartedAt: at}, begin: t.Seq}
			if question != nil {
				f.said = said{asked: true, origin: question.Origin, job: question.JobID}
				f.begin = question.Seq
				if !question.At.IsZero() {
					f.StartedAt = question.At.Time
				}
			}
			n, all = len(all), append(all, f)
		}
		question = nil
		all[n].add(t.Usage, at)
	}
	if question != nil {
		waiting = question.Seq
	}
	return all, waiting
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
