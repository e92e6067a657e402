package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// DemoOwner is the account that a demo makes.
const DemoOwner = "owner@wardroom.demo"

// DemoOptions say how a demo runs.
type DemoOptions struct {
	Dir  string        // where it keeps its data; made when it is missing
	Host string        // as in the settings, like Port
	Port string        // "0" takes a free one
	Pace time.Duration // how long an agent thinks before it answers
}

// Demo is a service with the built-in team, ready to run.
type Demo struct {
	App      *App
	Runtime  *demo.Runtime
	Password string // of the owner and of the agents' accounts
}

// demoState is what a demo makes up at its first start and keeps in its folder.
type demoState struct {
	JWTSecret    string `json:"jwt_secret"`
	GatewayToken string `json:"gateway_token"`
	Password     string `json:"password"`
	Key          string `json:"key"` // of the COO, in the environment of the demo's agents
	// Filled says that the team and its board are whole. From then on they
	// belong to the person at the screen, and nothing is put back.
	Filled bool `json:"filled"`
}

// ErrSettings marks what NewDemo says of a Host or Port that cannot be used.
var ErrSettings = errors.New("settings")

// NewDemo prepares a demo that needs nothing else: its folder and secrets, the
// demo runtime, an owner, the agents' accounts and a filled board. A folder
// that has been used before is used as it is.
func NewDemo(ctx context.Context, o DemoOptions, log *slog.Logger) (*Demo, error) {
	state, err := loadDemoState(o.Dir)
	if err != nil {
		return nil, err
	}
	cfg, err := demoConfig(o, state)
	if err != nil {
		return nil, err
	}
	if err := state.keep(o.Dir); err != nil {
		return nil, err
	}
	var key atomic.Pointer[string] // and they have the key as soon as there is one
	var board atomic.Pointer[App]  // the agents talk about the board as soon as there is one
	// The agents outlive ctx: the service hands its work back before they go.
	runtime, err := demo.Start(context.WithoutCancel(ctx), demo.Options{
		Token: state.GatewayToken, Pace: o.Pace, Log: log,
		Board: func(ctx context.Context, agentID string) ([]demo.Task, error) {
			if a := board.Load(); a != nil {
				return a.demoBoard(ctx, agentID)
			}
			return nil, nil
		},
		Env: func(name string) string {
			if held := key.Load(); held != nil && name == standup.KeyVariable {
				return *held
			}
			return ""
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start the demo's agents: %w", err)
	}
	cfg.GatewayURL = runtime.URL()
	// The password stands beside the hashes, so that costly ones would protect
	// nothing and only keep the person at the screen waiting.
	a, err := New(ctx, cfg, log, Options{Demo: true, Cost: bcrypt.MinCost})
	if err != nil {
		return nil, errors.Join(err, runtime.Close())
	}
	board.Store(a)
	d := &Demo{App: a, Runtime: runtime, Password: state.Password}
	if !state.Filled {
		if err := d.fill(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the demo: %w", err), d.Close())
		}
		state.Filled = true
	}
	if state.Key == "" {
		state.Key = d.issueKey(ctx)
	}
	if err := state.keep(o.Dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	key.Store(&state.Key)
	return d, nil
}

// issueKey makes the key with which the demo's COO calls the service when a job
// of the runtime says so. Without the account, which a visitor may have taken
// away, there is none, and the COO says so.
func (d *Demo) issueKey(ctx context.Context) string {
	k, err := d.App.Accounts.MakeKey(actor.With(ctx, actor.System), "coo@wardroom.demo", account.NewKey{Name: "the demo's agents"})
	if err != nil {
		d.App.log.WarnContext(ctx, "the demo's COO has no key, so that the runtime's job cannot start standups", "err", err)
	}
	return k.Secret
}

// Close stops the agents and closes the database, for a demo that is not run.
func (d *Demo) Close() error { return errors.Join(d.Runtime.Close(), d.App.Close()) }

// demoConfig is the settings of a demo, without the address of its agents.
func demoConfig(o DemoOptions, s demoState) (config.Config, error) {
	raw := config.Raw{
		Host: o.Host, Port: o.Port, JWTSecret: config.Secret(s.JWTSecret), GatewayToken: config.Secret(s.GatewayToken),
		StandupAgentTimeout: "30s", GatewayScopes: "operator.read,operator.write,operator.admin", // it is ours
	}
	raw.DataDir = o.Dir
	if !s.Filled { // later the owner is there, and no warning is due
		raw.BootstrapOwnerEmail, raw.BootstrapOwnerPassword = DemoOwner, config.Secret(s.Password)
	}
	cfg, _, err := raw.Check()
	if err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return cfg, nil
}

// demoFile is where a demo keeps its state. That is not in the database: its
// password is to be shown again at every start.
func demoFile(dir string) string { return filepath.Join(dir, "demo.json") }

// loadDemoState reads a demo's state, or makes a new one up.
func loadDemoState(dir string) (demoState, error) {
	var s demoState
	data, err := os.ReadFile(demoFile(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return demoState{JWTSecret: random(48), GatewayToken: random(24), Password: random(8)}, nil
	case err != nil:
		return s, fmt.Errorf("read the demo's secrets: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s is damaged: delete the folder %s to begin anew: %w", demoFile(dir), dir, err)
	}
	return s, nil
}

// keep writes the state in one go, so that a demo that dies meanwhile leaves
// the old one or the new one, and never half of one.
func (s demoState) keep(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ") //nolint:gosec // G117: to keep the secrets is what the file is for
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	next := demoFile(dir) + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the demo's secrets: %w", err)
	}
	if err := os.Rename(next, demoFile(dir)); err != nil {
		return fmt.Errorf("keep the demo's secrets: %w", err)
	}
	return nil
}

// random is n random bytes in hex.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// demoBoard is the board as the demo's agents see it.
func (a *App) demoBoard(ctx context.Context, agentID string) ([]demo.Task, error) {
	now := a.opts.Now()
	const lately = 48 * time.Hour
	tasks, err := a.Tasks.Of(ctx, agentID, now.Add(-lately))
	seen := make([]demo.Task, len(tasks))
	for i, t := range tasks {
		seen[i] = demo.Task{Key: t.Key, Title: t.Title, Status: string(t.Status), Priority: string(t.Priority), UpdatedAt: t.MovedAt.Time}
		if t.Blocked != nil {
			seen[i].Blocked, seen[i].BlockedDays = t.Blocked.Reason, int(now.Sub(t.Blocked.Since.Time).Hours()/24)
		}
		if t.DoneAt != nil {
			seen[i].DoneAt = &t.DoneAt.Time
		}
	}
	return seen, err
}

// demoTask is a task of the demo's board and how it came to be where it is.
type demoTask struct {
	agent, title string
	kind         task.Type
	priority     task.Priority
	daysAgo      int // when it was made
	status       task.Status
	movedHours   int    // how long ago it came into its column
	blocked      string // why it cannot go on
	blockedDays  int
}

// demoTasks is a plausible week of a small team that brings out a product.
func demoTasks() []demoTask {
	return []demoTask{
		{agent: "cto", title: "Move sign-in to short-lived tokens", kind: task.Feature, priority: task.High, daysAgo: 6, status: task.Done, movedHours: 9},
		{agent: "cto", title: "Search answers take 3 s on large workspaces", kind: task.Bug, priority: task.Urgent, daysAgo: 2, status: task.InProgress, movedHours: 20},
		{agent: "cto", title: "Restore a backup into an empty machine", kind: task.Plain, priority: task.Medium, daysAgo: 5, status: task.Todo, movedHours: 120},
		{agent: "cto", title: "Renew the signing certificate", kind: task.Plain, priority: task.High, daysAgo: 5, status: task.InProgress, movedHours: 100, blocked: "The card on file at the certificate authority has expired", blockedDays: 4},
		{agent: "cto", title: "Drop support for the old export format", kind: task.Improvement, priority: task.Low, daysAgo: 9, status: task.Backlog, movedHours: 216},
		{agent: "cpo", title: "Interview five customers about onboarding", kind: task.Research, priority: task.High, daysAgo: 7, status: task.Review, movedHours: 15},
		{agent: "cpo", title: "Write the brief for shared workspaces", kind: task.Feature, priority: task.High, daysAgo: 3, status: task.InProgress, movedHours: 26},
		{agent: "cpo", title: "Decide what the free plan includes", kind: task.Research, priority: task.Medium, daysAgo: 4, status: task.Todo, movedHours: 90, blocked: "Waiting for the cost per workspace from the CTO", blockedDays: 1},
		{agent: "cpo", title: "Sort the feature requests of October", kind: task.Plain, priority: task.Low, daysAgo: 8, status: task.Done, movedHours: 21},
		{agent: "cmo", title: "Announce short-lived tokens in the change log", kind: task.Plain, priority: task.Medium, daysAgo: 2, status: task.Todo, movedHours: 40},
		{agent: "cmo", title: "Page for the launch of shared workspaces", kind: task.Feature, priority: task.High, daysAgo: 4, status: task.InProgress, movedHours: 18},
		{agent: "cmo", title: "Newsletter of November", kind: task.Plain, priority: task.Medium, daysAgo: 6, status: task.Done, movedHours: 12},
		{agent: "cmo", title: "Prices on the home page differ from the invoice", kind: task.Bug, priority: task.Urgent, daysAgo: 1, status: task.Todo, movedHours: 8},
		{agent: "coo", title: "Agree on service hours with the support partner", kind: task.Plain, priority: task.Medium, daysAgo: 3, status: task.InProgress, movedHours: 22},
		{agent: "coo", title: "Monthly cost report", kind: task.Plain, priority: task.Low, daysAgo: 2, status: task.Todo, movedHours: 45},
	}
}

// fill makes the agents' accounts and the board, through the same services as
// everybody else. Nobody has been let in yet, so what is there already is from
// a first start that died half-way: fill goes on after it.
func (d *Demo) fill(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	for _, a := range demo.DefaultAgents() {
		_, err := d.App.Accounts.Create(ctx, account.NewUser{
			Email: a.ID + "@wardroom.demo", Name: a.Name, Password: d.Password, Role: actor.Agent, AgentID: patch.Set(a.ID),
		})
		if err != nil && !errors.Is(err, account.ErrEmailTaken) {
			return err
		}
	}
	steps, err := d.steps(ctx)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// demoStep is something that happened on the board some time ago.
type demoStep struct {
	age time.Duration
	do  func(context.Context) error
}

// steps is what made the board what it is, in the order in which it happened,
// so that the log reads like a week. A step that was taken already changes
// nothing.
func (d *Demo) steps(ctx context.Context) ([]demoStep, error) {
	now := clock.Now()
	tasks := demoTasks()
	made, err := d.App.Tasks.List(ctx, task.Filter{}, page.Want{Query: page.Query{Limit: len(tasks)}})
	if err != nil {
		return nil, err
	}
	keys := map[string]string{} // by title
	for _, t := range made.Rows {
		keys[t.Title] = t.Key
	}
	var steps []demoStep
	add := func(age time.Duration, do func(context.Context, *task.Service) error) {
		s := &task.Service{DB: d.App.DB, Now: func() time.Time { return now.Add(-age) }}
		steps = append(steps, demoStep{age, func(ctx context.Context) error { return do(ctx, s) }})
	}
	change := func(age time.Duration, title string, c task.Change) {
		add(age, func(ctx context.Context, s *task.Service) error {
			_, err := s.Update(ctx, keys[title], c, nil)
			return err
		})
	}
	const day = 24 * time.Hour
	for _, t := range tasks {
		add(time.Duration(t.daysAgo)*day, func(ctx context.Context, s *task.Service) error {
			if keys[t.title] != "" {
				return nil
			}
			made, err := s.Create(ctx, task.New{Title: t.title, Type: t.kind, Priority: t.priority, Assignee: &t.agent, Status: task.Backlog})
			keys[t.title] = made.Key
			return err
		})
		if t.blocked != "" {
			why := task.BlockedReason{Reason: t.blocked}
			change(time.Duration(t.blockedDays)*day+time.Hour, t.title, task.Change{Blocked: patch.Set(why)})
		}
		change(time.Duration(t.movedHours)*time.Hour, t.title, task.Change{Status: &t.status})
	}
	// What ties tasks together, and one that is held for a day.
	add(26*time.Hour, func(ctx context.Context, s *task.Service) error {
		on := []task.Name{task.Name(keys["Renew the signing certificate"])}
		_, err := s.Update(ctx, keys["Announce short-lived tokens in the change log"], task.Change{DependsOn: &on}, nil)
		return err
	})
	add(25*time.Hour, func(ctx context.Context, s *task.Service) error {
		whole := patch.Set(keys["Write the brief for shared workspaces"])
		_, err := s.Update(ctx, keys["Page for the launch of shared workspaces"], task.Change{Parent: whole}, nil)
		return err
	})
	add(20*time.Hour, func(ctx context.Context, s *task.Service) error {
		return d.discuss(ctx, s, keys["Decide what the free plan includes"])
	})
	add(0, func(ctx context.Context, s *task.Service) error {
		return d.claim(ctx, s, "cto", keys["Search answers take 3 s on large workspaces"])
	})
	steps = append(steps, demoStep{22 * time.Hour, func(ctx context.Context) error {
		return d.escalate(ctx, now.Add(-22*time.Hour), keys["Renew the signing certificate"])
	}})
	slices.SortStableFunc(steps, func(a, b demoStep) int { return cmp.Compare(b.age, a.age) })
	return steps, nil
}

// escalate puts into the inbox what the agents cannot settle: the blocker that
// has stood for days. It is there once, however often the demo is filled.
func (d *Demo) escalate(ctx context.Context, at time.Time, key string) error {
	t, err := d.App.Tasks.Get(ctx, key)
	if err != nil {
		return err
	}
	known, err := d.App.Inbox.List(ctx, inbox.Filter{States: inbox.States()}, page.Want{Query: page.Query{Limit: 1}})
	if err != nil || len(known.Rows) > 0 {
		return err
	}
	s := &inbox.Service{DB: d.App.DB, Now: func() time.Time { return at }}
	return d.App.DB.Tx(ctx, func(tx *db.Tx) error {
		return s.Raise(ctx, tx, inbox.Matter{
			Cause: "escalation/" + t.Key, // as a standup names it: the next one counts this item
			Kind:  string(inbox.Escalation), Severity: string(inbox.High),
			Title: "The certificate authority needs a card that works",
			Detail: "The CTO has been blocked on " + t.Key + " for three days: the card on file at the certificate authority has expired, " +
				"and no agent may enter another.\n\n" +
				"**What is needed of you:** put a new card on file, or say who does. The certificate ends in nine days; after that no release can be signed.",
			Subject: event.Subject{Kind: "task", ID: t.ID, Name: t.Key},
		})
	})
}

// discuss puts a task into a project, and has two agents talk about it.
func (d *Demo) discuss(ctx context.Context, s *task.Service, key string) error {
	_, err := s.CreateProject(ctx, task.NewProject{Key: "PLANS", Name: "Plans and prices", Description: "What we sell, and for how much."})
	if err != nil && !errors.Is(err, task.ErrProjectKey) {
		return err
	}
	t, err := s.Update(ctx, key, task.Change{Project: patch.Set("PLANS")}, nil)
	if err != nil || t.Comments > 0 {
		return err
	}
	for _, said := range []struct{ agentID, text string }{
		{"cpo", "@cto, what does a workspace cost us in a month? Without that I cannot say what may be free."},
		{"cto", "@cpo, storage is known; the share of the agents is not. You have a number on Monday."},
	} {
		if err := d.as(ctx, said.agentID, func(ctx context.Context) error {
			_, err := s.Comment(ctx, key, task.CommentText{Body: said.text})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// claim makes an agent the holder of a task for a day.
func (d *Demo) claim(ctx context.Context, s *task.Service, agentID, key string) error {
	return d.as(ctx, agentID, func(ctx context.Context) error {
		_, err := s.Claim(ctx, key, task.Ask{Lease: 24 * time.Hour})
		return err
	})
}

// as has an agent do something.
func (d *Demo) as(ctx context.Context, agentID string, do func(context.Context) error) error {
	users, err := d.App.Accounts.AgentUsers(ctx, d.App.DB)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.AgentID == agentID {
			by := actor.Actor{ID: u.UserID, Name: u.Name, Role: actor.Agent, AgentID: agentID}
			return do(actor.With(ctx, by))
		}
	}
	return nil
}
