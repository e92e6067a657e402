package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/redact"
	"wardroom/internal/session"
	"wardroom/internal/task"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Status() link.Status
	Approvals(ctx context.Context) ([]gateway.Approval, error)
	Questions(ctx context.Context) ([]gateway.PersonQuestion, error)
	DecideApproval(ctx context.Context, id, kind, decision string) error
	AnswerQuestion(ctx context.Context, id string, answers map[string][]string, by string) error
	ApprovalEnding(ctx context.Context, id string) (gateway.Ending, error)
	QuestionEnding(ctx context.Context, id string) (gateway.Ending, error)
	CommandPolicy(ctx context.Context) (gateway.CommandPolicy, error)
}

// Sessions is the part of session.Service that this package uses.
type Sessions interface {
	Get(ctx context.Context, key string) (session.Session, error)
	Send(ctx context.Context, key, text string) (session.Sent, error)
	SendToAgent(ctx context.Context, agentID, text string) (session.Sent, error)
	WaitForPeople(until map[string]time.Time)
}

// Service keeps the requests of the runtime's agents to people. Its exported fields must not change
// after Run has been called.
type Service struct {
	DB       *db.DB
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Inbox    *inbox.Service
	Patience time.Duration // limit for a request to the gateway
	Jobs     *job.Queue    // for the jobs that deliver answers
	Sessions Sessions
	Tasks    *task.Service
	Redact   *redact.Redactor

	wake    mirror.Signal
	mu      sync.Mutex
	waiting []gateway.AskedOrAnswered // events that have not been stored yet
	stale   bool                      // events may have been missed
}

// Answer is a person's answer to an approval or to a question.
type Answer struct {
	Shown    string
	Decision Decision            // for an approval
	Answers  map[string][]string // for a question; empty skips it
}

// intent returns what the answer does to the request.
func (a Answer) intent(r row) Decision {
	switch {
	case !r.isQuestion():
		return a.Decision
	case len(a.Answers) == 0:
		return intendsSkip
	}
	return intendsAnswer
}

// List returns one page of approvals.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Approval], error) {
	return read(ctx, s.DB, f, want, false, row.approval)
}

// Questions returns one page of questions.
func (s *Service) Questions(ctx context.Context, f Filter, want page.Want) (page.Part[Question], error) {
	return read(ctx, s.DB, f, want, true, row.asQuestion)
}

func read[T any](
	ctx context.Context, d *db.DB, f Filter, want page.Want, question bool, view func(row) T,
) (page.Part[T], error) {
	f.SessionKey = strings.ToLower(f.SessionKey)
	var part page.Part[row]
	err := list.View(ctx, d, want, func(q db.Queryer) (err error) {
		part, err = requests.Read(ctx, q, f.where(question), want)
		return err
	})
	out := page.Part[T]{Next: part.Next, Total: part.Total}
	for _, r := range part.Rows {
		out.Rows = append(out.Rows, view(r))
	}
	return out, err
}

// Get returns an approval with what helps to decide.
func (s *Service) Get(ctx context.Context, id string) (Detailed, error) {
	r, err := s.one(ctx, id, false)
	if err != nil {
		return Detailed{}, err
	}
	d := Detailed{Approval: r.approval()}
	if d.Earlier, err = earlier(ctx, s.DB, r); err != nil {
		return Detailed{}, fmt.Errorf("read earlier decisions: %w", err)
	}
	if r.SessionKey != "" {
		if in, err := s.Sessions.Get(ctx, r.SessionKey); err == nil {
			d.SpentUSD = in.CostUSD
		}
	}
	return d, nil
}

// GetQuestion returns a question.
func (s *Service) GetQuestion(ctx context.Context, id string) (Question, error) {
	r, err := s.one(ctx, id, true)
	if err != nil {
		return Question{}, err
	}
	return r.asQuestion(), nil
}

func (s *Service) one(ctx context.Context, id string, question bool) (row, error) {
	r, err := find(ctx, s.DB, id)
	if err == nil && r.isQuestion() != question {
		err = ErrNotFound
	}
	return r, err
}

