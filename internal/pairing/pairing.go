// Package pairing registers Wardroom as a trusted device of the gateway, so that the two can run on
// different machines. An operator starts the pairing in Wardroom and approves it once on the
// gateway's host, without copying any secrets.
//
// The device's private key and the token from the gateway are stored encrypted
// (platform/vault) and used by the gateway client. All replicas share one device.
package pairing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/platform/vault"
)

// Errors that pairing operations return.
var (
	// ErrSettings means that the settings define the device, so pairing operations cannot
	// change it.
	ErrSettings = fault.New(fault.Conflict, "pairing_in_settings", "The device is configured in Wardroom's settings.")
	// ErrNone means that Wardroom has no device, or no replacement device waiting for approval.
	ErrNone = fault.New(fault.NotFound, "pairing_none", "Wardroom has no such device.")
	// ErrNotPaired means that a device cannot be replaced before the gateway has
	// accepted it.
	ErrNotPaired = fault.New(fault.Conflict, "pairing_not_done", "The device is not paired yet.")
	// ErrNeedsToken means that a new device cannot connect because no shared token is set.
	ErrNeedsToken = fault.New(fault.Conflict, "pairing_needs_token", "The gateway's shared token is not set.")
	// ErrNoKey means that no encryption key is configured.
	ErrNoKey = vault.FaultNoKey
	// ErrOtherKey means that the stored device's secrets cannot be decrypted.
	ErrOtherKey = fault.New(fault.Unavailable, "encryption_key_wrong",
		"Wardroom could not decrypt the key of the stored device.")
	// ErrKeyFile means that the encryption key file is invalid or unreadable.
	ErrKeyFile = vault.FaultKeyFile
)

// State is the progress of the pairing.
type State string

// States of the pairing.
const (
	None       State = "none"       // no device: only the shared token is used
	Settings   State = "settings"   // the device is configured in the settings
	Made       State = "made"       // created, without a response from the gateway yet
	Pending    State = "pending"    // waiting for approval on the gateway's host
	Paired     State = "paired"     // approved
	Local      State = "local"      // accepted without approval, as on the gateway's own host
	Unreadable State = "unreadable" // stored, but the key to decrypt it is missing or wrong
)

// Pairing is Wardroom's device, its state and its missing scopes.
type Pairing struct {
	State  State       `json:"state" enum:"none,settings,made,pending,paired,local,unreadable" doc:"none: no device; only the shared token is used. settings: configured in AGENTRT_DEVICE_PRIVATE_KEY and read-only here. made: created, without a response from the gateway yet. pending: waiting for approval on the gateway's host. paired: approved. local: accepted without approval, as on the gateway's own host. unreadable: stored, but Wardroom cannot decrypt it."`
	Since  *clock.Time `json:"since" doc:"When the device was created or first accepted; null if Wardroom has created no device."`
	Detail string      `json:"detail" doc:"Explanation of the state, and what to do."`
	Device *Device     `json:"device" doc:"The device; null if none."`

	Connection link.State    `json:"connection" enum:"not_configured,connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"State of this replica's connection to the gateway; see GET /agentrt/status for details."`
	Auth       string        `json:"auth" enum:"none,token,device_token" doc:"Credential of the last connection attempt."`
	TokenSince *clock.Time   `json:"token_since" doc:"When the device's token was stored; null without a token."`
	Request    *link.Pairing `json:"request" doc:"Request to approve on the gateway's host, with the command to run there; null if none."`

	Asked       []string          `json:"scopes_asked" nullable:"false" doc:"Scopes that Wardroom requests (AGENTRT_GATEWAY_SCOPES)."`
	Granted     []string          `json:"scopes_granted" nullable:"false" doc:"Scopes granted on the last connection, or already approved while a request is waiting."`
	Connections []link.Connection `json:"connections" nullable:"false" doc:"This replica's connections to the gateway, which share one device, each with its scopes."`

	Missing []Missing `json:"scopes_missing" nullable:"false" doc:"Scopes that a feature needs and Wardroom does not have; empty while unknown."`

	Next     *Next     `json:"next" doc:"Device that waits for approval to replace this one; null if none."`
	Replaced *Reminder `json:"replaced" doc:"The device that this one replaced, which the gateway may still list; null if there was none."`
}

