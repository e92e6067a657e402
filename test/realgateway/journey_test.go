//go:build journey

package realgateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// journey is the built binary with a real gateway and the accounts of its four agents.
// Each scene runs the standup of another day.
type journey struct {
	model   *Model
	gateway *Gateway
	server  *Server
	month   string // month of its standups, such as "2026-11"; agents have a session for each day
	owner   Client
	coo     Client
	apiKey  string            // API key of an agent, in the gateway's environment
	first   map[string][]Call // requests of each agent to the model in the first standup
}

// agentIDs returns the agents of the gateway's settings in alphabetical order.
func agentIDs() []string { return []string{"cmo", "coo", "cpo", "cto"} }

const agentPassword = "a long password of an agent"

// grace is how long a standup waits for an offline gateway.
const grace = "4s"

// slowLimit is the agent timeout in the scene with a slow agent. Elsewhere it is two
// minutes, because a first turn took up to 13 s on two busy cores. In this scene no agent
// has its first turn, and the others took up to 15 s on a very busy machine.
const slowLimit = "30s"

// startJourney starts bin with the settings env and the gateway, which need not run yet.
func startJourney(t *testing.T, bin string, model *Model, gateway *Gateway, month string, env map[string]string) *journey {
	t.Helper()
	j := &journey{model: model, gateway: gateway, month: month}
	all := map[string]string{
		"AGENTRT_GATEWAY_URL":   gateway.URL,
		"AGENTRT_GATEWAY_TOKEN": gateway.Token,
		"STANDUP_GATEWAY_GRACE": grace,
		// On two busy cores, the gateway took longer to answer than the default of 15 s.
		"AGENTRT_GATEWAY_TIMEOUT_MS": "40000",
	}
	maps.Copy(all, env)
	j.server = StartServer(t, bin, all)
	j.owner = j.server.Login(t, OwnerEmail, OwnerPassword)
	for _, agent := range agentIDs() {
		j.owner.Post(t, "/api/v1/users", map[string]string{
			"email": agent + "@wardroom.test", "name": strings.ToUpper(agent), "password": agentPassword,
			"role": "agent", "agent_id": agent,
		}).Want(t, http.StatusCreated)
	}
	j.coo = j.server.Login(t, "coo@wardroom.test", agentPassword)
	j.giveKey(t, "coo")
	return j
}

