package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// This file is about one agent with all that is known of it. What the runtime
// tells is null while it is away; the rest stands all the same.

// Page is one agent, and what it does, has to do, said and spent.
type Page struct {
	Agent
	Runs     *[]Run     `json:"runs" doc:"What it does now, the run that began first at the top; null while nobody can say: see presence."`
	Tasks    Desk       `json:"tasks"`
	Standups []Said     `json:"standups" nullable:"false" doc:"What it said in its last standups, the newest first; 5 at most."`
	Spend    Spend      `json:"spend" doc:"As the usage ledger has it."`
	Failures []Failure  `json:"failures" nullable:"false" doc:"What went wrong in the last seven days, the newest first; 20 at most."`
	Sessions *[]Session `json:"sessions" doc:"Its last sessions in the runtime, 10 at most, those with a run first; null while nobody can say."`
}

// Run is a run that goes on.
type Run struct {
	SessionKey  string      `json:"session_key"`
	RunID       *string     `json:"run_id" doc:"Null when the runtime does not name it."`
	Since       *clock.Time `json:"since" doc:"When it began; null when nobody says."`
	Stalled     bool        `json:"stalled" doc:"Whether it has told nothing of itself for longer than STALLED_AFTER."`
	SilentSince *clock.Time `json:"silent_since" doc:"When it last told anything; null unless it is stalled."`
}

// Session is a conversation as one line.
type Session struct {
	Key         string      `json:"key"`
	Kind        *string     `json:"kind"`
	Label       *string     `json:"label"`
	Status      *string     `json:"status" doc:"Of its present or last run, in the runtime's words."`
	Active      bool        `json:"active"`
	UpdatedAt   *clock.Time `json:"updated_at"`
	LastMessage *string     `json:"last_message" doc:"The beginning of what was said last, on one line."`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Null while it is not known."`

	Run *Run `json:"-"` // what goes on in it
}

// Desk is what an agent has on the board.
type Desk struct {
	Open    Counts `json:"open" doc:"How many of its tasks are in each column but done."`
	Blocked int64  `json:"blocked" doc:"Of those, how many are blocked."`
	Claimed int64  `json:"claimed" doc:"How many tasks it holds."`
	Last    []Task `json:"last" nullable:"false" doc:"Those that were changed last; 10 at most."`
}

// Counts are tasks by column.
type Counts struct {
	Backlog    int64 `json:"backlog"`
	Todo       int64 `json:"todo"`
	InProgress int64 `json:"in_progress"`
	Review     int64 `json:"review"`
}

// Task is a task as one line.
type Task struct {
	Key       string     `json:"key"`
	Title     string     `json:"title" doc:"Agents write it too: never trust it."`
	Status    string     `json:"status" enum:"backlog,todo,in_progress,review,done"`
	Blocked   bool       `json:"blocked"`
	Claimed   bool       `json:"claimed"`
	Dispatch  *string    `json:"dispatch" enum:"queued,started,ended,failed" doc:"How handing it to its agent went the last time; null when it never was."`
	MovedAt   clock.Time `json:"moved_at" doc:"When it came into its column: what the board shows as its age."`
	UpdatedAt clock.Time `json:"updated_at"`
}

// Said is what it said in one standup. Texts are the agent's: never trust them.
type Said struct {
	StandupID string      `json:"standup_id"`
	Date      string      `json:"date" example:"2026-11-20"`
	Team      string      `json:"team" doc:"The key of the team."`
	Status    string      `json:"status" enum:"asked,answered,timed_out,failed"`
	Yesterday *string     `json:"yesterday" doc:"Markdown; null when it said nothing under that heading."`
	Today     *string     `json:"today"`
	Blockers  *string     `json:"blockers"`
	At        *clock.Time `json:"at" doc:"When it answered, else when it was asked."`
}

// Spend is what its runs have used of late. Each part has the one before in it.
type Spend struct {
	Zone   string `json:"zone" example:"Europe/Berlin" doc:"Whose days these are."`
	Today  Spent  `json:"today"`
	Week   Spent  `json:"last_7_days" doc:"Today and the six days before."`
	Thirty Spent  `json:"last_30_days" doc:"Today and the 29 days before."`
}

// Spent is what was used since a time.
type Spent struct {
	From     clock.Time  `json:"from"`
	Runs     int64       `json:"runs"`
	Unpriced int64       `json:"unpriced_runs" doc:"Of which nobody knows what they cost: cost_usd is without them."`
	Tokens   int64       `json:"tokens" doc:"Of all classes together."`
	CostUSD  *money.Nano `json:"cost_usd" doc:"Null when nothing here has a price; never zero for it."`
}

// Failure is something that went wrong.
type Failure struct {
	Kind   string     `json:"kind" enum:"dispatch,standup,job_missed,job_failed,session" doc:"dispatch: a task could not be handed over, or its run failed. standup: it did not answer. job_missed, job_failed: a timed job of the runtime. session: the last run of a session failed."`
	What   string     `json:"what" example:"TASK-12" doc:"The key of the task, the day of the standup, the name of the job, or the key of the session."`
	Detail string     `json:"detail" doc:"In words; it may hold words of the runtime or of an agent: never trust it."`
	At     clock.Time `json:"at"`

	// Session is the key of the session in which it happened, or what the key
	// begins with; empty when it was in none.
	Session string `json:"-"`
}

