package trouble

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

const (
	configuredFor = 10 * time.Minute // how long the configured models are cached
	silentFor     = 24 * time.Hour   // after a person has resolved an item, until it can come back
	maxUnchecked  = 1000             // model calls that wait for the gateway
	muchDearer    = 2                // times the price from which a configured fallback is reported
)

// ModelConfig is the part of the gateway client that tells which models are configured.
type ModelConfig interface {
	ConfiguredModels(ctx context.Context) (map[string]gateway.ConfiguredModels, error)
	Job(ctx context.Context, id string) (gateway.Job, error)
}

// Models raises an inbox item when an agent uses a model that is not configured for it, or a configured
// fallback that is more than twice as expensive as its own model.
type Models struct {
	DB      *db.DB
	Runtime ModelConfig
	Log     *slog.Logger
	Now     func() time.Time
	Inbox   *inbox.Service
	Holds   *hold.Service // the configured model of a held agent stands for the hold
	Usage   *usage.Service

	wake       mirror.Signal
	configured map[string]gateway.ConfiguredModels // only Run's goroutine uses it
	readAt     time.Time

	mu        sync.Mutex
	unchecked map[usedModel]modelCall // the first call of each
}

// usedModel is a model that an agent uses, in a scheduled job if it has an ID.
type usedModel struct{ agentID, jobID, model string }

type modelCall struct {
	usedModel
	gateway.Usage
	sessionKey, runID string
	at                clock.Time
}

// Receive takes note of model calls. It does not block.
func (s *Models) Receive(e mirror.Event) {
	if e.Name != "session.message" || e.Message == nil {
		return
	}
	t := e.Message()
	parts := strings.Split(e.Active, ":") // agent:cto:main, agent:cto:cron:<job>
	if u := t.Usage; u == nil || u.Provider == "" || u.Model == "" || u.Input+u.Output+u.CacheRead+u.CacheWrite == 0 ||
		len(parts) < 3 || parts[0] != "agent" {
		return
	}
	of := usedModel{agentID: parts[1], model: t.Usage.Provider + "/" + t.Usage.Model}
	if parts[2] == "cron" && len(parts) > 3 {
		of.jobID = parts[3]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(modelCall{of, *t.Usage, e.Active, t.RunID, t.At})
	s.wake.Wake()
}

// keep adds a call to the unchecked ones. The caller must hold the lock.
func (s *Models) keep(c modelCall) {
	if _, there := s.unchecked[c.usedModel]; there || len(s.unchecked) >= maxUnchecked {
		return
	}
	if s.unchecked == nil {
		s.unchecked = map[usedModel]modelCall{}
	}
	s.unchecked[c.usedModel] = c
}

// Run checks model calls until ctx ends. Every replica does so.
func (s *Models) Run(ctx context.Context) error {
	loop := mirror.Loop{Name: "models of agents", DB: s.DB, Log: s.Log, Pass: s.pass}
	loop.Run(actor.With(ctx, actor.System), &s.wake)
	return nil
}

// pass checks the model calls that have arrived. What fails is done again.
func (s *Models) pass(ctx context.Context) (next time.Duration, err error) {
	s.mu.Lock()
	calls := s.unchecked
	s.unchecked = nil
	s.mu.Unlock()
	for _, c := range calls {
		if failed := s.check(ctx, c); failed != nil {
			s.mu.Lock()
			s.keep(c)
			s.mu.Unlock()
			err = errors.Join(err, failed)
		}
	}
	return time.Hour, err // a call comes earlier
}

// check raises an item about a model call if its model is another one than configured. Before that, it reads
// the configuration again, which can have changed.
func (s *Models) check(ctx context.Context, c modelCall) error {
	for _, cached := range []time.Duration{configuredFor, 0} {
		if now := s.Now(); s.configured == nil || now.Sub(s.readAt) >= cached {
			is, err := s.Runtime.ConfiguredModels(ctx)
			if err != nil {
				return err
			}
			s.configured, s.readAt = is, now
		}
		m, found, err := s.judge(ctx, c, s.configured[c.agentID])
		if err != nil || !found {
			return err
		}
		known, err := s.reported(ctx, s.DB, m.Cause)
		if err != nil || known {
			return err
		}
		if cached > 0 {
			continue
		}
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			if known, err := s.reported(ctx, tx, m.Cause); err != nil || known {
				return err
			}
			return s.Inbox.Raise(ctx, tx, m)
		})
	}
	return nil
}

