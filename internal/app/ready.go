package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// ErrNotReady means that clients should send requests to another replica for now. The
// response's not_ready field contains the reason: "database", "schema" or "stopping".
var ErrNotReady = fault.New(fault.Unavailable, "not_ready", "Wardroom is not ready for requests.")

// errSlow means that a check of the database timed out. It appears only in the log.
var errSlow = errors.New("the database did not answer within " + readyLimit.String())

const (
	// readyLimit is the time limit for a query to the database.
	readyLimit = time.Second
	// readyFresh is how long the result is cached, so that frequent probes cost at
	// most one query per second.
	readyFresh = time.Second
)

// Alive is the response to a successful health probe.
type Alive struct {
	Status string `json:"status" enum:"ok" doc:"Always ok; a failed probe returns an error."`
}

// mountProbes adds the probes for supervisors and load balancers.
func (a *App) mountProbes() {
	database := &watched{check: a.askDatabase}
	isAlive := func(context.Context, *struct{}) (*struct{ Body Alive }, error) {
		return &struct{ Body Alive }{Alive{"ok"}}, nil
	}
	isReady := func(ctx context.Context, _ *struct{}) (*struct{ Body Alive }, error) {
		if err := ready(ctx, database); err != nil {
			return nil, err
		}
		return isAlive(ctx, nil)
	}
	web.Get(a.API, "/livez", actor.Public, "Check that the process is alive", isAlive,
		web.Root(), web.Quiet(), web.Describe(
			"Depends on neither the database nor the gateway. Restart the process if it does not answer."))
	web.Get(a.API, "/readyz", actor.Public, "Check that Wardroom is ready for requests", isReady,
		web.Root(), web.Quiet(), web.Fails(ErrNotReady), web.Describe(
			"Returns 200 if the database answers within 1 s and Wardroom is not stopping. The database is queried at most once per second. "+
				"The result does not depend on the gateway.\n\n"+
				"Otherwise returns 503, and `not_ready` contains the reason: `database`, `stopping`, or `schema` if a newer version has migrated the database."))
}

// ready returns nil if Wardroom is ready for requests, and otherwise an error with
// the reason.
func ready(ctx context.Context, database *watched) error {
	select {
	case <-web.Stopping(ctx):
		return ErrNotReady.With("Wardroom is stopping. Use another replica, or retry after the restart.").
			Fact("not_ready", []string{"stopping"})
	default:
	}
	err := database.ask(ctx)
	if errors.Is(err, db.ErrNewer) {
		return ErrNotReady.With("A newer version of Wardroom has migrated the database, so this version can no longer write to it. Upgrade this process.").Fact("not_ready", []string{"schema"})
	}
	if err != nil {
		// The cause appears only in the log, because it may contain host names.
		return errors.Join(
			ErrNotReady.With("The database is not responding. See the log for the reason.").Fact("not_ready", []string{
				"database",
			}),
			err,
		)
	}
	return nil
}

// askDatabase reads a row, because an open connection alone does not prove that the
// tables can be read. It returns db.ErrNewer if a newer version has migrated the
// database.
func (a *App) askDatabase(ctx context.Context) error {
	var n int64
	if err := a.DB.QueryRow(ctx, `SELECT last FROM event_counter WHERE one = 1`).Scan(&n); err != nil {
		return err
	}
	return a.DB.Newer(ctx)
}

// watched caches the result of a check until it is older than readyFresh. Concurrent
// callers share one check and wait at most readyLimit for it. This limit applies even
// if the check ignores its context, as a read from a failed disk does.
type watched struct {
	check func(context.Context) error

	mu      sync.Mutex
	running chan struct{} // closed when the running check ends; nil if none runs
	at      time.Time     // time of the last result
	err     error         // the last result
}

// ask returns the cached result if it is recent enough. Otherwise it waits for a new
// check.
func (w *watched) ask(ctx context.Context) error {
	w.mu.Lock()
	if !w.at.IsZero() && time.Since(w.at) < readyFresh {
		defer w.mu.Unlock()
		return w.err
	}
	if w.running == nil {
		w.running = make(chan struct{})
		// Other callers wait for it too, so it outlives the request that started it.
		go w.run(context.WithoutCancel(ctx), w.running)
	}
	running := w.running
	w.mu.Unlock()

	late := time.NewTimer(readyLimit)
	defer late.Stop()
	select {
	case <-running:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-late.C:
		return errSlow
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run performs the check, caches the result and closes the given channel.
func (w *watched) run(ctx context.Context, over chan<- struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	err := w.check(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.err, w.running = time.Now(), err, nil
	close(over)
}
