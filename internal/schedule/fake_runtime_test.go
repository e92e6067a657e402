package schedule

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/redact"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtime is a fake gateway with jobs that do not run by themselves.
type runtime struct {
	mu    sync.Mutex
	now   time.Time // the clock of the test
	on    any
	away  error
	lost  error // error of changes without a response
	jobs  map[string]gateway.Job
	runs  []gateway.JobRun          // newest first
	turns map[string][]gateway.Turn // by session

	unlisted map[string]bool // jobs that the list omits
	calls    map[string]int
	race     func() // called between the read of a job and its change
	sent     func() // called after a change was requested
}

func newRuntime(jobs ...gateway.Job) *runtime {
	r := &runtime{now: at("08:30:00"), on: 1, jobs: map[string]gateway.Job{}, calls: map[string]int{}}
	for _, j := range jobs {
		r.jobs[j.ID] = j
	}
	return r
}

func (r *runtime) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// change changes the runtime without counting a request.
func (r *runtime) change(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

// ended adds an ended run.
func (r *runtime) ended(id, began, ended, status, run string) {
	r.change(func() {
		r.runs = slices.Insert(r.runs, 0, gateway.JobRun{
			JobID: id, RunID: run, Status: status, RanAt: clock.At(at(began)), EndedAt: clock.At(at(ended)), Error: strings.Repeat("Out of tokens.", len(status)/5),
		})
	})
}

func (r *runtime) called(method string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[method]++
	if slices.Contains([]string{"add", "change", "remove", "run"}, method) {
		if r.sent != nil {
			r.sent()
		}
		return cmp.Or(r.lost, r.away)
	}
	return r.away
}

func (r *runtime) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		n += c
	}
	return n
}

func (r *runtime) Connection() (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on, r.away
}

func (r *runtime) Agents(context.Context) ([]gateway.Agent, error) {
	return []gateway.Agent{{ID: "cto"}, {ID: "cpo"}}, r.called("agents")
}

func (r *runtime) Jobs(context.Context, gateway.JobsWanted) ([]gateway.Job, error) {
	err := r.called("list")
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []gateway.Job
	for _, j := range r.jobs {
		if !r.unlisted[j.ID] {
			all = append(all, j)
		}
	}
	return all, err
}

