// Package approval shows people what the runtime's agents wait for, and takes their answers: approvals
// of commands and of plugins' actions, and questions.
//
// The runtime decides what waits and which answer comes first. This package keeps a row and an inbox
// item for each request, sends the answer of one person, and records how the request ended.
//
// Agents can also ask a person through Wardroom (asked.go). Such a question does not hold up a run:
// this package decides how it ends, and delivers the answer as a message to the agent's session.
package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// State is the state of a request.
type State string

// The states of requests.
const (
	Pending  State = "pending"  // waits for a person
	Allowed  State = "allowed"  // an approval
	Denied   State = "denied"   // an approval
	Answered State = "answered" // a question
	Skipped  State = "skipped"  // a question that a person left to the agent
	Expired  State = "expired"  // nobody answered in time; the agent went on
	Aborted  State = "aborted"  // the run ended first
	Lost     State = "lost"     // the gateway restarted
	// Withdrawn means that the agent took back a question that it had asked through Wardroom.
	Withdrawn State = "withdrawn"
)

// States lists all states.
func States() []State {
	return []State{Pending, Allowed, Denied, Answered, Skipped, Expired, Aborted, Lost, Withdrawn}
}

// Decision is an answer to an approval.
type Decision string

// The decisions. Which of them the runtime accepts differs from request to request.
const (
	AllowOnce   Decision = "allow-once"
	AllowAlways Decision = "allow-always"
	Deny        Decision = "deny"
)

// What a person who answers a question intends; stored only while the answer is on its way.
const (
	intendsAnswer Decision = "answer"
	intendsSkip   Decision = "skip"
)

// Decisions lists all decisions.
func Decisions() []Decision { return []Decision{AllowOnce, AllowAlways, Deny} }

// Errors returned by this package.
var (
	ErrNotFound = fault.New(fault.NotFound, "approval_not_found", "Approval or question not found.")
	ErrChanged  = fault.New(fault.Conflict, "approval_changed", "The request differs from the one that you saw.")
	ErrDecided  = fault.New(fault.Conflict, "approval_decided", "The request was already answered or has ended.")
	ErrAnswer   = fault.New(fault.Invalid, "answer_invalid", "The answer does not fit the request.")
)

// Request is what all requests have in common.
type Request struct {
	ID         string      `json:"id" doc:"The runtime's ID, or Wardroom's for a question that was asked through it."`
	State      State       `json:"state"`
	AgentID    string      `json:"agent_id" doc:"Empty if the runtime names no agent."`
	SessionKey string      `json:"session_key" doc:"Empty if the runtime names no session."`
	RunID      string      `json:"run_id" doc:"Empty if unknown."`
	Task       string      `json:"task" doc:"Key of the task that the request is about or the session works on; empty if none."`
	CreatedAt  clock.Time  `json:"created_at"`
	ExpiresAt  *clock.Time `json:"expires_at" doc:"When the agent continues without an answer: the gateway's time, converted to Wardroom's clock. Null if the question waits until it is answered."`
	Shown      string      `json:"shown" doc:"Digest of the request. Send it with the answer, so that the answer applies only to what you saw."`
	EndedAt    *clock.Time `json:"ended_at" doc:"Null while pending."`
	By         *Decider    `json:"by" doc:"Who answered; null while pending, and if the request ended without an answer."`

	kind    string
	asked   asked       // zero for requests of the runtime
	claimed *clock.Time // while an answer may be on its way; nil otherwise
	claimer Decider
	intent  Decision // what the claimer answers: also answer or skip
}

// Decider is who answered a request.
type Decider struct {
	ID   string `json:"id" doc:"A user's ID; empty if the answer did not come through Wardroom."`
	Name string `json:"name" doc:"Name of the person, or of the client of the runtime."`
	Role string `json:"role" doc:"The person's role at that time; empty if the answer did not come through Wardroom."`
}

// Approval is an action of an agent that a person allows or denies.
type Approval struct {
	Request

	Kind     string   `json:"kind" enum:"exec,plugin" doc:"exec: a command. plugin: an action of a plugin."`
	Action   Action   `json:"action"`
	Offered  []string `json:"decisions" nullable:"false" doc:"Decisions that the runtime accepts."`
	Decision Decision `json:"decision" doc:"Empty while undecided."`
}

// Detailed is an approval with what helps to decide.
type Detailed struct {
	Approval

	SpentUSD *money.Nano `json:"spent_usd" doc:"Cost of the session so far; null if unknown."`
	Earlier  []Earlier   `json:"earlier" nullable:"false" doc:"The last five decisions about the same command, newest first."`
}

