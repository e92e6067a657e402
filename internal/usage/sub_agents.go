package usage

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
)

// parents maps the key of each session to the key of the session that started it,
// both in lower case.
type parents map[string]string

func parentsOf(rows []gateway.Session) parents {
	f := parents{}
	for i := range rows {
		if rows[i].ParentKey != "" {
			f[strings.ToLower(rows[i].Key)] = strings.ToLower(rows[i].ParentKey)
		}
	}
	return f
}

// generations limits how many ancestors of a sub-agent's session are followed. By default the
// runtime lets agents nest sub-agents five deep (OpenClaw 2026.9.6).
const generations = 5

// purpose returns the task or the scheduled job for which a session works. A sub-agent's session
// works for the same task or job as its parent session. If a session works for neither, both
// results are empty.
func (f parents) purpose(key string) (task, job string) {
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

// placeOf returns the parts of a session key that follow the agent's ID, such as "task" and
// "task-7:2" for "agent:cto:task:task-7:2". Both are empty for other formats.
func placeOf(key string) (place, detail string) {
	rest, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return "", ""
	}
	_, name, _ := strings.Cut(rest, ":")
	place, detail, _ = strings.Cut(name, ":")
	return place, detail
}

// inheritPurpose sets the task or job of a run that another agent started, unless it is set
// already. The run inherits it from the given session or from one of that session's ancestors.
func (r *Run) inheritPurpose(from string, f parents) {
	if r.Source != SubAgent || r.TaskKey != "" || r.JobID != "" {
		return
	}
	r.TaskKey, r.JobID = f.purpose(from)
}

// commonPurpose returns the task and the job that a transcript's runs work for, if they are the
// same for all runs.
func commonPurpose(ctx context.Context, q db.Queryer, sessionID string) (task, job string, err error) {
	var lastTask, lastJob string
	err = q.QueryRow(ctx, `
		SELECT COALESCE(MIN(task_key), ''), COALESCE(MAX(task_key), ''), COALESCE(MIN(job_id), ''), COALESCE(MAX(job_id), '') FROM usage_ledger
		WHERE session_id = ? AND runs > 0`, sessionID).Scan(&task, &lastTask, &job, &lastJob)
	if err != nil {
		return "", "", fmt.Errorf("find the task or job of %s: %w", sessionID, err)
	}
	if task != lastTask || job != lastJob {
		return "", "", nil
	}
	return task, job, nil
}
