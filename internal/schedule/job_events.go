package schedule

import (
	"context"
	"errors"
	"maps"
	"strings"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// jobAction is an action that a user takes on a job.
type jobAction struct {
	kind     string // of its events
	id, name string // of the job; the ID of a new job may be unknown
	data     map[string]any
}

// recordAction records an action both as activity and in the audit log, because jobs cost money.
func (s *Service) recordAction(ctx context.Context, tx *db.Tx, d jobAction) error {
	if err := s.recordEvent(ctx, tx, event.Activity, d.kind, d.id, d.name, d.data); err != nil {
		return err
	}
	return s.recordEvent(ctx, tx, event.Audit, d.kind, d.id, d.name, d.data)
}

// readFirst is the advice in errors about changes that the runtime may or may not have made.
const readFirst = "Read the job again before you retry."

// unconfirmedError returns the error for a failed action. If the runtime may nevertheless have
// performed the action, the error says so and ends with the given advice. The action is then also
// recorded as unconfirmed, even if the client has disconnected.
func (s *Service) unconfirmedError(ctx context.Context, err error, d jobAction, next string) error {
	if !errors.Is(err, link.ErrUnsure) {
		return err
	}
	d.data = maps.Clone(d.data)
	d.data["confirmed"] = false
	ctx = context.WithoutCancel(ctx)
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.recordAction(ctx, tx, d) })
	if f := fault.Of(err); f != nil {
		err = f.With("%s", strings.TrimSpace(f.Detail+" The change may have been made. "+next))
	}
	return errors.Join(err, noted)
}
