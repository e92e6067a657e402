package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/web"
	"wardroom/internal/task"
)

// deed is one request on an object and its expected outcome: a status, followed by the
// problem's code if there is one. Exceptions in but are keyed by "whose" or "whose as
// role".
type deed struct {
	name string
	body func(o object) any
	ok   string
	but  map[string]string
}

// object is the target of a deed.
type object struct {
	path  []string // values of the path's parameters in order
	id    string
	token int64 // claim token, if the object is claimed
}

// TestOwnAndForeign calls every route that names an object with every role (in a short run, as an agent), on the
// caller's own object and on those of others. A new route must be listed here with its expected outcomes.
func TestOwnAndForeign(t *testing.T) {
	t.Parallel()
	p := newStaff(t)
	kinds := map[string]kind{
		"/api/v1/tasks/":            {taskDeeds(), p.task, []string{"nobody's", "their own", "another's", "held by them", "held by another"}},
		"/api/v1/users/":            {userDeeds(), p.user, []string{"their own", "a user's", "an agent's", "an admin's", "the owner's", "another's key"}},
		"/api/v1/standups/":         {standupDeeds(), p.standup, []string{"their own", "another's"}},
		"/api/v1/inbox/":            {inboxDeeds(), p.item, []string{"their own", "another's", "nobody's"}},
		"/api/v1/agents/":           {agentDeeds(), p.agent, []string{"their own", "another's"}},
		"/api/v1/agentrt/sessions/": {sessionDeeds(), p.session, []string{"their own", "another's"}},
		"/api/v1/agentrt/jobs/":     {jobDeeds(), p.job, []string{"their own", "another's"}},
	}
	known := 0
	for _, r := range p.API.Routes() {
		name := r.Method + " " + r.Path
		prefix, _, has := strings.Cut(r.Path, "{")
		if slices.Contains(withoutObject(), name) {
			continue
		}
		if has || name == bulk {
			if name == bulk {
				prefix = "/api/v1/tasks/"
			}
			if deeds := kinds[prefix].deeds[name]; deeds != nil && r.Path != "/{$}" {
				known++
				t.Run(name, func(t *testing.T) { p.tryAll(t, r, kinds[prefix], deeds) })
				continue
			}
		}
		t.Errorf("%s: add the route to a kind of objects or to withoutObject", name)
	}
	said := 0
	for _, k := range kinds {
		said += len(k.deeds)
	}
	if said != known {
		t.Errorf("the list has deeds of %d routes, but there are %d routes", said, known)
	}
}

// bulk names its objects in the body.
const bulk = "POST /api/v1/tasks/bulk"

