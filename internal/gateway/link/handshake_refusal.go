package link

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/wire"
)

// refusal explains the gateway's error response to a connect request that used the
// credential cr. If the gateway rejected a device token and the client has another
// credential, the client soon tries the other one.
func (c *Client) refusal(e *WireError, cr credential) *failure {
	f := c.refusalKind(e, cr)
	switch e.Details.Code {
	case "AUTH_DEVICE_TOKEN_MISMATCH", "AUTH_SCOPE_MISMATCH", "AUTH_TOKEN_MISMATCH":
		if c.wallet.reject(cr) {
			c.emitDeviceEvent(DeviceEvent{DeviceID: idOf(c.device), Kind: TokenRefused, Token: cr.token})
			f.pace, f.narrow = soon, false
			f.fix += anotherCredential
			c.opt.Log.Warn("the gateway refused the device token; trying another credential", "code", e.Details.Code,
				"next", c.wallet.next().kind)
		}
	}
	if after := e.retryAfter(); after > 0 {
		f.after = after
	}
	return f
}

// anotherCredential is appended to the advice about a rejected credential if Wardroom has
// another one to try.
const anotherCredential = " Wardroom tries another credential next."

// refusalKind explains why the gateway refused the connection, based on the error code.
func (c *Client) refusalKind(e *WireError, cr credential) *failure {
	code := e.Details.Code
	switch {
	case code == "AUTH_RATE_LIMITED":
		f := &failure{state: Unauthorized, pace: slow, text: "The gateway has locked out this address after too many wrong tokens. It counts the attempts of all clients at the address, so Wardroom's token may be correct."}
		if after := e.retryAfter(); after > 0 {
			f.text += fmt.Sprintf(" Wardroom may try again in %s.", after.Round(time.Second))
		}
		return f.withFix("Check AGENTRT_GATEWAY_TOKEN and AGENTRT_DEVICE_TOKEN, and other clients at this address.")
	case code == "AUTH_SCOPE_MISMATCH":
		f := &failure{
			state: MissingScopes, pace: slow, layer: LayerScopes, narrow: true,
			text: fmt.Sprintf("The device is approved for fewer scopes than AGENTRT_GATEWAY_SCOPES requests (%s).",
				strings.Join(c.opt.Scopes, ", ")),
		}
		return f.withFix("Request fewer scopes, or set AGENTRT_GATEWAY_TOKEN so that Wardroom can request approval, and approve it on the gateway's host.")
	case strings.HasPrefix(code, "DEVICE_AUTH_"):
		return c.deviceRefused(code)
	case strings.HasPrefix(code, "AUTH_"):
		return c.unauthorized(cr)
	case code == "DEVICE_IDENTITY_REQUIRED" && cr.token == "":
		return c.unauthorized(cr)
	case code == "PAIRING_REQUIRED", code == "DEVICE_IDENTITY_REQUIRED", e.Code == "NOT_PAIRED":
		return c.unpaired(e.Details)
	case code == "PROTOCOL_MISMATCH":
		return protocolFailure(e.Details.ExpectedProtocol)
	case code == "CONTROL_UI_ORIGIN_NOT_ALLOWED":
		f := &failure{
			state: Unreachable, pace: slow,
			text: fmt.Sprintf("The gateway rejected an Origin header: %s. Wardroom sends none, so a proxy in between adds it.",
				c.secrets.Line(e.Message)),
		}
		return f.withFix("Connect to the gateway directly, or configure the proxy to send no Origin header.")
	case e.Code == "UNAVAILABLE":
		return (&failure{state: Unreachable, pace: quick, text: "The gateway is starting."}).withFix("%s", startingFix)
	case strings.HasPrefix(e.Message, "invalid "):
		return incompatible(
			fmt.Sprintf("The gateway could not read Wardroom's connect request: %s.", c.secrets.Line(e.Message)), LayerProtocol,
		)
	default:
		return &failure{
			state: Unreachable, pace: slow,
			text: fmt.Sprintf("The gateway rejected the connection: %s.", c.secrets.Line(e.Message)),
		}
	}
}

// startingFix tells the operator what to do while the gateway is starting. In tests,
// starting took 10 to 29 s.
const startingFix = "Wait: starting takes up to 30 seconds, and Wardroom retries automatically. If the problem persists, check the gateway's log."

const howAuthorized = "Set AGENTRT_GATEWAY_TOKEN to the gateway's token (gateway.auth.token in its configuration)."

