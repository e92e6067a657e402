package year

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
)

// fixed returns the tables that do not grow with use.
func (w writer) fixed() []table {
	long := w.at("i + 40000000")
	const human = agents
	rows := func(n int) func(Size) int { return func(Size) int { return n } }
	isAgent := fmt.Sprintf(`i < %d`, human)
	return []table{
		{"users", rows(users), columns(
			"id", userID("i", users), "email", `'u-' || i || '@example.com'`, "email_key", `'u-' || i || '@example.com'`,
			"name", `'Person ' || i`, "name_key", `'person ' || i`,
			"role", `CASE WHEN `+isAgent+` THEN 'agent' WHEN i % 10 = 0 THEN 'admin' ELSE 'user' END`,
			"agent_id", when(isAgent, `'agent-' || i`), "active", isAgent+` OR i % 21 > 0`,
			"password_hash", `'`+w.plan.PasswordHash+`'`, "created_at", long, "updated_at", long, "version", `1`,
		)},
		{"api_keys", rows(2 * agents), columns(
			"id", `'key-' || i`, "user_id", userID("i", agents), "name", `'Key'`, "digest", `'digest-' || i`, "hint", `'wr…'`, "created_at", long,
		)},
		{"projects", rows(projects), columns(
			"id", `'p-' || i`, "key", `'P' || i`, "name", `'Project'`, "description", `''`, "created_at", long, "updated_at", long, "version", `1`,
		)},
		{"teams", rows(10), columns(
			"id", `'team-id-' || i`, "key", `'team-' || i`, "name", `'Team'`, "facilitator", `'coo'`, "participants", `'["cto","cpo"]'`,
			"created_at", long, "updated_at", long, "version", `1`,
		)},
	}
}

