package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// roster is the runtime's list of agents.
type roster struct {
	agents []gateway.Agent
	asOf   clock.Time // time of the read; zero if never read
	live   bool       // false if this is the stored roster of an earlier read
}

// storedAgent is the stored form of an agent.
type storedAgent struct {
	ID           string `json:"id"`
	Name         string `json:"name,omitempty"`
	IdentityName string `json:"identity_name,omitempty"`
	Emoji        string `json:"emoji,omitempty"`
	Model        string `json:"model,omitempty"`
	Default      bool   `json:"default,omitempty"`
}

// findRoster returns the stored roster, or the zero roster.
func findRoster(ctx context.Context, q db.Queryer) (roster, error) {
	var text string
	var r roster
	err := q.QueryRow(ctx, `SELECT agents, as_of FROM agent_roster WHERE one = 1`).Scan(&text, &r.asOf)
	if db.IsNotFound(err) {
		return roster{}, nil
	}
	var kept []storedAgent
	if err == nil {
		err = json.Unmarshal([]byte(text), &kept)
	}
	if err != nil {
		return roster{}, fmt.Errorf("read the last known roster: %w", err)
	}
	for _, k := range kept {
		r.agents = append(r.agents, gateway.Agent(k))
	}
	return r, nil
}

// putRoster stores a roster, unless another replica has stored a newer one.
func putRoster(ctx context.Context, tx *db.Tx, r roster) error {
	kept := make([]storedAgent, len(r.agents))
	for i, a := range r.agents {
		kept[i] = storedAgent(a)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO agent_roster (one, agents, as_of) VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET agents = excluded.agents, as_of = excluded.as_of WHERE agent_roster.as_of < excluded.as_of`, string(text), r.asOf)
	return err
}
