package hold

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/settings"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	AgentModel(ctx context.Context, agentID string) (gateway.AgentModel, error)
	PatchAgentModel(ctx context.Context, agentID string, is gateway.AgentModel, p gateway.ModelPatch, note string) error
	ListSessions(ctx context.Context, most int) (gateway.Sessions, error)
	StopSession(ctx context.Context, sessionKey, runID string) (ids []string, stopped bool, err error)
	CancelTasks(ctx context.Context, agentID string) (int, error)
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	ChangeJob(ctx context.Context, id string, change gateway.JobChange, revision string) (gateway.Job, error)
}

// Service holds and releases agents. Do not change its exported fields after first use.
type Service struct {
	DB      *db.DB
	Jobs    *job.Queue // its workers carry out the runtime's half
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time

	// CheckAgent returns gateway.ErrNoAgent unless agent.Service.Get finds the agent. The list of agents
	// shows their holds, so that package comes after this one.
	CheckAgent func(ctx context.Context, agentID string) error
	Settings   *settings.Service
	Lists      *mirror.Sessions // the runtime's sessions

	Settle time.Duration // how long the agent must be quiet before the hold is complete; default 5 s
	Space  time.Duration // pause between two changes of the gateway's configuration; default 3 s
}

// Event kinds. The subject of each event is the agent.
const (
	eventHeld      = "agent.held"
	eventChanged   = "agent.hold_changed"
	eventReleasing = "agent.release_requested"
	eventReleased  = "agent.released"
)

// Hold holds an agent for the caller. If the agent is held already, it only replaces the reason.
func (s *Service) Hold(ctx context.Context, agentID, reason string) (Hold, error) {
	reason = strings.TrimSpace(plaintext.Line(reason))
	var bad fault.Fields
	if reason == "" {
		bad.Add("/reason", "Say why, so that others know when to release the agent.")
	}
	if err := bad.Err(); err != nil {
		return Hold{}, err
	}
	if err := s.CheckAgent(ctx, agentID); err != nil {
		return Hold{}, err
	}
	return db.Do(ctx, s.DB, "hold agent", func(tx *db.Tx) (Hold, error) {
		if err := s.HoldIn(ctx, tx, agentID, reason); err != nil {
			return Hold{}, err
		}
		h, err := s.Find(ctx, tx, agentID)
		if err != nil {
			return Hold{}, err
		}
		return *h, nil
	})
}

// HoldIn holds an agent in the caller's transaction, in the name of the context's actor. Wardroom's
// half is in force with the transaction; a job carries out the runtime's half.
func (s *Service) HoldIn(ctx context.Context, tx *db.Tx, agentID, reason string) error {
	agentID = strings.ToLower(agentID)
	by, now := actor.From(ctx), clock.At(s.Now())
	if !by.Known() {
		by = actor.System
	}
	h := Hold{
		id: db.NewID(), agentID: agentID, Reason: reason, byID: by.ID, By: by.Name, Since: now, State: Held, Runtime: Pending,
	}
	was, err := find(ctx, tx, agentID)
	switch {
	case err != nil:
		return err
	case was != nil && was.State == Held && was.Reason == reason:
		return nil
	case was != nil:
		h.id, h.before = was.id, was.before
		if was.State == Held {
			h.Since, h.Runtime, h.Detail = was.Since, was.Runtime, was.Detail
		}
		err = update(ctx, tx, h, &now)
	default:
		err = insert(ctx, tx, h)
	}
	if err != nil {
		return fmt.Errorf("store the hold of an agent: %w", err)
	}
	if _, err := s.Jobs.Enqueue(ctx, tx, kindHold, agentID, nil); err != nil {
		return err
	}
	return s.record(ctx, tx, eventHeld, h, map[string]any{"reason": reason})
}

// Release releases an agent. Wardroom's half ends when the runtime is as it was before the hold.
func (s *Service) Release(ctx context.Context, agentID string) (*Hold, error) {
	return db.Do(ctx, s.DB, "release agent", func(tx *db.Tx) (*Hold, error) {
		h, err := s.Find(ctx, tx, agentID)
		if err != nil {
			return nil, err
		}
		if h == nil {
			return nil, ErrNotHeld.With("Someone may have released it. Reload the page.")
		}
		if h.State == Releasing {
			return h, nil
		}
		now := clock.At(s.Now())
		h.State = Releasing
		if err := update(ctx, tx, *h, &now); err != nil {
			return nil, err
		}
		if _, err := s.Jobs.Enqueue(ctx, tx, kindHold, h.agentID, nil); err != nil {
			return nil, err
		}
		return h, s.record(ctx, tx, eventReleasing, *h, nil)
	})
}

// Check returns ErrHeld if the agent is held.
func (s *Service) Check(ctx context.Context, q db.Queryer, agentID string) error {
	h, err := s.Find(ctx, q, agentID)
	if err != nil || h == nil {
		return err
	}
	return h.Err()
}

// Find returns the hold of an agent, or nil.
func (s *Service) Find(ctx context.Context, q db.Queryer, agentID string) (*Hold, error) {
	return find(ctx, q, strings.ToLower(agentID))
}

// All returns the holds in force by agent.
func (s *Service) All(ctx context.Context) (map[string]Hold, error) {
	holds, err := all(ctx, s.DB)
	out := make(map[string]Hold, len(holds))
	for _, h := range holds {
		out[h.agentID] = h
	}
	return out, err
}

// record records an event about a hold. Acts of people and limits also go to the audit log.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, h Hold, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	data["hold"] = h
	if kind != eventChanged {
		if err := event.Record(ctx, tx, s.Now(), event.Audit, kind, h.subject(), data); err != nil {
			return err
		}
	}
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, h.subject(), data)
}
