package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

var (
	// ErrAnswered means that the runtime no longer waits for an answer: it was answered, expired or
	// was withdrawn. The request had no effect.
	ErrAnswered = fault.New(fault.Conflict, "request_answered", "The runtime no longer waits for this answer.")
	// ErrNoRequest means that the runtime does not know the approval or question. Questions do not
	// survive a restart of the gateway.
	ErrNoRequest = fault.New(fault.NotFound, "request_unknown", "The runtime does not know this request.")
)

// The kinds of approvals.
const (
	ExecApproval   = "exec"   // of a command
	PluginApproval = "plugin" // of an action of a plugin
)

// Approval is an action of an agent that waits for a person's decision. Its texts come from the
// agent: secrets and invisible characters are removed from them.
type Approval struct {
	ID         string
	Kind       string
	Title      string // of a plugin's action; empty for a command
	Command    string // empty for a plugin's action
	Directory  string
	Host       string // where the command runs, such as gateway
	Executable string // full path of the first program; empty when unknown
	Detail     string // of a plugin's action
	Scope      string // what a plugin's action affects, or what allowing it always covers
	Source     string // plugin or tool
	Severity   string // of a plugin's action
	Risks      []string
	AgentID    string
	SessionKey string
	RunID      string
	Decisions  []string // that the runtime accepts
	Digest     string   // of everything that the decision is about, before cleaning
	CreatedAt  clock.Time
	ExpiresAt  clock.Time // on Wardroom's clock
}

// Ending is how a request to people has ended.
type Ending struct {
	// pending, allowed, denied, answered, cancelled, expired, aborted, lost; empty when only the event is known
	State    string
	Decision string
	Answers  map[string][]string
	By       string // client or person that answered, as the runtime names it; empty if nobody did
}

// AskedOrAnswered is an event about an approval or a question. Exactly one of Approval, Question and
// Ending is set.
type AskedOrAnswered struct {
	ID       string
	Approval *Approval
	Question *PersonQuestion
	Ending   *Ending
}

// wireApproval is a pending approval in an event or a list.
type wireApproval struct {
	ID        wire.Word       `json:"id"`
	Kind      wire.Word       `json:"approvalKind"`
	Request   approvalRequest `json:"request"`
	CreatedAt wire.Number     `json:"createdAtMs"`
	ExpiresAt wire.Number     `json:"expiresAtMs"`
}

type approvalRequest struct {
	Command    wire.Word `json:"command"`
	Directory  wire.Word `json:"cwd"`
	Host       wire.Word `json:"host"`
	Node       wire.Word `json:"nodeId"`
	Executable wire.Word `json:"resolvedPath"`
	Warning    wire.Word `json:"warningText"`
	Analysis   struct {
		Kinds    wire.Words `json:"riskKinds"`
		Warnings wire.Words `json:"warningLines"`
	} `json:"commandAnalysis"`
	Decisions  wire.Words    `json:"allowedDecisions"`
	AgentID    wire.Word     `json:"agentId"`
	SessionKey wire.Word     `json:"sessionKey"`
	RunID      wire.Word     `json:"runId"`
	Scope      approvalScope `json:"scope"`
	PluginID   wire.Word     `json:"pluginId"`
	Tool       wire.Word     `json:"toolName"`
	Title      wire.Word     `json:"title"`
	About      wire.Word     `json:"description"`
	Detail     wire.Word     `json:"detail"`
	Severity   wire.Word     `json:"severity"`
}

// approvalScope is what an approval affects: a payment or a message of a plugin, or the job and
// command that allow-always covers.
type approvalScope struct {
	Kind       wire.Word `json:"kind"`
	Amount     wire.Word `json:"amount"`
	Currency   wire.Word `json:"currency"`
	Target     wire.Word `json:"target"`
	Automation wire.Word `json:"automation"`
	Command    wire.Word `json:"command"`
}

// text describes a scope on one line.
func (s approvalScope) text() string {
	if s.Automation != "" {
		return fmt.Sprintf("job %q: %s", string(s.Automation), string(s.Command))
	}
	text := strings.TrimSpace(string(s.Amount + " " + s.Currency))
	if s.Target != "" {
		text = strings.TrimSpace(text + " to " + string(s.Target))
	}
	if s.Kind == "" || text == "" {
		return string(s.Kind) + text
	}
	return string(s.Kind) + ": " + text
}

