// Package agent shows who works in the team: the roster of the agent runtime
// joined with the accounts that the agents have here, and how the connection to
// the runtime is doing.
package agent

import "wardroom/internal/gateway"

// Agent is one worker, as the runtime and the accounts know it.
type Agent struct {
	AgentID string   `json:"agent_id" example:"cto"`
	Name    string   `json:"name" doc:"As the runtime has it, else as the account has it."`
	Emoji   *string  `json:"emoji"`
	Model   *string  `json:"model" doc:"Provider and model; null when the runtime does not say."`
	Runtime *bool    `json:"in_runtime" doc:"Whether the runtime knows the agent; null while the runtime is away and nobody can say."`
	Account *Account `json:"account" doc:"Null when the agent has no active account, and so takes no part in standups."`
}

// Account is the agent user of an agent.
type Account struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

// Member is an agent with an active account.
type Member struct{ UserID, AgentID, Name string }

// join puts the roster and the accounts together, in the order of the roster
// and then of the accounts. A nil roster means that the runtime is away.
func join(roster []gateway.Agent, members []Member) []Agent {
	agents := []Agent{}
	place := map[string]int{}
	for _, r := range roster {
		known := true
		a := Agent{AgentID: r.ID, Name: r.IdentityName, Runtime: &known, Emoji: given(r.Emoji), Model: given(r.Model)}
		if a.Name == "" {
			a.Name = r.Name
		}
		place[r.ID] = len(agents)
		agents = append(agents, a)
	}
	for _, m := range members {
		account := &Account{UserID: m.UserID, Name: m.Name}
		if i, ok := place[m.AgentID]; ok {
			agents[i].Account = account
			continue
		}
		a := Agent{AgentID: m.AgentID, Name: m.Name, Account: account}
		if roster != nil {
			a.Runtime = new(bool)
		}
		agents = append(agents, a)
	}
	for i := range agents {
		if agents[i].Name == "" {
			agents[i].Name = agents[i].AgentID
		}
	}
	return agents
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
