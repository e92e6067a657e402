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

// same is the tolerance in nano-dollars for comparing costs, because the runtime adds costs in
// floating point.
const same = 100

func fingerprint(u *gateway.TranscriptUsage) string { return fmt.Sprint(u.Models) }

// unreconciled returns the transcripts that have new totals and can be reconciled. This requires
// that no run is active, that all runs are in the ledger, and that the totals were computed after
// the last change.
func (r *reader) unreconciled(
	rows map[string]*gateway.Session, counted *gateway.SessionUsage,
) (list []*gateway.TranscriptUsage) {
	if counted == nil || counted.At.IsZero() {
		return nil
	}
	for i := range counted.Transcripts {
		u := &counted.Transcripts[i]
		if r.reconciled[u.SessionID] == fingerprint(u) {
			continue
		}
		row, ok := rows[u.SessionID]
		if ok {
			version, read := r.seen[u.SessionID]
			ok = read && !row.Active && version == row.Version() && !row.UpdatedAt.After(counted.At.Time)
			// If the list is older than the totals, they may include a run that has not been
			// read yet.
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

// gone reports whether a transcript has been missing from the list of sessions for at least
// settleTime. A transcript that has been missing for a shorter time may be a new fork, whose totals
// can arrive before the updated list. The function final cannot detect that, because a fork's
// copied rows are as old as the original ones.
func (r *reader) gone(id string) bool {
	since, ok := r.absent[id]
	if !ok {
		r.absent[id] = r.s.Now()
	}
	return ok && r.s.Now().Sub(since) >= settleTime
}

// final reports whether a transcript had been unchanged for at least settleTime when its totals
// were computed, as far as the runtime says.
func final(u *gateway.TranscriptUsage, at clock.Time) bool {
	return u.LastAt.IsZero() || at.Sub(u.LastAt.Time) >= settleTime
}

// reconcile adds adjustments to the ledger so that it matches the runtime's totals for a transcript.
// They can differ, for example, because a run could not be read. The runtime computed the totals at
// asOf. If the ledger has newer rows, reconcile returns false. It ignores totals that have
// decreased: the runtime has deleted data, but the money was still spent.
func (s *Service) reconcile(ctx context.Context, u *gateway.TranscriptUsage, asOf clock.Time) (done bool, err error) {
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		done = false
		has, last, err := recordedUsage(ctx, tx, u.SessionID)
		if err != nil || last > asOf.UnixMilli() {
			return err
		}
		if len(has) == 0 {
			if done, err = isCopy(ctx, tx, u); done || err != nil {
				return err
			}
		}
		before, err := readLastTotals(ctx, tx, u.SessionID)
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
		base.attribute(trigger{asked: true, origin: string(Reconciled)})
		if base.Source == SubAgent {
			if base.TaskKey, base.JobID, err = commonPurpose(ctx, tx, u.SessionID); err != nil {
				return err
			}
		}
		made := 0
		for _, m := range u.Models {
			k := modelKey{m.Provider, m.Model}
			n, err := s.reconcileModel(ctx, tx, base, m, has[k], before[k])
			if err != nil {
				return err
			}
			made += n
		}
		done = true
		if made > 0 { // the new rows include a run in progress whose end could not be read
			if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ?`, u.SessionID); err != nil {
				return fmt.Errorf("delete the usage of a run in progress: %w", err)
			}
		}
		if err := recordGrowth(ctx, tx, made); err != nil || made == 0 {
			return err
		}
		base.EndedAt = time.UnixMilli(base.at)
		if err := s.grew(ctx, tx, base.Run, false); err != nil {
			return err
		}
		return s.recordSpent(ctx, tx, []string{base.TaskKey})
	})
	if err != nil {
		return false, fmt.Errorf("reconcile %s: %w", u.SessionKey, err)
	}
	return done, nil
}

// reconcileModel adds the missing usage of one model and returns the number of rows
// that it wrote.
func (s *Service) reconcileModel(
	ctx context.Context, tx *db.Tx, base row, m gateway.ModelTotals, has recorded, before lastTotals,
) (made int, err error) {
	k := modelKey{m.Provider, m.Model}
	is := before
	is.tokens, is.cost = Tokens{m.Input, m.Output, m.CacheRead, m.CacheWrite, m.Other}, m.CostNanoUSD
	if !plausible(is.tokens, costOf(is.cost)) {
		s.Log.WarnContext(ctx, "ignored implausible usage of a transcript", "session", base.SessionKey, "model", m.Model)
		return 0, nil
	}
	if m.Pricing == gateway.Unpriced {
		is.cost = before.cost
	}
	if !is.tokens.covers(before.tokens) || is.cost < before.cost-same {
		before.shrunk = true
		return 0, putLastTotals(ctx, tx, base.SessionID, k, before)
	}
	base.Provider, base.Model = k.provider, k.model
	add := func(r row) error {
		is.rows++
		made++
		r.RunID = fmt.Sprintf("reconciled:%s:%d", base.SessionID, is.rows)
		return insert(ctx, tx, r, s.Now())
	}
	missing := base
	missing.Estimated, missing.Tokens = m.Estimated, is.tokens.minus(has.tokens)
	cost := is.cost - has.cost
	if m.Estimated { // like what the ledger has of these calls
		cost -= has.estimated
	}
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
			missing.unpriced = 0 // a reduction needs no price
		}
		if err := add(missing); err != nil {
			return made, err
		}
	}
	// The runtime has prices now, so revert the estimate and the count of unpriced runs.
	if m.Pricing == gateway.Priced && (has.estimated != 0 || has.unpriced > 0) {
		correction := base
		correction.Cost, correction.price, correction.unpriced = costOf(-has.estimated), estimated, -has.unpriced
		if err := add(correction); err != nil {
			return made, err
		}
	}
	if is == before {
		return made, nil
	}
	return made, putLastTotals(ctx, tx, base.SessionID, k, is)
}

// reprice estimates the cost of rows without a price, using the current prices.
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
			var err error
			if some, err = unpricedRows(ctx, tx, after, atOnce); err != nil {
				return err
			}
			var tasks []string
			var grown []Run
			for _, r := range some {
				cost, ok := prices.estimate(r.Provider, r.Model, r.Tokens, time.UnixMilli(r.at))
				if !ok || !plausible(r.Tokens, &cost) {
					continue
				}
				r.RunID, r.Tokens = "priced:"+r.RunID, Tokens{}
				r.kind, r.Cost, r.price, r.table, r.unpriced = Priced, &cost, estimated, &prices.Version, -1
				if err := insert(ctx, tx, r, s.Now()); err != nil {
					return err
				}
				tasks = append(tasks, r.TaskKey)
				r.EndedAt = time.UnixMilli(r.at)
				grown = append(grown, r.Run)
			}
			if err := recordGrowth(ctx, tx, len(tasks)); err != nil {
				return err
			}
			for _, r := range grown {
				if err := s.grew(ctx, tx, r, false); err != nil {
					return err
				}
			}
			return s.recordSpent(ctx, tx, tasks)
		})
		if err != nil {
			return fmt.Errorf("estimate unpriced usage: %w", err)
		}
		if len(some) < atOnce {
			return nil
		}
		after = some[len(some)-1]
	}
}
