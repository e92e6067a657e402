package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
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
// are in progress or queued, and those of its sub-agents. It reports whether it ended any, with the
// ids of those that the gateway named, even if it returns an error. It requires the scope
// operator.write. It returns ErrForeignRun if Wardroom is not allowed to stop a run that another
// client started.
func (c *Client) StopSession(ctx context.Context, sessionKey, runID string) (ids []string, stopped bool, err error) {
	if runID == "" {
		ids, stopped, err = c.abortSession(ctx, sessionKey)
	} else {
		ids, err = c.abort(ctx, sessionKey, runID)
		stopped = len(ids) > 0
	}
	if err != nil {
		return ids, stopped, fmt.Errorf("stop a session: %w", err)
	}
	return ids, stopped, nil
}

// abortSession ends everything that goes on in a session. Unlike chat.abort, sessions.abort also
// ends the runs of sub-agents, queued messages, and runs that a channel such as Telegram started.
// The gateway names at most one of the runs, and none if it ended only those of sub-agents or of a
// channel (observed in OpenClaw 2026.9.6).
func (c *Client) abortSession(ctx context.Context, sessionKey string) (ids []string, stopped bool, err error) {
	params := struct {
		Key         string `json:"key"`
		ClearQueued bool   `json:"clearQueued"`
	}{sessionKey, true}
	var out struct {
		Status wire.Word `json:"status"`
		RunID  wire.Word `json:"abortedRunId"`
	}
	err = c.once(ctx, "sessions.abort", params, &out)
	if errors.Is(err, ErrForeignRun) {
		ids, err = c.abortForeign(ctx, sessionKey, "", err)
		return ids, len(ids) > 0, err
	}
	ids = []string{}
	if out.RunID != "" {
		ids = append(ids, c.short(string(out.RunID)))
	}
	if stopped = out.Status == "aborted"; !stopped || c.WatchesAsAdmin() {
		return ids, stopped, err
	}
	// The gateway leaves out other clients' runs without an error if it stops one of Wardroom's.
	others, err := c.cancel(ctx, sessionKey, "")
	for _, id := range others {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, true, err
}

// abort ends a run in a session and returns its id in a list, which is empty if the run was not in
// progress.
func (c *Client) abort(ctx context.Context, sessionKey, runID string) ([]string, error) {
	params := struct {
		SessionKey string `json:"sessionKey"`
		RunID      string `json:"runId"`
	}{sessionKey, runID}
	var out struct {
		Aborted wire.Flag  `json:"aborted"`
		RunIDs  wire.Words `json:"runIds"`
	}
	err := c.once(ctx, "chat.abort", params, &out)
	if errors.Is(err, ErrForeignRun) {
		return c.abortForeign(ctx, sessionKey, runID, err)
	}
	if err != nil {
		return nil, err
	}
	stopped := []string{}
	for _, id := range out.RunIDs {
		stopped = append(stopped, c.short(string(id)))
	}
	if out.Aborted.Is() && len(stopped) == 0 {
		stopped = append(stopped, runID)
	}
	return stopped, nil
}

// abortForeign ends runs that Wardroom may not abort. If it ends none, it returns the error of the
// attempt to abort them.
//
// Without operator.admin, a client may abort only runs that were started over the same connection
// or by the same paired device. However, a run that was started by a question has an entry in the
// gateway's task ledger. Every client that may write to the session can cancel that entry with
// tasks.cancel, which ends the run (observed in OpenClaw 2026.9.6). A run that was started by a
// message has no such entry.
func (c *Client) abortForeign(ctx context.Context, sessionKey, runID string, refused error) ([]string, error) {
	ids, err := c.cancel(ctx, sessionKey, runID)
	if len(ids) > 0 || err != nil && link.IsUnavailable(err) {
		return ids, err
	}
	return nil, refused
}

// ledgerTask is an entry in the gateway's task ledger.
type ledgerTask struct {
	ID      wire.Word `json:"taskId"`
	Session wire.Word `json:"childSessionKey"` // session of the run
	RunID   wire.Word `json:"runId"`
}

// cancel ends a run, or all runs of a session if runID is empty, through the gateway's task ledger,
// and returns their ids. It calls tasks.list, which, unlike other methods, requires session keys in
// lowercase.
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
		if ended, err := c.cancelTask(ctx, t); err != nil {
			failed = errors.Join(failed, err)
		} else if ended {
			stopped = append(stopped, c.short(string(t.RunID)))
		}
	}
	return stopped, failed
}
