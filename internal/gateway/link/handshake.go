package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/wire"
)

// DisplayName is the name under which the gateway shows Wardroom, for example as the client that
// answered an approval.
const DisplayName = "Wardroom"

// protocol is the version of the gateway's protocol that Wardroom speaks.
const protocol = 4

// These constants identify Wardroom to the gateway. clientID is the name that the gateway
// defines for services. A client with this name that runs on the gateway's own host and
// uses the shared token gets exactly the scopes that it requests.
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

	Device *deviceProof `json:"device,omitempty"`
}

type clientInfo struct {
	ID          string `json:"id"`
	Version     string `json:"version"`
	Platform    string `json:"platform"`
	Mode        string `json:"mode"`
	DisplayName string `json:"displayName"`
}

type auth struct {
	Token       string `json:"token,omitempty"`
	DeviceToken string `json:"deviceToken,omitempty"`
}

// hello is the part of hello-ok that Wardroom uses.
type hello struct {
	Type     string      `json:"type"`
	Protocol wire.Number `json:"protocol"`
	Server   struct {
		Version string `json:"version"`
		BootID  string `json:"bootId"`
	} `json:"server"`
	Auth struct {
		Scopes []string `json:"scopes"` // the granted scopes
	} `json:"auth"`
	Features struct {
		// the methods of the gateway, except for hidden ones; nil when it does not list them
		Methods []string `json:"methods"`
	} `json:"features"`
	Policy struct {
		MaxPayload wire.Number `json:"maxPayload"`     // maximum size of a frame in bytes
		Tick       wire.Number `json:"tickIntervalMs"` // milliseconds between two tick events
	} `json:"policy"`
}

// readLimit returns the maximum size of a frame. This is the size that the gateway
// announces, but at least 1 MiB and at most 64 MiB. If the gateway announces no size, it
// is 25 MiB, the gateway's default.
func (h hello) readLimit() int64 {
	n, ok := h.Policy.MaxPayload.Whole()
	if !ok {
		return 25 << 20
	}
	return min(max(n, 1<<20), 64<<20)
}

// tick returns the announced interval between the gateway's tick events, or 0 if the gateway announces none.
func (h hello) tick() time.Duration {
	ms, _ := h.Policy.Tick.Whole()
	return time.Duration(min(max(ms, 0), time.Hour.Milliseconds())) * time.Millisecond
}

// handshake waits for the challenge, sends the connect request and reads the response.
func (c *Client) handshake(ctx context.Context, k *Conn) (hello, *failure) {
	f, _, fail := c.handshakeFrame(ctx, k, "it did not start the handshake", func(f Frame) bool {
		return f.Type == "event" && f.Event == "connect.challenge"
	})
	if fail != nil {
		return hello{}, fail
	}
	ch, ok := readChallenge(f.Payload)
	k.challenged(ch, c.opt.Now())
	who := c.connectParams(k.cred)
	if c.device != nil {
		if !ok {
			return hello{}, incompatible("The gateway sent a challenge that cannot be signed.", LayerChallenge)
		}
		who.Device = c.device.sign(who, ch)
	}
	asked := time.Now()
	const id = "connect"
	if err := k.write(request{Type: "req", ID: id, Method: "connect", Params: who}, c.opt.Timeout); err != nil {
		return hello{}, c.readFailure(ctx, k, err, "it did not complete the handshake")
	}
	f, raw, fail := c.handshakeFrame(ctx, k, "it did not complete the handshake", func(f Frame) bool {
		return f.Type == "res" && f.ID == id
	})
	if fail != nil {
		return hello{}, fail
	}
	c.setLatency(time.Since(asked))
	if f.Error != nil {
		return hello{}, c.refusal(f.Error, k.cred)
	}
	var h hello
	if err := json.Unmarshal(f.Payload, &h); err != nil || h.Type != "hello-ok" {
		return hello{}, incompatible("Wardroom could not read the gateway's hello-ok.", LayerProtocol)
	}
	if v, ok := h.Protocol.Whole(); !ok || v != protocol {
		return hello{}, protocolFailure(h.Protocol)
	}
	c.keepToken(raw, k.cred)
	k.bootID = c.secrets.Bounded(h.Server.BootID, 100)
	return h, nil
}

