package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Runtime is the part of the gateway client that a check of a connection uses.
type Runtime interface {
	Start(ctx context.Context, q gateway.Question) (gateway.Started, error)
	Wait(ctx context.Context, runID string, limit time.Duration) (gateway.Answer, error)
	MCPTools(ctx context.Context, sessionKey string) ([]gateway.MCPTool, error)
}

// checkTime is the time limit of the turn that a check starts.
const checkTime = 90 * time.Second

// Check is the result of checking an agent's connection to the tools.
type Check struct {
	Connected  bool   `json:"connected" doc:"Whether no step failed: the agent called whoami with its own key, and has no tools of other agents."`
	SessionKey string `json:"session_key" doc:"The session of the turn; empty if none was started."`
	Steps      []Step `json:"steps" nullable:"false" doc:"All steps, in order."`
}

// Step is one step of a check.
type Step struct {
	Step  StepName       `json:"step" enum:"key,turn,tools,own,whoami" doc:"key: the agent has a usable key. turn: the agent ran. tools: the session has the tools. own: it has no others' tools. whoami: Wardroom received the call."`
	State link.StepState `json:"state" enum:"ok,failed,not_reached,skipped" doc:"skipped: the gateway could not tell. not_reached: an earlier step failed."`
	Saw   string         `json:"saw" doc:"What was observed. It can quote the gateway or the agent."`
	Fix   string         `json:"fix" doc:"What to do; empty unless the step failed."`
}

// StepName identifies a step of a check.
type StepName string

// The steps of a check.
const (
	stepKey    StepName = "key"
	stepTurn   StepName = "turn"
	stepTools  StepName = "tools"
	stepOwn    StepName = "own"
	stepWhoami StepName = "whoami"
)

// stepNames returns all steps, in order.
func stepNames() []StepName { return []StepName{stepKey, stepTurn, stepTools, stepOwn, stepWhoami} }

// add adds the next step.
func (c *Check) add(state link.StepState, saw, fix string) {
	c.Steps = append(c.Steps, Step{stepNames()[len(c.Steps)], state, saw, fix})
}

// fail adds the next step as failed, and the others as not reached.
func (c *Check) fail(saw, fix string) {
	for state := link.StepFailed; len(c.Steps) < len(stepNames()); state, saw, fix = link.StepNotReached, "", "" {
		c.add(state, saw, fix)
	}
}

// Check starts a turn of the agent in a new session, in which the agent calls whoami, and finds out
// whether the call arrived.
func (s *Service) Check(ctx context.Context, agentID string) (Check, error) {
	a, _, err := s.agent(ctx, agentID)
	if err != nil {
		return Check{}, err
	}
	if err := s.Holds.Check(ctx, s.DB, agentID); err != nil {
		return Check{}, err
	}
	c, began := Check{Steps: []Step{}}, s.Now()
	if !a.key {
		c.fail(a.Name+" has no usable key.", "Create a key, set it in the gateway’s environment, and restart the gateway.")
		return c, nil
	}
	c.add(link.StepOK, a.Name+" has a usable key.", "")
	id := db.NewID()
	key := "agent:" + agentID + ":tools-check:" + id
	answer, err := s.turn(ctx, gateway.Question{
		RunID: "tools-check-" + id, AgentID: agentID, SessionKey: key, Limit: checkTime, Message: checkMessage(agentID),
	})
	f := fault.Of(err)
	switch {
	case err != nil && (f == nil || ctx.Err() != nil):
		return Check{}, err
	case err != nil:
		c.fail(strings.TrimSpace(f.Title+" "+f.Detail), "Test the connection to the gateway in Settings → Gateway.")
		return c, nil //nolint:nilerr // the step has the error
	}
	c.SessionKey = key
	after, _, err := s.agent(ctx, agentID)
	if err != nil {
		return Check{}, err
	}
	s.judge(ctx, &c, a, answer, after.usedAt != nil && !after.usedAt.Before(began.Truncate(time.Millisecond)))
	c.Connected = !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.State == link.StepFailed })
	return c, s.DB.Tx(ctx, func(tx *db.Tx) error {
		return event.Record(ctx, tx, s.Now(), event.Audit, "agent.tools_checked",
			event.Subject{Kind: "agent", ID: agentID, Name: a.Name},
			map[string]any{"connected": c.Connected, "session_key": key})
	})
}

// turn starts a run and waits for its end.
func (s *Service) turn(ctx context.Context, q gateway.Question) (gateway.Answer, error) {
	started, err := s.Runtime.Start(ctx, q)
	switch {
	case err != nil:
		return gateway.Answer{}, err
	case started.Answer != nil:
		return *started.Answer, nil
	}
	return s.Runtime.Wait(ctx, q.RunID, checkTime)
}

// checkMessage returns the message that makes an agent call whoami.
func checkMessage(agentID string) string {
	return fmt.Sprintf("Wardroom checks whether you have its tools. Call the tool %s__whoami once; if it is not in your list, find it with tool_search. "+
		"Answer with its result in one line, or with the reason why you cannot call it. Do nothing else.", account.ToolServer(agentID))
}

// judge adds the steps that follow the start of the turn. Called is whether Wardroom has received a call
// with the agent's key since then.
func (s *Service) judge(ctx context.Context, c *Check, a toolUser, answer gateway.Answer, called bool) {
	if answer.Outcome != gateway.Finished && !called {
		c.fail(strings.TrimSpace(fmt.Sprintf("The turn did not finish: %s. %s", answer.Outcome, answer.Error)),
			"Open the session to see why, then test again.")
		return
	}
	c.add(link.StepOK, "The agent answered: "+clip(strings.TrimSpace(answer.Text), maxAnswer/4), "")
	tools, err := s.Runtime.MCPTools(ctx, c.SessionKey)
	servers := []string{}
	for _, t := range tools {
		if t.Name == "submit_standup_report" {
			servers = append(servers, t.Server)
		}
	}
	switch {
	case err != nil:
		c.add(link.StepSkipped, "The gateway could not list the tools of the session.", "")
		c.add(link.StepSkipped, "", "")
	case len(servers) == 0:
		c.fail("The session has no tools of Wardroom.", "Check that the gateway has the configuration and the variable "+
			variable(a.AgentID)+
			", that you restarted it, and that it reaches Wardroom at the URL of the server. Then test again. "+
			"Each test starts a new session, because a session whose first turn met an unavailable server never sees the tools.")
		return
	default:
		c.add(link.StepOK, "The session has the tools of "+strings.Join(servers, ", ")+".", "")
		c.addOwn(a.AgentID, servers)
	}
	if called {
		c.add(link.StepOK, "Wardroom received the call of "+a.Name+".", "")
		return
	}
	c.fail("Wardroom received no call of whoami with a key of "+a.Name+
		".", "Read the agent’s answer above. If it called the tool, "+
		variable(a.AgentID)+" has another agent’s key or a wrong one. If it did not find the tool, set \"toolSearch\": false.")
}

// addOwn adds the step that an agent has only its own server.
func (c *Check) addOwn(agentID string, servers []string) {
	if len(servers) == 1 {
		c.add(link.StepOK, "The agent has no tools of other agents.", "")
		return
	}
	others := slices.DeleteFunc(slices.Clone(servers), func(server string) bool {
		return server == account.ToolServer(agentID)
	})
	c.add(link.StepFailed, "The agent can also use "+strings.Join(others, ", ")+", and would act in another agent’s name.",
		"Add "+strings.Join(others, "__*, ")+"__* to agents.entries."+agentID+".tools.deny, and restart the gateway.")
}
