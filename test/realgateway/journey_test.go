//go:build journey

package realgateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// journey is the built binary beside a real gateway, with the accounts of its
// four agents. Each scene holds the standup of another day.
type journey struct {
	model   *Model
	gateway *Gateway
	server  *Server
	owner   Client
	coo     Client
}

const agentPassword = "a long password of an agent"

// The limits of the journey. An agent's first turn took up to 13 s on two busy
// cores; the others one to three.
const (
	agentLimit = "30s"
	grace      = "4s"
)

func startJourney(t *testing.T) *journey {
	t.Helper()
	j := &journey{model: StartModel(t)}
	j.gateway = StartGateway(t, t.TempDir(), j.model, Access{})
	j.server = StartServer(t, Build(t), map[string]string{
		"AGENTRT_GATEWAY_URL":   j.gateway.URL,
		"AGENTRT_GATEWAY_TOKEN": j.gateway.Token,
		"STANDUP_AGENT_TIMEOUT": agentLimit,
		"STANDUP_GATEWAY_GRACE": grace,
	})
	j.owner = j.server.Login(t, OwnerEmail, OwnerPassword)
	for _, agent := range []string{"coo", "cto", "cpo", "cmo"} {
		j.owner.Post(t, "/api/v1/users", map[string]string{
			"email": agent + "@wardroom.test", "name": strings.ToUpper(agent), "password": agentPassword,
			"role": "agent", "agent_id": agent,
		}).Want(t, http.StatusCreated)
	}
	j.coo = j.server.Login(t, "coo@wardroom.test", agentPassword)
	return j
}

// standup is what the journey looks at in a standup's record.
type standup struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Reports []struct {
		AgentID   string  `json:"agent_id"`
		Status    string  `json:"status"`
		Text      *string `json:"text"`
		Yesterday *string `json:"yesterday"`
		Today     *string `json:"today"`
		Blockers  *string `json:"blockers"`
		CostUSD   *string `json:"cost_usd"`
	} `json:"reports"`
	Summary     *string `json:"summary"`
	ActionItems []struct {
		Task *string `json:"task"`
	} `json:"action_items"`
	Error *struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"error"`
	CostUSD    *string `json:"cost_usd"`
	Transcript []struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"transcript"`
}

func (s standup) statuses() []string {
	var list []string
	for _, r := range s.Reports {
		list = append(list, r.Status)
	}
	return list
}

// open opens the standup of a day, as the agent that leads it.
func (j *journey) open(t *testing.T, date string) string {
	t.Helper()
	j.model.Forget()
	var s standup
	j.coo.Post(t, "/api/v1/standups", map[string]string{"date": date}).Into(t, http.StatusCreated, &s)
	return s.ID
}

// run starts the meeting and does not wait.
func (j *journey) run(t *testing.T, id string) {
	t.Helper()
	j.coo.Post(t, "/api/v1/standups/"+id+"/run", nil).Want(t, http.StatusAccepted)
}

func (j *journey) get(t *testing.T, id string) standup {
	t.Helper()
	var s standup
	j.coo.Get(t, "/api/v1/standups/"+id).Into(t, http.StatusOK, &s)
	return s
}

// end waits for the end of the meeting and wants it to be as it should.
func (j *journey) end(t *testing.T, id, status string, reports ...string) standup {
	t.Helper()
	WaitFor(t, 3*time.Minute, "the end of the meeting", func() bool { return j.get(t, id).Status != "running" })
	s := j.get(t, id)
	if s.Status != status || !slices.Equal(s.statuses(), reports) {
		t.Fatalf("it ended %s with reports %v, want %s with %v\nerror: %+v\n%+v\nservice:\n%s",
			s.Status, s.statuses(), status, reports, s.Error, s.Transcript, j.server.Log())
	}
	return s
}

// asked waits until an agent's question has reached the model.
func (j *journey) asked(t *testing.T, agent string) {
	t.Helper()
	WaitFor(t, time.Minute, agent+" to be asked", func() bool { return len(j.model.Calls(agent)) > 0 })
}

func (j *journey) wantCalls(t *testing.T, want map[string]int) {
	t.Helper()
	for agent, n := range want {
		if got := len(j.model.Calls(agent)); got != n {
			t.Errorf("%s asked the model %d times, want %d", agent, got, n)
		}
	}
}

func (j *journey) connected(t *testing.T) {
	t.Helper()
	WaitFor(t, time.Minute, "the connection to the gateway", func() bool {
		var status struct{ State string }
		j.owner.Get(t, "/api/v1/agentrt/status").Into(t, http.StatusOK, &status)
		return status.State == "connected"
	})
}

