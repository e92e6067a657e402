package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/places"
)

// Runtime is the part of the gateway that a standup needs.
type Runtime interface {
	Status() gateway.Status
	Await(ctx context.Context) (bootID string, err error)
	Start(ctx context.Context, q gateway.Question) (gateway.Started, error)
	Wait(ctx context.Context, runID string, limit time.Duration) (gateway.Answer, error)
	Find(ctx context.Context, sessionKey, runID string) (gateway.Trace, error)
	Stop(ctx context.Context, sessionKey, runID string) (bool, error)
}

// BoardTask is what a standup needs to know of a task.
type BoardTask struct {
	Key, Title, Status, Priority string
	BlockedReason                string // empty: not blocked
	BlockedSince                 time.Time
	CreatedAt, MovedAt           time.Time
	DoneAt                       time.Time // zero: not done
}

// Member is an agent with an active account.
type Member struct{ AgentID, Name string }

// Service holds standups. It must not be copied once used.
type Service struct {
	DB      *db.DB
	Jobs    *job.Queue
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time

	// Members lists the agents that have an active account.
	Members func(ctx context.Context) ([]Member, error)
	// Board lists what an agent has on the board: all that is open, and what
	// was finished since then.
	Board func(ctx context.Context, agentID string, since time.Time) ([]BoardTask, error)
	// MakeTask turns an action item into a task and returns its key. An
	// assignee without an account is left out.
	MakeTask func(ctx context.Context, tx *db.Tx, title, assignee, origin string) (key string, err error)
	// Comment says something about a task, by its key, in the name of an agent.
	// It is false when there is no such task, or none that takes comments.
	Comment func(ctx context.Context, tx *db.Tx, taskKey, text, author string) (made bool, err error)
	// Raise brings a matter to the inbox, and Settle says that its cause has
	// ended and why; both within the transaction of what has happened. Nil is no
	// inbox.
	Raise   func(ctx context.Context, tx *db.Tx, m InboxItem) error
	Resolve func(ctx context.Context, tx *db.Tx, cause, why string) error
	// Used, when not nil, is told in the transaction of a run's end what the run
	// used, once or more often.
	RecordUsage func(ctx context.Context, tx *db.Tx, u RunUsage) error

	// Made lists the newest tasks that an agent has made for others since then.
	// Nil when nobody can tell; so for the three that follow.
	Made func(ctx context.Context, agentID string, since time.Time) ([]BoardTask, error)
	// Reported lists what an agent has reported on tasks since then, the newest first.
	Reported func(ctx context.Context, agentID string, since time.Time) ([]TaskReport, error)
	// Sessions counts the sessions of an agent that were in use since then,
	// without those of standups. It fails when the runtime cannot be asked.
	Sessions func(ctx context.Context, agentID string, since time.Time) (int, error)
	// Ran adds up all the runs of an agent that ended since then.
	Ran func(ctx context.Context, agentID string, since time.Time) (*Runs, error)

	// What counts for the team executive, and of the last three for every team,
	// where the team itself says nothing else; see Team.
	Facilitator  string         // an agent_id
	Participants []string       // agent_ids, in the order they are asked
	Zone         *time.Location // of the days, unless a request says otherwise
	AgentTimeout time.Duration  // how long one agent may take to answer
	Deadline     time.Duration  // how long a meeting may take

	Grace    time.Duration // how long a gateway that went away is waited for
	Patience time.Duration // how long a gateway that is away at the start is waited for
	Limits   Limits

	// Timetable is the runtime's own scheduler, which starts the standups.
	Timetable Timetable

	PublicURL  string        // where agents reach this service; empty when nobody said
	OwnURL     func() string // where those on this machine reach it; empty while nobody does
	StartGrace time.Duration // how late a standup may begin before it counts as missed
	Fallback   bool          // one that was missed is begun by the service

	places       places.Places
	sharedReader sharedReader
}

