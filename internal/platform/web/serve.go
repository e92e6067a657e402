package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// requestTime is the default time limit of a handler.
	requestTime = 30 * time.Second
	// takeTime is how long a client can take to read a response after the handler's
	// time limit.
	takeTime = 60 * time.Second
	// cutTime is how long handlers have to return after the grace period.
	cutTime = time.Second
	// maxHeader limits the request header, in bytes. A token is under 1 KiB, and the
	// API uses no cookies.
	maxHeader = 64 << 10
)

type stoppingKey struct{}

// Stopping returns a channel that is closed when the server begins to shut down. A
// handler that is waiting should then respond with the data it has.
func Stopping(ctx context.Context) <-chan struct{} {
	if stop, ok := ctx.Value(stoppingKey{}).(context.Context); ok {
		return stop.Done()
	}
	return nil
}

// Serve handles requests from ln until ctx ends. It then closes ln and waits up to the given grace period for the
// requests in progress. If any are still running after that, it cuts them off and returns an error.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, grace time.Duration) error {
	// Requests can outlive ctx by up to grace, so their contexts are not derived from it.
	base, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx))
	defer cut()
	srv := &http.Server{
		Handler: h,
		// No ReadTimeout: net/http would end the context of a request that is still
		// being handled. Options.BodyTimeout limits bodies.
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      requestTime + takeTime, // routes with Waits extend it
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(end)
	if err != nil {
		// End their contexts and give them a moment to return before their resources
		// are closed.
		cut()
		moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
		defer cancel()
		if srv.Shutdown(moment) != nil {
			err = errors.Join(err, srv.Close())
		}
		err = fmt.Errorf("requests were still running after %s: %w", grace, err)
	}
	if closed := <-failed; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}