// withoutObject returns the routes without an object that belongs to someone, or only
// with the caller's own account. TestRoutesAskForTheirPermission covers them.
func withoutObject() []string {
	return append(public(), "GET /{$}", "GET /assets/{name}", // the dashboard's files
		"GET /api/v1/auth/me", "PATCH /api/v1/auth/me", "POST /api/v1/auth/password", // the account of the token
		"GET /api/v1/auth/me/sessions", "DELETE /api/v1/auth/me/sessions", "DELETE /api/v1/auth/me/sessions/{id}", // see TestDevices
		"GET /api/v1/activity", "GET /api/v1/audit", "GET /api/v1/audit.csv", "GET /api/v1/events",
		"GET /api/v1/usage/going", // of the runtime
		"GET /api/v1/usage/idle",
		"GET /api/v1/agents", "POST /api/v1/agents/{agent_id}/hold", "POST /api/v1/agents/{agent_id}/release", "GET /api/v1/agents/{agent_id}/tools", "POST /api/v1/agents/{agent_id}/tools/check", "GET /api/v1/agentrt/sessions", "GET /api/v1/agentrt/status", "GET /api/v1/agentrt/doctor",
		"GET /api/v1/agentrt/pairing", "POST /api/v1/agentrt/pairing", "DELETE /api/v1/agentrt/pairing", // the service's own device
		"POST /api/v1/agentrt/pairing/rotate", "DELETE /api/v1/agentrt/pairing/rotate",
		"GET /api/v1/agentrt/jobs", "POST /api/v1/agentrt/jobs", "GET /api/v1/agentrt/slots", "GET /api/v1/agentrt/next-runs", // of the runtime
		"GET /api/v1/settings", "PATCH /api/v1/settings", "POST /api/v1/settings/test", // of the service
		"GET /api/v1/warnings", "GET /api/v1/retention", "GET /api/v1/retention/preview", "POST /api/v1/retention/run",
		"GET /api/v1/standups", "GET /api/v1/standups/latest", "POST /api/v1/standups", "GET /api/v1/standups/schedule", "POST /api/v1/standups/schedule",
		"GET /api/v1/tasks", "POST /api/v1/tasks", "POST /api/v1/tasks/claim", // see TestOthersTasksAreNotNext
		"GET /api/v1/users", "POST /api/v1/users", "GET /api/v1/people",
		"GET /api/v1/teams", "POST /api/v1/teams", "GET /api/v1/teams/{id}", "PATCH /api/v1/teams/{id}", // of the service
		"GET /api/v1/projects", "POST /api/v1/projects", "GET /api/v1/projects/{id}", "PATCH /api/v1/projects/{id}", // shared by all users
		"GET /api/v1/search",
		"GET /api/v1/usage", "GET /api/v1/usage.csv", "GET /api/v1/prices", "PUT /api/v1/prices", "GET /api/v1/agentrt/models", // of the service
		"GET /api/v1/limits", "POST /api/v1/limits", "POST /api/v1/limits/preview", "GET /api/v1/limits/{id}", "PATCH /api/v1/limits/{id}", // of the service
		"DELETE /api/v1/limits/{id}", "POST /api/v1/limits/{id}/allow",
		"GET /api/v1/inbox",
		"GET /api/v1/approvals", "GET /api/v1/approvals/{id}", "POST /api/v1/approvals/{id}/answer", "GET /api/v1/agentrt/commands", // of the runtime
		"GET /api/v1/questions", "GET /api/v1/questions/{id}", "POST /api/v1/questions/{id}/answer",
		"POST /api/v1/questions", "POST /api/v1/questions/{id}/withdraw", // see TestAskHuman and approval.TestAskedEndings
		"GET /api/v1/sessions", "GET /api/v1/sessions/{id}", "GET /api/v1/sessions/{id}/messages", // of the service
		"POST /mcp", // see the tests of the package mcp
	)
}

// kind is a kind of objects: its deeds, how to create an object for a caller, and whose
// it can be. Not every caller can have one of each.
type kind struct {
	deeds map[string][]deed
	make  func(whose string, me person) (object, bool)
	whose []string
}

// tryAll tries each deed with each role on an object of each kind of owner.
func (p *staff) tryAll(t *testing.T, r web.Route, k kind, deeds []deed) {
	roles := actor.Roles()
	if testing.Short() {
		roles = []actor.Role{actor.Agent}
	}
	for _, d := range deeds {
		for _, role := range roles {
			for _, whose := range k.whose {
				me := p.person(role)
				o, ok := k.make(whose, me)
				if !ok {
					continue
				}
				want := d.ok
				for _, key := range []string{whose, whose + " as " + string(role)} {
					if other, ok := d.but[key]; ok {
						want = other
					}
				}
				if !role.May(r.Permission) {
					want = "403 forbidden"
				}
				var body any
				if d.body != nil {
					body = d.body(o)
				}
				if got := outcome(me.send(r.Method, o.in(r.Path), body), r); got != want {
					t.Errorf("%s, %s, as %s: %s, want %s", d.name, whose, role, got, want)
				}
			}
		}
	}
}

// in returns the path with its parameters filled in.
func (o object) in(path string) string {
	n := 0
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = o.path[n]
			n++
		}
	}
	return strings.Join(parts, "/")
}

