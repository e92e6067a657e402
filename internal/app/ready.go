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

// ErrNotReady means that requests should go to another process for now. Its
// fact not_ready names what is in the way: "database", "schema" or "stopping".
var ErrNotReady = fault.New(fault.Unavailable, "not_ready", "The service cannot take requests now.")

// errSlow is for the log alone.
var errSlow = errors.New("the database did not answer within " + readyLimit.String())

const (
	// readyLimit is how long the database may take to answer.
	readyLimit = time.Second
	// readyFresh is how long its answer counts, so that many who ask every
	// moment cost one query a second.
	readyFresh = time.Second
)

// Alive is the answer of the probes when all is well.
type Alive struct {
	Status string `json:"status" enum:"ok" doc:"ok; anything else is a problem."`
}

// mountProbes adds what supervisors and load balancers ask.
func (a *App) mountProbes() {
	database := &watched{check: a.askDatabase}
	web.Get(a.API, "/livez", actor.Public, "Whether the process lives", func(context.Context, *struct{}) (*struct{ Body Alive }, error) {
		return &struct{ Body Alive }{Alive{"ok"}}, nil
	}, web.Root(), web.Quiet(), web.Describe("It asks nothing of the database or the gateway: when it does not answer, start the process anew."))
	web.Get(a.API, "/readyz", actor.Public, "Whether the service can take requests", func(ctx context.Context, _ *struct{}) (*struct{ Body Alive }, error) {
		if err := ready(ctx, database); err != nil {
			return nil, err
		}
		return &struct{ Body Alive }{Alive{"ok"}}, nil
	}, web.Root(), web.Quiet(), web.Fails(ErrNotReady), web.Describe(
		"It answers 200 while the database answers within a second and the service is not stopping; the database is asked at most once a second. "+
			"It does not depend on the gateway: without one, all but the agents works.\n\n"+
			"Otherwise it answers 503, and `not_ready` names what is in the way: `database`, `stopping`, or `schema` when a newer Wardroom has migrated the database."))
}

// ready says what keeps the service from taking requests, or nil.
func ready(ctx context.Context, database *watched) error {
	select {
	case <-web.Stopping(ctx):
		return ErrNotReady.With("It is stopping. Ask another replica, or again after its start.").Fact("not_ready", []string{"stopping"})
	default:
	}
	err := database.ask(ctx)
	if errors.Is(err, db.ErrNewer) {
		return ErrNotReady.With("A newer Wardroom has migrated the database, and this one writes no more. Replace it with the newer one.").Fact("not_ready", []string{"schema"})
	}
	if err != nil {
		// The cause stays in the log: it may name hosts.
		return errors.Join(ErrNotReady.With("The database does not answer. The log has the reason.").Fact("not_ready", []string{"database"}), err)
	}
	return nil
}

// askDatabase reads a row of ours, because an open connection says nothing of the
// tables behind it, and returns db.ErrNewer when they belong to a newer program.
func (a *App) askDatabase(ctx context.Context) error {
	var n int64
	if err := a.DB.QueryRow(ctx, `SELECT last FROM event_counter WHERE one = 1`).Scan(&n); err != nil {
		return err
	}
	return a.DB.Newer(ctx)
}

// watched remembers for a moment what a check said. Whoever asks while it runs
// waits for the same answer, and never longer than readyLimit, even when the
// check hangs where no context reaches it, as reads of a lost disk do.
type watched struct {
	check func(context.Context) error

	mu      sync.Mutex
	running chan struct{} // closed when the check that runs is over; nil when none does
	at      time.Time     // of the last answer
	err     error
}

func (w *watched) ask(ctx context.Context) error {
	w.mu.Lock()
	if !w.at.IsZero() && time.Since(w.at) < readyFresh {
		defer w.mu.Unlock()
		return w.err
	}
	if w.running == nil {
		w.running = make(chan struct{})
		// Others wait for it too, so it outlives the request that began it.
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

func (w *watched) run(ctx context.Context, over chan<- struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	err := w.check(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.err, w.running = time.Now(), err, nil
	close(over)
}
