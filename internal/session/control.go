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
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
)

// Controls is the part of the gateway that acts on sessions.
type Controls interface {
	Sent(ctx context.Context, sessionKey, runID string) (bool, error)
	SendMessage(ctx context.Context, m gateway.OutgoingMessage) error
	StopSession(ctx context.Context, sessionKey, runID string) ([]string, error)
}

// Sent is a message that the runtime has taken.
type Sent struct {
	RunID string `json:"run_id" doc:"Names the message and the run that answers it. A session that was at work may take it into the run that was going."`
	Key   string `json:"session_key"`
}

// Stopped is what came of stopping a session.
type Stopped struct {
	Stopped bool     `json:"stopped" doc:"False: nothing was going."`
	RunIDs  []string `json:"run_ids" nullable:"false" doc:"The runs that were ended."`
}

// subject is what events about a session are about.
func subject(key string) event.Subject {
	return event.Subject{Kind: event.TopicSession, ID: key, Name: key}
}

// record tells of what somebody did to a session: in the activity, and in the
// audit, because it makes an agent work, and spend.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind, key string, data map[string]any) error {
	if err := event.Record(ctx, tx, s.Now(), event.Activity, kind, subject(key), data); err != nil {
		return err
	}
	return event.Record(ctx, tx, s.Now(), event.Audit, kind, subject(key), data)
}

// errNotSent says that no earlier request has sent it.
var errNotSent = errors.New("nobody has sent it")

// Send sends a message to a session of the runtime, which must be there. It
// comes back when the runtime has taken it. A request that is repeated with its
// Idempotency-Key is taken once: we remember it, and should we have ended before
// we could, the session has it by its run id.
func (s *Service) Send(ctx context.Context, key, text string) (Sent, error) {
	text = strings.TrimSpace(plaintext.Lines(text))
	if err := sayable(text); err != nil {
		return Sent{}, err
	}
	find := func(_ context.Context, _ db.Queryer, id string) (Sent, error) { return Sent{id, key}, nil }
	var out Sent
	ask := func(makeIt func(*db.Tx) (Sent, error)) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
			out, err = once.Do(ctx, tx, s.Now(), find, func(m Sent) string { return m.RunID }, func() (Sent, error) { return makeIt(tx) })
			return err
		})
	}
	// Our transaction is not open while we wait for the runtime.
	err := ask(func(*db.Tx) (Sent, error) { return Sent{}, errNotSent })
	if !errors.Is(err, errNotSent) {
		return out, err
	}
	if _, err := s.Get(ctx, key); err != nil {
		return Sent{}, err
	}
	id := "wardroom-" + once.Name(ctx, db.NewID())
	told := map[string]any{"run_id": id, "characters": utf8.RuneCountInString(text), "confirmed": true}
	// An earlier request with this key may have got as far as the runtime, and we not
	// as far as noting it. The runtime knows the id only for a while.
	has := false
	if once.Named(ctx) {
		if has, err = s.Controls.Sent(ctx, key, id); err != nil {
			return Sent{}, err
		}
	}
	if !has {
		if err := s.Controls.SendMessage(ctx, gateway.OutgoingMessage{SessionKey: key, Text: text, RunID: id}); err != nil {
			return Sent{}, s.unsent(ctx, err, key, told)
		}
	}
	ctx = context.WithoutCancel(ctx) // whoever sent it may have left
	err = ask(func(tx *db.Tx) (Sent, error) {
		return Sent{id, key}, s.record(ctx, tx, "session.message_sent", key, told)
	})
	return out, err
}

// sayable refuses what the runtime does not hand to the agent: a text that begins
// with a slash, which it takes for a command, and some words, which it takes for
// the wish to stop. text has no white space or hidden characters around it.
func sayable(text string) error {
	var bad fault.Fields
	switch {
	case text == "":
		bad.Add("/text", "It must not be blank.")
	case strings.HasPrefix(text, "/"):
		bad.Add("/text", "It must not begin with a slash: the runtime takes that for a command. Begin with another character.")
	case stops(text):
		bad.Add("/text", "The runtime takes that for a command to stop, and does not tell the agent. To stop the session, use its route stop; to tell the agent, say more.")
	}
	return bad.Err()
}

