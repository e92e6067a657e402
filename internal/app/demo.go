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
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/archive"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/standup"
)

// DemoOwner is the email of the demo's owner.
const DemoOwner = "owner@wardroom.demo"

// DemoOptions configures a demo.
type DemoOptions struct {
	Dir  string        // data folder; created if missing
	Host string        // like the setting HOST
	Port string        // like the setting PORT; "0" picks a free port
	Pace time.Duration // how long an agent thinks before it answers
	Work time.Duration // how long an agent works on a task, roughly
	// If Still is set, the agents only answer requests. By default they also work on
	// their own.
	Still bool
	// Timezone is the IANA name of the zone in which the team works. It takes effect at the first
	// start only, because the history depends on it. Empty means UTC.
	Timezone string
}

// Demo is Wardroom with the built-in team of agents, ready to run.
type Demo struct {
	App      *App
	Runtime  *demo.Runtime
	Password string // of the owner and the agents' accounts

	began time.Time // time of the first start
	clock *demoClock
	past  *App // the same services on clock, which creates the demo's past
}

// demoState is the data that a demo generates on first start and keeps in its folder.
type demoState struct {
	JWTSecret    string `json:"jwt_secret"`
	GatewayToken string `json:"gateway_token"`
	Password     string `json:"password"`
	// Keys are the agents' API keys, by agent, as they are in the environment of the agents' tools.
	Keys map[string]string `json:"keys,omitempty"`
	// Began is the time of the first start. The dates on the sample board are
	// relative to it.
	Began time.Time `json:"began,omitzero"`
	// Timezone is DemoOptions.Timezone of the first start.
	Timezone string `json:"timezone,omitempty"`
	// Past lists the periods in which the agents worked, before the first start and
	// between later starts. The sessions of these periods are generated from this
	// list, so they are the same at every start.
	Past []demo.Span `json:"past,omitempty"`
	// Filled is set when the accounts and the sample board are complete. Later starts
	// do not restore anything that the user has changed or deleted.
	Filled bool `json:"filled"`
}

// ErrSettings means that Host or Port in DemoOptions is invalid.
var ErrSettings = errors.New("settings")

