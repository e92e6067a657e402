package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stop ends a run. It says false when the run was not going any more. It needs
// operator.write, and answers ErrForeignRun like StopSession.
func (c *Client) Stop(ctx context.Context, sessionKey, runID string) (stopped bool, err error) {
	ids, err := c.abort(ctx, sessionKey, runID)
	if err != nil {
		return false, fmt.Errorf("stop run %s: %w", runID, err)
	}
	return len(ids) > 0, nil
}

// StopSession ends a run of a session, or with an empty runID all that are going
// or wait there, and names those that it ended: none when there was nothing to
// end. It needs operator.write, and answers ErrForeignRun where somebody else has
// begun what goes on there. Beside an error, too, are those that were ended.
func (c *Client) StopSession(ctx context.Context, sessionKey, runID string) ([]string, error) {
	ids, err := c.abort(ctx, sessionKey, runID)
	if err == nil && runID == "" && len(ids) > 0 {
		ids, err = c.abortOthers(ctx, sessionKey, ids)
	}
	if err != nil {
		return ids, fmt.Errorf("stop a session: %w", err)
	}
	return ids, nil
}

// The gateway knows a run that was stopped for as long as it takes to come to rest:
// in OpenClaw 2026.9.6 about 100 ms.
const (
	restTries = 10
	restPause = 200 * time.Millisecond
)

// abortOthers ends what goes on in a session beside ours, which are stopped, and
// names all of them. chat.abort says nothing of others while the gateway knows one
// of ours there.
func (c *Client) abortOthers(ctx context.Context, sessionKey string, stopped []string) ([]string, error) {
	for range restTries {
		more, err := c.abort(ctx, sessionKey, "")
		if err == nil && len(more) == 0 {
			return stopped, nil
		}
		more = slices.DeleteFunc(more, func(id string) bool { return slices.Contains(stopped, id) })
		if err != nil || len(more) > 0 {
			return append(stopped, more...), err
		}
		select {
		case <-time.After(restPause):
		case <-ctx.Done():
			return stopped, ctx.Err()
		}
	}
	return stopped, nil
}

// abort ends a run of a session, or with an empty runID all of them, and names
// those that it ended.
//
// chat.abort is for who has begun the run: over this connection or, for a paired
// device, over any; else it wants operator.admin. A question has an entry in the
// runtime's task ledger as well, which tasks.cancel ends for everybody who may
// write to the session (observed in OpenClaw 2026.9.6). A message has none.
func (c *Client) abort(ctx context.Context, sessionKey, runID string) ([]string, error) {
	params := struct {
		SessionKey string `json:"sessionKey"`
		RunID      string `json:"runId,omitempty"`
	}{sessionKey, runID}
	var out struct {
		Aborted flag  `json:"aborted"`
		RunIDs  words `json:"runIds"`
	}
	err := c.once(ctx, "chat.abort", params, &out)
	if errors.Is(err, ErrForeignRun) {
		ids, failed := c.cancel(ctx, sessionKey, runID)
		if len(ids) > 0 || failed != nil && Away(failed) {
			return ids, failed
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	stopped := []string{}
	for _, id := range out.RunIDs {
		stopped = append(stopped, c.short(string(id)))
	}
	if out.Aborted.is() && len(stopped) == 0 && runID != "" {
		stopped = append(stopped, runID)
	}
	return stopped, nil
}

// ledgerTask is an entry of the runtime's task ledger.
type ledgerTask struct {
	ID      word `json:"taskId"`
	Session word `json:"childSessionKey"` // in which it goes on
	RunID   word `json:"runId"`
}

// cancel is abort by way of the task ledger, which has the keys of sessions in
// small letters and, unlike other methods, finds them only so.
func (c *Client) cancel(ctx context.Context, sessionKey, runID string) ([]string, error) {
	list := struct {
		SessionKey string   `json:"sessionKey"`
		Status     []string `json:"status"`
	}{strings.ToLower(sessionKey), []string{"queued", "running"}}
	var found struct {
		Tasks []ledgerTask `json:"tasks"`
	}
	if err := c.call(ctx, "tasks.list", list, &found); err != nil {
		return nil, err
	}
	var stopped []string
	var failed error
	for _, t := range found.Tasks {
		if runID != "" && string(t.RunID) != runID || !strings.EqualFold(string(t.Session), sessionKey) {
			continue
		}
		params := struct {
			TaskID string `json:"taskId"`
		}{string(t.ID)}
		var out struct {
			Cancelled flag `json:"cancelled"`
		}
		if err := c.once(ctx, "tasks.cancel", params, &out); err != nil {
			failed = errors.Join(failed, err)
		} else if out.Cancelled.is() {
			stopped = append(stopped, c.short(string(t.RunID)))
		}
	}
	return stopped, failed
}