// tables returns the tables that grow with use.
func (w writer) tables() []table {
	full := w.plan.Full
	others := func(s Size) int { return s.Others }
	old, today := age(full.Others), w.at(`i % 3600`) // the service soon deletes some of these rows
	all := []table{w.tasks()}
	all = append(all, w.aroundTasks()...)
	all = append(all, w.events())
	all = append(all, w.standups()...)
	all = append(all, w.sessions()...)
	all = append(all, w.usage()...)
	all = append(all, w.words()...)
	return append(all, []table{
		{"inbox_items", others, columns(
			"id", `'i-' || i`, "cause", `'cause-' || i`, "kind", pick("i", `'escalation'`, `'standup_failed'`, `'job_failed'`, `'task_blocked'`),
			"severity", pick("i / 4", `'urgent'`, `'high'`, `'medium'`, `'low'`), "urgency", `i / 4 % 4`, "title", `'Item ' || i`, "detail", `''`,
			"subject_kind", `'task'`, "subject_id", taskID("i"), "subject_name", taskKey("i"), "count", `1`, "first_at", w.at(old), "last_at", w.at(old),
			"state", `CASE WHEN i >= 60 THEN 'resolved' WHEN i % 3 = 0 THEN 'snoozed' WHEN i % 3 = 1 THEN 'acked' ELSE 'open' END`,
			"snoozed_until", when(`i < 60 AND i % 3 = 0`, w.at(`-86400`)), "assignee_id", when(`i % 3 = 0`, userID("i", users)),
			"resolved_at", when(`i >= 60`, w.at(old)), "resolver_id", when(`i >= 60`, `'system'`), "resolver_name", when(`i >= 60`, `'Wardroom'`),
			"resolution", when(`i >= 60`, `''`), "version", `1`,
		)},
		{"approvals", others, columns(
			"id", `'approval-' || i`, "kind", `CASE WHEN i % 3 = 0 THEN 'question' ELSE 'exec' END`, "question", `i % 3 = 0`,
			"state", `CASE WHEN i < 20 THEN 'pending' WHEN i % 3 = 0 THEN 'answered' ELSE 'allowed' END`, "agent_id", agentID("i"),
			"session_key", `'agent:cto:task:task-' || i`, "run_id", `''`, "task_key", taskKey("i"), "command", `CASE WHEN i % 3 = 0 THEN '' ELSE 'command-' || (i % 53) END`,
			"body", `'{"parts": [{"id": "place", "text": "Where?"}]}'`, "shown", `'digest'`, "created_at", w.at(old), "expires_at", w.at(old), "decision", `CASE WHEN i < 20 OR i % 3 = 0 THEN '' ELSE 'allow-once' END`,
			"answers", `'{}'`, "decider_id", `''`, "decider_name", `'Person'`, "decider_role", `''`, "ended_at", when(`i >= 20`, w.at(old)),
		)},
		{"jobs", others, columns(
			"id", `'job-' || i`, "kind", pick("i", `'standup'`, `'dispatch'`), "key", `'key-' || i`, "payload", `'{}'`,
			"state", `CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'done' END`, "run_at", w.at(old), "attempt", `1`, "failures", `0`,
			"created_at", w.at(old), "finished_at", today,
		)},
		{"job_steps", others, columns("job_id", `'job-' || i`, "name", `'step'`, "result", `'{}'`, "done_at", w.at(old))},
		{"idempotency_keys", others, columns("name", `'name-' || i`, "digest", `'d'`, "made", `'m'`, "at", today)},
		{"login_failures", others, columns("subject", `'subject-' || i`, "failures", `1`, "last_at", w.at(`i % 60`))},
		{"schedule_runs", others, columns(
			"job_id", `'cron-' || (i % 100)`, "started_at", w.at(old), "ended_at", w.at(old), "run_id", `'cron-run-' || i`, "session_key", `''`,
			"status", pick("i", `'ok'`, `'ok'`, `'ok'`, `'error'`), "error", `''`, "summary", `''`, "manual", `FALSE`,
		)},
		{"schedule_slots", others, columns(
			"job_id", `'cron-' || (i % 100)`, "due_at", w.at(old), "agent_id", agentID("i"), "name", `'Job'`, "spread", `0`, "deadline_at", w.at(old),
			"state", `CASE WHEN i % 97 = 0 THEN 'missed' WHEN i % 89 = 0 THEN 'failed' ELSE 'on_time' END`, "reason", `''`, "judged_at", w.at(old), "settled", `TRUE`,
		)},
	}...)
}

func taskID(n string) string  { return fmt.Sprintf(`'t-' || (%d - (%s))`, firstTask, n) }
func taskKey(n string) string { return fmt.Sprintf(`'TASK-' || (%d - (%s))`, firstTask, n) }

// userID returns an SQL expression for an account's ID. The account's index is n modulo among; n is itself an SQL
// expression.
func userID(n string, among int) string {
	return fmt.Sprintf(`'`+userPrefix+`' || (100 + (%s) %% %d)`, n, among)
}

// agentID returns an SQL expression for the ID of the agent whose index is n modulo the number of
// agents. n is an SQL expression, too.
func agentID(n string) string {
	return fmt.Sprintf(`CASE (%s) %% %d WHEN 0 THEN 'coo' WHEN 1 THEN 'cto' WHEN 2 THEN 'cpo' WHEN 3 THEN 'cmo' ELSE 'a-' || ((%s) %% %d) END`, n, agents, n, agents)
}

// SQL conditions for the state of task i. Most tasks are done, half of the done tasks
// are archived, and 40 of the newest tasks are blocked.
const (
	isBacklog  = `i % 20 = 0`
	isTodo     = `i % 20 = 1`
	isProgress = `i % 100 = 12`
	isReview   = `i % 100 = 3`
	isDone     = `(i % 20 > 1 AND i % 100 <> 12 AND i % 100 <> 3)`
	isArchived = `(` + isDone + ` AND i % 2 = 0)`
	isBlocked  = `(i < 1600 AND i % 40 = 1)`
	isClaimed  = `(i < 1000 AND ` + isProgress + `)`
)

