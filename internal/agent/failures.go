package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"wardroom/internal/session"
	"wardroom/internal/standup"
)

// sameFailureWithin is how far apart a recorded failure and the failure of its session can be
// if the two are the same failure.
const sameFailureWithin = time.Hour

// failures returns the agents' failures since the given time, newest first, by agent: those that Wardroom recorded, and
// the others of the sessions.
func (s *Service) failures(
	ctx context.Context, agentIDs []string, sessions map[string][]session.Session, since time.Time,
) (map[string][]Failure, error) {
	records, err := s.Failures(ctx, agentIDs, since, maxRecords)
	byAgent := map[string][]Failure{}
	for _, f := range records {
		byAgent[f.AgentID] = append(byAgent[f.AgentID], f)
	}
	for _, id := range agentIDs {
		byAgent[id] = append(byAgent[id], unrecorded(byAgent[id], sessions[id], since)...)
		slices.SortStableFunc(byAgent[id], func(a, b Failure) int { return b.At.Compare(a.At.Time) })
	}
	return byAgent, err
}

// Failures returns the failures of the agents that Wardroom recorded since the given time. It returns at most the given
// number of failures of each kind, newest first.
func (s *Service) Failures(ctx context.Context, agentIDs []string, since time.Time, most int) ([]Failure, error) {
	var out []Failure
	// The runtime's session keys are lowercase.
	sessionOf := func(id, kind, of string) string { return strings.ToLower("agent:" + id + ":" + kind + ":" + of) }
	dispatches, err := s.Dispatch.FailedOf(ctx, agentIDs, since, most)
	if err != nil {
		return nil, err
	}
	for _, d := range dispatches {
		out = append(out, Failure{
			AgentID: d.AgentID, Kind: "dispatch", What: d.Task, Detail: d.Why, At: d.At, Ran: d.Ran,
			Session: sessionOf(d.AgentID, "task", d.Task),
		})
	}
	unanswered, err := s.Standups.UnansweredBy(ctx, agentIDs, since, most)
	if err != nil {
		return nil, err
	}
	for _, a := range unanswered {
		why := "No answer before the deadline."
		if a.Status != standup.TimedOut {
			why = "The run failed."
		}
		if a.At != nil {
			out = append(out, Failure{
				AgentID: a.AgentID, Kind: "standup", What: a.Date, Detail: why, At: *a.At, Ran: true,
				Session: sessionOf(a.AgentID, "standup", a.Date),
			})
		}
	}
	slots, err := s.Schedules.FailedSlots(ctx, agentIDs, since, most)
	for _, t := range slots {
		f := Failure{AgentID: t.AgentID, Kind: "job_" + t.State, What: t.Name, Detail: t.Reason, At: t.DueAt}
		if t.State == "failed" { // a missed job has no run
			f.Ran, f.Session = true, sessionOf(t.AgentID, "cron", t.JobID)
		}
		out = append(out, f)
	}
	return out, err
}

// unrecorded returns the sessions' failures that are not among Wardroom's own records, so
// that a failed run of a job, task or standup is not listed twice.
//
// It also fills in Key of the records whose session is among them.
func unrecorded(records []Failure, all []session.Session, since time.Time) []Failure {
	var found []Failure
	for _, one := range all {
		if f, ok := failureOf(one, since); ok {
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
func (f Failure) sameAs(ofSession Failure) bool {
	key := strings.ToLower(ofSession.What)
	if f.Session == "" || key != f.Session && !strings.HasPrefix(key, f.Session+":") {
		return false
	}
	apart := ofSession.At.Sub(f.At.Time)
	if f.Kind == "job_failed" { // recorded with the due time, which can be long before
		return apart >= 0
	}
	return apart.Abs() <= sameFailureWithin
}

// failureOf returns the failure of a session's last run. It returns false if that run did not fail or
// failed before the given time.
func failureOf(s session.Session, since time.Time) (Failure, bool) {
	if s.Active || s.Status == nil || s.UpdatedAt == nil || s.UpdatedAt.Before(since) {
		return Failure{}, false
	}
	f := Failure{AgentID: s.AgentID, Kind: "session", What: s.Key, At: *s.UpdatedAt, Ran: true, Key: &s.Key}
	switch *s.Status {
	case "failed":
		f.Detail = "The last run failed."
	case "timeout":
		f.Detail = "The last run timed out."
	default:
		return Failure{}, false
	}
	return f, true
}
