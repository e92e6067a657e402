package durable

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// seed is the database of a service that was set up and stopped. It has only the team's
// accounts. Creating them takes a second of CPU time, so each trial gets a copy.
type seed struct {
	engine  db.Engine
	token   string // of the owner
	address string
}

// plant creates a seed for the test.
func plant(t *testing.T, engine db.Engine) seed {
	t.Helper()
	s := seed{engine: engine}
	if engine == db.SQLite {
		s.address = "sqlite:" + filepath.Join(t.TempDir(), "wardroom.db")
	} else {
		s.address = dbtest.Untouched(t, db.Postgres)
	}
	p := launch(t, map[string]string{"DATABASE_URL": s.address})
	post := func(path string, in any) (body []byte) {
		status, body, err := request(t.Context(), p.url, s.token, http.MethodPost, path, in)
		if err != nil || status >= 300 {
			t.Fatalf("POST %s: %d %v\n%s", path, status, err, body)
		}
		return body
	}
	var in struct{ Token string }
	if err := json.Unmarshal(post("/api/v1/auth/login", map[string]string{"email": ownerEmail, "password": password}), &in); err != nil {
		t.Fatal(err)
	}
	s.token = in.Token
	for _, agent := range team() {
		post("/api/v1/users", map[string]string{
			"email": agent + "@example.com", "name": strings.ToUpper(agent), "password": password, "role": "agent", "agent_id": agent,
		})
	}
	p.stop(t)
	return s
}

// copy returns the address of a copy of the seed, which is deleted after the test.
func (s seed) copy(t *testing.T) string {
	t.Helper()
	if s.engine == db.SQLite {
		from := strings.TrimPrefix(s.address, "sqlite:")
		data, err := os.ReadFile(from)
		to := filepath.Join(t.TempDir(), "wardroom.db")
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + to
	}
	u, err := url.Parse(s.address)
	if err != nil {
		t.Fatal(err)
	}
	return dbtest.Copy(t, strings.TrimPrefix(u.Path, "/"))
}
