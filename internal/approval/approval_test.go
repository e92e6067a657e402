package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/redact"
	"wardroom/internal/session"
	"wardroom/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// token is a secret, of which people see [masked:github_token].
const token = "ghp_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8"

// world is a database, a runtime and any number of replicas.
type world struct {
	t   *testing.T
	d   *db.DB
	rt  *runtime
	box *inbox.Service

	mu    sync.Mutex
	now   time.Time
	told  []string             // messages to agents, each with its sender, session and name
	deaf  error                // returned for messages to agents
	waits map[string]time.Time // as last told by any replica
}

func newWorld(t *testing.T, d *db.DB) *world {
	w := &world{t: t, d: d, rt: newRuntime(), now: noon}
	w.box = &inbox.Service{DB: d, Now: w.clock}
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for _, name := range []string{"Owner", "Admin", "User", "CTO", "CPO"} {
			role, agent := "user", (*string)(nil)
			if name == strings.ToUpper(name) {
				role, agent = "agent", new(strings.ToLower(name))
			}
			if _, err := tx.Exec(t.Context(), `
				INSERT INTO users (id, email, email_key, name, role, agent_id, active, password_hash, created_at, updated_at,
					version)
				VALUES (?, ?, ?, ?, ?, ?, TRUE, '', ?, ?, 1)`, w.id(name), name, name, name, role, agent, noon, noon); err != nil {
				return err
			}
		}
		_, err := tx.Exec(t.Context(), `
			INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, moved_at, created_at, updated_at, version)
			VALUES ('t7', 7, 'Deploy', '', 'todo', 'low', 'task', '[]', '[]', '[]', '{}', '{}', ?, ?, ?, 1)`, noon, noon, noon)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// replica returns a process of the service.
func (w *world) replica() *Service {
	return &Service{
		DB: w.d, Runtime: w.rt, Log: slog.New(slog.DiscardHandler), Now: w.clock, Patience: time.Second,
		Inbox: w.box, Sessions: w, Tasks: &task.Service{DB: w.d, Now: w.clock, Inbox: w.box, Redact: redact.New()},
		Redact: redact.New(), Jobs: job.New(w.d, slog.New(slog.DiscardHandler), w.clock),
	}
}

// id returns the ID of a user or an agent.
func (w *world) id(name string) string {
	if name == strings.ToUpper(name) {
		name = strings.ToLower(name)
	}
	return "id-" + name
}

// comments returns the comments with their authors, such as "TASK-7 by Owner: text".
func (w *world) comments() []string {
	w.t.Helper()
	rows, err := w.d.Query(w.t.Context(), `SELECT 'TASK-' || t.number || ' by ' || c.author_name || ': ' || c.body
		FROM comments c JOIN tasks t ON t.id = c.task_id ORDER BY c.id`)
	all, err := db.All(rows, err, func(r db.Row) (text string, err error) { return text, r.Scan(&text) })
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// Get implements Sessions. Each session has cost 5 nano-dollars.
func (w *world) Get(_ context.Context, key string) (session.Session, error) {
	return session.Session{Key: key, CostUSD: new(money.Nano(5))}, nil
}

// Send implements Sessions.
func (w *world) Send(ctx context.Context, key, text string) (session.Sent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf == nil {
		w.told = append(w.told, fmt.Sprintf("%s in %s as %s: %s", actor.From(ctx).Name, key, once.Name(ctx, ""), text))
	}
	return session.Sent{}, w.deaf
}

// SendToAgent implements Sessions.
func (w *world) SendToAgent(ctx context.Context, agentID, text string) (session.Sent, error) {
	return w.Send(ctx, "agent:"+agentID+":main", text)
}

// WaitForPeople implements Sessions.
func (w *world) WaitForPeople(until map[string]time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = until
}

// agent returns a context of an agent.
func (w *world) agent(id string) context.Context {
	return actor.With(w.t.Context(), actor.Actor{ID: "id-" + id, Name: strings.ToUpper(id), Role: actor.Agent, AgentID: id})
}

// asks makes an approval wait and tells the replicas.
func (w *world) asks(id, command string, all ...*Service) gateway.Approval {
	return w.waitsFor(gateway.Approval{
		ID: id, Kind: gateway.ExecApproval, Command: command, Directory: "/tmp", AgentID: "cto", SessionKey: "agent:cto:task:task-7", RunID: "r1",
		Decisions: []string{"allow-once", "deny"}, Digest: "digest of " + command, CreatedAt: clock.At(w.clock()), ExpiresAt: clock.At(w.clock().Add(30 * time.Minute)),
	}, all...)
}

func (w *world) waitsFor(a gateway.Approval, all ...*Service) gateway.Approval {
	w.rt.mu.Lock()
	w.rt.approvals[a.ID] = a
	w.rt.mu.Unlock()
	w.tell(gateway.AskedOrAnswered{ID: a.ID, Approval: &a}, all...)
	return a
}

// wonders makes a question wait and tells the replicas.
func (w *world) wonders(id string, all ...*Service) gateway.PersonQuestion {
	q := gateway.PersonQuestion{
		ID: id, AgentID: "cto", SessionKey: "agent:cto:main", Digest: "digest of " + id, CreatedAt: clock.At(w.clock()), ExpiresAt: clock.At(w.clock().Add(15 * time.Minute)),
		Parts: []gateway.QuestionPart{
			{ID: "target", Text: "Where shall I deploy?", Options: []gateway.QuestionOption{{Label: "Staging"}, {Label: "Production"}}, Other: true},
			{ID: "areas", Text: "Which areas?", Options: []gateway.QuestionOption{{Label: "API"}, {Label: "DB"}}, Multiple: true},
		},
	}
	w.rt.mu.Lock()
	w.rt.questions[id] = q
	w.rt.mu.Unlock()
	w.tell(gateway.AskedOrAnswered{ID: id, Question: &q}, all...)
	return q
}

func (w *world) tell(e gateway.AskedOrAnswered, all ...*Service) {
	w.t.Helper()
	for _, s := range all {
		s.Receive(mirror.Event{Content: gateway.Content{Asked: &e}})
		w.passes(s)
	}
}

func (w *world) passes(s *Service) {
	w.t.Helper()
	if _, err := s.pass(actor.With(w.t.Context(), actor.System)); err != nil {
		w.t.Fatal(err)
	}
}

// returns a context of a person.
func (w *world) as(name string) context.Context {
	return actor.With(w.t.Context(), actor.Actor{ID: "id-" + name, Name: name, Role: actor.Admin})
}

// items returns the inbox, such as "approval urgent open CTO wants to run: ls".
func (w *world) items() []string {
	w.t.Helper()
	part, err := w.box.List(w.as("Owner"), inbox.Filter{States: inbox.States()}, page.Want{Sort: "last"})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, i := range part.Rows {
		line := fmt.Sprintf("%s %s %s %s", i.Kind, i.Severity, i.State, i.Title)
		if r := i.Resolution; r != nil {
			line += " (" + r.By.Name + ": " + r.Note + ")"
		}
		all = append(all, line)
	}
	return all
}

func (w *world) wantItems(want ...string) {
	w.t.Helper()
	got := w.items()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("the inbox has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An urgent item appears, once for two replicas, and a person's answer reaches the runtime, the row,
// the inbox and the audit log.
func TestAnswerApproval(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		one, two := w.replica(), w.replica()
		a := w.asks("a1", "rm -rf build # "+token, one, two)
		w.wantItems("approval urgent open CTO wants to run: rm -rf build # [masked:github_token]")
		if len(w.waits) != 1 || !w.waits[a.SessionKey].Equal(a.ExpiresAt.Time) {
			t.Errorf("%v wait, want %s until %v", w.waits, a.SessionKey, a.ExpiresAt)
		}
		part, err := two.List(w.as("Owner"), Filter{Pending: true, Task: "TASK-7"}, page.Want{})
		if err != nil || len(part.Rows) != 1 || part.Rows[0].Action.Directory != "/tmp" || len(part.Rows[0].Action.Risks) != 1 {
			t.Fatalf("%v: %+v", err, part.Rows)
		}
		for name, bad := range map[string]struct {
			a    Answer
			want error
		}{
			"another request":      {Answer{Shown: "other", Decision: AllowOnce}, ErrChanged},
			"a decision not given": {Answer{Shown: a.Digest, Decision: AllowAlways}, ErrAnswer},
			"no decision":          {Answer{Shown: a.Digest}, ErrAnswer},
		} {
			if _, err := one.Decide(w.as("Owner"), "a1", bad.a); !errors.Is(err, bad.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		got, err := one.Decide(w.as("Owner"), "a1", Answer{Shown: a.Digest, Decision: AllowOnce})
		if err != nil || got.State != Allowed || got.By.Name != "Owner" || got.By.Role != "admin" || *got.SpentUSD != 5 {
			t.Fatalf("%v: %+v", err, got)
		}
		w.tell(gateway.AskedOrAnswered{ID: "a1", Ending: &gateway.Ending{State: "allowed", Decision: "allow-once", By: link.DisplayName}}, one, two)
		w.wantItems("approval urgent resolved CTO wants to run: rm -rf build # [masked:github_token] (Owner: Owner allowed it once.)")
		if len(w.waits) != 0 {
			t.Errorf("%v still wait", w.waits)
		}
		if _, err := two.Decide(w.as("Admin"), "a1", Answer{Shown: a.Digest, Decision: Deny}); !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "Owner allowed it once.") {
			t.Errorf("a later answer: %v", err)
		}
		var audit string
		if err := d.QueryRow(t.Context(), `SELECT data FROM events WHERE class = 'audit' AND kind = 'approval.answered' AND actor_name = 'Owner'`).Scan(&audit); err != nil {
			t.Fatal(err)
		}
		for _, fact := range []string{`"role":"admin"`, `"decision":"allow-once"`, `"shown":"digest of`, `rm -rf build`} {
			if !strings.Contains(audit, fact) {
				t.Errorf("the audit log lacks %s: %s", fact, audit)
			}
		}
		b := w.asks("a2", "rm -rf build # "+token, one)
		next, err := one.Get(w.as("Owner"), b.ID)
		if err != nil || len(next.Earlier) != 1 || next.Earlier[0].By.Name != "Owner" || next.Earlier[0].Decision != AllowOnce {
			t.Errorf("%v: earlier decisions are %+v", err, next.Earlier)
		}
	})
}

// A request that changed after a person saw it is not answered.
func TestChangedRequest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		a := w.asks("a1", "ls", s)
		w.asks("a1", "ls; rm -rf /") // the runtime has another command under the same ID
		if _, err := s.Decide(w.as("Owner"), "a1", Answer{Shown: a.Digest, Decision: AllowOnce}); !errors.Is(err, ErrChanged) {
			t.Fatalf("%v", err)
		}
		if len(w.rt.ended) != 0 {
			t.Error("it was answered")
		}
		if r, err := find(t.Context(), d, "a1"); err != nil || r.State != Pending || r.claimed != nil {
			t.Errorf("%v: %+v", err, r)
		}
	})
}

