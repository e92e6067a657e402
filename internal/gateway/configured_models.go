package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/wire"
)

// ConfiguredModels are the models that the gateway's configuration names for an agent. A name without
// a provider can be an alias.
type ConfiguredModels struct {
	Primary   string // "provider/model"; empty if the gateway does not report it
	Fallbacks []string
	Others    []string // of heartbeats, sub-agents, and other purposes; sorted
}

// ConfiguredModels returns the configured models by agent. It requires the scope operator.read.
func (c *Client) ConfiguredModels(ctx context.Context) (map[string]ConfiguredModels, error) {
	var list roster
	if err := c.call(ctx, "agents.list", struct{}{}, &list); err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	var file struct {
		Parsed struct {
			Agents struct {
				Defaults json.RawMessage            `json:"defaults"`
				Entries  map[string]json.RawMessage `json:"entries"`
			} `json:"agents"`
		} `json:"parsed"`
	}
	if err := c.call(ctx, "config.get", struct{}{}, &file); err != nil {
		return nil, fmt.Errorf("read the gateway's configuration: %w", err)
	}
	all := make(map[string]ConfiguredModels, len(list.Agents))
	for _, a := range list.Agents {
		primary, fallbacks := modelNames(a.Model)
		var others wire.Words
		for _, section := range []json.RawMessage{file.Parsed.Agents.Defaults, file.Parsed.Agents.Entries[a.ID]} {
			others = append(others, modelsWithin(section, true)...)
		}
		slices.Sort(others)
		all[a.ID] = ConfiguredModels{c.secrets.Line(string(primary)), c.lines(fallbacks), c.lines(slices.Compact(others))}
	}
	return all, nil
}

func (c *Client) lines(texts wire.Words) (lines []string) {
	for _, text := range texts {
		if text != "" {
			lines = append(lines, c.secrets.Line(string(text)))
		}
	}
	return lines
}

// modelsWithin returns the models in the members of an object whose names end in "model", at any
// depth. At the top, it skips the member "model", which is the agent's own.
func modelsWithin(raw json.RawMessage, top bool) (names wire.Words) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for key, value := range members {
		switch {
		case top && key == "model":
		case strings.HasSuffix(strings.ToLower(key), "model"):
			primary, fallbacks := modelNames(value)
			names = append(append(names, primary), fallbacks...)
		default:
			names = append(names, modelsWithin(value, false)...)
		}
	}
	return names
}

// modelNames returns the names in a model setting, which is a string or an object.
func modelNames(raw json.RawMessage) (primary wire.Word, fallbacks wire.Words) {
	var object struct {
		Primary   wire.Word  `json:"primary"`
		Fallbacks wire.Words `json:"fallbacks"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Primary, object.Fallbacks
	}
	_ = json.Unmarshal(raw, &primary) // anything else names no model
	return primary, nil
}
