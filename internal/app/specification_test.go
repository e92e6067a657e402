package app_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// fact is a statement of the specification with its test. Its name begins with its number
// in docs/specification.md.
type fact struct {
	name  string
	holds func(t *testing.T, s *estate)
}

// TestSpecification checks the statements of docs/specification.md over the API. The
// document names the other tests for what a single request cannot show.
func TestSpecification(t *testing.T) {
	t.Parallel()
	estates := map[db.Engine]*estate{}
	for _, engine := range dbtest.Engines() {
		estates[engine] = newEstate(t, engine)
	}
	for _, facts := range [][]fact{resourceFacts, endpointFacts, authFacts, errorFacts} {
		for _, f := range facts {
			t.Run(f.name, func(t *testing.T) {
				for engine, s := range estates {
					t.Run(engine.String(), func(t *testing.T) {
						whole := s.house.t
						s.house.t = t // a failed request fails only this fact
						defer func() { s.house.t = whole }()
						f.holds(t, s)
					})
				}
			})
		}
	}
}

// estate is a running service with a completed standup, in which the CMO did not answer
// and the CPO gave a fixed answer.
type estate struct {
	*service
	owner, coo, user caller
	held             meeting
	questions        []string // agents in the order in which they were asked
}

const cpoReport = "Yesterday: wrote the brief\nToday: test the brief\nBlockers: waiting for the legal review"

func newEstate(t *testing.T, engine db.Engine) *estate {
	t.Helper()
	h := newHouse(t, engine, func(r *config.Raw) {
		r.StandupAgentTimeout, r.RegistrationEnabled, r.CORSOrigin = "8s", "true", "https://ops.example.com"
	})
	s := &estate{service: h.start()}
	s.owner = s.login(ownerEmail)
	s.owner.hire("coo", "cto", "cpo", "cmo")
	s.coo = s.login("coo@example.com")
	joined := s.anonymous().post("/api/v1/auth/register", map[string]string{"email": "ada@example.com", "password": password}).want(http.StatusCreated)
	s.user = caller{s.service, decode[struct{ Token string }](joined).Token}
	s.connected()
	h.runtime.Answer("cpo", func(demo.Question) string { return cpoReport })
	h.runtime.Silence("cmo", true)
	s.held = s.coo.hold(s.coo.open().ID)
	for _, line := range s.held.Transcript {
		if line.Kind == "question" && line.To != "" {
			s.questions = append(s.questions, line.To)
		}
	}
	return s
}

// with returns a service with other settings in a new house.
func with(t *testing.T, engine db.Engine, change func(*config.Raw)) *service {
	t.Helper()
	return newHouse(t, engine, change).start()
}

// report returns one agent's report of the standup.
func (s *estate) report(t *testing.T, agentID string) standup.Report {
	t.Helper()
	for _, r := range s.held.Reports {
		if r.AgentID == agentID {
			return r.Report
		}
	}
	t.Fatalf("%s has no report", agentID)
	return standup.Report{}
}

// refused checks that an invalid setting is refused.
func refused(t *testing.T, names string, change func(*config.Raw)) {
	t.Helper()
	raw := config.Raw{JWTSecret: jwtSecret, Port: "0"}
	change(&raw)
	if _, _, err := raw.Check(); err == nil || !strings.Contains(err.Error(), names) {
		t.Errorf("the error does not name %s: %v", names, err)
	}
}

