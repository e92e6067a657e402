package receipt

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/archive"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	SessionDiff(ctx context.Context, sessionKey string) ([]gateway.FileChange, error)
	Artifacts(ctx context.Context, sessionKey string) ([]string, error)
	Status() link.Status
}

// Service makes receipts. Do not change its exported fields after first use.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Tasks   *task.Service
	Archive *archive.Service // has the transcripts

	start   sync.Once // in the first Refresh
	started time.Time // of the first Refresh
}

const (
	maxPending  = 50     // receipts that one pass of Refresh looks at
	maxMessages = 20_000 // messages per transcript, the newest
	maxRecent   = 10     // sessions to search for the one in which the agent worked, and
	maxSearched = 500    // how many of their messages
	maxEarlier  = 20
	// patience is how long a receipt waits for transcripts to be complete; patienceWithout is the
	// time if none is known or has a message.
	patience, patienceWithout = 6 * time.Hour, 15 * time.Minute
	// assumedWork is how long an agent is assumed to have worked if nothing says when it began.
	assumedWork = 24 * time.Hour
)

// eventMade is the kind of the event for a new or changed receipt. Its subject is the task.
const eventMade = "task.receipt_made"

// Report begins a receipt for an agent's report that a task is done, for task.Service. The time of the
// report's event is that of the task's last change. The parts that depend on the transcripts follow later.
func (s *Service) Report(ctx context.Context, tx *db.Tx, t task.Task, text string) error {
	by, named := actor.From(ctx), t.NamedChecks()
	r := row{
		Receipt: Make(Facts{Text: text, Named: named}), taskID: t.ID, userID: by.ID, named: append([]string{}, named...),
	}
	r.ID, r.AgentID, r.ReportedAt = db.NewID(), by.AgentID, t.UpdatedAt
	r.Claim.Text = plaintext.Cut(text, maxClaim, " …")
	if err := insert(ctx, tx, r); err != nil {
		return fmt.Errorf("begin a receipt: %w", err)
	}
	return nil
}

// Judge stores what the caller decided about the task's newest report, for task.Service.
func (s *Service) Judge(ctx context.Context, tx *db.Tx, taskID string, v task.Verdict) error {
	if _, err := judge(ctx, tx, taskID, v, actor.From(ctx).Name, s.Now()); err != nil {
		return fmt.Errorf("judge a report: %w", err)
	}
	return nil
}

// Get returns the newest receipt of a task, with the earlier ones in short. It returns false if no
// agent has reported the task as done.
func (s *Service) Get(ctx context.Context, ref string) (r Receipt, ok bool, err error) {
	err = s.DB.View(ctx, func(q db.Queryer) error {
		t, err := s.Tasks.Find(ctx, q, ref)
		if err != nil {
			return err
		}
		all, err := ofTask(ctx, q, t.ID, maxEarlier)
		if err != nil {
			return fmt.Errorf("read the receipts of a task: %w", err)
		}
		if ok = len(all) > 0; !ok {
			return nil
		}
		r = all[0].shown()
		for _, e := range all[1:] {
			r.Earlier = append(r.Earlier, e.outline())
		}
		return nil
	})
	return r, ok, err
}

// shown returns the receipt with the grade that a person's approval gives it.
func (r row) shown() Receipt {
	if r.Evidence = r.Grade; r.Verdict != nil && r.Verdict.Kind == task.VerdictApproved {
		r.Grade = Approved
	}
	return r.Receipt
}

func (r row) outline() Outline {
	s := r.shown()
	return s.short()
}

func (r Receipt) short() Outline {
	return Outline{
		ID: r.ID, ReportedAt: r.ReportedAt, Grade: r.Grade, Pending: r.Pending, Gaps: r.Gaps, Verdict: r.Verdict,
	}
}

