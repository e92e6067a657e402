package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/archive"
	"wardroom/internal/platform/actor"
	"wardroom/internal/task"
	"wardroom/test/year"
)

// askEverything calls every route that reads, with each filter and sort order, and every
// action of people and agents.
func askEverything(t *testing.T, s *service) {
	t.Helper()
	owner := s.login(ownerEmail)
	limit := map[string]any{"scope": "agent", "scope_id": "cto", "measure": "usd", "amount": "1", "window": "day", "action": "tell"}
	owner.post("/api/v1/limits/preview", limit).want(http.StatusOK)
	limitID := decode[struct{ ID string }](owner.post("/api/v1/limits", limit).want(http.StatusCreated)).ID
	d := readDocument(t, s.API.Document())
	for path, operations := range d.Paths {
		op, ok := operations["get"]
		if !ok {
			continue
		}
		for name, value := range map[string]string{
			"{id}/keys": year.UserID(2) + "/keys", "/users/{id}": "/users/" + year.UserID(2), "/tasks/{id}": "/tasks/" + year.TaskKey(77), "/standups/{id}": "/standups/s-999993", "/inbox/{id}": "/inbox/i-7", "/limits/{id}": "/limits/" + limitID,
			"/approvals/{id}": "/approvals/approval-7", "/questions/{id}": "/questions/approval-6",
			"/jobs/{id}": "/jobs/job-7", "/v1/sessions/{id}": "/v1/sessions/" + year.SessionID(year.LongSession), "/projects/{id}": "/projects/P7", "/teams/{id}": "/teams/executive",
			"{agent_id}": "cto", "{key}": "agent:cto:main",
		} {
			path = strings.Replace(path, name, value, 1)
		}
		if strings.Contains(path, "{") {
			t.Errorf("%s: add the path to read", path)
		}
		if path == "/api/v1/agentrt/doctor" {
			continue // it waits for an event of the gateway and reads nothing from the database
		}
		if path == "/api/v1/retention/preview" {
			continue // it counts what a person is about to delete, so its cost grows with that number
		}
		askList(t, d, owner, path, op)
	}
	writeTasks(t, s, owner)
	writeRest(t, s, owner)
}

// askList reads one path: without parameters, with each value of each parameter, as the
// screens do, and the next page of each.
func askList(t *testing.T, d *document, owner caller, path string, op operation) {
	t.Helper()
	queries := []string{""}
	for _, q := range op.Parameters {
		if q.In != "query" || q.Name == "cursor" {
			continue
		}
		values := given(d, q.Name, q.Schema)
		if len(values) == 0 {
			t.Errorf("%s: add values for %s", path, q.Name)
		}
		for _, v := range values {
			queries = append(queries, url.Values{q.Name: {v}}.Encode())
		}
	}
	queries = append(queries, usual()[strings.TrimPrefix(path, "/api/v1")]...)
	for _, query := range queries {
		if strings.HasSuffix(path, "/search") && !strings.Contains(query, "q=") {
			query += "&q=report+77" // it finds nothing without words
		}
		if strings.Contains(path, "/usage") && strings.HasPrefix(query, "from=") && !strings.Contains(query, "to=") {
			query += "&to=" + daysAgo(-1) // a period needs an end
		}
		next := path + "?limit=5&" + query
		if strings.Contains(query, "limit=") || op.Parameters == nil || !strings.Contains(fmt.Sprint(op.Parameters), "limit") {
			next = path + "?" + query
		}
		for range 2 {
			a := owner.get(strings.TrimSuffix(next, "?"))
			if a.status >= 500 && a.status != http.StatusServiceUnavailable || a.status == http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", next, a.status, a.body)
			}
			if next, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">"); next == "" {
				break
			}
		}
	}
}