func (w writer) tasks() table {
	old := age(w.plan.Full.Tasks)
	made := w.at(old)
	due := `(CASE WHEN i % 3 = 0 THEN ` + w.micros(old+` - 2000000`) + ` ELSE 253402300800000000 END)`
	number := fmt.Sprintf(`(%d - i)`, firstTask)
	all := columns(
		"id", taskID("i"), "number", number, "title", `'Look into report ' || i || ' of the import'`,
		"search", `'task-' || `+number+` || ' look into report ' || i || ' of the import'`,
		"description", `'Row ' || i || ' did not arrive. The nightly run says that it has read everything; the table says otherwise.'`,
		"status", `CASE WHEN `+isBacklog+` THEN 'backlog' WHEN `+isTodo+` THEN 'todo' WHEN `+isProgress+` THEN 'in_progress' WHEN `+isReview+` THEN 'review' ELSE 'done' END`,
		"priority", pick("i / 3", `'low'`, `'medium'`, `'high'`, `'urgent'`), "priority_rank", `i / 3 % 4`, "type", pick("i", `'task'`, `'bug'`, `'feature'`),
		"tags", `'["tag-' || (i % 53) || '"]'`, "assignee_id", when(`i % 7 > 0`, userID("i / 7", agents)), "reporter_id", userID("i / 2", users),
		"blocked_reason", when(isBlocked, `'waits'`), "blocked_since", when(isBlocked, made), "blocked_by", when(isBlocked, `'CTO'`),
		"due_at", when(`i % 3 = 0`, w.at(old+` - 2000000`)), "due_rank", due,
		"urgency", `(3 - i / 3 % 4) * 1000000000000000000 + 100000000000000000 + `+due, "position", `SUBSTR('000000000000' || `+number+`, LENGTH('' || `+number+`) + 1)`,
		"done_at", when(isDone, made), "archive_from", when(isDone, made), "archived_at", when(isArchived, made),
		"project_id", when(`i % 11 < 3`, fmt.Sprintf(`'p-' || (i / 11 %% %d)`, projects)),
		"claim_by", when(isClaimed, userID("1", users)), "claim_name", when(isClaimed, `'CTO'`), "claim_until", when(isClaimed, w.at(`-86400`)), "claim_seq", `i % 2`,
		"depends_on", `''`, "comment_count", `1`, "criteria", `'[]'`, "checks", `'[]'`,
		"moved_at", made, "created_at", made, "updated_at", made, "version", `1`,
	)
	all = append(all, column{"card", w.json(board, all)}, column{"rest", w.json(rest, all)})
	return table{"tasks", func(s Size) int { return s.Tasks }, all}
}

// JSON as internal/task/card.go stores it with a task. $name stands for a value as in writer.field.
const (
	board = `{"id":$id,"key":"TASK-$number","title":$title,"status":$status,"priority":$priority,"type":$type,"tags":$tags,` +
		`"assignee_id":$assignee_id,"project_id":$project_id,"waiting_on":0,"blocked":$blocked,"claim":$claim,"cost_usd":null,"cost_complete":null,` +
		`"due_at":$due,"archived_at":$archived,"moved_at":$made,"position":$position,"comment_count":1,"version":1}`
	rest = `{"description":$description,"reporter_id":$reporter_id,"parent_id":null,"depends_on":[],"session_key":null,"branch":null,"pr_url":null,` +
		`"dispatch":null,"tokens":null,"origin":null,"criteria":[],"checks":[],"started_at":null,"done_at":$done,"created_at":$made,"updated_at":$made}`
	blocked = `{"reason":"waits","since":$made,"by":"CTO"}`
	claim   = `{"by":$claim_by,"name":"CTO","expires_at":$until}`
)

// json returns an SQL expression for JSON with the values of a task's columns.
func (w writer) json(template string, of []column) string {
	return `'` + os.Expand(template, func(name string) string { return `' || ` + w.field(name, of) + ` || '` }) + `'`
}

