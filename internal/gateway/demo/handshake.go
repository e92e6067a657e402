package demo

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/coder/websocket"
)

// Scopes that methods require. The write scope includes the read scope, and the admin
// scope includes all others.
const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
	scopeAdmin = "operator.admin"
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
	authParams = params{optional: words("token password deviceToken bootstrapToken")}

	clientIDs = words(`webchat-ui openclaw-control-ui openclaw-browser-copilot openclaw-tui webchat cli
		gateway-client openclaw-macos openclaw-linux openclaw-ios openclaw-watchos openclaw-android
		node-host openclaw-worker test fingerprint openclaw-probe`)
	clientModes = words("webchat cli ui backend node worker probe test")
)

type connectRequest struct {
	MinProtocol int             `json:"minProtocol"`
	MaxProtocol int             `json:"maxProtocol"`
	Client      json.RawMessage `json:"client"`
	Role        string          `json:"role"`
	Scopes      []string        `json:"scopes"`
	Auth        json.RawMessage `json:"auth"`
	Device      json.RawMessage `json:"device"`
}

type clientInfo struct {
	ID           string `json:"id"`
	Mode         string `json:"mode"`
	DisplayName  string `json:"displayName"`
	Platform     string `json:"platform"`
	DeviceFamily string `json:"deviceFamily"`
}

// connect handles the first request on a connection. It accepts the client with a
// hello-ok response, or refuses the client and closes the connection.
func (r *Runtime) connect(c *connection, req request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Type != "req" || req.Method != methodConnect {
		c.refuseConnect(req.ID, invalid("invalid handshake: first request must be connect"), websocket.StatusPolicyViolation)
		return
	}
	r.calls[methodConnect]++
	switch {
	case c.boot.draining:
		return // the close is already queued
	case r.starting:
		c.refuseConnect(req.ID, notReady(), websocket.StatusTryAgainLater)
		return
	}
	in, client, f, code := r.check(c, req.Params)
	if f != nil {
		c.refuseConnect(req.ID, f, code)
		return
	}
	how, f := r.authenticate(c, in, client)
	if f != nil {
		c.refuseConnect(req.ID, f, code)
		return
	}
	if r.faults.refused != nil && r.faults.refused(in.Scopes) {
		c.refuseConnect(req.ID, notReady(), websocket.StatusTryAgainLater)
		return
	}
	c.ready, c.clientID, c.shared = true, client.ID, how.method == authToken
	c.scopes = []string{}
	// On a loopback socket the gateway grants scopes to two kinds of clients without a
	// device. Other clients connect without scopes.
	if client.trusted() || how.device != nil {
		c.scopes = slices.DeleteFunc(append(c.scopes, in.Scopes...), func(s string) bool {
			return slices.Contains(r.faults.withheld, s)
		})
	}
	call{conn: c, id: req.ID, method: methodConnect}.reply(r.hello(c, how.device.auth(how.method, c.scopes)))
	r.options.Log.Debug("demo runtime: client connected", "conn_id", c.id, "client", client.ID)
}

// notReady returns the failure that a gateway sends while it is starting.
func notReady() *failure {
	return &failure{
		Code: "UNAVAILABLE", Message: "gateway starting; retry shortly", Retryable: true, RetryAfterMs: 500,
		Details: object{"reason": "startup-sidecars"},
	}
}

// refuseConnect refuses a connect request, then closes the connection with a shortened
// error message as the reason.
func (c *connection) refuseConnect(id string, f *failure, code websocket.StatusCode) {
	reason := cmp.Or(f.Reason, f.Message)
	switch code {
	case websocket.StatusTryAgainLater:
		reason = "gateway starting"
	case websocket.StatusProtocolError:
		reason = "protocol mismatch"
	}
	if len(reason) > 123 { // the maximum length of a close reason
		reason = reason[:123]
	}
	call{conn: c, id: id, method: methodConnect}.refuse(f)
	c.close(code, reason)
}

