package vault

import (
	"errors"

	"wardroom/internal/platform/fault"
)

// Errors for a request that has to store a secret.
var (
	// FaultNoKey means that no encryption key is configured.
	FaultNoKey = fault.New(fault.Unavailable, "encryption_key_missing", "No encryption key is configured.")
	// FaultKeyFile means that the encryption key file is invalid or unreadable.
	FaultKeyFile = fault.New(fault.Unavailable, "encryption_key_unusable",
		"Wardroom could not use the encryption key file.")
)

// HowToSetKey tells the operator how to configure an encryption key.
const HowToSetKey = "Set ENCRYPTION_KEY to the same value on every replica (create one with: openssl rand -base64 32), then restart Wardroom."

// Explain converts an error of Find or Make into a fault with instructions for the operator. It
// returns nil for nil.
func Explain(err error) error {
	switch {
	case err == nil || fault.Of(err) != nil:
		return err
	case errors.Is(err, ErrNoKey):
		return FaultNoKey.With(HowToSetKey)
	}
	return FaultKeyFile.With("%s", err)
}