// usual returns the combinations of parameters that screens and agents send, by path.
func usual() map[string][]string {
	day, longAgo := hoursAgo(24), hoursAgo(350*24)
	return map[string][]string{
		"/inbox": {
			"needs_me=true", "needs_me=true&limit=1&total=true",
			"state=resolved&sort=-last", "state=resolved&kind=escalation&severity=high", "state=open,snoozed&assignee=me", "state=resolved&assignee=" + year.UserID(27),
			"assignee=me&total=true",
		},
		"/tasks": {
			"blocked=true&status=backlog,todo,in_progress,review&limit=1&total=true", // Now
			"status=backlog,todo,in_progress,review&sort=position&limit=100",         // the board
			"status=todo,in_progress&assignee=cto&sort=-updated", "assignee=me&status=todo,in_progress,review&sort=position",
			"status=review&sort=-updated", "status=todo&sort=position", "assignee=none&status=todo&sort=-priority", "tag=tag-7&status=todo", "archived=true&sort=-updated",
			"blocked=true&assignee=cto", "q=nowhere", "q=nowhere&status=todo", "due_before=" + hoursAgo(5000*24), "due_after=" + hoursAgo(-5000*24),
		},
		"/standups": {"team=all", "team=all&sort=date", "team=all&status=error&from=2026-01-01", "team=team-7&status=completed"},
		"/activity": {
			"subject_kind=inbox&kind=inbox.raised&kind=inbox.repeated&kind=inbox.reopened&since=" + day + "&limit=500", // Now
			"subject_kind=inbox&kind=inbox.raised,inbox.repeated,inbox.reopened&since=" + day + "&limit=500",
			"kind=nowhere.*", "subject_kind=project", "kind=task.deleted&since=" + day, "since=" + longAgo + "&until=" + hoursAgo(349*24),
			"kind=nowhere.*&since=" + longAgo + "&until=" + hoursAgo(349*24), "actor=cto&since=" + day, "subject_kind=project&actor=cto",
		},
		"/audit": {"since=" + longAgo + "&until=" + hoursAgo(349*24), "actor=cto&kind=nothing"},
		"/sessions": {
			"status=failed&from=" + day + "&limit=500", "status=timeout&from=" + day + "&limit=500", // Now
			"kind=subagent&agent_id=a-5", "last_known=true&agent_id=a-5", "status=failed&agent_id=a-5", "q=rare6999000", "q=rare6999000&kind=subagent", "last_known=true&q=nightly",
		},
		"/search": {"q=rare99000", "q=nightly", "q=area7", "q=nightly+area7", "q=rare99000+nowhere", "q=nightly&kind=task", "q=ni"},
		"/usage": {
			"from=" + daysAgo(0) + "&group=agent", "from=" + daysAgo(7) + "&to=" + daysAgo(6) + "&group=hour", "from=" + daysAgo(30) + "&group=day",
			"from=" + daysAgo(365) + "&group=day", "from=" + daysAgo(365) + "&group=model", "group=job", "from=" + daysAgo(6) + "&to=" + daysAgo(-1) + "&group=project&bars=true&compare=true",
		},
	}
}

func daysAgo(n int) string { return time.Now().UTC().AddDate(0, 0, -n).Format(time.DateOnly) }

func hoursAgo(n int) string {
	return time.Now().UTC().Add(-time.Duration(n) * time.Hour).Format(time.RFC3339)
}

// given returns the values to try for a parameter.
func given(d *document, name string, s *schema) (values []string) {
	s = d.resolve(s)
	if s.Items != nil {
		s = d.resolve(s.Items)
	}
	for _, v := range s.Enum {
		values = append(values, fmt.Sprint(v))
	}
	if len(values) > 0 {
		return values
	}
	if s.Format == "date-time" {
		return []string{hoursAgo(24), hoursAgo(350 * 24)}
	}
	return map[string][]string{
		"assignee": {"me", "none", "cto", "u-27@example.com"}, "reporter": {"me", "none", year.UserID(27)}, "actor": {"me", "cto", "system"},
		"q": {"report 77", "nowhere"}, "tag": {"tag-7", "none-has-it"}, "project": {"P7", "none"}, "parent": {year.TaskKey(4), "none"}, "depends_on": {year.TaskKey(4)},
		"subject_id": {year.TaskID(7), "nothing"}, "kind": {"task.created", "task.*"}, "team": {"executive", "team-7"}, "agent_id": {"cto"},
		"from": {daysAgo(30), daysAgo(350)}, "to": {daysAgo(0), daysAgo(349)}, "status": {"done"}, "limit": {"7"}, "total": {"true"},
		"last_event_id": {fmt.Sprint(year.EventID(10))}, "zone": {"Europe/Berlin"}, "tz": {"Europe/Berlin"}, "expr": {"0 9 * * 1-5"}, "active": {"true"}, "summary": {"true"}, "bars": {"true"}, "compare": {"true"}, "holder": {"me", "any", "none"}, "last_known": {"true"},
		"session": {"agent:cto:main"}, "session_key": {"agent:cto:main"}, "key": {"agent:cto:main", "agent:a:77"}, "task": {year.TaskKey(7)}, "needs_me": {"true"}, "bom": {"true"},
	}[name]
}

