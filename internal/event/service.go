package event

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Service gives users access to the log, as lists and as live streams. It must not be copied after
// first use. Streams receive events only while Run is running.
type Service struct {
	DB  *db.DB
	Now func() time.Time // for the expiry of tokens; nil means time.Now
	Log *slog.Logger     // nil disables logging
	// Current returns the states that a new stream receives first. It must not block. If Current is
	// nil, there are no such states. Later changes are sent with Publish.
	Current func() []State
	// Tasks returns the current tasks with the given IDs, by ID, as the API returns them. Tasks that no longer exist are
	// left out. If Tasks is nil, frames contain no tasks.
	Tasks  func(ctx context.Context, q db.Queryer, ids []string) (map[string]json.RawMessage, error)
	Limits Limits

	once sync.Once
	live *hub
}

// Followed returns the keys of the runtime sessions whose messages are selected by at least one
// stream in this process. The caller must not modify the result.
func (s *Service) Followed() []string {
	if keys := s.hub().keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// Activity returns one page of the activity that matches f and that the caller can see, newest
// first. The by parameter selects the actor: a user's ID or email, an agent_id, "me", "system", or
// "" for all actors. The class and actors in f are ignored.
func (s *Service) Activity(ctx context.Context, f Filter, by string, want page.Want) (page.Part[Event], error) {
	f.hidden = hiddenFrom(actor.From(ctx).Role)
	return s.read(ctx, Activity, f, by, want)
}

// Audit returns one page of the audit log. Its parameters are the same as for Activity.
func (s *Service) Audit(ctx context.Context, f Filter, by string, want page.Want) (page.Part[Event], error) {
	return s.read(ctx, Audit, f, by, want)
}

// EachAudit calls fn with every matching event of the audit log, in the order of want.Sort, and
// stops at the first error. It reads page by page, so that each query is short.
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

func (s *Service) read(
	ctx context.Context, class Class, f Filter, by string, want page.Want,
) (page.Part[Event], error) {
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

// actorIDs returns the IDs of the actors that Activity's by parameter identifies, or nil if the parameter is empty.
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
		err = ErrActor.With("Specify a user's ID or email, an agent_id, \"me\", or \"system\".")
	}
	return ids, err
}
