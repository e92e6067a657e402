//go:build journey

package realgateway

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// session is the part of a runtime session that the test checks.
type session struct {
	Key          string  `json:"key"`
	AgentID      string  `json:"agent_id"`
	Active       bool    `json:"active"`
	Model        *string `json:"model"`
	UpdatedAt    *string `json:"updated_at"`
	CostUSD      *string `json:"cost_usd"`
	CostComplete *bool   `json:"cost_complete"`
	Tokens       *spent  `json:"tokens"`
}

// spent is the tokens of a session or a message.
type spent struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// utterance is the part of a session's message that the test checks.
type utterance struct {
	Role    string  `json:"role"`
	Text    string  `json:"text"`
	CostUSD *string `json:"cost_usd"`
	Tokens  *spent  `json:"tokens"`
}

// UnmarshalJSON joins the texts of a message.
func (u *utterance) UnmarshalJSON(data []byte) error {
	type plain utterance
	var m struct {
		plain
		Blocks []struct{ Type, Text string }
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	*u = utterance(m.plain)
	for _, b := range m.Blocks {
		if b.Type == "text" {
			u.Text += b.Text
		}
	}
	return nil
}

// presence is an agent's presence in the list of agents.
type presence struct {
	AgentID  string `json:"agent_id"`
	Presence *struct {
		State  string  `json:"state"`
		Reason string  `json:"reason"`
		Since  *string `json:"since"`
	} `json:"presence"`
}

// key returns the session of an agent's standup on a day of the month.
func (j *journey) key(agent, day string) string {
	return "agent:" + agent + ":standup:" + j.month + "-" + day
}

func sessionPath(key string) string { return "/api/v1/agentrt/sessions/" + url.PathEscape(key) }

func (j *journey) sessions(t *testing.T, query string) []session {
	t.Helper()
	var list []session
	j.owner.Get(t, "/api/v1/agentrt/sessions?limit=200&"+query).Into(t, http.StatusOK, &list)
	return list
}

func (j *journey) session(t *testing.T, key string) session {
	t.Helper()
	var s session
	j.owner.Get(t, sessionPath(key)).Into(t, http.StatusOK, &s)
	return s
}

// wantPresence waits for the state of every agent, with otherwise for those that want
// does not name. It checks that each has a reason.
func (j *journey) wantPresence(t *testing.T, otherwise string, want map[string]string) {
	t.Helper()
	var agents []presence
	WaitFor(t, time.Minute, fmt.Sprintf("everybody %s but %v", otherwise, want), func() bool {
		agents = nil
		j.owner.Get(t, "/api/v1/agents").Into(t, http.StatusOK, &agents)
		return !slices.ContainsFunc(agents, func(a presence) bool {
			state, ok := want[a.AgentID]
			if !ok {
				state = otherwise
			}
			return a.Presence == nil || a.Presence.State != state
		})
	})
	for _, a := range agents {
		if a.Presence.Reason == "" {
			t.Errorf("%s is %s without a reason", a.AgentID, a.Presence.State)
		}
	}
}

// price returns the price of a million tokens in the gateway's settings, in dollars.
func price(agent string) (input, output int64) {
	if agent == "cmo" {
		return 1, 5
	}
	return 3, 15
}

// bill returns the exact usage and cost of the model's answers to an agent.
func bill(agent string, calls []Call) (spent, *big.Rat) {
	var all spent
	for _, c := range calls {
		if c.Used != nil {
			all.Input, all.Output = all.Input+c.Used.Prompt, all.Output+c.Used.Completion
		}
	}
	input, output := price(agent)
	return all, big.NewRat(int64(all.Input)*input+int64(all.Output)*output, 1_000_000)
}

// wantBill checks that the tokens and the cost are exactly right.
func wantBill(t *testing.T, what, agent string, calls []Call, tokens *spent, cost *string) {
	t.Helper()
	used, due := bill(agent, calls)
	if used.Input == 0 || tokens == nil || *tokens != used || cost == nil {
		t.Errorf("%s: tokens %+v, cost %v; want %+v", what, tokens, cost, used)
		return
	}
	if got, ok := new(big.Rat).SetString(*cost); !ok || got.Cmp(due) != 0 {
		t.Errorf("%s: cost %s, want %s", what, *cost, due.FloatString(9))
	}
}

// wantLive checks the events of a standup on its stream, in order.
func wantLive(t *testing.T, id string, frames []Frame) {
	t.Helper()
	var told []string
	last := 0
	for _, f := range frames {
		if f.ID == "" {
			continue // a state, not an event
		}
		n, err := strconv.Atoi(f.ID)
		if err != nil || n < last || n == last && f.Event != "position" {
			t.Errorf("id %q of %s comes after %d", f.ID, f.Event, last)
		}
		last = n
		var e struct {
			ID      int
			Subject struct{ ID string }
			Data    struct {
				Agent string `json:"agent_id"`
			}
		}
		f.Into(t, &e)
		if !strings.Contains(f.Event, ".") {
			continue // hello or position
		}
		if e.ID != n || strings.HasPrefix(f.Event, "standup.") && e.Subject.ID != id {
			t.Errorf("frame %s of %s: %s", f.ID, f.Event, f.Data)
		}
		told = append(told, strings.TrimSpace(f.Event+" "+e.Data.Agent))
	}
	want := []string{
		"standup.opened", "standup.started",
		"standup.asked cto", "standup.reported cto", "standup.asked cpo", "standup.reported cpo",
		"standup.asked cmo", "standup.reported cmo", "standup.asked coo", "task.created", "standup.completed",
	}
	if !slices.Equal(told, want) {
		t.Errorf("received\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

// showsSessions checks the sessions of the first standup and their messages.
func (j *journey) showsSessions(t *testing.T) {
	j.wantPresence(t, "idle", nil)
	var of []string
	for _, s := range j.sessions(t, "active=false") {
		if s.Key != j.key(s.AgentID, "02") {
			continue // an earlier session
		}
		of = append(of, s.AgentID)
		if s.Tokens != nil || s.CostUSD != nil { // unknown for now, or right
			wantBill(t, s.Key, s.AgentID, j.first[s.AgentID], s.Tokens, s.CostUSD)
		}
	}
	if slices.Sort(of); !slices.Equal(of, agentIDs()) {
		t.Errorf("there are sessions of %v, want of %v", of, agentIDs())
	}
	for _, agent := range agentIDs() {
		key := j.key(agent, "02")
		if s := j.session(t, key); s.Key != key || s.AgentID != agent || s.Active || s.Model == nil || !strings.HasPrefix(*s.Model, "scripted/") {
			t.Errorf("%s: %+v", key, s)
		}
		j.wantMessages(t, agent, key)
	}
	var problem struct{ Code string }
	for _, path := range []string{sessionPath("agent:cto:nobody"), sessionPath("agent:cto:nobody") + "/messages"} {
		j.owner.Get(t, path).Into(t, http.StatusNotFound, &problem)
		if problem.Code != "session_not_found" {
			t.Errorf("%s: code %s", path, problem.Code)
		}
	}
}

var nextPage = regexp.MustCompile(`<([^>]+)>; rel="next"`)

// wantMessages checks that a session has a question and its answer, newest last, also in
// pages of one.
func (j *journey) wantMessages(t *testing.T, agent, key string) {
	t.Helper()
	var all, newest, older []utterance
	j.owner.Get(t, sessionPath(key)+"/messages").Into(t, http.StatusOK, &all)
	if len(all) != 2 || all[0].Role != "user" || all[1].Role != "assistant" {
		t.Fatalf("%s: %+v, want a question and its answer", key, all)
	}
	call := j.first[agent]
	if len(call) != 1 || !strings.Contains(call[0].Prompt, all[0].Text) || all[1].Text != usual(agent, call[0].Prompt) {
		t.Errorf("%s: asked %q, answered %q", key, all[0].Text, all[1].Text)
	}
	wantBill(t, "the answer in "+key, agent, call, all[1].Tokens, all[1].CostUSD)

	res := j.owner.Get(t, sessionPath(key)+"/messages?limit=1")
	res.Into(t, http.StatusOK, &newest)
	next := nextPage.FindStringSubmatch(res.Header.Get("Link"))
	if next == nil || len(newest) != 1 || newest[0].Text != all[1].Text {
		t.Fatalf("%s: the first page of one is %+v, and then %q", key, newest, res.Header.Get("Link"))
	}
	res = j.owner.Get(t, next[1])
	res.Into(t, http.StatusOK, &older)
	if len(older) != 1 || older[0].Text != all[0].Text || nextPage.MatchString(res.Header.Get("Link")) {
		t.Errorf("%s: the page before is %+v, and then %q", key, older, res.Header.Get("Link"))
	}
}

// costs checks the tokens and the cost of each session of the first standup. For 30 s the
// gateway repeats its earlier numbers; during that time they must be unknown rather than
// wrong.
func (j *journey) costs(t *testing.T) {
	for _, agent := range agentIDs() {
		key := j.key(agent, "02")
		var s session
		WaitFor(t, 90*time.Second, "the cost of "+key, func() bool {
			s = j.session(t, key)
			return s.CostUSD != nil
		})
		wantBill(t, key, agent, j.first[agent], s.Tokens, s.CostUSD)
		if s.CostComplete == nil || !*s.CostComplete {
			t.Errorf("%s: complete %v", key, s.CostComplete)
		}
	}
	t.Run("and what it costs after one more run it says right or not at all", j.costsMore)
}

// costsMore asks an agent again in a session with a known cost. The gateway then reports
// its earlier numbers as current.
func (j *journey) costsMore(t *testing.T) {
	const agent, key = "cto", "agent:cto:smoke"
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil)
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	var before, after session
	WaitFor(t, 90*time.Second, "the cost of "+key, func() bool {
		before = j.session(t, key)
		return before.CostUSD != nil
	})
	wantBill(t, "before", agent, j.model.Ever(agent, smokeQuestion), before.Tokens, before.CostUSD)
	op.ask(t, agent, smokeQuestion)
	WaitFor(t, time.Minute, "the run to be seen", func() bool {
		after = j.session(t, key)
		return !after.Active && *after.UpdatedAt != *before.UpdatedAt
	})
	if after.Tokens != nil || after.CostUSD != nil {
		wantBill(t, "afterwards", agent, j.model.Ever(agent, smokeQuestion), after.Tokens, after.CostUSD)
	}
}

// atWork checks that only one agent is active.
func (j *journey) atWork(t *testing.T, agent, day string) {
	t.Helper()
	j.wantPresence(t, "idle", map[string]string{agent: "active"})
	key := j.key(agent, day)
	if s := j.session(t, key); !s.Active {
		t.Errorf("%s is not active", key)
	}
	if list := j.sessions(t, "active=true"); len(list) != 1 || list[0].Key != key {
		t.Errorf("active are %+v, want only %s", list, key)
	}
	var agents []presence
	j.owner.Get(t, "/api/v1/agents").Into(t, http.StatusOK, &agents)
	for _, a := range agents {
		if p := a.Presence; a.AgentID == agent && (p == nil || !strings.Contains(p.Reason, key) || p.Since == nil) {
			t.Errorf("%s: %+v, want the session and since when", agent, p)
		}
	}
}

// isAway checks that requests for sessions fail with the reason while the gateway is
// offline.
func (j *journey) isAway(t *testing.T) {
	t.Helper()
	j.wantPresence(t, "offline", nil) // as soon as the service has noticed
	for _, path := range []string{"/api/v1/agentrt/sessions", sessionPath(j.key("cto", "02")), sessionPath(j.key("cto", "02")) + "/messages"} {
		var problem struct{ Code string }
		j.owner.Get(t, path).Into(t, http.StatusServiceUnavailable, &problem)
		if problem.Code != "gateway_unreachable" {
			t.Errorf("%s: code %s", path, problem.Code)
		}
	}
	j.lists(t, false)
}

// isBack checks that the sessions are shown again.
func (j *journey) isBack(t *testing.T) {
	t.Helper()
	j.lists(t, true)
	j.wantPresence(t, "idle", nil)
	for _, agent := range agentIDs() {
		j.wantMessages(t, agent, j.key(agent, "02"))
	}
}

// states returns the states of the gateway on a stream, in order. It leaves out the state
// slow, which a busy machine causes at times.
func states(t *testing.T, s *Stream) []string {
	t.Helper()
	var list []string
	for _, f := range s.Frames() {
		if f.Event != "agentrt.status" {
			continue
		}
		var status struct{ State string }
		if f.Into(t, &status); f.ID != "" {
			t.Errorf("a state has the ID %s; want none, because states are not stored", f.ID)
		}
		if status.State != "slow" && (len(list) == 0 || list[len(list)-1] != status.State) {
			list = append(list, status.State)
		}
	}
	return list
}