// stops says whether the runtime takes a text for a command to stop (OpenClaw
// 2026.9.6). It has words for that in twelve languages.
func stops(text string) bool {
	text = strings.ToLower(strings.NewReplacer("’", "'", "`", "'").Replace(text))
	text = strings.TrimSpace(strings.TrimRight(strings.Join(strings.Fields(text), " "), `.!?！？…,，。;；:：'"’”)]}`))
	return slices.Contains([]string{
		"stop", "esc", "abort", "exit", "interrupt", "halt", "pare", "stopp", "anhalten", "aufhören", "hoer auf",
		"detente", "deten", "detén", "arrete", "arrête", "停止", "停下来", "暂停", "やめて", "止めて", "रुको", "توقف",
		"стоп", "остановись", "останови", "остановить", "прекрати",
		"stop openclaw", "openclaw stop", "stop action", "stop current action", "stop run", "stop current run", "stop agent", "stop the agent",
		"stop don't do anything", "stop dont do anything", "stop do not do anything", "stop doing anything", "do not do that", "please stop", "stop please",
	}, text)
}

// unsent is the failure of a message. Where nobody knows whether the runtime has
// it, that is told, with how to find out.
func (s *Service) unsent(ctx context.Context, err error, key string, told map[string]any) error {
	if !errors.Is(err, gateway.ErrUnsure) {
		return err
	}
	noted := s.recordDoubt(ctx, "session.message_sent", key, told)
	if f := fault.Of(err); f != nil {
		err = f.With("%s The message may have been sent. Send the same request again with the same Idempotency-Key, which sends it once; without a key, look for this run_id in the session's messages first.", f.Detail).
			Fact("maybe_sent", true).Fact("run_id", told["run_id"])
	}
	return errors.Join(err, noted)
}

// recordDoubt tells of what somebody did to a session when nobody knows whether
// the runtime has done it, also when whoever asked has left.
func (s *Service) recordDoubt(ctx context.Context, kind, key string, data map[string]any) error {
	data["confirmed"] = false
	ctx = context.WithoutCancel(ctx)
	return s.DB.Tx(ctx, func(tx *db.Tx) error { return s.record(ctx, tx, kind, key, data) })
}

// Stop ends a run of a session, or with an empty runID all that are going or
// wait there. With nothing to end it ends nothing, which is no failure.
func (s *Service) Stop(ctx context.Context, key, runID string) (Stopped, error) {
	runID = plaintext.Line(runID)
	if _, err := s.Get(ctx, key); err != nil {
		return Stopped{}, err
	}
	ids, err := s.Controls.StopSession(ctx, key, runID)
	if len(ids) > 0 { // also where others could not be stopped
		ctx := context.WithoutCancel(ctx) // whoever stopped it may have left
		noted := s.DB.Tx(ctx, func(tx *db.Tx) error {
			return s.record(ctx, tx, "session.stopped", key, map[string]any{"run_ids": ids, "confirmed": true})
		})
		if noted != nil {
			return Stopped{}, errors.Join(err, fmt.Errorf("note that a session was stopped: %w", noted))
		}
	}
	switch {
	case err != nil && len(ids) > 0:
		return Stopped{}, partly(err, ids)
	case errors.Is(err, gateway.ErrUnsure):
		return Stopped{}, s.unstopped(ctx, err, key, runID)
	case err != nil:
		return Stopped{}, err
	}
	return Stopped{Stopped: len(ids) > 0, RunIDs: ids}, nil
}

// partly is the failure of a stop that has ended some of the runs.
func partly(err error, ids []string) error {
	if f := fault.Of(err); f != nil {
		return f.With("%d of its runs were stopped, and what else goes on there was not, as far as is known. %s", len(ids), f.Detail).Fact("run_ids", ids)
	}
	return err
}

// unstopped is the failure of a stop of which nobody knows whether it was done.
func (s *Service) unstopped(ctx context.Context, err error, key, runID string) error {
	ids := []string{}
	if runID != "" {
		ids = append(ids, runID)
	}
	noted := s.recordDoubt(ctx, "session.stopped", key, map[string]any{"run_ids": ids})
	if f := fault.Of(err); f != nil {
		err = f.With("%s It may have been stopped. Read the session: it says whether a run is going. To stop again does no harm.", f.Detail).Fact("maybe_stopped", true)
	}
	return errors.Join(err, noted)
}
