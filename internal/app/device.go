package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// keyFile is the name of the key in DATA_DIR that encrypts secrets where no
// ENCRYPTION_KEY is set.
const keyFile = "encryption.key"

// keysOf is where the keys come from that encrypt secrets at rest. Replicas have
// no folder in common, so that with PostgreSQL there is no file.
func keysOf(cfg config.Config, engine db.Engine) vault.Source {
	s := vault.Source{Key: cfg.EncryptionKey.Reveal()}
	for _, old := range cfg.EncryptionKeyOld {
		s.Old = append(s.Old, old.Reveal())
	}
	if engine == db.SQLite {
		s.File = filepath.Join(cfg.DataDir, keyFile)
	}
	return s
}

// wirePairing fills the service of our device, which the client is given before it
// first connects.
func (a *App) wirePairing(ctx context.Context) error {
	a.Pairing = &pairing.Service{
		DB: a.DB, Runtime: a.Gateway, Keys: keysOf(a.cfg, a.DB.Engine()), Log: a.log, Now: a.opts.Now,
		Gateway: a.cfg.GatewayURL, Shared: a.cfg.GatewayToken != "",
		Away: func(err error) bool { return a.outage.notice("the pairing", err) },
	}
	if key := a.cfg.DeviceKey.Reveal(); key != nil {
		a.Pairing.Own = ed25519.PublicKey(key[ed25519.SeedSize:])
	}
	a.Gateway.OnDeviceEvent(a.Pairing.HandleEvent)
	return a.Pairing.Load(ctx)
}

// Examine finds out what stands between this machine and the agent runtime,
// without a running service, with the settings of the connection and the device
// that the service has stored. tell is called with each layer as it is known. The
// errors are those of an address that cannot be used, and the end of ctx. That
// the device cannot be read is a warning of the examination.
func Examine(ctx context.Context, cfg config.Config, tell func(gateway.Step)) (gateway.Examination, error) {
	client, err := gateway.New(gatewayOptions(cfg, nil, gateway.Backoff{}))
	if err != nil {
		return gateway.Examination{}, fmt.Errorf("AGENTRT_GATEWAY_URL and the settings beside it: %w", err)
	}
	id, trouble := storedDevice(ctx, cfg)
	client.SetIdentity(id)
	found, err := client.Examine(ctx, tell)
	if err == nil && trouble != nil && found.Configured {
		found.Warnings = append(found.Warnings, gateway.Finding{
			Layer: gateway.LayerPairing,
			Cause: fmt.Sprintf("Whether this service has made a device of its own cannot be seen, so that it was examined without one: %s", trouble),
			Fix:   "Run this where the service runs, with its settings (DATA_DIR, DATABASE_URL, ENCRYPTION_KEY), or ask GET /api/v1/agentrt/doctor of the service itself.",
		})
	}
	return found, err
}

// storedDevice reads the device that the service has stored; the zero Identity is
// none. Nothing is looked for where the settings hold one.
func storedDevice(ctx context.Context, cfg config.Config) (gateway.Identity, error) {
	const patience = 10 * time.Second
	if cfg.DeviceKey != nil || cfg.GatewayURL == "" || cfg.DatabaseURL == "" {
		return gateway.Identity{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := db.OpenReadOnly(ctx, cfg.DatabaseURL.Reveal())
	if errors.Is(err, fs.ErrNotExist) {
		return gateway.Identity{}, nil // no service has run here
	}
	if err != nil {
		return gateway.Identity{}, err
	}
	defer d.Close()
	id, err := pairing.Stored(ctx, d, keysOf(cfg, d.Engine()), cfg.GatewayURL)
	if db.IsNoTable(err) {
		return gateway.Identity{}, nil // one of an earlier version has
	}
	return id, err
}
