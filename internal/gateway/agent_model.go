package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/fault"
)

// ErrConfigChanged means that the gateway's configuration changed after it was read. The
// request had no effect.
var ErrConfigChanged = fault.New(fault.Conflict, "gateway_config_changed",
	"The gateway's configuration has changed in the meantime.")

// AgentModel is what the gateway's configuration file says about the model of one agent.
// The raw values are as in the file; they are nil if the file does not have them.
type AgentModel struct {
	Hash   string          // identifies the configuration that was read
	Listed bool            // agents.entries has the agent
	Model  json.RawMessage // a name, or an object with primary and fallbacks
	Policy bool            // the agent has a modelPolicy
	Allow  json.RawMessage // modelPolicy.allow, a list of names
}

// AgentModel reads the configured model of an agent. It requires the scope operator.read.
func (c *Client) AgentModel(ctx context.Context, agentID string) (AgentModel, error) {
	var out struct {
		Hash   string `json:"hash"`
		Parsed struct {
			Agents struct {
				Entries map[string]*struct {
					Model  json.RawMessage `json:"model"`
					Policy *struct {
						Allow json.RawMessage `json:"allow"`
					} `json:"modelPolicy"`
				} `json:"entries"`
			} `json:"agents"`
		} `json:"parsed"`
	}
	if err := c.call(ctx, "config.get", struct{}{}, &out); err != nil {
		return AgentModel{}, fmt.Errorf("read the gateway's configuration: %w", err)
	}
	if out.Hash == "" {
		return AgentModel{}, link.ErrUnreadable("config.get")
	}
	m := AgentModel{Hash: out.Hash}
	if e := out.Parsed.Agents.Entries[agentID]; e != nil {
		m.Listed, m.Model = true, e.Model
		if e.Policy != nil {
			m.Policy, m.Allow = true, e.Policy.Allow
		}
	}
	return m, nil
}

// ModelPatch is a change of an agent's configured model. A nil value changes nothing, and
// null removes the value.
type ModelPatch struct {
	Model json.RawMessage
	Allow json.RawMessage // modelPolicy.allow
	// DropPolicy removes modelPolicy as a whole, and Allow is ignored.
	DropPolicy bool
}

// PatchAgentModel changes the configured model of an agent that the configuration lists, if the
// configuration is still the one that was read as is. Otherwise it returns ErrConfigChanged. It
// requires the scope operator.admin. It is safe to repeat after reading the configuration again.
func (c *Client) PatchAgentModel(ctx context.Context, agentID string, is AgentModel, p ModelPatch, note string) error {
	entry, path := map[string]any{}, "agents.entries."+agentID
	var replaced []string // the gateway refuses to shorten lists that are not named
	if p.Model != nil {
		entry["model"] = p.Model
		var was struct {
			Fallbacks []json.RawMessage `json:"fallbacks"`
		}
		if json.Unmarshal(is.Model, &was) == nil && len(was.Fallbacks) > 0 {
			replaced = append(replaced, path+".model.fallbacks")
		}
	}
	switch {
	case p.DropPolicy:
		entry["modelPolicy"] = nil
	case p.Allow != nil:
		entry["modelPolicy"] = map[string]any{"allow": p.Allow}
	}
	if (p.DropPolicy || p.Allow != nil) && is.Allow != nil {
		replaced = append(replaced, path+".modelPolicy.allow")
	}
	raw, err := json.Marshal(map[string]any{"agents": map[string]any{"entries": map[string]any{agentID: entry}}})
	if err != nil {
		return err
	}
	params := struct {
		Raw          string   `json:"raw"`
		BaseHash     string   `json:"baseHash"`
		Note         string   `json:"note"`
		ReplacePaths []string `json:"replacePaths,omitempty"`
	}{string(raw), is.Hash, note, replaced}
	var out struct{}
	if err := c.once(ctx, "config.patch", params, &out); err != nil {
		return fmt.Errorf("change the gateway's configuration: %w", err)
	}
	return nil
}

// CancelTasks ends the queued and running entries of an agent in the gateway's task ledger, and
// returns how many it ended. It requires the scope operator.write.
func (c *Client) CancelTasks(ctx context.Context, agentID string) (int, error) {
	list := struct {
		AgentID string   `json:"agentId"`
		Status  []string `json:"status"`
	}{agentID, []string{"queued", "running"}}
	var found struct {
		Tasks []ledgerTask `json:"tasks"`
	}
	if err := c.call(ctx, "tasks.list", list, &found); err != nil {
		return 0, fmt.Errorf("list the tasks of an agent: %w", err)
	}
	n := 0
	var failed error
	for _, t := range found.Tasks {
		switch ended, err := c.cancelTask(ctx, t); {
		case err != nil:
			failed = errors.Join(failed, err)
		case ended:
			n++
		}
	}
	return n, failed
}

// cancelTask cancels an entry of the gateway's task ledger. It returns false if the entry had ended.
func (c *Client) cancelTask(ctx context.Context, t ledgerTask) (bool, error) {
	params := struct {
		TaskID string `json:"taskId"`
	}{string(t.ID)}
	var out struct {
		Cancelled wire.Flag `json:"cancelled"`
	}
	err := c.once(ctx, "tasks.cancel", params, &out)
	return out.Cancelled.Is(), err
}