// Each way in which a request can end without Wardroom is told apart, and what expired offers a way on.
func TestEndings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		for id, e := range map[string]gateway.Ending{
			"a-expired": {State: "expired"}, "a-aborted": {State: "aborted"}, "a-lost": {State: "lost"},
			"a-chat": {State: "denied", Decision: "deny", By: "Chat approval"},
		} {
			w.asks(id, id, s)
			w.rt.ends(id, e)
			w.tell(gateway.AskedOrAnswered{ID: id, Ending: &gateway.Ending{Decision: "deny"}}, s) // all look like a denial
		}
		w.wonders("q-aborted", s)
		w.rt.ends("q-aborted", gateway.Ending{State: "cancelled"})
		w.tell(gateway.AskedOrAnswered{ID: "q-aborted", Ending: &gateway.Ending{State: "cancelled"}}, s)
		w.wonders("q-expired", s)
		w.move(15 * time.Minute)
		w.rt.ends("q-expired", gateway.Ending{State: "cancelled"})
		w.tell(gateway.AskedOrAnswered{ID: "q-expired", Ending: &gateway.Ending{State: "cancelled"}}, s)
		w.wantItems(
			"approval urgent resolved CTO wants to run: a-expired (Wardroom: CTO went on without you.)",
			"approval medium open CTO went on without you. a-expired",
			"approval urgent resolved CTO wants to run: a-aborted (Wardroom: The run ended before anyone answered.)",
			"approval urgent resolved CTO wants to run: a-lost (Wardroom: The gateway restarted, so the request was lost.)",
			"approval urgent resolved CTO wants to run: a-chat (Wardroom: Chat approval denied it.)",
			"question urgent resolved CTO asks: Where shall I deploy? (Wardroom: The run ended before anyone answered.)",
			"question urgent resolved CTO asks: Where shall I deploy? (Wardroom: CTO went on without you.)",
			"question medium open CTO went on without you. Where shall I deploy?",
		)
		if r, err := find(t.Context(), d, "a-expired"); err != nil || r.State != Expired || r.decision != "" || r.By != nil {
			t.Errorf("%v: expired became %+v", err, r)
		}
	})
}

