package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"wardroom/internal/platform/fault"
	"wardroom/internal/session"
	"wardroom/internal/task"
	"wardroom/internal/usage"
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
)

// collection is what pages and summaries have in common, by agent.
type collection struct {
	loads    map[string]task.Workload
	spend    map[string]usage.Recent
	failures map[string][]Failure // newest first
	upcoming map[string][]Upcoming
	names    map[string]string            // of jobs by their ID in lower case
	sessions map[string][]session.Session // see session.Service.Overview; nil while unknown
}

// collect reads what pages and summaries of the agents have in common.
func (s *Service) collect(ctx context.Context, agentIDs []string) (c collection, err error) {
	if c.loads, err = s.Tasks.Workloads(ctx, agentIDs); err != nil {
		return c, err
	}
	if c.spend, err = s.Usage.OfAgents(ctx, agentIDs, s.Now()); err != nil {
		return c, err
	}
	jobs, err := s.Schedules.Outlines(ctx)
	if err != nil {
		return c, err
	}
	c.upcoming, c.names = map[string][]Upcoming{}, map[string]string{}
	for _, j := range jobs {
		c.names[strings.ToLower(j.JobID)] = j.Name
		if j.Next != nil {
			c.upcoming[j.AgentID] = append(c.upcoming[j.AgentID], Upcoming{j.JobID, j.Name, *j.Next})
		}
	}
	for _, u := range c.upcoming {
		slices.SortStableFunc(u, func(a, b Upcoming) int { return a.At.Compare(b.At.Time) })
	}
	since := s.Now()
	for _, sp := range c.spend {
		since = sp.FromWeek.Time
	}
	seen, err := s.Sessions.Overview(ctx, since)
	if err := checkRead(ctx, err); err != nil {
		return c, err
	}
	if err == nil {
		c.sessions = map[string][]session.Session{}
		for _, one := range seen {
			c.sessions[one.AgentID] = append(c.sessions[one.AgentID], one)
		}
	}
	c.failures, err = s.failures(ctx, agentIDs, c.sessions, since)
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
	o.Succeeded = max(c.spend[agentID].Last7Days.Runs-o.Failed, 0)
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
	titles, err := s.Tasks.Titles(ctx, keys)
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
		Agent: a, Tasks: Desk{newLoad(c.loads[agentID]), []Task{}}, Standups: []Said{},
		Spend: newSpend(c.spend[agentID]), Outcome: c.outcome(agentID),
		Upcoming: append([]Upcoming{}, upcoming[:min(len(upcoming), maxUpcoming)]...),
		Failures: append([]Failure{}, failures[:min(len(failures), maxFailures)]...),
	}
	record, err := s.Receipts.Record(ctx, agentID)
	if err != nil {
		return Page{}, err
	}
	p.Verdicts = Verdicts(record)
	tasks, err := s.Tasks.LatestOf(ctx, agentID, maxTasks)
	if err != nil {
		return Page{}, err
	}
	for _, t := range tasks {
		p.Tasks.Last = append(p.Tasks.Last, newTask(t))
	}
	said, err := s.Standups.AnswersBy(ctx, agentID, maxReports)
	if err != nil {
		return Page{}, err
	}
	for _, one := range said {
		p.Standups = append(p.Standups, newSaid(one))
	}
	if c.sessions == nil {
		return p, nil
	}
	all, _, err := s.Sessions.List(ctx, session.Filter{AgentID: agentID}, nil, maxUngrouped)
	if err != nil {
		return p, checkRead(ctx, err)
	}
	sessions := grouped(all)
	p.Sessions = &sessions
	return p, s.setTitles(ctx, c, pointers(sessions))
}

// grouped returns the first sessions, with only the first of the finished ones of each job or task,
// and without those of finished sub-agents.
func grouped(all []session.Session) []Session {
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
		list = append(list, newSession(one))
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
	said, err := s.Standups.LatestAnswers(ctx, ids)
	if err != nil {
		return nil, err
	}
	started, err := s.Tasks.InProgress(ctx, ids, maxStarted)
	if err != nil {
		return nil, err
	}
	var shown []*Session
	for i, id := range ids {
		sum := Summary{
			Session: current(c.sessions[id]), Tasks: newLoad(c.loads[id]), Started: []Started{},
			Spend: newSpend(c.spend[id]), Outcome: c.outcome(id),
		}
		for _, t := range started[id] {
			sum.Started = append(sum.Started, Started(t))
		}
		if sum.Session != nil {
			shown = append(shown, sum.Session)
		}
		if next := c.upcoming[id]; len(next) > 0 {
			sum.Next = &next[0]
		}
		if last, ok := said[id]; ok {
			sum.Standup = new(newSaid(last))
		}
		agents[i].Summary = &sum
	}
	return agents, s.setTitles(ctx, c, shown)
}

// current returns the session to show for an agent: the one whose run has stalled, else the one whose
// run in progress started first, because the agent's presence is about that run, otherwise the one
// used last. It prefers sessions that are not of a sub-agent, and returns nil
// without sessions.
func current(sessions []session.Session) *Session {
	if len(sessions) == 0 {
		return nil
	}
	found := slices.MinFunc(sessions, func(a, b session.Session) int { return cmp.Compare(began(a), began(b)) })
	return new(newSession(found))
}

// began returns the key for sorting sessions by the start of the run in progress. A stalled run sorts
// first, the one silent longest before others. An unknown start sorts after known ones, then the
// sessions of sub-agents, and a session without a run last.
func began(s session.Session) int64 {
	kind, _ := purpose(s.Key)
	switch {
	case !s.Active:
		return math.MaxInt64
	case s.Stalled && s.SilentSince != nil:
		return math.MinInt64 + s.SilentSince.UnixMicro()
	case kind == "subagent":
		return math.MaxInt64 - 1
	case s.StartedAt == nil:
		return math.MaxInt64 - 2
	default:
		return s.StartedAt.UnixMicro()
	}
}
