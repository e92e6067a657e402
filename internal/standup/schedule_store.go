package standup

import (
	"context"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const recordColumns = `job_id, service_url, checked_to, checked_day`

// findRecord returns the record of a team's job. If there is none, the result is zero.
func findRecord(ctx context.Context, q db.Queryer, team string) (r jobRecord, err error) {
	err = q.QueryRow(ctx, `SELECT `+recordColumns+` FROM standup_schedules WHERE team = ?`, team).Scan(r.fields()...)
	if db.IsNotFound(err) {
		return jobRecord{}, nil
	}
	return r, err
}

func (r *jobRecord) fields() []any {
	return []any{&r.JobID, &r.ServiceURL, &r.CheckedTo, &r.CheckedDay}
}

// teamRecord is a team with the record of its job.
type teamRecord struct {
	team Team
	jobRecord
}

// teamRecords returns all teams that are not archived, with the records of their jobs.
func (s *Service) teamRecords(ctx context.Context, q db.Queryer) ([]teamRecord, error) {
	records := map[string]jobRecord{}
	rows, err := q.Query(ctx, `SELECT team, `+recordColumns+` FROM standup_schedules`)
	if _, err = db.All(rows, err, func(row db.Row) (r jobRecord, err error) {
		var team string
		err = row.Scan(append([]any{&team}, r.fields()...)...)
		records[team] = r
		return r, err
	}); err != nil {
		return nil, err
	}
	rows, err = q.Query(ctx, `SELECT `+teamColumns+` FROM teams WHERE archived_at IS NULL ORDER BY key`)
	return db.All(rows, err, func(row db.Row) (teamRecord, error) {
		t, err := scanTeam(row)
		return teamRecord{s.effective(t), records[t.Key]}, err
	})
}

func putRecord(ctx context.Context, tx *db.Tx, team string, r jobRecord) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO standup_schedules (team, job_id, service_url, checked_to, checked_day) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (team) DO UPDATE SET job_id = excluded.job_id, service_url = excluded.service_url,
			checked_to = excluded.checked_to, checked_day = excluded.checked_day`,
		team, r.JobID, r.ServiceURL, r.CheckedTo, r.CheckedDay)
	return err
}

// skipMissed marks a team's slots as checked up to the given time, so that no standup before that time is treated as
// missed.
func skipMissed(ctx context.Context, tx *db.Tx, team string, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE standup_schedules SET checked_to = ? WHERE team = ?`, clock.At(now), team)
	return err
}
