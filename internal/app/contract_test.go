package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/session"
)

// TestContract sends random valid and invalid requests derived from the OpenAPI document
// and checks every answer against it. A refused request must not have changed anything.
func TestContract(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			c := newContract(t, engine)
			c.tryAll(t)
			for more := 0; more < 8 && !t.Failed() && c.lacks(); more++ {
				c.tryAll(t) // by chance, an operation had no accepted or no refused request
			}
			if t.Failed() {
				return
			}
			// The test proves something only if some requests are accepted and some
			// refused.
			sent := 0
			for _, op := range c.operations {
				if !c.met(op) {
					t.Errorf("%s was accepted %d times and refused %d times", op.ID, c.good[op.ID], c.refused[op.ID])
				}
				sent += c.good[op.ID] + c.refused[op.ID]
			}
			if sent < 2000 {
				t.Errorf("only %d requests were sent", sent)
			}
		})
	}
}

// contract is a service with some data, and its OpenAPI document.
type contract struct {
	*document
	letIn         func() // makes the gateway approve the device
	t             *testing.T
	handler       http.Handler
	db            *db.DB
	app           *app.App
	days          int // how many days before today the next standup to report to is opened
	operations    []route
	token         string
	asker         string              // ID of the agent that may use the operations for agents
	agentKey      string              // its key
	names         map[string][]string // known names, by the first segment of their path
	next          map[string]string   // query of a further page, by path
	places        []string            // paths of things with several names in their path
	reports       []string            // paths of reports of open standups
	tags          map[string]string   // last ETag, by path
	changes       string              // the query that now uses
	before        string              // state after the last request
	hash          string              // password hash of the owner
	device        string              // ID of the token
	good, refused map[string]int
}

type route struct {
	operation
	method, path string
}

// newContract runs a real standup first, so that there are records with all fields. After
// that, nothing happens in the background except that the runtime is watched.
func newContract(t *testing.T, engine db.Engine) *contract {
	t.Helper()
	h := newHouse(t, engine, func(r *config.Raw) {
		r.RegistrationEnabled = "true"
		r.GatewayScopes, r.PublicURL = "operator.admin", "https://wardroom.test" // schedules need both
	})
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("coo", "cto", "cpo")
	h.runtime.Fail("cpo", "the model is overloaded")
	owner.post("/api/v1/tasks", map[string]any{"title": "Blocked", "assignee_id": "cto"}).want(http.StatusCreated)
	owner.patch("/api/v1/tasks/TASK-1", map[string]any{"blocked": map[string]string{"reason": "No access"}}).want(http.StatusOK)
	owner.hold(owner.open().ID)
	names := map[string][]string{"agents": {"coo", "nobody"}} // the requests learn the other names
	for _, known := range decode[[]session.Session](owner.get("/api/v1/agentrt/sessions").want(http.StatusOK)) {
		names["sessions"] = append(names["sessions"], known.Key)
	}
	for n := range 5 {
		names["tasks"] = append(names["tasks"], owner.handed("cto", fmt.Sprint("To be handed over ", n)).Key)
		job := owner.post("/api/v1/agentrt/jobs", jobBody(fmt.Sprint("Job ", n), "cto")).want(http.StatusCreated)
		names["jobs"] = append(names["jobs"], decode[struct{ ID string }](job).ID)
		owner.post("/api/v1/agentrt/jobs/"+names["jobs"][n]+"/run", nil).want(http.StatusAccepted)
		names["inbox"] = append(names["inbox"], h.raise(s.App, fmt.Sprint("contract/", n)).ID)
	}
	names["archive"] = []string{owner.archived(names["sessions"][0], isWhole).ID}
	h.runtime.AskApproval(demo.Command{AgentID: "cto", SessionKey: names["sessions"][0], RunID: "contract", Text: "git push", Directory: "/srv"})
	h.runtime.AskQuestion("cto", names["sessions"][0], "", 0, map[string]any{"questionId": "q", "header": "Q", "question": "Which?", "options": []map[string]any{{"label": "A"}}})
	for _, kind := range []string{"approvals", "questions"} {
		waitFor(t, kind, func() bool {
			for _, asked := range decode[[]struct{ ID string }](owner.get("/api/v1/" + kind).want(http.StatusOK)) {
				names[kind] = []string{asked.ID}
			}
			return len(names[kind]) > 0
		})
	}
	asking, _ := owner.key("cto@example.com", map[string]any{"name": "questions"})
	asker := decode[struct{ ID string }](asking.get("/api/v1/auth/me").want(http.StatusOK)).ID
	device := decode[[]account.Device](owner.get("/api/v1/auth/me/sessions").want(http.StatusOK))[0].ID
	s.stop()

	a := h.build()
	watch(t, a)
	a.Pairing.Runtime = settled{a.Gateway}
	if engine == db.SQLite {
		a.DB.Rehearse() // makes the engine repeat transactions
	}
	c := &contract{
		device:   device,
		document: readDocument(t, a.API.Document()), t: t, letIn: func() { letIn(t, a) }, handler: a.Handler(), db: a.DB, app: a, token: owner.token, asker: asker, agentKey: asking.token,
		names: names, next: map[string]string{}, tags: map[string]string{}, good: map[string]int{}, refused: map[string]int{},
	}
	for _, path := range slices.Sorted(maps.Keys(c.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(c.Paths[path])) {
			c.operations = append(c.operations, route{c.Paths[path][method], strings.ToUpper(method), path})
		}
	}
	if err := c.db.QueryRow(t.Context(), `SELECT password_hash FROM users WHERE role = 'owner'`).Scan(&c.hash); err != nil {
		t.Fatal(err)
	}
	c.changes = c.noteChanges()
	c.before = c.now()
	return c
}

