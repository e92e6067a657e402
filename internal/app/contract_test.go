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

	"pgregory.net/rapid"

	"wardroom/internal/app"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/session"
)

// TestContract draws requests, good and broken, from the OpenAPI document and
// holds every answer against it: what the document promises is all that the
// makers of a client have. What was refused must have changed nothing.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			c := newContract(t, engine)
			c.tryAll(t)
			for more := 0; more < 8 && !t.Failed() && c.lacks(); more++ {
				c.tryAll(t) // by chance none of some operation got through, or none was refused
			}
			if t.Failed() {
				return
			}
			// Only requests that get through, and others that do not, test anything.
			sent := 0
			for _, op := range c.operations {
				if !c.met(op) {
					t.Errorf("%s was answered well %d times and refused %d times", op.ID, c.good[op.ID], c.refused[op.ID])
				}
				sent += c.good[op.ID] + c.refused[op.ID]
			}
			if sent < 2000 {
				t.Errorf("only %d requests were tried", sent)
			}
		})
	}
}

// contract is a service that has seen something of life, and its document.
type contract struct {
	*document
	letIn         func() // has the gateway let in the device that was made
	t             *testing.T
	handler       http.Handler
	db            *db.DB
	app           *app.App
	days          int // before today, of standups that were opened to be reported to
	operations    []route
	token         string
	names         map[string][]string // what there is, by the first word of its path
	next          map[string]string   // the query of a further page, by path
	places        []string            // of what was made and has several names in its path
	reports       []string            // the places of reports of standups that were opened
	tags          map[string]string   // the last ETag, by path
	changes       string              // the query of now
	before        string              // the state as the last request left it
	hash          string              // of the owner's password
	good, refused map[string]int
}

type route struct {
	operation
	method, path string
}

// newContract holds a real standup first, so that there are records with all
// that they can have. Then nothing happens in the background any more, but that
// the runtime is watched.
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
	names := map[string][]string{"agents": {"coo", "nobody"}} // of others the requests learn
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
	s.stop()

	a := h.build()
	watch(t, a)
	a.Pairing.Runtime = settled{a.Gateway}
	if engine == db.SQLite {
		a.DB.Rehearse() // there transactions are done again for others' sake
	}
	c := &contract{
		document: readDocument(t, a.API.Document()), t: t, letIn: func() { letIn(t, a) }, handler: a.Handler(), db: a.DB, app: a, token: owner.token,
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

// watch keeps the connection to the gateway, and what is known of it, until the
// test ends.
func watch(t *testing.T, a *app.App) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { _ = a.Gateway.Run(ctx) })  // never fails
	watching.Go(func() { _ = a.Sessions.Run(ctx) }) // neither does this
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	waitFor(t, "the gateway", func() bool { return a.Gateway.Status().State == gateway.Connected })
}

// request is one that was drawn.
type request struct {
	method, target, body string
	header               http.Header
}

// try draws a request for op and looks at its answer.
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
		c.letIn() // what is to be replaced must have been let in
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
}

// forgetLogins ends the pauses after failed logins, of which there are many
// here, and gives the owner back the email and password of the beginning: after
// a good change of either, no login would get through any more.
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

// leaver goes away when the first piece of an answer that grows is there.
// Nobody holds meetings here: who follows one would wait for ever.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// hold says what is wrong with an answer, or nothing.
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

// tryAll draws a hundred rounds, in each of which two of five operations have
// their turn.
func (c *contract) tryAll(t *testing.T) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		for i, op := range c.operations {
			// What a request meets depends on those before it, so that there is
			// nothing to shrink: the first failure is told, and that is all.
			if !t.Failed() && (round+i)%5 < 2 {
				c.try(rt, op)
			}
		}
	})
}

// met reports whether a request of an operation got through, and another one did
// not.
func (c *contract) met(op route) bool {
	once := op.path == "/api/v1/auth/setup" // there is an owner, so that it is refused for ever
	return (c.good[op.ID] > 0 || once) && c.refused[op.ID] > 0
}

func (c *contract) lacks() bool {
	return slices.ContainsFunc(c.operations, func(op route) bool { return !c.met(op) })
}

// learn keeps the names of what there is now, for the requests that follow.
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

// learnReport keeps the place of a report in a standup that was opened. Those of
// long ago have ended meanwhile, and take none.
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

// placesOf are the known places of things that are parts of others, such as a
// comment of a task, as far as a route takes them.
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
		return "archive" // whose names are not those of the runtime
	}
	return strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/"), "agentrt/"), "/")[0]
}

// draw makes a request for op. About half are as the document wants them; the
// others have one or more things wrong.
func (c *contract) draw(rt *rapid.T, op route) request {
	g := generator{rt, c, op, rapid.Bool().Draw(rt, "broken")}
	r := request{method: op.method, header: http.Header{}}
	if op.Permission != "public" {
		r.header.Set("Authorization", "Bearer "+c.token)
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
