package standup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Run starts a standup or retries a failed one. A retry asks only for missing answers. Run fails
// with ErrRunning if the standup is running. It restarts a completed standup only if again is true,
// and fails with ErrCompleted otherwise. A restart asks all participants again. Their earlier
// answers remain only in the transcript.
func (s *Service) Run(ctx context.Context, id string, again bool) (Standup, error) {
	var started Standup
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		if started, err = findWhole(ctx, tx, id); err != nil {
			return err
		}
		switch {
		case started.Status == Running && started.Phase != Opened:
			return ErrRunning.With(
				"Read the standup to see its progress, or send the header Prefer: wait=60 to wait until the standup ends.",
			).Fact("standup", brief(started))
		case started.Status == Completed && !again:
			return ErrCompleted.With(`To run it again from the start, send {"again": true}.`).Fact("standup", started)
		}
		return s.startAttempt(ctx, tx, &started)
	})
	if err != nil {
		return Standup{}, fmt.Errorf("run standup: %w", err)
	}
	return s.Get(ctx, id)
}

// startAttempt prepares the next attempt to run a standup and enqueues its job.
func (s *Service) startAttempt(ctx context.Context, tx *db.Tx, m *Standup) error {
	now, caller := s.Now(), actor.From(ctx)
	word := "started the standup"
	if m.Attempt > 0 {
		word = "started the standup again"
	}
	t, err := s.findTeam(ctx, tx, m.Team)
	if err != nil {
		return err
	}
	m.agentTimeout, m.deadline = time.Duration(t.AgentTimeout), time.Duration(t.Deadline)
	if err := s.resetForAttempt(ctx, tx, m, now); err != nil {
		return err
	}
	m.Status, m.Phase, m.Failure, m.CompletedAt = Running, Gathering, nil, nil
	m.Attempt++
	m.StartedAt, m.DeadlineAt = clock.Ptr(now), clock.Ptr(now.Add(m.deadline))
	switch m.Trigger = "user"; {
	case caller.Role == actor.Agent:
		m.Trigger = "agent"
	case caller.ID == actor.System.ID:
		m.Trigger = "system"
	}
	if err := update(ctx, tx, m, now); err != nil {
		return err
	}
	if err := appendLine(ctx, tx, m.ID, now, "note", service, team, caller.Name+" "+word+"."); err != nil {
		return err
	}
	// The queue holds one job per standup, and the previous attempt's job may not be
	// marked as done yet.
	if err := s.Jobs.Cancel(ctx, tx, JobKind, m.ID); err != nil {
		return err
	}
	if _, err := s.Jobs.Enqueue(ctx, tx, JobKind, m.ID, nil); err != nil {
		return err
	}
	return record(ctx, tx, now, "standup.started", *m, map[string]any{"attempt": m.Attempt})
}

// resetForAttempt resets the reports and questions for the next attempt. A retry of a
// failed standup keeps those that it can reuse. A new run of a completed standup keeps
// none.
func (s *Service) resetForAttempt(ctx context.Context, tx *db.Tx, m *Standup, now time.Time) error {
	anew := m.Status == Completed
	asked, err := questions(ctx, tx, m.ID)
	if err != nil {
		return err
	}
	for i, r := range m.Reports {
		if !anew && r.kept(asked) {
			continue
		}
		if err := putReport(ctx, tx, m.ID, i, Report{AgentID: r.AgentID, Name: r.Name, Status: Pending}); err != nil {
			return err
		}
	}
	for _, q := range asked {
		if q.State == questionOpen && !anew { // its agent gets the full timeout again
			q.DeadlineAt = clock.At(now.Add(m.agentTimeout))
			if err := putQuestion(ctx, tx, m.ID, q); err != nil {
				return err
			}
		}
	}
	if !anew {
		return nil
	}
	m.Summary, m.Digest, m.Blockers, m.Escalations = nil, nil, nil, nil
	return s.dropQuestions(ctx, tx, m.ID, anyQuestion)
}

// kept reports whether a retry keeps the report instead of asking the agent again. It does
// so if the agent has answered or its question is still open.
func (r Report) kept(asked []question) bool {
	return r.Status == Answered || r.Status == Asked && slices.ContainsFunc(asked, func(q question) bool {
		return q.AgentID == r.AgentID && q.Purpose == "report" &&
			(q.State == questionOpen || q.State == questionAnswered && r.AskedAt != nil && q.AskedAt.Equal(r.AskedAt.Time))
	})
}
