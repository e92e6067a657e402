package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// Streaming sends server-sent events to one client. It must return when ctx ends,
// which happens when the client disconnects or the server shuts down. The function
// send writes complete frames without buffering them. It returns an error if ctx has
// ended or the client does not receive the frames within Options.SendTimeout.
type Streaming func(ctx context.Context, send func(frames []byte) error)

// Stream declares a route that responds with server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) for as long as the
// client is connected. An error that h returns becomes an error response. The
// Streaming that h returns is always called, so that it can release what h acquired.
// For a HEAD request, it is called with a context that has already ended.
func Stream[I any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (Streaming, error),
	opts ...Option,
) {
	send := func(ctx context.Context, hc huma.Context, stream Streaming) {
		hc.SetHeader("Content-Type", "text/event-stream")
		hc.SetHeader("Cache-Control", "no-store")
		hc.SetHeader("X-Accel-Buffering", "no") // otherwise nginx buffers frames
		hc.SetStatus(http.StatusOK)
		from(ctx).stream(stream)
	}
	opts = append(opts, func(r *route) { r.plain = true })
	registerText(a, path, p, summary, "text/event-stream", h, send, opts)
}

// stream runs s on the response's connection.
func (x *exchange) stream(s Streaming) {
	ctx, end := context.WithCancel(actor.With(x.whole, x.caller))
	defer end()
	if x.r.Method == http.MethodHead {
		end()
	}
	conn := http.NewResponseController(x.w)
	deadline := func(d time.Duration) {
		// Test recorders have no deadlines. Deadlines use the system clock.
		_ = conn.SetWriteDeadline(time.Now().Add(d))
	}
	if stop, ok := x.whole.Value(stoppingKey{}).(context.Context); ok {
		// A blocked write must not delay the shutdown.
		defer context.AfterFunc(stop, func() { end(); deadline(cutTime) })()
	}
	s(ctx, func(frames []byte) error {
		deadline(x.api.opts.SendTimeout)
		if err := ctx.Err(); err != nil { // checked now, because the new deadline may override that of the shutdown
			return err
		}
		if _, err := x.w.Write(frames); err != nil {
			return err
		}
		return conn.Flush()
	})
}

// Reauthenticate checks again whether the token of the request in ctx is valid and
// grants the route's permission. If not, it returns the error that a new request
// would get. Call it during responses that can outlast the caller's account or
// token.
func Reauthenticate(ctx context.Context) (actor.Actor, error) {
	ctx, done := context.WithTimeout(ctx, reauthenticateTime)
	defer done()
	return from(ctx).authenticate(ctx)
}

// reauthenticateTime limits how long Reauthenticate waits for the database.
const reauthenticateTime = 5 * time.Second