// Device is a device as the gateway lists it. It contains no secrets.
type Device struct {
	ID          string      `json:"device_id" doc:"Id in the gateway's list: the SHA-256 of the public key, in hex."`
	PublicKey   string      `json:"public_key" doc:"Ed25519 public key, in base64url without padding, as in the gateway's list."`
	Fingerprint string      `json:"fingerprint" doc:"The id in the form AB:CD:…, for people to compare."`
	MadeAt      *clock.Time `json:"made_at" doc:"When the device was created; null when it is configured in the settings."`
	Remove      string      `json:"remove_command" doc:"Command that removes the device, to run on the gateway's host."`
}

// Missing describes a scope that Wardroom does not have.
type Missing struct {
	Scope     string   `json:"scope" example:"operator.admin"`
	Asked     bool     `json:"asked" doc:"Whether Wardroom requests it."`
	NeededFor []string `json:"needed_for" nullable:"false" doc:"Features that do not work without it."`
	Fix       string   `json:"fix" doc:"How to get it."`
}

// Next is a device that waits for approval to replace the current one.
type Next struct {
	Device  Device        `json:"device"`
	Request *link.Pairing `json:"request" doc:"Request to approve, with the command; null until the gateway answers."`
	Error   string        `json:"error" doc:"Last error of the gateway or the connection; empty before the first attempt."`
}

// Reminder is a device that Wardroom no longer uses but the gateway may still list.
type Reminder struct {
	ID     string `json:"device_id"`
	Remove string `json:"remove_command" doc:"Command that removes the device, to run on the gateway's host."`
}

// Forgotten describes what the operator still has to do after Wardroom has forgotten a device.
type Forgotten struct {
	Devices []Reminder `json:"devices" nullable:"false" doc:"Devices that the gateway may still list."`
	Detail  string     `json:"detail" doc:"Explanation of what to do."`
}

// deviceOf returns the Device with the given public key.
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

// keyPlace and tokenPlace return the names that bind an encrypted secret to its device. A secret
// that is moved to another device's row cannot be decrypted.
func keyPlace(deviceID string) string   { return "pairing/device-key/" + deviceID }
func tokenPlace(deviceID string) string { return "pairing/device-token/" + deviceID }

// keyFault converts an error from the vault into one with instructions for the operator.
func keyFault(err error) error {
	if errors.Is(err, vault.ErrOtherKey) || errors.Is(err, vault.ErrBroken) {
		return ErrOtherKey.With("%s", unreadable(err))
	}
	return vault.Explain(err)
}

// howToPair tells the user how to create a device.
const howToPair = "Pair Wardroom in the dashboard under Settings → Gateway."

// unreadable explains why a stored device's secrets cannot be decrypted, and what to do.
func unreadable(err error) string {
	const orPairAgain = "Otherwise forget the device in the dashboard under Settings → Gateway, and pair again."
	switch {
	case errors.Is(err, vault.ErrBroken):
		return "The stored device was modified, or copied from another database. Restore it from a backup. " + orPairAgain
	case errors.Is(err, vault.ErrOtherKey):
		return fmt.Sprintf("%s. Restore the key in ENCRYPTION_KEY, in ENCRYPTION_KEY_OLD if it was replaced, or in the key file of DATA_DIR. %s", plaintext.Capital(err.Error()), orPairAgain)
	case errors.Is(err, vault.ErrNoKey):
		return "A device is stored, but the key to decrypt it is missing. Set ENCRYPTION_KEY to its previous value, or restore the key file in DATA_DIR. " + orPairAgain
	}
	return plaintext.Capital(err.Error()) + "."
}

// stored is a row of the database: a device, its secrets and its state.
type stored struct {
	place       string
	device      Device
	sealedKey   string
	sealedToken string
	tokenAt     *clock.Time
	gateway     string
	admitted    State
	admittedAt  *clock.Time
	replaced    string
	answer      answer
}

// answer is the gateway's last response to a device that waits for approval.
type answer struct {
	Request *link.Pairing `json:"request"`
	Error   string        `json:"error"`
}

// open decrypts a device's key and token for use with the gateway at the given address. It omits
// the token if another gateway issued it.
func (r stored) open(v *vault.Vault, address string) (link.Identity, error) {
	seed, err := v.Open(keyPlace(r.device.ID), r.sealedKey)
	if err != nil {
		return link.Identity{}, err
	}
	if len(seed) != ed25519.SeedSize {
		return link.Identity{}, vault.ErrBroken
	}
	id := link.Identity{Key: ed25519.NewKeyFromSeed(seed), Gateway: address}
	if r.sealedToken == "" || r.gateway != address {
		return id, nil
	}
	token, err := v.Open(tokenPlace(r.device.ID), r.sealedToken)
	if err != nil {
		return link.Identity{}, err
	}
	id.Token = string(token)
	return id, nil
}
