package standup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/archive"
	"wardroom/internal/ask"
	"wardroom/internal/dispatch"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/limiter"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/redact"
	"wardroom/internal/receipt"
	"wardroom/internal/schedule"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Runtime is the part of the gateway client that a standup uses.
type Runtime = ask.Runtime

// Ledger keeps usage. In the demo's past, it is not usage.Service, which has not read the past
// sessions yet.
type Ledger interface {
	Note(ctx context.Context, tx *db.Tx, r usage.Run) (isNew bool, err error)
	OfAgentSince(ctx context.Context, agentID string, since time.Time) (usage.Sums, error)
}

// Sessions counts the sessions that an agent has used. In the demo's past, it is not session.Service,
// which knows only the present.
type Sessions interface {
	CountUsed(ctx context.Context, agentID string, since time.Time) (int, error)
}

// Service opens, runs and lists standups, and manages teams and the scheduled jobs
// that start their standups. It must not be copied after first use.
type Service struct {
	DB      *db.DB
	Jobs    *job.Queue
	Stops   *ask.Stopper // stops the runs of questions that are dropped or time out
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Inbox   *inbox.Service
	Redact  *redact.Redactor

	Accounts   *account.Service
	Holds      *hold.Service
	Tasks      *task.Service
	Usage      Ledger
	Sessions   Sessions
	Schedules  *schedule.Service
	Archive    *archive.Service
	Receipts   *receipt.Service
	Dispatches *dispatch.Service

	// Defaults from the settings. A team can override its defaults. Facilitator and
	// Participants apply only to the executive team; Zone, AgentTimeout and Deadline apply to
	// all teams.
	Facilitator  string         // an agent_id
	Participants []string       // agent_ids, in the order they are asked
	Zone         *time.Location // determines the date of a standup
	AgentTimeout time.Duration  // maximum time for one agent's answer
	Deadline     time.Duration  // maximum duration of one attempt

	Grace    time.Duration // how long to wait for a gateway that disconnected during an attempt
	Patience time.Duration // how long to wait for a gateway before the first question of an attempt
	Limits   Limits

	// Timetable manages the runtime's scheduled jobs that start the standups.
	Timetable Timetable

	URL        *gateway.AgentURL // at which agents start standups
	StartGrace time.Duration     // how late a standup may start before it counts as missed
	Fallback   bool              // whether Wardroom starts a missed standup itself

	places       limiter.Limiter
	sharedReader sharedReader
}

// JobKind is the kind of job that runs a standup. The job's key is the id of the standup.
const JobKind = "standup"

// Kind returns the job kind that runs standups.
func (s *Service) Kind() job.Kind {
	return job.Kind{Do: s.runJob, GaveUp: s.gaveUp, Attempts: 5}
}

// Open opens a team's standup for a day. If the team already has a standup on that day,
// Open returns that standup, and created is false. Open fails with ErrTeam for an unknown
// team. For an archived team, it fails with ErrTeamArchived.
func (s *Service) Open(ctx context.Context, n New) (made Standup, created bool, err error) {
	now := s.Now()
	members, err := s.Accounts.AgentUsers(ctx, s.DB)
	if err != nil {
		return Standup{}, false, fmt.Errorf("open standup: %w", err)
	}
	var o opened
	err = s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		o, err = once.Do(ctx, tx, now, findOpening, opened.key, func() (opened, error) {
			return s.openIn(ctx, tx, n, now, members)
		})
		return err
	})
	if err != nil {
		return Standup{}, false, fmt.Errorf("open standup: %w", err)
	}
	made, err = s.read(ctx, func(q db.Queryer) (Standup, error) { return find(ctx, q, o.id) })
	return made, o.created, err
}

func nameOf(members []account.AgentUser, agentID string) string {
	for _, m := range members {
		if m.AgentID == agentID {
			return m.Name
		}
	}
	return agentID
}

// Get returns a standup with its reports and transcript.
func (s *Service) Get(ctx context.Context, id string) (Standup, error) {
	return s.read(ctx, func(q db.Queryer) (Standup, error) { return find(ctx, q, id) })
}

// Latest returns a team's most recent standup whose day has begun. An empty team selects
// the executive team. For an unknown team, Latest fails with ErrTeam.
func (s *Service) Latest(ctx context.Context, team string) (Standup, error) {
	return s.read(ctx, func(q db.Queryer) (Standup, error) {
		t, err := s.namedTeam(ctx, q, team)
		if err != nil {
			return Standup{}, err
		}
		return findLatest(ctx, q, t.Key, s.Now())
	})
}

// read loads a complete standup from a single database snapshot.
func (s *Service) read(ctx context.Context, which func(db.Queryer) (Standup, error)) (Standup, error) {
	var got Standup
	err := s.DB.View(ctx, func(q db.Queryer) (err error) {
		if got, err = which(q); err != nil {
			return err
		}
		return got.load(ctx, q)
	})
	return got, err
}

// List returns one page of the standups that match the filter, sorted by day. It fails
// with ErrTeam for an unknown team.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Brief], error) {
	if err := f.check(); err != nil {
		return page.Part[Brief]{}, err
	}
	var part page.Part[Brief]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		if f.Team != "" && f.Team != Executive {
			t, err := s.namedTeam(ctx, q, f.Team)
			if err != nil {
				return err
			}
			f.Team = t.Key
		}
		var err error
		part, err = f.list().Read(ctx, q, f.where(), want)
		return err
	})
	return part, err
}

