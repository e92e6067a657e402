//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Two agents get their tools with the configuration that Wardroom prints. Each reports on its own task
// in its own name, and neither can use the tools of the other.
func TestConnect(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	bin, model := Build(t), StartModel(t)
	gateway := NewGateway(t, t.TempDir(), model, Access{})
	j := startJourney(t, bin, model, gateway, "2026-11", nil)
	pair, tasks := map[string]string{"cto": "cpo", "cpo": "cto"}, map[string]handedTask{}
	for agent, other := range pair {
		j.configure(t, agent)
		// whoami returns the title, which makes the agent try the tool of the other.
		title := "Count the masts [[use wr-" + other + "__whoami {}]]"
		var made handedTask
		j.owner.Post(t, "/api/v1/tasks", map[string]string{"title": title, "assignee_id": agent}).Into(t, http.StatusCreated, &made)
		tasks[agent] = made
	}
	gateway.Start(t)
	j.connected(t)
	for agent, other := range pair {
		for j.proves(t, agent, other) {
			t.Log("restarting the gateway: " + stuckDatabase)
			gateway.Restart(t)
			j.connected(t)
		}
	}
	for agent, other := range pair {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			j.reportsByTool(t, agent, other, tasks[agent].Key)
			j.asksPeople(t, agent)
		})
	}
}

// configure creates a key of the agent and adds the printed configuration to that of the gateway, which
// is not started yet.
func (j *journey) configure(t *testing.T, agent string) {
	t.Helper()
	var key struct{ Key string }
	j.owner.Post(t, "/api/v1/users/"+agent+"@wardroom.test/keys", map[string]string{"name": "tools"}).Into(t, http.StatusCreated, &key)
	var is struct{ Variable, Config string }
	j.owner.Get(t, "/api/v1/agents/"+agent+"/tools").Into(t, http.StatusOK, &is)
	var printed map[string]any
	if err := json.Unmarshal([]byte(is.Config), &printed); err != nil || !strings.Contains(is.Config, "${"+is.Variable+"}") || strings.Contains(is.Config, key.Key) {
		t.Fatalf("the configuration is\n%s\n%v", is.Config, err)
	}
	j.gateway.Vars[is.Variable] = key.Key
	j.gateway.Merge(t, printed)
}

// proves checks the connection of an agent. It reports whether the agent's database is stuck.
func (j *journey) proves(t *testing.T, agent, other string) (stuck bool) {
	t.Helper()
	var got struct {
		Connected bool
		Steps     []struct{ Step, State, Saw, Fix string }
	}
	begin := time.Now()
	j.owner.Post(t, "/api/v1/agents/"+agent+"/tools/check", nil).Into(t, http.StatusOK, &got)
	if strings.Contains(got.Steps[1].Saw, stuckDatabase) {
		return true
	}
	for _, s := range got.Steps {
		if s.State != "ok" {
			t.Errorf("%s is %s: %s %s", s.Step, s.State, s.Saw, s.Fix)
		}
	}
	said := got.Steps[1].Saw
	if !got.Connected || !strings.Contains(said, "wr-"+other+"__whoami") || !strings.Contains(said, "not found") {
		t.Errorf("connected %v; with the tool of %s, the agent said %q", got.Connected, other, said)
	}
	t.Logf("the proof took %s: %s", time.Since(begin).Round(100*time.Millisecond), said)
	return false
}

// reportsByTool dispatches a task, on which the agent reports with its own tool.
func (j *journey) reportsByTool(t *testing.T, agent, other, key string) {
	t.Helper()
	own := "wr-" + agent + "__"
	order := "[[use " + own + `report {"task":"` + key + `","kind":"done","text":"Three.","checked":"twice","not_checked":"nothing"}]]`
	j.owner.Post(t, "/api/v1/tasks/"+key+"/dispatch", map[string]string{"note": order}).Want(t, http.StatusAccepted)
	var got handedTask
	WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.State == "ended" || got.Dispatch.State == "failed"
	})
	asked := j.model.Ever(agent, "You are assigned task "+key)
	if len(asked) == 0 || strings.Contains(asked[0].Prompt, "curl") || !strings.Contains(asked[0].Prompt, own+"report") {
		t.Fatalf("%s was asked %+v", agent, asked)
	}
	foreign := func(tool string) bool { return strings.HasPrefix(tool, "wr-"+other) }
	if tools := asked[0].Tools; !slices.Contains(tools, own+"report") || slices.ContainsFunc(tools, foreign) {
		t.Errorf("%s has the tools %v", agent, tools)
	}
	for name, want := range map[string][]string{strings.ToUpper(agent): {"done"}, strings.ToUpper(other): nil} {
		if kinds := j.reported(t, key, name); !slices.Equal(kinds, want) {
			t.Errorf("%s reported %v, want %v; the task is %s, and the model was asked %+v", name, kinds, want, got.Status, asked)
		}
	}
	j.receives(t, key)
}

// receives checks the receipt of a task whose agent called no tool except the one with which it reported.
func (j *journey) receives(t *testing.T, key string) {
	t.Helper()
	var got struct {
		Pending  bool
		Evidence string
		Seen     *struct{ Runs, Calls int }
		Gaps     []struct{ Kind string }
	}
	WaitFor(t, 2*time.Minute, "the transcript of "+key, func() bool {
		j.owner.Get(t, "/api/v1/tasks/"+key+"/receipt").Into(t, http.StatusOK, &got)
		return !got.Pending
	})
	if got.Evidence != "none" || got.Seen == nil || got.Seen.Runs == 0 || got.Seen.Calls != 0 || len(got.Gaps) != 1 || got.Gaps[0].Kind != "no_tool_call" {
		t.Errorf("the receipt of %s is %+v, seen %+v", key, got, got.Seen)
	}
}

// asksPeople lets an agent ask people with its tool. The answer starts a turn in the session for which it
// asked.
func (j *journey) asksPeople(t *testing.T, agent string) {
	t.Helper()
	session, text := "agent:"+agent+":main", "Which mast shall "+agent+" paint?"
	j.tell(t, agent, `[[use wr-`+agent+`__ask_human {"question":"`+text+`"}]]`)
	var asked []struct {
		ID, Shown, State, Source string
		SessionKey               string `json:"session_key"`
		Parts                    []struct{ ID, Text string }
	}
	WaitFor(t, time.Minute, agent+" to ask", func() bool {
		j.owner.Get(t, "/api/v1/questions?agent_id="+agent).Into(t, http.StatusOK, &asked)
		return len(asked) > 0
	})
	q := asked[0]
	if len(q.Parts) != 1 || q.Parts[0].Text != text || q.Source != "wardroom" || q.SessionKey != session || j.requests(t, "open", q.ID) != 1 {
		t.Fatalf("%s asked %+v", agent, asked)
	}
	j.heard(t, agent, "waits for a person")
	WaitFor(t, time.Minute, "the turn to end", func() bool { return !j.session(t, session).Active })
	j.owner.Post(t, "/api/v1/questions/"+q.ID+"/answer", map[string]any{"answers": map[string][]string{q.Parts[0].ID: {"The red one."}}, "shown": q.Shown}).
		Want(t, http.StatusOK)
	j.ends(t, "questions", requested{ID: q.ID}, "answered", ownerName)
	WaitFor(t, time.Minute, "the answer to start a turn", func() bool {
		turns := j.model.Ever(agent, ownerName+" answers: The red one.")
		return len(turns) == 1 && strings.Contains(turns[0].Prompt, text)
	})
}
