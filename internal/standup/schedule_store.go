package standup

import (
	"context"
	"encoding/json"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const scheduleColumns = `job, present, service_url, checked_to, checked_day, seen_at, version`

// findSchedule returns a team's job as last seen in the runtime. If no job was ever seen, the result's Version is 0.
func findSchedule(ctx context.Context, q db.Queryer, team string) (seenJob, error) {
	var r seenJob
	var definition string
	err := q.QueryRow(ctx, `SELECT `+scheduleColumns+` FROM standup_schedules WHERE team = ?`, team).Scan(r.fields(&definition)...)
	if db.IsNotFound(err) {
		return seenJob{}, nil
	}
	if err != nil {
		return seenJob{}, err
	}
	return r, json.Unmarshal([]byte(definition), &r.Job)
}

func (r *seenJob) fields(definition *string) []any {
	return []any{definition, &r.Present, &r.ServiceURL, &r.CheckedTo, &r.CheckedDay, &r.SeenAt, &r.Version}
}

// teamSchedule is a team and the team's job as last seen in the runtime.
type teamSchedule struct {
	team Team
	seenJob
}

// teamSchedules returns the schedules of all teams. Archived teams are included. For a team without
// a schedule, Version is 0.
func (s *Service) teamSchedules(ctx context.Context) ([]teamSchedule, error) {
	var all []teamSchedule
	err := s.DB.View(ctx, func(q db.Queryer) error {
		seen := map[string]seenJob{}
		rows, err := q.Query(ctx, `SELECT team, `+scheduleColumns+` FROM standup_schedules`)
		_, err = db.All(rows, err, func(row db.Row) (r seenJob, err error) {
			var team, definition string
			if err := row.Scan(append([]any{&team}, r.fields(&definition)...)...); err != nil {
				return r, err
			}
			err = json.Unmarshal([]byte(definition), &r.Job)
			seen[team] = r
			return r, err
		})
		if err != nil {
			return err
		}
		rows, err = q.Query(ctx, `SELECT `+teamColumns+` FROM teams ORDER BY key`)
		all, err = db.All(rows, err, func(row db.Row) (teamSchedule, error) {
			t, err := scanTeam(row)
			return teamSchedule{s.effective(t), seen[t.Key]}, err
		})
		return err
	})
	return all, err
}

func putSchedule(ctx context.Context, tx *db.Tx, team string, r seenJob) error {
	definition, err := json.Marshal(r.Job)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO standup_schedules (team, job, present, service_url, checked_to, checked_day, seen_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team) DO UPDATE SET job = excluded.job, present = excluded.present, service_url = excluded.service_url,
			checked_to = excluded.checked_to, checked_day = excluded.checked_day, seen_at = excluded.seen_at, version = excluded.version`,
		team, string(definition), r.Present, r.ServiceURL, r.CheckedTo, r.CheckedDay, r.SeenAt, r.Version)
	return err
}

// skipMissed marks a team's schedule as checked up to the given time, so that no standup before
// that time is treated as missed.
func skipMissed(ctx context.Context, tx *db.Tx, team string, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE standup_schedules SET checked_to = ?, version = version + 1 WHERE team = ?`, clock.At(now), team)
	return err
}
