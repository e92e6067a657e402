package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/transcript"
)

// Controls is the part of the gateway client that acts on sessions.
type Controls interface {
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Sent(ctx context.Context, sessionKey, runID string) (bool, error)
	SendMessage(ctx context.Context, m gateway.OutgoingMessage) error
	StopSession(ctx context.Context, sessionKey, runID string) (ids []string, stopped bool, err error)
}

// Sent is a message that the runtime has accepted.
type Sent struct {
	RunID string `json:"run_id" doc:"The ID of the message and of the run that answers it. If a run is in progress, the message may become part of that run instead."`
	Key   string `json:"session_key"`
}

// Stopped is the result of stopping a session.
type Stopped struct {
	Stopped bool     `json:"stopped" doc:"False if no run was active or queued."`
	RunIDs  []string `json:"run_ids" nullable:"false" doc:"The stopped runs that the runtime named. It does not name runs of sub-agents, nor, without run_id, those of channels such as Telegram."`
}

// subject returns the subject of events about a session.
func subject(key string) event.Subject {
	return event.Subject{Kind: event.TopicSession, ID: key, Name: key}
}

// record records an action on a session, both as activity and in the audit log. The action is
// audited because it can cause costs.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind, key string, data map[string]any) error {
	if err := event.Record(ctx, tx, s.Now(), event.Activity, kind, subject(key), data); err != nil {
		return err
	}
	return event.Record(ctx, tx, s.Now(), event.Audit, kind, subject(key), data)
}

// errNotSent means that Wardroom has not sent the message yet: no result is stored for the request's
// Idempotency-Key.
var errNotSent = errors.New("the message was not sent")

// Send sends a message to an existing session and returns when the runtime has accepted it.
// Requests with the same Idempotency-Key send the message only once, because Wardroom stores the
// result. If no result is stored, Send first checks whether the runtime already has the message.
func (s *Service) Send(ctx context.Context, key, text string) (Sent, error) {
	return s.send(ctx, key, text, func() error {
		one, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		return s.Holds.Check(ctx, s.DB, one.AgentID)
	})
}

// SendToAgent is like Send, but sends the message to the main session of an agent, which the runtime creates if
// necessary.
func (s *Service) SendToAgent(ctx context.Context, agentID, text string) (Sent, error) {
	return s.send(ctx, "agent:"+strings.ToLower(agentID)+":main", text, func() error {
		if err := s.Holds.Check(ctx, s.DB, agentID); err != nil {
			return err
		}
		return s.checkAgent(ctx, agentID)
	})
}

// checkAgent returns an error unless the runtime has the agent.
func (s *Service) checkAgent(ctx context.Context, agentID string) error {
	roster, err := s.Controls.Agents(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(roster, func(one gateway.Agent) bool { return strings.EqualFold(one.ID, agentID) }) {
		return gateway.ErrNoAgent.With("The runtime has no agent %q. Add it to the runtime's configuration, or choose one with "+
			"in_runtime from GET /agents.", agentID)
	}
	return nil
}

// send sends a message to a session unless check returns an error.
func (s *Service) send(ctx context.Context, key, text string, check func() error) (Sent, error) {
	text = strings.TrimSpace(plaintext.Lines(text))
	if err := checkText(text); err != nil {
		return Sent{}, err
	}
	find := func(_ context.Context, _ db.Queryer, id string) (Sent, error) { return Sent{id, key}, nil }
	var out Sent
	ask := func(makeIt func(*db.Tx) (Sent, error)) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
			out, err = once.Do(ctx, tx, s.Now(), find, func(m Sent) string { return m.RunID }, func() (Sent, error) {
				return makeIt(tx)
			})
			return err
		})
	}
	// Do not hold a transaction open while waiting for the runtime.
	err := ask(func(*db.Tx) (Sent, error) { return Sent{}, errNotSent })
	if !errors.Is(err, errNotSent) {
		return out, err
	}
	if err := check(); err != nil {
		return Sent{}, err
	}
	id := transcript.UserRun + once.Name(ctx, db.NewID())
	data := map[string]any{"run_id": id, "characters": utf8.RuneCountInString(text), "confirmed": true}
	// A previous request with this key may have reached the runtime although its result was not
	// stored. The runtime remembers the ID only for a while.
	has := false
	if once.Named(ctx) {
		if has, err = s.Controls.Sent(ctx, key, id); err != nil {
			return Sent{}, err
		}
	}
	if !has {
		if err := s.Controls.SendMessage(ctx, gateway.OutgoingMessage{SessionKey: key, Text: text, RunID: id}); err != nil {
			return Sent{}, s.sendError(ctx, err, id, key, data)
		}
	}
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	err = ask(func(tx *db.Tx) (Sent, error) { return Sent{id, key}, s.recordSent(ctx, tx, id, key, data) })
	return out, err
}

// recordSent records a message and its sender.
func (s *Service) recordSent(ctx context.Context, tx *db.Tx, runID, key string, data map[string]any) error {
	if err := putSender(ctx, tx, s.Now(), runID, key); err != nil {
		return err
	}
	return s.record(ctx, tx, "session.message_sent", key, data)
}

