package gateway

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// refusal reads the error that answers our introduction, made with cr. Where a
// device token is refused and there is another credential, the next attempt
// comes soon and uses that.
func (c *Client) refusal(e *wireError, cr credential) *failure {
	f := c.refusalKind(e, cr)
	switch e.Details.Code {
	case "AUTH_DEVICE_TOKEN_MISMATCH", "AUTH_SCOPE_MISMATCH", "AUTH_TOKEN_MISMATCH":
		if c.wallet.drop(cr) {
			c.tell(DeviceNews{DeviceID: idOf(c.device), Kind: TokenRefused, Token: cr.token})
			f.pace, f.narrow = soon, false
			f.fix += " Another credential is tried next."
			c.opt.Log.Warn("the gateway refused the device token; trying another credential", "code", e.Details.Code, "next", c.wallet.next().kind)
		}
	}
	if after := e.retryAfter(); after > 0 {
		f.after = after
	}
	return f
}

func (c *Client) refusalKind(e *wireError, cr credential) *failure {
	code := e.Details.Code
	switch {
	case code == "AUTH_RATE_LIMITED":
		f := &failure{state: Unauthorized, pace: slow, text: "The gateway has locked this address out after too many wrong tokens. It counts them per address, whoever sent them, so that ours may be right."}
		if after := e.retryAfter(); after > 0 {
			f.text += fmt.Sprintf(" It asks us not to come back for %s.", after.Round(time.Second))
		}
		return f.mend("Check AGENTRT_GATEWAY_TOKEN and AGENTRT_DEVICE_TOKEN, and what else connects from this address.")
	case code == "AUTH_SCOPE_MISMATCH":
		f := &failure{state: MissingScopes, pace: slow, layer: LayerScopes, narrow: true, text: fmt.Sprintf("The device's approval covers fewer scopes than AGENTRT_GATEWAY_SCOPES asks for (%s).", strings.Join(c.opt.Scopes, ", "))}
		return f.mend("Ask for fewer; or set AGENTRT_GATEWAY_TOKEN, with which we ask for the larger approval, and approve that on the gateway's host.")
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
		f := &failure{state: Unreachable, pace: slow, text: fmt.Sprintf("The gateway saw an Origin header and refused it: %s. We send none, so a proxy between adds it.", c.secrets.words(e.Message))}
		return f.mend("Connect to the gateway itself, or have the proxy add no Origin.")
	case e.Code == "UNAVAILABLE":
		return (&failure{state: Unreachable, pace: quick, text: "The gateway is starting."}).mend("%s", waitForIt)
	case strings.HasPrefix(e.Message, "invalid "):
		return strange(fmt.Sprintf("The gateway did not understand our introduction: %s.", c.secrets.words(e.Message)), LayerProtocol)
	default:
		return &failure{state: Unreachable, pace: slow, text: fmt.Sprintf("The gateway refused to connect us: %s.", c.secrets.words(e.Message))}
	}
}

// waitForIt is what to do about a gateway that is about to be there. Starting was
// seen to take 10 to 29 s.
const waitForIt = "Wait: starting takes it up to half a minute, and we try again by ourselves. If it stays so, look at its log."

const howAuthorized = "Set AGENTRT_GATEWAY_TOKEN to the token of the gateway (gateway.auth.token in its configuration)."

func (c *Client) unauthorized(cr credential) *failure {
	f := &failure{state: Unauthorized, pace: slow}
	switch {
	case cr.kind == deviceToken:
		f.text = "The gateway refused the device token: it was replaced, or the device was removed."
		if cr.token != c.opt.DeviceToken {
			return f.mend("Set AGENTRT_GATEWAY_TOKEN, with which the device gets a new one.")
		}
		return f.mend("Set AGENTRT_DEVICE_TOKEN to its present one, or remove it and set AGENTRT_GATEWAY_TOKEN, with which the device gets a new one.")
	case cr.kind == sharedToken && c.wallet.refused:
		f.text = "The gateway refused both the device token and our shared token."
	case cr.kind == sharedToken:
		f.text = "The gateway refused our token."
	default:
		f.text = "The gateway wants a token and none is set."
	}
	return f.mend("%s", howAuthorized)
}

// deviceRefused explains why the gateway did not accept our signature. The
// settings have been checked at start, so the key pair itself is sound.
func (c *Client) deviceRefused(code string) *failure {
	f := &failure{state: Unauthorized, pace: slow}
	switch code {
	case "DEVICE_AUTH_SIGNATURE_EXPIRED":
		f.text = "The gateway says that our device's signature has expired. It carries the gateway's own time, so the clock of the gateway's host jumped, or messages take minutes to arrive."
		f.fix = "Check that clock and the connection."
		f.pace = steady
	case "DEVICE_AUTH_NONCE_MISMATCH", "DEVICE_AUTH_NONCE_REQUIRED":
		f.text = "The gateway says that our device signed the challenge of another connection. A proxy between may mix connections."
		f.fix = "Connect to the gateway itself."
		f.pace = steady
	case "DEVICE_AUTH_DEVICE_ID_MISMATCH":
		f.text = "The gateway derives another device id from our public key than we do."
		f.fix = "Remove AGENTRT_DEVICE_ID and AGENTRT_DEVICE_PUBLIC_KEY; if that does not help, its version needs another version of this service."
	case "DEVICE_AUTH_SIGNATURE_INVALID":
		f.text = "The gateway could not verify our device's signature."
		f.fix = "Check that AGENTRT_DEVICE_PRIVATE_KEY is the key of the device that was paired; if it is, the gateway's version wants something else to be signed: update whichever is older."
	default:
		f.text = fmt.Sprintf("The gateway does not accept our device (%.64q).", code)
		f.fix = "Check the AGENTRT_DEVICE_ settings, or pair the device anew."
	}
	if c.device != nil && len(c.opt.DeviceKey) == 0 && f.pace == slow { // nothing of it stands in the settings
		f.fix = "Forget the device and pair anew, in the dashboard under Settings → Gateway; if that does not help, the gateway's version wants something else to be signed: update whichever is older."
	}
	return f
}

