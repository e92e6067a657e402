package trouble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// loginWarning is how long before its end a login is reported.
const loginWarning = 72 * time.Hour

// causeLogin is the start of the causes of items about logins.
const causeLogin = "gateway/login/"

// Runtime is the part of the gateway client that tells which logins the agents depend on.
type Runtime interface {
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	Logins(ctx context.Context, agentID string) ([]gateway.Login, error)
}

// Logins raises an inbox item when a login to a provider of models is about to end, has ended, or is
// missing, while an agent's configured model needs it. It resolves the item once that is no longer so.
type Logins struct {
	DB      *db.DB
	Runtime Runtime
	Now     func() time.Time
	Inbox   *inbox.Service
}

// loginTrouble is a login that agents need and that needs a person.
type loginTrouble struct {
	gateway.Login
	failed bool
	agents []gateway.Agent
}

// Check compares the logins with the inbox. It does nothing while the gateway cannot be asked, so
// that an outage resolves no item.
func (s *Logins) Check(ctx context.Context) error {
	found, err := s.find(ctx)
	if link.IsUnavailable(err) || errors.Is(err, link.ErrNotConfigured) {
		return nil // the state of the gateway is reported elsewhere
	}
	var jobs []gateway.Job
	if err == nil && len(found) > 0 {
		jobs, err = s.Runtime.Jobs(ctx, gateway.JobsWanted{})
	}
	if err != nil {
		return fmt.Errorf("check the agents' logins: %w", err)
	}
	err = s.DB.Tx(actor.With(ctx, actor.System), func(tx *db.Tx) error {
		for _, cause := range slices.Sorted(maps.Keys(found)) {
			item := found[cause].inboxItem(cause, jobs, s.Now())
			known, err := loginReported(ctx, tx, item)
			if err != nil {
				return err
			}
			if !known {
				if err := s.Inbox.Raise(ctx, tx, item); err != nil {
					return err
				}
			}
		}
		return s.resolveOthers(ctx, tx, found)
	})
	if err != nil {
		return fmt.Errorf("report the agents' logins to the inbox: %w", err)
	}
	return nil
}

// find returns the logins that need a person, by cause.
func (s *Logins) find(ctx context.Context) (map[string]*loginTrouble, error) {
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]*loginTrouble{}
	for _, a := range agents {
		provider, _, named := strings.Cut(a.Model, "/")
		if !named {
			continue
		}
		logins, err := s.Runtime.Logins(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, l := range logins {
			failed, soon := judgeLogin(l, s.Now())
			if l.Provider != provider || !failed && !soon {
				continue
			}
			cause := loginCause(l)
			if found[cause] == nil {
				found[cause] = &loginTrouble{Login: l}
			}
			found[cause].failed = found[cause].failed || failed
			found[cause].agents = append(found[cause].agents, a)
		}
	}
	return found, nil
}

// judgeLogin reports whether a login has failed, or ends soon.
func judgeLogin(l gateway.Login, now time.Time) (failed, soon bool) {
	failed = l.State == "expired" || l.State == "missing" || l.EndsAt != nil && !l.EndsAt.After(now)
	return failed, l.State == "expiring" || l.EndsAt != nil && l.EndsAt.Sub(now) <= loginWarning
}

// loginCause returns the cause of a login's item. A renewed login that ends in turn has another cause,
// so that a person who resolved the item before is told again.
func loginCause(l gateway.Login) string {
	end := "unknown"
	if l.EndsAt != nil {
		end = l.EndsAt.UTC().Format(time.RFC3339)
	}
	return causeLogin + l.Provider[:min(100, len(l.Provider))] + "/" + end
}

// inboxItem returns the item about a login. It names the agents that depend on the login and their
// enabled jobs.
func (l *loginTrouble) inboxItem(cause string, jobs []gateway.Job, now time.Time) inbox.NewItem {
	m := inbox.NewItem{
		Cause: cause, Kind: inbox.LoginEnding, Severity: inbox.Medium,
		Subject: event.Subject{Kind: event.TopicGateway, ID: l.Provider, Name: l.Name}, At: now,
	}
	var names, affected []string
	for _, a := range l.agents {
		names = append(names, cmp.Or(a.IdentityName, a.Name, a.ID))
		for _, j := range jobs {
			if j.Enabled && j.AgentID == a.ID {
				affected = append(affected, "“"+j.Name+"”")
			}
		}
	}
	what := "ends soon"
	if l.EndsAt != nil {
		what = "ends at " + l.EndsAt.UTC().Format("2006-01-02 15:04 UTC")
	}
	m.Title = fmt.Sprintf("The login to %s %s", l.Name, what)
	if l.failed {
		m.Severity = inbox.High
		m.Title = fmt.Sprintf("The login to %s has ended", l.Name)
		if l.State == "missing" {
			m.Title = fmt.Sprintf("There is no login to %s", l.Name)
		}
	}
	m.Detail = "Without it, these agents cannot work: " + strings.Join(names, ", ") + "."
	if len(affected) > 0 {
		m.Detail += " Their scheduled jobs would fail: " + strings.Join(affected, ", ") + "."
	}
	m.Detail += "\n\nRenew it on the gateway's host with `openclaw models auth --agent <agent> login`, once for each agent. This item resolves itself after that."
	return m
}

// loginReported reports whether the inbox already has an item. An item that a person resolved
// counts, but not one that was less severe or that Wardroom resolved.
func loginReported(ctx context.Context, tx *db.Tx, m inbox.NewItem) (known bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM inbox_items WHERE cause = ? AND severity IN (?, ?) AND (state <> 'resolved' OR resolver_id <> ?))`
	err = tx.QueryRow(ctx, query, m.Cause, m.Severity, inbox.High, actor.System.ID).Scan(&known)
	return known, err
}

// resolveOthers resolves the items about logins that are no longer in trouble.
func (s *Logins) resolveOthers(ctx context.Context, tx *db.Tx, found map[string]*loginTrouble) error {
	rows, err := tx.Query(ctx, `SELECT cause FROM inbox_items WHERE kind = ? AND state <> 'resolved'`, inbox.LoginEnding)
	open, err := db.All(rows, err, func(r db.Row) (cause string, err error) { return cause, r.Scan(&cause) })
	for _, cause := range open {
		if found[cause] == nil && err == nil {
			err = s.Inbox.ResolveCause(ctx, tx, cause, "The login was renewed, or no agent needs it anymore.")
		}
	}
	return err
}