// jobKind is the kind of the jobs that hold meetings; their key is the standup's id.
const jobKind = "standup"

// Kind is how the queue holds a meeting.
func (s *Service) Kind() job.Kind {
	return job.Kind{Do: s.runJob, GaveUp: s.gaveUp, Attempts: 5}
}

// Open opens a team's standup of a day. When that day has one already it is
// answered, and created is false: whoever asks twice does no harm. A team that
// there is not is ErrTeam, and one in the archive opens no new ones:
// ErrTeamArchived.
func (s *Service) Open(ctx context.Context, n New) (made Standup, created bool, err error) {
	now := s.Now()
	members, err := s.Members(ctx)
	if err != nil {
		return Standup{}, false, fmt.Errorf("open standup: %w", err)
	}
	var o opened
	err = s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		o, err = once.Do(ctx, tx, now, findOpening, opened.name, func() (opened, error) { return s.openIn(ctx, tx, n, now, members) })
		return err
	})
	if err != nil {
		return Standup{}, false, fmt.Errorf("open standup: %w", err)
	}
	made, err = s.read(ctx, func(q db.Queryer) (Standup, error) { return find(ctx, q, o.id) })
	return made, o.created, err
}

func nameOf(members []Member, agentID string) string {
	for _, m := range members {
		if m.AgentID == agentID {
			return m.Name
		}
	}
	return agentID
}

// Get returns one standup with its reports and transcript.
func (s *Service) Get(ctx context.Context, id string) (Standup, error) {
	return s.read(ctx, func(q db.Queryer) (Standup, error) { return find(ctx, q, id) })
}

// Latest returns a team's standup of the latest day that has begun. An empty team is the
// executive one, and one that there is not is ErrTeam.
func (s *Service) Latest(ctx context.Context, team string) (Standup, error) {
	return s.read(ctx, func(q db.Queryer) (Standup, error) {
		t, err := s.namedTeam(ctx, q, team)
		if err != nil {
			return Standup{}, err
		}
		return findLatest(ctx, q, t.Key, s.Now())
	})
}

// read reads a whole standup from one view of the database.
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

// List returns one page of the standups that match, by their day. A team that
// there is not is ErrTeam.
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

// lock reads a whole standup that no other request changes until the
// transaction ends.
func (s *Service) lock(ctx context.Context, tx *db.Tx, id string) (Standup, error) {
	if err := tx.Lock(ctx, lockName(id)); err != nil {
		return Standup{}, err
	}
	got, err := find(ctx, tx, id)
	if err != nil {
		return got, err
	}
	return got, got.load(ctx, tx)
}

func lockName(id string) string { return "standup/" + id }

// Cancel ends a standup that is opened or going on. What was said is kept, and
// the question that is with an agent is stopped in the runtime.
func (s *Service) Cancel(ctx context.Context, id string) (Standup, error) {
	var open []question
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lockName(id)); err != nil {
			return err
		}
		// One that has ended is refused before anything is written: what is refused
		// after it has written takes those back who share its commit on SQLite, and
		// one of them may be the end of this meeting.
		if row, err := find(ctx, tx, id); err != nil || row.Status != Running {
			return cmp.Or(err, row.notRunning())
		}
		// The meeting writes under its job and not under our lock. Taking the job
		// away first waits for what it is writing, which may be its end.
		if err := s.Jobs.Cancel(ctx, tx, jobKind, id); err != nil {
			return err
		}
		m, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if m.Status != Running {
			return m.notRunning()
		}
		all, err := questions(ctx, tx, id)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(all, func(q question) bool { return q.State != "open" })
		return s.fail(ctx, tx, &m, &Failure{Cancelled, actor.From(ctx).Name + " cancelled it."})
	})
	if err != nil {
		return Standup{}, fmt.Errorf("cancel standup: %w", err)
	}
	s.stopRuns(ctx, open)
	return s.Get(ctx, id)
}

