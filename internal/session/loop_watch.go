package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// watchedTurns is how many turns are searched for loops each time, so that the time does not grow
// with the run.
const watchedTurns = 32

// WatchLoops raises an inbox item for each shape of loop in the run in progress, and resolves the
// items when the run has ended. The turns are those of the run. It belongs in the transaction that
// stores how far the transcript has been read, so that a loop is never missed.
func (s *Service) WatchLoops(ctx context.Context, tx *db.Tx, of *gateway.Session, turns []gateway.Turn) error {
	ctx = actor.With(ctx, actor.System)
	about := event.Subject{Kind: event.TopicSession, ID: of.Key, Name: of.Key}
	if !of.Active {
		return s.Inbox.ResolveAbout(ctx, tx, of.Key, "The run has ended.", inbox.Loop)
	}
	for _, l := range loopsIn(turns[max(0, len(turns)-watchedTurns):]) {
		err := s.Inbox.Raise(ctx, tx, inbox.NewItem{
			Cause: l.cause(of.Key), Once: true, Kind: inbox.Loop, Severity: inbox.Urgent, Subject: about,
			At:     turns[len(turns)-1].At.Time,
			Run:    &inbox.Run{SessionKey: of.Key, RunID: l.runID},
			Title:  account.AgentName(ctx, tx, of.AgentID) + "'s run repeats itself",
			Detail: l.say() + " Check the session and stop the run if it makes no progress.",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cause identifies the loop by its session and its shape.
func (l loop) cause(sessionKey string) string {
	sum := sha256.Sum256([]byte(sessionKey))
	return "loop/" + string(l.shape) + "/" + hex.EncodeToString(sum[:])
}
