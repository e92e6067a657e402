package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// keyFile is the name of a file in DATA_DIR. If ENCRYPTION_KEY is not set, this file
// holds the key that encrypts secrets.
const keyFile = "encryption.key"

// keysOf returns the source of the keys that encrypt stored secrets. With PostgreSQL
// there is no key file, because replicas do not share a folder.
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

// wirePairing creates the pairing service and loads the stored device identity. The
// gateway client needs this identity before it connects for the first time.
func (a *App) wirePairing(ctx context.Context) error {
	keys := keysOf(a.cfg, a.DB.Engine())
	if said := keys.Warning(); said != "" {
		a.log.WarnContext(ctx, "encryption", "warning", said)
	}
	a.Pairing = &pairing.Service{
		DB: a.DB, Runtime: a.Gateway, Keys: keys, Log: a.log, Now: a.opts.Now,
	}
	if key := a.cfg.DeviceKey.Reveal(); key != nil {
		a.Pairing.Own = ed25519.PublicKey(key[ed25519.SeedSize:])
	}
	a.Gateway.OnDeviceEvent(a.Pairing.HandleEvent)
	return a.Pairing.Load(ctx)
}

// Examine checks the connection to the agent runtime with the given settings, those that
// were changed in the dashboard, and the stored device identity. Wardroom does not need to
// be running. Examine checks one layer after another, such as DNS and TLS, and calls the
// function report with each result. It returns an error only if the settings are invalid or
// ctx ends. If what is stored cannot be read, the returned Examination contains a warning.
func Examine(ctx context.Context, cfg config.Config, report func(link.Step)) (link.Examination, error) {
	client, err := gateway.New(gatewayOptions(cfg, nil, link.Backoff{}))
	if err != nil {
		return link.Examination{}, fmt.Errorf("invalid AGENTRT_GATEWAY_* settings: %w", err)
	}
	at, id, trouble := storedConnection(ctx, cfg)
	if err := client.SetEndpoint(at); err != nil {
		trouble = errors.Join(trouble, err)
	}
	client.SetIdentity(id)
	found, err := client.Examine(ctx, report)
	if err == nil && trouble != nil && found.Configured {
		found.Warnings = append(found.Warnings, link.Finding{
			Layer: link.LayerPairing,
			Cause: fmt.Sprintf("Could not read what Wardroom has stored about the gateway, so the checks ran without it: %s",
				trouble),
			Fix: "Run the command on Wardroom's machine with its settings (DATA_DIR, DATABASE_URL, ENCRYPTION_KEY), or call GET /api/v1/agentrt/doctor.",
		})
	}
	return found, err
}