// field returns an SQL expression for a value in JSON: an object, a time, or the value of a column.
func (w writer) field(name string, of []column) string {
	quoted := func(text string) string { return `COALESCE('"' || (` + text + `) || '"', 'null')` }
	made := age(w.plan.Full.Tasks)
	switch name {
	case "blocked":
		return `COALESCE(` + when(isBlocked, w.json(blocked, of)) + `, 'null')`
	case "claim":
		return `COALESCE(` + when(isClaimed, w.json(claim, of)) + `, 'null')`
	case "made":
		return quoted(w.iso(made))
	case "due":
		return quoted(when(`i % 3 = 0`, w.iso(made+` - 2000000`)))
	case "done":
		return quoted(when(isDone, w.iso(made)))
	case "archived":
		return quoted(when(isArchived, w.iso(made)))
	case "until":
		return quoted(w.iso(`-86400`))
	}
	value := of[slices.IndexFunc(of, func(c column) bool { return c.name == name })].value
	if name == "number" || name == "tags" {
		return `(` + value + `)`
	}
	return quoted(value)
}

func (w writer) aroundTasks() []table {
	made := w.at(age(w.plan.Full.Tasks))
	tasks := func(s Size) int { return s.Tasks }
	number := fmt.Sprintf(`%d - i`, firstTask)
	return []table{
		{"task_tags", tasks, columns("tag", `'tag-' || (i % 53)`, "number", number)},
		{"task_dependencies", func(s Size) int { return s.Tasks / 10 }, columns("task_id", taskID("i * 10 + 1"), "depends_on_id", taskID("i * 10 + 2"))},
		{"comments", func(s Size) int { return min(s.Others, s.Tasks) }, columns(
			"id", `'c-' || i`, "task_id", taskID("i"), "author_id", userID("i", users), "author_name", `'Person'`,
			"body", `'Remark ' || i || ' on the import'`, "mentions", `'[]'`, "created_at", made, "version", `1`,
		)},
		{"dispatches", func(s Size) int { return min(s.Others, s.Tasks) }, columns(
			"id", `'d-' || i`, "task_id", taskID("i"), "task_key", taskKey("i"), "agent_id", agentID("i"), "user_id", userID("i", agents),
			"by_name", `'Person'`, "session_key", `''`, "first_number", `1`, "number", `1`, "run_id", `'dispatch-run-' || i`, "message", `''`,
			"state", `CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'ended' END`, "since", made, "sent", `TRUE`, "boot_id", `''`, "start_by", made,
			"error_code", when(`i % 50 = 0`, `'timed_out'`), "error_detail", when(`i % 50 = 0`, `''`), "created_at", made, "ended_at", made,
		)},
	}
}

func (w writer) events() table {
	full := w.plan.Full
	of := fmt.Sprintf(`(i * %d / %d)`, full.Tasks, full.Events) // the task that was current at that time
	return table{"events", func(s Size) int { return s.Events }, columns(
		"id", fmt.Sprintf(`%d - i`, firstEvent), "at", w.at(age(full.Events)),
		"class", `CASE WHEN i % 20 = 7 THEN 'audit' ELSE 'activity' END`,
		"kind", `CASE WHEN i % 20 = 7 THEN 'login.succeeded' WHEN i % 100 = 9 THEN 'inbox.raised' WHEN i % 100 = 10 THEN 'standup.opened' WHEN i % 100 = 11 THEN 'task.deleted' WHEN i % 5 = 0 THEN 'task.created' WHEN i % 9 = 0 THEN 'task.reported' ELSE 'task.changed' END`,
		"actor_id", `CASE WHEN i % 100 = 9 THEN 'system' ELSE `+userID("i / 3", agents)+` END`, "actor_name", `'CTO'`,
		"subject_kind", `CASE WHEN i % 20 = 7 THEN 'user' WHEN i % 100 = 9 THEN 'inbox' WHEN i % 100 = 10 THEN 'standup' ELSE 'task' END`,
		"subject_id", `CASE WHEN i % 20 = 7 THEN 'someone' WHEN i % 100 = 9 THEN 'i-' || i WHEN i % 100 = 10 THEN 's-' || i ELSE `+taskID(of)+` END`,
		"subject_name", `CASE WHEN i % 20 = 7 THEN 'someone' WHEN i % 100 = 9 THEN 'Item' WHEN i % 100 = 10 THEN 'Standup' ELSE `+taskKey(of)+` END`,
		"data", `'{}'`,
	)}
}