// idle says why there is nothing to cancel.
func (s Standup) notRunning() error {
	return ErrIdle.With("There is nothing to cancel: it %s.", s.ended())
}

// stopRuns tells the runtime that nobody waits for these answers any more. It
// is a courtesy that saves money: the runtime may be away.
func (s *Service) stopRuns(ctx context.Context, open []question) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if len(open) > 0 && s.Runtime.Status().State == gateway.Connecting {
		_, _ = s.Runtime.Await(ctx) // this process has just begun; what is wrong the first stop says
	}
	for _, q := range open {
		if _, err := s.Runtime.Stop(ctx, q.SessionKey, q.RunID); err != nil {
			s.Log.WarnContext(ctx, "run could not be stopped", "run", q.RunID, "err", err)
		}
	}
}

// Delete removes a standup that is not going on, with all that was said.
func (s *Service) Delete(ctx context.Context, id string, version *int64) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		m, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != nil && *version != m.Version {
			return ErrStale.With("It is at version %d now.", m.Version).Fact("current_version", m.Version)
		}
		if m.Status == Running && m.Phase != Opened {
			return ErrRunning.With("Cancel it first.").Fact("standup", brief(m))
		}
		if err := remove(ctx, tx, id); err != nil {
			return err
		}
		if err := s.resolve(ctx, tx, m.failedCause(), "The standup was deleted."); err != nil {
			return err
		}
		if err := record(ctx, tx, s.Now(), "standup.deleted", m, nil); err != nil {
			return err
		}
		// Once more for the audit, which is kept when activity is purged.
		return event.Record(ctx, tx, s.Now(), event.Audit, "standup.deleted", subject(m), map[string]any{"date": m.Date, "status": m.Status})
	})
}

// CloseUnrun marks the standups that nobody ran by the end of their day. One
// that was made for another day than its own waits for as long as it takes.
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
			m, err := s.lock(ctx, tx, o.ID)
			if err != nil || m.Status != Running || m.Phase != Opened {
				return err
			}
			return s.fail(ctx, tx, &m, &Failure{NotRun, "Nobody ran it by the end of its day."})
		}))
	}
	return errors.Join(errs...)
}

// fail closes a standup as one that could not be held, with the reason where
// the specification wants it: in the transcript.
func (s *Service) fail(ctx context.Context, tx *db.Tx, m *Standup, f *Failure) error {
	now := s.Now()
	if err := m.load(ctx, tx); err != nil {
		return err
	}
	if err := dropQuestionsUnless(ctx, tx, m.ID, f.Code, now); err != nil {
		return err
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

// dropQuestionsUnless ends the open questions, except when the gateway went
// away: then the retry looks for their answers before it asks anybody again.
func dropQuestionsUnless(ctx context.Context, tx *db.Tx, id, code string, now time.Time) error {
	if code == GatewayUnreachable {
		return nil
	}
	return dropQuestions(ctx, tx, id, now)
}

// gaveUp is called when the meeting itself failed again and again.
func (s *Service) gaveUp(ctx context.Context, tx *db.Tx, id string, _ error) error {
	m, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && m.Status != Running {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fail(ctx, tx, &m, &Failure{Internal, "The service could not go on with the meeting; its log says why. " + retryHint})
}

func brief(m Standup) map[string]any {
	reports := make([]BriefReport, len(m.Reports))
	for i, r := range m.Reports {
		reports[i] = BriefReport{r.AgentID, r.Name, r.Status}
	}
	return map[string]any{"id": m.ID, "status": m.Status, "phase": m.Phase, "attempt": m.Attempt, "started_at": m.StartedAt, "reports": reports}
}

func record(ctx context.Context, tx *db.Tx, at time.Time, kind string, m Standup, data map[string]any) error {
	return event.Record(ctx, tx, at, event.Activity, kind, subject(m), data)
}

func subject(m Standup) event.Subject {
	return event.Subject{Kind: "standup", ID: m.ID, Name: m.Title}
}