// writeTasks uses the routes that write on the board.
func writeTasks(t *testing.T, s *service, owner caller) {
	t.Helper()
	cto := s.login("cto@example.com")
	key, _ := owner.key("cto@example.com", map[string]any{"name": "work"})
	useTools(key)
	for _, c := range []caller{owner, cto, key} {
		made := func(body map[string]any) task.Task {
			body["title"] = "New"
			return decode[task.Task](c.send(http.MethodPost, "/api/v1/tasks", body, "Idempotency-Key", fmt.Sprint(time.Now().UnixNano())).want(http.StatusCreated))
		}
		a := made(map[string]any{"assignee_id": "cto", "tags": []string{"x", "y"}, "project_id": "P7", "parent_id": year.TaskKey(40)})
		b := made(map[string]any{"depends_on": []string{a.Key}})
		at := "/api/v1/tasks/" + a.ID
		for _, body := range []map[string]any{
			{"title": "Other"},
			{"status": "backlog"},
			{"tags": []string{"z"}},
			{"position": map[string]any{"after": year.TaskKey(20)}},
			{"position": map[string]any{"before": b.Key}},
			{"parent_id": year.TaskKey(60)},
			{"depends_on": []string{year.TaskKey(20)}},
			{"depends_on": []string{}},
			{"assignee_id": nil},
			{"assignee_id": "u-27@example.com"},
			{"blocked": map[string]any{"reason": "x"}},
			{"blocked": nil},
			{"status": "todo"},
		} {
			if got := c.patch(at, body); got.status != http.StatusOK {
				t.Errorf("PATCH %v: %d %s", body, got.status, got.body)
			}
		}
		if c == owner {
			for range 2 {
				handed := made(map[string]any{"assignee_id": "cto"})
				owner.post("/api/v1/tasks/"+handed.Key+"/dispatch", nil).want(http.StatusAccepted)
				owner.becomes(handed.Key, task.Ended)
				owner.send(http.MethodDelete, "/api/v1/tasks/"+handed.Key+"/dispatch", nil).want(http.StatusConflict)
				owner.send(http.MethodDelete, "/api/v1/tasks/"+handed.Key, nil).want(http.StatusNoContent)
			}
		}
		c.post("/api/v1/tasks/bulk", map[string]any{"tasks": []string{a.Key, b.ID, "TASK-99999"}, "change": map[string]any{"priority": "high"}}).want(http.StatusOK)
		c.post(at+"/claim", nil).want(http.StatusOK)
		c.post(at+"/claim", map[string]any{"lease_seconds": 60}).want(http.StatusOK)
		decideTasks(c, a.Key)
		for _, body := range []map[string]any{{"kind": "ack"}, {"kind": "progress", "text": "x"}, {"kind": "blocker", "text": "x"}, {"kind": "done"}} {
			c.post(at+"/reports", body).want(http.StatusOK)
		}
		owner.patch(at, map[string]any{"status": "done"}).want(http.StatusOK)
		next := decode[task.Task](c.post("/api/v1/tasks/claim", nil).want(http.StatusOK))
		c.post("/api/v1/tasks/"+next.ID+"/release", nil).want(http.StatusOK)
		c.post(at+"/archive", nil).want(http.StatusOK)
		c.post(at+"/restore", nil).want(http.StatusOK)
		owner.send(http.MethodDelete, at, nil).want(http.StatusNoContent)
		owner.get(at + "/history").want(http.StatusOK)
		owner.get("/api/v1/tasks/" + a.Key + "/history").want(http.StatusOK)
	}
	lapsed := decode[task.Task](cto.post("/api/v1/tasks/claim", map[string]any{"lease_seconds": 1}).want(http.StatusOK))
	waitFor(t, "the lease to end", func() bool {
		return decode[task.Task](owner.get("/api/v1/tasks/"+lapsed.ID)).Status == task.Todo
	})
}