// perStandup is the number of reports in each standup. Each standup also has this many
// questions and transcript lines.
const perStandup = 8

func (w writer) standups() []table {
	full := w.plan.Full
	others := func(s Size) int { return s.Others }
	made := w.at(age(full.Others))
	met := w.at(age(max(full.Others/perStandup, 1)))
	ended := w.at(age(max(full.Others/10, 1))) // of a blocker
	id := fmt.Sprintf(`'s-' || (1000000 - i / %d)`, perStandup)
	agent := agentID(fmt.Sprintf(`i %% %d`, perStandup))
	return []table{
		{"standups", func(s Size) int { return s.Others / perStandup }, columns(
			"id", `'s-' || (1000000 - i)`, "team", `CASE WHEN i % 10 = 0 THEN 'executive' ELSE 'team-' || (i % 10) END`, "date", w.day("i / 10 + 1"), "timezone", `'UTC'`,
			"title", `'Standup'`, "status", `CASE WHEN i % 20 = 3 THEN 'error' ELSE 'completed' END`, "phase", `'closed'`, "facilitator", `'coo'`, "attempt", `1`,
			"trigger_kind", `'agent'`, "blockers", `'[]'`, "action_items", `'[]'`, "escalations", `'[]'`,
			"started_at", met, "completed_at", met, "created_at", met, "updated_at", met, "version", `1`,
		)},
		{"standup_reports", others, columns(
			"standup_id", id, "agent_id", agent, "place", fmt.Sprintf(`i %% %d`, perStandup), "name", `'Agent'`, "status", `'answered'`,
			"text", `'Yesterday: looked into report ' || i`, "evidence", `'{}'`, "claims", `'[]'`, "asked_at", made, "answered_at", made,
		)},
		{"standup_questions", others, columns(
			"run_id", `'question-run-' || i`, "standup_id", id, "agent_id", agent, "number", `1`, "purpose", `'report'`, "session_key", `''`, "boot_id", `''`,
			"message", `''`, "state", `'answered'`, "accepted", `TRUE`, "deadline_at", made, "asked_at", made, "ended_at", made,
		)},
		{"standup_transcript", others, columns(
			"standup_id", id, "seq", fmt.Sprintf(`i %% %d + 1`, perStandup), "at", made, "kind", `'note'`, "from_id", `'wardroom'`, "to_id", `'coo'`, "text", `'line'`,
		)},
		{"standup_blockers", func(s Size) int { return s.Others / 10 }, columns(
			"id", `'b-' || i`, "team", `'executive'`, "agents", `'["cto"]'`, "text", `'waits for number ' || i`, "task", fmt.Sprintf(`%d - i`, firstTask), "board", `'blocked'`,
			"first_seen", w.day("i + 2"), "last_seen", w.day("i + 1"), "days", `'[]'`, "status", `CASE WHEN i < 20 THEN 'open' ELSE 'ended' END`,
			"ended_at", when(`i >= 20`, ended), "standup_id", `'s-' || (1000000 - i)`, "created_at", ended, "updated_at", ended,
		)},
		{"standup_effects", func(s Size) int { return s.Others / perStandup }, columns(
			"standup_id", `'s-' || (1000000 - i)`, "seq", `1`, "kind", pick("i / 10", `'comment'`, `'escalation'`, `'task'`), "subject", taskKey("i"), "words", `'words'`,
			"team", `CASE WHEN i % 10 = 0 THEN 'executive' ELSE 'team-' || (i % 10) END`, "date", w.day("i / 10 + 1"), "at", met,
		)},
	}
}