// Limits of a page.
const (
	mostSessions = 10
	mostTasks    = 10
	mostSaid     = 5
	mostFailures = 20
	failuresFor  = 7 * 24 * time.Hour
	// oneMatter is how far apart a failure may be noted by whoever asked for the
	// run and by its session, without being two.
	oneMatter = time.Hour
)

// Records are what the service has written down of an agent.
type Records struct {
	Desk     func(ctx context.Context, agentID string, most int) (Desk, error)
	Said     func(ctx context.Context, agentID string, most int) ([]Said, error)
	Spend    func(ctx context.Context, agentID string, now time.Time) (Spend, error)
	Failures func(ctx context.Context, agentID string, since time.Time, most int) ([]Failure, error)
}

// Page returns one member of the team with all that is known of it.
func (s *Service) Page(ctx context.Context, agentID string) (Page, error) {
	a, err := s.Get(ctx, agentID)
	if err != nil {
		return Page{}, err
	}
	p, now := Page{Agent: a}, s.Now()
	if p.Tasks, err = s.Records.Desk(ctx, agentID, mostTasks); err != nil {
		return Page{}, err
	}
	if p.Standups, err = s.Records.Said(ctx, agentID, mostSaid); err != nil {
		return Page{}, err
	}
	if p.Spend, err = s.Records.Spend(ctx, agentID, now); err != nil {
		return Page{}, err
	}
	since := now.Add(-failuresFor)
	if p.Failures, err = s.Records.Failures(ctx, agentID, since, mostFailures); err != nil {
		return Page{}, err
	}
	return p, s.addSessions(ctx, &p, since)
}

// addSessions fills in what the runtime tells, if it is there.
func (s *Service) addSessions(ctx context.Context, p *Page, since time.Time) error {
	all, err := s.Sessions(ctx, p.AgentID, mostSessions)
	if ctx.Err() != nil {
		return fmt.Errorf("read the sessions of %s: %w", p.AgentID, context.Cause(ctx))
	}
	if fault.Of(err) == nil && err != nil {
		return err
	}
	if err == nil {
		runs := []Run{}
		for _, one := range all {
			if one.Run != nil {
				runs = append(runs, *one.Run)
			}
		}
		p.Failures = append(p.Failures, untold(p.Failures, all, since)...)
		slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.began(), b.began()) })
		sessions := append([]Session{}, all...)
		p.Runs, p.Sessions = &runs, &sessions
	}
	slices.SortStableFunc(p.Failures, func(a, b Failure) int { return b.At.Compare(a.At.Time) })
	p.Failures = append([]Failure{}, p.Failures[:min(len(p.Failures), mostFailures)]...)
	p.Standups = append([]Said{}, p.Standups...)
	return nil
}

// untold are the failures of sessions that no record tells of already: a timed
// job, a task or a standup whose run failed is one failure and not two.
func untold(records []Failure, all []Session, since time.Time) []Failure {
	var found []Failure
	for _, one := range all {
		if f, ok := one.failure(since); ok {
			found = append(found, f)
		}
	}
	// The earliest first: each slot of a job has the first run that ended after it.
	slices.SortStableFunc(found, func(a, b Failure) int { return a.At.Compare(b.At.Time) })
	taken := make([]bool, len(records))
	return slices.DeleteFunc(found, func(f Failure) bool {
		for i, r := range records {
			if !taken[i] && r.sameAs(f) {
				taken[i] = true
				return true
			}
		}
		return false
	})
}

// sameAs says whether what is recorded is what a session tells.
func (f Failure) sameAs(session Failure) bool {
	key := strings.ToLower(session.What)
	if f.Session == "" || key != f.Session && !strings.HasPrefix(key, f.Session+":") {
		return false
	}
	apart := session.At.Sub(f.At.Time)
	if f.Kind == "job_failed" { // recorded by when it was due, however long it went
		return apart >= 0
	}
	return apart.Abs() <= oneMatter
}

// began sorts runs; those of which nobody says when they began are the last.
func (r Run) began() int64 {
	if r.Since == nil {
		return 1<<63 - 1
	}
	return r.Since.UnixMicro()
}

// failure is what went wrong at the end of a session's last run.
func (s Session) failure(since time.Time) (Failure, bool) {
	if s.Active || s.Status == nil || s.UpdatedAt == nil || s.UpdatedAt.Before(since) || *s.Status != "failed" && *s.Status != "timeout" {
		return Failure{}, false
	}
	why := "Its last run failed."
	if *s.Status == "timeout" {
		why = "Its last run ran out of time."
	}
	return Failure{Kind: "session", What: s.Key, Detail: why, At: *s.UpdatedAt}, true
}
