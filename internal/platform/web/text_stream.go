package web

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// Writing is a function that writes a response piece by piece. It calls say for each piece, and
// say sends the piece immediately. An error from say means that the client has disconnected,
// did not receive the piece within Options.SendTimeout, or no longer has the permission that
// the route requires.
type Writing func(say func(text string) error)

// textOutput is the output type of routes declared with Text, Stream and CSV.
type textOutput struct{ Body func(huma.Context) }

// Text declares a route that returns plain text. The text can grow while the client
// reads it. An error that h returns becomes an error response.
func Text[I any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (Writing, error), opts ...Option,
) {
	registerText(a, path, p, summary, "text/plain", h, func(ctx context.Context, hc huma.Context, write Writing) {
		hc.SetHeader("Content-Type", "text/plain; charset=utf-8")
		hc.SetStatus(http.StatusOK)
		write(from(ctx).textWriter(ctx, hc.BodyWriter()))
	}, opts)
}

// registerText declares a route that responds with text of a media type. The function send writes
// the response from what the handler returns.
func registerText[I, T any](a *API, path string, p actor.Permission, summary, mediaType string,
	h func(context.Context, *I) (T, error), send func(context.Context, huma.Context, T), opts []Option,
) {
	register(a, http.MethodGet, path, p, summary, func(ctx context.Context, in *I) (*textOutput, error) {
		v, err := h(ctx, in)
		if err != nil {
			return nil, err
		}
		return &textOutput{func(hc huma.Context) { send(ctx, hc, v) }}, nil
	}, opts)
	op := a.routes[len(a.routes)-1].op
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// pieceSize is the number of bytes that even a slow client must receive within
// Options.SendTimeout.
const pieceSize = 64 << 10

// textWriter returns a function that writes text to w and sends it immediately. From its second
// call on, the function first checks the caller's permission again.
func (x *exchange) textWriter(ctx context.Context, w io.Writer) func(text string) error {
	conn, begun := http.NewResponseController(x.w), false
	return func(text string) error {
		if begun {
			if _, err := Reauthenticate(ctx); err != nil {
				return err
			}
		}
		begun = true
		for len(text) > 0 {
			piece := text[:min(len(text), pieceSize)]
			// Test recorders have no deadlines. Deadlines use the system clock.
			_ = conn.SetWriteDeadline(time.Now().Add(x.api.opts.SendTimeout))
			if _, err := io.WriteString(w, piece); err != nil {
				return err
			}
			text = text[len(piece):]
		}
		return conn.Flush()
	}
}
