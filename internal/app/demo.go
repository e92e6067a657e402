package app

import (
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
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/standup"
)

// DemoOwner is the account that a demo makes.
const DemoOwner = "owner@wardroom.demo"

// DemoOptions say how a demo runs.
type DemoOptions struct {
	Dir  string        // where it keeps its data; made when it is missing
	Host string        // as in the settings, like Port
	Port string        // "0" takes a free one
	Pace time.Duration // how long an agent thinks before it answers
	// Still has the agents do only what they are told to. Otherwise they work by
	// themselves, too.
	Still bool
}

// Demo is a service with the built-in team, ready to run.
type Demo struct {
	App      *App
	Runtime  *demo.Runtime
	Password string // of the owner and of the agents' accounts

	began time.Time // when it was started for the first time
	clock *demoClock
	past  *App // the same service on the demo's clock
}

// demoState is what a demo makes up at its first start and keeps in its folder.
type demoState struct {
	JWTSecret    string `json:"jwt_secret"`
	GatewayToken string `json:"gateway_token"`
	Password     string `json:"password"`
	Key          string `json:"key"` // of the COO, in the environment of the demo's agents
	// Began is when the demo was started for the first time: its board is of that time.
	Began time.Time `json:"began,omitzero"`
	// Past is when its agents have worked while nobody was looking, before and
	// between the starts. What they did is made from it, the same at every start.
	Past []demo.Span `json:"past,omitempty"`
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
	d := &Demo{Password: state.Password, began: state.Began, clock: &demoClock{}}
	var key atomic.Pointer[string] // the agents have it as soon as there is one
	var board atomic.Pointer[App]  // and talk about the board as soon as there is one
	// The agents outlive ctx: the service hands its work back before they go.
	d.Runtime, err = demo.Start(context.WithoutCancel(ctx), demo.Options{
		Token: state.GatewayToken, Pace: o.Pace, Log: log, Now: d.clock.Now,
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
	cfg.GatewayURL = d.Runtime.URL()
	// The password stands beside the hashes, so that costly ones would protect
	// nothing and only keep the person at the screen waiting.
	if d.App, err = New(ctx, cfg, log, Options{Demo: true, Cost: bcrypt.MinCost}); err != nil {
		return nil, errors.Join(err, d.Runtime.Close())
	}
	d.App.Archive.Pace.Call = archivePace
	if err := d.prepare(ctx, &state, &board); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if state.Key == "" {
		state.Key = d.issueKey(ctx)
	}
	if err := state.keep(o.Dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	key.Store(&state.Key)
	if !o.Still {
		d.Runtime.StartBackgroundWork(rest, fmt.Sprintf("%s %d", state.Began.Format(time.RFC3339), len(state.Past)))
	}
	return d, nil
}

// archivePace is how soon one session after the other is read into the archive. The
// runtime is ours and has nothing else to do, and two weeks are to be found at once.
const archivePace = 20 * time.Millisecond

// rest is about how long the demo's agents rest before the next one begins
// something: seldom enough for a day of it to cost what a day of the past did.
const rest = 90 * time.Second

// prepare gives the agents their past and, at the first start, fills the board.
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
	return nil
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
		now := clock.Now()
		return demoState{JWTSecret: random(48), GatewayToken: random(24), Password: random(8), Began: now, Past: firstPast(now)}, nil
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

// demoStood is when an agent last answered in another standup than the one with
// sessions of that name.
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

// demoBoard is the board as the demo's agents see it.
func (a *App) demoBoard(ctx context.Context, agentID string) ([]demo.Task, error) {
	now := a.opts.Now()
	const lately = 14 * 24 * time.Hour // as far as the agents tell of it
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
