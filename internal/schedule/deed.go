package schedule

import (
	"context"
	"errors"
	"maps"
	"strings"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// deed is what somebody had the runtime do to a job.
type deed struct {
	kind     string // of its events
	id, name string // of the job; one that nobody has seen yet has no id
	data     map[string]any
}

// tell tells of a deed: in the activity, and in the audit, because it makes an
// agent work, and spend, by itself.
func (s *Service) tell(ctx context.Context, tx *db.Tx, d deed) error {
	if err := s.told(ctx, tx, event.Activity, d.kind, d.id, d.name, d.data); err != nil {
		return err
	}
	return s.told(ctx, tx, event.Audit, d.kind, d.id, d.name, d.data)
}

// lookFirst is what to do about a change of which nobody knows whether it was made.
const lookFirst = "Read the job again before you repeat it."

// unsure is the failure of a deed. Where nobody knows whether the runtime has
// done it, that is said, with what to do next; and it is told as one that is not
// confirmed, also when whoever asked has left.
func (s *Service) unsure(ctx context.Context, err error, d deed, next string) error {
	if !errors.Is(err, gateway.ErrUnsure) {
		return err
	}
	d.data = maps.Clone(d.data)
	d.data["confirmed"] = false
	ctx = context.WithoutCancel(ctx)
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.tell(ctx, tx, d) })
	if f := fault.Of(err); f != nil {
		err = f.With("%s", strings.TrimSpace(f.Detail+" It may have been done all the same. "+next))
	}
	return errors.Join(err, noted)
}
