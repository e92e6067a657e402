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
	// requestTime is how long a handler may take unless the route or the
	// program says otherwise.
	requestTime = 30 * time.Second
	// takeTime is how long a caller may take to read an answer, from the moment
	// when the handler's own time is over.
	takeTime = 60 * time.Second
	// cutTime is what handlers get to end after their grace is over.
	cutTime = time.Second
	// maxHeader is in bytes. A token is under 1 KiB; cookies are not ours.
	maxHeader = 64 << 10
)

type stoppingKey struct{}

// Stopping is closed when the server begins to shut down. A handler that waits
// for something answers then with what it has.
func Stopping(ctx context.Context) <-chan struct{} {
	if stop, ok := ctx.Value(stoppingKey{}).(context.Context); ok {
		return stop.Done()
	}
	return nil
}

// Serve answers requests from ln until ctx ends. Then it takes no new ones and
// gives those that run up to grace to finish; what still runs after that is
// cut off, and Serve says so in its error. It closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, grace time.Duration) error {
	// Requests outlive ctx by up to grace, so their contexts do not come from it.
	base, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx))
	defer cut()
	srv := &http.Server{
		Handler: h,
		// No ReadTimeout: when it passes, net/http ends the context of a request
		// that is still waiting for its answer. Bodies have Options.BodyTimeout.
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      requestTime + takeTime, // routes that wait move it
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
		// Their contexts end, and they get a moment to notice, so that what they
		// hold is not torn from under them.
		cut()
		moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
		defer cancel()
		if srv.Shutdown(moment) != nil {
			err = errors.Join(err, srv.Close())
		}
		err = fmt.Errorf("requests still ran after %s: %w", grace, err)
	}
	if closed := <-failed; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}