// outcome returns the status of an answer and the code of its problem. For a bulk change,
// it returns those of the one task.
func outcome(a answer, r web.Route) string {
	got := struct{ Code string }{}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
		got = decode[struct{ Code string }](a)
	}
	status := a.status
	if r.Method+" "+r.Path == bulk && status == http.StatusOK {
		one := decode[[]struct {
			Status  int
			Problem *struct{ Code string }
		}](a)[0]
		if status = one.Status; one.Problem != nil {
			got.Code = one.Problem.Code
		}
	}
	return strings.TrimSpace(strconv.Itoa(status) + " " + got.Code)
}

// staff are the users of a test.
type staff struct {
	*service
	owner, other person // other is the agent coo
	n            int
	roles        map[actor.Role]person
}

type person struct {
	caller
	id   string
	role actor.Role
}

func newStaff(t *testing.T) *staff {
	t.Helper()
	s := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayScopes = "operator.admin" }).start().connected()
	p := &staff{service: s, roles: map[actor.Role]person{}}
	p.owner = p.known(s.login(ownerEmail))
	p.roles[actor.Owner] = p.owner
	p.owner.hire("coo", "cto")
	p.other = p.known(s.login("coo@example.com"))
	p.roles[actor.Agent] = p.known(s.login("cto@example.com"))
	return p
}

func (p *staff) known(c caller) person {
	u := decode[account.User](c.get("/api/v1/auth/me").want(http.StatusOK))
	return person{c, u.ID, u.Role}
}

// person returns a user with the role: the owner, the CTO or a new one that other tests
// do not use.
func (p *staff) person(role actor.Role) person {
	if known, ok := p.roles[role]; ok {
		return known
	}
	u := p.account(role)
	return p.known(p.login(u.Email))
}

// account creates a new account. For an agent, it uses a new agent ID.
func (p *staff) account(role actor.Role) account.User {
	p.n++
	body := map[string]any{"email": fmt.Sprintf("%s%d@example.com", role, p.n), "password": password, "role": role, "current_password": password}
	if role == actor.Agent {
		body["agent_id"] = fmt.Sprint("agent", p.n)
	}
	return decode[account.User](p.owner.post("/api/v1/users", body).want(http.StatusCreated))
}

// task creates a task.
func (p *staff) task(whose string, me person) (object, bool) {
	p.house.t.Helper()
	body := map[string]any{"title": "One"}
	switch whose {
	case "their own", "held by them":
		body["assignee_id"] = me.id
	case "another's", "held by another":
		body["assignee_id"] = p.other.id
	}
	made := decode[task.Task](p.owner.post("/api/v1/tasks", body).want(http.StatusCreated))
	author := p.other
	if whose == "their own" || whose == "held by them" {
		author = me
	}
	said := decode[struct{ ID string }](author.post("/api/v1/tasks/"+made.ID+"/comments", map[string]any{"body": "First"}).want(http.StatusCreated))
	o := object{path: []string{made.ID, said.ID}, id: made.ID, token: 1}
	for held, holder := range map[string]person{"held by them": me, "held by another": p.other} {
		if whose != held {
			continue
		}
		claimed := decode[task.Task](holder.post("/api/v1/tasks/"+made.ID+"/claim", nil).want(http.StatusOK))
		o.token = claimed.Claim.Token
		if shown := decode[task.Task](me.get("/api/v1/tasks/" + made.ID)); shown.Claim == nil || shown.Claim.Token != 0 {
			p.house.t.Errorf("reading it shows the claim %+v", shown.Claim)
		}
	}
	return o, true
}

// user creates an account, with a key if its role allows it.
func (p *staff) user(whose string, me person) (object, bool) {
	p.house.t.Helper()
	id := me.id
	switch whose {
	case "their own":
		if me.role == actor.Agent {
			return object{}, false // the same as an agent's account, and an agent may do nothing with it
		}
	case "a user's":
		id = p.account(actor.User).ID
	case "an agent's", "another's key":
		id = p.account(actor.Agent).ID
	case "an admin's":
		id = p.account(actor.Admin).ID
	case "the owner's":
		id = p.owner.id
	}
	of := id
	if whose != "an agent's" {
		of = p.other.id
	}
	_, k := p.owner.key(of, map[string]any{"name": "One"})
	return object{path: []string{id, k.ID}, id: id}, true
}

