package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Receive takes an event of the gateway. It does not block.
func (s *Service) Receive(e mirror.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Asked != nil {
		s.waiting = append(s.waiting, *e.Asked)
	}
	s.stale = s.stale || e.Resync
	if e.Asked != nil || e.Resync {
		s.wake.Wake()
	}
}

// restale makes the next pass read the lists.
func (s *Service) restale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
	s.wake.Wake()
}

// Run stores requests and their endings until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	loop := mirror.Loop{Name: "approvals and questions", DB: s.DB, Log: s.Log, Pass: s.pass}
	loop.Run(actor.With(ctx, actor.System), &s.wake)
	return nil
}

// Intervals of the passes without an event.
const (
	expiryGrace = 5 * time.Second // after the expiry, for the gateway's event to arrive
	longRest    = time.Hour
)

// pass stores the events that have arrived, and reads the runtime's lists if events may have been
// missed or a request has expired without an event. What fails is done again.
func (s *Service) pass(ctx context.Context) (time.Duration, error) {
	s.mu.Lock()
	events, stale := s.waiting, s.stale
	s.waiting, s.stale = nil, false
	s.mu.Unlock()
	for i, e := range events {
		if err := s.store(ctx, e); err != nil {
			s.mu.Lock()
			s.waiting, s.stale = append(events[i:], s.waiting...), s.stale || stale
			s.mu.Unlock()
			return 0, err
		}
	}
	next, overdue, err := s.expiry(ctx)
	if err == nil && (stale || overdue) {
		err = s.reconcile(ctx)
	}
	if err != nil {
		s.mu.Lock()
		s.stale = true
		s.mu.Unlock()
	}
	return next, err
}

// expiry returns the time until the next pending request should have expired, and whether one
// already should have. It also tells which sessions wait.
func (s *Service) expiry(ctx context.Context) (next time.Duration, overdue bool, err error) {
	all, err := pending(ctx, s.DB)
	if err != nil {
		return longRest, false, err
	}
	next = longRest
	waits := map[string]time.Time{}
	for _, r := range all {
		until := s.Now().Add(2 * longRest) // by then, this is called again
		if r.ExpiresAt != nil {
			until = r.ExpiresAt.Time
		}
		if until.After(waits[r.SessionKey]) {
			waits[r.SessionKey] = until
		}
		if r.ExpiresAt == nil {
			continue
		}
		left := r.ExpiresAt.Add(expiryGrace).Sub(s.Now())
		overdue = overdue || left <= 0
		next = min(next, max(left, mirror.RetryLast))
	}
	s.Sessions.WaitForPeople(waits)
	return next, overdue, nil
}

// store stores an event.
func (s *Service) store(ctx context.Context, e gateway.AskedOrAnswered) error {
	switch {
	case e.Approval != nil:
		return s.open(ctx, ofApproval(*e.Approval, s.Redact.Text))
	case e.Question != nil:
		return s.open(ctx, ofQuestion(*e.Question, s.Redact.Text))
	}
	r, err := find(ctx, s.DB, e.ID)
	if errors.Is(err, ErrNotFound) || err == nil && r.State != Pending {
		return nil
	}
	if err != nil {
		return err
	}
	ended := *e.Ending
	if ended.State == "" || r.isQuestion() { // the event does not say how it ended, or who answered
		is, err := s.ending(ctx, r)
		switch {
		case err != nil && ended.State == "":
			return err
		case err == nil && is.State != "pending":
			ended = is
		}
	}
	return s.settle(ctx, r.ID, ended)
}

// open stores a new request and raises its inbox item. If it is known already, open does nothing.
func (s *Service) open(ctx context.Context, r row) error {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = clock.At(s.Now())
	}
	r.SessionKey = strings.ToLower(r.SessionKey)
	r.Task = taskOf(r.SessionKey)
	agent := account.AgentName(ctx, s.DB, r.AgentID)
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		made, err := insert(ctx, tx, r)
		if err != nil || !made {
			return err
		}
		return s.Inbox.Raise(ctx, tx, r.item(agent, inbox.Urgent, r.title(agent), r.detail(), ""))
	})
	if err != nil {
		return fmt.Errorf("store a request of %s: %w", r.AgentID, err)
	}
	return nil
}

// item returns an inbox item about the request.
func (r row) item(agent string, severity inbox.Severity, title, detail, cause string) inbox.NewItem {
	kind := inbox.Approval
	if r.isQuestion() {
		kind = inbox.Question
	}
	m := inbox.NewItem{
		Cause: "approval/" + r.ID + cause, Kind: kind, Severity: severity, Title: title, Detail: detail,
		Subject: event.Subject{Kind: "approval", ID: r.ID, Name: agent}, At: r.CreatedAt.Time,
	}
	if r.SessionKey != "" {
		m.Run = &inbox.Run{SessionKey: r.SessionKey, RunID: r.RunID}
	}
	return m
}

