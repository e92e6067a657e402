package app_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/test/faults"
)

// trial is one fault of the runtime, with how Wardroom must report it.
type trial struct {
	name  string
	turns string // switches of faults.Runtime that it uses, separated by spaces
	turn  func(*broken)
	// state and the fields below it are what Wardroom reports while the gateway is
	// offline. Without a state, the gateway stays connected: then a question must be
	// answered, and the sessions must be shown.
	state  link.State
	status int           // status of requests for sessions
	code   string        // code of their problem
	says   string        // part of the reason
	during func(*broken) // further checks, or all checks if the gateway stays connected
	heal   func(*broken) // what a person must do after all switches are off
}

// broken is a house with a running trial.
type broken struct {
	*house
	s     *service
	owner caller
	load  *load
	limit time.Duration // limit of a request to the gateway
	runs  int
}

// breakages returns houses with the trials that run in them one after the other. A
// separate house has other settings or slow trials.
func breakages() []breakage {
	return []breakage{
		{name: "bad frames", trials: slices.Concat(garbage(), disorder())},
		{name: "agents", engine: db.Postgres, trials: agents()},
		{name: "lives", engine: db.Postgres, trials: lives()},
		{name: "doors", trials: doors(), timeout: patience},
		{name: "access", trials: access()},
		{name: "a device", prepare: asDevice, trials: devices()},
		{name: "a pinned certificate", prepare: withTLS, trials: certificates()},
		{name: "silence", trials: silence()},
		{name: "no answers", trials: muteness(), timeout: patience},
		{name: "half open", trials: halfOpen(), timeout: patience},
		{name: "torn frames", trials: torn(), timeout: 30 * time.Second},
		{name: "huge frames", trials: huge(), timeout: 30 * time.Second, alone: true},
	}
}

type breakage struct {
	name    string
	engine  db.Engine // SQLite unless set
	prepare func(*house)
	trials  []trial
	timeout time.Duration // of gateway requests; if unset, more than a busy machine needs
	alone   bool          // nothing else may use memory at the same time
}

// Whatever the runtime does, other requests must neither fail nor wait. Wardroom reports
// the agents' state correctly, and afterwards recovers without help and without leaks.
func TestFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, b := range breakages() {
		if b.alone {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.run(t)
		})
	}
}

// Like TestFaults, for trials that measure memory and therefore run alone.
func TestFaultsThatFillMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	for _, b := range breakages() {
		if b.alone {
			t.Run(b.name, func(t *testing.T) { b.run(t) })
		}
	}
}

// run runs the trials of one house.
func (b breakage) run(t *testing.T) {
	t.Helper()
	limit := cmp.Or(b.timeout, 15*time.Second)
	h := newHouse(t, b.engine, func(r *config.Raw) {
		r.GatewayTimeoutMS = fmt.Sprint(limit.Milliseconds())
	})
	h.backoff = link.Backoff{Max: 300 * time.Millisecond, Quick: 300 * time.Millisecond, Pairing: 300 * time.Millisecond}
	if b.prepare != nil {
		b.prepare(h)
	}
	h.labelled = b.name
	f := &broken{house: h, limit: limit, s: h.start().connected()}
	f.owner = f.s.login(ownerEmail)
	f.owner.hire("coo", "cto", "cpo", "cmo")
	f.answers()
	f.recovered()
	before := f.quiet()
	f.begins()
	for _, tt := range b.trials {
		f.try(t, tt)
	}
	if m := f.owner.hold(f.owner.open().ID); m.Status != "completed" || len(m.Reports) != 3 {
		t.Errorf("afterwards the standup is %s, %+v", m.Status, m.Failure)
	}
	f.load.end()
	f.s.client.CloseIdleConnections()
	f.wantGoroutines(before)
}

// patience is the time limit of gateway requests in trials that reach it.
const patience = 6 * time.Second

