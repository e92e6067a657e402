package gateway_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// askedRecordings contains recorded events, responses and errors about approvals and questions.
type askedRecordings struct {
	Events map[string]struct {
		Event   string
		Payload json.RawMessage
	}
	Answers, Errors map[string]exchangeResponse
	List            exchangeResponse
	PluginList      exchangeResponse `json:"plugin list"`
	QuestionList    exchangeResponse `json:"question list"`
}

type exchangeResponse = map[string]any

// content decodes a recorded event.
func (r askedRecordings) content(t *testing.T, c *gateway.Client, name string) *gateway.AskedOrAnswered {
	t.Helper()
	e, ok := r.Events[name]
	is := c.Content(link.Event{Name: e.Event, Payload: e.Payload}).Asked
	if !ok || is == nil {
		t.Fatalf("%s: the event says nothing", name)
	}
	return is
}

// A person decides about what is shown: each fact of a recorded request must be there.
func TestApprovalRequests(t *testing.T) {
	t.Parallel()
	r, c := recorded[askedRecordings](t, "asked.json"), idle(t)
	a := r.content(t, c, "risky command").Approval
	want := &gateway.Approval{
		ID: "5c2aa7bb-cc2c-4382-987d-a14db37a9100", Kind: gateway.ExecApproval, Command: "python3 -c 'print(1+1)'", Directory: "/tmp",
		Host: "gateway", Executable: "/usr/bin/python3.11", Risks: []string{"Contains inline-eval: python3 -c"},
		AgentID: "cto", SessionKey: "agent:cto:e2", RunID: "run-e2", Decisions: []string{"allow-once", "deny"},
		Digest: a.Digest, CreatedAt: at(1795384307879), ExpiresAt: at(1795386107879),
	}
	if diff := cmp.Diff(want, a); diff != "" || len(a.Digest) != 64 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := r.content(t, c, "payment").Approval
	if p.Kind != gateway.PluginApproval || p.Title != "Send invoice" || p.Detail != "Pay 100 EUR to ACME" || p.Scope != "payment: 100.00 EUR to ACME" ||
		p.Severity != "critical" || p.Source != "wardroom-test" || len(p.Decisions) != 3 {
		t.Errorf("the plugin's request is %+v", p)
	}
	j := r.content(t, c, "command of a job").Approval
	if j.Scope != `job "nightly": /usr/bin/uname -s` || j.SessionKey != "agent:cpo:cron:7bf2a743-8e9d-4e48-b13c-665cd7b8eeb4" {
		t.Errorf("the scope is %q, the session %s", j.Scope, j.SessionKey)
	}
	if s := r.content(t, c, "plugin without a session").Approval; s.SessionKey != "" || s.Scope != "" {
		t.Errorf("%+v", s)
	}
}

// A request whose text changes, even invisibly, gets another digest, and what is not shown is said.
func TestApprovalDigest(t *testing.T) {
	t.Parallel()
	r, c := recorded[askedRecordings](t, "asked.json"), idle(t)
	digest := func(old, changed string) *gateway.Approval {
		e := r.Events["command"]
		payload := strings.ReplaceAll(string(e.Payload), old, changed)
		return c.Content(link.Event{Name: e.Event, Payload: json.RawMessage(payload)}).Asked.Approval
	}
	is := digest("", "")
	for _, change := range [][2]string{{"e1.txt", "e2.txt"}, {"workspace-cto", "workspace-cpo"}, {`"agentId": "cto"`, `"agentId": "coo"`}, {"touch", "touch\u200b"}} {
		if got := digest(change[0], change[1]); got.Digest == is.Digest {
			t.Errorf("%q → %q keeps the digest", change[0], change[1])
		}
	}
	if hidden := digest("touch", "touch\u200b"); len(hidden.Risks) != 1 || !strings.Contains(hidden.Risks[0], "invisible") {
		t.Errorf("the risks are %q", hidden.Risks)
	}
}