// unauthorized explains which credential the gateway rejected.
func (c *Client) unauthorized(cr credential) *failure {
	f := &failure{state: Unauthorized, pace: slow}
	switch {
	case cr.kind == deviceToken:
		f.text = "The gateway rejected the device token: the token was replaced, or the device was removed."
		if cr.token != c.opt.DeviceToken {
			return f.withFix("Set AGENTRT_GATEWAY_TOKEN, so that the device gets a new token.")
		}
		return f.withFix("Set AGENTRT_DEVICE_TOKEN to the current token, or remove it and set AGENTRT_GATEWAY_TOKEN, so that the device gets a new token.")
	case cr.kind == sharedToken && c.wallet.refused:
		f.text = "The gateway rejected both the device token and the shared token."
	case cr.kind == sharedToken:
		f.text = "The gateway rejected the shared token."
	case c.at != nil && c.at.Problem != "":
		f.text = "The gateway requires a token. " + c.at.Problem
		return f
	default:
		f.text = "The gateway requires a token, but none is set."
	}
	return f.withFix("%s", howAuthorized)
}

// deviceRefused explains why the gateway rejected the device's signature. An invalid key
// pair is never the reason, because Wardroom checks its settings at startup.
func (c *Client) deviceRefused(code string) *failure {
	f := &failure{state: Unauthorized, pace: slow}
	switch code {
	case "DEVICE_AUTH_SIGNATURE_EXPIRED":
		f.text = "The gateway says that the device's signature has expired. The signature contains the gateway's own time, so the gateway's clock jumped or the network delays messages by minutes."
		f.fix = "Check the clock of the gateway's host and the network."
		f.pace = steady
	case "DEVICE_AUTH_NONCE_MISMATCH", "DEVICE_AUTH_NONCE_REQUIRED":
		f.text = "The gateway says that the device signed the challenge of another connection. A proxy in between may mix up connections."
		f.fix = "Connect to the gateway directly."
		f.pace = steady
	case "DEVICE_AUTH_DEVICE_ID_MISMATCH":
		f.text = "The gateway and Wardroom derive different device ids from the public key."
		f.fix = "Remove AGENTRT_DEVICE_ID and AGENTRT_DEVICE_PUBLIC_KEY. If that does not help, update Wardroom."
	case "DEVICE_AUTH_SIGNATURE_INVALID":
		f.text = "The gateway could not verify the device's signature."
		f.fix = "Check that AGENTRT_DEVICE_PRIVATE_KEY is the key of the paired device. If it is, the versions are incompatible: update the gateway or Wardroom, whichever is older."
	default:
		f.text = fmt.Sprintf("The gateway rejected the device (%.64q).", code)
		f.fix = "Check the AGENTRT_DEVICE_ settings, or pair the device again."
	}
	if c.device != nil && len(c.opt.DeviceKey) == 0 && f.pace == slow { // the device is not from the settings
		f.fix = "Forget the device and pair again, in the dashboard under Settings → Gateway. If that does not help, update the gateway or Wardroom, whichever is older."
	}
	return f
}

// requestID matches a valid pairing request id. The id becomes part of a command that a
// person runs, so it must not contain special characters or look like an option.
var requestID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// scopeShape matches a valid scope name from the gateway.
var scopeShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)

// mostScopes limits how many scopes are kept from a list that the gateway sent. A real
// gateway has fewer scopes than that.
const mostScopes = 64

// scopesOf returns the valid scopes in a list that the gateway sent.
func scopesOf(named []string) []string {
	out := []string{}
	for _, s := range named {
		if scopeShape.MatchString(s) && len(out) < mostScopes {
			out = append(out, s)
		}
	}
	return out
}

// unpaired returns the failure for an unpaired device. It explains what a person must
// approve, and where.
func (c *Client) unpaired(d details) *failure {
	if problem := c.deviceProblem.Load(); c.device == nil && problem != nil && *problem != "" {
		return &failure{
			state: Unpaired, pace: slow, layer: LayerPairing,
			text: "The gateway accepts only paired devices from this address. " + *problem,
		}
	}
	if c.device == nil {
		f := &failure{
			state: Unpaired, pace: slow, layer: LayerPairing,
			text: "The gateway accepts only paired devices from this address, and Wardroom has no key pair.",
		}
		return f.withFix("Pair Wardroom in the dashboard under Settings → Gateway (or set AGENTRT_DEVICE_PRIVATE_KEY), or run it on the gateway's host, where the shared token is enough.")
	}
	f := &failure{state: Unpaired, pace: pairing, layer: LayerPairing}
	if !requestID.MatchString(d.RequestID) || c.secrets.Line(d.RequestID) != d.RequestID {
		f.text = fmt.Sprintf("The gateway has not approved Wardroom's device (%s) and named no pairing request.", c.device.id)
		return f.withFix("Run on the gateway's host: openclaw devices list")
	}
	p := &Pairing{
		RequestID: d.RequestID, Command: "openclaw devices approve " + d.RequestID,
		Scopes: scopesOf(d.RequestedScopes), ApprovedScopes: scopesOf(d.ApprovedScopes),
	}
	if len(p.Scopes) == 0 {
		p.Scopes = list(c.opt.Scopes)
	}
	f.pairing = p
	f.narrow = d.Reason == "scope-upgrade" && len(missingScopes(runScopes(c.opt.Scopes, true), p.ApprovedScopes)) == 0
	f.text = fmt.Sprintf("Wardroom's device (%s) is waiting for approval.", c.device.id)
	f.fix = fmt.Sprintf("Run on the gateway's host: %s", p.Command)
	if d.Reason == "scope-upgrade" {
		f.text = fmt.Sprintf("Wardroom's device is approved for %s and requests %s.", orNone(p.ApprovedScopes),
			strings.Join(p.Scopes, ", "))
		f.fix = fmt.Sprintf("Run on the gateway's host: %s, or request fewer in AGENTRT_GATEWAY_SCOPES", p.Command)
	}
	f.fix += ". Wardroom notices the approval within seconds."
	return f
}