// Earlier is an earlier decision about the same command.
type Earlier struct {
	ID       string     `json:"id"`
	AgentID  string     `json:"agent_id"`
	State    State      `json:"state"`
	Decision Decision   `json:"decision"`
	By       Decider    `json:"by"`
	At       clock.Time `json:"at"`
}

// Action is what an approval is about. Its texts are written by agents.
type Action struct {
	Title      string   `json:"title" doc:"Of a plugin's action; empty for a command."`
	Command    string   `json:"command" doc:"The exact command, except for secrets and invisible characters; empty for a plugin's action."`
	Directory  string   `json:"directory" doc:"Where the command runs."`
	Host       string   `json:"host"`
	Executable string   `json:"executable" doc:"Full path of the first program; empty if unknown."`
	Detail     string   `json:"detail" doc:"The plugin's description."`
	Scope      string   `json:"scope" doc:"What a plugin's action affects, or what allow-always covers."`
	Source     string   `json:"source" doc:"The plugin or tool that asks; empty for a command."`
	Severity   string   `json:"severity" doc:"The plugin's rating; empty for a command."`
	Risks      []string `json:"risks" nullable:"false" doc:"Warnings of the runtime about the command."`
}

// Question is one or more questions of an agent that are answered together.
type Question struct {
	Request

	Parts        []gateway.QuestionPart `json:"parts" nullable:"false"`
	Answers      map[string][]string    `json:"answers" doc:"Answers by the ID of the part; empty unless answered."`
	Source       string                 `json:"source" enum:"runtime,wardroom" doc:"runtime: a run of the agent waits for the answer. wardroom: the agent asked with ask_human; the answer starts a turn in the session."`
	Delivery     Delivery               `json:"delivery" doc:"Whether the answer has reached the agent's session. Empty before there is an answer, and for the source runtime."`
	DeliveryNote string                 `json:"delivery_note" doc:"Why the answer has not reached the session yet, or failed to; else empty."`
}

// Delivery is the state of the delivery of an answer to the agent's session.
type Delivery string

// The states of deliveries.
const (
	Due    Delivery = "due"    // Wardroom retries until the runtime accepts it
	Sent   Delivery = "sent"   // the runtime has accepted it
	Failed Delivery = "failed" // the runtime refused it
)

// Deliveries lists all states of deliveries.
func Deliveries() []Delivery { return []Delivery{Due, Sent, Failed} }

// asked is what is stored only with a question that an agent asked through Wardroom.
type asked struct {
	author   string // the agent's account
	content  string // digest of the author and the question
	delivery Delivery
	note     string // why the answer is still due, or failed
}

// is reports whether the question was asked through Wardroom.
func (a asked) is() bool { return a.author != "" }

// expiredAt reports whether the request has expired at the given time.
func (r Request) expiredAt(t time.Time) bool {
	return r.ExpiresAt != nil && !t.Before(r.ExpiresAt.Time)
}

// row is a request as stored: one of its two forms.
type row struct {
	Request

	action   Action
	offered  []string
	decision Decision
	parts    []gateway.QuestionPart
	answers  map[string][]string
	command  string // digest
}

func (r row) isQuestion() bool { return r.kind == kindQuestion }

func (r row) approval() Approval {
	return Approval{Request: r.Request, Kind: r.kind, Action: r.action, Offered: r.offered, Decision: r.decision}
}

func (r row) asQuestion() Question {
	q := Question{
		Request: r.Request, Parts: r.parts, Answers: r.answers, Source: "runtime", Delivery: r.asked.delivery,
		DeliveryNote: r.asked.note,
	}
	if r.asked.is() {
		q.Source = "wardroom"
	}
	if q.Answers == nil {
		q.Answers = map[string][]string{}
	}
	return q
}

const kindQuestion = "question"

// ofApproval returns the row for a request of the runtime.
func ofApproval(a gateway.Approval, redact func(string) string) row {
	r := row{
		Request: Request{
			ID: a.ID, State: Pending, AgentID: a.AgentID, SessionKey: a.SessionKey, RunID: a.RunID,
			CreatedAt: a.CreatedAt, ExpiresAt: timeOrNil(a.ExpiresAt), Shown: a.Digest, kind: a.Kind,
		},
		action: Action{
			Title: redact(a.Title), Command: redact(a.Command), Directory: redact(a.Directory), Host: a.Host,
			Executable: redact(a.Executable), Detail: redact(a.Detail), Scope: redact(a.Scope), Source: a.Source,
			Severity: a.Severity, Risks: slices.Clone(a.Risks),
		},
		offered: a.Decisions,
	}
	if r.action.Command != a.Command {
		r.action.Risks = append(r.action.Risks, "A secret in the command is not shown.")
	}
	sum := sha256.Sum256([]byte(a.Kind + "\x00" + a.Command + "\x00" + a.Title + "\x00" + a.Detail))
	r.command = hex.EncodeToString(sum[:])
	return r
}