// Decide answers an approval on behalf of the actor in ctx.
func (s *Service) Decide(ctx context.Context, id string, a Answer) (Detailed, error) {
	r, err := s.one(ctx, id, false)
	if err == nil && !slices.Contains(r.offered, string(a.Decision)) {
		err = ErrAnswer.With("The runtime accepts only: %s.", strings.Join(r.offered, ", "))
	}
	if err == nil {
		err = s.answer(ctx, r, a)
	}
	if err != nil {
		return Detailed{}, err
	}
	return s.Get(ctx, id)
}

// Reply answers or skips a question on behalf of the actor in ctx.
func (s *Service) Reply(ctx context.Context, id string, a Answer) (Question, error) {
	r, err := s.one(ctx, id, true)
	if err == nil && len(a.Answers) > 0 {
		err = checkAnswers(r.parts, a.Answers)
	}
	switch {
	case err != nil:
	case r.asked.is():
		err = s.answerAsked(ctx, r, a)
	default:
		err = s.answer(ctx, r, a)
	}
	if err != nil {
		return Question{}, err
	}
	return s.GetQuestion(ctx, id)
}

// claimTime is how long the answer of one person keeps others from answering. It is longer than the
// requests to the gateway take.
func (s *Service) claimTime() time.Duration { return 4*s.Patience + 5*time.Second }

// answer sends an answer to the runtime. The claim before it makes sure that only one person answers,
// even with several replicas, and that the answer is attributed to that person if this process dies.
// The runtime's record decides what came first.
func (s *Service) answer(ctx context.Context, r row, a Answer) error {
	by := actor.From(ctx)
	who := Decider{ID: by.ID, Name: by.Name, Role: string(by.Role)}
	if err := s.claim(ctx, r, a, who); err != nil {
		return err
	}
	live, err := s.live(ctx, r)
	switch {
	case err == nil && live != a.Shown:
		err = ErrChanged.With("Reload the request and decide again.")
	case err == nil:
		err = s.send(ctx, r, a, who)
	}
	switch {
	case err == nil, gateway.IsAnswered(err):
		return s.confirm(ctx, r, a, who, err)
	case errors.Is(err, link.ErrUnsure):
		s.restale() // the runtime says what became of it; until then, the claim lasts
		return err
	}
	return errors.Join(err, s.withdraw(ctx, r, who, err))
}

// claim reserves the request for the actor's answer and records the answer in the audit log.
func (s *Service) claim(ctx context.Context, r row, a Answer, who Decider) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return err
		}
		is, err := find(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		switch {
		case is.State != Pending:
			return is.ended(account.AgentName(ctx, tx, is.AgentID))
		case a.Shown != is.Shown:
			return ErrChanged.With("Reload the request and decide again.")
		}
		free, err := claim(ctx, tx, r.ID, who, a.intent(r), now, now.Add(s.claimTime()))
		if err == nil && !free {
			return ErrDecided.With("%s is answering it.", is.claimer.Name).Fact("state", is.State).Fact("by", is.claimer)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, "approval.answered", r, map[string]any{
			"role": who.Role, "decision": a.Decision, "answers": a.Answers, "shown": a.Shown,
		})
	})
}

// audit records what a person did with a request, with the evidence: what was shown.
func (s *Service) audit(ctx context.Context, tx *db.Tx, kind string, r row, data map[string]any) error {
	data["id"], data["kind"], data["agent_id"], data["session_key"] = r.ID, r.kind, r.AgentID, r.SessionKey
	if r.isQuestion() {
		data["parts"] = r.parts
	} else {
		data["action"] = r.action
	}
	about := event.Subject{Kind: "approval", ID: r.ID, Name: cut(r.headline())}
	return event.Record(ctx, tx, s.Now(), event.Audit, kind, about, data)
}

