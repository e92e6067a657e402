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

// CreateTeam creates a team. It fails with ErrTeamKey if another team has the same key,
// even if that team is archived.
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

// Team returns the team with the given id or key, ignoring case. Fields that the team does
// not override have the values from the settings.
func (s *Service) Team(ctx context.Context, ref string) (Team, error) {
	return s.findTeam(ctx, s.DB, ref)
}

// FindTeam is like Team, in the caller's transaction.
func (s *Service) FindTeam(ctx context.Context, q db.Queryer, ref string) (Team, error) {
	return s.findTeam(ctx, q, ref)
}

// Teams returns one page of either the archived or the active teams, sorted by key.
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

// UpdateTeam changes a team. If a version is given and the team has a different one, UpdateTeam
// fails with ErrTeamChanged. No event is recorded if nothing changes. Standups that are already
// open keep their participants. New time limits apply the next time a standup starts.
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
	was, err := s.findTeam(ctx, tx, ref)
	if err != nil {
		return Team{}, err
	}
	if version != nil && *version != was.Version {
		return Team{}, ErrTeamChanged.With("The team is now at version %d. Read it again and retry the change.", was.Version).
			Fact("current_version", was.Version)
	}
	var bad fault.Fields
	t := s.apply(was, c, s.Now(), &bad)
	if err := bad.Err(); err != nil {
		return Team{}, err
	}
	if t.Key == Executive && t.ArchivedAt != nil {
		return Team{}, ErrTeamKept.With("The executive team is the default team. Change its members instead.")
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

// recordTeam records an event about a team.
func (s *Service) recordTeam(ctx context.Context, tx *db.Tx, t Team, kind string, data map[string]any) error {
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, event.Subject{Kind: "team", ID: t.ID, Name: t.Key}, data)
}