// requestID is what a pairing request's id may look like. It becomes part of a
// command that we suggest to a person, so nothing else gets into it, and it
// cannot begin like an option.
var requestID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// scopeShape is what a scope may look like that the other side names.
var scopeShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)

// mostScopes is more than a gateway has.
const mostScopes = 64

// scopesOf are the scopes that the other side names, without what cannot be one.
func scopesOf(named []string) []string {
	out := []string{}
	for _, s := range named {
		if scopeShape.MatchString(s) && len(out) < mostScopes {
			out = append(out, s)
		}
	}
	return out
}

// unpaired says what a person has to approve, and where.
func (c *Client) unpaired(d details) *failure {
	if c.device == nil {
		f := &failure{state: Unpaired, pace: slow, layer: LayerPairing, text: "The gateway accepts only paired devices from this address, and this service has no key pair."}
		return f.mend("Make one in the dashboard: Settings → Gateway, “Pair this service” (or set AGENTRT_DEVICE_PRIVATE_KEY). Or run this service on the gateway's host, where the shared token is enough.")
	}
	f := &failure{state: Unpaired, pace: pairing, layer: LayerPairing}
	if !requestID.MatchString(d.RequestID) || c.secrets.words(d.RequestID) != d.RequestID {
		f.text = fmt.Sprintf("The gateway has not approved this device (%s) and named no request.", c.device.id)
		return f.mend("See on its host: openclaw devices list")
	}
	p := &Pairing{
		RequestID: d.RequestID, Command: "openclaw devices approve " + d.RequestID,
		Scopes: scopesOf(d.RequestedScopes), ApprovedScopes: scopesOf(d.ApprovedScopes),
	}
	if len(p.Scopes) == 0 {
		p.Scopes = list(c.opt.Scopes)
	}
	f.pairing = p
	f.narrow = d.Reason == "scope-upgrade" && len(missingScopes(runScopes(c.opt.Scopes), p.ApprovedScopes)) == 0
	f.text = fmt.Sprintf("The gateway waits for approval of this device (%s).", c.device.id)
	f.fix = fmt.Sprintf("Run on its host: %s", p.Command)
	if d.Reason == "scope-upgrade" {
		f.text = fmt.Sprintf("This device is approved for %s and asks for %s.", orNone(p.ApprovedScopes), strings.Join(p.Scopes, ", "))
		f.fix = fmt.Sprintf("Run on the gateway's host: %s, or ask for fewer in AGENTRT_GATEWAY_SCOPES", p.Command)
	}
	f.fix += ". It is noticed within seconds."
	return f
}

func orNone(scopes []string) string {
	if len(scopes) == 0 {
		return "no scopes"
	}
	return strings.Join(scopes, ", ")
}

func protocolFailure(theirs number) *failure {
	f := &failure{state: Unreachable, pace: slow, layer: LayerProtocol, text: fmt.Sprintf("The gateway does not speak protocol %d, which this version needs.", protocol)}
	f.fix = "Update whichever is older, the gateway or this service."
	if v, ok := theirs.whole(); ok {
		f.text = fmt.Sprintf("The gateway speaks protocol %d and this version needs %d.", v, protocol)
		f.fix = "The gateway is too new for this version: update this service."
		if v < protocol {
			f.fix = "The gateway is too old for this version: update the gateway."
		}
	}
	return f
}

// closeCodes are how the reasons of a close begin that have a code in an error,
// for a gateway that hangs up without sending one.
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

// closeRequest finds the id of a pairing request in the reason of a close.
var closeRequest = regexp.MustCompile(`\(requestId: ([A-Za-z0-9-]{1,64})\)`)

// closeFailure reads a close code. Where the gateway also sent an error, that
// has been read before and says more.
func (c *Client) closeFailure(e websocket.CloseError, k *conn) *failure {
	switch e.Code {
	case websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		f := unreachable("The gateway is restarting.").mend("%s", waitForIt)
		if strings.Contains(k.shutdown, "stopping") {
			f = unreachable("The gateway was stopped.").mend("Start it again.")
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
			return c.refusal(&wireError{Message: e.Reason, Details: d}, k.cred)
		}
	case 4001:
		return unreachable("The gateway ended the connection because its access settings changed or this device was removed.")
	}
	reason := c.secrets.words(e.Reason)
	switch reason {
	case "slow consumer":
		return unreachable("The gateway ended the connection because we took its messages too slowly (code %d, slow consumer). This host may be overloaded.", e.Code)
	case "":
		return unreachable("The gateway ended the connection (code %d).", e.Code)
	}
	return unreachable("The gateway ended the connection (code %d): %s.", e.Code, reason)
}
