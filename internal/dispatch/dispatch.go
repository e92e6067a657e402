// Package dispatch sends tasks to their agents. Each dispatch is one run in the task's own
// session. A dispatch survives crashes of Wardroom and restarts of the gateway, and the
// agent never receives its prompt twice.
//
// A dispatch is stored before it is sent to the gateway. A job (runner.go) then waits until
// the gateway and the agent are available, and sends the prompt, which the code calls the
// question. The run ID is the idempotency key. After each interruption, the job finds out
// whether the question arrived and was answered. A dispatch neither claims nor moves the
// task: the agent reports the result.
package dispatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/ask"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

// Code is the reason why a dispatch failed.
type Code string

// Reasons why a dispatch fails.
const (
	Cancelled Code = "cancelled" // a user canceled it
	// the task is done, archived, deleted, or no longer assigned to an active agent
	Withdrawn   Code = "withdrawn"
	Reassigned  Code = "reassigned"          // the task was assigned to someone else before the run started
	Deactivated Code = "agent_deactivated"   // the agent has no active account
	Unreachable Code = "gateway_unreachable" // the gateway was unreachable for too long
	Unknown     Code = "agent_unknown"       // the gateway went too long without listing the agent
	Refused     Code = "refused"             // the gateway rejected it
	TimedOut    Code = "timed_out"           // the run took too long
	Stopped     Code = "stopped"             // the run was stopped in the gateway
	RunFailed   Code = "run_failed"          // the model or the gateway failed
	Broken      Code = "broken"              // Wardroom failed repeatedly
)

// Errors returned when a dispatch is created or canceled.
var (
	ErrAlreadyDispatched = fault.New(fault.Conflict, "already_dispatched", "The task is already dispatched.")
	ErrNotDispatched     = fault.New(fault.Conflict, "not_dispatched", "The task is not currently dispatched.")
	ErrNotFound          = fault.New(fault.NotFound, "dispatch_not_found", "Dispatch not found.")
)

// Dispatch is one attempt to have an agent work on a task.
type Dispatch struct {
	ID         string             `json:"id"`
	Task       string             `json:"task" example:"TASK-12" doc:"The key of the task."`
	State      task.DispatchState `json:"state" enum:"queued,started,ended,failed" doc:"queued: waiting for the gateway to accept it. started: the agent is working. ended: the run succeeded; see the task's reports for the result. failed: see error."`
	Since      clock.Time         `json:"since" doc:"When this state began."`
	AgentID    string             `json:"agent_id" example:"cto"`
	RunID      string             `json:"run_id" example:"task-TASK-12-1-9f3a21bc"`
	SessionKey string             `json:"session_key" example:"agent:cto:task:TASK-12"`
	By         string             `json:"by" doc:"Name of the user or agent that dispatched the task."`
	Waiting    *string            `json:"waiting" doc:"Why the dispatch is waiting; null unless it is queued and has to wait."`
	Error      *Failure           `json:"error" doc:"Why the dispatch failed; null unless it failed."`
	CreatedAt  clock.Time         `json:"created_at"`

	taskID, userID string
	first, number  int
	message        string
	sent           bool // the question may have been sent to the gateway
	bootID         string
	askedAt        *clock.Time
	startBy        clock.Time
	endBy          *clock.Time
	endedAt        *clock.Time
}

// Failure is the reason why a dispatch failed.
type Failure struct {
	Code   Code   `json:"code" enum:"cancelled,withdrawn,reassigned,agent_deactivated,gateway_unreachable,agent_unknown,refused,timed_out,stopped,run_failed,broken"`
	Detail string `json:"detail" doc:"Explanation. It may contain text from the gateway, so treat it as untrusted."`
}

// Error implements error.
func (f *Failure) Error() string { return string(f.Code) + ": " + f.Detail }

// active reports whether the dispatch is queued or started.
func (d *Dispatch) active() bool { return d.State == task.Queued || d.State == task.Started }