// watch runs the connection to the gateway and the session cache until the test ends.
func watch(t *testing.T, a *app.App) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { _ = a.Gateway.Run(ctx) })  // never fails
	watching.Go(func() { _ = a.Mirror.Run(ctx) })   // never fails
	watching.Go(func() { _ = a.Sessions.Run(ctx) }) // never fails
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	waitFor(t, "the gateway", func() bool { return a.Gateway.Status().State == link.Connected })
}

// request is a generated request.
type request struct {
	method, target, body string
	header               http.Header
}

// try sends a random request for op and checks the answer.
func (c *contract) try(rt *rapid.T, op route) {
	if rapid.IntRange(0, 19).Draw(rt, "an hour passes") == 0 {
		c.forgetLogins()
	}
	r := c.draw(rt, op)
	if rapid.Bool().Draw(rt, "ready") {
		r.target = cmp.Or(c.ready(op), r.target)
	}
	before := c.before
	res := c.send(r)
	if op.path == pairingPath && res.Code == http.StatusCreated {
		c.letIn() // the device to replace must have been approved
	}
	bad := c.hold(op, res)
	c.before = c.now()
	if c.before != before && (res.Code >= 400 || op.method == http.MethodGet) {
		bad = "a request that was refused, or only read, changed something"
	}
	if bad != "" {
		c.t.Errorf("%s\n%s %s %v %.2000s\n→ %d %.600s", bad, r.method, r.target, r.header, r.body, res.Code, res.Body)
	}
	if res.Code >= 400 {
		c.refused[op.ID]++
		return
	}
	c.good[op.ID]++
	c.learn(op, r, res)
	if strings.HasPrefix(op.ID, "delete-auth-me-sessions") {
		c.signInAgain()
	}
}

