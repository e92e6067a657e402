package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

// RunTask is the task that each run of a job makes for the job's agent.
type RunTask struct {
	Title       string `json:"title" maxLength:"1000" doc:"At most 500 characters."`
	Description string `json:"description,omitempty" maxLength:"20000" doc:"Markdown."`
	Priority    string `json:"priority,omitempty" enum:"low,medium,high,urgent" default:"medium"`
}

// checked returns the task without hidden characters and surrounding spaces, and adds validation errors to bad.
func (t RunTask) checked(bad *fault.Fields) RunTask {
	var wrong string
	t.Description = strings.TrimSpace(plaintext.Lines(t.Description))
	if t.Title, wrong = label.Clean(t.Title, maxTaskTitle); wrong != "" {
		bad.Add("/task/title", "%s", wrong)
	}
	if t.Priority == "" {
		t.Priority = "medium"
	}
	return t
}

const maxTaskTitle = 500 // characters, as on the board

// putTask stores the task that each later run of a job makes; nil for none.
func putTask(ctx context.Context, tx *db.Tx, id string, t *RunTask, now time.Time) error {
	var text *string
	if t != nil {
		data, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("encode the task of a job: %w", err)
		}
		text = new(string(data))
	}
	_, err := tx.Exec(ctx,
		`UPDATE schedule_jobs SET task_after = CASE WHEN task IS NULL THEN ? ELSE task_after END, task = ? WHERE id = ?`, now,
		text, id)
	return err
}

// claimRun reports whether the task of the run that started at the given time is still to be made, and
// records that it is being made. Only one process gets true.
func claimRun(ctx context.Context, tx *db.Tx, id string, started clock.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE schedule_jobs SET task_after = ? WHERE id = ? AND task IS NOT NULL AND task_after < ?`,
		started, id, started)
	return n > 0, err
}

// jobsWithTask returns the jobs whose runs make tasks.
func jobsWithTask(ctx context.Context, q db.Queryer) ([]mirroredJob, error) {
	rows, err := q.Query(ctx, `SELECT `+jobColumns+` FROM schedule_jobs WHERE task IS NOT NULL ORDER BY id`)
	return db.All(rows, err, scanJob)
}

// makeTasks makes the tasks of the runs that a snapshot contains and no earlier one did, finished or
// in progress. A run that the runtime skipped makes none.
func (s *Service) makeTasks(ctx context.Context, tx *db.Tx, seen snapshot) error {
	jobs, err := jobsWithTask(ctx, tx)
	if err != nil {
		return err
	}
	for _, w := range jobs {
		for _, at := range seen.starts(w.job.ID, w.taskAfter) {
			mine, err := claimRun(ctx, tx, w.job.ID, at)
			if err != nil {
				return err
			}
			if !mine {
				continue
			}
			n := task.New{
				Title: w.task.Title, Description: w.task.Description, Priority: task.Priority(w.task.Priority),
				Origin: TaskOrigin(w.job.ID),
			}
			_, err = s.Tasks.CreateForAgent(ctx, tx, n, w.job.AgentID)
			if fault.Of(err) != nil { // must not stop the mirror
				s.Log.WarnContext(ctx, "could not make the task of a scheduled run",
					slog.String("job_id", w.job.ID), slog.Any("err", err))
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// TaskOrigin returns the origin of the tasks that a job's runs make.
func TaskOrigin(jobID string) string { return "job:" + jobID }

// starts returns when the runs of a job started after the given time, earliest first.
func (s snapshot) starts(jobID string, after *clock.Time) []clock.Time {
	var all []clock.Time
	for _, r := range s.runs {
		if r.JobID == jobID && r.Status != "skipped" {
			all = append(all, r.StartedAt)
		}
	}
	for _, j := range s.jobs {
		if at := j.State.RunningAt; j.ID == jobID && at != nil {
			all = append(all, *at)
		}
	}
	all = slices.DeleteFunc(all, func(at clock.Time) bool { return after != nil && !at.After(after.Time) })
	slices.SortFunc(all, func(a, b clock.Time) int { return a.Compare(b.Time) })
	return all
}
