package task

import (
	"fmt"
	"testing"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// An agent takes a task from claim to done, and other users see each step.
func TestWorkOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		s.Now = clock.Now
		s.ask(t, "user", "POST", "/tasks", `{"title":"Foundation"}`).want(t, "make", 201, "")
		s.ask(t, "user", "POST", "/tasks", `{"title":"Walls","depends_on":["TASK-1"],"parent_id":"task-1","priority":"urgent"}`).want(t, "make", 201, "")
		next := s.ask(t, "agent", "POST", "/tasks/claim", "")
		next.want(t, "claim the next", 200, "")
		claim, _ := next.body["claim"].(map[string]any)
		if next.body["key"] != "TASK-1" || claim["token"] != 1.0 || claim["by"] != s.users["agent"].ID || next.header.Get("ETag") == "" {
			t.Fatalf("claimed %v", next.body)
		}
		s.ask(t, "agent", "POST", "/tasks/claim", `{"lease_seconds":60}`).want(t, "nothing left", 204, "")
		for _, tt := range []struct {
			role, method, path, body string
			status                   int
			code, fact               string
		}{
			{"user", "POST", "/tasks/TASK-1/claim", ``, 409, ErrClaimed.Code, "claim"},
			{"user", "PATCH", "/tasks/TASK-1", `{"status":"done"}`, 409, ErrClaimed.Code, "claim"},
			{"user", "POST", "/tasks/TASK-1/reports", `{"kind":"ack"}`, 409, ErrClaimed.Code, "claim"},
			{"user", "POST", "/tasks/TASK-2/claim", ``, 409, ErrWaiting.Code, "blocking"},
			{"user", "PATCH", "/tasks/TASK-2", `{"status":"in_progress"}`, 409, ErrWaiting.Code, "blocking"},
			{"user", "PATCH", "/tasks/TASK-1", `{"depends_on":["TASK-2"]}`, 409, ErrCycle.Code, "through"},
			{"user", "PATCH", "/tasks/TASK-1", `{"position":{"after":"TASK-9"}}`, 422, ErrNeighbor.Code, ""},
			{"user", "PATCH", "/tasks/TASK-1", `{"project_id":"WEB"}`, 422, ErrProject.Code, ""},
			{"agent", "POST", "/tasks/TASK-1/claim", `{"claim_token":2}`, 409, ErrClaimLost.Code, "status"},
			{"agent", "POST", "/tasks/TASK-9/claim", ``, 404, ErrNotFound.Code, ""},
			{"agent", "POST", "/tasks/TASK-9/reports", `{"kind":"ack"}`, 404, ErrNotFound.Code, ""},
			{"agent", "DELETE", "/tasks/TASK-1", ``, 403, "forbidden", ""},
			{"user", "DELETE", "/tasks/TASK-1", ``, 403, "forbidden", ""},
			{"agent", "GET", "/tasks/TASK-9/history", ``, 404, ErrNotFound.Code, ""},
		} {
			a := s.ask(t, tt.role, tt.method, tt.path, tt.body)
			what := fmt.Sprint(tt.role, " ", tt.method, " ", tt.path, " ", tt.body)
			if a.want(t, what, tt.status, tt.code); tt.fact != "" && a.body[tt.fact] == nil {
				t.Errorf("%s: no %s in %v", what, tt.fact, a.body)
			}
		}
		for body, pointer := range map[string]string{
			`{"lease_seconds":0}`: "/lease_seconds", `{"lease_seconds":86401}`: "/lease_seconds", `{"claim_token":0}`: "/claim_token", `{"lease":5}`: "/lease",
		} {
			s.ask(t, "agent", "POST", "/tasks/TASK-1/claim", body).want(t, body, 422, "invalid_input", pointer)
		}
		s.ask(t, "agent", "POST", "/tasks/TASK-1/claim", `{"lease_seconds":86400,"claim_token":1}`).want(t, "renew", 200, "")
		s.ask(t, "agent", "POST", "/tasks/TASK-1/reports", `{"kind":"blocker"}`).want(t, "no reason", 422, "invalid_input", "/text")
		s.ask(t, "agent", "POST", "/tasks/TASK-1/reports", `{"kind":"progress","text":"half","branch":"walls"}`).want(t, "progress", 200, "")
		s.ask(t, "agent", "POST", "/tasks/TASK-1/release", ``).want(t, "release", 200, "")
		s.ask(t, "agent", "POST", "/tasks/TASK-1/claim", ``).want(t, "claim it", 200, "")
		s.ask(t, "admin", "POST", "/tasks/TASK-1/release", ``).want(t, "taken away", 200, "")
		s.ask(t, "agent", "POST", "/tasks/TASK-1/reports", `{"kind":"done"}`).want(t, "report late", 409, ErrClaimLost.Code)
		s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"status":"done"}`).want(t, "done", 200, "")
		if a := s.ask(t, "agent", "POST", "/tasks/claim", ""); a.body["key"] != "TASK-2" {
			t.Errorf("the next is %v", a.body)
		}
		history := s.ask(t, "user", "GET", "/tasks/TASK-1/history?limit=500", "")
		var kinds []string
		for _, e := range history.list {
			row, _ := e.(map[string]any)
			kinds = append(kinds, fmt.Sprint(row["kind"]))
		}
		if got := fmt.Sprint(kinds); got != "[task.changed task.released task.claimed task.released task.reported task.claim_renewed task.claimed task.created]" {
			t.Errorf("the history is %s", got)
		}
	})
}

// Archiving, deleting, and bulk changes.
func TestHousekeepingOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		for range 3 {
			makeTask(t, s.Service, "A task")
		}
		s.ask(t, "agent", "POST", "/tasks/TASK-1/archive", "", "If-Match", `"9-x"`).want(t, "an old version", 412, ErrStale.Code)
		s.ask(t, "agent", "POST", "/tasks/TASK-1/archive", "").want(t, "archive", 200, "")
		if a := s.ask(t, "user", "GET", "/tasks", ""); a.keysOf() != "3 2" {
			t.Errorf("the board has %s", a.keysOf())
		}
		if a := s.ask(t, "user", "GET", "/tasks?archived=true", ""); a.keysOf() != "1" {
			t.Errorf("the archive has %s", a.keysOf())
		}
		s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"x"}`).want(t, "change in the archive", 409, ErrArchived.Code)
		bulk := s.ask(t, "user", "POST", "/tasks/bulk", `{"tasks":["TASK-1","task-2","TASK-9"],"change":{"priority":"high","tags":["swept"]}}`)
		bulk.want(t, "bulk", 200, "")
		var got []string
		for _, o := range bulk.list {
			row, _ := o.(map[string]any)
			problem, _ := row["problem"].(map[string]any)
			got = append(got, fmt.Sprint(row["task"], " ", row["key"], " ", row["status"], " ", row["version"], " ", problem["code"]))
		}
		if want := "[TASK-1 TASK-1 409 <nil> task_archived task-2 TASK-2 200 2 <nil> TASK-9 <nil> 404 <nil> task_not_found]"; fmt.Sprint(got) != want {
			t.Errorf("outcomes are %s, want %s", got, want)
		}
		for body, pointer := range map[string]string{
			`{"tasks":[],"change":{}}`: "/tasks", `{"change":{}}`: "/tasks", `{"tasks":["TASK-1"]}`: "/change", `{"tasks":["TASK-1"],"change":{"x":1}}`: "/change/x",
		} {
			s.ask(t, "user", "POST", "/tasks/bulk", body).want(t, body, 422, "invalid_input", pointer)
		}
		s.ask(t, "user", "POST", "/tasks/TASK-1/restore", "").want(t, "restore", 200, "")
		s.ask(t, "admin", "DELETE", "/tasks/TASK-1", "", "If-Match", `"1-x"`).want(t, "an old version", 412, ErrStale.Code)
		s.ask(t, "admin", "DELETE", "/tasks/TASK-1", "").want(t, "delete", 204, "")
		s.ask(t, "admin", "DELETE", "/tasks/TASK-1", "").want(t, "delete again", 404, ErrNotFound.Code)
		history := s.ask(t, "agent", "GET", "/tasks/TASK-1/history?limit=1", "")
		if e, _ := history.list[0].(map[string]any); e["kind"] != "task.deleted" || history.header.Get("Link") == "" {
			t.Errorf("its history begins with %v", e)
		}
	})
}