func (w writer) sessions() []table {
	sessions := func(s Size) int { return s.Sessions }
	old := age(w.plan.Full.Sessions)
	made := w.at(old)
	emptyPart := `X'0300'`
	if w.engine == db.Postgres {
		emptyPart = `'\x0300'::bytea`
	}
	return []table{
		{"archive_sessions", sessions, columns(
			"id", sessionID("i"), "session_key", `'agent:a:' || i`, "transcript_id", transcriptID("i"), "agent_id", agentID("i"),
			"kind", pick("i / 20", `'main'`, `'custom'`, `'cron'`, `'subagent'`), "label", `'Session ' || i`, "status", `CASE WHEN i % 31 = 4 THEN 'failed' WHEN i % 301 = 5 THEN 'timeout' ELSE 'done' END`,
			"model", `'provider/model'`, "parent_key", `''`, "last_message", `'Done.'`, "active", `FALSE`, "began_at", made, "started_at", made, "ended_at", made, "last_at", made,
			"version", w.millis(old), "as_of", made, "present", `i < 20`, "ended", `'rests'`, "archived_at", made, "coverage", `'whole'`, "read_version", w.millis(old),
			"last_seq", `20`, "messages", `20`, "purged", `FALSE`,
		)},
		{"archive_parts", sessions, columns("session_id", sessionID("i"), "part", `0`, "first", `0`, "messages", `0`, "size", `0`, "data", emptyPart)},
		{"archive_texts", sessions, columns("session_id", sessionID("i"), "head", `'Session ' || i`, "tail", `''`)},
	}
}

func sessionID(n string) string    { return fmt.Sprintf(`'z-' || (9000000 - (%s))`, n) }
func transcriptID(n string) string { return fmt.Sprintf(`'x-' || (9000000 - (%s))`, n) }

// SessionID returns the ID of the i-th newest archived session.
func SessionID(i int) string { return fmt.Sprint("z-", 9_000_000-i) }

// LongSession is the index of a session that has one percent of all runs.
// SessionID(LongSession) returns its ID.
const LongSession = 5

func (w writer) usage() []table {
	full := w.plan.Full
	sessions := func(s Size) int { return s.Sessions }
	old := age(full.Runs)
	of := fmt.Sprintf(`(CASE WHEN i %% 100 = 50 THEN %d ELSE i * %d / %d END)`, LongSession, full.Sessions, full.Runs)
	unpriced := `i % 1000 = 7`
	return []table{
		{"usage_ledger", func(s Size) int { return s.Runs }, columns(
			"run_id", `'run-' || (9000000 - i)`, "provider", `'provider'`, "model", `'model-' || (i % 4)`, "kind", `'run'`, "at", w.millis(old),
			"started_at", w.at(old), "ended_at", w.at(old), "noted_at", w.at(old), "agent_id", agentID(of), "session_key", `'agent:a:' || `+of, "session_id", transcriptID(of),
			"source", pick("i", `'human'`, `'task'`, `'standup'`, `'schedule'`), "job_id", `CASE WHEN i % 4 = 3 THEN 'cron-' || (i % 100) ELSE '' END`,
			"task_key", `CASE WHEN i % 4 = 1 THEN `+taskKey(fmt.Sprintf(`i * %d / %d`, full.Tasks, full.Runs))+` ELSE '' END`,
			"standup_id", fmt.Sprintf(`CASE WHEN i %% 4 = 2 THEN 's-' || (1000000 - i / %d) ELSE '' END`, max(full.Runs/max(full.Others/perStandup, 1), 1)),
			"input", `1000`, "output", `100`, "cache_read", `10`, "cache_write", `5`, "other", `0`,
			"cost_nano", `CASE WHEN `+unpriced+` THEN NULL ELSE 28314000 END`, "price", `CASE WHEN `+unpriced+` THEN 'unpriced' ELSE 'runtime' END`,
			"runs", `1`, "unpriced", `CASE WHEN `+unpriced+` THEN 1 ELSE 0 END`, "calls", `4`, "took", `60000`,
		)},
		{"usage_transcripts", sessions, columns(
			"session_id", transcriptID("i"), "session_key", `'agent:a:' || i`, "agent_id", agentID("i"), "seq", `20`, "version", w.millis(age(full.Sessions)),
		)},
		{"usage_told", sessions, columns(
			"session_id", transcriptID("i"), "provider", `'provider'`, "model", `'model-0'`, "input", `1000`, "output", `100`, "cache_read", `10`, "cache_write", `5`,
			"other", `0`, "cost_nano", `28314000`, "rows_made", `0`, "shrunk", `FALSE`,
		)},
		{"usage_inherited", func(s Size) int { return s.Sessions / 10 }, columns(
			"session_id", transcriptID("i * 10"), "run_id", `'run-' || (9000000 - i)`, "provider", `'provider'`, "model", `'model-0'`,
			"input", `1`, "output", `1`, "cache_read", `1`, "cache_write", `1`, "other", `0`, "cost_nano", `1`,
		)},
	}
}