// check validates a connect request. Like the gateway, it checks the format first, then
// protocol, role and origin.
func (r *Runtime) check(c *connection, raw json.RawMessage) (in connectRequest, client clientInfo, f *failure, code websocket.StatusCode) {
	code = websocket.StatusPolicyViolation
	if f = connectParams.read("connect", "", raw, &in); f != nil {
		return in, client, f, code
	}
	if f = clientParams.read("connect", "/client", in.Client, &client); f != nil {
		return in, client, f, code
	}
	if f = checkClientLists(client); f != nil {
		return in, client, f, code
	}
	if in.MinProtocol > r.protocolVersion() || in.MaxProtocol < r.protocolVersion() {
		f = invalid("protocol mismatch")
		f.Details = object{
			"code": "PROTOCOL_MISMATCH", "clientMinProtocol": in.MinProtocol, "clientMaxProtocol": in.MaxProtocol,
			"expectedProtocol": r.protocolVersion(), "minimumProbeProtocol": 3,
		}
		return in, client, f, websocket.StatusProtocolError
	}
	if in.Role != "" && in.Role != operator {
		return in, client, invalid("invalid role"), code
	}
	if c.origin != "" {
		f = invalid("origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)")
		f.Details = object{"code": "CONTROL_UI_ORIGIN_NOT_ALLOWED"}
		return in, client, f, code
	}
	return in, client, nil, code
}

// checkClientLists refuses clients whose id or mode is not on the gateway's lists.
func checkClientLists(client clientInfo) *failure {
	const refusal = "invalid connect params: at /client/%s: must be equal to one of the allowed values"
	if !slices.Contains(clientIDs, client.ID) {
		return invalid(refusal, "id")
	}
	if !slices.Contains(clientModes, client.Mode) {
		return invalid(refusal, "mode")
	}
	return nil
}

// Names of the authentication methods in hello-ok.
const (
	authToken       = "token"
	authDeviceToken = "device-token"
)

// authResult says how a client authenticated.
type authResult struct {
	method string
	device *pairedDevice // nil if the client is not paired
}

// authenticate checks a client's device, token and pairing. The caller must hold r.mu.
func (r *Runtime) authenticate(c *connection, in connectRequest, client clientInfo) (authResult, *failure) {
	auth, f := readCredentials(in.Auth)
	if f != nil {
		return authResult{}, f
	}
	if f := r.lockedOut(); f != nil {
		return authResult{}, f
	}
	d, f := r.readDevice(c, in, client, auth)
	if f != nil {
		return authResult{}, f
	}
	var known *pairedDevice
	how := authResult{method: authToken}
	switch token := cmp.Or(auth.DeviceToken, auth.Token); {
	case sameSecret(auth.Token, r.token):
		known, f = r.admitDevice(d, in, client)
	case auth.DeviceToken != "" || r.isDeviceToken(d, auth.Token):
		how.method = authDeviceToken
		known, f = r.admitDeviceToken(d, token, in)
	default:
		f = wrongToken(auth.Token, d != nil)
	}
	if how.device = known; f == nil && d != nil {
		c.deviceID = d.ID
	}
	return how, f
}

// isDeviceToken reports whether the given token is the device's token. The gateway also accepts a device token that is
// sent in the field for the shared token.
func (r *Runtime) isDeviceToken(d *device, token string) bool {
	return d != nil && r.pairings.paired[d.ID] != nil && sameSecret(r.pairings.paired[d.ID].token, token)
}

// wrongToken returns the failure for a wrong or missing token.
func wrongToken(token string, device bool) *failure {
	if token == "" && !device {
		return identityRequired()
	}
	if token == "" {
		return unauthorized("gateway token missing (provide gateway auth token)",
			"AUTH_TOKEN_MISSING", "token_missing", "update_auth_configuration")
	}
	f := unauthorized("gateway token mismatch (provide gateway auth token)",
		"AUTH_TOKEN_MISMATCH", "token_mismatch", "update_auth_credentials")
	if device {
		f.Details["canRetryWithDeviceToken"], f.Details["recommendedNextStep"] = true, "retry_with_device_token"
	}
	return f
}