// At expiry the gateway's event says deny: it must not look like a person's decision.
func TestEndings(t *testing.T) {
	t.Parallel()
	r, c := recorded[askedRecordings](t, "asked.json"), idle(t)
	for name, want := range map[string]gateway.Ending{
		"allowed":                     {State: "allowed", Decision: "allow-once", By: "wardroom"},
		"denied":                      {State: "denied", Decision: "deny", By: "wardroom"},
		"always":                      {State: "allowed", Decision: "allow-always", By: "wardroom"},
		"allowed by the command line": {State: "allowed", Decision: "allow-once", By: "cli"},
		"denied in a chat":            {State: "denied", Decision: "deny", By: "Chat approval (webchat:gateway-client)"},
		"nobody answered":             {Decision: "deny"},
		"plugin expired":              {Decision: "deny"},
		"answered":                    {State: "answered", Answers: map[string][]string{"target": {"only the canary host"}, "areas": {"API", "DB"}}},
		"skipped":                     {State: "cancelled"},
	} {
		if diff := cmp.Diff(&want, r.content(t, c, name).Ending); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	e := r.Events["nobody answered"]
	stopped := link.Event{Name: e.Event, Payload: json.RawMessage(strings.Replace(string(e.Payload), `"resolvedBy": null`, `"resolvedBy": "approval-scope-closed"`, 1))}
	if is := c.Content(stopped).Asked; !cmp.Equal(*is.Ending, gateway.Ending{Decision: "deny"}) {
		t.Errorf("after its run was stopped: %+v", is.Ending)
	}
	for _, payload := range []string{``, `null`, `7`, `{}`, `{"id":7}`, `{"id":""}`} {
		for _, name := range []string{"exec.approval.requested", "exec.approval.resolved", "question.requested", "question.resolved", "plugin.approval.requested"} {
			if is := c.Content(link.Event{Name: name, Payload: json.RawMessage(payload)}).Asked; is != nil {
				t.Errorf("%s %s is %+v", name, payload, is)
			}
		}
	}
}

// A question is shown with all its options and can be answered in other words.
func TestQuestionRequests(t *testing.T) {
	t.Parallel()
	r, c := recorded[askedRecordings](t, "asked.json"), idle(t)
	q := r.content(t, c, "questions").Question
	want := []gateway.QuestionPart{
		{
			ID: "target", Header: "Deploy", Text: "Where shall I deploy?", Other: true,
			Options: []gateway.QuestionOption{{Label: "Staging (Recommended)", Description: "safe"}, {Label: "Production"}},
		},
		{
			ID: "areas", Header: "Areas", Text: "Which areas?", Multiple: true, Other: true,
			Options: []gateway.QuestionOption{{Label: "API"}, {Label: "Web"}, {Label: "DB"}},
		},
	}
	if diff := cmp.Diff(want, q.Parts); diff != "" || q.AgentID != "cto" || q.SessionKey != "agent:cto:main" || q.RunID != "run-main-q2" {
		t.Errorf("%+v (-want +got):\n%s", q, diff)
	}
}

// adminClient returns a client that holds operator.admin on a gateway that answers as given. Each
// request must be the next of the steps.
func adminClient(t *testing.T, steps ...askedStep) *gateway.Client {
	t.Helper()
	g := replay(t, func(n int, p *peer) {
		if n > 1 { // starts runs, which wait for approvals and ask questions only with these scopes
			const asks = `"scopes":["operator.read","operator.write","operator.approvals","operator.questions"],"caps":[]`
			if r := p.greet("boot-1", "operator.read", "operator.write", "operator.approvals", "operator.questions"); !strings.Contains(string(r.Params), asks) {
				t.Errorf("runs are started with %s", r.Params)
			}
			p.gone()
			return
		}
		if r := p.greet("boot-1", "operator.admin"); !strings.Contains(string(r.Params), `"caps":["approvals"]`) {
			t.Errorf("the gateway sends no approvals to %s", r.Params)
		}
		for _, s := range steps {
			r := p.expect(s.method)
			if string(r.Params) != s.params {
				t.Errorf("%s %s, want %s", s.method, r.Params, s.params)
			}
			p.answer(r, s.answer)
		}
		p.gone()
	})
	opt := g.options()
	opt.Scopes = []string{"operator.read", "operator.write", "operator.admin"}
	c := client(t, opt)
	await(t, c)
	return c
}

type askedStep struct {
	method, params string
	answer         map[string]any
}

// After a reconnect the lists say what still waits, and each ending is told apart.
func TestApprovalMethods(t *testing.T) {
	t.Parallel()
	r := recorded[askedRecordings](t, "asked.json")
	steps := []askedStep{
		{"exec.approval.list", `{}`, r.List},
		{"plugin.approval.list", `{}`, r.PluginList},
		{"question.list", `{}`, r.QuestionList},
		{"exec.approval.resolve", `{"id":"e","decision":"deny"}`, r.Errors["already"]},
		{"plugin.approval.resolve", `{"id":"plugin:e","decision":"deny"}`, r.Errors["unknown"]},
	}
	endings := map[string]gateway.Ending{
		"pending": {State: "pending"}, "allowed": {State: "allowed", Decision: "allow-once", By: "wardroom"}, "aborted": {State: "aborted"},
		"expired": {State: "expired"}, "lost": {State: "lost"}, "malformed": {State: "denied", Decision: "deny", By: "gateway-client"},
		"plugin denied": {State: "denied", Decision: "deny", By: "gateway-client"},
	}
	var names []string
	for name := range endings {
		names = append(names, name)
		steps = append(steps, askedStep{"approval.get", `{"id":"e"}`, r.Answers[name]})
	}
	steps = append(steps,
		askedStep{"question.get", `{"id":"q"}`, r.Answers["question"]}, askedStep{"question.get", `{"id":"q"}`, r.Errors["question unknown"]},
		askedStep{"question.resolve", `{"id":"q","answers":{"answers":{"a":["b"]}},"resolvedBy":"Pia"}`, r.Errors["question ended"]},
		askedStep{"question.resolve", `{"id":"q","cancel":true,"resolvedBy":"Pia"}`, r.Answers["question"]})
	c, ctx := adminClient(t, steps...), within(t)
	all, err := c.Approvals(ctx)
	if err != nil || len(all) != 2 || all[0].Digest != r.content(t, c, "command").Approval.Digest || all[1].Digest != r.content(t, c, "payment").Approval.Digest {
		t.Errorf("%v: the lists differ from the events: %+v", err, all)
	}
	if asked, err := c.Questions(ctx); err != nil || len(asked) != 1 || asked[0].Digest != r.content(t, c, "questions").Question.Digest {
		t.Errorf("%v: %+v", err, asked)
	}
	if err := c.DecideApproval(ctx, "e", gateway.ExecApproval, "deny"); !errors.Is(err, gateway.ErrAnswered) {
		t.Errorf("already answered: %v", err)
	}
	if err := c.DecideApproval(ctx, "plugin:e", gateway.PluginApproval, "deny"); !errors.Is(err, gateway.ErrNoRequest) {
		t.Errorf("unknown: %v", err)
	}
	for _, name := range names {
		got, err := c.ApprovalEnding(ctx, "e")
		if diff := cmp.Diff(endings[name], got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if e, err := c.QuestionEnding(ctx, "q"); err != nil || e.State != "answered" || e.By != "Pia" || e.Answers["areas"][1] != "DB" {
		t.Errorf("%v: %+v", err, e)
	}
	if _, err := c.QuestionEnding(ctx, "q"); !errors.Is(err, gateway.ErrNoRequest) {
		t.Errorf("unknown: %v", err)
	}
	if err := c.AnswerQuestion(ctx, "q", map[string][]string{"a": {"b"}}, "Pia"); !gateway.IsAnswered(err) {
		t.Errorf("ended: %v", err)
	}
	if err := c.AnswerQuestion(ctx, "q", nil, "Pia"); err != nil {
		t.Errorf("skip: %v", err)
	}
}

// The page says truthfully whether the runtime asks.
func TestCommandPolicy(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]gateway.CommandPolicy{
		`{}`:                                {Mode: "full", Agents: map[string]string{}},
		`{"tools":{"exec":{"mode":"ask"}}}`: {Mode: "ask", Agents: map[string]string{}},
		`{"tools":{"exec":{"security":"allowlist"}}}`: {Mode: "allowlist", Agents: map[string]string{}},
		`{"tools":{"exec":{"security":"full","ask":"always"}},"agents":{"entries":{"cto":{"tools":{"exec":{"mode":"full"}}},"coo":{}}}}`: {
			Mode: "ask", Agents: map[string]string{"cto": "full"},
		},
	} {
		payload := map[string]any{"type": "res", "ok": true, "payload": map[string]any{"config": json.RawMessage(config)}}
		got, err := adminClient(t, askedStep{"config.get", `{}`, payload}).CommandPolicy(within(t))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", config, err, diff)
		}
	}
}
