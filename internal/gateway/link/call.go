package link

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

// Request is a request to the gateway.
type Request struct {
	Method string
	Params any
	Wait   time.Duration   // how long the gateway may take, in addition to Options.Timeout
	Done   <-chan struct{} // makes the response unnecessary when closed; may be nil
	// Each is called with each response, before the first one is returned, on the goroutine that reads the
	// connection. After it has returned true, no more responses are expected. It is nil for a request that
	// gets only one.
	Each func(Frame) (last bool)
}

// ErrUnsure is joined to the error for a request that was sent but not answered. The
// gateway may have carried out the request.
var ErrUnsure = errors.New("the gateway may have carried out the request")

// ErrDone means that Request.Done was closed before the response arrived.
var ErrDone = errors.New("the response is no longer needed")

// Call sends a request, waits up to Options.Timeout for the response, and decodes its payload into
// *out. If the gateway rejects the request, the error is a *Refusal.
func (c *Client) Call(ctx context.Context, method string, params, out any) error {
	_, err := c.call(ctx, method, params, out)
	return err
}

// CallOnce is like Call, for a request that changes something. The error is also ErrUnsure if the gateway may
// have carried out the request.
func (c *Client) CallOnce(ctx context.Context, method string, params, out any) error {
	unsure, err := c.call(ctx, method, params, out)
	if unsure {
		return errors.Join(err, ErrUnsure)
	}
	return err
}

// call is Call. It reports whether the gateway may have carried out a request that failed.
func (c *Client) call(ctx context.Context, method string, params, out any) (unsure bool, err error) {
	k, err := c.ConnFor(method)
	if err != nil {
		return false, err
	}
	f, err := c.Exchange(ctx, k, Request{Method: method, Params: params})
	if err != nil {
		return true, err
	}
	if f.Error != nil {
		return false, c.Refused(f.Error)
	}
	if json.Unmarshal(f.Payload, out) != nil {
		return true, ErrUnreadable(method) // the decoder's error would quote the payload
	}
	return false, nil
}

// ErrUnreadable returns the error for a response that Wardroom could not decode.
func ErrUnreadable(method string) error {
	return ErrRefused.With("Wardroom could not decode the gateway's response to the %s request. Update Wardroom or the gateway, whichever is older.", method)
}

// Exchange sends a request on the connection k and waits for its first response, which may be an error.
func (c *Client) Exchange(ctx context.Context, k *Conn, r Request) (Frame, error) {
	sent := time.Now()
	answer, forget, err := k.send(r, c.opt.Timeout)
	if err != nil {
		return Frame{}, errSend
	}
	defer forget()
	limit := time.NewTimer(r.Wait + c.opt.Timeout)
	defer limit.Stop()
	select {
	case f := <-answer:
		if r.Wait == 0 {
			c.setLatency(time.Since(sent))
		}
		k.owner.answered(k)
		return f, nil
	case <-r.Done:
		return Frame{}, ErrDone
	case <-k.gone:
		return c.late(answer)
	case <-ctx.Done():
		return Frame{}, interrupted(ctx, r.Method)
	case <-limit.C:
		after := ""
		if r.Wait > 0 {
			after = " after its timeout"
		}
		k.owner.unanswered(k, r.Method, sent.Add(r.Wait))
		return Frame{}, ErrTimeout.With("The gateway did not answer the %s request within %s%s.", r.Method,
			c.opt.Timeout, after)
	}
}

// errSend is returned if a request cannot be written. The caller need not close the
// broken connection, because the goroutine that reads from it does.
var errSend = ErrUnreachable.With("The connection was lost while Wardroom was sending the request.")

// late returns the response if it arrived just before the connection ended. Otherwise it
// returns the error for a lost connection.
func (c *Client) late(answer <-chan Frame) (Frame, error) {
	select {
	case f := <-answer:
		return f, nil
	default:
		return Frame{}, c.lost()
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
		return fmt.Errorf("%w: %w",
			ErrTimeout.With("The gateway did not answer the %s request before the caller's deadline.", method), ctx.Err())
	}
	return fmt.Errorf("%s: %w", method, ctx.Err())
}

// Refusal is the error for a request that the gateway rejected.
type Refusal struct {
	Wire  *WireError
	cause error
}

// Error returns the text of the error that Unwrap returns.
func (r *Refusal) Error() string { return r.cause.Error() }

// Unwrap returns one of this package's errors.
func (r *Refusal) Unwrap() error { return r.cause }

// Refused returns the error for an error that the gateway sent.
func (c *Client) Refused(e *WireError) *Refusal { return &Refusal{e, c.wireFault(e)} }

func (c *Client) wireFault(e *WireError) error {
	message := c.secrets.Line(e.Message)
	switch {
	case e.Details.Code == "MISSING_SCOPE" || e.Details.MissingScope != "":
		return c.scopeFault(c.secrets.Line(e.Details.MissingScope))
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
func restarting(e *WireError) bool {
	if e.Code != "UNAVAILABLE" {
		return false
	}
	reason := e.Details.Reason
	return reason == "gateway-restarting" || strings.HasPrefix(reason, "startup") || IsDraining(e.Message)
}

// IsDraining reports whether the gateway rejected new work because it is shutting down.
func IsDraining(message string) bool {
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
