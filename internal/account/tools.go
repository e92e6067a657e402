package account

import (
	"context"
	"fmt"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// NoteTools notes that the caller's API key called the tools for agents. It stores that in the
// background, or before it returns if now is true.
func (s *Service) NoteTools(ctx context.Context, now bool) error {
	id, at := actor.From(ctx).Key, s.Now()
	switch {
	case id == "": // a token
		return nil
	case !now:
		s.notes.used(use{tools: true, id: id}, nil, at, noteInterval)
		return nil
	}
	if err := s.DB.Tx(ctx, func(tx *db.Tx) error { return touchTools(ctx, tx, id, at) }); err != nil {
		return fmt.Errorf("store the use of the tools: %w", err)
	}
	return nil
}

// ToolServer returns the name of an agent's tool server in the gateway's configuration. It begins the
// names of the agent's tools.
func ToolServer(agentID string) string { return "wr-" + agentID }

// ToolPrefix returns how the names of an agent's tools begin, or an empty string if the agent has not
// called its tools with a key that is still usable.
func (s *Service) ToolPrefix(ctx context.Context, q db.Queryer, agentID string) (string, error) {
	uses, err := s.ToolUses(ctx, q)
	if err != nil || uses[agentID] == nil {
		return "", err
	}
	return ToolServer(agentID) + "__", nil
}

// ToolUses returns the agents that have a usable API key, and when each last called the tools with
// one; nil if it never did.
func (s *Service) ToolUses(ctx context.Context, q db.Queryer) (map[string]*clock.Time, error) {
	return usableKeys(ctx, q, s.Now())
}
