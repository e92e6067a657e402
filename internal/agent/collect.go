package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
)

// This file collects what pages and summaries of agents contain. Data from the runtime is null
// while the runtime is unreachable; the rest is available.

// Limits on what a Page contains.
const (
	maxSessions  = 10
	maxUngrouped = 500 // sessions before the finished ones of a job are grouped
	maxTasks     = 10
	maxStarted   = 3 // in a Summary
	maxReports   = 5
	maxUpcoming  = 10
	maxFailures  = 20
	maxRecords   = 1000 // failures of each kind in the last 7 days that are counted
	// sameFailureWithin is how far apart a recorded failure and the failure of its session can be
	// if the two are the same failure.
	sameFailureWithin = time.Hour
)

// Records reads Wardroom's own data about agents.
type Records struct {
	Loads    func(ctx context.Context, agentIDs []string) (map[string]Load, error)
	Started  func(ctx context.Context, agentIDs []string, most int) (map[string][]Started, error)
	Tasks    func(ctx context.Context, agentID string, most int) ([]Task, error)
	Titles   func(ctx context.Context, taskKeys []string) (map[string]string, error)
	Said     func(ctx context.Context, agentID string, most int) ([]Said, error)
	LastSaid func(ctx context.Context, agentIDs []string) (map[string]Said, error)
	Spend    func(ctx context.Context, agentIDs []string, now time.Time) (map[string]Spend, error)
	// Failures returns at most the given number of failures of each kind, newest first.
	Failures func(ctx context.Context, agentIDs []string, since time.Time, most int) ([]Failure, error)
	Jobs     func(ctx context.Context) ([]Job, error)
	Verdicts func(ctx context.Context, agentID string) (Verdicts, error)
}

// collection is what pages and summaries have in common, by agent.
type collection struct {
	loads    map[string]Load
	spend    map[string]Spend
	failures map[string][]Failure // newest first
	upcoming map[string][]Upcoming
	names    map[string]string    // of jobs by their ID in lower case
	sessions map[string][]Session // see Overview; nil while unknown
}

// collect reads what pages and summaries of the agents have in common.
func (s *Service) collect(ctx context.Context, agentIDs []string) (c collection, err error) {
	if c.loads, err = s.Records.Loads(ctx, agentIDs); err != nil {
		return c, err
	}
	if c.spend, err = s.Records.Spend(ctx, agentIDs, s.Now()); err != nil {
		return c, err
	}
	jobs, err := s.Records.Jobs(ctx)
	if err != nil {
		return c, err
	}
	c.upcoming, c.names = map[string][]Upcoming{}, map[string]string{}
	for _, j := range jobs {
		c.names[strings.ToLower(j.ID)] = j.Name
		if j.Next != nil {
			c.upcoming[j.AgentID] = append(c.upcoming[j.AgentID], Upcoming{j.ID, j.Name, *j.Next})
		}
	}
	for _, u := range c.upcoming {
		slices.SortStableFunc(u, func(a, b Upcoming) int { return a.At.Compare(b.At.Time) })
	}
	since := s.Now()
	for _, sp := range c.spend {
		since = sp.Week.From.Time
	}
	seen, err := s.Overview(ctx, since)
	if err := checkRead(ctx, err); err != nil {
		return c, err
	}
	if err == nil {
		c.sessions = map[string][]Session{}
		for _, one := range seen {
			c.sessions[one.AgentID] = append(c.sessions[one.AgentID], one)
		}
	}
	records, err := s.Records.Failures(ctx, agentIDs, since, maxRecords)
	c.failures = map[string][]Failure{}
	for _, f := range records {
		c.failures[f.AgentID] = append(c.failures[f.AgentID], f)
	}
	for _, id := range agentIDs {
		all := slices.Concat(c.failures[id], unrecorded(c.failures[id], c.sessions[id], since))
		slices.SortStableFunc(all, func(a, b Failure) int { return b.At.Compare(a.At.Time) })
		c.failures[id] = all
	}
	return c, err
}

