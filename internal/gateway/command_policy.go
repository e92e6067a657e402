package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// CommandPolicy says whether the agents of the runtime ask before they run a command.
type CommandPolicy struct {
	Mode   string            // deny, allowlist, ask, auto or full
	Agents map[string]string // modes of agents that differ from Mode, by agent
}

// Asks reports whether agents in a mode ask a person before they run some commands.
func Asks(mode string) bool { return mode == "ask" || mode == "auto" }

// execSettings are the settings tools.exec of the runtime or of an agent.
type execSettings struct {
	Mode     wire.Word `json:"mode"`
	Security wire.Word `json:"security"` // with Ask, the older form of Mode
	Ask      wire.Word `json:"ask"`
}

// mode returns the mode that the settings set, or an empty string if they set none.
func (e execSettings) mode() string {
	switch {
	case slices.Contains([]string{"deny", "allowlist", "ask", "auto", "full"}, string(e.Mode)):
		return string(e.Mode)
	case e.Ask != "" && e.Ask != "off":
		return "ask"
	case e.Security == "deny" || e.Security == "allowlist" || e.Security == "full":
		return string(e.Security)
	}
	return ""
}

// CommandPolicy reads the policy from the runtime's configuration.
func (c *Client) CommandPolicy(ctx context.Context) (CommandPolicy, error) {
	type tools struct {
		Exec execSettings `json:"exec"`
	}
	type configured struct {
		Tools  tools `json:"tools"`
		Agents struct {
			Entries map[string]struct {
				Tools tools `json:"tools"`
			} `json:"entries"`
		} `json:"agents"`
	}
	var out struct {
		Config json.RawMessage `json:"config"`
		Parsed json.RawMessage `json:"parsed"`
	}
	if err := c.call(ctx, "config.get", struct{}{}, &out); err != nil {
		return CommandPolicy{}, fmt.Errorf("read the runtime's configuration: %w", err)
	}
	if len(out.Config) == 0 {
		out.Config = out.Parsed
	}
	var is configured
	if json.Unmarshal(out.Config, &is) != nil {
		return CommandPolicy{}, link.ErrUnreadable("config.get")
	}
	p := CommandPolicy{Mode: is.Tools.Exec.mode(), Agents: map[string]string{}}
	if p.Mode == "" {
		p.Mode = "full" // the runtime's default
	}
	for id, a := range is.Agents.Entries {
		if mode := a.Tools.Exec.mode(); mode != "" && mode != p.Mode {
			p.Agents[c.short(id)] = mode
		}
	}
	return p, nil
}
