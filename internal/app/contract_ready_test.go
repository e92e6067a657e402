package app_test

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/approval"
	"wardroom/internal/dispatch"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// readiness returns functions that create the targets of operations with narrow
// preconditions, which random requests would rarely meet.
func (c *contract) readiness() map[string]func(context.Context, *app.App) (target string, err error) {
	rotation := pairingPath + "/rotate"
	return map[string]func(context.Context, *app.App) (string, error){
		"delete-auth-me-sessions-by-id": func(context.Context, *app.App) (string, error) {
			return "/api/v1/auth/me/sessions/current", nil
		},
		"patch-tasks-by-id": func(ctx context.Context, a *app.App) (string, error) {
			key, err := c.assigned(ctx, a)
			return "/api/v1/tasks/" + key, err
		},
		"post-tasks-by-id-dispatch": func(ctx context.Context, a *app.App) (string, error) {
			key, err := c.assigned(ctx, a)
			return "/api/v1/tasks/" + key + "/dispatch", err
		},
		"delete-tasks-by-id-dispatch": func(ctx context.Context, a *app.App) (string, error) {
			key, err := c.assigned(ctx, a)
			if err == nil {
				_, err = a.Dispatch.Create(ctx, key, dispatch.New{}) // nothing starts it here
			}
			return "/api/v1/tasks/" + key + "/dispatch", err
		},
		"post-tasks-by-id-approve": func(ctx context.Context, a *app.App) (string, error) {
			made, err := a.Tasks.Create(ctx, task.New{Title: "To be approved", Status: task.Review})
			return "/api/v1/tasks/" + made.Key + "/approve", err
		},
		"post-tasks-by-id-send-back": func(ctx context.Context, a *app.App) (string, error) {
			made, err := a.Tasks.Create(ctx, task.New{Title: "To be sent back", Status: task.Review})
			return "/api/v1/tasks/" + made.Key + "/send-back", err
		},
		"put-standups-by-id-reports-by-agent-id": func(ctx context.Context, a *app.App) (string, error) {
			c.days++
			day := time.Now().AddDate(-5, 0, -c.days).Format(time.DateOnly)
			s, _, err := a.Standups.Open(ctx, standup.New{Date: day})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("/api/v1/standups/%s/reports/%s", s.ID, s.Reports[0].AgentID), nil
		},
		"post-agents-by-agent-id-release": func(ctx context.Context, a *app.App) (string, error) {
			return "/api/v1/agents/coo/release", a.DB.Tx(ctx, func(tx *db.Tx) error { return a.Holds.HoldIn(ctx, tx, "coo", "To be released") })
		},
		"post-questions": func(ctx context.Context, a *app.App) (string, error) {
			return "/api/v1/questions", c.letAsk(ctx, a)
		},
		"post-questions-by-id-withdraw": func(ctx context.Context, a *app.App) (string, error) {
			if err := c.letAsk(ctx, a); err != nil {
				return "", err
			}
			by, err := a.Accounts.Authenticate(ctx, c.agentKey)
			if err != nil {
				return "", err
			}
			q, _, err := a.Approvals.Ask(actor.With(ctx, by), approval.Ask{Question: db.NewID()})
			return "/api/v1/questions/" + q.ID + "/withdraw", err
		},
		"post-agentrt-pairing-rotate": func(ctx context.Context, a *app.App) (string, error) {
			_, made, err := a.Pairing.Start(ctx)
			if made {
				c.letIn() // the device to replace must have been approved
			}
			return rotation, err
		},
		"delete-agentrt-pairing-rotate": func(ctx context.Context, a *app.App) (string, error) {
			_, made, err := a.Pairing.Start(ctx)
			if made {
				c.letIn()
			}
			if err == nil {
				_, _, err = a.Pairing.Rotate(ctx)
			}
			return rotation, err
		},
	}
}

// ready returns a target for op, or an empty string for operations that need no
// preparation.
func (c *contract) ready(op route) string {
	makeReady, ok := c.readiness()[op.ID]
	if !ok {
		return ""
	}
	target, err := makeReady(actor.With(context.Background(), actor.System), c.app)
	if err != nil {
		c.t.Fatalf("make ready for %s: %v", op.ID, err)
	}
	c.before = c.now()
	return target
}

// letAsk gives the asking agent a valid key and leaves none of its questions waiting.
func (c *contract) letAsk(ctx context.Context, a *app.App) error {
	err := a.DB.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM approvals WHERE author_id <> ''`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE users SET active = TRUE, role = 'agent', agent_id = COALESCE(agent_id, 'asker') WHERE id = ?`, c.asker)
		return err
	})
	if err != nil {
		return err
	}
	k, err := a.Accounts.MakeKey(ctx, c.asker, account.NewKey{Name: db.NewID()})
	c.agentKey = k.Secret
	return err
}

// assigned creates a task of an agent, reactivates an agent if all are deactivated, and releases held ones.
func (c *contract) assigned(ctx context.Context, a *app.App) (key string, err error) {
	agentID := ""
	err = a.DB.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE users SET active = TRUE
			WHERE NOT EXISTS (SELECT 1 FROM users WHERE active AND role = 'agent') AND id = (SELECT MIN(id) FROM users WHERE role = 'agent')`)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE agent_holds SET state = 'released', released_at = since WHERE released_at IS NULL`); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT agent_id FROM users WHERE active AND role = 'agent' ORDER BY id LIMIT 1`).Scan(&agentID)
	})
	if err != nil {
		return "", err
	}
	made, err := a.Tasks.Create(ctx, task.New{Title: "To be handed over", Assignee: &agentID})
	return made.Key, err
}