// checkRead returns the error of a read of the runtime, unless it means that the runtime is unreachable.
func checkRead(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("read the sessions of agents: %w", context.Cause(ctx))
	}
	if fault.Of(err) == nil {
		return err
	}
	return nil
}

// outcome counts an agent's runs of the last 7 days. A failed run that used nothing is not in the ledger.
func (c collection) outcome(agentID string) Outcome {
	var o Outcome
	for _, f := range c.failures[agentID] {
		if f.Ran {
			o.Failed++
		}
	}
	o.Succeeded = max(c.spend[agentID].Week.Runs-o.Failed, 0)
	return o
}

// setTitles fills in the titles of sessions.
func (s *Service) setTitles(ctx context.Context, c collection, sessions []*Session) error {
	var keys []string
	for _, one := range sessions {
		if kind, name := purpose(one.Key); kind == "task" {
			keys = append(keys, name)
		}
	}
	titles, err := s.Records.Titles(ctx, keys)
	for _, one := range sessions {
		var title string
		switch kind, name := purpose(one.Key); kind {
		case "task":
			title = titles[strings.ToUpper(name)]
		case "cron":
			title = c.names[name]
		}
		one.Title = strPtr(title)
	}
	return err
}

// purpose returns the kind of a session and the name of its task, standup or job, in lower case.
func purpose(key string) (kind, name string) {
	parts := append(strings.SplitN(strings.ToLower(key), ":", 5), "", "", "", "")
	return parts[2], parts[3]
}

// Page returns everything about one agent.
func (s *Service) Page(ctx context.Context, agentID string) (Page, error) {
	a, err := s.Get(ctx, agentID)
	if err != nil {
		return Page{}, err
	}
	c, err := s.collect(ctx, []string{agentID})
	if err != nil {
		return Page{}, err
	}
	failures, upcoming := c.failures[agentID], c.upcoming[agentID]
	p := Page{
		Agent: a, Tasks: Desk{Load: c.loads[agentID]}, Spend: c.spend[agentID], Outcome: c.outcome(agentID),
		Upcoming: append([]Upcoming{}, upcoming[:min(len(upcoming), maxUpcoming)]...),
		Failures: append([]Failure{}, failures[:min(len(failures), maxFailures)]...),
	}
	if p.Verdicts, err = s.Records.Verdicts(ctx, agentID); err != nil {
		return Page{}, err
	}
	if p.Tasks.Last, err = s.Records.Tasks(ctx, agentID, maxTasks); err != nil {
		return Page{}, err
	}
	if p.Standups, err = s.Records.Said(ctx, agentID, maxReports); err != nil {
		return Page{}, err
	}
	if c.sessions == nil {
		return p, nil
	}
	all, err := s.Sessions(ctx, agentID, maxUngrouped)
	if err != nil {
		return p, checkRead(ctx, err)
	}
	sessions := grouped(all)
	p.Sessions = &sessions
	return p, s.setTitles(ctx, c, pointers(sessions))
}

// grouped returns the first sessions, with only the first of the finished ones of each job or task,
// and without those of finished sub-agents.
func grouped(all []Session) []Session {
	list, place := []Session{}, map[string]int{}
	for _, one := range all {
		kind, name := purpose(one.Key)
		if kind == "subagent" && !one.Active {
			continue
		}
		if (kind == "cron" || kind == "task") && !one.Active {
			if i, ok := place[kind+name]; ok {
				list[i].Earlier++
				continue
			}
			place[kind+name] = len(list)
		}
		list = append(list, one)
	}
	return list[:min(len(list), maxSessions)]
}

func pointers(sessions []Session) []*Session {
	all := make([]*Session, len(sessions))
	for i := range sessions {
		all[i] = &sessions[i]
	}
	return all
}