// The whole way on the real gateway: this is what the service is for, and what
// the demo runtime only imitates.
func TestJourney(t *testing.T) {
	j := startJourney(t)
	for _, scene := range []struct {
		name string
		play func(*journey, *testing.T)
	}{
		{"connects with exactly the scopes asked for", (*journey).connects},
		{"lists the agents", (*journey).lists},
		{"holds a standup of four agents", (*journey).holds},
		{"goes on without an agent that is too slow", (*journey).timesOut},
		{"says why when the gateway is gone, and asks only for what is missing afterwards", (*journey).gatewayGoes},
		{"goes on after kill -9", (*journey).isKilled},
	} {
		begin := time.Now()
		if !t.Run(scene.name, func(t *testing.T) { scene.play(j, t) }) {
			t.Fatalf("the journey ends here; the gateway's last words:\n%s", j.gateway.Log())
		}
		t.Logf("%s: %s", scene.name, time.Since(begin).Round(100*time.Millisecond))
	}
	if log := j.server.Log(); strings.Contains(log, j.gateway.Token) || strings.Contains(log, agentPassword) {
		t.Error("a secret is in the log")
	}
}

func (j *journey) connects(t *testing.T) {
	j.connected(t)
	var status struct {
		Asked   []string `json:"scopes_asked"`
		Granted []string `json:"scopes_granted"`
		Version string   `json:"version"`
	}
	res := j.owner.Get(t, "/api/v1/agentrt/status")
	res.Into(t, http.StatusOK, &status)
	want := []string{"operator.read", "operator.write"}
	slices.Sort(status.Granted)
	if !slices.Equal(status.Asked, want) || !slices.Equal(status.Granted, want) || status.Version == "" {
		t.Errorf("status %s, want exactly the scopes %v", res.Body, want)
	}
	if strings.Contains(string(res.Body), j.gateway.Token) {
		t.Error("the status shows the gateway's token")
	}
}

func (j *journey) lists(t *testing.T) {
	var agents []struct {
		AgentID string    `json:"agent_id"`
		Known   *bool     `json:"in_runtime"`
		Account *struct{} `json:"account"`
	}
	j.owner.Get(t, "/api/v1/agents").Into(t, http.StatusOK, &agents)
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.AgentID)
		if a.Known == nil || !*a.Known || a.Account == nil {
			t.Errorf("%s: in the runtime %v, account %v", a.AgentID, a.Known, a.Account)
		}
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"cmo", "coo", "cpo", "cto"}) {
		t.Errorf("agents %v", ids)
	}
}

func (j *journey) holds(t *testing.T) {
	id := j.open(t, "2026-11-02")
	wait := http.Header{"Prefer": {"wait=120"}}
	var s standup
	j.coo.Do(t, http.MethodPost, "/api/v1/standups/"+id+"/run", nil, wait).Into(t, http.StatusOK, &s)
	s = j.end(t, s.ID, "completed", "answered", "answered", "answered")
	for _, r := range s.Reports {
		if r.Yesterday == nil || r.Today == nil || r.CostUSD == nil {
			t.Errorf("%s: yesterday %v, today %v, cost %v; want all three", r.AgentID, r.Yesterday, r.Today, r.CostUSD)
		}
	}
	if cpo := s.Reports[1]; cpo.Blockers == nil || s.Reports[0].Blockers != nil {
		t.Errorf("blockers of cto %v and cpo %v, want those of cpo alone", s.Reports[0].Blockers, cpo.Blockers)
	}
	if s.Summary == nil || !strings.HasPrefix(*s.Summary, "Login is done") || s.CostUSD == nil {
		t.Errorf("summary %v, cost %v", s.Summary, s.CostUSD)
	}
	if len(s.ActionItems) != 1 || s.ActionItems[0].Task == nil {
		t.Errorf("action items %+v, want one that became a task", s.ActionItems)
	}
	j.wantCalls(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
}

func (j *journey) timesOut(t *testing.T) {
	j.model.Script("cpo", Reply{Delay: 5 * time.Minute})
	defer j.model.Script("cpo", Reply{})
	id := j.open(t, "2026-11-03")
	j.run(t, id)
	s := j.end(t, id, "completed", "answered", "timed_out", "answered")
	if text := s.Reports[1].Text; text == nil || *text != "[Timeout]" {
		t.Errorf("the report is %v, want [Timeout]", text)
	}
}

func (j *journey) gatewayGoes(t *testing.T) {
	j.model.Script("cpo", Reply{Delay: 5 * time.Minute})
	id := j.open(t, "2026-11-04")
	j.run(t, id)
	j.asked(t, "cpo")
	j.gateway.Kill(t)
	s := j.end(t, id, "error", "answered", "asked", "pending")
	last := s.Transcript[len(s.Transcript)-1]
	if s.Error == nil || s.Error.Code != "gateway_unreachable" || last.Kind != "error" || !strings.Contains(last.Text, "not reachable") {
		t.Errorf("error %+v, the transcript ends with %+v", s.Error, last)
	}
	j.model.Script("cpo", Reply{})
	j.gateway.Start(t)
	j.connected(t)
	j.run(t, id)
	j.end(t, id, "completed", "answered", "answered", "answered")
	j.wantCalls(t, map[string]int{"cto": 1, "cmo": 1, "coo": 1})
}

func (j *journey) isKilled(t *testing.T) {
	const thinking = 8 * time.Second
	j.model.Script("cpo", Reply{Delay: thinking})
	defer j.model.Script("cpo", Reply{})
	id := j.open(t, "2026-11-05")
	j.run(t, id)
	j.asked(t, "cpo")
	j.server.Kill9(t)
	j.server.Start(t)
	j.end(t, id, "completed", "answered", "answered", "answered")
	j.wantCalls(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
}
