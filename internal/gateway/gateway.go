// Package gateway has the methods of the agent runtime's gateway: it reads and changes sessions, runs, scheduled jobs,
// approvals and agents. It does not depend on tasks, standups or the database. Package link connects to the gateway.
package gateway

import (
	"context"
	"errors"
	"strings"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/fault"
)

// Errors of requests about agents and runs.
var (
	// ErrNoAgent means that neither the runtime nor any account has the agent.
	ErrNoAgent = fault.New(fault.NotFound, "agent_not_found", "Agent not found.")
	// ErrForeignRun means that another client started the run, so the gateway does not
	// let Wardroom stop it.
	ErrForeignRun = fault.New(fault.Conflict, "run_not_ours", "Only the client that started this run can stop it.")
)

// Client is a connection to one gateway with its methods. It is safe for concurrent use.
type Client struct {
	*link.Client
	secrets   *wire.Secrets
	runs      *runs
	UsageWait time.Duration // how long Wait waits for the tokens and cost of a run that has ended; a second by default
}

// New returns a client that does nothing until Run is called. It returns an error if the
// options are invalid.
func New(opt link.Options) (*Client, error) {
	c, err := link.New(opt)
	if err != nil {
		return nil, err
	}
	return &Client{Client: c, secrets: c.Secrets(), runs: newRuns(), UsageWait: time.Second}, nil
}

// call sends a request and decodes the response into *out.
func (c *Client) call(ctx context.Context, method string, params, out any) error {
	return explained(c.Call(ctx, method, params, out))
}

// once is like call, for a request that changes something: see ErrUnsure.
func (c *Client) once(ctx context.Context, method string, params, out any) error {
	return explained(c.CallOnce(ctx, method, params, out))
}

// explained returns this package's error for a rejected request, otherwise err itself.
func explained(err error) error {
	r, ok := errors.AsType[*link.Refusal](err)
	if !ok || errors.Is(err, link.ErrMissingScope) {
		return err
	}
	switch e := r.Wire; {
	case e.Details.Code == "CRON_JOB_NOT_FOUND":
		return ErrNoJob.With("The job may have been removed. Reload the list of jobs.")
	case e.Details.Code == "CRON_JOB_CHANGED":
		return ErrJobChanged.With("Reload the job and make the change again.")
	case strings.HasPrefix(e.Message, "config changed since last load"):
		return ErrConfigChanged
	case e.Details.Reason == "APPROVAL_ALREADY_RESOLVED", e.Details.Reason == "QUESTION_ALREADY_TERMINAL":
		return ErrAnswered
	case e.Details.Reason == "APPROVAL_NOT_FOUND", e.Details.Reason == "QUESTION_NOT_FOUND":
		return ErrNoRequest
	case e.Code == "INVALID_REQUEST" && e.Message == "unauthorized":
		// chat.abort rejects runs of other clients this way, without a code
		return ErrForeignRun.With("Another client, or Wardroom over a previous connection, started this run. Stop it in the gateway's own dashboard. To stop such runs from Wardroom, pair Wardroom as a device or request the operator.admin scope.")
	}
	return err
}