// standup opens a standup on a day without one.
func (p *staff) standup(whose string, me person) (object, bool) {
	p.house.t.Helper()
	p.n++
	by := p.other
	if whose == "their own" {
		by = me
	}
	if !by.role.May(actor.HoldStandups) {
		return object{}, false
	}
	made := decode[struct{ ID string }](by.post("/api/v1/standups", map[string]any{"date": fmt.Sprintf("2026-%02d-%02d", 1+p.n/28%12, 1+p.n%28)}).want(http.StatusCreated))
	report := "cto" // the agent's own if the caller is an agent
	if whose == "another's" {
		report = "cpo"
	}
	return object{path: []string{made.ID, report}, id: made.ID}, true
}

// item raises an inbox item. Agents cannot see any.
func (p *staff) item(whose string, me person) (object, bool) {
	p.house.t.Helper()
	p.n++
	i := p.house.raise(p.App, fmt.Sprint("own/", p.n))
	var assignee any
	switch whose {
	case "their own":
		if me.role == actor.Agent {
			return object{}, false
		}
		assignee = me.id
	case "another's":
		assignee = p.owner.id
		if me.role == actor.Owner {
			assignee = p.account(actor.User).ID
		}
	}
	if assignee != nil {
		p.owner.post("/api/v1/inbox/"+i.ID+"/assign", map[string]any{"assignee": assignee}).want(http.StatusOK)
	}
	return object{path: []string{i.ID}, id: i.ID}, true
}

// agent returns the caller or the other agent.
func (p *staff) agent(whose string, me person) (object, bool) {
	if whose == "another's" {
		return object{path: []string{"coo"}}, true
	}
	return object{path: []string{"cto"}}, me.role == actor.Agent
}

// session creates a session by asking its agent.
func (p *staff) session(whose string, me person) (object, bool) {
	p.house.t.Helper()
	o, ok := p.agent(whose, me)
	if !ok {
		return object{}, false
	}
	p.n++
	agentID := o.path[0]
	o.path[0] = "agent:" + agentID + ":main"
	q := gateway.Question{RunID: fmt.Sprint("run-", p.n), AgentID: agentID, SessionKey: o.path[0], Message: "How is it going?"}
	if _, err := p.Gateway.Start(context.Background(), q); err != nil {
		p.house.t.Fatal(err)
	}
	p.answered(q.RunID)
	return o, true
}

// job creates a scheduled job that the agent runs.
func (p *staff) job(whose string, me person) (object, bool) {
	p.house.t.Helper()
	o, ok := p.agent(whose, me)
	if !ok {
		return object{}, false
	}
	p.n++
	made := decode[struct{ ID string }](p.owner.post("/api/v1/agentrt/jobs", jobBody(fmt.Sprint("Job ", p.n), o.path[0])).want(http.StatusCreated))
	return object{path: []string{made.ID}, id: made.ID}, true
}

// jobBody returns a scheduled job that is due once a year.
func jobBody(name, agentID string) map[string]any {
	return map[string]any{
		"name": name, "agentId": agentID, "schedule": map[string]any{"expr": "0 9 1 1 *", "tz": "Europe/Berlin"}, "payload": map[string]any{"message": "How is it going?"},
	}
}

// A claim of the next task must not return a task of another agent.
func TestOthersTasksAreNotNext(t *testing.T) {
	t.Parallel()
	p := newStaff(t)
	if _, ok := p.task("another's", p.owner); !ok {
		t.Fatal("creating the task failed")
	}
	for _, role := range actor.Roles() {
		me := p.person(role)
		me.post("/api/v1/tasks/claim", nil).want(http.StatusNoContent)
		mine, _ := p.task("their own", me)
		if got := decode[task.Task](me.post("/api/v1/tasks/claim", nil).want(http.StatusOK)); got.ID != mine.id {
			t.Errorf("as %s: got %s, want their own %s", role, got.ID, mine.id)
		}
	}
}

