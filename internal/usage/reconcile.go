package usage

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// same is how far two costs of the same tokens may differ and still be the same,
// in nano-dollars: the runtime adds up in floating point.
const same = 100

func fingerprint(u *gateway.TranscriptUsage) string { return fmt.Sprint(u.Models) }

// unsettled are the transcripts whose totals are final for now, and are not
// those that the ledger was last held against: nothing of them goes on, all of
// them is noted, and the totals were counted after their last change.
func (r *reader) unsettled(rows map[string]*gateway.Session, counted *gateway.SessionUsage) (list []*gateway.TranscriptUsage) {
	if counted == nil || counted.At.IsZero() {
		return nil
	}
	for i := range counted.Transcripts {
		u := &counted.Transcripts[i]
		if r.settled[u.SessionID] == fingerprint(u) {
			continue
		}
		row, ok := rows[u.SessionID]
		if ok {
			version, read := r.seen[u.SessionID]
			ok = read && !row.Active && version == versionOf(row) && !row.UpdatedAt.After(counted.At.Time)
			// The list may be older than the totals, which then have a run in them that
			// we are about to read.
			ok = ok && (!u.LastAt.After(row.UpdatedAt.Time) || final(u, counted.At))
			ok = ok || r.givenUp(u.SessionID) && !row.Active && final(u, counted.At)
			delete(r.absent, u.SessionID)
		} else {
			ok = r.gone(u.SessionID) && final(u, counted.At)
		}
		if ok {
			list = append(list, u)
		}
	}
	return list
}

// gone says whether a transcript is in no list, and has not been for so long that
// it cannot be one that has just come: the totals of a conversation that was
// forked, or gone back in, may be here before the list is that has it, and what
// it was copied with is as old as the original.
func (r *reader) gone(id string) bool {
	since, ok := r.absent[id]
	if !ok {
		r.absent[id] = r.s.Now()
	}
	return ok && r.s.Now().Sub(since) >= quiet
}

// final says whether a transcript had said nothing for so long, when its totals
// were counted, that nothing of it can be on its way.
func final(u *gateway.TranscriptUsage, at clock.Time) bool {
	return !u.LastAt.IsZero() && at.Sub(u.LastAt.Time) >= quiet
}

