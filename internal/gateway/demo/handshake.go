package demo

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// Scopes that methods require. The write scope includes the read scope, and the admin
// scope includes all others.
const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
	scopeAdmin = "operator.admin"

	scopeApprovals = "operator.approvals"
	scopeQuestions = "operator.questions"
)

// operator is the name of the only role that the runtime accepts.
const operator = "operator"

// methodConnect is the method of the first request on each connection.
const methodConnect = "connect"

// JSON members and values that the gateway's schema allows in a connect request.
var (
	connectParams = params{
		required: words("minProtocol maxProtocol client"),
		optional: words("caps commands permissions pathEnv role scopes device auth locale userAgent"),
	}
	clientParams = params{
		required: words("id version platform mode"),
		optional: words("displayName deviceFamily modelIdentifier instanceId"),
	}
	authParams   = params{optional: words("token password deviceToken bootstrapToken")}
	deviceParams = params{required: words("id publicKey signature signedAt nonce")}
)

type connectRequest struct {
	MinProtocol int             `json:"minProtocol"`
	MaxProtocol int             `json:"maxProtocol"`
	Client      json.RawMessage `json:"client"`
	Role        string          `json:"role"`
	Scopes      []string        `json:"scopes"`
	Caps        []string        `json:"caps"`
	Auth        json.RawMessage `json:"auth"`
	Device      json.RawMessage `json:"device"`
}

// connect handles the first request on a connection. It accepts the client with a
// hello-ok response, or refuses the client and closes the connection.
func (r *Runtime) connect(c *Conn, req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Type != "req" || req.Method != methodConnect {
		c.refuseConnect(req.ID, invalid("invalid handshake: first request must be connect"))
		return
	}
	if c.boot.draining {
		return // the close is already queued
	}
	in, f := r.check(c, req.Params)
	var granted Admission
	if f == nil {
		granted, f = r.options.Behavior.Admit(c, in)
	}
	if f != nil {
		c.refuseConnect(req.ID, f)
		return
	}
	c.displayName = cmp.Or(in.Client.DisplayName, in.Client.ID)
	c.ready, c.clientID, c.deviceID, c.scopes = true, in.Client.ID, granted.DeviceID, granted.Scopes
	auth := merge(granted.Auth, object{"role": operator, "scopes": c.scopes, "recoveryScope": "demo"})
	call{conn: c, id: req.ID, method: methodConnect}.reply(r.hello(c, auth))
	r.options.Log.Debug("demo runtime: client connected", "conn_id", c.id, "client", c.clientID)
}

// refuseConnect refuses a connect request, then closes the connection with a shortened
// error message as the reason.
func (c *Conn) refuseConnect(id string, f *Failure) {
	reason := cmp.Or(f.Reason, f.Message)
	if len(reason) > 123 { // the maximum length of a close reason
		reason = reason[:123]
	}
	call{conn: c, id: id, method: methodConnect}.refuse(f)
	c.Close(cmp.Or(f.CloseCode, websocket.StatusPolicyViolation), reason)
}

// check reads and validates a connect request. Like the gateway, it checks the format
// first, then the protocol.
func (r *Runtime) check(c *Conn, raw json.RawMessage) (in Login, f *Failure) {
	var read connectRequest
	if f = connectParams.read(methodConnect, "", raw, &read); f != nil {
		return in, f
	}
	if f = clientParams.read(methodConnect, "/client", read.Client, &in.Client); f != nil {
		return in, f
	}
	if v := r.options.Behavior.Protocol(); read.MinProtocol > v || read.MaxProtocol < v {
		f = invalid("protocol mismatch")
		f.CloseCode, f.Details = websocket.StatusProtocolError, object{
			"code": "PROTOCOL_MISMATCH", "clientMinProtocol": read.MinProtocol, "clientMaxProtocol": read.MaxProtocol,
			"expectedProtocol": v, "minimumProbeProtocol": 3,
		}
		return in, f
	}
	c.caps = read.Caps
	in.Role, in.Scopes, in.Nonce = read.Role, read.Scopes, c.nonce
	if len(read.Auth) > 0 {
		if f = authParams.read(methodConnect, "/auth", read.Auth, &in.Auth); f != nil {
			return in, f
		}
	}
	if len(read.Device) > 0 && string(read.Device) != "null" {
		in.Device = &Device{}
		f = deviceParams.read(methodConnect, "/device", read.Device, in.Device)
	}
	return in, f
}

// WrongToken returns the failure for a wrong or missing token.
func WrongToken(in Login) *Failure {
	switch {
	case in.Auth.Token == "" && in.Device == nil:
		return IdentityRequired()
	case in.Auth.Token == "":
		return Unauthorized("gateway token missing (provide gateway auth token)",
			"AUTH_TOKEN_MISSING", "token_missing", "update_auth_configuration")
	}
	f := Unauthorized("gateway token mismatch (provide gateway auth token)",
		"AUTH_TOKEN_MISMATCH", "token_mismatch", "update_auth_credentials")
	if in.Device != nil {
		f.Details["canRetryWithDeviceToken"], f.Details["recommendedNextStep"] = true, "retry_with_device_token"
	}
	return f
}

// IdentityRequired returns the failure for a client that must present a device.
func IdentityRequired() *Failure {
	return &Failure{
		Code: "NOT_PAIRED", Message: "device identity required",
		Details: object{"code": "DEVICE_IDENTITY_REQUIRED"},
	}
}

// Unauthorized returns the failure for a rejected credential.
func Unauthorized(why, code, reason, next string) *Failure {
	f := invalid("unauthorized: %s", why)
	f.Details = object{
		"code": code, "authReason": reason, "canRetryWithDeviceToken": false, "recommendedNextStep": next,
	}
	return f
}

// SameSecret compares two secrets in constant time.
func SameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Covers reports whether the held scopes include the given scope. The admin scope
// includes all operator scopes, and the write scope includes the read scope.
func Covers(held []string, scope string) bool {
	return slices.Contains(held, scope) ||
		slices.Contains(held, scopeAdmin) && strings.HasPrefix(scope, operator+".") ||
		scope == scopeRead && slices.Contains(held, scopeWrite)
}
