// Package dispatch hands a task to its agent: one run in a session of its own,
// asked once, whoever dies meanwhile.
//
// What was handed over is a row, written before the runtime hears of it. A job
// (course.go) brings it to its end: it waits for the runtime and the agent, asks
// under a run id by which the runtime knows the question, and finds out after
// every interruption what became of it. What came of the task is the agent's to
// report; a dispatch neither claims nor moves it.
package dispatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// State says how far a dispatch is.
type State string

// The states.
const (
	Queued  State = "queued"  // written down; the runtime has not taken it
	Started State = "started" // the runtime has it
	Ended   State = "ended"   // its run ended well
	Failed  State = "failed"
)

// Code says why a dispatch failed.
type Code string

// The codes. Withdrawn is also what is said of a task that was deleted.
const (
	Cancelled   Code = "cancelled"           // somebody took it back
	Withdrawn   Code = "withdrawn"           // the task was done, archived, deleted or given away first
	Reassigned  Code = "reassigned"          // it was somebody else's before it began
	Deactivated Code = "agent_deactivated"   // the agent has no active account any more
	Unreachable Code = "gateway_unreachable" // the gateway was away for too long
	Unknown     Code = "agent_unknown"       // the runtime did not know the agent for too long
	Refused     Code = "refused"             // the runtime will not do it
	TimedOut    Code = "timed_out"           // the run took too long
	Stopped     Code = "stopped"             // somebody stopped the run in the runtime
	RunFailed   Code = "run_failed"          // the model or the runtime failed
	Broken      Code = "broken"              // this service failed again and again
)

// The failures of handing over and of taking back.
var (
	ErrGoing    = fault.New(fault.Conflict, "already_dispatched", "The task is with its agent already.")
	ErrNotGoing = fault.New(fault.Conflict, "not_dispatched", "The task is with no agent.")
	ErrNotFound = fault.New(fault.NotFound, "dispatch_not_found", "There is no such dispatch.")
)

// Dispatch is one time that a task was handed to its agent.
type Dispatch struct {
	ID         string     `json:"id"`
	Task       string     `json:"task" example:"TASK-12" doc:"The key of the task."`
	State      State      `json:"state" enum:"queued,started,ended,failed" doc:"queued: the runtime has not taken it yet. started: it has, and the agent works. ended: its run has ended well; what came of the task its reports say. failed: see error."`
	Since      clock.Time `json:"since" doc:"When it came into this state."`
	AgentID    string     `json:"agent_id" example:"cto"`
	RunID      string     `json:"run_id" example:"task-TASK-12-1-9f3a21bc"`
	SessionKey string     `json:"session_key" example:"agent:cto:task:TASK-12"`
	By         string     `json:"by" doc:"The name of who handed it over."`
	Waiting    *string    `json:"waiting" doc:"Why it has not begun; null unless it is queued and has to wait."`
	Error      *Failure   `json:"error" doc:"Why it failed; null unless it did."`
	CreatedAt  clock.Time `json:"created_at"`

	taskID, userID string
	first, number  int
	message        string
	sent           bool // the question may have left for the gateway
	bootID         string
	askedAt        *clock.Time
	startBy        clock.Time
	endBy          *clock.Time
	endedAt        *clock.Time
}

// Failure is why a dispatch failed.
type Failure struct {
	Code   Code   `json:"code" enum:"cancelled,withdrawn,reassigned,agent_deactivated,gateway_unreachable,agent_unknown,refused,timed_out,stopped,run_failed,broken"`
	Detail string `json:"detail" doc:"In words. It may hold words of the runtime: never trust it."`
}

// Task is what there is to know of a task that is handed over.
type Task struct {
	ID, Key, Title, Description string
	Status, Priority, Type      string
	DueAt                       *clock.Time
	Blocked                     string // why; empty when it is not
	AgentID, UserID             string // its agent, and the account of that
	Depends                     []string
	Comments                    []Comment // the oldest first
}

// Comment is something that was said about a task.
type Comment struct {
	At     time.Time
	Author string
	Text   string
}

// Used is what the run of a dispatch used, as the runtime told at its end.
type Used struct {
	RunID, AgentID, SessionKey, TaskKey string
	StartedAt, EndedAt                  time.Time
	Usage                               gateway.Usage
}

// Matter is something that needs a human: it becomes an item of the inbox.
type Matter struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
}

// alive says whether it goes on.
func (d *Dispatch) alive() bool { return d.State == Queued || d.State == Started }

// name is the id of the n-th run for the task. The end of the dispatch's own id
// keeps it apart from a run of the same task in another database.
func (d *Dispatch) name(n int) string {
	return fmt.Sprintf("task-%s-%d-%s", d.Task, n, d.ID[max(0, len(d.ID)-8):])
}

func (d *Dispatch) subject() event.Subject {
	return event.Subject{Kind: "task", ID: d.taskID, Name: d.Task}
}

// cause is what brings a failed dispatch to the inbox.
func (d *Dispatch) cause() string { return "task/" + d.taskID + "/dispatch" }

// end notes how it ended.
func (d *Dispatch) end(now time.Time, f *Failure) {
	d.State, d.Since, d.endedAt, d.Waiting, d.Error = Ended, clock.At(now), clock.Ptr(now), nil, f
	d.message = ""
	if f != nil {
		d.State = Failed
	}
}

// outcome is the failure that the end of a run is; nil when it ended well.
func outcome(a gateway.Answer, late bool, limit time.Duration) *Failure {
	switch {
	case a.Outcome == gateway.Finished:
		return nil
	case a.Outcome == gateway.TimedOut || a.Outcome == gateway.Stopped && late:
		// A run that was stopped after its time was stopped by us, before the
		// connection broke or the process died.
		return &Failure{TimedOut, fmt.Sprintf("It took longer than %s, and was stopped.", length(limit))}
	case a.Outcome == gateway.Stopped:
		return &Failure{Stopped, "The run was stopped in the runtime."}
	default:
		return &Failure{RunFailed, cmp.Or(cut(plaintext.Line(a.Error), longestReason), "The runtime does not say why.")}
	}
}

// longestReason is how much of the runtime's own words is kept, in runes.
const longestReason = 1000

// words are a failure as a sentence.
func words(err error) string {
	f := fault.Of(err)
	if f == nil {
		return plaintext.Line(err.Error())
	}
	return cut(plaintext.Line(strings.TrimSpace(f.Title+" "+f.Detail)), longestReason)
}

// length is a time as people write it: 2h, and not 2h0m0s.
func length(d time.Duration) string {
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
