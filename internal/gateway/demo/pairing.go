package demo

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// scopePairing is needed to hear of devices that want to be paired.
const scopePairing = "operator.pairing"

// PairingRequest is a device that waits for somebody's approval.
type PairingRequest struct {
	ID        string // what Approve takes; it is in the refusal that the device got
	DeviceID  string
	PublicKey string // base64 without padding
	Name      string // as the device calls itself; may be empty
	Scopes    []string
	Upgrade   bool // the device is paired and wants more scopes
	At        time.Time
}

// pairings are the devices that the runtime knows. They survive restarts.
type pairings struct {
	required bool
	pending  []PairingRequest
	paired   map[string]*pairedDevice // by device id
}

// pairedDevice is a device that was approved.
type pairedDevice struct {
	publicKey string
	scopes    []string
	token     string
	issuedAt  int64
}

// RequirePairing makes the runtime treat everyone as the real gateway treats
// clients from other hosts: only signed and approved devices get in. It holds
// for those who connect from now on. Without it a service needs no device, and
// other clients are paired silently when they show one.
func (r *Runtime) RequirePairing(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pairings.required = on
}

// Pending lists the devices that wait for approval, the oldest first.
func (r *Runtime) Pending() []PairingRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.pairings.pending)
	for i := range list {
		list[i].Scopes = slices.Clone(list[i].Scopes)
	}
	return list
}

// Approve pairs the device of a request, or gives it the scopes that it asks
// for. Either way it gets a new token with its next connect. It says whether
// there was such a request.
func (r *Runtime) Approve(requestID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.pairings
	i := slices.IndexFunc(p.pending, func(q PairingRequest) bool { return q.ID == requestID })
	if i < 0 {
		return false
	}
	q := p.pending[i]
	p.pending = slices.Delete(p.pending, i, i+1)
	r.pair(q.DeviceID, q.PublicKey, q.Scopes)
	r.tell(audience{scope: scopePairing}, "device.pair.resolved", object{
		"requestId": q.ID, "deviceId": q.DeviceID, "decision": "approved", "ts": r.now(),
	}, nil)
	return true
}

// Remove forgets a device. Its connections are closed with 4001, its token is
// void. It says whether the device was paired.
func (r *Runtime) Remove(deviceID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pairings.paired[deviceID] == nil {
		return false
	}
	delete(r.pairings.paired, deviceID)
	for c := range r.conns {
		if c.deviceID == deviceID {
			c.close(statusAccessChanged, "device removed")
		}
	}
	return true
}

// RotateToken voids a device's token. The device gets the new one when it
// connects with the shared token; its connections stay. It says whether the
// device is paired.
func (r *Runtime) RotateToken(deviceID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.pairings.paired[deviceID]
	if d != nil {
		d.token, d.issuedAt = newDeviceToken(), r.now()
	}
	return d != nil
}

// pair approves a device for these scopes on top of those it has. The lock is held.
func (r *Runtime) pair(deviceID, publicKey string, scopes []string) *pairedDevice {
	d := r.pairings.paired[deviceID]
	if d == nil {
		d = &pairedDevice{publicKey: publicKey}
		r.pairings.paired[deviceID] = d
	}
	for _, s := range scopes {
		if !slices.Contains(d.scopes, s) {
			d.scopes = append(d.scopes, s)
		}
	}
	d.token, d.issuedAt = newDeviceToken(), r.now()
	return d
}

func newDeviceToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// admitDevice decides about a client that came with the shared token. It
// returns the device when it is paired, and nil for one that needs no pairing.
// The lock is held.
func (r *Runtime) admitDevice(d *device, in connectRequest, client clientInfo) (*pairedDevice, *failure) {
	switch {
	case d == nil && r.pairings.required:
		return nil, identityRequired()
	case d == nil || client.service() && !r.pairings.required:
		return nil, nil
	}
	known := r.pairings.paired[d.ID]
	switch {
	case known != nil && coversAll(known.scopes, in.Scopes):
		return known, nil
	case !r.pairings.required:
		return r.pair(d.ID, d.PublicKey, in.Scopes), nil
	}
	return nil, r.askForPairing(d, known, in, client)
}

