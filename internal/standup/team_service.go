package standup

import (
	"context"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
)

// CreateTeam makes a team. Its key is taken for good: ErrTeamKey.
func (s *Service) CreateTeam(ctx context.Context, n NewTeam) (Team, error) {
	var t Team
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		t, err = once.Do(ctx, tx, s.Now(), s.findTeam, func(t Team) string { return t.ID }, func() (Team, error) {
			made, err := s.makeTeam(n, db.NewID(), s.Now())
			if err != nil {
				return Team{}, err
			}
			if err := insertTeam(ctx, tx, made); err != nil {
				return Team{}, err
			}
			data := map[string]any{"name": made.Name, "facilitator": made.Facilitator, "participants": made.Participants}
			return made, s.recordTeam(ctx, tx, made, "team.created", data)
		})
		return err
	})
	if err != nil {
		return Team{}, fmt.Errorf("create team: %w", err)
	}
	return t, nil
}

// Team returns a team by its id or its key, in any case, as it holds a standup
// now: what nobody has given it is as in the settings.
func (s *Service) Team(ctx context.Context, ref string) (Team, error) {
	return s.findTeam(ctx, s.DB, ref)
}

// Teams returns one page of those in the archive, or of those that are not, by
// their key.
func (s *Service) Teams(ctx context.Context, archived bool, want page.Want) (page.Part[Team], error) {
	var part page.Part[Team]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		part, err = teams.Read(ctx, q, whereArchived(archived), want)
		return err
	})
	for i, t := range part.Rows {
		part.Rows[i] = s.effective(t)
	}
	return part, err
}

// UpdateTeam makes a partial change. With a version it is refused with
// ErrTeamChanged when the team has moved on. A change that changes nothing
// leaves no trace. Standups that are open already keep who is asked in them;
// new limits count from the next start of a meeting on.
func (s *Service) UpdateTeam(ctx context.Context, ref string, c TeamChange, version *int64) (Team, error) {
	var t Team
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		t, err = s.updateTeam(ctx, tx, ref, c, version)
		return err
	})
	if err != nil {
		return Team{}, fmt.Errorf("update team: %w", err)
	}
	return t, nil
}

func (s *Service) updateTeam(ctx context.Context, tx *db.Tx, ref string, c TeamChange, version *int64) (Team, error) {
	if err := tx.Lock(ctx, "teams"); err != nil {
		return Team{}, err
	}
	was, err := s.findTeam(ctx, tx, ref)
	if err != nil {
		return Team{}, err
	}
	if version != nil && *version != was.Version {
		return Team{}, ErrTeamChanged.With("It is at version %d now. Read it again and repeat the change.", was.Version).
			Fact("current_version", was.Version)
	}
	var bad fault.Fields
	t := s.apply(was, c, s.Now(), &bad)
	if err := bad.Err(); err != nil {
		return Team{}, err
	}
	if t.Key == Executive && t.ArchivedAt != nil {
		return Team{}, ErrTeamKept.With("It is the one that is meant where none is named. Change who is in it instead.")
	}
	changes := t.changes(was)
	if len(changes) == 0 {
		return was, nil
	}
	t.Version, t.UpdatedAt = was.Version+1, clock.At(s.Now())
	if err := updateTeamRow(ctx, tx, t); err != nil {
		return Team{}, err
	}
	if was.ArchivedAt != nil && t.ArchivedAt == nil {
		if err := skipMissed(ctx, tx, t.Key, s.Now()); err != nil {
			return Team{}, err
		}
	}
	return t, s.recordTeam(ctx, tx, t, "team.changed", map[string]any{"changes": changes})
}

// recordTeam notes in the log what happened to t. Nothing else may be written
// after it.
func (s *Service) recordTeam(ctx context.Context, tx *db.Tx, t Team, kind string, data map[string]any) error {
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, event.Subject{Kind: "team", ID: t.ID, Name: t.Key}, data)
}
