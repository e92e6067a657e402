package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// TestContract draws requests, good and broken, from the OpenAPI document and
// holds every answer against it: what the document promises is all that the
// makers of a client have. What was refused must have changed nothing.
func TestContract(t *testing.T) {
	t.Parallel()
	for engine, most := range map[db.Engine]int{db.SQLite: 100, db.Postgres: 4} {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			c := newContract(t, engine)
			rapid.Check(t, func(rt *rapid.T) {
				ops := c.operations
				if most < len(ops) {
					ops = rapid.SliceOfN(rapid.SampledFrom(ops), most, most).Draw(rt, "operations")
				}
				for _, op := range ops {
					// What a request meets depends on those before it, so that there is
					// nothing to shrink: the first failure is told, and that is all.
					if !t.Failed() {
						c.try(rt, op)
					}
				}
			})
			if most < len(c.operations) || t.Failed() {
				return
			}
			// Only requests that get through, and others that do not, test anything.
			for _, op := range c.operations {
				if c.good[op.ID] == 0 || c.refused[op.ID] == 0 {
					t.Errorf("%s was answered well %d times and refused %d times", op.ID, c.good[op.ID], c.refused[op.ID])
				}
			}
		})
	}
}

// contract is a service that has seen something of life, and its document.
type contract struct {
	*document
	t             *testing.T
	handler       http.Handler
	db            *db.DB
	operations    []route
	token         string
	names         map[string][]string // what there is, by the first word of its path
	cursors       map[string][]string // by path
	good, refused map[string]int
}

type route struct {
	operation
	method, path string
}

// newContract holds a real standup first, so that there are records with all
// that they can have. Then nothing happens in the background any more.
func newContract(t *testing.T, engine db.Engine) *contract {
	t.Helper()
	h := newHouse(t, engine, func(r *config.Raw) { r.StandupAgentTimeout, r.RegistrationEnabled = "1s", "true" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("coo", "cto", "cpo")
	h.runtime.Fail("cpo", "the model is overloaded")
	owner.post("/api/v1/tasks", map[string]any{"title": "Blocked", "assignee_id": "cto"}).want(http.StatusCreated)
	owner.patch("/api/v1/tasks/TASK-1", map[string]any{"blocked": map[string]string{"reason": "No access"}}).want(http.StatusOK)
	owner.hold(owner.open().ID)
	s.stop()

	a := h.build()
	c := &contract{
		document: readDocument(t, a.API.Document()), t: t, handler: a.Handler(), db: a.DB, token: owner.token,
		names: map[string][]string{}, cursors: map[string][]string{}, good: map[string]int{}, refused: map[string]int{},
	}
	for _, path := range slices.Sorted(maps.Keys(c.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(c.Paths[path])) {
			c.operations = append(c.operations, route{c.Paths[path][method], strings.ToUpper(method), path})
		}
	}
	return c
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
	before := c.state()
	res := c.send(r)
	bad := c.hold(op, res)
	if after := c.state(); res.Code >= 400 && after != before {
		bad = fmt.Sprintf("a refused request changed something: %s before, %s after", before, after)
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

// forgetLogins ends the pauses after failed logins, of which there are many here.
func (c *contract) forgetLogins() {
	err := c.db.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(context.Background(), `DELETE FROM login_failures`)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *contract) send(r request) *httptest.ResponseRecorder {
	ctx := context.Background()
	if strings.HasSuffix(strings.TrimSuffix(r.target, "?"), "/transcript") {
		// Nobody holds meetings here: who follows one has to leave by themselves.
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, 20*time.Millisecond)
		defer leave()
	}
	req := httptest.NewRequestWithContext(ctx, r.method, "http://wardroom.test"+r.target, strings.NewReader(r.body))
	req.Header = r.header
	res := httptest.NewRecorder()
	c.handler.ServeHTTP(res, req)
	return res
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
	if kind == "text/plain" {
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

// learn keeps the names of what there is now, for the requests that follow.
func (c *contract) learn(op route, r request, res *httptest.ResponseRecorder) {
	if op.method == http.MethodDelete {
		c.names[kindOf(op.path)] = slices.DeleteFunc(c.names[kindOf(op.path)], func(name string) bool { return strings.HasSuffix(r.target, name) })
		return
	}
	if _, link, ok := strings.Cut(res.Header().Get("Link"), "cursor="); ok {
		cursor, _, _ := strings.Cut(link, ">")
		cursor, _, _ = strings.Cut(cursor, "&")
		c.cursors[op.path] = []string{cursor}
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

func kindOf(path string) string {
	return strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")[0]
}

// state is a number that changes with anything that is stored.
func (c *contract) state() string {
	var s string
	err := c.db.QueryRow(context.Background(), `
		SELECT (SELECT last FROM event_counter) || '/' || (SELECT COUNT(*) FROM events) || '/' || (SELECT COUNT(*) FROM users)
			|| '/' || (SELECT COALESCE(SUM(version), 0) FROM users) || '/' || (SELECT COUNT(*) FROM tasks)
			|| '/' || (SELECT COALESCE(SUM(version), 0) FROM tasks) || '/' || (SELECT last FROM task_counter)
			|| '/' || (SELECT COUNT(*) FROM standups) || '/' || (SELECT COALESCE(SUM(version), 0) FROM standups)
			|| '/' || (SELECT COUNT(*) FROM standup_transcript) || '/' || (SELECT COUNT(*) FROM jobs)`).Scan(&s)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
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
	path, q := op.path, url.Values{}
	for _, p := range op.Parameters {
		switch p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(g.name()))
		case "query":
			if p.Required || g.often(p.Name) {
				q.Set(p.Name, g.parameter(p.Name, p.Schema))
			}
		case "header":
			if g.often(p.Name) {
				r.header.Set(p.Name, g.headerValue(p.Name))
			}
		}
	}
	if g.spoil("query", 10) {
		q.Set(rapid.SampledFrom([]string{"unknown", "Limit", "limit[]", "\xff", "a\x00"}).Draw(rt, "unknown"), "1")
	}
	r.target = path
	if len(q) > 0 {
		r.target += "?" + q.Encode()
	}
	if op.RequestBody != nil && (op.RequestBody.Required || g.often("body")) {
		r.body = g.body(op.RequestBody.Content["application/json"].Schema)
		r.header.Set("Content-Type", "application/json")
		if g.spoil("content type", 10) {
			r.header.Set("Content-Type", rapid.SampledFrom([]string{"text/plain", "application/xml", "application/json; charset=latin1", "x"}).Draw(rt, "type"))
		}
	}
	return r
}
