package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/account"
	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// toolUser is an agent that may be connected to the tools.
type toolUser struct {
	agent.Agent

	key    bool        // it has a usable API key
	usedAt *clock.Time // when it last called the tools
}

// Connection is how an agent is connected to the tools.
type Connection struct {
	AgentID  string      `json:"agent_id" example:"cto"`
	UserID   *string     `json:"user_id" doc:"The agent's account, which owns its API keys; null without one."`
	Key      bool        `json:"usable_key" doc:"Whether the agent has an API key that is neither revoked nor expired."`
	UsedAt   *clock.Time `json:"tools_used_at" doc:"When the agent last called the tools; null if it never did with a usable key."`
	Variable string      `json:"variable" example:"WARDROOM_KEY_CTO" doc:"The environment variable of the gateway that has the key."`
	Config   string      `json:"config" doc:"JSON to add to the gateway's configuration. It has the agent's server, and denies each agent the servers of the others. It contains no secret."`
}

// variable returns the name of the environment variable for an agent's key.
func variable(agentID string) string {
	return "WARDROOM_KEY_" + strings.ToUpper(strings.ReplaceAll(agentID, "-", "_"))
}

// Connection returns how the agent is connected, and the configuration that connects it.
func (s *Service) Connection(ctx context.Context, agentID string) (Connection, error) {
	a, all, err := s.agent(ctx, agentID)
	if err != nil {
		return Connection{}, err
	}
	c := Connection{AgentID: a.AgentID, Key: a.key, UsedAt: a.usedAt, Variable: variable(a.AgentID)}
	if a.Account != nil {
		c.UserID = &a.Account.UserID
	}
	c.Config = s.config(a, all)
	return c, nil
}

// agent returns an agent, and all agents.
func (s *Service) agent(ctx context.Context, agentID string) (toolUser, []agent.Agent, error) {
	all, err := s.Agents.List(ctx)
	if err != nil {
		return toolUser{}, nil, err
	}
	i := slices.IndexFunc(all, func(a agent.Agent) bool { return a.AgentID == agentID })
	if i < 0 {
		return toolUser{}, nil, gateway.ErrNoAgent.With("GET /agents lists the available agents.")
	}
	uses, err := s.Accounts.ToolUses(ctx, s.DB)
	used, has := uses[agentID]
	return toolUser{all[i], has, used}, all, err
}

// config returns the part of the gateway's configuration that connects the agent. It denies the
// servers of the others to every agent of the gateway, because Wardroom knows a caller only by its
// key: an agent that can use another's server acts in the other's name. While the gateway is
// unreachable, an agent that it had before counts as one of its agents.
func (s *Service) config(a toolUser, all []agent.Agent) string {
	var entries []string
	for _, one := range all {
		if one.AsOf == nil && one.AgentID != a.AgentID {
			continue // an entry would create the agent
		}
		var deny []string
		for _, other := range all {
			if other.Account != nil && other.AgentID != one.AgentID {
				deny = append(deny, quoted(account.ToolServer(other.AgentID)+"__*"))
			}
		}
		if len(deny) > 0 {
			entries = append(entries,
				fmt.Sprintf(`      %s: { "tools": { "deny": [%s] } }`, quoted(one.AgentID), strings.Join(deny, ", ")))
		}
	}
	agents := ""
	if len(entries) > 0 {
		agents = "  \"agents\": {\n    \"entries\": {\n" + strings.Join(entries, ",\n") + "\n    }\n  },\n"
	}
	server, token := quoted(account.ToolServer(a.AgentID)), quoted("Bearer ${"+variable(a.AgentID)+"}")
	return fmt.Sprintf(configText, server, quoted(s.address()+"/mcp"), token, agents)
}

// configText is laid out by hand, because an encoder would put each denied server on a line of its own.
const configText = `{
  "mcp": {
    "servers": {
      %s: {
        "url": %s,
        "transport": "streamable-http",
        "headers": { "Authorization": %s },
        "connectionTimeoutMs": 5000,
        "requestTimeoutMs": 30000
      }
    }
  },
%s  "tools": { "toolSearch": false }
}
`

// address returns the address at which the gateway reaches Wardroom, or a variable of the gateway if it
// is unknown.
func (s *Service) address() string {
	return cmp.Or(s.URL.String(), "${WARDROOM_URL}")
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(data)
}
