package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/once"
	"wardroom/internal/session"
)

// kindDeliver is the kind of a job that delivers the answer to a question.
const kindDeliver = "deliver answer"

// Kinds returns the job kinds that the queue in Jobs must run.
func (s *Service) Kinds() map[string]job.Kind {
	return map[string]job.Kind{
		kindDeliver: {Do: func(ctx context.Context, h *job.Held) error { return s.deliver(ctx, h.Key) }},
	}
}

// Tend ends the questions that have expired, and delivers the answers that no job could deliver, for
// example because the gateway was offline. A timer calls it.
func (s *Service) Tend(ctx context.Context) error {
	err := s.expireAsked(ctx)
	ids, failed := due(ctx, s.DB)
	err = errors.Join(err, failed)
	for _, id := range ids {
		err = errors.Join(err, s.deliver(ctx, id))
	}
	return err
}

// deliver sends an answer to the agent's session as a message of the person who gave it. The runtime
// takes a message with the same ID only once, so a repeated delivery has no second effect.
func (s *Service) deliver(ctx context.Context, id string) error {
	r, err := find(ctx, s.DB, id)
	if errors.Is(err, ErrNotFound) || err == nil && r.asked.delivery != Due {
		return nil
	}
	if err != nil {
		return err
	}
	by := actor.Actor{ID: r.By.ID, Name: r.By.Name, Role: actor.Role(r.By.Role)}
	err = s.tell(actor.With(ctx, by), r)
	f := fault.Of(err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		r.asked.delivery, r.asked.note = Sent, ""
	case f == nil:
		return fmt.Errorf("deliver the answer to question %s: %w", id, err)
	case f.Kind == fault.Invalid || errors.Is(err, link.ErrRefused) && !temporary(err):
		r.asked.delivery, r.asked.note = Failed, strings.TrimSpace(f.Title+" "+f.Detail)
	default:
		r.asked.note = strings.TrimSpace(f.Title + " " + f.Detail)
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		changed, err := setDelivery(ctx, tx, r)
		if err != nil || !changed || r.asked.delivery != Failed {
			return err
		}
		agent := account.AgentName(ctx, tx, r.AgentID)
		return s.Inbox.Raise(ctx, tx,
			r.item(agent, inbox.High, "Could not tell "+agent+" the answer: "+r.headline(), r.asked.note, "/undelivered"))
	})
}

// tell sends an answer to the agent's session, or to its main session if that one is gone. The runtime
// recognizes the message by the question's ID.
func (s *Service) tell(ctx context.Context, r row) error {
	ctx = once.With(ctx, once.New(actor.From(ctx).ID, "answer", r.ID, []byte(r.ID)))
	_, err := s.Sessions.Send(ctx, r.SessionKey, r.message())
	if errors.Is(err, session.ErrNotFound) {
		_, err = s.Sessions.SendToAgent(ctx, r.AgentID, r.message())
	}
	return err
}

// temporary reports whether an answer that could not be delivered may be delivered later.
func temporary(err error) bool {
	return errors.Is(err, hold.ErrHeld) || errors.Is(err, gateway.ErrNoAgent) || link.IsUnavailable(err)
}

// message returns the answer as the agent reads it. It does not begin with the person's name, because
// the runtime treats a leading slash as a command.
func (r row) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Answer to the question that you asked with ask_human at %s",
		r.CreatedAt.UTC().Format("15:04 UTC on 2 January 2006"))
	if r.Task != "" {
		b.WriteString(" about " + r.Task)
	}
	b.WriteString(":\n\n> " + strings.ReplaceAll(r.headline(), "\n", "\n> ") + "\n\n")
	if r.State == Skipped {
		fmt.Fprintf(&b, "%s leaves the decision to you.", r.By.Name)
	} else {
		fmt.Fprintf(&b, "%s answers: %s", r.By.Name, r.answer())
	}
	b.WriteString("\n\nContinue the work that waited for this answer.")
	return b.String()
}