// checkText returns a validation error if the runtime would not pass the text on to the agent. This
// applies to commands, which start with a slash, and to stop words. The caller must have removed
// surrounding white space and hidden characters.
func checkText(text string) error {
	var bad fault.Fields
	switch {
	case text == "":
		bad.Add("/text", "Must not be blank.")
	case strings.HasPrefix(text, "/"):
		bad.Add("/text", "Must not start with a slash, because the runtime treats that as a command.")
	case isStopCommand(text):
		bad.Add("/text", "The runtime treats this text as a stop command and does not pass it on to the agent. Use the stop route to stop the session, or write a longer message.")
	}
	return bad.Err()
}

// isStopCommand reports whether the runtime treats a text as a stop command. OpenClaw
// 2026.9.6 has stop words in twelve languages.
func isStopCommand(text string) bool {
	text = strings.ToLower(strings.NewReplacer("’", "'", "`", "'").Replace(text))
	text = strings.TrimSpace(strings.TrimRight(strings.Join(strings.Fields(text), " "), `.!?！？…,，。;；:：'"’”)]}`))
	return slices.Contains([]string{
		"stop", "esc", "abort", "exit", "interrupt", "halt", "pare", "stopp", "anhalten", "aufhören", "hoer auf",
		"detente", "deten", "detén", "arrete", "arrête", "停止", "停下来", "暂停", "やめて", "止めて", "रुको", "توقف",
		"стоп", "остановись", "останови", "остановить", "прекрати",
		"stop openclaw", "openclaw stop", "stop action", "stop current action", "stop run", "stop current run", "stop agent",
		"stop the agent", "stop don't do anything", "stop dont do anything", "stop do not do anything",
		"stop doing anything", "do not do that", "please stop", "stop please",
	}, text)
}

// sendError returns the error for a failed Send. If the message may have been sent, the error says
// so and explains how to proceed.
func (s *Service) sendError(ctx context.Context, err error, runID, key string, data map[string]any) error {
	if !errors.Is(err, link.ErrUnsure) {
		return err
	}
	data["confirmed"] = false
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.recordSent(ctx, tx, runID, key, data) })
	if f := fault.Of(err); f != nil {
		err = f.With("%s The message may have been sent. Retry with the same Idempotency-Key, or first look for the run_id in the session's messages.", f.Detail).
			Fact("maybe_sent", true).Fact("run_id", runID)
	}
	return errors.Join(err, noted)
}

// Stop stops one of a session's runs or, if runID is empty, all its active and queued runs and those
// of its sub-agents. It returns no error if there is no run to stop.
func (s *Service) Stop(ctx context.Context, key, runID string) (Stopped, error) {
	runID = plaintext.Line(runID)
	if _, err := s.Get(ctx, key); err != nil {
		return Stopped{}, err
	}
	ids, stopped, err := s.stop(ctx, key, runID)
	if stopped { // even if others could not be stopped
		ctx := context.WithoutCancel(ctx) // the client may have disconnected
		noted := s.DB.Tx(ctx, func(tx *db.Tx) error {
			return s.record(ctx, tx, "session.stopped", key, map[string]any{"run_ids": ids, "confirmed": true})
		})
		if noted != nil {
			return Stopped{}, errors.Join(err, fmt.Errorf("record that a session was stopped: %w", noted))
		}
	}
	switch {
	case err != nil && stopped:
		return Stopped{}, partialStopError(err, ids)
	case errors.Is(err, link.ErrUnsure):
		return Stopped{}, s.stopError(ctx, err, key, runID)
	case err != nil:
		return Stopped{}, err
	}
	return Stopped{Stopped: stopped, RunIDs: ids}, nil
}

// stop stops runs like Stop. The runtime cannot stop a run that a channel such as Telegram started by its
// ID, so stop ends everything in the session if the run is the active one.
func (s *Service) stop(ctx context.Context, key, runID string) (ids []string, stopped bool, err error) {
	ids, stopped, err = s.Controls.StopSession(ctx, key, runID)
	if err != nil || stopped || runID == "" {
		return ids, stopped, err
	}
	is, err := s.Get(ctx, key)
	if err != nil || is.ActiveRunID == nil || *is.ActiveRunID != runID {
		return ids, false, err
	}
	if ids, stopped, err = s.Controls.StopSession(ctx, key, ""); stopped && len(ids) == 0 {
		ids = []string{runID}
	}
	return ids, stopped, err
}

// partialStopError returns the error for a Stop that stopped only some runs.
func partialStopError(err error, ids []string) error {
	if f := fault.Of(err); f != nil {
		return f.With("Wardroom stopped %d runs, but other runs of the session may still be active. %s", len(ids),
			f.Detail).Fact("run_ids", ids)
	}
	return err
}

// stopError returns the error for a Stop that the runtime has not confirmed.
func (s *Service) stopError(ctx context.Context, err error, key, runID string) error {
	ids := []string{}
	if runID != "" {
		ids = append(ids, runID)
	}
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error {
		return s.record(ctx, tx, "session.stopped", key, map[string]any{"run_ids": ids, "confirmed": false})
	})
	if f := fault.Of(err); f != nil {
		err = f.With("%s The session may have been stopped. Check whether it is still active, or stop it again.",
			f.Detail).Fact("maybe_stopped", true)
	}
	return errors.Join(err, noted)
}
