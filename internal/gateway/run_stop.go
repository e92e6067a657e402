package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stop ends a run. It returns false if the run was not in progress. It requires the scope
// operator.write. If another client started the run, it returns ErrForeignRun.
func (c *Client) Stop(ctx context.Context, sessionKey, runID string) (stopped bool, err error) {
	ids, err := c.abort(ctx, sessionKey, runID)
	if err != nil {
		return false, fmt.Errorf("stop run %s: %w", runID, err)
	}
	return len(ids) > 0, nil
}

// StopSession ends a run in a session. If runID is empty, it ends all of the session's runs that
// are in progress or queued. It returns the ids of the runs that it ended, even if it returns an
// error. It requires the scope operator.write. It returns ErrForeignRun if Wardroom is not allowed
// to stop a run that another client started.
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

// These constants say how many times and at what interval abortOthers checks whether
// stopped runs have ended. In OpenClaw 2026.9.6, stopping a run takes about 100 ms.
const (
	restTries = 10
	restPause = 200 * time.Millisecond
)

// abortOthers ends the runs that other clients started in a session. It first waits until
// Wardroom's own runs, which were just stopped, have ended, because chat.abort ignores
// other clients' runs until then. Given the ids of Wardroom's stopped runs, it returns
// them together with the ids of the runs that it ended.
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

// abort ends a run in a session and returns the run's id. If runID is empty, it ends all runs in
// the session and returns their ids.
//
// The method chat.abort ends only runs that were started over the same connection or by the same
// paired device. Ending any other run requires operator.admin. However, a run that was started by a
// question has an entry in the gateway's task ledger. Every client that may write to the session
// can cancel that entry with tasks.cancel, which ends the run (observed in OpenClaw 2026.9.6). A
// run that was started by a message has no such entry.
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
		if len(ids) > 0 || failed != nil && IsUnavailable(failed) {
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

// ledgerTask is an entry in the gateway's task ledger.
type ledgerTask struct {
	ID      word `json:"taskId"`
	Session word `json:"childSessionKey"` // session of the run
	RunID   word `json:"runId"`
}

// cancel is like abort, but ends runs through the gateway's task ledger. It calls
// tasks.list, which, unlike other methods, requires session keys in lowercase.
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