// ending asks the runtime how a request ended. A request that it does not know was lost in a restart,
// or has expired.
func (s *Service) ending(ctx context.Context, r row) (gateway.Ending, error) {
	read := s.Runtime.ApprovalEnding
	if r.isQuestion() {
		read = s.Runtime.QuestionEnding
	}
	e, err := read(ctx, r.ID)
	if errors.Is(err, gateway.ErrNoRequest) {
		return gateway.Ending{State: "lost"}, nil
	}
	return e, err
}

// settle stores how a request ended, resolves its inbox item in the name of who answered, and raises
// one if the agent went on without an answer. If the request has already ended, settle does nothing.
func (s *Service) settle(ctx context.Context, id string, e gateway.Ending) error {
	err := s.DB.Tx(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		r, err := find(ctx, tx, id)
		if err != nil || r.State != Pending || e.State == "pending" {
			return err
		}
		r = r.after(e, s.Now())
		if ended, err := end(ctx, tx, r); err != nil || !ended {
			return err
		}
		return s.tidy(ctx, tx, r)
	})
	if err != nil {
		return fmt.Errorf("store the end of a request: %w", err)
	}
	return nil
}

// tidy brings the inbox up to date with an ended request.
func (s *Service) tidy(ctx context.Context, tx *db.Tx, r row) error {
	by := actor.System
	if r.By != nil && r.By.ID != "" {
		by = actor.Actor{ID: r.By.ID, Name: r.By.Name, Role: actor.Role(r.By.Role)}
	}
	agent := account.AgentName(ctx, tx, r.AgentID)
	if err := s.Inbox.ResolveAbout(
		actor.With(ctx, by), tx, r.ID, r.note(agent), inbox.Approval, inbox.Question,
	); err != nil {
		return err
	}
	if r.State != Expired {
		return nil
	}
	return s.Inbox.Raise(ctx, tx, r.item(agent, inbox.Medium, r.note(agent)+" "+r.headline(), r.detail(), "/expired"))
}

// after returns the request as it is after the ending that the runtime reports. The claimer has
// answered if the runtime names Wardroom, or the claimer, as the one who did.
func (r row) after(e gateway.Ending, now time.Time) row {
	r.State, r.decision, r.answers = State(e.State), Decision(e.Decision), e.Answers
	r.EndedAt = clock.Ptr(now)
	claimed := r.claimed != nil && r.claimer.ID != ""
	switch {
	case e.State == "cancelled" && claimed && r.intent == intendsSkip:
		r.State, r.By = Skipped, &r.claimer
	case e.State == "cancelled" && r.expiredAt(now.Add(time.Second)):
		r.State = Expired
	case e.State == "cancelled":
		r.State = Aborted
	case e.State == "lost" && r.expiredAt(now) && r.isQuestion():
		r.State = Expired
	}
	switch r.State {
	case Allowed, Denied, Answered:
		switch {
		case claimed &&
			(r.intent == intendsAnswer && e.By == r.claimer.Name || r.intent == r.decision && e.By == link.DisplayName):
			r.By = &r.claimer
		case e.By != "":
			r.By = &Decider{Name: e.By}
		case r.State == Answered:
			r.By = &Decider{Name: "Another client"}
		}
	case Expired, Aborted, Lost, Withdrawn:
		r.decision = ""
	case Pending, Skipped:
	}
	return r
}

// hears reports whether the connection is there over which approvals and questions arrive: the one with
// operator.admin. The connection that starts runs may still be missing.
func (s *Service) hears() bool {
	return slices.ContainsFunc(s.Runtime.Status().Connections, func(c link.Connection) bool {
		return c.ConnectedAt != nil && link.Covered(c.ScopesGranted, "operator.admin")
	})
}

// reconcile compares the stored requests with the runtime's lists. The lists are read first, so that a
// request in them is never taken for one that has ended; each that is missing is asked for.
func (s *Service) reconcile(ctx context.Context) error {
	if !s.hears() {
		return nil
	}
	approvals, err := s.Runtime.Approvals(ctx)
	if err != nil {
		return err
	}
	questions, err := s.Runtime.Questions(ctx)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, a := range approvals {
		listed[a.ID] = true
		if err := s.open(ctx, ofApproval(a, s.Redact.Text)); err != nil {
			return err
		}
	}
	for _, q := range questions {
		listed[q.ID] = true
		if err := s.open(ctx, ofQuestion(q, s.Redact.Text)); err != nil {
			return err
		}
	}
	all, err := pending(ctx, s.DB)
	for _, r := range all {
		if listed[r.ID] {
			continue
		}
		e, err := s.ending(ctx, r)
		if err == nil {
			err = s.settle(ctx, r.ID, e)
		}
		if err != nil {
			return err
		}
	}
	return err
}
