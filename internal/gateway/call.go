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

// call sends a request and reads the payload of its answer into out. The limit
// is one request's time.
func (c *Client) call(ctx context.Context, method string, params, out any) error {
	k, err := c.connection(method)
	if err != nil {
		return err
	}
	f, err := c.roundTripOn(ctx, k, method, params, "")
	if err != nil {
		return err
	}
	if f.Error != nil {
		return c.wireFault(f.Error)
	}
	if err := json.Unmarshal(f.Payload, out); err != nil {
		// The error would quote what it could not read, which is not ours to show.
		return ErrRefused.With("The gateway answers %s in a way that this version does not understand.", method)
	}
	return nil
}

// roundTripOn sends a request on one connection and waits for its first answer,
// for at most one request's time.
func (c *Client) roundTripOn(ctx context.Context, k *conn, method string, params any, run string) (frame, error) {
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
		c.roundTrip(time.Since(sent))
		k.owner.answered(k)
		return f, nil
	case <-k.gone:
		return c.late(answer)
	case <-ctx.Done():
		return frame{}, interrupted(ctx, method)
	case <-limit.C:
		k.owner.unanswered(k, method, sent)
		return frame{}, ErrTimeout.With("%s had no answer within %s.", method, c.opt.Timeout)
	}
}

// errSend is what a failed write becomes. The reader learns of a broken
// connection by itself and ends it.
var errSend = ErrUnreachable.With("The connection broke while the request was sent.")

// late is for a connection that has ended: the answer may have been its last frame.
func (c *Client) late(answer <-chan frame) (frame, error) {
	select {
	case f := <-answer:
		return f, nil
	default:
		return frame{}, c.lost()
	}
}

// lost is the fault of a request whose connection ended before the answer. What
// the present state says is often the better explanation, but whether the
// gateway refuses us now is not why this request failed.
func (c *Client) lost() error {
	return ErrUnreachable.With("The connection ended before the answer came. %s", c.Status().LastError)
}

// interrupted is for a caller that stopped waiting.
func interrupted(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTimeout.With("%s had no answer in the time that was left.", method), ctx.Err())
	}
	return fmt.Errorf("%s: %w", method, ctx.Err())
}

// wireFault turns the gateway's error into one of ours.
func (c *Client) wireFault(e *wireError) error {
	message := c.secrets.words(e.Message)
	switch {
	case e.Details.Code == "MISSING_SCOPE" || e.Details.MissingScope != "":
		return c.scopeFault(c.secrets.words(e.Details.MissingScope))
	case e.Details.Code == "CRON_JOB_NOT_FOUND":
		return ErrNoJob.With("It may have been removed. Read the list of jobs again.")
	case e.Details.Code == "CRON_JOB_CHANGED":
		return ErrJobChanged.With("Read it again and repeat the change.")
	case e.Code == "INVALID_REQUEST" && e.Message == "unauthorized": // of chat.abort; there is no code for it
		return ErrForeignRun.With("Somebody else has begun it, or this service before it connected anew. Stop it in the runtime's own dashboard. A service that is paired as a device, or has operator.admin, may stop what it began over an earlier connection.")
	case e.Code == "NOT_PAIRED":
		return ErrUnpaired.With("%s", message)
	case unknownMethod(e) != nil:
		return c.withoutMethod(*unknownMethod(e))
	case restarting(e):
		return ErrUnreachable.With("The gateway is restarting.").After(e.retryAfter())
	case e.Code == "UNAVAILABLE":
		return ErrBusy.With("It says: %s", message).After(e.retryAfter())
	default:
		return ErrRefused.With("It says: %s", message)
	}
}

// restarting tells an answer of a gateway that is going down or coming up.
func restarting(e *wireError) bool {
	if e.Code != "UNAVAILABLE" {
		return false
	}
	reason := e.Details.Reason
	return reason == "gateway-restarting" || strings.HasPrefix(reason, "startup") || drains(e.Message)
}

// drains recognises how a gateway that is going down turns new work away.
func drains(message string) bool {
	return strings.Contains(strings.ToLower(message), "gateway is draining")
}

// scopeFault names the scope and where to get it.
func (c *Client) scopeFault(scope string) *fault.Error {
	if scope == "" {
		scope = "a scope"
	}
	e := ErrMissingScope.Fact("missing_scope", scope)
	if slices.Contains(c.opt.Scopes, scope) {
		return e.With("This needs %s, which we asked for and the gateway did not grant. It grants what is asked for to services on its own host, and to paired devices what was approved for them.", scope)
	}
	return e.With("This needs %s. Add it to AGENTRT_GATEWAY_SCOPES and restart.", scope)
}

// Agents lists the agents that the runtime knows, in its order.
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
		agents = append(agents, Agent{
			ID:           s.words(a.ID),
			Name:         s.words(a.Name),
			IdentityName: s.words(a.Identity.Name),
			Emoji:        s.words(a.Identity.Emoji),
			Model:        s.words(modelName(a.Model)),
			Default:      a.ID == r.DefaultID,
		})
	}
	return agents
}

// modelName reads a model that is written as an object or as a plain name; both
// are allowed in the gateway's configuration.
func modelName(raw json.RawMessage) string {
	var object struct {
		Primary string `json:"primary"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Primary
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	return ""
}