// reconcile makes the ledger equal to the runtime's totals of a transcript, as
// of a time of the runtime; false when the ledger is ahead of them. What differs
// is a row of its own: a run that nobody could read any more, a call that the
// runtime counted otherwise. Totals that have become less are not followed: the
// runtime forgets, and what was spent was spent.
func (s *Service) reconcile(ctx context.Context, u *gateway.TranscriptUsage, asOf clock.Time) (done bool, err error) {
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		done = false
		if err := tx.Lock(ctx, topic); err != nil {
			return err
		}
		has, last, err := holds(ctx, tx, u.SessionID)
		if err != nil || last > asOf.UnixMilli() {
			return err
		}
		if len(has) == 0 {
			if done, err = copied(ctx, tx, u); done || err != nil {
				return err
			}
		}
		before, err := readTold(ctx, tx, u.SessionID)
		if err != nil {
			return err
		}
		of, err := readTranscript(ctx, tx, u.SessionID)
		if err != nil {
			return err
		}
		base := row{kind: Reconciled, at: asOf.UnixMilli()}
		if !u.LastAt.IsZero() {
			base.at = u.LastAt.UnixMilli()
		}
		base.Run = Run{AgentID: u.AgentID, SessionKey: cmp.Or(of.sessionKey, u.SessionKey), SessionID: u.SessionID}
		base.attribute(said{asked: true, origin: string(Reconciled)})
		if base.Source == SubAgent {
			if base.TaskKey, base.JobID, err = servedIn(ctx, tx, u.SessionID); err != nil {
				return err
			}
		}
		made := 0
		for _, m := range u.Models {
			k := modelKey{m.Provider, m.Model}
			n, err := s.level(ctx, tx, base, m, has[k], before[k])
			if err != nil {
				return err
			}
			made += n
		}
		done = true
		if made > 0 { // with what the run had used of which nobody could read the end
			if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ?`, u.SessionID); err != nil {
				return fmt.Errorf("it is not going any more: %w", err)
			}
		}
		if err := grow(ctx, tx, made); err != nil || made == 0 {
			return err
		}
		return s.announce(ctx, tx, []string{base.TaskKey})
	})
	if err != nil {
		return false, fmt.Errorf("reconcile %s: %w", u.SessionKey, err)
	}
	return done, nil
}

// level adds what the ledger lacks of one model, and says how many rows that
// took.
func (s *Service) level(ctx context.Context, tx *db.Tx, base row, m gateway.ModelTotals, has held, before told) (made int, err error) {
	k := modelKey{m.Provider, m.Model}
	is := told{tokens: Tokens{m.Input, m.Output, m.CacheRead, m.CacheWrite, m.Other}, cost: m.CostNanoUSD, rows: before.rows, shrunk: before.shrunk}
	if !believable(is.tokens, costOf(is.cost)) {
		s.Log.WarnContext(ctx, "what the runtime says that a transcript used cannot be, and is left out", "session", base.SessionKey, "model", m.Model)
		return 0, nil
	}
	if m.Pricing == gateway.Unpriced {
		is.cost = before.cost
	}
	if !is.tokens.covers(before.tokens) || is.cost < before.cost-same {
		before.shrunk = true
		return 0, putTold(ctx, tx, base.SessionID, k, before)
	}
	base.Provider, base.Model = k.provider, k.model
	add := func(r row) error {
		is.rows++
		made++
		r.RunID = fmt.Sprintf("reconciled:%s:%d", base.SessionID, is.rows)
		return insert(ctx, tx, r, s.Now())
	}
	missing := base
	missing.Tokens = is.tokens.minus(has.tokens)
	cost := is.cost - has.cost
	if m.Pricing == gateway.Unpriced || missing.Tokens == (Tokens{}) && cost > -same && cost < same {
		cost = 0
	}
	if is.shrunk && (!missing.Tokens.covers(Tokens{}) || cost < 0) {
		return 0, nil
	}
	if missing.Tokens != (Tokens{}) || cost != 0 {
		if m.Pricing != gateway.Unpriced {
			missing.Cost = costOf(cost)
		}
		if err := s.price(ctx, tx, &missing); err != nil {
			return made, err
		}
		if !missing.Tokens.covers(Tokens{}) {
			missing.unpriced = 0 // that less was used is nothing that lacks a price
		}
		if err := add(missing); err != nil {
			return made, err
		}
	}
	// What had no price has one now: the estimate goes, and so does the lack.
	if m.Pricing == gateway.Priced && (has.estimated != 0 || has.unpriced > 0) {
		found := base
		found.Cost, found.price, found.unpriced = costOf(-has.estimated), estimated, -has.unpriced
		if err := add(found); err != nil {
			return made, err
		}
	}
	if is == before {
		return made, nil
	}
	return made, putTold(ctx, tx, base.SessionID, k, is)
}

// reprice estimates what was noted without a price, with the prices of now.
func (s *Service) reprice(ctx context.Context) error {
	prices, err := newestPrices(ctx, s.DB)
	if err != nil || len(prices.Prices) == 0 {
		return err
	}
	const atOnce = 100
	var after row
	for {
		var some []row
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			// Not while sums are compared, which count what has no price.
			if err := tx.Lock(ctx, topic); err != nil {
				return err
			}
			var err error
			if some, err = unpricedRows(ctx, tx, after, atOnce); err != nil {
				return err
			}
			var tasks []string
			for _, r := range some {
				cost, ok := prices.estimate(r.Provider, r.Model, r.Tokens, time.UnixMilli(r.at))
				if !ok || !believable(r.Tokens, &cost) {
					continue
				}
				r.RunID, r.Tokens = "priced:"+r.RunID, Tokens{}
				r.kind, r.Cost, r.price, r.table, r.unpriced = Priced, &cost, estimated, &prices.Version, -1
				if err := insert(ctx, tx, r, s.Now()); err != nil {
					return err
				}
				tasks = append(tasks, r.TaskKey)
			}
			if err := grow(ctx, tx, len(tasks)); err != nil {
				return err
			}
			return s.announce(ctx, tx, tasks)
		})
		if err != nil {
			return fmt.Errorf("price what had none: %w", err)
		}
		if len(some) < atOnce {
			return nil
		}
		after = some[len(some)-1]
	}
}