// Last returns the newest receipt of a task in short, or nil.
func (s *Service) Last(ctx context.Context, q db.Queryer, ref string) (*Outline, error) {
	t, err := s.Tasks.Find(ctx, q, ref)
	if err != nil {
		return nil, err
	}
	all, err := ofTask(ctx, q, t.ID, 1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	o := all[0].outline()
	return &o, nil
}

// Record returns how people judged the work of an agent.
func (s *Service) Record(ctx context.Context, agentID string) (Record, error) {
	r, err := findRecord(ctx, s.DB, agentID)
	if err != nil {
		return r, fmt.Errorf("count the verdicts on an agent's work: %w", err)
	}
	return r, nil
}

// Refresh is a periodic job that makes the receipts whose transcripts may have grown.
func (s *Service) Refresh(ctx context.Context) error {
	s.start.Do(func() { s.started = s.Now() })
	all, err := pending(ctx, s.DB, maxPending)
	if err != nil {
		return fmt.Errorf("find receipts to make: %w", err)
	}
	for _, r := range all {
		if err := s.refresh(ctx, r); err != nil {
			return fmt.Errorf("make the receipt of %s: %w", r.Task, err)
		}
	}
	return nil
}

// refresh makes a receipt again if its transcripts have grown or are now complete.
func (s *Service) refresh(ctx context.Context, r row) error {
	w, err := findWork(ctx, s.DB, r)
	if err != nil {
		return err
	}
	t, err := findTimes(ctx, s.DB, r)
	if err != nil {
		return err
	}
	sessions, own, err := s.find(ctx, r, w, t)
	if err != nil {
		return err
	}
	settled := s.settled(r, w, t, sessions)
	source := sourceOf(sessions)
	early := s.waited(r) <= patienceWithout
	if source == r.source && (!settled || early && r.MadeAt != nil && r.Grade == NotGradable) {
		return nil
	}
	facts := Facts{Text: r.Claim.Text, Named: r.named, PRURL: w.prURL}
	for _, at := range t.sentBack {
		if at.After(r.ReportedAt.Time) {
			facts.Until = at
			break
		}
		facts.SentBack = at
	}
	began := t.start(r, w)
	for _, x := range sessions {
		messages, err := s.Archive.NewestMessages(ctx, x, maxMessages)
		if err != nil {
			return err
		}
		one := Session{Key: x.Key, Messages: messages}
		if !slices.Contains(own, x.Key) {
			one.From = began
		}
		facts.Sessions = append(facts.Sessions, one)
	}
	if settled && facts.Until.IsZero() {
		s.ask(ctx, &facts)
	}
	made := Make(facts)
	// Without any message, the session of the work may not be listed yet, even if a later one is.
	settled = settled && (!early || made.Grade != NotGradable)
	return s.store(ctx, r, made, settled, source)
}

// start returns when the agent began to work on the task, as far as is known.
func (t times) start(r row, w work) time.Time {
	if !t.began.IsZero() {
		return t.began
	}
	return later(w.createdAt, r.ReportedAt.Add(-assumedWork))
}

// sourceOf identifies what was read of the transcripts.
func sourceOf(sessions []archive.Transcript) string {
	var b strings.Builder
	for _, x := range sessions {
		fmt.Fprintf(&b, "%s:%d:%d ", x.ID, x.Version, x.Messages)
	}
	return b.String()
}

// find returns the transcripts of the sessions in which the agent worked on the task, and the keys of
// those that belong to the task alone. Without any, it searches the agent's latest sessions for a
// report on the task.
func (s *Service) find(
	ctx context.Context, r row, w work, t times,
) (sessions []archive.Transcript, own []string, err error) {
	keys := slices.Clone(w.keys)
	if w.reported != "" {
		keys = append(keys, w.reported, strings.ToLower(w.reported))
	}
	if sessions, err = s.Archive.Transcripts(ctx, keys); err != nil || len(sessions) > 0 {
		return sessions, w.keys, err
	}
	recent, err := s.Archive.RecentTranscripts(ctx, r.AgentID, t.start(r, w), maxRecent)
	for _, x := range recent {
		if x.ReadAt == nil || x.ReadAt.Before(r.ReportedAt.Time) {
			continue
		}
		messages, err := s.Archive.NewestMessages(ctx, x, maxSearched)
		if err != nil {
			return nil, nil, err
		}
		if reportsOn(messages, r.Task) {
			sessions = append(sessions, x)
		}
	}
	return sessions, nil, err
}

// reportsOn reports whether a tool call in the messages reports on the task to Wardroom.
func reportsOn(messages []transcript.Message, key string) bool {
	key = strings.ToLower(key)
	for i := range messages {
		for _, b := range messages[i].Blocks {
			if b.Tool == nil || b.Tool.Arguments == nil {
				continue
			}
			args := strings.ToLower(*b.Tool.Arguments)
			to := strings.Contains(args, "/tasks/"+key+"/reports") ||
				strings.HasSuffix(b.Tool.Name, "__report") && strings.Contains(args, `"`+key+`"`)
			if to || strings.Contains(args, "wardroom task report "+key) {
				return true
			}
		}
	}
	return false
}

// waited returns how long a receipt has waited for transcripts, which may be archived only after a start.
func (s *Service) waited(r row) time.Duration {
	return s.Now().Sub(later(r.ReportedAt.Time, s.started))
}

// settled reports whether the transcripts are complete, or whether it is too late to wait for them.
func (s *Service) settled(r row, w work, t times, sessions []archive.Transcript) bool {
	waited := s.waited(r)
	if waited > patience || len(sessions) == 0 && waited > patienceWithout && !w.dispatched {
		return true
	}
	back := len(t.sentBack) > 0 && t.sentBack[len(t.sentBack)-1].After(r.ReportedAt.Time)
	if len(sessions) == 0 || w.dispatched && !back {
		return false
	}
	since, read := r.ReportedAt.Time, time.Time{}
	if w.endedAt != nil && !back {
		since = later(since, w.endedAt.Time)
	}
	for _, x := range sessions {
		if x.ReadAt == nil || !x.Complete && !back {
			return false
		}
		read = later(read, x.ReadAt.Time)
	}
	return !read.Before(since)
}

// ask adds what only the runtime knows. Its failure is no reason to have no receipt.
func (s *Service) ask(ctx context.Context, f *Facts) {
	if s.Runtime.Status().State != link.Connected {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, x := range f.Sessions {
		changed, err := s.Runtime.SessionDiff(ctx, x.Key)
		if err != nil {
			s.Log.DebugContext(ctx, "no changes for a receipt", "session", x.Key, "err", err)
		}
		for _, c := range changed {
			file := File{Path: c.Path}
			if !c.Binary {
				file.Added, file.Removed = &c.Added, &c.Removed
			}
			if !slices.ContainsFunc(f.Diff, func(g File) bool { return g.Path == file.Path }) {
				f.Diff = append(f.Diff, file)
			}
		}
		titles, err := s.Runtime.Artifacts(ctx, x.Key)
		if err != nil {
			s.Log.DebugContext(ctx, "no artifacts for a receipt", "session", x.Key, "err", err)
		}
		f.Artifacts = append(f.Artifacts, titles...)
	}
}

// store stores a receipt. If it differs from the one before, store records an event.
func (s *Service) store(ctx context.Context, r row, made Receipt, settled bool, source string) error {
	ctx = actor.With(ctx, actor.System)
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		all, err := ofTask(ctx, tx, r.taskID, maxEarlier)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(o row) bool { return o.ID == r.ID })
		if i < 0 { // deleted meanwhile
			return nil
		}
		is, was := all[i], all[i]
		is.Grade, is.Gaps, is.Claim, is.Seen, is.Checks = made.Grade, made.Gaps, made.Claim, made.Seen, made.Checks
		is.Pending, is.source, is.MadeAt = !settled, source, clock.Ptr(s.Now())
		if err := update(ctx, tx, is); err != nil {
			return err
		}
		if i == 0 {
			if err := s.Tasks.MeetCriteria(ctx, tx, r.taskID, passed(made)); err != nil {
				return err
			}
		}
		same := was.MadeAt != nil && was.Pending == is.Pending && was.Grade == is.Grade && slices.Equal(was.Gaps, is.Gaps)
		if same {
			return nil
		}
		about := event.Subject{Kind: "task", ID: r.taskID, Name: r.Task}
		return event.Record(ctx, tx, s.Now(), event.Activity, eventMade, about, map[string]any{
			"grade": made.Grade, "gaps": len(made.Gaps), "pending": is.Pending,
		})
	})
}

// passed returns the checks of the task that passed after the last change.
func passed(r Receipt) []string {
	out := []string{}
	for _, c := range r.Checks {
		if c.Named && c.Status == Passed && c.Fresh {
			out = append(out, c.Command)
		}
	}
	return out
}