// ListSummaries returns all agents with their summaries.
func (s *Service) ListSummaries(ctx context.Context) ([]Agent, error) {
	agents, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.AgentID
	}
	c, err := s.collect(ctx, ids)
	if err != nil {
		return nil, err
	}
	said, err := s.Records.LastSaid(ctx, ids)
	if err != nil {
		return nil, err
	}
	started, err := s.Records.Started(ctx, ids, maxStarted)
	if err != nil {
		return nil, err
	}
	var shown []*Session
	for i, id := range ids {
		sum := Summary{Session: current(c.sessions[id]), Tasks: c.loads[id], Spend: c.spend[id], Outcome: c.outcome(id)}
		sum.Started = append([]Started{}, started[id]...)
		if sum.Session != nil {
			shown = append(shown, sum.Session)
		}
		if next := c.upcoming[id]; len(next) > 0 {
			sum.Next = &next[0]
		}
		if last, ok := said[id]; ok {
			sum.Standup = &last
		}
		agents[i].Summary = &sum
	}
	return agents, s.setTitles(ctx, c, shown)
}

// current returns the session to show for an agent: the one whose run has stalled, else the one whose
// run in progress started first, because the agent's presence is about that run, otherwise the one
// used last. It prefers sessions that are not of a sub-agent, and returns nil
// without sessions.
func current(sessions []Session) *Session {
	if len(sessions) == 0 {
		return nil
	}
	found := slices.MinFunc(sessions, func(a, b Session) int { return cmp.Compare(a.began(), b.began()) })
	return &found
}

// began returns the key for sorting sessions by the start of the run in progress. A stalled run sorts
// first, the one silent longest before others. An unknown start sorts after known ones, then the
// sessions of sub-agents, and a session without a run last.
func (s Session) began() int64 {
	kind, _ := purpose(s.Key)
	switch {
	case s.Run == nil:
		return math.MaxInt64
	case s.Run.Stalled && s.Run.SilentSince != nil:
		return math.MinInt64 + s.Run.SilentSince.UnixMicro()
	case kind == "subagent":
		return math.MaxInt64 - 1
	case s.Run.Since == nil:
		return math.MaxInt64 - 2
	default:
		return s.Run.Since.UnixMicro()
	}
}

// unrecorded returns the sessions' failures that are not among Wardroom's own records, so
// that a failed run of a job, task or standup is not listed twice.
//
// It also fills in Key of the records whose session is among them.
func unrecorded(records []Failure, all []Session, since time.Time) []Failure {
	var found []Failure
	for _, one := range all {
		if f, ok := one.failure(since); ok {
			found = append(found, f)
		}
	}
	// Start with the earliest failure, because each slot of a job matches the first run that ended
	// after it.
	slices.SortStableFunc(found, func(a, b Failure) int { return a.At.Compare(b.At.Time) })
	taken := make([]bool, len(records))
	return slices.DeleteFunc(found, func(f Failure) bool {
		for i, r := range records {
			if !taken[i] && r.sameAs(f) {
				taken[i], records[i].Key = true, f.Key
				return true
			}
		}
		return false
	})
}

// sameAs reports whether f, a failure that Wardroom recorded, is the same as a failure found in a
// session.
func (f Failure) sameAs(session Failure) bool {
	key := strings.ToLower(session.What)
	if f.Session == "" || key != f.Session && !strings.HasPrefix(key, f.Session+":") {
		return false
	}
	apart := session.At.Sub(f.At.Time)
	if f.Kind == "job_failed" { // recorded with the due time, which can be long before
		return apart >= 0
	}
	return apart.Abs() <= sameFailureWithin
}

// failure returns the failure of a session's last run. It returns false if that run did not fail or
// failed before the given time.
func (s Session) failure(since time.Time) (Failure, bool) {
	if s.Active || s.Status == nil || s.UpdatedAt == nil || s.UpdatedAt.Before(since) || *s.Status != "failed" && *s.Status != "timeout" {
		return Failure{}, false
	}
	why := "The last run failed."
	if *s.Status == "timeout" {
		why = "The last run timed out."
	}
	return Failure{Kind: "session", What: s.Key, Detail: why, At: *s.UpdatedAt, Key: &s.Key, AgentID: s.AgentID, Ran: true}, true
}
