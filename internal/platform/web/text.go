package web

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// Writing writes an answer piece by piece; each piece reaches the caller at
// once. say fails when the caller has left.
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
			flush := http.NewResponseController(from(ctx).w).Flush
			write(func(text string) error {
				if _, err := io.WriteString(hc.BodyWriter(), text); err != nil {
					return err
				}
				return flush()
			})
		}}, nil
	}, opts)
	op := a.routes[len(a.routes)-1].op
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}
