package event

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Service reads the log for people, as lists and as live streams. It must not
// be copied once used. Run makes the streams live.
type Service struct {
	DB  *db.DB
	Now func() time.Time // by which tokens expire; nil is time.Now
	Log *slog.Logger     // nil is silent
	// Current returns the states that a new stream is told first; later changes
	// of them go through Tell. It must not wait. Nil is none.
	Current func() []State
	// Away, when given, reports whether an error says that the database is away,
	// and has that told to the log once for everybody. It must not wait.
	Away   func(error) bool
	Limits Limits

	once sync.Once
	live *hub
}

// Followed are the keys of the runtime's sessions of which some stream of this
// process wants every message. It is not to be changed.
func (s *Service) Followed() []string {
	if keys := s.hub().keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// Activity returns one page of what happened, the newest first, as far as f
// goes; its class and its actors are set here, and what the caller may not see
// is left out. by names who did it: a user's id
// or email, an agent_id, "me" or "system"; empty is anyone.
func (s *Service) Activity(ctx context.Context, f Filter, by string, want page.Want) (page.Part[Event], error) {
	f.hidden = hiddenFrom(actor.From(ctx).Role)
	return s.read(ctx, Activity, f, by, want)
}

// Audit is Activity for what happened to accounts and what guards them.
func (s *Service) Audit(ctx context.Context, f Filter, by string, want page.Want) (page.Part[Event], error) {
	return s.read(ctx, Audit, f, by, want)
}

// EachAudit calls fn with every event of the audit that matches, in the order
// of want.Sort, page by page, so that a long one holds nothing up. It ends with
// the first error.
func (s *Service) EachAudit(ctx context.Context, f Filter, by string, want page.Want, fn func(Event) error) error {
	for {
		part, err := s.Audit(ctx, f, by, want)
		if err != nil {
			return err
		}
		for _, e := range part.Rows {
			if err := fn(e); err != nil {
				return err
			}
		}
		if want.Cursor = part.Next; want.Cursor == "" {
			return nil
		}
	}
}

func (s *Service) read(ctx context.Context, class Class, f Filter, by string, want page.Want) (page.Part[Event], error) {
	var part page.Part[Event]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		f.Class = class
		if f.ActorIDs, err = actorIDs(ctx, q, by); err != nil {
			return err
		}
		part, err = Read(ctx, q, f, want)
		return err
	})
	return part, err
}

// actorIDs turns a name into ids, none for the empty name.
func actorIDs(ctx context.Context, q db.Queryer, by string) ([]string, error) {
	switch by {
	case "":
		return nil, nil
	case "me":
		return []string{actor.From(ctx).ID}, nil
	case actor.System.ID, actor.Anonymous.ID:
		return []string{by}, nil
	}
	if actor.OwnEmailOnly(ctx, by) {
		id, err := findOwn(ctx, q, by)
		return []string{id}, err
	}
	ids, err := findActors(ctx, q, by)
	if err == nil && len(ids) == 0 {
		err = ErrActor.With("Give a user's id or email, an agent_id, me or system.")
	}
	return ids, err
}