// runID returns the id of the n-th run for the task. It ends with part of the dispatch's
// id, so that it is unique even if the gateway is also used with another database that has
// a task with the same key.
func (d *Dispatch) runID(n int) string {
	return fmt.Sprintf("task-%s-%d-%s", d.Task, n, d.ID[max(0, len(d.ID)-8):])
}

// orphan identifies the dispatch's run and the runs that were lost before it.
func (d *Dispatch) orphan() ask.Orphan {
	o := ask.Orphan{SessionKey: d.SessionKey, RunID: d.RunID}
	for n := d.number - 1; n >= d.first; n-- {
		o.Former = append(o.Former, d.runID(n))
	}
	return o
}

// card returns the dispatch as its task shows it.
func (d *Dispatch) card() task.Dispatch {
	c := task.Dispatch{
		State: d.State, Since: d.Since, AgentID: d.AgentID, RunID: d.RunID, SessionKey: d.SessionKey, By: d.By,
		Waiting: d.Waiting,
	}
	if d.Error != nil {
		c.Error = &task.DispatchError{Code: string(d.Error.Code), Detail: d.Error.Detail}
	}
	return c
}

func (d *Dispatch) subject() event.Subject {
	return event.Subject{Kind: "task", ID: d.taskID, Name: d.Task}
}

// cause returns the key that identifies the inbox item for a failed dispatch.
func (d *Dispatch) cause() string { return "task/" + d.taskID + "/dispatch" }

// inboxRun returns the dispatch's run, or nil if the gateway has not accepted it.
func (d *Dispatch) inboxRun() *inbox.Run {
	if d.askedAt == nil {
		return nil
	}
	return &inbox.Run{SessionKey: d.SessionKey, RunID: d.RunID}
}

// endTime returns when the run ended: the gateway's time, if it is plausible, because Wardroom can learn
// of the end much later. Otherwise it returns now.
func (d *Dispatch) endTime(ended, now time.Time) time.Time {
	if ended.IsZero() || ended.After(now) || d.askedAt == nil || ended.Before(d.askedAt.Time) {
		return now
	}
	return ended
}

// end marks the dispatch as ended, or as failed if f is not nil.
func (d *Dispatch) end(now time.Time, f *Failure) {
	d.State, d.Since, d.endedAt, d.Waiting, d.Error = task.Ended, clock.At(now), clock.Ptr(now), nil, f
	d.message = ""
	if f != nil {
		d.State = task.Failed
	}
}

// failure returns the Failure for a run that ended with the result r, or nil if the run succeeded.
func failure(r ask.Result, limit time.Duration) *Failure {
	switch {
	case r.Rejected != nil:
		return &Failure{Refused, errorText(r.Rejected)}
	case r.Outcome == gateway.Finished:
		return nil
	case r.Outcome == gateway.TimedOut:
		return timedOut(limit)
	case r.Outcome == gateway.Stopped:
		return &Failure{Stopped, "The run was stopped in the gateway."}
	case r.Outcome == ask.Unsure:
		return &Failure{RunFailed, "The run ended without an answer while Wardroom was disconnected."}
	default:
		return &Failure{RunFailed, cmp.Or(cut(plaintext.Line(r.Error), longestReason), "The gateway gave no reason.")}
	}
}

func timedOut(limit time.Duration) *Failure {
	return &Failure{TimedOut, fmt.Sprintf("The run took longer than %s, and was stopped.", formatDuration(limit))}
}

// longestReason is the maximum length of the gateway's error text, in runes.
const longestReason = 1000

// errorText returns the text of an error as shown to users.
func errorText(err error) string {
	f := fault.Of(err)
	if f == nil {
		return plaintext.Line(err.Error())
	}
	return cut(plaintext.Line(strings.TrimSpace(f.Title+" "+f.Detail)), longestReason)
}

// formatDuration formats a duration and omits units that are zero: it returns 2h, not 2h0m0s.
func formatDuration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