// A question is answered in all shapes, in the person's name, or skipped.
func TestReply(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		q := w.wonders("q1", s)
		for _, bad := range []map[string][]string{
			{"target": {"Staging"}},
			{"target": {"Staging", "Production"}, "areas": {"API"}},
			{"target": {" "}, "areas": {"API"}},
			{"target": {"Staging"}, "areas": {"API"}, "other": {"x"}},
			{"target": {strings.Repeat("x", maxAnswer+1)}, "areas": {"API"}},
		} {
			if _, err := s.Reply(w.as("Owner"), "q1", Answer{Shown: q.Digest, Answers: bad}); !errors.Is(err, ErrAnswer) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		own := map[string][]string{"target": {"only the canary host"}, "areas": {"API", "DB"}}
		got, err := s.Reply(w.as("Owner"), "q1", Answer{Shown: q.Digest, Answers: own})
		if err != nil || got.State != Answered || got.By.Name != "Owner" || len(got.Answers["areas"]) != 2 || w.rt.ended["q1"].By != "Owner" {
			t.Fatalf("%v: %+v", err, got)
		}
		q = w.wonders("q2", s)
		if got, err := s.Reply(w.as("Owner"), "q2", Answer{Shown: q.Digest}); err != nil || got.State != Skipped || got.By.Name != "Owner" {
			t.Errorf("%v: %+v", err, got)
		}
		if _, err := s.Get(w.as("Owner"), "q1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a question is no approval: %v", err)
		}
	})
}