// judge returns the item about a model call, and whether there is a reason for one. Names without a provider
// can be aliases, so nothing is known about an agent that is configured with them.
func (s *Models) judge(
	ctx context.Context, c modelCall, is gateway.ConfiguredModels,
) (m inbox.NewItem, found bool, err error) {
	own := append([]string{is.Primary}, is.Fallbacks...)
	isAlias := func(name string) bool { return !strings.Contains(name, "/") }
	if c.model == is.Primary || slices.Contains(is.Others, c.model) || slices.ContainsFunc(own, isAlias) {
		return m, false, nil
	}
	if held, err := s.Holds.Find(ctx, s.DB, c.agentID); err != nil || held != nil {
		return m, false, err
	}
	if c.jobID != "" {
		j, err := s.Runtime.Job(ctx, c.jobID)
		if err != nil && !errors.Is(err, gateway.ErrNoJob) {
			return m, false, err
		}
		if set := j.Payload.Model; set == c.model || set != "" && isAlias(set) {
			return m, false, nil
		}
	}
	paid, would, err := s.costs(ctx, c, is.Primary)
	if err != nil {
		return m, false, err
	}
	dearer := paid != nil && would != nil && *paid/muchDearer > *would
	isFallback := slices.Contains(is.Fallbacks, c.model)
	m = c.item(account.AgentName(ctx, s.DB, c.agentID), is.Primary, isFallback, dearer, paid, would, s.Now())
	return m, dearer || !isFallback, nil
}

// costs returns what the call has cost, and what it would have cost with the configured model. They are nil
// if the prices are unknown.
func (s *Models) costs(ctx context.Context, c modelCall, configured string) (paid, would *money.Nano, err error) {
	part := usage.PartOf(c.Usage)
	if paid = part.Cost; paid == nil {
		if paid, err = s.Usage.Estimate(ctx, c.Provider, c.Model, part.Tokens); err != nil {
			return nil, nil, err
		}
	}
	provider, model, _ := strings.Cut(configured, "/")
	would, err = s.Usage.Estimate(ctx, provider, model, part.Tokens)
	return paid, would, err
}

// item returns the item about the call of the agent with the name.
func (c modelCall) item(
	name, configured string, isFallback, dearer bool, paid, would *money.Nano, now time.Time,
) inbox.NewItem {
	code := func(model string) string { return "`" + strings.ReplaceAll(model, "`", "'") + "`" }
	sum := sha256.Sum256([]byte(c.agentID + "\n" + c.model + "\n" + configured))
	m := inbox.NewItem{
		Cause: "model/" + hex.EncodeToString(sum[:]), Kind: inbox.ModelChanged, Severity: inbox.Medium,
		At: cmp.Or(c.at.Time, now), Subject: event.Subject{Kind: event.TopicAgent, ID: c.agentID, Name: name},
		Run:   &inbox.Run{SessionKey: c.sessionKey, RunID: c.runID},
		Title: fmt.Sprintf("%s uses %s instead of %s", name, c.model, configured),
		Detail: fmt.Sprintf("%s is configured for the agent, and %s is none of its fallbacks.", code(configured),
			code(c.model)),
	}
	if isFallback {
		m.Detail = fmt.Sprintf("%s is a configured fallback, but costs more than %d times as much as %s.", code(c.model),
			muchDearer, code(configured))
	}
	if dearer {
		m.Severity = inbox.High
	}
	if paid != nil && would != nil {
		m.Detail += fmt.Sprintf(" A model call cost $%s; with the configured model it would have cost $%s.", *paid, *would)
	} else {
		m.Detail += " Wardroom doesn't know the difference in price."
	}
	m.Detail += "\n\nOpen the run to see whether someone chose the model, and check the agent's `model` in the gateway's configuration."
	return m
}

// reported reports whether the inbox has the item: an unresolved one, or one that was resolved recently.
func (s *Models) reported(ctx context.Context, q db.Queryer, cause string) (known bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM inbox_items WHERE cause = ? AND (state <> 'resolved' OR resolved_at > ? AND resolved_at <= ?))`
	now := s.Now()
	err = q.QueryRow(ctx, query, cause, clock.At(now.Add(-silentFor)), clock.At(now.Add(clock.Skew))).Scan(&known)
	return known, err
}
