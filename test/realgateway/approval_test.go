//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// requested is the part of an approval or a question that the test checks.
type requested struct {
	ID, Kind, State, Shown string
	RunID                  string `json:"run_id"`
	Action                 struct{ Command, Directory, Title, Detail, Scope, Source, Severity string }
	Decisions              []string
	Answers                map[string][]string
	By                     *struct{ Name string }
}

// asksFor sends an agent an order that makes it ask a person, and returns its request.
func (j *journey) asksFor(t *testing.T, kind, agent, order string) requested {
	t.Helper()
	run := j.tell(t, agent, order)
	var r requested
	WaitFor(t, 3*time.Minute, agent+" to ask", func() bool {
		var all []requested
		j.owner.Get(t, "/api/v1/"+kind+"?agent_id="+agent).Into(t, http.StatusOK, &all)
		i := slices.IndexFunc(all, func(r requested) bool { return r.RunID == run })
		if i >= 0 {
			r = all[i]
		}
		return i >= 0
	})
	if items := j.requests(t, "open", r.ID); items != 1 {
		t.Errorf("%d items in the inbox are about %s, want 1", items, order)
	}
	return r
}

// requests counts the inbox items about a request.
func (j *journey) requests(t *testing.T, state, id string) (n int) {
	t.Helper()
	var items []struct{ Subject struct{ ID string } }
	j.owner.Get(t, "/api/v1/inbox?limit=200&state="+state).Into(t, http.StatusOK, &items)
	for _, i := range items {
		if i.Subject.ID == id {
			n++
		}
	}
	return n
}

// ends waits until a request has ended, and checks how.
func (j *journey) ends(t *testing.T, kind string, r requested, state, by string) {
	t.Helper()
	WaitFor(t, 3*time.Minute, "the request to end", func() bool {
		j.owner.Get(t, "/api/v1/"+kind+"/"+r.ID).Into(t, http.StatusOK, &r)
		return r.State != "pending"
	})
	name := ""
	if r.By != nil {
		name = r.By.Name
	}
	if r.State != state || name != by || j.requests(t, "resolved", r.ID) != 1 {
		t.Errorf("the request is %s by %q, want %s by %q, and its item resolved", r.State, name, state, by)
	}
}

// heard waits until the model is told the result of a request. The text is part of it.
func (j *journey) heard(t *testing.T, agent, text string) {
	t.Helper()
	var res Response
	defer func() {
		if t.Failed() {
			t.Logf("the session is %s", res.Body)
		}
	}()
	WaitFor(t, 3*time.Minute, agent+" to go on with: "+text, func() bool {
		res = j.owner.Get(t, sessionPath("agent:"+agent+":main")+"/messages")
		return res.Status == http.StatusOK && strings.Contains(string(res.Body), text)
	})
}

// approves lets the COO ask for a command each time, and answers in every way. One is aborted with
// its run.
func (j *journey) approves(t *testing.T) {
	made := func(file string) bool {
		_, err := os.Stat(j.gateway.path("state", "workspace", file))
		return err == nil
	}
	ask := func(file string) requested {
		r := j.asksFor(t, "approvals", "coo", `[[use exec {"command":"touch `+file+` && echo made `+file+`"}]]`)
		if r.Action.Command != "touch "+file+" && echo made "+file || !strings.HasSuffix(r.Action.Directory, "workspace") || made(file) {
			t.Errorf("the approval is %+v; made already: %t", r, made(file))
		}
		return r
	}
	answer := func(r requested, decision string) Response {
		return j.owner.Post(t, "/api/v1/approvals/"+r.ID+"/answer", map[string]string{"decision": decision, "shown": r.Shown})
	}
	r := ask("allowed")
	answer(r, "allow-once").Want(t, http.StatusOK)
	answer(r, "deny").Want(t, http.StatusConflict)
	j.ends(t, "approvals", r, "allowed", ownerName)
	j.heard(t, "coo", "It said: made allowed")
	r = ask("denied")
	answer(r, "deny").Want(t, http.StatusOK)
	j.ends(t, "approvals", r, "denied", ownerName)
	j.heard(t, "coo", "user-denied")
	r = ask("aborted")
	j.owner.Post(t, sessionPath("agent:coo:main")+"/stop", nil).Want(t, http.StatusOK)
	j.ends(t, "approvals", r, "aborted", "")
	if !made("allowed") || made("denied") || made("aborted") {
		t.Errorf("the commands ran: allowed %t, denied %t, aborted %t", made("allowed"), made("denied"), made("aborted"))
	}
}

