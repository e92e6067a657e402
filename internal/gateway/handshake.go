package gateway

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
	Features struct {
		Methods []string `json:"methods"` // those that it has, but for some that it hides; nil when it does not say
	} `json:"features"`
	Policy struct {
		MaxPayload number `json:"maxPayload"`     // bytes in one frame
		Tick       number `json:"tickIntervalMs"` // between two tick events
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

// tick is how often the gateway announces to send an event at least; 0 when it
// does not say.
func (h hello) tick() time.Duration {
	ms, _ := h.Policy.Tick.whole()
	return time.Duration(min(max(ms, 0), time.Hour.Milliseconds())) * time.Millisecond
}

// handshake waits for the challenge, introduces us, and reads what we are given.
func (c *Client) handshake(ctx context.Context, k *conn) (hello, *failure) {
	f, _, fail := c.handshakeFrame(ctx, k, "it never began the handshake", func(f frame) bool {
		return f.Type == "event" && f.Event == "connect.challenge"
	})
	if fail != nil {
		return hello{}, fail
	}
	ch, ok := readChallenge(f.Payload)
	k.challenged(ch, c.opt.Now())
	who := c.introduction(k.cred)
	if c.device != nil {
		if !ok {
			return hello{}, strange("The gateway's challenge is not one that a device can sign.", LayerChallenge)
		}
		who.Device = c.device.sign(who, ch)
	}
	asked := time.Now()
	const id = "connect"
	if err := k.write(request{Type: "req", ID: id, Method: "connect", Params: who}, c.opt.Timeout); err != nil {
		return hello{}, c.readFailure(ctx, k, err, "it hung up when we introduced ourselves")
	}
	f, raw, fail := c.handshakeFrame(ctx, k, "it did not answer our introduction", func(f frame) bool {
		return f.Type == "res" && f.ID == id
	})
	if fail != nil {
		return hello{}, fail
	}
	c.roundTrip(time.Since(asked))
	if f.Error != nil {
		return hello{}, c.refusal(f.Error, k.cred)
	}
	var h hello
	if err := json.Unmarshal(f.Payload, &h); err != nil || h.Type != "hello-ok" {
		return hello{}, strange("The gateway greets us in a way that we do not understand.", LayerProtocol)
	}
	if v, ok := h.Protocol.whole(); !ok || v != protocol {
		return hello{}, protocolFailure(h.Protocol)
	}
	c.keep(raw, k.cred)
	k.bootID = c.secrets.bounded(h.Server.BootID, 100)
	return h, nil
}

func (c *Client) introduction(cr credential) connectParams {
	return connectParams{
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
		Auth:      cr.auth(),
		Locale:    "en-US",
		UserAgent: "wardroom/" + c.opt.Version,
	}
}

// handshakeFrame reads until the frame that we wait for, and returns it also as
// it came: a token in it that we know already has been taken out of the frame.
func (c *Client) handshakeFrame(ctx context.Context, k *conn, missing string, wanted func(frame) bool) (f frame, raw []byte, fail *failure) {
	for {
		typ, data, err := k.ws.Read(ctx)
		if err != nil {
			return frame{}, nil, c.readFailure(ctx, k, err, missing)
		}
		k.heard()
		f, err := decodeFrame(c.secrets.frame(data))
		if err == nil && typ == websocket.MessageText && wanted(f) {
			return f, data, nil
		}
	}
}

// readFailure says why a connection ended while we read from it.
func (c *Client) readFailure(ctx context.Context, k *conn, err error, missing string) *failure {
	host := c.url.Host
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return (&failure{state: Unreachable, pace: slow, text: "The gateway sent a larger frame than it announced and we accept, so we hung up."}).
			mend("Lower its limit on frames; we accept 64 MiB at most.")
	case errors.Is(context.Cause(k.life), errBecame):
		return anotherDevice()
	case errors.Is(context.Cause(k.life), errSilent):
		return unreachable("The gateway went silent: nothing was heard from it for %s.", c.opt.Silence)
	case ctx.Err() != nil:
		return (&failure{state: Slow, text: fmt.Sprintf("%s accepted the connection, and %s within %s. The gateway is overloaded, or this is none.", host, missing, c.opt.Timeout)}).mend("%s", lookAtHost)
	}
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return c.closeFailure(closed, k)
	}
	if missing != "" {
		return unreachable("%s hung up: %s.", host, missing).mend("Check that AGENTRT_GATEWAY_URL names the gateway, and look at its log.")
	}
	return unreachable("The connection to the gateway broke: %s.", c.secrets.words(rootText(err)))
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
	return fmt.Sprintf("The gateway did not grant %s, so what needs it fails. It grants what is asked for to services on its own host, and to paired devices what was approved for them: “Pair this service” in the dashboard, under Settings → Gateway, makes it one.",
		strings.Join(missing, ", "))
}

// strange is for a gateway of another time.
func strange(text string, layer Layer) *failure {
	return (&failure{state: Unreachable, pace: slow, layer: layer, text: text}).
		mend("Its version may be too new or too old: update whichever is older, the gateway or this service.")
}