// accepted returns the settings if they are valid.
func accepted(t *testing.T, change func(*config.Raw)) config.Config {
	t.Helper()
	raw := config.Raw{JWTSecret: jwtSecret, Port: "0"}
	change(&raw)
	cfg, _, err := raw.Check()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Sections 1 to 3: what the service does, its resources and their states.
var resourceFacts = []fact{
	{"1.1 an API under api v1 and health outside it", func(_ *testing.T, s *estate) {
		s.anonymous().get("/health").want(http.StatusOK)
		s.anonymous().get("/api/v1/health").wantProblem(http.StatusNotFound, "not_found")
		s.owner.get("/api/v1/tasks").want(http.StatusOK)
		s.owner.get("/tasks").want(http.StatusNotFound)
	}},
	{"1.3 a password gives a token and the token authorizes", func(_ *testing.T, s *estate) {
		s.anonymous().get("/api/v1/auth/me").want(http.StatusUnauthorized)
		s.login(ownerEmail).get("/api/v1/auth/me").want(http.StatusOK)
	}},
	{"1.9 the COO asks CTO CPO and CMO in sequence and closes", func(t *testing.T, s *estate) {
		if got := strings.Join(s.questions, " "); got != "cto cpo cmo coo" {
			t.Errorf("asked were %s, want the three in sequence and the COO for its review", got)
		}
		if s.held.Facilitator != "coo" || s.held.Summary == nil || *s.held.Summary == "" || s.held.Status != standup.Completed {
			t.Errorf("run by %s, %s, with the summary %v", s.held.Facilitator, s.held.Status, s.held.Summary)
		}
		if len(s.held.Blockers) == 0 || s.held.Blockers[0].Text == "" {
			t.Error("the reported blocker is missing")
		}
	}},
	{"1.10 a person runs one as well as an agent", func(_ *testing.T, s *estate) {
		s.owner.post("/api/v1/standups", map[string]string{"date": "2031-03-01"}).want(http.StatusCreated)
		s.coo.post("/api/v1/standups", map[string]string{"date": "2031-03-02"}).want(http.StatusCreated)
	}},
	{"2.1 the email is looked up at login", func(_ *testing.T, s *estate) {
		login := func(email string) answer {
			return s.anonymous().post("/api/v1/auth/login", map[string]string{"email": email, "password": password})
		}
		login("OWNER@example.com").want(http.StatusOK) // email addresses ignore case
		login("owner@example.org").wantProblem(http.StatusUnauthorized, "login_failed")
	}},
	{"2.2 passwords are kept as bcrypt hashes and never returned", func(t *testing.T, s *estate) {
		var hash string
		if err := s.DB.QueryRow(t.Context(), `SELECT password_hash FROM users WHERE email = ?`, ownerEmail).Scan(&hash); err != nil {
			t.Fatal(err)
		}
		if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil {
			t.Errorf("%v", err)
		}
		for _, path := range []string{"/api/v1/users", "/api/v1/users/" + ownerEmail, "/api/v1/auth/me"} {
			if body := string(s.owner.get(path).want(http.StatusOK).body); strings.Contains(body, hash) || strings.Contains(body, `"password`) {
				t.Errorf("%s contains a secret: %s", path, body)
			}
		}
	}},
	{"2.3 the roles owner admin and agent", func(_ *testing.T, s *estate) {
		s.owner.get("/api/v1/users").want(http.StatusOK)
		s.coo.get("/api/v1/users").wantProblem(http.StatusForbidden, "forbidden")
		s.owner.post("/api/v1/users", map[string]string{"email": s.fresh("king"), "password": password, "role": "king"}).want(http.StatusUnprocessableEntity)
		s.owner.post("/api/v1/users", map[string]string{"email": s.fresh("admin"), "password": password, "role": "admin", "current_password": password}).want(http.StatusCreated)
	}},
	{"2.4 an agent user needs an agent id", func(_ *testing.T, s *estate) {
		s.owner.post("/api/v1/users", map[string]string{"email": s.fresh("a"), "password": password, "role": "agent"}).want(http.StatusUnprocessableEntity)
		s.owner.post("/api/v1/users", map[string]string{"email": s.fresh("b"), "password": password, "role": "agent", "agent_id": s.fresh("b")[:8]}).want(http.StatusCreated)
	}},
	{"2.6 agents authenticate with accounts of their own", func(t *testing.T, s *estate) {
		me := decode[struct {
			Role    string
			AgentID string `json:"agent_id"`
		}](s.coo.get("/api/v1/auth/me").want(http.StatusOK))
		if me.Role != "agent" || me.AgentID != "coo" || s.held.Trigger != "agent" {
			t.Errorf("the COO is %+v, and the standup was run by %q", me, s.held.Trigger)
		}
	}},
	{"2.9 a report has yesterday today and blockers", func(t *testing.T, s *estate) {
		r := s.report(t, "cpo")
		if r.Yesterday == nil || r.Today == nil || r.Blockers == nil || r.Text == nil ||
			*r.Yesterday != "wrote the brief" || *r.Today != "test the brief" || *r.Blockers != "waiting for the legal review" || *r.Text != cpoReport {
			t.Errorf("the CPO's report is %+v", r)
		}
	}},
	{"2.10 the record has the whole transcript", func(t *testing.T, s *estate) {
		var all strings.Builder
		for _, line := range s.held.Transcript {
			all.WriteString(line.From + " to " + line.To + ": " + line.Text + "\n")
		}
		if !strings.Contains(all.String(), "coo to cpo: ") || !strings.Contains(all.String(), "cpo to coo: "+cpoReport) {
			t.Errorf("the transcript is\n%s", all.String())
		}
	}},
	{"2.11 the record has its completion time", func(t *testing.T, s *estate) {
		if s.held.CompletedAt == nil || s.held.CompletedAt.Before(s.held.CreatedAt.Time) {
			t.Errorf("completed at %v", s.held.CompletedAt)
		}
	}},
	{"2.12 a silent agent has the report Timeout and blocks nobody", func(t *testing.T, s *estate) {
		if r := s.report(t, "cmo"); r.Status != standup.TimedOut || r.Text == nil || *r.Text != "[Timeout]" || s.held.Status != standup.Completed {
			t.Errorf("the standup is %s, and the CMO's report %+v", s.held.Status, r)
		}
	}},
	{"3.1 a standup is running completed or error", func(t *testing.T, s *estate) {
		opened := decode[meeting](s.owner.post("/api/v1/standups", map[string]string{"date": "2031-04-01"}).want(http.StatusCreated))
		if opened.Status != standup.Running || s.held.Status != standup.Completed {
			t.Errorf("after opening it is %s, after the run %s", opened.Status, s.held.Status)
		}
		s.owner.post("/api/v1/standups/"+opened.ID+"/cancel", nil).want(http.StatusOK)
		if over := decode[meeting](s.owner.get("/api/v1/standups/" + opened.ID)); over.Status != standup.Error {
			t.Errorf("after canceling it is %s", over.Status)
		}
	}},
}