// sameMade reports whether two answers are about the same thing.
func sameMade(a, b answer) bool {
	type made struct {
		ID    string
		RunID string `json:"run_id"`
	}
	return decode[made](a) == decode[made](b)
}

// An idempotency key of one user must not return the answer to another user, on any route
// and with any role.
func TestOthersIdempotencyKeys(t *testing.T) {
	t.Parallel()
	p := newStaff(t)
	d := readDocument(t, p.API.Document())
	about := decode[task.Task](p.owner.post("/api/v1/tasks", map[string]any{"title": "One", "assignee_id": p.person(actor.Agent).id}).want(http.StatusCreated))
	if _, ok := p.session("their own", p.roles[actor.Agent]); !ok {
		t.Fatal("creating the session failed")
	}
	tried := 0
	for path, operations := range d.Paths {
		repeatable := false
		for _, q := range operations["post"].Parameters {
			repeatable = repeatable || q.Name == "Idempotency-Key"
		}
		if !repeatable {
			continue
		}
		bodies := map[string]map[string]any{
			"/api/v1/tasks": {"title": "One"}, "/api/v1/standups": {"date": "2026-11-02"},
			"/api/v1/users": {"email": "one@example.com", "password": password, "role": "user"}, "/api/v1/projects": {"key": "ONE", "name": "One"},
			"/api/v1/tasks/{id}/comments": {"body": "One"}, "/api/v1/teams": {"key": "one", "name": "One", "facilitator": "coo", "participants": []string{"cto"}},
		}
		bodies["/api/v1/agentrt/jobs"] = jobBody("One", "cto")
		bodies["/api/v1/limits"] = map[string]any{"scope": "all", "measure": "usd", "amount": "1", "window": "day", "action": "tell"}
		const sending = "/api/v1/agentrt/sessions/{key}/messages"
		bodies[sending] = map[string]any{"text": "One"}
		const talking = "/api/v1/agents/{agent_id}/messages"
		bodies[talking] = bodies[sending]
		bodies["/api/v1/tasks/{id}/dispatch"] = map[string]any{"note": "One"}
		bodies["/api/v1/tasks/{id}/decide"], bodies["/api/v1/tasks/{id}/send-back"] = bodies[sending], bodies[sending]
		bodies["/api/v1/tasks/{id}/approve"] = map[string]any{}
		body := bodies[path]
		if body == nil {
			t.Errorf("%s: add a body for the route", path)
			continue
		}
		status := http.StatusCreated
		if path == sending || path == talking || strings.HasSuffix(path, "/dispatch") { // these routes only start something
			status = http.StatusAccepted
		}
		id, answers := about.ID, false // about a task, which is the same for all
		if what := path[strings.LastIndex(path, "/")+1:]; what == "decide" || what == "approve" || what == "send-back" {
			id, answers, status = decode[task.Task](p.owner.post("/api/v1/tasks", map[string]any{"title": what, "status": "review"}).want(http.StatusCreated)).ID, true, http.StatusOK
		}
		path = strings.NewReplacer("{id}", id, "{key}", cto, "{agent_id}", "cto").Replace(path)
		made := p.owner.send(http.MethodPost, path, body, "Idempotency-Key", "k").want(status)
		if again := p.owner.send(http.MethodPost, path, body, "Idempotency-Key", "k"); again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: the owner's request is not replayed: %d", path, again.status)
		}
		for _, role := range []actor.Role{actor.Admin, actor.User, actor.Agent} {
			tried++
			a := p.person(role).send(http.MethodPost, path, body, "Idempotency-Key", "k")
			if a.header.Get("Idempotency-Replayed") != "" || !answers && a.status == status && sameMade(a, made) {
				t.Errorf("%s as %s: %d, replayed %q", path, role, a.status, a.header.Get("Idempotency-Replayed"))
			}
		}
	}
	if tried < 9 {
		t.Errorf("only %d routes were tried", tried)
	}
}
