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

// Writing writes an answer piece by piece; each piece reaches the caller at
// once. say fails when the caller has left, takes nothing within
// Options.SendTimeout, or may not read any more.
type Writing func(say func(text string) error)

// textOutput is what huma sees of a route declared with Text.
type textOutput struct{ Body func(huma.Context) }

// Text declares a route that reads and answers plain text, which may grow
// while the caller reads. A failure that is known before the first piece is
// answered as a problem, as everywhere.
func Text[I any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (Writing, error), opts ...Option) {
	register(a, http.MethodGet, path, p, summary, func(ctx context.Context, in *I) (*textOutput, error) {
		write, err := h(ctx, in)
		if err != nil {
			return nil, err
		}
		return &textOutput{func(hc huma.Context) {
			hc.SetHeader("Content-Type", "text/plain; charset=utf-8")
			hc.SetStatus(http.StatusOK)
			write(from(ctx).say(ctx, hc.BodyWriter()))
		}}, nil
	}, opts)
	op := a.routes[len(a.routes)-1].op
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// pieceSize is how many bytes a slow line must take within Options.SendTimeout.
const pieceSize = 64 << 10

// say writes pieces of a text to w, which is the answer's connection. Before each
// but the first it looks whether the caller still may read it.
func (x *exchange) say(ctx context.Context, w io.Writer) func(text string) error {
	conn, begun := http.NewResponseController(x.w), false
	return func(text string) error {
		if begun {
			if _, err := Again(ctx); err != nil {
				return err
			}
		}
		begun = true
		for len(text) > 0 {
			piece := text[:min(len(text), pieceSize)]
			// A recorder in a test has no deadlines. The clock is the kernel's.
			_ = conn.SetWriteDeadline(time.Now().Add(x.api.opts.SendTimeout))
			if _, err := io.WriteString(w, piece); err != nil {
				return err
			}
			text = text[len(piece):]
		}
		return conn.Flush()
	}
}
