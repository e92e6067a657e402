package usage

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// Model is a language model that the runtime offers.
type Model struct {
	Provider  string     `json:"provider"`
	Model     string     `json:"model" doc:"The model's ID at the provider."`
	Name      string     `json:"name"`
	Window    *int64     `json:"context_limit" doc:"The context window in tokens; null if unknown."`
	Default   bool       `json:"default"`
	Available bool       `json:"available"`
	Estimate  *Price     `json:"estimate" doc:"The price for cost estimates; null if none is set."`
	AsOf      clock.Time `json:"as_of"`
}

// modelsFor is how long the list of models is cached. The list changes only when the runtime's
// configuration changes.
const modelsFor = time.Minute

// models caches the runtime's list of models.
type models struct {
	mu   sync.Mutex
	list []gateway.Model
	asOf time.Time
}

// Models returns the models that the runtime offers. It caches the list for a minute.
func (s *Service) Models(ctx context.Context) ([]Model, error) {
	list, asOf, err := s.modelList(ctx)
	if err != nil {
		return nil, err
	}
	prices, err := newestPrices(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	all := make([]Model, len(list))
	for i, m := range list {
		all[i] = Model{
			Provider: m.Provider, Model: m.ID, Name: m.Name, Default: m.Default, Available: m.Available,
			Estimate: prices.of(m.Provider, m.ID, s.Now()), AsOf: clock.At(asOf),
		}
		if m.Window > 0 {
			all[i].Window = &list[i].Window
		}
	}
	return all, nil
}

func (s *Service) modelList(ctx context.Context) ([]gateway.Model, time.Time, error) {
	m := &s.models
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := s.Now(); m.list == nil || now.Sub(m.asOf) >= modelsFor || now.Before(m.asOf) {
		list, err := s.Runtime.Models(ctx)
		if err != nil {
			return nil, time.Time{}, err
		}
		m.list, m.asOf = list, now
	}
	return m.list, m.asOf, nil
}