// approval converts a pending approval. It returns false if the approval has no valid id.
func (c *Client) approval(w wireApproval) (Approval, bool) {
	id, r := string(w.ID), w.Request
	if !validKey(id) {
		return Approval{}, false
	}
	a := Approval{
		ID: id, Kind: ExecApproval, Title: c.short(string(r.Title)), Command: c.secrets.Lines(string(r.Command)),
		Directory: c.short(string(r.Directory)), Host: c.short(string(first(r.Node, r.Host))),
		Executable: c.short(string(r.Executable)),
		Detail:     c.secrets.Lines(strings.TrimSpace(string(r.About + "\n\n" + r.Detail))), Scope: c.short(r.Scope.text()),
		Source: c.short(string(first(r.PluginID, r.Tool))), Severity: c.short(string(r.Severity)), Risks: c.risks(r),
		AgentID: c.short(string(r.AgentID)), SessionKey: sessionKey(r.SessionKey), RunID: keyOrEmpty(r.RunID),
		Digest: w.digest(), CreatedAt: c.ownTime(w.CreatedAt), ExpiresAt: c.ownTime(w.ExpiresAt),
	}
	if w.Kind == PluginApproval || w.Kind == "" && strings.HasPrefix(id, "plugin:") {
		a.Kind = PluginApproval
	}
	for _, d := range r.Decisions {
		if knownDecision(string(d)) {
			a.Decisions = append(a.Decisions, string(d))
		}
	}
	if len(a.Decisions) == 0 { // plugins' requests do not list them unless they are restricted
		a.Decisions = []string{"deny"}
		if a.Kind == PluginApproval {
			a.Decisions = []string{"allow-once", "allow-always", "deny"}
		}
	}
	return a, true
}

func knownDecision(d string) bool { return d == "allow-once" || d == "allow-always" || d == "deny" }

// risks returns the runtime's warnings about a request, and one if cleaning changed the command.
func (c *Client) risks(r approvalRequest) []string {
	risks := []string{}
	for _, w := range append(wire.Words{r.Warning}, r.Analysis.Warnings...) {
		if text := c.short(string(w)); text != "" {
			risks = append(risks, text)
		}
	}
	if len(r.Analysis.Warnings) == 0 {
		for _, k := range r.Analysis.Kinds {
			risks = append(risks, c.short(string(k)))
		}
	}
	if c.secrets.Lines(string(r.Command)) != plaintext.NFC(string(r.Command)) {
		risks = append(risks, "The command contains invisible characters or secrets that are not shown.")
	}
	return risks
}