// ofQuestion returns the row for a question of the runtime.
func ofQuestion(q gateway.PersonQuestion, redact func(string) string) row {
	r := row{Request: Request{
		ID: q.ID, State: Pending, AgentID: q.AgentID, SessionKey: q.SessionKey, RunID: q.RunID,
		CreatedAt: q.CreatedAt, ExpiresAt: timeOrNil(q.ExpiresAt), Shown: q.Digest, kind: kindQuestion,
	}}
	for _, p := range q.Parts {
		p.Text = redact(p.Text)
		r.parts = append(r.parts, p)
	}
	return r
}

// timeOrNil returns nil for the zero time, which stands for one that the runtime did not send, or not in a plausible
// form.
func timeOrNil(t clock.Time) *clock.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// headline names the request in a few words.
func (r row) headline() string {
	switch {
	case r.isQuestion():
		return r.parts[0].Text
	case r.action.Title != "":
		return r.action.Title
	}
	return r.action.Command
}

// title returns the title of the inbox item.
func (r row) title(agent string) string {
	switch {
	case r.isQuestion():
		return agent + " asks: " + r.headline()
	case r.kind == gateway.PluginApproval:
		return agent + " wants approval: " + r.headline()
	}
	return agent + " wants to run: " + r.headline()
}

// detail returns the text of the inbox item in Markdown.
func (r row) detail() string {
	var b strings.Builder
	if r.isQuestion() {
		for _, p := range r.parts {
			fmt.Fprintf(&b, "%s\n\n", fenced(p.Text))
		}
		return b.String()
	}
	b.WriteString(fenced(r.headline()))
	for _, risk := range r.action.Risks {
		fmt.Fprintf(&b, "\n\n%s", fenced(risk))
	}
	return b.String()
}

// fenced returns text as a code block, so that no markup in it takes effect.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// note says how a request ended, for the inbox item.
func (r row) note(agent string) string {
	who := "Someone"
	if r.By != nil && r.By.Name != "" {
		who = r.By.Name
	}
	switch r.State {
	case Allowed:
		if r.decision == AllowAlways {
			return who + " allowed it always."
		}
		return who + " allowed it once."
	case Denied:
		return who + " denied it."
	case Answered:
		return who + " answered."
	case Skipped:
		return who + " left the decision to " + agent + "."
	case Expired:
		if r.asked.is() {
			return agent + " got no answer in time."
		}
		return agent + " went on without you."
	case Aborted:
		return "The run ended before anyone answered."
	case Lost:
		return "The gateway restarted, so the request was lost."
	case Withdrawn:
		return agent + " withdrew the question."
	case Pending:
	}
	return ""
}

// maxAnswer is the maximum length of an answer in characters.
const maxAnswer = 4000

// checkAnswers checks answers to a question: one or more for each part, several only where the part
// accepts them.
func checkAnswers(parts []gateway.QuestionPart, answers map[string][]string) error {
	for _, p := range parts {
		given := answers[p.ID]
		switch {
		case len(given) == 0 || slices.ContainsFunc(given, func(s string) bool { return strings.TrimSpace(s) == "" }):
			return ErrAnswer.With("Answer %q, or skip the question.", p.Text)
		case slices.ContainsFunc(given, func(s string) bool { return utf8.RuneCountInString(s) > maxAnswer }):
			return ErrAnswer.With("An answer has at most %d characters.", maxAnswer)
		case len(given) > 1 && !p.Multiple:
			return ErrAnswer.With("%q accepts only one answer.", p.Text)
		}
	}
	for id := range answers {
		if !slices.ContainsFunc(parts, func(p gateway.QuestionPart) bool { return p.ID == id }) {
			return ErrAnswer.With("The question has no part %q.", id)
		}
	}
	return nil
}

// ended returns the fault for an answer that comes too late, which names who was first.
func (r row) ended(agent string) error {
	return ErrDecided.With("%s", r.note(agent)).Fact("state", r.State).Fact("by", r.By)
}