// askForPairing puts a device on the list of those that wait, and tells it so.
func (r *Runtime) askForPairing(d *device, known *pairedDevice, in connectRequest, client clientInfo) *failure {
	p := &r.pairings
	i := slices.IndexFunc(p.pending, func(q PairingRequest) bool { return q.DeviceID == d.ID })
	if i >= 0 && !slices.Equal(p.pending[i].Scopes, in.Scopes) {
		p.pending = slices.Delete(p.pending, i, i+1) // the device changed its mind
		i = -1
	}
	if i < 0 {
		p.pending = append(p.pending, PairingRequest{
			ID: uuid.NewString(), DeviceID: d.ID, PublicKey: d.PublicKey, Name: client.DisplayName,
			Scopes: slices.Clone(in.Scopes), Upgrade: known != nil, At: time.UnixMilli(r.now()).UTC(),
		})
		i = len(p.pending) - 1
		q := p.pending[i]
		r.tell(audience{scope: scopePairing}, "device.pair.requested", object{
			"requestId": q.ID, "deviceId": d.ID, "publicKey": d.PublicKey, "displayName": client.DisplayName,
			"platform": client.Platform, "clientId": client.ID, "clientMode": client.Mode, "role": operator,
			"roles": []string{operator}, "scopes": q.Scopes, "silent": false, "isRepair": false, "ts": r.now(),
		}, nil)
	}
	f := &failure{Code: "NOT_PAIRED", Message: "pairing required: device is not approved yet", Details: object{
		"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": p.pending[i].ID,
		"remediationHint": "Approve this device from the pending pairing requests.",
		"deviceId":        d.ID, "requestedRole": operator, "requestedScopes": in.Scopes,
	}}
	if known != nil {
		f.Message = "pairing required: device is asking for more scopes than currently approved"
		f.Details = with(f.Details, object{
			"reason": "scope-upgrade", "remediationHint": "Review the requested scopes, then approve the pending upgrade.",
			"approvedRoles": []string{operator}, "approvedScopes": known.scopes,
		})
	}
	f.Reason = f.Message + " (requestId: " + p.pending[i].ID + ")"
	return f
}

// byDeviceToken decides about a client that came with a device token. The lock is held.
func (r *Runtime) byDeviceToken(d *device, token string, in connectRequest) (*pairedDevice, *failure) {
	if d == nil {
		return nil, identityRequired()
	}
	known := r.pairings.paired[d.ID]
	if known == nil || !sameSecret(known.token, token) {
		return nil, unauthorized("device token mismatch (rotate/reissue device token)",
			"AUTH_DEVICE_TOKEN_MISMATCH", "device_token_mismatch", "update_auth_credentials")
	}
	if !coversAll(known.scopes, in.Scopes) {
		return nil, unauthorized("device token scope mismatch (re-pair or approve scope upgrade)",
			"AUTH_SCOPE_MISMATCH", "scope_mismatch", "review_auth_configuration")
	}
	return known, nil
}

func identityRequired() *failure {
	return &failure{
		Code: "NOT_PAIRED", Message: "device identity required",
		Details: object{"code": "DEVICE_IDENTITY_REQUIRED"},
	}
}

// covers says whether one of the scopes held includes another: admin includes
// all operator scopes, write includes read.
func covers(held []string, scope string) bool {
	return slices.Contains(held, scope) ||
		slices.Contains(held, scopeAdmin) && strings.HasPrefix(scope, operator+".") ||
		scope == scopeRead && slices.Contains(held, scopeWrite)
}

func coversAll(held, scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !covers(held, s) })
}

// auth is the member of hello-ok that says how the client got in.
func (d *pairedDevice) auth(method string, scopes []string) object {
	out := object{"method": method, "role": operator, "scopes": scopes, "recoveryScope": "demo"}
	if d != nil {
		out["recoveryMigrationAllowed"], out["deviceToken"], out["issuedAtMs"] = true, d.token, d.issuedAt
	}
	return out
}

// service says whether the client is one that is trusted on the gateway's own host.
func (c clientInfo) service() bool { return c.ID == "gateway-client" && c.Mode == "backend" }

// trusted says whether the client gets scopes without a device.
func (c clientInfo) trusted() bool { return c.service() || c.ID == "cli" && c.Mode == "cli" }
