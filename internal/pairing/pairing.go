// Package pairing makes this service a device that the agent runtime trusts, so
// that it may run on another machine than the runtime: an operator asks for it
// here, approves it once over there, and nothing has to be copied.
//
// The device's private key and the token that the gateway gives it are stored
// encrypted (platform/vault). The gateway's client uses them; every replica is
// the same device.
package pairing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/vault"
)

// The failures of pairing.
var (
	// ErrSettings means that the settings say which device this is. They win.
	ErrSettings = fault.New(fault.Conflict, "pairing_in_settings", "The settings hold the device already.")
	// ErrNone means that there is no device to do this with.
	ErrNone = fault.New(fault.NotFound, "pairing_none", "This service has no device of its own.")
	// ErrNotPaired means that a device cannot be replaced that was never let in.
	ErrNotPaired = fault.New(fault.Conflict, "pairing_not_done", "The device is not paired yet.")
	// ErrNeedsToken means that the gateway would not look at another device.
	ErrNeedsToken = fault.New(fault.Conflict, "pairing_needs_token", "This needs the gateway's shared token.")
	// ErrNoKey means that there is nothing to encrypt with.
	ErrNoKey = fault.New(fault.Unavailable, "encryption_key_missing", "There is no key to encrypt secrets with.")
	// ErrOtherKey means that the device is stored, and cannot be read here.
	ErrOtherKey = fault.New(fault.Unavailable, "encryption_key_wrong", "The stored device cannot be read with the key that this service has.")
	// ErrKeyFile means that the key file is not fit to be used.
	ErrKeyFile = fault.New(fault.Unavailable, "encryption_key_unusable", "The key file cannot be used.")
)

// State says how far the pairing is.
type State string

// The states.
const (
	None       State = "none"       // there is no device: the shared token alone is shown
	Settings   State = "settings"   // the device stands in the settings, which win
	Made       State = "made"       // there is one, and the gateway has not said anything of it yet
	Pending    State = "pending"    // somebody has to approve it on the gateway's host
	Paired     State = "paired"     // the gateway has approved it
	Local      State = "local"      // the gateway lets it in without an approval, as on its own host
	Unreadable State = "unreadable" // it is stored, and the key to read it is not here
)

// Pairing is what this service is to the gateway, and what is missing.
type Pairing struct {
	State  State       `json:"state" enum:"none,settings,made,pending,paired,local,unreadable" doc:"none: there is no device, and the shared token alone is shown. settings: the device stands in AGENTRT_DEVICE_PRIVATE_KEY, and nothing of it is changed here. made: the gateway has not said anything of it yet. pending: somebody has to approve it on the gateway's host. paired: it is approved. local: it was let in without an approval, as on the gateway's own host. unreadable: it is stored, and cannot be read with the key that this service has."`
	Since  *clock.Time `json:"since" doc:"Since when it is so: when the device was made, or first let in; null when there is none of ours."`
	Detail string      `json:"detail" doc:"What that means and what to do, in words."`
	Device *Device     `json:"device" doc:"The device; null when there is none."`

	Connection gateway.State    `json:"connection" enum:"not_configured,connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"How the connection of this process is doing, as GET /agentrt/status tells at length."`
	Auth       string           `json:"auth" enum:"none,token,device_token" doc:"With which credential the last attempt to connect was made."`
	TokenSince *clock.Time      `json:"token_since" doc:"Since when the device's token is kept; null when none is."`
	Request    *gateway.Pairing `json:"request" doc:"What waits for approval on the gateway's host, with the command to run there; else null."`

	Asked       []string             `json:"scopes_asked" nullable:"false" doc:"The scopes that we ask for (AGENTRT_GATEWAY_SCOPES)."`
	Granted     []string             `json:"scopes_granted" nullable:"false" doc:"The scopes that we have: granted on the last connection, or approved already while a request waits."`
	Connections []gateway.Connection `json:"connections" nullable:"false" doc:"The connections of this process to the gateway, which are one device: each with its scopes."`

	Missing []Missing `json:"scopes_missing" nullable:"false" doc:"The scopes that something needs and that we do not have; empty while nobody can say."`

	Next     *Next     `json:"next" doc:"The device that is to replace this one, and waits for its approval; null when none is."`
	Replaced *Reminder `json:"replaced" doc:"The device that this one has replaced; the gateway may still know it. Null when there was none."`
}

// Device is who we are to the gateway. None of it is a secret.
type Device struct {
	ID          string      `json:"device_id" doc:"As the gateway lists it: the SHA-256 of the public key, in hex."`
	PublicKey   string      `json:"public_key" doc:"Ed25519, in base64url without padding, as the gateway lists it."`
	Fingerprint string      `json:"fingerprint" doc:"The same SHA-256 as people compare it: AB:CD:…"`
	MadeAt      *clock.Time `json:"made_at" doc:"When it was made; null when it stands in the settings."`
	Remove      string      `json:"remove_command" doc:"What to run on the gateway's host to have it forgotten there."`
}