// standup is the part of a standup that the tests check.
type standup struct {
	ID      string `json:"id"`
	Date    string `json:"date"`
	Status  string `json:"status"`
	Trigger string `json:"trigger"`
	Reports []struct {
		AgentID   string  `json:"agent_id"`
		Status    string  `json:"status"`
		Text      *string `json:"text"`
		Yesterday *string `json:"yesterday"`
		Today     *string `json:"today"`
		Blockers  *string `json:"blockers"`
		CostUSD   *string `json:"cost_usd"`
	} `json:"reports"`
	Summary  *string `json:"summary"`
	Blockers []struct {
		Task *string `json:"task"`
	} `json:"blockers"`
	Decisions []struct {
		Task    *string `json:"task"`
		Text    string  `json:"text"`
		Unblock bool    `json:"unblock"`
	} `json:"decisions"`
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

// blockers returns the tasks that the standup lists as blockers.
func (s standup) blockers() (tasks []string) {
	for _, b := range s.Blockers {
		if b.Task != nil {
			tasks = append(tasks, *b.Task)
		}
	}
	return tasks
}

func (s standup) statuses() []string {
	var list []string
	for _, r := range s.Reports {
		list = append(list, r.Status)
	}
	return list
}

// open opens the standup of a day of the month, such as "02", as the facilitator.
func (j *journey) open(t *testing.T, day string) string {
	t.Helper()
	j.model.Forget()
	var s standup
	j.coo.Post(t, "/api/v1/standups", map[string]string{"date": j.month + "-" + day}).Into(t, http.StatusCreated, &s)
	return s.ID
}

// run starts the standup and does not wait.
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

// end waits for the end of the standup and checks its status and reports.
func (j *journey) end(t *testing.T, id, status string, reports ...string) standup {
	t.Helper()
	WaitFor(t, 3*time.Minute, "the end of the meeting", func() bool { return j.get(t, id).Status != "running" })
	s := j.get(t, id)
	if s.Status != status || !slices.Equal(s.statuses(), reports) {
		t.Fatalf("the standup is %s with reports %v, want %s with %v\nerror: %+v\n%+v\nservice:\n%s",
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

// The complete workflow on the real gateway, which the demo runtime only simulates.
func TestJourney(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	bin, model := Build(t), StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{})
	if !t.Run("the harness works", func(t *testing.T) { smoke(t, model, gateway) }) {
		return
	}
	opening := []scene{
		{"connects with exactly the scopes asked for", (*journey).connects},
		{"lists the agents", (*journey).listsAll},
		{"holds a standup of four agents, and tells of it live", (*journey).holds},
		{"shows its sessions, and what was said in them", (*journey).showsSessions},
	}
	live := scene{"shows what four agents do as the gateway itself lists it", (*journey).live}
	slow := scene{"goes on without an agent that is too slow", (*journey).timesOut}
	costs := scene{"knows what each session cost, to the last digit", (*journey).costs}
	gone := scene{"says why when the gateway is gone, and asks only for what is missing afterwards", (*journey).gatewayGoes}
	scheduled := scene{"is started by a job of the gateway, in the COO's own turn", (*journey).scheduled}
	killed := scene{"goes on after kill -9 at three points", (*journey).isKilled}
	t.Run("SQLite", func(t *testing.T) {
		j := startJourney(t, bin, model, gateway, "2026-11", nil)
		j.play(t, slices.Concat(opening, []scene{live, slow, costs, gone, scheduled, killed}))
	})
	// Without the scene with the slow agent, which takes 30 s and uses no other SQL. The
	// costs come last, because for 30 s after a run the gateway repeats its earlier
	// numbers.
	t.Run("PostgreSQL", func(t *testing.T) {
		j := startJourney(t, bin, model, gateway, "2026-10", map[string]string{"DATABASE_URL": PostgresDatabase(t)})
		j.play(t, slices.Concat(opening, []scene{gone, killed, costs, scheduled}))
	})
}

// scene is a part of the journey that later ones depend on.
type scene struct {
	name string
	play func(*journey, *testing.T)
}

// play runs the scenes in order.
func (j *journey) play(t *testing.T, scenes []scene) {
	for _, s := range scenes {
		j.scene(t, s.name, func(t *testing.T) { s.play(j, t) })
	}
	j.hides(t, j.gateway.Token, agentPassword, OwnerPassword, j.apiKey)
}

// scene runs a part of the journey and ends the test if it fails.
func (j *journey) scene(t *testing.T, name string, play func(*testing.T)) {
	t.Helper()
	begin := time.Now()
	if !t.Run(name, play) {
		t.Fatalf("the journey ends here; the gateway's output:\n%s", j.gateway.Log())
	}
	t.Logf("%s: %s", name, time.Since(begin).Round(100*time.Millisecond))
}

// hides checks that the secrets are not in the service's output or in the status of the
// gateway.
func (j *journey) hides(t *testing.T, secrets ...string) {
	t.Helper()
	said := j.server.Log() + string(j.owner.Get(t, "/api/v1/agentrt/status").Body)
	for i, secret := range secrets {
		if secret == "" || strings.Contains(said, secret) {
			t.Errorf("secret %d is empty, in the log or in the status", i)
		}
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

func (j *journey) listsAll(t *testing.T) { j.lists(t, true) }

// lists checks the list of agents and whether each is in the runtime; that is null
// without a connection.
func (j *journey) lists(t *testing.T, connected bool) {
	t.Helper()
	var agents []struct {
		AgentID string    `json:"agent_id"`
		Known   *bool     `json:"in_runtime"`
		Account *struct{} `json:"account"`
	}
	j.owner.Get(t, "/api/v1/agents").Into(t, http.StatusOK, &agents)
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.AgentID)
		if known := a.Known != nil && *a.Known; known != connected || !connected && a.Known != nil || a.Account == nil {
			t.Errorf("%s: in the runtime %v, account %v", a.AgentID, a.Known, a.Account)
		}
	}
	if slices.Sort(ids); !slices.Equal(ids, agentIDs()) {
		t.Errorf("agents %v", ids)
	}
}

func (j *journey) holds(t *testing.T) {
	live := j.owner.Follow(t, "standup,task,gateway")
	id := j.open(t, "02")
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
	j.first = map[string][]Call{}
	for _, agent := range agentIDs() {
		j.first[agent] = j.model.Calls(agent)
	}
	WaitFor(t, time.Minute, "the end to be told", func() bool {
		return slices.ContainsFunc(live.Frames(), func(f Frame) bool { return f.Event == "standup.completed" })
	})
	wantLive(t, id, live.Frames())
	if got := states(t, live); !slices.Equal(got, []string{"connected"}) {
		t.Errorf("states %v, want that it is connected", got)
	}
}

func (j *journey) timesOut(t *testing.T) {
	j.model.Script("cpo", Reply{Delay: 5 * time.Minute})
	defer j.model.Script("cpo", Reply{})
	limit := func(limit string) {
		j.restart(t, map[string]string{"STANDUP_AGENT_TIMEOUT": limit})
		j.connected(t)
	}
	limit(slowLimit)
	defer limit("")
	id := j.open(t, "03")
	j.run(t, id)
	s := j.end(t, id, "completed", "answered", "timed_out", "answered")
	if text := s.Reports[1].Text; text == nil || *text != "[Timeout]" {
		t.Errorf("the report is %v, want [Timeout]", text)
	}
}

func (j *journey) gatewayGoes(t *testing.T) {
	j.model.Script("cpo", Reply{Delay: 5 * time.Minute})
	live := j.owner.Follow(t, "gateway")
	id := j.open(t, "04")
	j.run(t, id)
	j.asked(t, "cpo")
	t.Run("an agent at work is active until then", func(t *testing.T) { j.atWork(t, "cpo", "04") })
	j.gateway.Kill(t)
	t.Run("meanwhile its sessions are not shown, and its agents are offline", j.isAway)
	s := j.end(t, id, "error", "answered", "asked", "pending")
	last := s.Transcript[len(s.Transcript)-1]
	if s.Error == nil || s.Error.Code != "gateway_unreachable" || last.Kind != "error" || !strings.Contains(last.Text, "unreachable for") {
		t.Errorf("error %+v, the transcript ends with %+v", s.Error, last)
	}
	j.model.Script("cpo", Reply{})
	j.gateway.Start(t)
	j.connected(t)
	WaitFor(t, time.Minute, "connected, unreachable and connected to be told", func() bool {
		told := states(t, live)
		return len(told) > 2 && told[0] == "connected" && told[1] == "unreachable" && told[len(told)-1] == "connected"
	})
	j.resumed(t, "agent:cpo:standup:"+s.Date)
	j.run(t, id)
	j.end(t, id, "completed", "answered", "answered", "answered")
	j.wantCalls(t, map[string]int{"cto": 1, "cmo": 1, "coo": 1})
	t.Run("afterwards the sessions and agents are back by themselves", j.isBack)
}

// resumed waits until the gateway has finished the turn in which it was killed. A
// question for the same session that arrives while the gateway starts to resume may fail
// with SESSION_WORK_START_CHANGED.
func (j *journey) resumed(t *testing.T, session string) {
	t.Helper()
	WaitFor(t, 2*time.Minute, "the gateway to take up "+session, func() bool {
		return strings.Contains(j.gateway.Log(), "main-session restart recovery terminal: session="+session)
	})
}

// isKilled kills the service at three points of one standup: an agent answers while it is
// down, another one thinks for longer than that, and the facilitator is at the review.
func (j *journey) isKilled(t *testing.T) {
	for agent, thinking := range map[string]time.Duration{"cto": 3 * time.Second, "cpo": 8 * time.Second, "coo": 8 * time.Second} {
		j.model.Script(agent, Reply{Delay: thinking})
		defer j.model.Script(agent, Reply{})
	}
	id := j.open(t, "05")
	j.run(t, id)
	for _, agent := range []string{"cto", "cpo", "coo"} {
		j.asked(t, agent)
		j.server.Kill9(t)
		if agent == "cto" {
			WaitFor(t, time.Minute, "the answer that nobody hears", func() bool { return j.model.Calls("cto")[0].Used != nil })
		}
		j.server.Start(t)
	}
	s := j.end(t, id, "completed", "answered", "answered", "answered")
	j.wantCalls(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	lines := map[string]int{}
	for _, l := range s.Transcript {
		lines[l.Kind]++
	}
	if want := (map[string]int{"note": 4, "question": 4, "answer": 3, "summary": 1}); !maps.Equal(lines, want) {
		t.Errorf("the transcript has the lines %v, want %v", lines, want)
	}
}