// decideTasks uses the routes with which people decide about a task. Agents may not.
func decideTasks(c caller, key string) {
	at, status := "/api/v1/tasks/"+key, http.StatusOK
	if decode[account.User](c.get("/api/v1/auth/me").want(http.StatusOK)).Role == actor.Agent {
		status = http.StatusForbidden
	}
	c.patch(at, map[string]any{"blocked": map[string]any{"reason": "x"}}).want(http.StatusOK)
	c.post(at+"/decide", map[string]any{"text": "Wait", "unblock": false}).want(status)
	c.send(http.MethodPost, at+"/decide", map[string]any{"text": "Go on"}, "Idempotency-Key", key).want(status)
	for path, body := range map[string]map[string]any{"/send-back": {"text": "Go on"}, "/approve": nil} {
		made := decode[task.Task](c.post("/api/v1/tasks", map[string]any{"title": "Look at it", "status": "review"}).want(http.StatusCreated))
		c.post("/api/v1/tasks/"+made.Key+path, body).want(status)
	}
}

// writeRest uses the other routes that write.
func writeRest(t *testing.T, s *service, owner caller) {
	t.Helper()
	s.anonymous().post("/api/v1/auth/login", map[string]string{"email": "u-3@example.com", "password": "wrong and long enough"}).want(http.StatusUnauthorized)
	made := decode[account.User](owner.send(http.MethodPost, "/api/v1/users", map[string]any{"email": "new@example.com", "password": password, "role": "agent", "agent_id": "new"},
		"Idempotency-Key", "k").want(http.StatusCreated))
	at := "/api/v1/users/" + made.ID
	_, k := owner.key(made.ID, map[string]any{"name": "work"})
	owner.send(http.MethodDelete, at+"/keys/"+k.ID, nil).want(http.StatusNoContent)
	for _, body := range []map[string]any{{"name": "N"}, {"email": "newer@example.com"}, {"agent_id": "newest"}, {"active": false}, {"active": true}, {"password": password}} {
		owner.patch(at, body).want(http.StatusOK)
	}
	mine := s.login("newer@example.com")
	mine.patch("/api/v1/auth/me", map[string]any{"name": "M"}).want(http.StatusOK)
	mine.post("/api/v1/auth/password", map[string]any{"current_password": password, "new_password": password + "x"}).want(http.StatusOK)
	m := owner.open()
	owner.send(http.MethodPut, "/api/v1/standups/"+m.ID+"/reports/cpo", map[string]any{"text": "Yesterday: finished TASK-3. Today: x"}).want(http.StatusOK)
	owner.hold(m.ID)
	owner.get("/api/v1/standups/" + m.ID + "/transcript").want(http.StatusOK)
	owner.send(http.MethodDelete, "/api/v1/standups/"+m.ID, nil).want(http.StatusNoContent)
	useInbox(s, owner)
	useJobs(s, owner)
	useSessions(s, owner)
	other := decode[meeting](owner.send(http.MethodPost, "/api/v1/standups", map[string]any{"date": "2020-02-02"}, "Idempotency-Key", "k").want(http.StatusCreated))
	owner.post("/api/v1/standups/"+other.ID+"/cancel", nil).want(http.StatusOK)
	owner.post("/api/v1/teams", map[string]any{"key": "new", "name": "New", "facilitator": "coo", "participants": []string{"cto"}}).want(http.StatusCreated)
	owner.patch("/api/v1/teams/new", map[string]any{"participants": []string{"cto", "cpo"}, "deadline": "1h"}).want(http.StatusOK)
	ofTeam := decode[meeting](owner.post("/api/v1/standups", map[string]any{"team": "new"}).want(http.StatusCreated))
	owner.hold(ofTeam.ID)
	owner.post("/api/v1/standups/schedule", map[string]any{"team": "new"}).want(http.StatusOK)
	owner.get("/api/v1/standups/schedule?team=new").want(http.StatusOK)
	owner.patch("/api/v1/teams/new", map[string]any{"archived": true}).want(http.StatusOK)
	owner.post("/api/v1/standups", map[string]any{"team": "new", "date": "2020-02-02"}).want(http.StatusConflict)
	owner.patch("/api/v1/teams/new", map[string]any{"archived": false}).want(http.StatusOK)
	owner.post("/api/v1/standups/schedule", nil).want(http.StatusOK)
	owner.post("/api/v1/standups/schedule", map[string]any{"enabled": false}).want(http.StatusOK)
	owner.send(http.MethodPost, "/api/v1/retention/run", nil, "Prefer", "wait=30")
	setPrices(s, owner)
	usePairing(s, owner)
}