// Missing is a scope that we do not have.
type Missing struct {
	Scope     string   `json:"scope" example:"operator.admin"`
	Asked     bool     `json:"asked" doc:"Whether we ask for it."`
	NeededFor []string `json:"needed_for" nullable:"false" doc:"What does not work without it, in words."`
	Fix       string   `json:"fix" doc:"What to do to get it."`
}

// Next is a device that waits to replace the present one.
type Next struct {
	Device  Device           `json:"device"`
	Request *gateway.Pairing `json:"request" doc:"What to approve, with the command; null until the gateway has been asked, and when it does not answer."`
	Error   string           `json:"error" doc:"What the gateway, or the way to it, last said; empty before it was asked."`
}

// Reminder is a device that this service is done with.
type Reminder struct {
	ID     string `json:"device_id"`
	Remove string `json:"remove_command" doc:"What to run on the gateway's host to have it forgotten there."`
}

// Forgotten is what remains to be done after a device was forgotten here.
type Forgotten struct {
	Devices []Reminder `json:"devices" nullable:"false" doc:"What the gateway may still know."`
	Detail  string     `json:"detail" doc:"What that means, in words."`
}

// deviceOf describes a public key.
func deviceOf(public []byte) Device {
	sum := sha256.Sum256(public)
	id := hex.EncodeToString(sum[:])
	return Device{
		ID: id, PublicKey: base64.RawURLEncoding.EncodeToString(public), Remove: removal(id),
		Fingerprint: strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":"),
	}
}

func removal(deviceID string) string { return "openclaw devices remove " + deviceID }

func reminder(deviceID string) Reminder { return Reminder{deviceID, removal(deviceID)} }

// The places of secrets in the database, for their seals: a key or a token that
// is moved to another device's row does not open there.
func keyPlace(deviceID string) string   { return "pairing/device-key/" + deviceID }
func tokenPlace(deviceID string) string { return "pairing/device-token/" + deviceID }

// keyFault turns what a vault says into what its operator can do.
func keyFault(err error) error {
	switch {
	case err == nil || fault.Of(err) != nil:
		return err
	case errors.Is(err, vault.ErrNoKey):
		return ErrNoKey.With("Set ENCRYPTION_KEY, to the same in every process of this service (for example the output of: openssl rand -base64 32), and restart.")
	case errors.Is(err, vault.ErrOtherKey), errors.Is(err, vault.ErrBroken):
		return ErrOtherKey.With("%s", unreadable(err))
	}
	return ErrKeyFile.With("%s", err)
}

// howToPair is what makes this service a device, in the words of the button.
const howToPair = "“Pair this service” in the dashboard, under Settings → Gateway, makes it one."

// unreadable says why a stored device cannot be read, and what to do.
func unreadable(err error) string {
	const orAnew = "Without it: “Forget the device” in the dashboard, under Settings → Gateway, and pair anew."
	switch {
	case errors.Is(err, vault.ErrBroken):
		return "What is stored of the device was changed, or is not from this database. Restore it from a backup. " + orAnew
	case errors.Is(err, vault.ErrOtherKey):
		return fmt.Sprintf("%s. Put the key back: into ENCRYPTION_KEY, or into ENCRYPTION_KEY_OLD when it was replaced, or the key file of DATA_DIR. %s", capital(err.Error()), orAnew)
	case errors.Is(err, vault.ErrNoKey):
		return "A device is stored, and there is no key to read it with. Set ENCRYPTION_KEY as it was, or put the key file back into DATA_DIR. " + orAnew
	}
	return capital(err.Error()) + "."
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// stored is a row: a device and what is known of it.
type stored struct {
	place       string
	device      Device
	sealedKey   string
	sealedToken string
	tokenAt     *clock.Time
	gateway     string
	admitted    State // Paired, Local or empty
	admittedAt  *clock.Time
	replaced    string
	answer      answer
}

// answer is what the gateway said of a device that was introduced.
type answer struct {
	Request *gateway.Pairing `json:"request"`
	Error   string           `json:"error"`
}

// open reads the identity of a row. A token that another gateway gave is left
// out: it is none of the present one's business.
func (r stored) open(v *vault.Vault, address string) (gateway.Identity, error) {
	seed, err := v.Open(keyPlace(r.device.ID), r.sealedKey)
	if err != nil {
		return gateway.Identity{}, err
	}
	if len(seed) != ed25519.SeedSize {
		return gateway.Identity{}, vault.ErrBroken
	}
	id := gateway.Identity{Key: ed25519.NewKeyFromSeed(seed)}
	if r.sealedToken == "" || r.gateway != address {
		return id, nil
	}
	token, err := v.Open(tokenPlace(r.device.ID), r.sealedToken)
	if err != nil {
		return gateway.Identity{}, err
	}
	id.Token = string(token)
	return id, nil
}
