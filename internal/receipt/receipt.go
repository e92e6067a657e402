// Package receipt compares what an agent says about a finished task with what the runtime recorded.
//
// A receipt is made when an agent reports a task as done, and again until the transcripts of its
// runs are complete. Make derives it from facts only: no model is asked, and nothing that the agent
// says can raise the grade.
package receipt

import (
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

// Grade says how well the runtime's records support an agent's report.
type Grade string

// The grades. All except NotGradable are listed from the weakest to the strongest.
const (
	NotGradable Grade = "not_gradable" // the runtime has no record of the work
	None        Grade = "none"         // no work was recorded
	Claimed     Grade = "claimed"      // work was recorded, but no check that passed after the last change
	SelfChecked Grade = "self_checked" // a check that the agent chose passed after the last change
	Checked     Grade = "checked"      // every check that a person named in advance passed after the last change
	Approved    Grade = "approved"     // a person approved the result
)

// Grades returns the grades.
func Grades() []Grade { return []Grade{NotGradable, None, Claimed, SelfChecked, Checked, Approved} }

// GapKind is a kind of difference between a report and the records.
type GapKind string

// The kinds of gaps.
const (
	NoToolCall         GapKind = "no_tool_call"
	NothingChanged     GapKind = "nothing_changed"
	CheckFailed        GapKind = "check_failed"
	ChangedAfterCheck  GapKind = "changed_after_check"
	ClaimedCheckNotRun GapKind = "claimed_check_not_run"
	NamedCheckNotRun   GapKind = "named_check_not_run"
)

// GapKinds returns the kinds of gaps.
func GapKinds() []GapKind {
	return []GapKind{NoToolCall, NothingChanged, CheckFailed, ChangedAfterCheck, ClaimedCheckNotRun, NamedCheckNotRun}
}

// Gap is a difference between an agent's report and the records.
type Gap struct {
	Kind GapKind `json:"kind" doc:"no_tool_call: the agent called no tool except to report. nothing_changed: nothing was changed. check_failed: the last check failed. changed_after_check: files changed after the last check. claimed_check_not_run: the report says that a check passed that never ran. named_check_not_run: a check of the task never ran."`
	Text string  `json:"text" doc:"The gap as one sentence. It may contain commands that the agent wrote."`
}

// Receipt is what is known about the work behind a report.
type Receipt struct {
	ID         string      `json:"id"`
	Task       string      `json:"task" doc:"The task's key." example:"TASK-12"`
	AgentID    string      `json:"agent_id" example:"cto"`
	ReportedAt clock.Time  `json:"reported_at" doc:"When the agent reported the task as done."`
	Grade      Grade       `json:"grade" doc:"not_gradable: the runtime has no record of the work. none: no work was recorded. claimed: no check passed after the last change. self_checked: a check that the agent chose passed after the last change. checked: all checks of the task passed after the last change. approved: a person approved the result."`
	Evidence   Grade       `json:"evidence" doc:"The grade without what a person decided."`
	Pending    bool        `json:"pending" doc:"Whether the transcripts are still incomplete, so that the receipt may change."`
	Gaps       []Gap       `json:"gaps" nullable:"false"`
	Claim      Claim       `json:"claimed"`
	Seen       *Seen       `json:"seen" doc:"What the runtime recorded; null if it recorded nothing."`
	Checks     []Check     `json:"checks" nullable:"false" doc:"The last run of each check, and the checks of the task that did not run."`
	Verdict    *Verdict    `json:"verdict" doc:"What a person decided; null before."`
	MadeAt     *clock.Time `json:"made_at" doc:"When the transcripts were last read; null if they have not been read."`
	Earlier    []Outline   `json:"earlier" nullable:"false" doc:"The task's earlier receipts, newest first."`
}

// Claim is what the agent says.
type Claim struct {
	Text     string   `json:"text" doc:"The report. Written by the agent: treat as untrusted."`
	Admitted []string `json:"admitted" nullable:"false" doc:"Sentences of the report in which the agent says what it did not check."`
}

// Seen is what the runtime recorded.
type Seen struct {
	Sessions     []string    `json:"sessions" nullable:"false" doc:"Keys of the sessions."`
	Runs         int         `json:"runs"`
	Seconds      int64       `json:"seconds" doc:"Total duration of the runs."`
	Calls        int         `json:"calls" doc:"Number of tool calls, except those that report to Wardroom."`
	Failed       int         `json:"failed_calls" doc:"Number of these calls that failed."`
	Commands     []Command   `json:"commands" nullable:"false" doc:"The last 30 commands, oldest first."`
	Files        []File      `json:"files" nullable:"false" doc:"Changed files, at most 100."`
	FilesOmitted int         `json:"files_omitted"`
	Artifacts    []string    `json:"artifacts" nullable:"false" doc:"Titles of the artifacts, at most 20."`
	PR           *PR         `json:"pr" doc:"The task's pull request; null if it has none."`
	CostUSD      *money.Nano `json:"cost_usd" doc:"Cost of the recorded model calls; null if none has a price."`
	CostComplete bool        `json:"cost_complete" doc:"Whether every model call has a price."`
}

// Command is a command that the agent ran.
type Command struct {
	Text   string     `json:"text"`
	Status string     `json:"status" enum:"done,failed,pending"`
	Exit   *int64     `json:"exit_code" doc:"Null if unknown."`
	At     clock.Time `json:"at"`
}

// File is a changed file.
type File struct {
	Path    string `json:"path"`
	Added   *int64 `json:"added" doc:"Number of added lines; null if unknown."`
	Removed *int64 `json:"removed" doc:"Number of removed lines; null if unknown."`
}

// PR is a pull request.
type PR struct {
	URL  string `json:"url"`
	Seen bool   `json:"seen" doc:"Whether the result of a tool call contains the address, rather than only the report."`
}

// Status is the result of a check.
type Status string

// The results of a check.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Unclear Status = "unclear" // its exit status is unknown
	NotRun  Status = "not_run"
)

