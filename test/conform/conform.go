// Package conform checks that a gateway does what Wardroom's features rely on. The same checks run with the demo
// runtime, in test/faults, and with the real gateway, in test/realgateway, so that a feature that works with one also
// works with the other.
package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// Subject is a gateway to check. It has the agents cmo, coo, cpo and cto, which answer any message.
type Subject struct {
	URL, Token string
	// Silence sets whether an agent takes longer to answer than any check waits.
	Silence func(agentID string, on bool)
	// Refuse sets whether the model provider refuses the requests of an agent.
	Refuse func(agentID string, on bool)
}

// patience is how long a check waits for something that must happen. An agent's first turn on a real gateway took 13 s.
const patience = 2 * time.Minute

// Run runs all checks, as parts of the test t. They use the gateway's client with the scopes that Wardroom has when
// it may manage the gateway.
func Run(t *testing.T, s Subject) {
	c, err := gateway.New(link.Options{
		URL: s.URL, Token: s.Token, Timeout: time.Minute, Scopes: []string{"operator.read", "operator.write", "operator.admin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	k := &check{Client: c, Subject: s, run: fmt.Sprintf("conform-%d-", time.Now().UnixNano())}
	k.until(t, "connected", func() bool { return c.Status().State == link.Connected })
	for _, part := range []struct {
		name  string
		check func(*check, *testing.T)
	}{
		{"has the agents, and a disk", (*check).agents},
		{"answers a question once, however often it is sent", (*check).answersOnce},
		{"keeps what was said, and what it used", (*check).keeps},
		{"asks an agent one question after the other", (*check).queues},
		{"stops one run, and all of a session", (*check).stops},
		{"says why a run has no answer", (*check).fails},
		{"tells of a run while it goes on", (*check).tells},
		{"keeps jobs and runs them", (*check).jobs},
		{"refuses what cannot be", (*check).refuses},
	} {
		t.Run(part.name, func(t *testing.T) { part.check(k, t) })
	}
}

// check is a client of the gateway under test.
type check struct {
	*gateway.Client
	Subject

	run   string // prefix of the IDs of runs, which differ between two calls of Run
	asked int
}

// until waits for a condition.
func (k *check) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// ask sends an agent a question in a session for these checks.
func (k *check) ask(t *testing.T, agentID, text string, limit time.Duration) gateway.Question {
	t.Helper()
	k.asked++
	q := gateway.Question{
		RunID: fmt.Sprint(k.run, k.asked), AgentID: agentID, SessionKey: "agent:" + agentID + ":conform", Message: text, Limit: limit,
	}
	if started, err := k.Start(t.Context(), q); err != nil || started.InFlight || started.Answer != nil {
		t.Fatalf("the question %q: %+v, %v", text, started, err)
	}
	return q
}

// ends waits for the end of a run and checks how it ended.
func (k *check) ends(t *testing.T, runID string, want gateway.Outcome) gateway.Answer {
	t.Helper()
	a, err := k.Wait(t.Context(), runID, patience)
	if err != nil || a.Outcome != want {
		t.Fatalf("the run ended with %+v, %v, want %s", a, err, want)
	}
	return a
}

func (k *check) agents(t *testing.T) {
	all, err := k.Agents(t.Context())
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"cmo", "coo", "cpo", "cto"}) {
		t.Errorf("agents %v, %v", ids, err)
	}
	if d, err := k.Disk(t.Context()); err != nil || d.FreeBytes <= 0 {
		t.Errorf("disk %+v, %v", d, err)
	}
}

func (k *check) answersOnce(t *testing.T) {
	q := k.ask(t, "cpo", "How are you?", 0)
	if again, err := k.Start(t.Context(), q); err != nil || again.BootID == "" || again.BootID != k.Status().BootID {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	a := k.ends(t, q.RunID, gateway.Finished)
	if a.Text == "" {
		t.Error("the answer is empty")
	}
	again, err := k.Start(t.Context(), q)
	if err != nil || again.Answer == nil || again.Answer.Text != a.Text {
		t.Errorf("sent again after the answer %q: %+v, %v", a.Text, again, err)
	}
	if said := k.said(t, q.SessionKey); !slices.Equal(said, []string{"user", "assistant"}) {
		t.Errorf("the transcript has rows of %v", said)
	}
}

// said returns the roles of a session's messages.
func (k *check) said(t *testing.T, key string) (roles []string) {
	t.Helper()
	page, err := k.Turns(t.Context(), key, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range page.Turns {
		roles = append(roles, turn.Role)
	}
	return roles
}

func (k *check) keeps(t *testing.T) {
	q := k.ask(t, "cto", "What is new?", 0)
	a := k.ends(t, q.RunID, gateway.Finished)
	var found gateway.Trace
	k.until(t, "the answer in the history", func() bool {
		var err error
		if found, err = k.Find(t.Context(), q.SessionKey, q.RunID); err != nil {
			t.Fatal(err)
		}
		return found.Answered && !found.Active
	})
	if !found.Asked || found.Answer.Outcome != gateway.Finished || found.Answer.Text != a.Text {
		t.Errorf("found %+v, want the answer %q", found, a.Text)
	}
	if u := found.Answer.Usage; u == nil || u.Input == 0 || u.Output == 0 || u.CostNanoUSD == nil || *u.CostNanoUSD <= 0 {
		t.Errorf("it used %+v", u)
	}
	page, err := k.Turns(t.Context(), q.SessionKey, 100, 0)
	if err != nil || page.Total != 2 || len(page.Turns) != 2 || page.Turns[0].SentAs != q.RunID || page.Turns[0].Seq >= page.Turns[1].Seq {
		t.Errorf("the transcript is %+v, %v", page, err)
	}
	k.until(t, "the session to be idle", func() bool {
		s, ok := k.listed(t, q.SessionKey)
		return ok && !s.Active && s.Status == "done" && s.LastMessage != "" && s.AgentID == "cto"
	})
	if s, ok, err := k.Session(t.Context(), q.SessionKey); err != nil || !ok || s.ID != page.SessionID {
		t.Errorf("the session is %+v, %v, %v, its transcript %q", s, ok, err, page.SessionID)
	}
}

// listed returns a session of the gateway's list.
func (k *check) listed(t *testing.T, key string) (gateway.Session, bool) {
	t.Helper()
	all, err := k.ListSessions(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all.Rows, func(s gateway.Session) bool { return strings.EqualFold(s.Key, key) })
	if i < 0 {
		return gateway.Session{}, false
	}
	return all.Rows[i], true
}

func (k *check) queues(t *testing.T) {
	before := len(k.said(t, "agent:cmo:conform"))
	first, second := k.ask(t, "cmo", "One.", 0), k.ask(t, "cmo", "Two.", 0)
	k.ends(t, first.RunID, gateway.Finished)
	k.ends(t, second.RunID, gateway.Finished)
	var said []string
	k.until(t, "both answers in the transcript", func() bool { said = k.said(t, first.SessionKey)[before:]; return len(said) >= 4 })
	if !slices.Equal(said, []string{"user", "assistant", "user", "assistant"}) {
		t.Errorf("the transcript has rows of %v", said)
	}
}

func (k *check) stops(t *testing.T) {
	k.Silence("cpo", true)
	defer k.Silence("cpo", false)
	one := k.ask(t, "cpo", "Wait for it.", 0)
	k.until(t, "the run to be active", func() bool { s, _ := k.listed(t, one.SessionKey); return s.Active })
	if a, err := k.Wait(t.Context(), one.RunID, 100*time.Millisecond); err != nil || a.Outcome != gateway.Running {
		t.Errorf("the silent run is %+v, %v", a, err)
	}
	if stopped, err := k.Stop(t.Context(), one.SessionKey, one.RunID); err != nil || !stopped {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	k.ends(t, one.RunID, gateway.Stopped)
	if stopped, err := k.Stop(t.Context(), one.SessionKey, one.RunID); err != nil || stopped {
		t.Errorf("stopped twice: %v, %v", stopped, err)
	}
	two, three, four := k.ask(t, "cpo", "Wait again.", 0), k.ask(t, "cpo", "And again.", 0), k.ask(t, "cpo", "And once more.", 0)
	k.until(t, "the runs to be active", func() bool { s, _ := k.listed(t, two.SessionKey); return s.Active })
	if stopped, err := k.Stop(t.Context(), four.SessionKey, four.RunID); err != nil || !stopped { // it waits
		t.Errorf("stopped %v, %v", stopped, err)
	}
	k.ends(t, four.RunID, gateway.Stopped)
	if _, stopped, err := k.StopSession(t.Context(), two.SessionKey, ""); err != nil || !stopped {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	k.ends(t, two.RunID, gateway.Stopped)
	k.ends(t, three.RunID, gateway.Stopped)
	k.until(t, "the session to be idle", func() bool { s, _ := k.listed(t, two.SessionKey); return !s.Active })
}

func (k *check) fails(t *testing.T) {
	k.Silence("cmo", true)
	slow := k.ask(t, "cmo", "Take your time.", 2*time.Second)
	k.ends(t, slow.RunID, gateway.TimedOut)
	k.Silence("cmo", false)
	k.Refuse("cmo", true)
	defer k.Refuse("cmo", false)
	refused := k.ask(t, "cmo", "Try it.", 0)
	if a := k.ends(t, refused.RunID, gateway.Failed); a.Error == "" {
		t.Error("the failed run has no reason")
	}
}

func (k *check) tells(t *testing.T) {
	if err := k.SubscribeSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, stop := k.Events(1000)
	defer stop()
	q := k.ask(t, "coo", "Are you there?", 0)
	var told []string
	late := time.After(patience)
	for !slices.Contains(told, "ended") || !slices.Contains(told, "assistant said") {
		select {
		case <-late:
			t.Fatalf("told only of %v", told)
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the events ended after %v", told)
			}
			is := k.Content(e)
			if is.Change == nil || !strings.EqualFold(is.Change.Key, q.SessionKey) {
				continue
			}
			if r := is.Change.Run; r != nil && r.RunID == q.RunID {
				told = append(told, map[bool]string{true: "began", false: "ended"}[r.Began])
			}
			if is.Change.Said != "" {
				told = append(told, is.Change.SaidBy+" said")
			}
		}
	}
	if began := slices.Index(told, "began"); began < 0 || began > slices.Index(told, "ended") || !slices.Contains(told, "user said") {
		t.Errorf("told of %v", told)
	}
}

func (k *check) jobs(t *testing.T) {
	n := gateway.NewJob{
		Name: "Conform", AgentID: "cto", Message: "Look around.", SessionTarget: "isolated", Enabled: true,
		Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 4 1 1 *", Zone: "Europe/Berlin"},
	}
	made, err := k.AddJob(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if next := made.State.NextRunAt; made.Name != n.Name || !made.Enabled || made.Schedule.Expr != n.Schedule.Expr || next == nil || next.Time.UTC().Month() != time.January {
		t.Errorf("added %+v", made)
	}
	off := false
	changed, err := k.ChangeJob(t.Context(), made.ID, gateway.JobChange{Enabled: &off}, made.Revision)
	if err != nil || changed.Enabled || changed.Revision == made.Revision {
		t.Errorf("changed to %+v, %v", changed, err)
	}
	if _, err := k.ChangeJob(t.Context(), made.ID, gateway.JobChange{Enabled: &off}, "sha256:old"); !errors.Is(err, gateway.ErrJobChanged) {
		t.Errorf("changed with an old revision: %v", err)
	}
	events, stop := k.Events(1000)
	defer stop()
	run, why, err := k.RunJob(t.Context(), made.ID)
	if err != nil || run == "" || why != "" {
		t.Fatalf("run %q, %q, %v", run, why, err)
	}
	var runs []gateway.JobRun
	k.until(t, "the job's run", func() bool {
		if runs, _, err = k.JobRuns(t.Context(), gateway.JobRunsWanted{JobID: made.ID, Limit: 10}); err != nil {
			t.Fatal(err)
		}
		return len(runs) == 1 && runs[0].Status == "ok"
	})
	k.jobSession(t, "agent:cto:cron:"+made.ID, runs[0].SessionKey, events)
	if err := k.RemoveJob(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if err := k.RemoveJob(t.Context(), made.ID); !errors.Is(err, gateway.ErrNoJob) {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := k.Job(t.Context(), made.ID); !errors.Is(err, gateway.ErrNoJob) {
		t.Errorf("read after its removal: %v", err)
	}
}

// jobSession checks that a job has one session in lists and events, that of its latest run, and that its messages can
// be read by the key of that run as well.
func (k *check) jobSession(t *testing.T, job, run string, events <-chan link.Event) {
	all, err := k.ListSessions(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]int{}
	for _, s := range all.Rows {
		if strings.HasPrefix(s.Key, job) {
			keys[s.Key]++
			keys[s.Key+":run:"+s.ID]++
		}
	}
	if len(keys) != 2 || keys[job] != 1 || keys[run] != 1 {
		t.Errorf("listed are %v, want %s with the transcript of %s", keys, job, run)
	}
	told := map[string]int{}
	for len(events) > 0 {
		if is := k.Content(<-events); is.Change != nil && strings.HasPrefix(is.Change.Key, job) {
			told[is.Change.Key]++
		}
	}
	if len(told) != 1 || told[job] < 2 {
		t.Errorf("told of %v, want %s", told, job)
	}
	if s, ok, err := k.Session(t.Context(), job); !ok || err != nil || keys[job+":run:"+s.ID] != 1 {
		t.Errorf("the session is %+v, %v", s, err)
	}
	for _, key := range []string{job, run} {
		page, err := k.Turns(t.Context(), key, 10, 0)
		if err != nil || len(page.Turns) < 2 {
			t.Errorf("%s has %+v, %v", key, page, err)
		}
	}
	older := job + ":run:" + k.run
	if page, err := k.Turns(t.Context(), older, 10, 0); err != nil || len(page.Turns) > 0 {
		t.Errorf("another run has %+v, %v", page, err)
	}
}

func (k *check) refuses(t *testing.T) {
	_, err := k.Start(t.Context(), gateway.Question{RunID: k.run + "nobody", AgentID: "nobody", SessionKey: "agent:nobody:conform", Message: "Hello?"})
	if !errors.Is(err, link.ErrRefused) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a question to nobody: %v", err)
	}
	job := gateway.NewJob{Name: "Never", AgentID: "cto", Message: "x", SessionTarget: "isolated", Schedule: gateway.JobSchedule{Kind: "cron", Expr: "99 99 * * *"}}
	if _, err := k.AddJob(t.Context(), job); !errors.Is(err, link.ErrRefused) {
		t.Errorf("a job that is never due: %v", err)
	}
	if _, ok, err := k.Session(t.Context(), "agent:cto:nowhere"); ok || err != nil {
		t.Errorf("a session that does not exist: %v, %v", ok, err)
	}
	if page, err := k.Turns(t.Context(), "agent:cto:nowhere", 10, 0); err != nil || len(page.Turns) > 0 {
		t.Errorf("messages of a session that does not exist: %+v, %v", page, err)
	}
	if trace, err := k.Find(t.Context(), "agent:cto:nowhere", k.run+"0"); err != nil || trace.Asked || trace.Active {
		t.Errorf("a run that does not exist: %+v, %v", trace, err)
	}
}
