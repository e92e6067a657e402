package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// Streaming writes server-sent events until ctx ends, which it does when the
// caller leaves or the server begins to stop, or until it returns. send writes
// whole frames, which reach the caller at once; it fails when the caller has
// left or does not take them within Options.SendTimeout.
type Streaming func(ctx context.Context, send func(frames []byte) error)

// Stream declares a route that answers server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), for as long
// as its caller stays. A failure that is known before the first frame is
// answered as a problem, as everywhere. The Streaming that h returns is always
// called, for HEAD with a ctx that has ended, so that it can give back what h
// took.
func Stream[I any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (Streaming, error), opts ...Option) {
	register(a, http.MethodGet, path, p, summary, func(ctx context.Context, in *I) (*textOutput, error) {
		stream, err := h(ctx, in)
		if err != nil {
			return nil, err
		}
		return &textOutput{func(hc huma.Context) {
			hc.SetHeader("Content-Type", "text/event-stream")
			hc.SetHeader("Cache-Control", "no-store")
			hc.SetHeader("X-Accel-Buffering", "no") // nginx would keep frames back
			hc.SetStatus(http.StatusOK)
			from(ctx).stream(stream)
		}}, nil
	}, append(opts, func(r *route) { r.plain = true }))
	op := a.routes[len(a.routes)-1].op
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// stream runs s on the answer's connection.
func (x *exchange) stream(s Streaming) {
	ctx, end := context.WithCancel(actor.With(x.whole, x.caller))
	defer end()
	if x.r.Method == http.MethodHead {
		end()
	}
	conn := http.NewResponseController(x.w)
	deadline := func(d time.Duration) {
		// A recorder in a test has no deadlines. The clock is the kernel's.
		_ = conn.SetWriteDeadline(time.Now().Add(d))
	}
	if stop, ok := x.whole.Value(stoppingKey{}).(context.Context); ok {
		// Also a write that nobody takes must not hold up the stop.
		defer context.AfterFunc(stop, func() { end(); deadline(cutTime) })()
	}
	s(ctx, func(frames []byte) error {
		deadline(x.api.opts.SendTimeout)
		if err := ctx.Err(); err != nil { // after the line above, which might have undone the stop's deadline
			return err
		}
		if _, err := x.w.Write(frames); err != nil {
			return err
		}
		return conn.Flush()
	})
}

// Again finds out anew who sends the request that ctx belongs to, and whether
// they still may: for routes that answer for longer than an account or a token
// may last. It fails as the request would now.
func Again(ctx context.Context) (actor.Actor, error) {
	ctx, done := context.WithTimeout(ctx, againTime)
	defer done()
	return from(ctx).authenticate(ctx)
}

// againTime is how long the database may take to tell who somebody is.
const againTime = 5 * time.Second