// Check is a command that verifies work, such as a test.
type Check struct {
	Command string      `json:"command"`
	Kind    CheckKind   `json:"kind" enum:"test,build,lint,types,named"`
	Named   bool        `json:"named" doc:"Whether it is one of the task's checks."`
	Status  Status      `json:"status" enum:"passed,failed,unclear,not_run" doc:"Result of the last run. unclear: the exit status is unknown, for example because the command was piped into another one."`
	Exit    *int64      `json:"exit_code"`
	At      *clock.Time `json:"at" doc:"When it last ran; null if it did not."`
	Fresh   bool        `json:"fresh" doc:"Whether it ran after the last change. Changes of texts, such as Markdown files, do not count."`
}

// Verdict is what a person decided about a report.
type Verdict struct {
	Kind task.Verdict `json:"kind" enum:"approved,sent_back"`
	By   string       `json:"by" doc:"The person's name."`
	At   clock.Time   `json:"at"`
}

// Outline is a receipt in short.
type Outline struct {
	ID         string     `json:"id"`
	ReportedAt clock.Time `json:"reported_at"`
	Grade      Grade      `json:"grade"`
	Pending    bool       `json:"pending"`
	Gaps       []Gap      `json:"gaps" nullable:"false"`
	Verdict    *Verdict   `json:"verdict"`
}

// Facts are what a receipt is made from.
type Facts struct {
	Text      string   // the report
	Named     []string // the task's checks when it was reported as done
	PRURL     string
	Until     time.Time // end of the work, or zero; later messages are ignored
	SentBack  time.Time // when a person last sent the task back before the report, or zero
	Sessions  []Session
	Diff      []File // changes according to the runtime's version control
	Artifacts []string
}

// Session is a transcript.
type Session struct {
	Key      string
	From     time.Time // start of the work; earlier messages are ignored
	Messages []transcript.Message
}