// useSessions uses the routes of a session and waits for its archive.
func useSessions(s *service, owner caller) {
	s.ask("plans-1", cto, "How is it going?")
	s.answered("plans-1")
	waitFor(s.house.t, "the session", func() bool { return owner.get("/api/v1/agentrt/sessions/"+cto).status == http.StatusOK })
	at := "/api/v1/agentrt/sessions/" + cto
	owner.send(http.MethodPost, at+"/messages", map[string]any{"text": "Go on."}, "Idempotency-Key", "plans").want(http.StatusAccepted)
	owner.post(at+"/stop", nil).want(http.StatusOK)
	a := owner.archived(cto, isWhole)
	owner.get("/api/v1/sessions/" + a.ID + "/messages?limit=1").want(http.StatusOK)
	if err := s.house.runtime.Delete(cto); err != nil {
		s.house.t.Fatal(err)
	}
	owner.archived(cto, func(a archive.Archived) bool { return !a.Present })
}

// setPrices makes the ledger estimate missing prices.
func setPrices(s *service, owner caller) {
	price := map[string]any{"provider": "provider", "model": "model-3", "from": "2020-01-01", "input": "3", "output": "15", "cache_read": "0.3", "cache_write": "3.75", "other": "0"}
	owner.send(http.MethodPut, "/api/v1/prices", map[string]any{"prices": []map[string]any{price}}).want(http.StatusOK)
	waitFor(s.house.t, "the estimates", func() bool {
		var n int
		err := s.DB.QueryRow(context.Background(), `SELECT COUNT(*) FROM (SELECT 1 FROM usage_ledger WHERE run_id = 'priced:run-8999993' LIMIT 1) AS found`).Scan(&n)
		return err == nil && n == 1
	})
}

// useJobs uses the routes of a scheduled job and waits for its run.
func useJobs(s *service, owner caller) {
	body := jobBody("Each minute", "cto")
	body["schedule"] = map[string]any{"expr": "* * * * *", "tz": "UTC"}
	made := decode[struct{ ID string }](owner.send(http.MethodPost, "/api/v1/agentrt/jobs", body, "Idempotency-Key", "k").want(http.StatusCreated))
	at := "/api/v1/agentrt/jobs/" + made.ID
	owner.post(at+"/run", nil).want(http.StatusAccepted)
	waitFor(s.house.t, "the run", func() bool { return strings.Contains(string(owner.get(at+"/runs").body), made.ID) })
	owner.get(at + "/slots").want(http.StatusOK)
	owner.patch(at, map[string]any{"name": "Another", "enabled": false}).want(http.StatusOK)
	owner.send(http.MethodDelete, at, nil).want(http.StatusNoContent)
}

// useInbox uses the routes of an inbox item.
func useInbox(s *service, owner caller) {
	i := s.house.raise(s.App, "plans/1")
	at := "/api/v1/inbox/" + i.ID
	s.house.raise(s.App, "plans/1") // repeats it
	owner.post(at+"/ack", nil).want(http.StatusOK)
	owner.post(at+"/assign", map[string]any{"assignee": ownerEmail}).want(http.StatusOK)
	owner.post(at+"/snooze", map[string]any{"until": time.Now().Add(6 * time.Second)}).want(http.StatusOK)
	waitFor(s.house.t, "the end of the snooze", func() bool {
		return strings.Contains(string(owner.get("/api/v1/activity?kind=inbox.woken&subject_id="+i.ID).body), i.ID)
	})
	owner.post(at+"/resolve", nil).want(http.StatusOK)
	owner.post(at+"/reopen", nil).want(http.StatusOK)
	s.house.settle(s.App, "plans/1")
}

// useTools calls each tool of agents that works without a standup.
func useTools(agent caller) {
	for range 2 { // the second time, the task is claimed
		agent.tool("next_task", nil)
	}
	agent.tool("whoami", nil)
	agent.tool("get_task", map[string]any{"task": year.TaskKey(77), "full": true})
	for range 2 { // the second time, nothing is created
		agent.tool("create_task", map[string]any{"title": "By a tool", "assignee": "cto"})
		agent.tool("comment", map[string]any{"task": year.TaskKey(77), "text": "By a tool"})
	}
}
