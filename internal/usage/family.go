package usage

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
)

// family says of sessions, by their keys in small letters, which others made them.
type family map[string]string

func familyOf(rows []gateway.Session) family {
	f := family{}
	for i := range rows {
		if rows[i].ParentKey != "" {
			f[strings.ToLower(rows[i].Key)] = strings.ToLower(rows[i].ParentKey)
		}
	}
	return f
}

// generations is how far back is looked for what a sub-agent works for. The
// runtime lets agents start others five deep, where nobody sets it otherwise (OpenClaw 2026.9.6).
const generations = 5

// purpose is the task, or the timed job, that a session is for, or one of those
// that it comes from; both are empty when there is none.
func (f family) purpose(key string) (task, job string) {
	key = strings.ToLower(key)
	for range generations + 1 {
		place, detail := placeOf(key)
		detail, _, _ = strings.Cut(detail, ":")
		switch place {
		case "task":
			return strings.ToUpper(detail), ""
		case "cron":
			return "", detail
		case "subagent":
			key = f[key]
		default:
			return "", ""
		}
	}
	return "", ""
}

// placeOf are the parts of a session's key after the agent, such as "task" and
// "task-7:2" of "agent:cto:task:task-7:2"; empty for keys of another shape.
func placeOf(key string) (place, detail string) {
	rest, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return "", ""
	}
	_, name, _ := strings.Cut(rest, ":")
	place, detail, _ = strings.Cut(name, ":")
	return place, detail
}

// serve files a run that another agent's asked for under the task or the job that
// the other one worked for: from is the session that asked.
func (r *Run) serve(from string, f family) {
	if r.Source != SubAgent || r.TaskKey != "" || r.JobID != "" {
		return
	}
	r.TaskKey, r.JobID = f.purpose(from)
}

// servedIn is what the runs of a transcript were for, when all of them were for
// the same.
func servedIn(ctx context.Context, q db.Queryer, sessionID string) (task, job string, err error) {
	var lastTask, lastJob string
	err = q.QueryRow(ctx, `
		SELECT COALESCE(MIN(task_key), ''), COALESCE(MAX(task_key), ''), COALESCE(MIN(job_id), ''), COALESCE(MAX(job_id), '') FROM usage_ledger
		WHERE session_id = ? AND kind = 'run'`, sessionID).Scan(&task, &lastTask, &job, &lastJob)
	if err != nil {
		return "", "", fmt.Errorf("find what %s was for: %w", sessionID, err)
	}
	if task != lastTask || job != lastJob {
		return "", "", nil
	}
	return task, job, nil
}