func (c *Client) connectParams(cr credential) connectParams {
	return connectParams{
		MinProtocol: protocol,
		MaxProtocol: protocol,
		Client: clientInfo{
			ID:          clientID,
			Version:     c.opt.Version,
			Platform:    runtime.GOOS,
			Mode:        clientMode,
			DisplayName: DisplayName,
		},
		Role:      role,
		Scopes:    c.opt.Scopes,
		Caps:      c.caps(),
		Auth:      cr.auth(),
		Locale:    "en-US",
		UserAgent: "wardroom/" + c.opt.Version,
	}
}

// caps returns the capabilities to announce. The gateway sends approvals of agents' commands only to
// clients with operator.admin that announce the capability approvals. While none is connected, it
// refuses such commands at once.
func (c *Client) caps() []string {
	if slices.Contains(c.opt.Scopes, scopeAdmin) {
		return []string{"approvals"}
	}
	return []string{}
}

// handshakeFrame reads frames until it finds one for which wanted returns true. It
// returns this frame twice: decoded with known tokens redacted, and as raw data without
// redaction.
func (c *Client) handshakeFrame(
	ctx context.Context, k *Conn, missing string, wanted func(Frame) bool,
) (f Frame, raw []byte, fail *failure) {
	for {
		typ, data, err := k.ws.Read(ctx)
		if err != nil {
			return Frame{}, nil, c.readFailure(ctx, k, err, missing)
		}
		k.markAlive()
		f, err := decodeFrame(c.secrets.Frame(data))
		if err == nil && typ == websocket.MessageText && wanted(f) {
			return f, data, nil
		}
	}
}

// readFailure explains why a connection ended while Wardroom was reading from it.
func (c *Client) readFailure(ctx context.Context, k *Conn, err error, missing string) *failure {
	host := c.at.url.Host
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return (&failure{
			state: Unreachable, pace: slow,
			text: "The gateway sent a frame that is too large, so Wardroom closed the connection.",
		}).
			withFix("Lower the gateway's limit for frames; Wardroom accepts at most 64 MiB.")
	case errors.Is(context.Cause(k.life), errNewIdentity):
		return anotherDevice()
	case errors.Is(context.Cause(k.life), errNewEndpoint):
		return anotherEndpoint()
	case errors.Is(context.Cause(k.life), errSilent):
		return unreachable("The gateway sent nothing for %s.", c.opt.Silence)
	case ctx.Err() != nil:
		return (&failure{
			state: Slow,
			text: fmt.Sprintf(
				"%s accepted the connection, but %s within %s. The gateway is overloaded, or the address is not a gateway's.", host,
				missing, c.opt.Timeout,
			),
		}).withFix("%s", slowHostFix)
	}
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return c.closeFailure(closed, k)
	}
	if missing != "" {
		return unreachable("%s closed the connection: %s.", host, missing).withFix(
			"Check that AGENTRT_GATEWAY_URL is the gateway's address, and check its log.",
		)
	}
	return unreachable("Lost the connection to the gateway: %s.", c.secrets.Line(rootText(err)))
}

// missingScopes returns those requested scopes that the granted scopes do not include.
func missingScopes(asked, granted []string) []string {
	missing := []string{}
	for _, scope := range asked {
		if !slices.ContainsFunc(granted, func(g string) bool { return covers(g, scope) }) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// covers reports whether one granted scope includes the given scope. The admin scope
// includes all others, and the write scope includes the read scope.
func covers(granted, scope string) bool {
	return granted == scope || granted == "operator.admin" ||
		granted == "operator.write" && scope == "operator.read"
}

func missingText(missing []string) string {
	return fmt.Sprintf("The gateway did not grant %s, so features that need it fail. Pair Wardroom in the dashboard under Settings → Gateway; if it is paired, approve these scopes for its device.",
		strings.Join(missing, ", "))
}

// incompatible returns the failure for a gateway whose version is probably incompatible.
func incompatible(text string, layer Layer) *failure {
	return (&failure{state: Unreachable, pace: slow, layer: layer, text: text}).
		withFix("The versions may be incompatible: update the gateway or Wardroom, whichever is older.")
}