// signInAgain restores the owner's sign-ins after a sign-out, so that the token works again.
func (c *contract) signInAgain() {
	ctx := context.Background()
	err := c.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO sign_ins (id, user_id, user_agent, created_at, last_used_at, expires_at)
			SELECT ?, id, '', created_at, created_at, ? FROM users WHERE role = 'owner' ON CONFLICT (id) DO NOTHING`, c.device, time.Now().Add(time.Hour))
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.before = c.now()
}

// forgetLogins ends the lockout after failed logins and restores the owner's email and
// password, so that logins can be accepted after a change of either.
func (c *contract) forgetLogins() {
	ctx := context.Background()
	err := c.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM login_failures`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE users SET email = ?, email_key = ?, password_hash = ?
			WHERE role = 'owner' AND (email <> ? OR password_hash <> ?) AND NOT EXISTS (SELECT 1 FROM users other WHERE other.email_key = ? AND other.role <> 'owner')`,
			ownerEmail, ownerEmail, c.hash, ownerEmail, c.hash, ownerEmail)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.before = c.now()
}

func (c *contract) send(r request) *httptest.ResponseRecorder {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	req := httptest.NewRequestWithContext(ctx, r.method, "http://wardroom.test"+r.target, strings.NewReader(r.body))
	req.Header = r.header
	res := leaver{httptest.NewRecorder(), leave}
	c.handler.ServeHTTP(res, req)
	return res.ResponseRecorder
}

// leaver disconnects after the first part of a streamed answer. No standups run here,
// so a client that follows one would wait forever.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// hold returns what is wrong with an answer, or an empty string.
func (c *contract) hold(op route, res *httptest.ResponseRecorder) string {
	if res.Code >= 500 {
		return "our fault"
	}
	if _, named := op.Responses[fmt.Sprint(res.Code)]; !named {
		return fmt.Sprintf("the document does not name the status %d", res.Code)
	}
	promised, _ := c.response(op.operation, res.Code)
	for name := range promised.Headers {
		if name == "ETag" && res.Header().Get(name) == "" {
			return "there is no ETag"
		}
	}
	kind, _, _ := strings.Cut(res.Header().Get("Content-Type"), ";")
	if len(promised.Content) == 0 {
		if res.Body.Len() > 0 || kind != "" {
			return "the document knows no body here"
		}
		return ""
	}
	m, ok := promised.Content[kind]
	if !ok {
		return fmt.Sprintf("the document does not know the content type %q here", kind)
	}
	if kind == "text/plain" || kind == "text/csv" || kind == "text/event-stream" {
		return ""
	}
	var body any
	if err := json.Unmarshal(res.Body.Bytes(), &body); err != nil {
		return "the body is no JSON: " + err.Error()
	}
	if bad := c.check(m.Schema, body, ""); bad != "" {
		return "the body is not what the document says: " + bad
	}
	return ""
}

// tryAll runs a hundred rounds, each with two fifths of the operations.
func (c *contract) tryAll(t *testing.T) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		for i, op := range c.operations {
			// The outcome of a request depends on the requests before it, so shrinking
			// does not help. The test stops at the first failure.
			if !t.Failed() && (round+i)%5 < 2 {
				c.try(rt, op)
			}
		}
	})
}

// met reports whether an operation had both an accepted and a refused request.
func (c *contract) met(op route) bool {
	// There is an owner and no demo, and an answer needs the digest of what it answers, so these are always refused.
	once := op.path == "/api/v1/auth/setup" || op.path == "/api/v1/auth/link" || strings.HasSuffix(op.path, "/answer")
	return (c.good[op.ID] > 0 || once) && c.refused[op.ID] > 0
}

func (c *contract) lacks() bool {
	return slices.ContainsFunc(c.operations, func(op route) bool { return !c.met(op) })
}

// learn records the names in an answer for later requests.
func (c *contract) learn(op route, r request, res *httptest.ResponseRecorder) {
	if op.method == http.MethodDelete {
		c.names[kindOf(op.path)] = slices.DeleteFunc(c.names[kindOf(op.path)], func(name string) bool { return strings.HasSuffix(r.target, name) })
		return
	}
	if place := res.Header().Get("Location"); strings.Count(op.path, "{") == 1 && len(c.places) < 40 && strings.HasPrefix(place, r.target+"/") {
		c.places = append(c.places, place)
	}
	if place := res.Header().Get("Location"); op.method == http.MethodPost && op.path == "/api/v1/standups" && place != "" {
		c.learnReport(place, res.Body.Bytes())
	}
	if _, link, ok := strings.Cut(res.Header().Get("Link"), "?"); ok {
		c.next[op.path], _, _ = strings.Cut(link, ">")
	}
	if tag := res.Header().Get("ETag"); tag != "" {
		path, _, _ := strings.Cut(r.target, "?")
		c.tags[path] = tag
	}
	var rows []struct{ ID, Key string }
	if json.Unmarshal(res.Body.Bytes(), &rows) != nil {
		rows = make([]struct{ ID, Key string }, 1)
		if json.Unmarshal(res.Body.Bytes(), &rows[0]) != nil {
			return
		}
	}
	kind := kindOf(op.path)
	for _, row := range rows {
		for _, name := range []string{row.ID, row.Key} {
			if name != "" && len(c.names[kind]) < 40 && !slices.Contains(c.names[kind], name) {
				c.names[kind] = append(c.names[kind], name)
			}
		}
	}
}

// learnReport records the path of a report in an open standup. Older standups have ended
// and accept no reports.
func (c *contract) learnReport(standup string, body []byte) {
	var opened struct {
		Reports []struct {
			AgentID string `json:"agent_id"`
		}
	}
	if json.Unmarshal(body, &opened) == nil && len(opened.Reports) > 0 {
		c.reports = append(c.reports[max(0, len(c.reports)-9):], standup+"/reports/"+opened.Reports[0].AgentID)
	}
}

// placesOf returns the known paths of nested things, such as comments of a task, that fit
// a route.
func (c *contract) placesOf(path string) []string {
	if strings.Count(path, "{") < 2 {
		return nil
	}
	var of []string
	parts := strings.Split(path, "/")
	for _, place := range slices.Concat(c.places, c.reports) {
		at := strings.Split(place, "/")
		fits := len(at) == len(parts)
		for i := 0; fits && i < len(at); i++ {
			fits = at[i] == parts[i] || strings.HasPrefix(parts[i], "{")
		}
		if fits {
			of = append(of, place)
		}
	}
	return of
}

func kindOf(path string) string {
	if strings.HasPrefix(path, "/api/v1/sessions") {
		return "archive" // its names differ from those of the runtime
	}
	return strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/"), "agentrt/"), "/")[0]
}

// draw generates a request for op. About half are valid; the others have one or more
// errors.
func (c *contract) draw(rt *rapid.T, op route) request {
	g := generator{rt, c, op, rapid.Bool().Draw(rt, "broken")}
	r := request{method: op.method, header: http.Header{}}
	if op.Permission != "public" {
		token := c.token
		if op.Permission == string(actor.UseTools) {
			token = c.agentKey
		}
		r.header.Set("Authorization", "Bearer "+token)
		if g.spoil("token", 12) {
			r.header.Set("Authorization", rapid.SampledFrom([]string{"", "Bearer", "Bearer x.y.z", "Basic eDp5"}).Draw(rt, "authorization"))
		}
	}
	path := op.path
	var q []string
	give := func(name, value string) { q = append(q, url.QueryEscape(name)+"="+url.QueryEscape(value)) }
	for _, p := range op.Parameters {
		switch p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(g.name()))
			if places := c.placesOf(op.path); len(places) > 0 && !g.spoil("place", 3) {
				path = rapid.SampledFrom(places).Draw(rt, "place")
			}
		case "query":
			if !p.Required && !g.seldom(p.Name) {
				continue
			}
			for _, value := range g.parameter(p.Name, p.Schema) {
				give(p.Name, value)
			}
			if g.spoil(p.Name+" again", 12) {
				give(p.Name, "x")
			}
		}
	}
	if g.spoil("query", 8) {
		give(g.pick("unknown", "unknown", "Limit", "limit[]", "\xff", "a\x00", "", strings.Repeat("n", 5000)), "1")
	}
	if g.spoil("escape", 10) {
		q = append(q, g.pick("bad escape", "limit=%zz", "%", "limit=%f", "%C3%28=1", "q=%00", "q=%u0041", "limit=1;cursor=2", "&&=&"))
	}
	r.target = path
	if known := c.next[op.path]; known != "" && op.method == http.MethodGet && !g.broken && g.seldom("next page") {
		q = []string{known}
	}
	if len(q) > 0 {
		r.target += "?" + strings.Join(q, "&")
	}
	g.headers(r.header, path)
	if op.RequestBody != nil && (op.RequestBody.Required || g.often("body")) {
		r.body = g.body(op.RequestBody.Content["application/json"].Schema)
		r.header.Set("Content-Type", "application/json")
		if g.spoil("content type", 10) {
			r.header.Set("Content-Type", rapid.SampledFrom([]string{"text/plain", "application/xml", "application/json; charset=latin1", "x"}).Draw(rt, "type"))
		}
	}
	return r
}