// NewDemo prepares a self-contained demo: its folder and secrets, the demo runtime,
// an owner, the agents' accounts and a sample board. If the folder exists, NewDemo
// reuses its data.
func NewDemo(ctx context.Context, o DemoOptions, log *slog.Logger) (*Demo, error) {
	state, err := loadDemoState(o.Dir, o.Timezone)
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
	d := &Demo{Password: state.Password, began: state.Began, clock: &demoClock{}}
	var keys atomic.Pointer[map[string]string] // the agents get them once they are issued
	var board atomic.Pointer[App]              // the agents see the board once it exists
	// The agents outlive ctx, because Wardroom still uses them while it shuts down.
	d.Runtime, err = demo.Start(context.WithoutCancel(ctx), demo.Options{
		Addr: "127.0.0.1:0", Token: state.GatewayToken, Pace: o.Pace, Work: o.Work, Log: log, Now: d.clock.Now,
		Board: func(ctx context.Context, agentID string) ([]demo.Task, error) {
			if a := board.Load(); a != nil {
				return a.demoBoard(ctx, agentID)
			}
			return nil, nil
		},
		LastStandup: func(ctx context.Context, agentID, name string) (time.Time, error) {
			if a := board.Load(); a != nil {
				return a.demoStood(ctx, agentID, name)
			}
			return time.Time{}, nil
		},
		Env: func(agentID, name string) string {
			if held := keys.Load(); held != nil && name == standup.KeyVariable {
				return (*held)[agentID]
			}
			return ""
		},
		Script: demoScript,
	})
	if err != nil {
		return nil, fmt.Errorf("start the demo runtime: %w", err)
	}
	cfg.GatewayURL = d.Runtime.URL()
	// Slow password hashes would protect nothing: the password is stored in the same
	// folder.
	if d.App, err = New(ctx, cfg, log, Options{Demo: true, Cost: bcrypt.MinCost}); err != nil {
		return nil, errors.Join(err, d.Runtime.Close())
	}
	d.App.Archive.Pace = archivePace()
	first := !state.Filled
	if err := d.prepare(ctx, &state, &board); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := state.keep(o.Dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	keys.Store(&state.Keys)
	if o.Still {
		return d, nil
	}
	if err := d.ask(ctx, first, o.Work); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Runtime.StartBackgroundWork(rest, fmt.Sprintf("%s %d", state.Began.Format(time.RFC3339), len(state.Past)))
	return d, nil
}

// archivePace returns the pace of the archive's requests to the demo runtime. It is fast, because the runtime has no
// other load and its two weeks of history should be searchable right away.
func archivePace() archive.Pace {
	return archive.Pace{Pass: 200 * time.Millisecond, Call: 20 * time.Millisecond}
}

// rest is roughly how long the demo's agents pause between runs. With this pause, three
// hours of the running demo cost about as much as a day in the generated history.
const rest = 4 * time.Minute

// prepare loads the generated history into the runtime. On first start, it also fills the sample
// board and creates the agents' keys.
func (d *Demo) prepare(ctx context.Context, state *demoState, board *atomic.Pointer[App]) error {
	if state.Filled {
		state.goOn(ctx, d.App, clock.Now())
	}
	if err := d.remember(*state); err != nil {
		return err
	}
	if !state.Filled {
		if err := d.wirePast(); err != nil {
			return err
		}
		board.Store(d.past)
		err := d.fill(ctx)
		d.clock.set(time.Time{})
		if err != nil {
			return fmt.Errorf("fill the demo: %w", err)
		}
		state.Filled = true
	}
	board.Store(d.App)
	if len(state.Keys) == 0 {
		state.Keys = d.issueKeys(ctx)
	}
	return nil
}

// issueKeys creates the API keys with which the demo's agents report on tasks and start standups. It
// leaves out an agent whose account the user has removed or deactivated.
func (d *Demo) issueKeys(ctx context.Context) map[string]string {
	keys := map[string]string{}
	for _, a := range demo.DefaultAgents() {
		k, err := d.App.Accounts.MakeKey(actor.With(ctx, actor.System), a.ID+"@wardroom.demo",
			account.NewKey{Name: "Demo agent"})
		if err != nil {
			d.App.log.WarnContext(ctx, "could not create an API key for an agent of the demo; it cannot report on tasks",
				"agent", a.ID, "err", err)
			continue
		}
		keys[a.ID] = k.Secret
	}
	return keys
}

// Close stops the agents and closes the database. A caller that does not run the demo
// must call Close.
func (d *Demo) Close() error { return errors.Join(d.Runtime.Close(), d.App.Close()) }

// Link returns the address of the demo that listens on ln. If the demo is reachable on this machine's
// loopback address, the link signs the owner in, once; see account.SignInLinkLife. The token follows
// a #, because browsers do not send that part to servers.
func (d *Demo) Link(ln net.Listener) string {
	address := addressOn(ln)
	at, err := netip.ParseAddrPort(strings.TrimPrefix(address, "http://"))
	if err != nil || !at.Addr().IsLoopback() {
		return address
	}
	token, _ := d.App.Accounts.OfferSignIn(DemoOwner)
	return address + "/sign-in#" + token
}

// demoConfig returns the settings of a demo, except for the address of its runtime.
func demoConfig(o DemoOptions, s demoState) (config.Config, error) {
	raw := config.Raw{
		Host: o.Host, Port: o.Port, JWTSecret: config.Secret(s.JWTSecret), GatewayToken: config.Secret(s.GatewayToken),
		StandupAgentTimeout: "30s", GatewayScopes: "operator.read,operator.write,operator.admin",
		Timezone: cmp.Or(s.Timezone, "UTC"),
	}
	raw.DataDir = o.Dir
	if !s.Filled { // afterwards the owner exists, and these settings would cause a warning
		raw.BootstrapOwnerEmail, raw.BootstrapOwnerPassword = DemoOwner, config.Secret(s.Password)
	}
	cfg, _, err := raw.Check()
	if err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return cfg, nil
}

// demoFile returns the path of the file that holds a demo's state. The state cannot
// be in the database, because every start shows the password again and the database
// stores only its hash.
func demoFile(dir string) string { return filepath.Join(dir, "demo.json") }

// loadDemoState reads a demo's saved state, or generates the state on first start.
func loadDemoState(dir, timezone string) (demoState, error) {
	var s demoState
	data, err := os.ReadFile(demoFile(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		now := clock.Now()
		return demoState{
			JWTSecret: random(48), GatewayToken: random(24), Password: random(8), Began: now, Timezone: timezone,
			Past: firstPast(now),
		}, nil
	case err != nil:
		return s, fmt.Errorf("read the demo's secrets: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s is damaged: %w; delete the folder %s to start over", demoFile(dir), err, dir)
	}
	return s, nil
}

// keep writes the state to its file. It replaces the file atomically, so that a crash
// leaves either the old or the new state.
func (s demoState) keep(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ") //nolint:gosec // G117: the file is meant to store the secrets
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the demo's folder: %w", err)
	}
	next := demoFile(dir) + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the demo's secrets: %w", err)
	}
	if err := os.Rename(next, demoFile(dir)); err != nil {
		return fmt.Errorf("write the demo's secrets: %w", err)
	}
	return nil
}

// random returns n random bytes, encoded in hex.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// demoStood returns the time at which an agent last answered in a standup. It ignores the standup
// whose session has the given name.
func (a *App) demoStood(ctx context.Context, agentID, name string) (last time.Time, err error) {
	const enough = 10
	all, err := a.Standups.AnswersBy(ctx, agentID, enough)
	for _, s := range all {
		held := "standup:" + s.Date
		if s.Team != standup.Executive {
			held += ":team-" + s.Team
		}
		if s.Status == standup.Answered && s.At != nil && held != name && s.At.After(last) {
			last = s.At.Time
		}
	}
	return last, err
}

// demoBoard returns an agent's tasks in the form that the demo runtime uses.
func (a *App) demoBoard(ctx context.Context, agentID string) ([]demo.Task, error) {
	now := a.opts.Now()
	const window = 14 * 24 * time.Hour // how far back the agents report
	tasks, err := a.Tasks.Of(ctx, agentID, now.Add(-window))
	seen := make([]demo.Task, len(tasks))
	for i, t := range tasks {
		seen[i] = demo.Task{
			Key: t.Key, Title: t.Title, Status: string(t.Status), Priority: string(t.Priority), UpdatedAt: t.MovedAt.Time,
		}
		if t.Blocked != nil {
			seen[i].Blocked, seen[i].BlockedDays = t.Blocked.Reason, int(now.Sub(t.Blocked.Since.Time).Hours()/24)
		}
		if t.DoneAt != nil {
			seen[i].DoneAt = &t.DoneAt.Time
		}
	}
	return seen, err
}
