package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// protocol is the version of the gateway's protocol that we speak.
const protocol = 4

// Who we say we are. The gateway has a closed list of names; this one is for
// services, and gets with a shared token exactly the scopes that it asks for,
// as long as it connects from the gateway's own host.
const (
	clientID   = "gateway-client"
	clientMode = "backend"
	role       = "operator"
)

type connectParams struct {
	MinProtocol int        `json:"minProtocol"`
	MaxProtocol int        `json:"maxProtocol"`
	Client      clientInfo `json:"client"`
	Role        string     `json:"role"`
	Scopes      []string   `json:"scopes"`
	Caps        []string   `json:"caps"`
	Auth        *auth      `json:"auth,omitempty"`
	Locale      string     `json:"locale"`
	UserAgent   string     `json:"userAgent"`
}

type clientInfo struct {
	ID          string `json:"id"`
	Version     string `json:"version"`
	Platform    string `json:"platform"`
	Mode        string `json:"mode"`
	DisplayName string `json:"displayName"`
}

type auth struct {
	Token string `json:"token"`
}

// hello is the part of hello-ok that we use.
type hello struct {
	Type     string `json:"type"`
	Protocol number `json:"protocol"`
	Server   struct {
		Version string `json:"version"`
		BootID  string `json:"bootId"`
	} `json:"server"`
	Auth struct {
		Scopes []string `json:"scopes"` // what was really granted
	} `json:"auth"`
	Policy struct {
		MaxPayload number `json:"maxPayload"` // bytes in one frame
	} `json:"policy"`
}

// readLimit is how large a frame we accept: what the gateway announces, within
// reason. Its default is 25 MiB.
func (h hello) readLimit() int64 {
	n, ok := h.Policy.MaxPayload.whole()
	if !ok {
		return 25 << 20
	}
	return min(max(n, 1<<20), 64<<20)
}

// handshake waits for the challenge, introduces us, and reads what we are given.
func (c *Client) handshake(ctx context.Context, k *conn) (hello, *failure) {
	if _, fail := c.handshakeFrame(ctx, k, "it never began the handshake", func(f frame) bool {
		return f.Type == "event" && f.Event == "connect.challenge"
	}); fail != nil {
		return hello{}, fail
	}
	asked := time.Now()
	const id = "connect"
	if err := k.write(request{Type: "req", ID: id, Method: "connect", Params: c.introduction()}, c.opt.Timeout); err != nil {
		return hello{}, c.readFailure(ctx, k, err, "it hung up when we introduced ourselves")
	}
	f, fail := c.handshakeFrame(ctx, k, "it did not answer our introduction", func(f frame) bool {
		return f.Type == "res" && f.ID == id
	})
	if fail != nil {
		return hello{}, fail
	}
	c.roundTrip(time.Since(asked))
	if f.Error != nil {
		return hello{}, c.refusal(f.Error)
	}
	var h hello
	if err := json.Unmarshal(f.Payload, &h); err != nil || h.Type != "hello-ok" {
		return hello{}, &failure{state: Unreachable, pace: slow, text: "The gateway greets us in a way that we do not understand. Its version may be too new or too old."}
	}
	if v, ok := h.Protocol.whole(); !ok || v != protocol {
		return hello{}, protocolFailure(h.Protocol)
	}
	k.bootID = h.Server.BootID
	return h, nil
}

func (c *Client) introduction() connectParams {
	p := connectParams{
		MinProtocol: protocol,
		MaxProtocol: protocol,
		Client: clientInfo{
			ID:          clientID,
			Version:     c.opt.Version,
			Platform:    runtime.GOOS,
			Mode:        clientMode,
			DisplayName: "Wardroom",
		},
		Role:      role,
		Scopes:    c.opt.Scopes,
		Caps:      []string{},
		Locale:    "en-US",
		UserAgent: "wardroom/" + c.opt.Version,
	}
	if c.opt.Token != "" {
		p.Auth = &auth{Token: c.opt.Token}
	}
	return p
}

// handshakeFrame reads until the frame that we wait for.
func (c *Client) handshakeFrame(ctx context.Context, k *conn, missing string, wanted func(frame) bool) (frame, *failure) {
	for {
		typ, data, err := k.ws.Read(ctx)
		if err != nil {
			return frame{}, c.readFailure(ctx, k, err, missing)
		}
		k.heard()
		f, err := decodeFrame(c.secrets.frame(data))
		if err == nil && typ == websocket.MessageText && wanted(f) {
			return f, nil
		}
	}
}

// readFailure says why a connection ended while we read from it.
func (c *Client) readFailure(ctx context.Context, k *conn, err error, missing string) *failure {
	host := c.url.Host
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return &failure{state: Unreachable, pace: slow, text: "The gateway sent a larger frame than it announced and we accept, so we hung up."}
	case errors.Is(context.Cause(k.life), errSilent):
		return unreachable("The gateway went silent: nothing was heard from it for %s.", c.opt.Silence)
	case ctx.Err() != nil:
		return unreachable("%s accepted the connection, and %s within %s. Is it the gateway?", host, missing, c.opt.Timeout)
	}
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return c.closeFailure(closed, k.shutdown)
	}
	if missing != "" {
		return unreachable("%s hung up: %s.", host, missing)
	}
	return unreachable("The connection to the gateway broke: %s.", c.secrets.words(rootText(err)))
}

