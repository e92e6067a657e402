package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/test/faults"
)

const (
	ownerEmail   = "owner@example.com"
	password     = "correct horse battery 9c41"
	gatewayToken = "gateway-token-7f3a91c2"
)

// team returns the participants in the order in which they are asked; the facilitator is
// last.
func team() []string { return []string{"cto", "cpo", "cmo", "coo"} }

// sample returns all points at which the service is killed, and in a short run an eighth of them, which differs
// between the databases.
func sample[P any](points []P, engine db.Engine) []P {
	if !testing.Short() {
		return points
	}
	var some []P
	for i := 2 * int(engine); i < len(points); i += 8 {
		some = append(some, points[i])
	}
	return some
}

// trial is one standup with its environment. The runtime, the database and the agents
// outlive the processes of the service.
type trial struct {
	*testing.T
	engine  db.Engine
	address string // of the database, as in the settings
	env     map[string]string
	db      *db.DB // the test's own connection to the database
	runtime *faults.Runtime
	token   string // of the owner
	id      string // of the standup

	mu      sync.Mutex
	service *process                  // the current process
	asked   map[string]map[string]int // agent → run ID → how often it was sent
	see     func(faults.Request) bool // called with each request; may be nil
	killed  time.Time                 // time of the last kill
}

// newTrial creates a database with the accounts, and a runtime whose agents answer at
// once. It does not start the service.
func newTrial(t *testing.T, from seed, env map[string]string) *trial {
	t.Helper()
	x := &trial{T: t, engine: from.engine, token: from.token, env: map[string]string{}, asked: map[string]map[string]int{}}
	x.address = from.copy(t)
	runtime, err := faults.Start(context.WithoutCancel(t.Context()), demo.Options{Token: gatewayToken})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	x.runtime = runtime
	runtime.Watch(x.watch)
	for _, agent := range team() {
		runtime.Answer(agent, says(agent))
	}
	maps.Copy(x.env, env)
	x.env["DATABASE_URL"] = x.address
	x.env["AGENTRT_GATEWAY_URL"], x.env["AGENTRT_GATEWAY_TOKEN"] = runtime.URL(), gatewayToken
	if x.db, err = db.Open(t.Context(), strings.TrimPrefix(x.address, "sqlite:")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.db.Close() })
	t.Cleanup(func() {
		if p := x.life(); t.Failed() && p != nil {
			t.Logf("the last lines of the service:\n%s", p.tail(60))
		}
	})
	return x
}

// says returns an agent's answer. The facilitator's review has one of each element.
func says(agent string) func(demo.Question) string {
	if agent == "coo" {
		return func(demo.Question) string { return review }
	}
	return func(demo.Question) string {
		return "## Yesterday\n- Worked at the " + agent + " matters\n## Today\n- More of that\n## Blockers\n- The " + agent + " waits for figures"
	}
}

const review = "```json\n" + `{"summary":"All went well.",
"resolutions":[{"blocker":1,"resolution":"cmo sends them"}],
"escalations":[{"title":"Pay the invoice","detail":"It is due.","task":null}],
"action_items":[{"title":"Send the figures","assignee":"cmo"},{"title":"Call the bank","assignee":"cpo"}]}` + "\n```"

// watch counts the questions and calls see with every request.
func (x *trial) watch(r faults.Request) bool {
	x.mu.Lock()
	if r.Method == "agent" {
		if x.asked[r.AgentID] == nil {
			x.asked[r.AgentID] = map[string]int{}
		}
		x.asked[r.AgentID][r.RunID]++
	}
	see := x.see
	x.mu.Unlock()
	return see == nil || see(r)
}

// start starts the service.
func (x *trial) start() {
	x.Helper()
	p := begin(x.T, x.env)
	x.live(p) // before it can reach the point where it is killed
	p.ready(x.T)
}

func (x *trial) live(p *process) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.service = p
}

// life returns the current process.
func (x *trial) life() *process {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.service
}

