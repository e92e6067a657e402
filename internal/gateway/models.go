package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway/wire"
)

// Model is a language model that the gateway can use.
type Model struct {
	Provider, ID, Name string
	Window             int64 // context window in tokens; 0 when unknown
	Default            bool
	Available          bool // false when the gateway reports it as unusable
}

// Models lists the models that the gateway can use. It requires the scope operator.read.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var out struct {
		Models []json.RawMessage `json:"models"`
	}
	if err := c.call(ctx, "models.list", struct{}{}, &out); err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	list := make([]Model, 0, len(out.Models))
	for _, raw := range out.Models {
		var m struct {
			ID        wire.Word   `json:"id"`
			Name      wire.Word   `json:"name"`
			Provider  wire.Word   `json:"provider"`
			Window    wire.Number `json:"contextWindow"`
			Tags      wire.Words  `json:"tags"`
			Available wire.Flag   `json:"available"`
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == "" {
			continue
		}
		model := Model{
			Provider: c.short(string(m.Provider)), ID: c.short(string(m.ID)), Name: c.short(string(m.Name)),
			Window: m.Window.Count(), Available: m.Available != wire.No,
		}
		for _, tag := range m.Tags {
			model.Default = model.Default || tag == "default"
		}
		list = append(list, model)
	}
	return list, nil
}