// cut shortens a text for the name of a subject.
func cut(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// live returns the digest of the request as the runtime has it now.
func (s *Service) live(ctx context.Context, r row) (string, error) {
	if r.isQuestion() {
		all, err := s.Runtime.Questions(ctx)
		for _, q := range all {
			if q.ID == r.ID {
				return q.Digest, nil
			}
		}
		return "", cmp.Or(err, error(gateway.ErrNoRequest)) // it is not in the runtime's list
	}
	all, err := s.Runtime.Approvals(ctx)
	for _, a := range all {
		if a.ID == r.ID {
			return a.Digest, nil
		}
	}
	return "", cmp.Or(err, error(gateway.ErrNoRequest))
}

func (s *Service) send(ctx context.Context, r row, a Answer, who Decider) error {
	if r.isQuestion() {
		return s.Runtime.AnswerQuestion(ctx, r.ID, a.Answers, who.Name)
	}
	return s.Runtime.DecideApproval(ctx, r.ID, r.kind, string(a.Decision))
}

// confirm stores how the request ended after an answer was sent, and returns ErrDecided if it was not
// this answer that ended it. sent is what sending it returned.
func (s *Service) confirm(ctx context.Context, r row, a Answer, who Decider, sent error) error {
	e, err := s.ending(ctx, r)
	switch {
	case sent != nil: // the runtime had ended it before
		if failed := s.withdraw(ctx, r, who, sent); failed != nil || err != nil {
			return errors.Join(err, failed)
		}
	case err != nil: // accepted, but not confirmed
		e = intended(r, a, who)
	}
	if err := s.settle(ctx, r.ID, e); err != nil {
		return err
	}
	is, err := find(ctx, s.DB, r.ID)
	if err != nil {
		return err
	}
	if is.By != nil && is.By.ID == who.ID && is.decision == a.Decision {
		return nil
	}
	return is.ended(account.AgentName(ctx, s.DB, is.AgentID))
}

// intended returns the ending that an accepted answer causes.
func intended(r row, a Answer, who Decider) gateway.Ending {
	switch {
	case r.isQuestion() && len(a.Answers) == 0:
		return gateway.Ending{State: "cancelled", By: who.Name}
	case r.isQuestion():
		return gateway.Ending{State: "answered", Answers: a.Answers, By: who.Name}
	case a.Decision == Deny:
		return gateway.Ending{State: "denied", Decision: string(a.Decision), By: link.DisplayName}
	}
	return gateway.Ending{State: "allowed", Decision: string(a.Decision), By: link.DisplayName}
}

// withdraw ends the claim of an answer that had no effect, and records why.
func (s *Service) withdraw(ctx context.Context, r row, who Decider, why error) error {
	return s.DB.Tx(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		if err := release(ctx, tx, r.ID, who); err != nil {
			return err
		}
		return s.audit(ctx, tx, "approval.answer_failed", r, map[string]any{"error": why.Error()})
	})
}

// Policy says whether the runtime asks people at all.
type Policy struct {
	Mode    string        `json:"mode" enum:"deny,allowlist,ask,auto,full" doc:"The runtime's setting tools.exec.mode."`
	Asks    bool          `json:"asks" doc:"Whether agents in this mode ask before they run some commands."`
	Agents  []AgentPolicy `json:"agents" nullable:"false" doc:"Agents with another mode."`
	CanHear bool          `json:"connected" doc:"Whether Wardroom's connection receives approvals, which needs operator.admin."`
	Setting string        `json:"setting" doc:"Command that makes agents ask."`
}

// AgentPolicy is the mode of one agent.
type AgentPolicy struct {
	AgentID string `json:"agent_id"`
	Mode    string `json:"mode"`
	Asks    bool   `json:"asks"`
}

// Policy reads from the runtime's configuration whether agents ask before they run commands.
func (s *Service) Policy(ctx context.Context) (Policy, error) {
	is, err := s.Runtime.CommandPolicy(ctx)
	if err != nil {
		return Policy{}, err
	}
	p := Policy{
		Mode: is.Mode, Asks: gateway.Asks(is.Mode), Agents: []AgentPolicy{}, CanHear: s.hears(),
		Setting: "openclaw config set tools.exec.mode ask",
	}
	for id, mode := range is.Agents {
		p.Agents = append(p.Agents, AgentPolicy{AgentID: id, Mode: mode, Asks: gateway.Asks(mode)})
	}
	slices.SortFunc(p.Agents, func(a, b AgentPolicy) int { return strings.Compare(a.AgentID, b.AgentID) })
	return p, nil
}

// CountEnded returns how many requests ended before the given time, and when the first of them did.
func (s *Service) CountEnded(ctx context.Context, before time.Time) (int64, time.Time, error) {
	n, oldest, err := countEnded(ctx, s.DB, before)
	if err != nil || oldest == nil {
		return n, time.Time{}, err
	}
	return n, oldest.Time, nil
}

// PurgeEnded deletes up to limit requests that ended before the given time, except those with an answer that is still
// due.
func (s *Service) PurgeEnded(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return purgeEnded(ctx, tx, before, limit)
}
