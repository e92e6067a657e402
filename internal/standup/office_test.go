package standup_test

import (
	"cmp"
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

	"wardroom/internal/account"
	"wardroom/internal/archive"
	"wardroom/internal/ask"
	"wardroom/internal/dispatch"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/redact"
	"wardroom/internal/receipt"
	"wardroom/internal/schedule"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
	"wardroom/test/faults"
)

// patience is long enough for a slow gateway; shortPatience is for an unavailable one.
const (
	patience      = 10 * time.Second
	shortPatience = 500 * time.Millisecond
)

// office is a service with a demo runtime, the accounts of its agents, and a board.
type office struct {
	*standup.Service
	runtime *faults.Runtime
	client  *gateway.Client
	log     *slog.Logger

	mu    sync.Mutex
	ahead time.Duration
}

func newOffice(t *testing.T, d *db.DB) *office {
	t.Helper()
	o := &office{log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	exec(t, d, `UPDATE task_counter SET last = ?`, 100) // below are the tasks of the tests
	o.addUser(t, d, owner.ID, owner.Name, "")
	for _, a := range demo.DefaultAgents() {
		o.addUser(t, d, "u-"+a.ID, a.Name, a.ID)
	}
	var err error
	o.runtime, err = faults.Start(t.Context(), demo.Options{Token: "secret-of-the-runtime"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	o.client = o.connect(t, o.runtime.URL())
	o.Service = o.service(d)
	return o
}

// connect runs a gateway client until the test ends.
func (o *office) connect(t *testing.T, url string) *gateway.Client {
	t.Helper()
	return o.connectAs(t, url, "operator.read", "operator.write")
}

// connectAs is like connect, but with the given scopes.
func (o *office) connectAs(t *testing.T, url string, scopes ...string) *gateway.Client {
	t.Helper()
	c, err := gateway.New(link.Options{
		URL: url, Token: "secret-of-the-runtime", Scopes: scopes, Log: o.log,
		Timeout: 5 * time.Second, Backoff: link.Backoff{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return c
}

// addUser adds an account: that of an agent, or that of the owner if agentID is empty.
func (o *office) addUser(t *testing.T, d *db.DB, id, name, agentID string) {
	t.Helper()
	role, agent := "owner", (*string)(nil)
	if agentID != "" {
		role, agent = "agent", &agentID
	}
	exec(t, d, `INSERT INTO users (id, email, email_key, name, role, agent_id, active, password_hash, created_at, updated_at, version)
		VALUES (?, ?, ?, ?, ?, ?, TRUE, '', ?, ?, 1) ON CONFLICT DO NOTHING`,
		id, id, id, name, role, agent, clock.Now(), clock.Now())
}

// deactivate deactivates the accounts of agents.
func (o *office) deactivate(t *testing.T, agents ...string) {
	t.Helper()
	for _, id := range agents {
		exec(t, o.DB, `UPDATE users SET active = FALSE WHERE agent_id = ?`, id)
	}
}

// boardTask is a task on the board. A time that is zero is now.
type boardTask struct {
	number         int
	agentID        string // the assignee; empty for none
	title, status  string
	blocked        string // the reason; empty if it is not blocked
	since          time.Time
	created, moved time.Time
	done           time.Time
}

// put creates or replaces tasks on the board.
func (o *office) put(t *testing.T, tasks ...boardTask) {
	t.Helper()
	at := func(t time.Time) time.Time { return cmp.Or(t, o.now()) }
	for _, b := range tasks {
		var assignee, reason, by *string
		var since, done *time.Time
		if b.agentID != "" {
			assignee = new("u-" + b.agentID)
		}
		if b.blocked != "" {
			reason, by, since = &b.blocked, new("Ada"), new(at(b.since))
		}
		if b.status == "done" {
			done = new(at(b.done))
		}
		exec(t, o.DB, `
			INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, assignee_id,
				blocked_reason, blocked_by, blocked_since, done_at, moved_at, created_at, updated_at, version)
			VALUES (?, ?, ?, '', ?, 'high', 'task', '[]', '[]', '[]', '{}', '{}', ?, ?, ?, ?, ?, ?, ?, ?, 1)
			ON CONFLICT (number) DO UPDATE SET status = excluded.status, assignee_id = excluded.assignee_id,
				blocked_reason = excluded.blocked_reason, blocked_by = excluded.blocked_by, blocked_since = excluded.blocked_since,
				done_at = excluded.done_at`,
			fmt.Sprint("task-", b.number), b.number, cmp.Or(b.title, "A task"), b.status, assignee,
			reason, by, since, done, at(b.moved), at(b.created), at(b.created))
	}
}

// task creates or changes a task that is assigned to nobody.
func (o *office) task(t *testing.T, number int, status, blocked string) {
	t.Helper()
	o.put(t, boardTask{number: number, status: status, blocked: blocked})
}

// list returns the texts that a query returns.
func (o *office) list(t *testing.T, query string) []string {
	t.Helper()
	rows, err := o.DB.Query(t.Context(), query)
	texts, err := db.All(rows, err, func(r db.Row) (text string, err error) { return text, r.Scan(&text) })
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// made returns the titles of the tasks that standups have created.
func (o *office) made(t *testing.T) []string {
	t.Helper()
	return o.list(t, `SELECT title FROM tasks WHERE origin LIKE 'standup:%' ORDER BY number`)
}

// comments returns the comments on tasks in their order, such as "coo on TASK-3: text".
func (o *office) comments(t *testing.T) []string {
	t.Helper()
	return o.list(t, `SELECT u.agent_id || ' on TASK-' || t.number || ': ' || c.body
		FROM comments c JOIN tasks t ON t.id = c.task_id JOIN users u ON u.id = c.author_id ORDER BY c.id`)
}

// used is how many sessions each agent has used. Those of an agent that is missing cannot be counted.
type used map[string]int

func (u used) CountUsed(_ context.Context, agentID string, _ time.Time) (int, error) {
	n, ok := u[agentID]
	if !ok {
		return 0, errors.New("the gateway is away")
	}
	return n, nil
}

func (o *office) service(d *db.DB) *standup.Service {
	items, events, words := &inbox.Service{DB: d, Now: o.now}, &event.Service{DB: d}, redact.New()
	board := &task.Service{DB: d, Now: o.now, Inbox: items, Redact: words}
	receipts := &receipt.Service{DB: d, Now: o.now, Tasks: board}
	ledger := &usage.Service{DB: d, Log: o.log, Now: o.now, Zone: time.UTC, Tasks: board}
	ledger.Grew = func(context.Context, *db.Tx, usage.Run, bool) error { return nil }
	s := &standup.Service{
		DB: d, Jobs: job.New(d, o.log, clock.Now), Runtime: o.client, Log: o.log, Now: o.now, Redact: words,
		Accounts: &account.Service{DB: d, Now: o.now}, Holds: &hold.Service{DB: d}, Tasks: board, Usage: ledger,
		Schedules: &schedule.Service{
			DB: d, Runtime: o.client, Log: o.log, Now: o.now, Events: events, Inbox: items, Redact: words, Tasks: board, Holds: &hold.Service{DB: d},
			Grace: 5 * time.Minute, Patience: patience,
		},
		Sessions: used{}, Archive: &archive.Service{DB: d}, Receipts: receipts, Dispatches: &dispatch.Service{DB: d},
		Facilitator: "coo", Participants: []string{"cto", "cpo", "cmo"}, Zone: time.UTC,
		AgentTimeout: 20 * time.Second, Deadline: time.Minute, Grace: 10 * time.Second, Patience: patience,
		Timetable: o.client, URL: &gateway.AgentURL{Client: o.client}, StartGrace: 15 * time.Minute,
		Inbox: items,
	}
	s.URL.Listen("http://127.0.0.1:3000")
	s.Schedules.StartsStandup = s.StartsStandup
	board.EndBlockers, board.Reported, board.Judged = s.EndDecidedBlockers, receipts.Report, receipts.Judge
	s.Jobs.Poll = 20 * time.Millisecond
	s.Stops = &ask.Stopper{Jobs: s.Jobs, Runtime: o.client, Log: o.log, Patience: patience}
	maps.Copy(s.Jobs.Kinds, s.Stops.Kinds())
	s.Jobs.Kinds[standup.JobKind], s.Jobs.Kinds[standup.FallbackKind] = s.Kind(), s.Fallbacks()
	return s
}

func (o *office) now() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return clock.Now().Add(o.ahead)
}

// work runs the background jobs of a service until stop is called or the test ends.
func work(t *testing.T, s *standup.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Jobs.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func signedIn(t *testing.T) context.Context { return actor.With(t.Context(), owner) }

func (o *office) open(t *testing.T) standup.Standup {
	t.Helper()
	m, _, err := o.Open(signedIn(t), standup.New{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hold runs a standup to its end.
func (o *office) hold(t *testing.T, id string) standup.Standup {
	t.Helper()
	if _, err := o.Run(signedIn(t), id, false); err != nil {
		t.Fatal(err)
	}
	return o.end(t, id)
}

// end waits for the end of a standup.
func (o *office) end(t *testing.T, id string) standup.Standup {
	t.Helper()
	m, err := o.AwaitEnd(t.Context(), id, 2*time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status == standup.Running {
		t.Fatalf("the meeting does not end:\n%s", minutes(m))
	}
	return m
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

func minutes(m standup.Standup) string {
	var b strings.Builder
	for _, l := range m.Transcript {
		first, _, _ := strings.Cut(l.Text, "\n")
		fmt.Fprintf(&b, "%d %s %s→%s: %s\n", l.Seq, l.Kind, l.From, l.To, first)
	}
	return b.String()
}

func wantEnd(t *testing.T, m standup.Standup, status standup.Status, code string) {
	t.Helper()
	got := ""
	if m.Failure != nil {
		got = m.Failure.Code
	}
	if m.Status != status || got != code {
		t.Fatalf("ended %s %q, want %s %q\n%s", m.Status, got, status, code, minutes(m))
	}
	if m.CompletedAt == nil {
		t.Error("completed_at is null at the end")
	}
	last := m.Transcript[len(m.Transcript)-1]
	if status == standup.Error && (last.Kind != "error" || !strings.Contains(last.Text, m.Failure.Detail)) {
		t.Errorf("the transcript ends with %q, want the reason %q", last.Text, m.Failure.Detail)
	}
}

func wantReports(t *testing.T, m standup.Standup, want ...standup.ReportStatus) {
	t.Helper()
	var got []standup.ReportStatus
	for _, r := range m.Reports {
		got = append(got, r.Status)
	}
	if !slices.Equal(got, want) {
		t.Errorf("reports %v, want %v\n%s", got, want, minutes(m))
	}
}

func (o *office) wantAsked(t *testing.T, want map[string]int) {
	t.Helper()
	for agent, n := range want {
		if got := o.runtime.Asked(agent); got != n {
			t.Errorf("%s was asked %d times, want %d", agent, got, n)
		}
	}
}
