package gateway

import (
	"context"
	"encoding/json"
	"fmt"
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
			ID        word   `json:"id"`
			Name      word   `json:"name"`
			Provider  word   `json:"provider"`
			Window    number `json:"contextWindow"`
			Tags      words  `json:"tags"`
			Available flag   `json:"available"`
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == "" {
			continue
		}
		model := Model{
			Provider: c.short(string(m.Provider)), ID: c.short(string(m.ID)), Name: c.short(string(m.Name)),
			Window: m.Window.count(), Available: m.Available != no,
		}
		for _, tag := range m.Tags {
			model.Default = model.Default || tag == "default"
		}
		list = append(list, model)
	}
	return list, nil
}