// After a reconnect, what the runtime still waits for is pending, and the rest has ended.
func TestReconnect(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		s := w.replica()
		w.asks("a-waits", "ls", s)
		w.asks("a-lost", "ls -l", s)
		w.wonders("q-lost", s)
		w.rt.down = link.ErrUnreachable
		s.Receive(mirror.Event{Event: link.Event{Resync: true}})
		w.passes(s) // without a connection nothing is known
		if all, err := pending(t.Context(), d); err != nil || len(all) != 3 {
			t.Errorf("%v: %d wait", err, len(all))
		}
		w.rt.down = nil
		w.rt.ends("a-lost", gateway.Ending{State: "lost"})
		delete(w.rt.questions, "q-lost")
		w.asks("a-new", "pwd")
		s.Receive(mirror.Event{Event: link.Event{Resync: true}})
		w.passes(s)
		states := map[string]State{}
		for _, id := range []string{"a-waits", "a-lost", "a-new", "q-lost"} {
			r, err := find(t.Context(), d, id)
			if err != nil {
				t.Fatal(err)
			}
			states[id] = r.State
		}
		if want := map[string]State{"a-waits": Pending, "a-lost": Lost, "a-new": Pending, "q-lost": Lost}; !maps.Equal(states, want) {
			t.Errorf("the states are %v", states)
		}
	})
}