// connected waits until the service is connected to the gateway.
func (x *trial) connected() {
	x.Helper()
	until(x.T, "the gateway", 60*time.Second, func() bool {
		_, body := x.do(http.MethodGet, "/api/v1/agentrt/status", nil)
		return bytes.Contains(body, []byte(`"state":"connected"`))
	})
}

// kill kills the current process with SIGKILL.
func (x *trial) kill() {
	p := x.life()
	p.kill()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.killed = p.died
}

// errDied means that the service was killed during the request.
var errDied = errors.New("the service is gone")

// request sends a request as the owner.
func request(ctx context.Context, base, token, method, path string, in any, headers ...string) (int, []byte, error) {
	body := io.Reader(http.NoBody)
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(data)
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return 0, nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Close = true // keep no connection to a process that is killed
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, errors.Join(errDied, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		err = errors.Join(errDied, err)
	}
	return res.StatusCode, data, err
}

// do sends a request that must be answered.
func (x *trial) do(method, path string, in any) (int, []byte) {
	x.Helper()
	status, body, err := request(x.Context(), x.life().url, x.token, method, path, in)
	if err != nil {
		x.Fatalf("%s %s: %v\n%s", method, path, err, x.life().tail(20))
	}
	return status, body
}

// want sends a request that must have the status, and decodes the answer into out.
func (x *trial) want(method, path string, in any, status int, out any) {
	x.Helper()
	got, body := x.do(method, path, in)
	if got != status {
		x.Fatalf("%s %s: %d, want %d\n%s", method, path, got, status, body)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(body, out); err != nil {
		x.Fatalf("%s %s: %v\n%s", method, path, err, body)
	}
}

// record is the part of a standup that the trials check.
type record struct {
	ID      string
	Status  string
	Attempt int
	Reports []struct {
		AgentID string `json:"agent_id"`
		Status  string
		Text    *string
	}
	Summary     *string
	ActionItems []struct {
		Title string
		Task  *string
	} `json:"action_items"`
	Failure    *struct{ Code, Detail string } `json:"error"`
	Transcript []struct {
		Seq            int
		Kind, From, To string
		Text           string
	}
	CompletedAt *time.Time `json:"completed_at"`
}

// open opens today's standup.
func (x *trial) open() {
	x.Helper()
	var r record
	x.want(http.MethodPost, "/api/v1/standups", nil, http.StatusCreated, &r)
	x.id = r.ID
}

func (x *trial) path() string { return "/api/v1/standups/" + x.id }

// run starts the standup; the service may be killed during the request.
func (x *trial) run() error {
	status, body, err := request(x.Context(), x.life().url, x.token, http.MethodPost, x.path()+"/run", nil)
	if err == nil && status != http.StatusAccepted {
		x.Errorf("run: %d\n%s", status, body)
	}
	return err
}

// get reads the standup.
func (x *trial) get() record {
	x.Helper()
	var r record
	x.want(http.MethodGet, x.path(), nil, http.StatusOK, &r)
	return r
}

// end waits for the end of the standup.
func (x *trial) end() record {
	x.Helper()
	until(x.T, "the end of the meeting", 90*time.Second, func() bool { return x.count(`SELECT COUNT(*) FROM standups WHERE status <> 'running'`) == 1 })
	return x.get()
}

// count returns the number that a query selects.
func (x *trial) count(query string, args ...any) (n int) {
	x.Helper()
	x.look(query, func() error { return x.db.QueryRow(x.Context(), query, args...).Scan(&n) })
	return n
}

// look calls do, and retries while the database is unavailable: 16 services can keep a
// busy machine from answering within 3 s.
func (x *trial) look(what string, do func() error) {
	x.Helper()
	var err error
	defer func() {
		if err != nil {
			x.Logf("%s: %v", what, err)
		}
	}()
	until(x.T, "an answer to "+what, 60*time.Second, func() bool {
		err = do()
		if _, away := db.Unavailable(err); err != nil && !away {
			x.FailNow()
		}
		return err == nil
	})
}
