package app

import (
	"maps"

	"wardroom/internal/ask"
	"wardroom/internal/dispatch"
	"wardroom/internal/platform/job"
)

const (
	// dispatchWorkers is how many dispatched tasks one process waits for at once.
	// Each takes one worker until its run ends; more tasks wait in the queue.
	dispatchWorkers = 64
	// stopWorkers is how many runs one process stops at once.
	stopWorkers = 16
	// standupWorkers is how many standups one process runs at once.
	standupWorkers = 16
)

// newQueue returns a job queue that has its own workers and no timers.
func (a *App) newQueue(workers int) *job.Queue {
	q := job.New(a.DB, a.log, a.opts.Now)
	q.Workers, q.Observe = workers, a.Queue.Observe
	return q
}

// wireDispatch creates the dispatch service. Its queue has its own workers, because a run can take hours and must not
// delay timers or the stopping of other runs.
func (a *App) wireDispatch(stops *ask.Stopper) {
	cfg, now := a.cfg, a.opts.Now
	a.DispatchQueue = a.newQueue(dispatchWorkers)
	a.Dispatch = &dispatch.Service{
		DB: a.DB, Jobs: a.DispatchQueue, Stops: stops, Runtime: a.Gateway, Log: a.log, Now: now, Redact: a.redact,
		Inbox: a.Inbox, Tasks: a.Tasks, Accounts: a.Accounts, Holds: a.Holds, Usage: a.Usage,
		URL: a.agentURL, Patience: cfg.DispatchPatience, Limit: cfg.DispatchTimeout,
	}
	maps.Copy(a.DispatchQueue.Kinds, a.Dispatch.Kinds())
	a.Tasks.Withdraw, a.Tasks.Send, a.Tasks.SendRefusals = a.Dispatch.Withdraw, a.Dispatch.Send, dispatch.Refusals()
}

// newStopper creates the queue that stops runs that nobody waits for any more.
func (a *App) newStopper() *ask.Stopper {
	a.StopQueue = a.newQueue(stopWorkers)
	s := &ask.Stopper{Jobs: a.StopQueue, Runtime: a.Gateway, Log: a.log, Patience: a.cfg.DispatchPatience}
	maps.Copy(a.StopQueue.Kinds, s.Kinds())
	return s
}

// wakeWork makes all queues and the readers of sessions look for work.
func (a *App) wakeWork() {
	a.Mirror.Sessions.Wake()
	a.Queue.Wake()
	a.StandupQueue.Wake()
	a.DispatchQueue.Wake()
	a.StopQueue.Wake()
	a.HoldQueue.Wake()
}