// orNone returns the scopes separated by commas, or "no scopes" if there are none.
func orNone(scopes []string) string {
	if len(scopes) == 0 {
		return "no scopes"
	}
	return strings.Join(scopes, ", ")
}

// protocolFailure explains whether Wardroom or the gateway has to be updated. The
// gateway's protocol version, theirs, may be absent.
func protocolFailure(theirs wire.Number) *failure {
	f := &failure{
		state: Unreachable, pace: slow, layer: LayerProtocol,
		text: fmt.Sprintf("The gateway does not support protocol %d, which Wardroom needs.", protocol),
	}
	f.fix = "Update the gateway or Wardroom, whichever is older."
	if v, ok := theirs.Whole(); ok {
		f.text = fmt.Sprintf("The gateway uses protocol %d, but Wardroom needs %d.", v, protocol)
		f.fix = "The gateway is too new: update Wardroom."
		if v < protocol {
			f.fix = "The gateway is too old: update the gateway."
		}
	}
	return f
}

// closeCodes maps prefixes of close reasons to error codes. It is used if a gateway
// closes the connection without sending an error.
func closeCodes() []struct{ begins, code string } {
	return []struct{ begins, code string }{
		{"unauthorized: device token scope mismatch", "AUTH_SCOPE_MISMATCH"},
		{"unauthorized: device token mismatch", "AUTH_DEVICE_TOKEN_MISMATCH"},
		{"unauthorized", "AUTH_TOKEN_MISMATCH"},
		{"pairing required", "PAIRING_REQUIRED"},
		{"device identity required", "DEVICE_IDENTITY_REQUIRED"},
		{"device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH"},
		{"device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID"},
		{"device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED"},
		{"device nonce", "DEVICE_AUTH_NONCE_MISMATCH"},
		{"origin not allowed", "CONTROL_UI_ORIGIN_NOT_ALLOWED"},
		{"protocol mismatch", "PROTOCOL_MISMATCH"},
	}
}

// closeRequest matches the id of a pairing request in a close reason.
var closeRequest = regexp.MustCompile(`\(requestId: ([A-Za-z0-9-]{1,64})\)`)

// closeFailure explains why the gateway closed the connection, based on the close code.
// If the gateway sent an error before closing, that error has already been handled and
// takes precedence.
func (c *Client) closeFailure(e websocket.CloseError, k *Conn) *failure {
	switch e.Code {
	case websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		f := unreachable("The gateway is restarting.").withFix("%s", startingFix)
		if strings.Contains(k.shutdown, "stopping") {
			f = unreachable("The gateway was stopped.").withFix("Start it again.")
		}
		f.pace = quick
		return f
	case websocket.StatusPolicyViolation, websocket.StatusProtocolError:
		for _, known := range closeCodes() {
			if !strings.HasPrefix(e.Reason, known.begins) {
				continue
			}
			d := details{Code: known.code}
			if m := closeRequest.FindStringSubmatch(e.Reason); m != nil {
				d.RequestID = m[1]
			}
			return c.refusal(&WireError{Message: e.Reason, Details: d}, k.cred)
		}
	case 4001:
		return unreachable("The gateway closed the connection because its access settings changed or the device was removed.")
	}
	reason := c.secrets.Line(e.Reason)
	switch reason {
	case "slow consumer":
		return unreachable("The gateway closed the connection because Wardroom read its messages too slowly (code %d, slow consumer). This host may be overloaded.", e.Code)
	case "":
		return unreachable("The gateway closed the connection (code %d).", e.Code)
	}
	return unreachable("The gateway closed the connection (code %d): %s.", e.Code, reason)
}
