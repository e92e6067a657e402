package app_test

import (
	"context"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// handOver is the operation that only few tasks are ready for, and of those the
// requests before it leave hardly any.
const handOver = "post-tasks-by-id-dispatch"

// ready makes a task that can be handed over, and says where it is. Should all
// agents be deactivated by now, one comes back.
func (c *contract) ready() string {
	ctx := actor.With(context.Background(), actor.System)
	agentID := ""
	err := c.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE users SET active = TRUE
			WHERE NOT EXISTS (SELECT 1 FROM users WHERE active AND role = 'agent') AND id = (SELECT MIN(id) FROM users WHERE role = 'agent')`)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT agent_id FROM users WHERE active AND role = 'agent' ORDER BY id LIMIT 1`).Scan(&agentID)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	made, err := c.tasks.Create(ctx, task.New{Title: "To be handed over", Assignee: &agentID})
	if err != nil {
		c.t.Fatal(err)
	}
	c.before = c.state()
	return "/api/v1/tasks/" + made.Key + "/dispatch"
}
