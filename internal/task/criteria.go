package task

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// Criterion is a condition that must be met before a task is accepted.
type Criterion struct {
	Text  string      `json:"text"`
	Check *string     `json:"check" doc:"Command that decides whether the criterion is met; null if only a person can decide."`
	Met   bool        `json:"met"`
	MetBy *string     `json:"met_by" doc:"Name of the person who marked it as met; null if the check decided, or if it is not met."`
	MetAt *clock.Time `json:"met_at"`
}

// Command is a shell command in a request.
type Command string

// NewCriterion is a criterion in a request.
type NewCriterion struct {
	Text  string `json:"text" minLength:"1" maxLength:"300"`
	Check string `json:"check,omitempty" maxLength:"300" doc:"Command that decides whether the criterion is met. It becomes one of the task's checks."`
	Met   bool   `json:"met,omitempty" doc:"Whether you have found it met."`
}

// Limits on a task's criteria and checks. maxCriterion is in characters.
const (
	maxCriteria  = 20
	maxChecks    = 10
	maxCriterion = 300
)

// NamedChecks returns the commands that check the task, including those of its criteria.
func (t Task) NamedChecks() []string {
	all := slices.Clone(t.Checks)
	for _, c := range t.Criteria {
		if c.Check != nil && !slices.Contains(all, *c.Check) {
			all = append(all, *c.Check)
		}
	}
	return all
}

// applyCriteria applies the part of a change that says when the task is accepted. Only people can set
// it, because an agent could otherwise choose how it is checked.
func (t *Task) applyCriteria(c Change, now time.Time, by actor.Actor, bad *fault.Fields) {
	if c.Criteria != nil {
		if by.Role == actor.Agent {
			bad.Add("/criteria", "Only people can set acceptance criteria.")
		}
		if len(*c.Criteria) > maxCriteria {
			bad.Add("/criteria", "Specify at most %d criteria.", maxCriteria)
		}
		t.Criteria = t.criteria(*c.Criteria, now, by, bad)
	}
	if c.Checks != nil {
		if by.Role == actor.Agent {
			bad.Add("/checks", "Only people can set checks.")
		}
		if len(*c.Checks) > maxChecks {
			bad.Add("/checks", "Specify at most %d checks.", maxChecks)
		}
		t.Checks = []string{}
		for i, raw := range *c.Checks {
			command := oneLine(string(raw), fmt.Sprintf("/checks/%d", i), bad)
			if !slices.Contains(t.Checks, command) {
				t.Checks = append(t.Checks, command)
			}
		}
	}
}

// oneLine sanitizes a criterion or a command. It adds an error to bad if the text is empty or too long.
func oneLine(raw, name string, bad *fault.Fields) string {
	s := plaintext.Line(raw)
	if n := utf8.RuneCountInString(s); n == 0 || n > maxCriterion {
		bad.Add(name, "Must be one line of 1 to %d characters.", maxCriterion)
	}
	return s
}

// criteria returns the criteria of a request. A criterion that was there already keeps who found it met.
func (t *Task) criteria(given []NewCriterion, now time.Time, by actor.Actor, bad *fault.Fields) []Criterion {
	all := []Criterion{}
	for i, g := range given {
		c := Criterion{Text: oneLine(g.Text, fmt.Sprintf("/criteria/%d/text", i), bad), Met: g.Met}
		if g.Check != "" {
			c.Check = new(oneLine(g.Check, fmt.Sprintf("/criteria/%d/check", i), bad))
		}
		was := slices.IndexFunc(t.Criteria, func(o Criterion) bool { return o.Text == c.Text && same(o.Check, c.Check) })
		switch {
		case !c.Met:
		case was >= 0 && t.Criteria[was].Met:
			c.MetBy, c.MetAt = t.Criteria[was].MetBy, t.Criteria[was].MetAt
		default:
			c.MetBy, c.MetAt = &by.Name, clock.Ptr(now)
		}
		all = append(all, c)
	}
	return all
}

// MeetCriteria marks the criteria whose checks have passed as met, and those whose checks have not as
// not met. It leaves criteria alone that a person has marked.
func (s *Service) MeetCriteria(ctx context.Context, tx *db.Tx, taskID string, passed []string) error {
	old, err := find(ctx, tx, taskID)
	if err != nil {
		return err
	}
	t := old
	t.Criteria = slices.Clone(old.Criteria)
	for i := range t.Criteria {
		c := &t.Criteria[i]
		if c.Check == nil || c.MetBy != nil {
			continue
		}
		if met := slices.Contains(passed, *c.Check); met != c.Met {
			c.Met, c.MetAt = met, nil
			if met {
				c.MetAt = clock.Ptr(s.Now())
			}
		}
	}
	_, events, err := s.save(ctx, tx, old, t, "task.changed", nil)
	if err != nil {
		return err
	}
	return s.record(ctx, tx, events)
}

// Verdict is what a person decided about the result of a task.
type Verdict string

// The verdicts. Reopened withdraws an approval.
const (
	VerdictApproved Verdict = "approved"
	VerdictSentBack Verdict = "sent_back"
	Reopened        Verdict = ""
)

// noteReview calls the hooks for a change from old to t: Reported if an agent says that the task is
// done, and Judged if a person decides about it.
func (s *Service) noteReview(ctx context.Context, tx *db.Tx, old, t Task, kind string, data map[string]any) error {
	by := actor.From(ctx)
	switch {
	case by.Role == actor.Agent:
		if t.Status != Review || old.Status == Review && data["report"] != Finished {
			return nil
		}
		text, _ := data["text"].(string)
		return s.Reported(ctx, tx, t, text)
	case by.Role == "":
		return nil
	case kind == sentBack:
		return s.Judged(ctx, tx, t.ID, VerdictSentBack)
	case old.Status == Review && t.Status == Done:
		return s.Judged(ctx, tx, t.ID, VerdictApproved)
	case old.Status == Done && t.Status != Done:
		return s.Judged(ctx, tx, t.ID, Reopened)
	}
	return nil
}
