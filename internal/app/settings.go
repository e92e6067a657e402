package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/settings"
)

// newSettings creates the settings service.
func (a *App) newSettings() *settings.Service {
	return &settings.Service{
		DB: a.DB, Runtime: a.Gateway, Keys: keysOf(a.cfg, a.DB.Engine()), Log: a.log, Now: a.opts.Now,
		Fixed: fixedSettings(a.cfg, a.opts.Demo), Accounts: a.Accounts,
		Changed: func() { a.Pairing.Follow() },
	}
}

// configuredDays returns the numbers of days of the retention policies, each once.
func (a *App) configuredDays() []settings.ConfiguredDays {
	var out []settings.ConfiguredDays
	for _, p := range a.policies() {
		d := settings.ConfiguredDays{Setting: p.Setting, Days: p.Days, Fixed: a.cfg.Set[p.Setting]}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// fixedSettings returns the settings that cannot be changed in the dashboard.
func fixedSettings(cfg config.Config, demo bool) settings.Fixed {
	return settings.Fixed{
		URL: cfg.GatewayURL, Token: cfg.GatewayToken.Reveal(), DeviceToken: cfg.DeviceToken != "", Demo: demo,
	}
}

// storedConnection returns the gateway's address and token, and Wardroom's device, as the
// running service would use them. If the database cannot be read, it returns an error and
// what the settings contain.
func storedConnection(ctx context.Context, cfg config.Config) (link.Endpoint, link.Identity, error) {
	const limit = 10 * time.Second
	at, id := link.Endpoint{URL: cfg.GatewayURL, Token: cfg.GatewayToken.Reveal()}, link.Identity{}
	if cfg.DatabaseURL == "" || cfg.DeviceKey != nil && cfg.GatewayURL != "" && cfg.GatewayToken != "" {
		return at, id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d, err := db.OpenReadOnly(ctx, cfg.DatabaseURL.Reveal())
	if errors.Is(err, fs.ErrNotExist) {
		return at, id, nil // Wardroom has not run here
	}
	if err != nil {
		return at, id, err
	}
	defer d.Close()
	keys := keysOf(cfg, d.Engine())
	stored, err := settings.Endpoint(ctx, d, keys, fixedSettings(cfg, false))
	if !db.IsNoTable(err) { // otherwise the database was created by an earlier version
		at = stored
	} else {
		err = nil
	}
	if cfg.DeviceKey != nil || at.URL == "" {
		return at, id, err
	}
	id, trouble := pairing.Stored(ctx, d, keys, at.URL)
	if db.IsNoTable(trouble) {
		trouble = nil
	}
	return at, id, errors.Join(err, trouble)
}
