package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
)

// call sends a request, waits up to Options.Timeout for the response, and decodes its
// payload into *out.
func (c *Client) call(ctx context.Context, method string, params, out any) error {
	k, err := c.connection(method)
	if err != nil {
		return err
	}
	f, err := c.roundTrip(ctx, k, method, params, "")
	if err != nil {
		return err
	}
	if f.Error != nil {
		return c.wireFault(f.Error)
	}
	if err := json.Unmarshal(f.Payload, out); err != nil {
		return errUnreadable(method) // the decoder's error would quote the payload
	}
	return nil
}

// errUnreadable returns the error for a response that Wardroom could not decode.
func errUnreadable(method string) error {
	return ErrRefused.With("Wardroom could not decode the gateway's response to the %s request. Update Wardroom or the gateway, whichever is older.", method)
}

// roundTrip sends a request on the connection k and waits up to Options.Timeout for the
// response. If the request gets two responses, roundTrip returns the first one.
func (c *Client) roundTrip(ctx context.Context, k *conn, method string, params any, run string) (frame, error) {
	sent := time.Now()
	answer, forget, err := k.send(method, params, run, c.opt.Timeout)
	if err != nil {
		return frame{}, errSend
	}
	defer forget()
	limit := time.NewTimer(c.opt.Timeout)
	defer limit.Stop()
	select {
	case f := <-answer:
		c.setLatency(time.Since(sent))
		k.owner.answered(k)
		return f, nil
	case <-k.gone:
		return c.late(answer)
	case <-ctx.Done():
		return frame{}, interrupted(ctx, method)
	case <-limit.C:
		k.owner.unanswered(k, method, sent)
		return frame{}, ErrTimeout.With("The gateway did not answer the %s request within %s.", method, c.opt.Timeout)
	}
}

// errSend is returned if a request cannot be written. The caller need not close the
// broken connection, because the goroutine that reads from it does.
var errSend = ErrUnreachable.With("The connection was lost while Wardroom was sending the request.")

// late returns the response if it arrived just before the connection ended. Otherwise it
// returns the error for a lost connection.
func (c *Client) late(answer <-chan frame) (frame, error) {
	select {
	case f := <-answer:
		return f, nil
	default:
		return frame{}, c.lost()
	}
}

// lost returns the error for a request whose connection ended before the response
// arrived. The error is always ErrUnreachable. Its detail includes Status.LastError,
// which often explains the loss.
func (c *Client) lost() error {
	return ErrUnreachable.With("The connection was lost before the gateway answered. %s", c.Status().LastError)
}

// interrupted returns the error for a request whose context ended before the response
// arrived.
func interrupted(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTimeout.With("The gateway did not answer the %s request before the caller's deadline.", method), ctx.Err())
	}
	return fmt.Errorf("%s: %w", method, ctx.Err())
}

// wireFault converts an error that the gateway sent into one of this package's errors.
func (c *Client) wireFault(e *wireError) error {
	message := c.secrets.line(e.Message)
	switch {
	case e.Details.Code == "MISSING_SCOPE" || e.Details.MissingScope != "":
		return c.scopeFault(c.secrets.line(e.Details.MissingScope))
	case e.Details.Code == "CRON_JOB_NOT_FOUND":
		return ErrNoJob.With("The job may have been removed. Reload the list of jobs.")
	case e.Details.Code == "CRON_JOB_CHANGED":
		return ErrJobChanged.With("Reload the job and make the change again.")
	case strings.HasPrefix(e.Message, "config changed since last load"):
		return ErrConfigChanged
	case c.requestFault(e) != nil:
		return c.requestFault(e)
	case e.Code == "INVALID_REQUEST" && e.Message == "unauthorized": // chat.abort rejects runs of other clients this way, without a code
		return ErrForeignRun.With("Another client, or Wardroom over a previous connection, started this run. Stop it in the gateway's own dashboard. To stop such runs from Wardroom, pair Wardroom as a device or request the operator.admin scope.")
	case e.Code == "NOT_PAIRED":
		return ErrUnpaired.With("%s", message)
	case unknownMethod(e) != nil:
		return c.withoutMethod(*unknownMethod(e))
	case restarting(e):
		return ErrUnreachable.With("The gateway is restarting.").After(e.retryAfter())
	case e.Code == "UNAVAILABLE":
		return ErrBusy.With("The gateway says: %s", message).After(e.retryAfter())
	default:
		return ErrRefused.With("The gateway says: %s", message)
	}
}

// restarting reports whether the error is from a gateway that is shutting down or
// starting.
func restarting(e *wireError) bool {
	if e.Code != "UNAVAILABLE" {
		return false
	}
	reason := e.Details.Reason
	return reason == "gateway-restarting" || strings.HasPrefix(reason, "startup") || isDraining(e.Message)
}

// isDraining reports whether the gateway rejected new work because it is shutting down.
func isDraining(message string) bool {
	return strings.Contains(strings.ToLower(message), "gateway is draining")
}

// scopeFault returns an error that names the missing scope and explains how to get it.
func (c *Client) scopeFault(scope string) *fault.Error {
	if scope == "" {
		scope = "a scope"
	}
	e := ErrMissingScope.Fact("missing_scope", scope)
	if slices.Contains(c.opt.Scopes, scope) {
		return e.With("Wardroom requested the %s scope, but the gateway did not grant it. Run Wardroom on the gateway's host, or approve the scope for Wardroom's device on the gateway.", scope)
	}
	return e.With("The request requires the %s scope. Add it to AGENTRT_GATEWAY_SCOPES and restart Wardroom.", scope)
}

// Agents returns the gateway's agents in the order in which the gateway lists them.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	var out roster
	if err := c.call(ctx, "agents.list", struct{}{}, &out); err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return out.agents(c.secrets), nil
}

type roster struct {
	DefaultID string `json:"defaultId"`
	Agents    []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Identity struct {
			Name  string `json:"name"`
			Emoji string `json:"emoji"`
		} `json:"identity"`
		Model json.RawMessage `json:"model"`
	} `json:"agents"`
}

func (r roster) agents(s *secrets) []Agent {
	agents := make([]Agent, 0, len(r.Agents))
	for _, a := range r.Agents {
		if a.ID == "" {
			continue
		}
		model, _ := modelNames(a.Model)
		agents = append(agents, Agent{
			ID:           s.line(a.ID),
			Name:         s.line(a.Name),
			IdentityName: s.line(a.Identity.Name),
			Emoji:        s.line(a.Identity.Emoji),
			Model:        s.line(string(model)),
			Default:      a.ID == r.DefaultID,
		})
	}
	return agents
}