// digest returns a digest of what a decision is about, from the texts as the gateway sent them.
func (w wireApproval) digest() string {
	text, err := json.Marshal([]any{w.ID, w.Request})
	if err != nil { // a struct of strings
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ownTime converts a time of the gateway's clock to Wardroom's clock.
func (c *Client) ownTime(n wire.Number) clock.Time {
	t := n.Time()
	if t.IsZero() {
		return t
	}
	return wire.Number(strconv.FormatInt(t.Add(-c.ClockAhead()).UnixMilli(), 10)).Time()
}

// Approvals returns the approvals that wait for a decision, of both kinds. It requires the scope
// operator.admin.
func (c *Client) Approvals(ctx context.Context) ([]Approval, error) {
	var exec, plugin []wireApproval
	if err := c.call(ctx, "exec.approval.list", struct{}{}, &exec); err != nil {
		return nil, fmt.Errorf("list approvals of commands: %w", err)
	}
	if err := c.call(ctx, "plugin.approval.list", struct{}{}, &plugin); err != nil {
		return nil, fmt.Errorf("list approvals of plugins: %w", err)
	}
	var all []Approval
	for _, w := range append(exec, plugin...) {
		if a, ok := c.approval(w); ok {
			all = append(all, a)
		}
	}
	return all, nil
}

// DecideApproval answers an approval. It does not use the gateway's approval.resolve, which denies
// a request if its kind does not match. It returns ErrAnswered if the approval has ended, but nil if
// another client has already answered it with the same decision: see ApprovalEnding.
func (c *Client) DecideApproval(ctx context.Context, id, kind, decision string) error {
	params := struct {
		ID       string `json:"id"`
		Decision string `json:"decision"`
	}{id, decision}
	var out struct{}
	var err error
	if kind == PluginApproval {
		err = c.once(ctx, "plugin.approval.resolve", params, &out)
	} else {
		err = c.once(ctx, "exec.approval.resolve", params, &out)
	}
	if err != nil {
		return fmt.Errorf("answer an approval: %w", err)
	}
	return nil
}

// ApprovalEnding returns how an approval has ended, or the state pending. It returns ErrNoRequest if
// the gateway does not know the approval. It requires the scope operator.admin.
func (c *Client) ApprovalEnding(ctx context.Context, id string) (Ending, error) {
	params := struct {
		ID string `json:"id"`
	}{id}
	var out struct {
		Approval struct {
			Status   wire.Word `json:"status"`
			Reason   wire.Word `json:"reason"`
			Decision wire.Word `json:"decision"`
			Resolver struct {
				Kind wire.Word `json:"kind"`
				ID   wire.Word `json:"id"`
			} `json:"resolver"`
		} `json:"approval"`
	}
	if err := c.call(ctx, "approval.get", params, &out); err != nil {
		return Ending{}, fmt.Errorf("read an approval: %w", err)
	}
	a := out.Approval
	o := Ending{State: string(a.Status), Decision: c.short(string(a.Decision))}
	switch {
	case a.Reason == "gateway-restart":
		o.State = "lost"
	case a.Status == "cancelled":
		o.State = "aborted"
	case a.Resolver.Kind != "system":
		o.By = c.short(string(a.Resolver.ID))
	}
	switch o.State {
	case "pending", "allowed", "denied", "expired", "aborted", "lost":
		return o, nil
	}
	return Ending{}, link.ErrUnreadable("approval.get")
}

// scopeClosed is whom the gateway (OpenClaw 2026.9.6) names as the resolver when the run of an approval was stopped.
const scopeClosed = "approval-scope-closed"

// askedEvent decodes an event about an approval or a question. It returns nil for other events.
func (c *Client) askedEvent(e link.Event) *AskedOrAnswered {
	switch e.Name {
	case "exec.approval.requested", "plugin.approval.requested":
		var w wireApproval
		if json.Unmarshal(e.Payload, &w) != nil {
			return nil
		}
		a, ok := c.approval(w)
		if !ok {
			return nil
		}
		return &AskedOrAnswered{ID: a.ID, Approval: &a}
	case "question.requested":
		var w wireQuestion
		if json.Unmarshal(e.Payload, &w) != nil {
			return nil
		}
		q, ok := c.question(w)
		if !ok {
			return nil
		}
		return &AskedOrAnswered{ID: q.ID, Question: &q}
	case "exec.approval.resolved", "plugin.approval.resolved", "question.resolved":
		var p struct {
			ID       wire.Word   `json:"id"`
			Decision wire.Word   `json:"decision"`
			By       wire.Word   `json:"resolvedBy"`
			Status   wire.Word   `json:"status"`
			Answers  wireAnswers `json:"answers"`
		}
		if json.Unmarshal(e.Payload, &p) != nil || !validKey(string(p.ID)) {
			return nil
		}
		o := Ending{Decision: c.short(string(p.Decision)), By: c.short(string(p.By)), Answers: c.answers(p.Answers)}
		switch {
		case p.Status != "":
			o.State = questionState(p.Status)
		case p.By == "" || p.By == scopeClosed: // expired, aborted or lost: the event does not say which
			o.By = ""
		case p.Decision == "deny":
			o.State = "denied"
		case knownDecision(string(p.Decision)):
			o.State = "allowed"
		}
		return &AskedOrAnswered{ID: string(p.ID), Ending: &o}
	}
	return nil
}

// IsAnswered reports whether an error means that the runtime no longer waits for the answer.
func IsAnswered(err error) bool { return errors.Is(err, ErrAnswered) || errors.Is(err, ErrNoRequest) }