// try turns on a trial's switches, checks, and recovers.
func (f *broken) try(t *testing.T, tt trial) {
	began := time.Now()
	failed := t.Failed()
	defer func() {
		if t.Failed() && !failed {
			t.Logf("it failed at: %s", tt.name)
		}
	}()
	tt.turn(f)
	switch {
	case tt.state != "":
		f.wantAway(tt)
	case tt.during == nil:
		f.answers()
		f.wantThere()
	}
	if tt.during != nil {
		tt.during(f)
	}
	f.runtime.Heal()
	if tt.heal != nil {
		tt.heal(f)
	}
	f.recovered()
	t.Logf("%s: %s", tt.name, time.Since(began).Round(time.Millisecond))
}

// wantAway checks that everything about the runtime reports this failure.
func (f *broken) wantAway(tt trial) {
	f.t.Helper()
	var st link.Status
	f.await(fmt.Sprintf("the state %s, because %q", tt.state, tt.says), func() bool {
		st = f.s.Gateway.Status()
		return st.State == tt.state && strings.Contains(st.LastError, tt.says)
	})
	if st = f.owner.status(); st.LastError == "" || st.State != tt.state || st.Since.IsZero() {
		f.t.Errorf("%s: the status is %+v, want a reason", tt.name, st)
	}
	var readers sync.WaitGroup // in parallel, because each may take the whole time limit
	for _, path := range []string{"", "/" + cto, "/" + cto + "/messages"} {
		readers.Go(func() {
			a, err := f.owner.try(http.MethodGet, "/api/v1/agentrt/sessions"+path, nil)
			if err != nil || a.status != tt.status || !strings.Contains(string(a.body), strconv.Quote(tt.code)) {
				f.t.Errorf("%s: GET /agentrt/sessions%s: %d, %v, want %d %s\n%s", tt.name, path, a.status, err, tt.status, tt.code, a.body)
			}
		})
	}
	readers.Wait()
	for id, a := range f.owner.team() {
		switch p := a.Presence; {
		case a.Runtime != nil:
			f.t.Errorf("%s: %s is in the runtime: %t, want unknown", tt.name, id, *a.Runtime)
		case tt.status == http.StatusForbidden:
			if p != nil {
				f.t.Errorf("%s: %s is %+v, want nothing without the scope", tt.name, id, p)
			}
		case p == nil || p.State != agent.Offline || p.Reason == "":
			f.t.Errorf("%s: %s is %+v, want offline with a reason", tt.name, id, p)
		}
	}
}

// wantThere checks that the connection and the agents' activity are shown.
func (f *broken) wantThere() {
	f.t.Helper()
	if st := f.owner.status(); st.State != link.Connected || st.LastError != "" {
		f.t.Errorf("the status is %+v, want connected", st)
	}
	if got := f.owner.session(cto); got.AgentID != "cto" || got.AsOf.IsZero() || got.Tokens != nil && got.Tokens.Output == 0 {
		f.t.Errorf("the session is %+v", got)
	}
	team := f.owner.team()
	for _, id := range []string{"coo", "cto", "cpo", "cmo"} {
		if a := team[id]; a.Runtime == nil || !*a.Runtime || a.Presence == nil || a.Presence.State == agent.Offline {
			f.t.Errorf("%s is %+v", id, a)
		}
	}
}

// answers asks the CTO a question and waits for the answer.
func (f *broken) answers() {
	f.t.Helper()
	id := f.begin()
	f.s.answered(id)
}

// answersAgain is answers for a runtime that is recovering: the connection may break
// again, but a started question is answered.
func (f *broken) answersAgain() {
	f.t.Helper()
	f.runs++
	id := fmt.Sprint("run-", f.runs)
	f.await("a question to be taken", func() bool { return f.ask(id, half) == nil })
	f.await("the answer", func() bool {
		a, err := f.s.Gateway.Wait(f.t.Context(), id, atMost)
		if errors.Is(err, link.ErrUnreachable) {
			return false
		}
		if err != nil || a.Outcome != gateway.Finished {
			f.t.Fatalf("%s: %+v, %v", id, a, err)
		}
		return true
	})
}

