package trouble

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
)

// loginWarning is how long before its end a login is reported.
const loginWarning = 72 * time.Hour

// causeLogin is the start of the causes of items about logins.
const causeLogin = "gateway/login/"

// loginTrouble is a login that agents need and that needs a person.
type loginTrouble struct {
	gateway.Login
	failed bool
	agents []gateway.Agent
}

// CheckLogins raises an inbox item when a login to a provider of models is about to end, has ended, or is
// missing, while an agent's configured model needs it.
func (s *Checks) CheckLogins(ctx context.Context) error {
	return s.check(ctx, inbox.LoginEnding, s.loginItems, "The login was renewed, or no agent needs it anymore.")
}

func (s *Checks) loginItems(ctx context.Context) (items []inbox.NewItem, err error) {
	found, err := s.endingLogins(ctx)
	var jobs []gateway.Job
	if err == nil && len(found) > 0 {
		jobs, err = s.Runtime.Jobs(ctx, gateway.JobsWanted{})
	}
	for cause, l := range found {
		items = append(items, l.inboxItem(cause, jobs))
	}
	return items, err
}

// endingLogins returns the logins that need a person, by cause.
func (s *Checks) endingLogins(ctx context.Context) (map[string]*loginTrouble, error) {
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
func (l *loginTrouble) inboxItem(cause string, jobs []gateway.Job) inbox.NewItem {
	m := inbox.NewItem{
		Cause: cause, Severity: inbox.Medium,
		Subject: event.Subject{Kind: event.TopicGateway, ID: l.Provider, Name: l.Name},
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
