package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway/wire"
)

// Agent is an agent in the gateway's list of agents.
type Agent struct {
	ID           string // such as "cto"
	Name         string // as configured; may be empty
	IdentityName string // the agent's own name for itself; may be empty
	Emoji        string
	Model        string // "provider/model"; empty when the gateway does not report it
	Default      bool   // handles requests that name no agent
}

// Agents returns the gateway's agents in the order in which the gateway lists them.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	var out roster
	if err := c.call(ctx, "agents.list", struct{}{}, &out); err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return out.agents(c.secrets), nil
}

type roster struct {
	DefaultID string `json:"defaultId"`
	Agents    []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Identity struct {
			Name  string `json:"name"`
			Emoji string `json:"emoji"`
		} `json:"identity"`
		Model json.RawMessage `json:"model"`
	} `json:"agents"`
}

func (r roster) agents(s *wire.Secrets) []Agent {
	agents := make([]Agent, 0, len(r.Agents))
	for _, a := range r.Agents {
		if a.ID == "" {
			continue
		}
		model, _ := modelNames(a.Model)
		agents = append(agents, Agent{
			ID:           s.Line(a.ID),
			Name:         s.Line(a.Name),
			IdentityName: s.Line(a.Identity.Name),
			Emoji:        s.Line(a.Identity.Emoji),
			Model:        s.Line(string(model)),
			Default:      a.ID == r.DefaultID,
		})
	}
	return agents
}