// closeFailure reads a close code. Where the gateway also sent an error, that
// has been read before and says more.
func (c *Client) closeFailure(e websocket.CloseError, farewell string) *failure {
	reason := c.secrets.words(e.Reason)
	switch e.Code {
	case websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		f := unreachable("The gateway is restarting.")
		if strings.Contains(farewell, "stopping") {
			f.text = "The gateway was stopped. Start it again."
		}
		f.pace = quick
		return f
	case websocket.StatusPolicyViolation:
		switch {
		case strings.HasPrefix(reason, "unauthorized"):
			return c.unauthorized()
		case strings.HasPrefix(reason, "pairing required"), strings.HasPrefix(reason, "device identity required"):
			return unpaired("")
		}
	case websocket.StatusProtocolError:
		if strings.Contains(reason, "protocol mismatch") {
			return protocolFailure("")
		}
	case 4001:
		return unreachable("The gateway ended the connection because its access settings changed.")
	}
	if reason == "" {
		return unreachable("The gateway ended the connection (code %d).", e.Code)
	}
	return unreachable("The gateway ended the connection (code %d): %s.", e.Code, reason)
}

// refusal reads the error that answers our introduction.
func (c *Client) refusal(e *wireError) *failure {
	f := c.refusalKind(e)
	if after := e.retryAfter(); after > 0 {
		f.after = after
	}
	return f
}

func (c *Client) refusalKind(e *wireError) *failure {
	code := e.Details.Code
	switch {
	case code == "AUTH_RATE_LIMITED":
		return &failure{state: Unauthorized, pace: slow, text: "The gateway has locked us out for some minutes after too many wrong tokens. Check AGENTRT_GATEWAY_TOKEN."}
	case code == "AUTH_SCOPE_MISMATCH":
		return &failure{state: MissingScopes, pace: slow, text: "The gateway's approval covers fewer scopes than AGENTRT_GATEWAY_SCOPES asks for. Ask for fewer, or approve the larger request on the gateway's host."}
	case strings.HasPrefix(code, "AUTH_"), strings.HasPrefix(code, "DEVICE_AUTH_"):
		return c.unauthorized()
	case code == "DEVICE_IDENTITY_REQUIRED" && c.opt.Token == "":
		return c.unauthorized()
	case code == "PAIRING_REQUIRED", code == "DEVICE_IDENTITY_REQUIRED", e.Code == "NOT_PAIRED":
		return unpaired(e.Details.RequestID)
	case code == "PROTOCOL_MISMATCH":
		return protocolFailure(e.Details.ExpectedProtocol)
	case e.Code == "UNAVAILABLE":
		return &failure{state: Unreachable, pace: quick, text: "The gateway is starting."}
	default:
		return &failure{state: Unreachable, pace: slow, text: fmt.Sprintf("The gateway refused to connect us: %s.", c.secrets.words(e.Message))}
	}
}

func (c *Client) unauthorized() *failure {
	f := &failure{state: Unauthorized, pace: slow, text: "The gateway refused our token. Set AGENTRT_GATEWAY_TOKEN to the token of the gateway (gateway.auth.token in its configuration)."}
	if c.opt.Token == "" {
		f.text = "The gateway wants a token and none is set. Set AGENTRT_GATEWAY_TOKEN to the token of the gateway (gateway.auth.token in its configuration)."
	}
	return f
}

// requestID is what a pairing request's id may look like. It becomes part of a
// command that we suggest to a person, so nothing else gets into it.
var requestID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func unpaired(request string) *failure {
	f := &failure{state: Unpaired, pace: slow, text: "The gateway accepts only paired devices from this address. Run this service on the gateway's host, where the shared token is enough."}
	if requestID.MatchString(request) {
		f.text = fmt.Sprintf("The gateway waits for approval of this device. Run on its host: openclaw devices approve %s", request)
	}
	return f
}

func protocolFailure(theirs number) *failure {
	f := &failure{state: Unreachable, pace: slow, text: fmt.Sprintf("The gateway does not speak protocol %d, which this version needs.", protocol)}
	if v, ok := theirs.whole(); ok {
		f.text = fmt.Sprintf("The gateway speaks protocol %d and this version needs %d.", v, protocol)
	}
	f.text += " Update whichever is older."
	return f
}

// missingScopes are those asked for that the granted ones do not cover.
func missingScopes(asked, granted []string) []string {
	missing := []string{}
	for _, scope := range asked {
		if !slices.ContainsFunc(granted, func(g string) bool { return covers(g, scope) }) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// covers says whether one scope includes another: admin all of them, write also read.
func covers(granted, scope string) bool {
	return granted == scope || granted == "operator.admin" ||
		granted == "operator.write" && scope == "operator.read"
}

func missingText(missing []string) string {
	return fmt.Sprintf("The gateway did not grant %s, so what needs it fails. It grants what is asked for to services on its own host, and to paired devices what was approved for them.",
		strings.Join(missing, ", "))
}