// approvesPlugins asks as a plugin of the gateway does, and answers in every way. One request expires.
func (j *journey) approvesPlugins(t *testing.T) {
	plugin := j.administrator(t)
	for _, tt := range []struct {
		state, decision, by string
		wait                time.Duration
	}{
		{"allowed", "allow-once", ownerName, 10 * time.Minute},
		{"denied", "deny", ownerName, 10 * time.Minute},
		{"expired", "", "", 10 * time.Second},
	} {
		title := "Pay an invoice that is " + tt.state
		asked := plugin.send(t, "plugin.approval.request", map[string]any{
			"pluginId": "accounts", "title": title, "description": "The invoice is due.", "severity": "critical", "agentId": "cpo", "timeoutMs": tt.wait.Milliseconds(),
			"scope": map[string]string{"kind": "payment", "amount": "100.00", "currency": "EUR", "target": "the supplier"},
		})
		var r requested
		WaitFor(t, time.Minute, title, func() bool {
			var all []requested
			j.owner.Get(t, "/api/v1/approvals?agent_id=cpo").Into(t, http.StatusOK, &all)
			i := slices.IndexFunc(all, func(r requested) bool { return r.Action.Title == title })
			if i >= 0 {
				r = all[i]
			}
			return i >= 0
		})
		a := r.Action
		if r.Kind != "plugin" || a.Detail != "The invoice is due." || a.Scope != "payment: 100.00 EUR to the supplier" || a.Source != "accounts" || a.Severity != "critical" || !slices.Contains(r.Decisions, "allow-once") {
			t.Errorf("the approval is %+v", r)
		}
		if tt.decision != "" {
			j.owner.Post(t, "/api/v1/approvals/"+r.ID+"/answer", map[string]string{"decision": tt.decision, "shown": r.Shown}).Want(t, http.StatusOK)
		}
		j.ends(t, "approvals", r, tt.state, tt.by)
		var told struct{ Decision string }
		if f := plugin.await(t, asked); !f.OK || json.Unmarshal(f.Payload, &told) != nil || told.Decision != tt.decision {
			t.Errorf("the plugin is told %s%s, want %q", f.Payload, f.Error, tt.decision)
		}
	}
}

// ownerName is the name of the owner's account.
const ownerName = "owner"

// questions makes the CTO and the COO ask questions. One expires while the others are answered.
func (j *journey) questions(t *testing.T) {
	var expiry sync.WaitGroup
	defer expiry.Wait()
	expiry.Go(func() {
		r := j.asksFor(t, "questions", "cto", "[[ask 30 Which way?]]")
		j.ends(t, "questions", r, "expired", "")
	})
	answer := func(r requested, body map[string]any) {
		body["shown"] = r.Shown
		j.owner.Post(t, "/api/v1/questions/"+r.ID+"/answer", body).Want(t, http.StatusOK)
	}
	r := j.asksFor(t, "questions", "coo", "[[ask 900 Where to?]]")
	answer(r, map[string]any{"answers": map[string][]string{"where": {"Staging"}}})
	j.ends(t, "questions", r, "answered", ownerName)
	j.heard(t, "coo", "Staging")
	r = j.asksFor(t, "questions", "coo", "[[ask 900 When?]]")
	answer(r, map[string]any{})
	j.ends(t, "questions", r, "skipped", ownerName)
	j.heard(t, "coo", "best judgment")
}

// loses restarts the gateway while an approval and a question wait.
func (j *journey) loses(t *testing.T) {
	approval := j.asksFor(t, "approvals", "coo", `[[use exec {"command":"touch lost"}]]`)
	question := j.asksFor(t, "questions", "cto", "[[ask 900 Who?]]")
	j.gateway.Kill(t)
	j.gateway.Start(t)
	j.connected(t)
	j.ends(t, "approvals", approval, "lost", "")
	j.ends(t, "questions", question, "lost", "")
}
