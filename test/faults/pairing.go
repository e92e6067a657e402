package faults

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/google/uuid"

	"wardroom/internal/gateway/demo"
)

// PairingRequest describes a device that is waiting for approval.
type PairingRequest struct {
	ID        string // for Approve; the refused device receives it too
	DeviceID  string
	PublicKey string // base64url without padding
	Scopes    []string
}

// pairings holds the known devices. They survive restarts.
type pairings struct {
	required bool
	pending  []PairingRequest
	paired   map[string]*pairedDevice // by device id
}

// pairedDevice is an approved device.
type pairedDevice struct {
	scopes   []string
	token    string
	issuedAt int64
}

// RequirePairing sets whether only signed and approved devices can connect. The real gateway
// requires this of clients from other hosts. If it is not required, backend clients need no
// device, and other clients that present a device are paired automatically.
func (r *Runtime) RequirePairing(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pairings.required = on
}

// Pending returns the pairing requests that are waiting for approval, oldest first.
func (r *Runtime) Pending() []PairingRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.pairings.pending)
	for i := range list {
		list[i].Scopes = slices.Clone(list[i].Scopes)
	}
	return list
}

// Approve approves a pairing request. It pairs the device, or grants the requested scopes
// to a device that is already paired. The device gets a new token when it next connects.
// Approve reports whether the request existed.
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
	r.pair(q.DeviceID, q.Scopes)
	return true
}

// Remove unpairs a device, invalidates its token and closes its connections with close code
// 4001. It reports whether the device was paired.
func (r *Runtime) Remove(deviceID string) bool {
	r.mu.Lock()
	known := r.pairings.paired[deviceID] != nil
	delete(r.pairings.paired, deviceID)
	r.mu.Unlock()
	if known {
		for _, c := range r.connected(func(c *connection) bool { return c.deviceID == deviceID }) {
			c.conn.Close(statusAccessChanged, "device removed")
		}
	}
	return known
}

// RotateToken replaces a device's token. The device gets the new token when it next
// connects with the shared token. Its open connections stay open. RotateToken reports
// whether the device is paired.
func (r *Runtime) RotateToken(deviceID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.pairings.paired[deviceID]
	if d != nil {
		d.token, d.issuedAt = newDeviceToken(), r.now().UnixMilli()
	}
	return d != nil
}

// DeviceToken returns a paired device's token, so that tests can check that it does not
// leak. For a device that is not paired, it returns an empty string.
func (r *Runtime) DeviceToken(deviceID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.pairings.paired[deviceID]; d != nil {
		return d.token
	}
	return ""
}

// pair approves a device for the given scopes, in addition to those that it already has.
// The caller must hold r.mu.
func (r *Runtime) pair(deviceID string, scopes []string) *pairedDevice {
	d := r.pairings.paired[deviceID]
	if d == nil {
		d = &pairedDevice{}
		r.pairings.paired[deviceID] = d
	}
	for _, s := range scopes {
		if !slices.Contains(d.scopes, s) {
			d.scopes = append(d.scopes, s)
		}
	}
	d.token, d.issuedAt = newDeviceToken(), r.now().UnixMilli()
	return d
}

func newDeviceToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// admitDevice checks the device of a client that used the shared token. It returns the
// paired device, nil if the client needs no device, or the failure to send to the client.
// The caller must hold r.mu.
func (r *Runtime) admitDevice(in demo.Login) (*pairedDevice, *demo.Failure) {
	d := in.Device
	switch {
	case d == nil && r.pairings.required:
		return nil, demo.IdentityRequired()
	case d == nil || in.Client.IsBackend() && !r.pairings.required:
		return nil, nil
	}
	known := r.pairings.paired[d.ID]
	switch {
	case known != nil && coversAll(known.scopes, in.Scopes):
		return known, nil
	case !r.pairings.required:
		return r.pair(d.ID, in.Scopes), nil
	}
	return nil, r.requestPairing(known, in)
}

// requestPairing adds a pairing request for the device, unless the same request already
// exists. It returns the failure to send to the client.
func (r *Runtime) requestPairing(known *pairedDevice, in demo.Login) *demo.Failure {
	p, d := &r.pairings, in.Device
	i := slices.IndexFunc(p.pending, func(q PairingRequest) bool { return q.DeviceID == d.ID })
	if i >= 0 && !slices.Equal(p.pending[i].Scopes, in.Scopes) {
		p.pending = slices.Delete(p.pending, i, i+1) // the device asks for other scopes now
		i = -1
	}
	if i < 0 {
		p.pending = append(p.pending, PairingRequest{
			ID: uuid.NewString(), DeviceID: d.ID, PublicKey: d.PublicKey, Scopes: slices.Clone(in.Scopes),
		})
		i = len(p.pending) - 1
	}
	f := &demo.Failure{Code: "NOT_PAIRED", Message: "pairing required: device is not approved yet", Details: object{
		"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": p.pending[i].ID,
		"remediationHint": "Approve this device from the pending pairing requests.",
		"deviceId":        d.ID, "requestedRole": "operator", "requestedScopes": in.Scopes,
	}}
	if known != nil {
		f.Message = "pairing required: device is asking for more scopes than currently approved"
		maps.Copy(f.Details, object{
			"reason": "scope-upgrade", "remediationHint": "Review the requested scopes, then approve the pending upgrade.",
			"approvedRoles": []string{"operator"}, "approvedScopes": known.scopes,
		})
	}
	f.Reason = f.Message + " (requestId: " + p.pending[i].ID + ")"
	return f
}

// admitDeviceToken checks a client that used a device token. The caller must hold r.mu.
func (r *Runtime) admitDeviceToken(in demo.Login, token string) (*pairedDevice, *demo.Failure) {
	d := in.Device
	if d == nil {
		return nil, demo.IdentityRequired()
	}
	known := r.pairings.paired[d.ID]
	if known == nil || !demo.SameSecret(known.token, token) {
		return nil, demo.Unauthorized("device token mismatch (rotate/reissue device token)",
			"AUTH_DEVICE_TOKEN_MISMATCH", "device_token_mismatch", "update_auth_credentials")
	}
	if !coversAll(known.scopes, in.Scopes) {
		return nil, demo.Unauthorized("device token scope mismatch (re-pair or approve scope upgrade)",
			"AUTH_SCOPE_MISMATCH", "scope_mismatch", "review_auth_configuration")
	}
	return known, nil
}

func coversAll(held, scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !demo.Covers(held, s) })
}

// auth returns the members of hello-ok's `auth` that say how the client authenticated.
func (d *pairedDevice) auth(method string) object {
	out := object{"method": method}
	if d != nil {
		out["recoveryMigrationAllowed"], out["deviceToken"], out["issuedAtMs"] = true, d.token, d.issuedAt
	}
	return out
}
