package standup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/schedule"
	"wardroom/internal/task"
)

// taskReports returns the agent's reports on tasks since the given time, newest first, with the
// receipts of the newest report of each task that says that it is done.
func (s *Service) taskReports(ctx context.Context, agentID string, since time.Time) ([]TaskReport, error) {
	reported, err := s.Tasks.ReportsBy(ctx, agentID, since)
	if err != nil {
		return nil, err
	}
	out := make([]TaskReport, len(reported))
	newest := map[string]int{} // by task, of those that say that it is done
	for i, r := range reported {
		out[i] = TaskReport{Task: r.Key, Kind: string(r.Kind), Text: oneLine(r.Text), At: clock.At(r.At)}
		if _, known := newest[r.Key]; r.Kind == task.Finished && !known {
			newest[r.Key] = i
		}
	}
	for key, i := range newest {
		o, err := s.Receipts.Last(ctx, s.DB, key)
		if errors.Is(err, task.ErrNotFound) || err == nil && o == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i].Receipt = &TaskReceipt{Grade: string(o.Grade), Pending: o.Pending, Gaps: []string{}}
		for _, g := range o.Gaps {
			out[i].Receipt.Gaps = append(out[i].Receipt.Gaps, g.Text)
		}
	}
	return out, nil
}

// mostFailures limits how many failed runs of each kind are counted.
const mostFailures = 500

// runs returns the totals of the agent's runs that ended since the given time.
func (s *Service) runs(ctx context.Context, agentID string, since time.Time) (*Runs, error) {
	sums, err := s.Usage.OfAgentSince(ctx, agentID, since)
	if err != nil {
		return nil, err
	}
	failed, err := s.failedRuns(ctx, agentID, since)
	if err != nil {
		return nil, err
	}
	tokens := Tokens(sums.Tokens)
	return &Runs{
		Count: int(sums.Runs), Failed: failed, Unpriced: int(sums.Unpriced), Tokens: &tokens, CostUSD: sums.CostUSD,
		Source: FromLedger,
	}, nil
}

// failedRuns counts the agent's failed runs since the given time: those of dispatches, standups,
// scheduled jobs and other sessions. The ledger does not record failures.
func (s *Service) failedRuns(ctx context.Context, agentID string, since time.Time) (int, error) {
	agents := []string{agentID}
	dispatches, err := s.Dispatches.FailedOf(ctx, agents, since, mostFailures)
	if err != nil {
		return 0, err
	}
	answers, err := s.UnansweredBy(ctx, agents, since, mostFailures)
	if err != nil {
		return 0, err
	}
	slots, err := s.Schedules.FailedSlots(ctx, agents, since, mostFailures)
	if err != nil {
		return 0, err
	}
	slots = slices.DeleteFunc(slots, func(f schedule.FailedSlot) bool {
		return f.State != string(schedule.Failed) // a missed job has no run
	})
	sessions, err := s.Archive.FailedSessions(ctx, agentID, since, mostFailures)
	sessions = slices.DeleteFunc(sessions, func(key string) bool {
		place, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(key), strings.ToLower("agent:"+agentID+":")), ":")
		return slices.Contains([]string{"task", "standup", "cron"}, place) // counted above
	})
	return len(dispatches) + len(answers) + len(slots) + len(sessions), err
}