func (r *runtime) Job(_ context.Context, id string) (gateway.Job, error) {
	if err := r.called("get"); err != nil {
		return gateway.Job{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j, ok := r.jobs[id]
	if !ok {
		return j, gateway.ErrNoJob
	}
	return j, nil
}

func (r *runtime) JobRuns(_ context.Context, want gateway.JobRunsWanted) ([]gateway.JobRun, bool, error) {
	err := r.called("runs")
	r.mu.Lock()
	defer r.mu.Unlock()
	from := min(want.Offset, len(r.runs))
	to := min(from+want.Limit, len(r.runs))
	return slices.Clone(r.runs[from:to]), to < len(r.runs), err
}

func (r *runtime) Turns(_ context.Context, key string, _ int, _ int64) (gateway.TurnPage, error) {
	err := r.called("turns")
	r.mu.Lock()
	defer r.mu.Unlock()
	return gateway.TurnPage{Turns: r.turns[key]}, err
}

func (r *runtime) AddJob(_ context.Context, n gateway.NewJob) (gateway.Job, error) {
	if err := r.called("add"); err != nil {
		return gateway.Job{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j := gateway.Job{
		ID: "by-" + n.Key, Name: n.Name, AgentID: n.AgentID, Enabled: n.Enabled, Schedule: n.Schedule, SessionTarget: n.SessionTarget,
		Payload: gateway.JobPayload{Kind: "agentTurn", Message: n.Message}, Delivery: gateway.JobDelivery{Mode: n.Delivery}, Revision: "r1", CreatedAt: clock.At(r.now),
	}
	r.jobs[j.ID] = j
	return j, nil
}

func (r *runtime) ChangeJob(_ context.Context, id string, c gateway.JobChange, revision string) (gateway.Job, error) {
	if err := r.called("change"); err != nil {
		return gateway.Job{}, err
	}
	if r.race != nil {
		r.race()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[id]
	if j.Revision != revision {
		return j, gateway.ErrJobChanged
	}
	if c.Enabled != nil {
		j.Enabled = *c.Enabled
	}
	if c.Schedule != nil {
		j.Schedule = *c.Schedule
	}
	if c.Name != nil {
		j.Name = *c.Name
	}
	if c.Message != nil {
		j.Payload = gateway.JobPayload{Kind: "agentTurn", Message: *c.Message}
	}
	j.Revision += "+"
	r.jobs[id] = j
	return j, nil
}

func (r *runtime) RemoveJob(_ context.Context, id string) error {
	err := r.called("remove")
	r.change(func() { delete(r.jobs, id) })
	return err
}

func (r *runtime) RunJob(_ context.Context, id string) (runID, why string, err error) {
	return "manual:" + id, "", r.called("run")
}

// fixture is a service with its runtime and its inbox.
type fixture struct {
	*Service
	r     *runtime
	heard int   // number of audit events read
	told  int64 // the last event about the inbox that was read
	t     *testing.T
}

func newFixture(t *testing.T, d *db.DB, jobs ...gateway.Job) *fixture {
	h := &fixture{r: newRuntime(jobs...), t: t}
	h.Service = h.replica(d)
	return h
}

// replica returns another process on the same database and runtime.
func (h *fixture) replica(d *db.DB) *Service {
	return &Service{
		DB: d, Runtime: h.r, Log: slog.New(slog.DiscardHandler), Now: h.r.clock, Zone: time.UTC, Grace: 5 * time.Minute, Patience: time.Second,
		Inbox: &inbox.Service{DB: d, Now: h.r.clock}, Events: &event.Service{DB: d},
		StartsStandup: func(context.Context, db.Queryer, gateway.Job) (bool, error) { return false, nil },
		Holds:         &hold.Service{DB: d}, Tasks: &task.Service{DB: d, Now: h.r.clock}, Redact: redact.New(),
		Usage: &usage.Service{
			DB: d, Now: h.r.clock, Zone: time.UTC, Grew: func(context.Context, *db.Tx, usage.Run, bool) error { return nil },
		},
	}
}

// inbox returns the changes to the inbox since the last call, such as "raised job_missed of j".
func (h *fixture) inbox() string {
	h.t.Helper()
	rows, err := h.DB.Query(h.ctx(), `
		SELECT e.id, SUBSTR(e.kind, 7) || ' ' || i.kind || ' of ' || i.subject_id
		FROM events e JOIN inbox_items i ON i.id = e.subject_id WHERE e.id > ? ORDER BY e.id`, h.told)
	lines, err := db.All(rows, err, func(r db.Row) (line string, err error) { return line, r.Scan(&h.told, &line) })
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(lines, "; ")
}

// items returns the inbox items of a kind, the last one first.
func (h *fixture) items(kind inbox.Kind) []inbox.Item {
	h.t.Helper()
	f := inbox.Filter{States: inbox.States(), Kinds: []inbox.Kind{kind}}
	part, err := h.Inbox.List(h.ctx(), f, page.Want{Query: page.Query{Limit: 100}, Sort: "-last"})
	if err != nil {
		h.t.Fatal(err)
	}
	return part.Rows
}

// ctx returns a context with Wardroom itself as the actor.
func (h *fixture) ctx() context.Context { return actor.With(h.t.Context(), actor.System) }

// at sets the clock to a time of day and reads the runtime, if it is reachable.
func (h *fixture) at(when string) {
	h.t.Helper()
	h.r.change(func() { h.r.now = at(when) })
	r := reader{s: h.Service}
	if err := r.read(h.ctx()); err != nil {
		h.t.Fatalf("at %s: %v", when, err)
	}
	if err := h.Judge(h.ctx()); err != nil {
		h.t.Fatal(err)
	}
}

// ledger returns the ledger of a job up to now, such as "09:00 missed".
func (h *fixture) ledger(id string) string {
	h.t.Helper()
	now := h.r.clock()
	slots, err := h.Slots(h.ctx(), SlotFilter{JobID: id, From: at("00:00:00"), To: now.Add(time.Millisecond)}, nil, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, s := range slots {
		out = append(out, s.DueAt.Format("15:04 ")+string(s.State))
	}
	return strings.Join(out, ", ")
}

// want compares the ledger of the job j, and the changes to the inbox since the last
// call.
func (h *fixture) want(ledger, inbox string) {
	h.t.Helper()
	if got := h.ledger("j"); got != ledger {
		h.t.Errorf("at %s the ledger has %q, want %q", h.r.clock().Format("15:04:05"), got, ledger)
	}
	if got := h.inbox(); got != inbox {
		h.t.Errorf("at %s the inbox was told %q, want %q", h.r.clock().Format("15:04:05"), got, inbox)
	}
}
