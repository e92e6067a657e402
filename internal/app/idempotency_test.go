package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"wardroom/internal/platform/db"
)

// A request that is repeated up to 16 times, on any replica, has one effect: one task,
// one account, one standup.
func TestOneEffect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		replicas := []*service{h.start()}
		if engine == db.Postgres {
			replicas = append(replicas, h.start())
		}
		owner := replicas[0].login(ownerEmail)
		for path, body := range map[string]map[string]any{
			"/api/v1/tasks":    {"title": "Once"},
			"/api/v1/users":    {"email": "ada@example.com", "password": password, "role": "user"},
			"/api/v1/standups": {"title": "Once"},
			"/api/v1/teams":    {"key": "once", "name": "Once", "facilitator": "coo", "participants": []string{"cto"}},
		} {
			var wg sync.WaitGroup
			var mu sync.Mutex
			ids, replayed := map[string]int{}, 0
			for i := range 16 {
				wg.Go(func() {
					a, err := owner.at(replicas[i%len(replicas)]).try(http.MethodPost, path, body, "Idempotency-Key", "k-1")
					mu.Lock()
					defer mu.Unlock()
					if err != nil || a.status != http.StatusCreated || a.header.Get("Location") == "" {
						t.Errorf("%s: %d %s %v", path, a.status, a.body, err)
						return
					}
					ids[decode[struct{ ID string }](a).ID]++
					if a.header.Get("Idempotency-Replayed") == "true" {
						replayed++
					}
				})
			}
			wg.Wait()
			if len(ids) != 1 || replayed != 15 {
				t.Errorf("%s: created %v, %d replayed", path, ids, replayed)
			}
			body["title"] = "Another"
			if path == "/api/v1/users" || path == "/api/v1/teams" {
				delete(body, "title")
				body["name"] = "Another"
			}
			owner.send(http.MethodPost, path, body, "Idempotency-Key", "k-1").wantProblem(http.StatusConflict, "idempotency_conflict")
		}
		tasks := decode[[]struct{ ID, Title string }](owner.get("/api/v1/tasks").want(http.StatusOK))
		if len(tasks) != 1 {
			t.Errorf("the board has %v", tasks)
		}
		// A repetition returns the current task.
		owner.patch("/api/v1/tasks/TASK-1", map[string]any{"title": "Renamed"}).want(http.StatusOK)
		again := owner.send(http.MethodPost, "/api/v1/tasks", map[string]any{"title": "Once"}, "Idempotency-Key", "k-1").want(http.StatusCreated)
		if got := decode[struct{ Title string }](again).Title; got != "Renamed" {
			t.Errorf("the repetition has the title %s", got)
		}
	})
}

// Every route that creates something supports idempotency keys. The exceptions return a
// secret, which is not stored, or the device, of which there is only one. A question is
// recognized by its content.
func TestWhatMakesCanBeRepeated(t *testing.T) {
	others := []string{"/api/v1/auth/register", "/api/v1/auth/setup", "/api/v1/users/{id}/keys", "/api/v1/agentrt/pairing", "/api/v1/questions"}
	d := readDocument(t, newHouse(t, db.SQLite, nil).build().API.Document())
	for path, operations := range d.Paths {
		op, posts := operations["post"]
		if _, makes := op.Responses[fmt.Sprint(http.StatusCreated)]; !posts || !makes {
			continue
		}
		var names []string
		for _, p := range op.Parameters {
			names = append(names, p.Name)
		}
		if slices.Contains(names, "Idempotency-Key") == slices.Contains(others, path) {
			t.Errorf("POST %s takes %s; see web.Once", path, strings.Join(names, ", "))
		}
	}
}