// await waits for a condition that is expensive to check, with many houses running.
func (f *broken) await(what string, ok func() bool) {
	f.t.Helper()
	for end := time.Now().Add(atMost); !ok(); time.Sleep(25 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("waited for %s for %s", what, atMost)
		}
	}
}

// begin starts a run of the CTO that ends by itself, and returns its ID.
func (f *broken) begin() string {
	f.t.Helper()
	f.runs++
	id := fmt.Sprint("run-", f.runs)
	if err := f.ask(id, half); err != nil {
		f.t.Fatal(err)
	}
	return id
}

// half a minute is longer than any run takes here.
const half = 30 * time.Second

// ask sends a question with a time limit for its run.
func (f *broken) ask(id string, limit time.Duration) error {
	_, err := f.s.Gateway.Start(f.t.Context(), gateway.Question{
		RunID: id, AgentID: "cto", SessionKey: cto, Message: "What is next?", Limit: limit,
	})
	return err
}

// recovered waits until everything is as before the trial.
func (f *broken) recovered() {
	f.t.Helper()
	f.await("the connection", func() bool { return f.s.Gateway.Status().State == link.Connected })
	f.answersAgain()
	f.await("the sessions", func() bool {
		a := f.owner.get("/api/v1/agentrt/sessions/" + cto)
		if a.status != http.StatusOK {
			return false
		}
		got := decode[session.Session](a)
		return !got.Active && got.CostUSD != nil && got.Tokens.Output > 0
	})
	f.wantThere()
	if st := f.owner.status(); st.Failures != 0 || st.RetryAt != nil || len(st.MissingScopes) > 0 || st.Pairing != nil || st.Certificate != nil {
		f.t.Errorf("after the recovery, the status is %+v", st)
	}
}

// Each switch of the demo runtime must be used by a trial.
func TestFaultsTurnEverySwitch(t *testing.T) {
	t.Parallel()
	others := strings.Fields("Answer AnswerDirectly AppendLines Approve AskApproval AskQuestion Asked Boot Busy Calls ChooseModel Config Connections CountSessions Delete DeviceToken Do EndLogin Fingerprint Heal HasRoute Heartbeat HideJob Label OwnerRuns Pending Prompt RefuseClients Reset SeedPast SetFile SetServers Spawn SpentSince StartBackgroundWork StartWork Stop Taint URL UsageBetween Watch WatchLogins")
	var turned []string
	for _, b := range breakages() {
		for _, tt := range b.trials {
			turned = append(turned, strings.Fields(tt.turns)...)
		}
	}
	for kind, want := range map[string]int{"Garbage": len(badFrames()) + 1, "PortMode": len(closedDoors()) + 1} {
		if names := constants(t, kind); len(names) != want {
			t.Errorf("trials cover %d of %s: %q", want, kind, names)
		}
	}
	var methods []string
	for m := range reflect.TypeFor[*faults.Runtime]().Methods() {
		methods = append(methods, m.Name)
		if is, not := slices.Contains(turned, m.Name), slices.Contains(others, m.Name); is == not {
			t.Errorf("%s is used by a trial: %t, is not a switch: %t; want one of them", m.Name, is, not)
		}
	}
	for _, name := range slices.Concat(turned, others) {
		if !slices.Contains(methods, name) {
			t.Errorf("faults.Runtime has no %s", name)
		}
	}
}

// constants returns the names of a type's constants in the package faults.
func constants(t *testing.T, kind string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../test/faults/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			block, ok := d.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			of := "" // a line without a type has the type of the line above
			for _, s := range block.Specs {
				line, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				if name, ok := line.Type.(*ast.Ident); ok {
					of = name.Name
				} else if len(line.Values) > 0 {
					of = ""
				}
				for _, name := range line.Names {
					if of == kind {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
