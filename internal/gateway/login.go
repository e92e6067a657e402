package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// Login is what the gateway knows about an agent's access to a provider of models.
type Login struct {
	Provider string // as in the names of models
	Name     string // of the provider, for texts
	State    string // ok, expiring, expired, missing, or static for a key without an end
	// EndsAt is when the login ends. It is nil if the gateway does not know, or if the login
	// may renew itself.
	EndsAt *clock.Time
}

// Logins lists an agent's access to the providers of models. Logins are per agent. The gateway does
// not test them, so a key that was revoked is not noticed. It requires the scope operator.read.
func (c *Client) Logins(ctx context.Context, agentID string) ([]Login, error) {
	var out struct {
		Providers []json.RawMessage `json:"providers"`
	}
	params := struct {
		AgentID string `json:"agentId"`
	}{agentID}
	if err := c.call(ctx, "models.authStatus", params, &out); err != nil {
		return nil, fmt.Errorf("read the logins of an agent: %w", err)
	}
	list := make([]Login, 0, len(out.Providers))
	for _, raw := range out.Providers {
		var p struct {
			Provider wire.Word `json:"provider"`
			Name     wire.Word `json:"displayName"`
			Status   wire.Word `json:"status"`
			Expiry   struct {
				At wire.Number `json:"at"`
			} `json:"expiry"`
			Profiles []struct {
				Type wire.Word `json:"type"`
			} `json:"profiles"`
		}
		if json.Unmarshal(raw, &p) != nil || p.Provider == "" {
			continue
		}
		l := Login{
			Provider: c.short(string(p.Provider)), Name: c.short(string(first(p.Name, p.Provider))),
			State: c.short(string(p.Status)), EndsAt: p.Expiry.At.TimeOrNil(),
		}
		for _, profile := range p.Profiles {
			if profile.Type == "oauth" {
				l.EndsAt = nil
			}
		}
		list = append(list, l)
	}
	return list, nil
}