// Filters by relation and the sort by position.
func TestMoreFiltersOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		makeProject(t, d, "WEB", false)
		for _, body := range []string{
			`{"title":"One","tags":["a","b"],"due_at":"2026-12-01T00:00:00Z","project_id":"WEB"}`,
			`{"title":"Two","tags":["b"],"due_at":"2026-11-01T00:00:00Z","parent_id":"TASK-1"}`,
			`{"title":"Three","tags":["c"],"parent_id":"TASK-1","depends_on":["TASK-1"]}`,
			`{"title":"Four","due_at":"2026-12-24T00:00:00Z","project_id":"web"}`,
		} {
			s.ask(t, "user", "POST", "/tasks", body).want(t, body, 201, "")
		}
		s.ask(t, "user", "PATCH", "/tasks/TASK-4", `{"position":{"before":"TASK-2"}}`).want(t, "move", 200, "")
		for query, want := range map[string]string{
			"tag=b": "2 1", "tag=A": "1", "tag=a,c": "3 1", "tag=x": "",
			"project=web": "4 1", "project=none": "3 2", "parent=TASK-1": "3 2", "parent=none": "4 1",
			"depends_on=TASK-1": "3", "depends_on=TASK-2": "", "depends_on=TASK-1&tag=b": "",
			"due_before=2026-12-01T00:00:00Z": "2", "due_after=2026-12-01T00:00:00Z": "4 1", "due_after=2026-11-01T00:00:00Z&due_before=2026-12-02T00:00:00Z": "2 1",
			"sort=due": "2 1 4 3", "sort=-due": "3 4 1 2", "sort=position": "1 4 2 3", "sort=-position": "3 2 4 1", "sort=position&status=todo": "1 4 2 3",
			"archived=false&sort=key": "1 2 3 4", "archived=true": "",
		} {
			for _, size := range []int{1, 100} {
				if got, _ := s.turn(t, fmt.Sprintf("/tasks?total=true&limit=%d&%s", size, query)); got != want {
					t.Errorf("%s by %d: %q, want %q", query, size, got, want)
				}
			}
		}
		s.ask(t, "user", "GET", "/tasks?project=OLD", "").want(t, "project", 422, ErrProject.Code)
		s.ask(t, "user", "GET", "/tasks?parent=TASK-9", "").want(t, "parent", 422, ErrParent.Code)
		s.ask(t, "user", "GET", "/tasks?depends_on=TASK-9", "").want(t, "depends_on", 422, ErrDependency.Code)
		s.ask(t, "user", "GET", "/tasks?archived=maybe", "").want(t, "archived", 422, "invalid_input", "query.archived")
	})
}
