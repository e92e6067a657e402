package demo

import (
	"crypto/subtle"
	"encoding/json"
	"slices"

	"github.com/coder/websocket"
)

// The scopes that the served methods ask for. Write includes read, and admin
// includes everything.
const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
	scopeAdmin = "operator.admin"
)

// methodConnect is the only method that a connection may begin with.
const methodConnect = "connect"

// What the connect request may say: closed lists, as in the gateway's schema.
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
	ID   string `json:"id"`
	Mode string `json:"mode"`
}

// connect is the first request of a connection: it ends in hello-ok, or in a
// refusal and a close.
func (r *Runtime) connect(c *connection, req request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Type != "req" || req.Method != methodConnect {
		c.turnAway(req.ID, invalid("invalid handshake: first request must be connect"), websocket.StatusPolicyViolation)
		return
	}
	r.calls[methodConnect]++
	switch {
	case c.boot.draining:
		return // the close is on its way
	case r.starting:
		c.turnAway(req.ID, &failure{
			Code: "UNAVAILABLE", Message: "gateway starting; retry shortly", Retryable: true, RetryAfterMs: 500,
			Details: object{"reason": "startup-sidecars"},
		}, websocket.StatusTryAgainLater)
		return
	}
	in, client, f, code := r.check(c, req.Params)
	if f != nil {
		c.turnAway(req.ID, f, code)
		return
	}
	c.ready, c.clientID = true, client.ID
	c.scopes = []string{}
	// Without a device only these two are trusted with scopes, because the
	// socket is a loopback one. All others get in and may do nothing.
	if client.ID == "gateway-client" && client.Mode == "backend" || client.ID == "cli" && client.Mode == "cli" {
		c.scopes = append(c.scopes, in.Scopes...)
	}
	c.reply(req.ID, r.hello(c))
	r.options.Log.Debug("demo runtime: client connected", "conn_id", c.id, "client", client.ID)
}

// turnAway refuses a connect. The close says the same in short.
func (c *connection) turnAway(id string, f *failure, code websocket.StatusCode) {
	reason := f.Message
	switch code {
	case websocket.StatusTryAgainLater:
		reason = "gateway starting"
	case websocket.StatusProtocolError:
		reason = "protocol mismatch"
	}
	if len(reason) > 123 { // the most that a close frame carries
		reason = reason[:123]
	}
	c.refuse(id, f)
	c.close(code, reason)
}

// check looks at a connect request in the gateway's order: form, protocol,
// role, origin, credentials.
func (r *Runtime) check(c *connection, raw json.RawMessage) (in connectRequest, client clientInfo, f *failure, code websocket.StatusCode) {
	code = websocket.StatusPolicyViolation
	if f = connectParams.read("connect", "", raw, &in); f != nil {
		return in, client, f, code
	}
	if f = clientParams.read("connect", "/client", in.Client, &client); f != nil {
		return in, client, f, code
	}
	if f = listed(client); f != nil {
		return in, client, f, code
	}
	if in.MinProtocol > protocol || in.MaxProtocol < protocol {
		f = invalid("protocol mismatch")
		f.Details = object{
			"code": "PROTOCOL_MISMATCH", "clientMinProtocol": in.MinProtocol, "clientMaxProtocol": in.MaxProtocol,
			"expectedProtocol": protocol, "minimumProbeProtocol": 3,
		}
		return in, client, f, websocket.StatusProtocolError
	}
	if in.Role != "" && in.Role != "operator" {
		return in, client, invalid("invalid role"), code
	}
	if c.origin != "" {
		f = invalid("origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)")
		f.Details = object{"code": "CONTROL_UI_ORIGIN_NOT_ALLOWED"}
		return in, client, f, code
	}
	return in, client, r.authenticate(in), code
}

// listed refuses clients that are not on the gateway's lists.
func listed(client clientInfo) *failure {
	const refusal = "invalid connect params: at /client/%s: must be equal to one of the allowed values"
	if !slices.Contains(clientIDs, client.ID) {
		return invalid(refusal, "id")
	}
	if !slices.Contains(clientModes, client.Mode) {
		return invalid(refusal, "mode")
	}
	return nil
}

// authenticate compares the shared token. It knows no paired devices, so a
// device token never fits.
func (r *Runtime) authenticate(in connectRequest) *failure {
	var auth struct {
		Token, Password, DeviceToken, BootstrapToken string
	}
	if len(in.Auth) > 0 {
		if f := authParams.read("connect", "/auth", in.Auth, &auth); f != nil {
			return f
		}
	}
	device := len(in.Device) > 0
	switch {
	case subtle.ConstantTimeCompare([]byte(auth.Token), []byte(r.options.Token)) == 1:
		return nil
	case auth.Token == "" && auth.DeviceToken == "" && !device:
		return &failure{
			Code: "NOT_PAIRED", Message: "device identity required",
			Details: object{"code": "DEVICE_IDENTITY_REQUIRED"},
		}
	case auth.Token == "" && auth.DeviceToken == "":
		f := invalid("unauthorized: gateway token missing (provide gateway auth token)")
		f.Details = object{
			"code": "AUTH_TOKEN_MISSING", "authReason": "token_missing",
			"canRetryWithDeviceToken": false, "recommendedNextStep": "update_auth_configuration",
		}
		return f
	}
	next := "update_auth_credentials"
	if device {
		next = "retry_with_device_token"
	}
	f := invalid("unauthorized: gateway token mismatch (provide gateway auth token)")
	f.Details = object{
		"code": "AUTH_TOKEN_MISMATCH", "authReason": "token_mismatch",
		"canRetryWithDeviceToken": device, "recommendedNextStep": next,
	}
	return f
}