// words returns the tables for full-text search. The text of each task, comment, session and report contains a unique
// word, one of 50 area words, and some words that are the same in all rows.
func (w writer) words() []table {
	class := func(letters string) string {
		return `CASE WHEN ` + isArchived + ` THEN '` + letters[1:] + `' ELSE '` + letters[:1] + `' END`
	}
	texts := []struct {
		rows               func(Size) int
		owner              []column
		body, title, first string // SQL expressions for the classes (internal/search/index_terms.go), and a number
	}{
		{func(s Size) int { return s.Tasks }, columns("task_id", taskID("i")), class("ac"), class("bd"), fmt.Sprint(firstTask)},
		{func(s Size) int { return min(s.Others, s.Tasks) }, columns("task_id", taskID("i"), "comment_id", `'c-' || i`), class("ef"), ``, `6000000`},
		{func(s Size) int { return s.Sessions }, columns("session_id", sessionID("i")), `'h'`, ``, `7000000`},
		{func(s Size) int { return s.Others }, columns(
			"standup_id", fmt.Sprintf(`'s-' || (1000000 - i / %d)`, perStandup), "agent_id", agentID(fmt.Sprintf(`i %% %d`, perStandup)),
		), `'g'`, ``, `8000000`},
	}
	var all []table
	for part, t := range texts {
		words := classed(t.body, `'nightly'`, `'import'`, `'row'`, fmt.Sprintf(`'rare' || (%s - i)`, t.first), `'area' || (i % 50)`)
		if t.title != "" {
			title := []string{`'task'`, `'number'`, `'look'`, `'into'`, `'report'`, `'of'`, `'the'`}
			words = slices.Concat(words, classed(t.body, title...), classed(t.title, title...))
		}
		if w.engine == db.Postgres {
			vector := `array_to_tsvector(ARRAY[` + strings.Join(words, `, `) + `])`
			all = append(all, table{"search_texts", t.rows, append(t.owner, column{"words", vector})})
			continue
		}
		id := fmt.Sprintf(`%d - i`, (part+1)*10_000_000)
		all = append(all,
			table{"search_texts", t.rows, append(t.owner, column{"id", id})},
			table{"search_index", t.rows, columns("rowid", id, "words", strings.Join(words, ` || ' ' || `))})
	}
	return all
}

// classed returns the words with their class in front. All are SQL expressions.
func classed(class string, words ...string) (all []string) {
	for _, word := range words {
		all = append(all, `(`+class+`) || `+word)
	}
	return all
}