// findWhole loads a complete standup.
func findWhole(ctx context.Context, tx *db.Tx, id string) (Standup, error) {
	got, err := find(ctx, tx, id)
	if err != nil {
		return got, err
	}
	return got, got.load(ctx, tx)
}

// Cancel ends a standup that has been opened or is running. It keeps the reports and the
// transcript. A job stops the standup's open runs as soon as the gateway is reachable.
func (s *Service) Cancel(ctx context.Context, id string) (Standup, error) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		// Check for an ended standup before the first write. On SQLite, a transaction
		// that fails after a write also rolls back those that share its commit, and one
		// of them may complete this standup.
		m, err := findWhole(ctx, tx, id)
		if err != nil {
			return err
		}
		if m.Status != Running {
			return m.notRunning()
		}
		if err := s.Jobs.Cancel(ctx, tx, JobKind, id); err != nil {
			return err
		}
		return s.fail(ctx, tx, &m, &Failure{Cancelled, actor.From(ctx).Name + " canceled it."})
	})
	if err != nil {
		return Standup{}, fmt.Errorf("cancel standup: %w", err)
	}
	return s.Get(ctx, id)
}

// notRunning returns the error for an attempt to cancel a finished standup.
func (s Standup) notRunning() error {
	return ErrIdle.With("There is nothing to cancel, because the standup %s.", s.ended())
}

// Delete deletes a standup with its reports and transcript. It fails with ErrRunning if the standup is running.
func (s *Service) Delete(ctx context.Context, id string, version *int64) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		m, err := findWhole(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != nil && *version != m.Version {
			return ErrStale.With("The standup is now at version %d. Read it again and retry the request.",
				m.Version).Fact("current_version", m.Version)
		}
		if m.Status == Running && m.Phase != Opened {
			return ErrRunning.With("Cancel the standup first.").Fact("standup", brief(m))
		}
		if err := s.dropQuestions(ctx, tx, id, anyQuestion); err != nil {
			return err
		}
		if err := remove(ctx, tx, id); err != nil {
			return err
		}
		if err := s.Inbox.ResolveCause(ctx, tx, m.failedCause(), "The standup was deleted."); err != nil {
			return err
		}
		if err := record(ctx, tx, s.Now(), "standup.deleted", m, nil); err != nil {
			return err
		}
		// Also record an audit event, because activity events are purged earlier.
		return event.Record(ctx, tx, s.Now(), event.Audit, "standup.deleted", subject(m),
			map[string]any{"date": m.Date, "status": m.Status})
	})
}

// CloseUnrun marks standups as failed if they were not run by the end of their day. It
// skips standups that were opened for a past or future day.
func (s *Service) CloseUnrun(ctx context.Context) error {
	opened, err := findOpened(ctx, s.DB)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range opened {
		zone, err := time.LoadLocation(o.Timezone)
		if err != nil {
			zone = time.UTC
		}
		madeOn, today := o.CreatedAt.In(zone).Format(time.DateOnly), s.Now().In(zone).Format(time.DateOnly)
		if o.Date != madeOn || today <= o.Date {
			continue
		}
		errs = append(errs, s.DB.Tx(ctx, func(tx *db.Tx) error {
			m, err := findWhole(ctx, tx, o.ID)
			if err != nil || m.Status != Running || m.Phase != Opened {
				return err
			}
			return s.fail(ctx, tx, &m, &Failure{NotRun, "It was not run by the end of its day."})
		}))
	}
	return errors.Join(errs...)
}

// fail sets a standup's status to "error" and adds the reason to the transcript.
func (s *Service) fail(ctx context.Context, tx *db.Tx, m *Standup, f *Failure) error {
	now := s.Now()
	if err := m.load(ctx, tx); err != nil {
		return err
	}
	if f.Code != GatewayUnreachable { // otherwise a retry looks for the answers in the runtime
		if err := s.dropQuestions(ctx, tx, m.ID, anyQuestion); err != nil {
			return err
		}
	}
	text := digest(*m)
	m.Status, m.Failure, m.Digest, m.CompletedAt, m.DeadlineAt = Error, f, &text, clock.Ptr(now), nil
	if err := update(ctx, tx, m, now); err != nil {
		return err
	}
	if err := appendLine(ctx, tx, m.ID, now, "error", service, team, f.Detail+" ("+f.Code+")"); err != nil {
		return err
	}
	if err := s.raiseFailed(ctx, tx, *m); err != nil {
		return err
	}
	return record(ctx, tx, s.Now(), "standup.failed", *m, map[string]any{"code": f.Code, "detail": f.Detail})
}

// gaveUp marks a standup as failed after its job has used up all attempts.
func (s *Service) gaveUp(ctx context.Context, tx *db.Tx, id string, _ error) error {
	m, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && m.Status != Running {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fail(ctx, tx, &m, &Failure{Internal, "Wardroom could not continue the standup; see its log. " + retryHint})
}

func brief(m Standup) map[string]any {
	reports := make([]BriefReport, len(m.Reports))
	for i, r := range m.Reports {
		reports[i] = BriefReport{r.AgentID, r.Name, r.Status}
	}
	return map[string]any{
		"id": m.ID, "status": m.Status, "phase": m.Phase, "attempt": m.Attempt, "started_at": m.StartedAt, "reports": reports,
	}
}

func record(ctx context.Context, tx *db.Tx, at time.Time, kind string, m Standup, data map[string]any) error {
	return event.Record(ctx, tx, at, event.Activity, kind, subject(m), data)
}

func subject(m Standup) event.Subject {
	return event.Subject{Kind: "standup", ID: m.ID, Name: m.Title}
}
