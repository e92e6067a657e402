package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// rows is what is put into one table.
type rows struct {
	table   string
	columns string
	n       int
	row     func(i int) []any
}

// when is the value, or nothing.
func when(yes bool, v any) any {
	if yes {
		return v
	}
	return nil
}

// seed fills a database as it is after a few years: 10,000 tasks, 50,000
// events, 1,000 accounts and as many standups.
func seed(t *testing.T, d *db.DB) {
	t.Helper()
	from := time.Now().UTC().AddDate(-3, 0, 0).Truncate(time.Second)
	at := func(i int) time.Time { return from.Add(time.Duration(i) * time.Minute) }
	id := func(kind string, i int) string { return fmt.Sprint(kind, "-", i) }
	pick := func(i int, of ...any) any { return of[i%len(of)] }
	recent := func(i int) time.Time { // but for some, what is older has gone
		if i%100 == 1 {
			return at(i)
		}
		return time.Now().UTC().Truncate(time.Second).Add(-time.Duration(i) * 30 * time.Second)
	}
	all := []rows{
		{"users", "id, email, email_key, name, name_key, role, agent_id, active, password_hash, created_at, updated_at, version", 1000, func(i int) []any {
			mail := id("u", i) + "@example.com"
			if i%2 == 0 {
				return []any{id("u", i), mail, mail, "U", "u", "agent", id("a", i), i%20 > 0, "", at(i), at(i), 1}
			}
			return []any{id("u", i), mail, mail, "U", "u", pick(i, "user", "user", "admin"), nil, i%21 > 0, "", at(i), at(i), 1}
		}},
		{"projects", "id, key, name, description, created_at, updated_at, version", 50, func(i int) []any {
			return []any{id("p", i), fmt.Sprint("P", i), "P", "", at(i), at(i), 1}
		}},
		seedTasks(at, id, pick),
		{"task_tags", "tag, number", 20000, func(i int) []any { return []any{id("tag", i%501), i/2 + 1} }},
		{"task_dependencies", "task_id, depends_on_id", 5000, func(i int) []any { return []any{id("t", i+5000), id("t", i)} }},
		{
			"dispatches", "id, task_id, task_key, agent_id, user_id, by_name, session_key, first_number, number, run_id, message, state, since, sent, boot_id, start_by, error_code, error_detail, created_at, ended_at",
			10000, func(i int) []any {
				failed := i%9 == 0
				return []any{
					id("d", i), id("t", i/2), fmt.Sprint("TASK-", i/2), id("a", i%500*2), id("u", i%500*2), "U", "", 1, i%2 + 1, id("r", i), "", pick(i, "failed", "ended", "ended", "ended", "ended", "ended", "ended", "ended", "ended"),
					at(i), true, "", at(i), when(failed, "timed_out"), when(failed, ""), at(i), at(i + 1),
				}
			},
		},
		{"comments", "id, task_id, author_id, author_name, body, mentions, created_at, version", 5000, func(i int) []any {
			return []any{id("c", i), id("t", i), id("u", i%1000), "U", fmt.Sprint("Number ", i), "[]", at(i), 1}
		}},
		{"events", "id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data", 50000, func(i int) []any {
			return []any{
				i + 1001, at(i), pick(i, "activity", "activity", "activity", "audit"), pick(i, "task.created", "task.changed", "standup.opened", "login.succeeded", "task.deleted"),
				id("u", i%1000), "U", pick(i, "task", "task", "standup", "user", "task", "project", "standup", "user"), id("t", i%10000), fmt.Sprint("TASK-", i%10000+1), "{}",
			}
		}},
		{"teams", "id, key, name, facilitator, participants, created_at, updated_at, version", 10, func(i int) []any {
			return []any{id("team-id", i), id("team", i), "T", "coo", "[]", at(i), at(i), 1}
		}},
		{"standups", "id, team, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, created_at, updated_at, version", 1000, func(i int) []any {
			return []any{id("s", i), pick(i, "executive", "executive", "team-7"), from.AddDate(0, 0, i).Format(time.DateOnly), "UTC", "S", pick(i, "completed", "completed", "error"), "closed", "coo", 1, "agent", "[]", "[]", "[]", at(i), at(i), 1}
		}},
		{"standup_reports", "standup_id, agent_id, place, name, status, evidence, claims", 4000, func(i int) []any {
			return []any{id("s", i/4), id("a", i%4), i % 4, "A", "answered", "{}", "[]"}
		}},
		{"standup_questions", "run_id, standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, deadline_at, asked_at", 4000, func(i int) []any {
			return []any{id("r", i), id("s", i/4), id("a", i%4), 1, "report", "k", "b", "m", "answered", true, at(i), at(i)}
		}},
		{"standup_transcript", "standup_id, seq, at, kind, from_id, to_id, text", 13000, func(i int) []any {
			return []any{id("s", i/13), i%13 + 1, at(i), "note", "wardroom", "coo", "x"}
		}},
		{"standup_blockers", "id, team, agents, text, task, board, first_seen, last_seen, days, status, ended_at, standup_id, created_at, updated_at", 2000, func(i int) []any {
			status, ended := "open", any(nil)
			if i >= 50 {
				status, ended = "ended", at(i)
			}
			return []any{id("b", i), "executive", `["cto"]`, "waits", i + 1, "blocked", "2026-01-01", "2026-01-02", "[]", status, ended, id("s", i%1000), at(i), at(i)}
		}},
		{"standup_effects", "standup_id, seq, kind, subject, words, team, date, at", 3000, func(i int) []any {
			return []any{id("s", i/3), i%3 + 1, pick(i, "comment", "escalation", "task"), "TASK-1", "w", "executive", from.AddDate(0, 0, i/3).Format(time.DateOnly), at(i)}
		}},
		{"jobs", "id, kind, key, payload, state, run_at, attempt, failures, created_at, finished_at", 3000, func(i int) []any {
			return []any{id("j", i), "standup", id("s", i), "{}", "done", at(i), 1, 0, at(i), time.Now().UTC()}
		}},
		{"job_steps", "job_id, name, result, done_at", 9000, func(i int) []any { return []any{id("j", i/3), id("step", i%3), "{}", at(i)} }},
		{"idempotency_keys", "name, digest, made, at", 3000, func(i int) []any { return []any{id("k", i), "d", "m", time.Now().UTC()} }},
		{"login_failures", "subject, failures, last_at", 3000, func(i int) []any { return []any{id("f", i), 1, time.Now().UTC()} }},
		{"inbox_items", `id, cause, kind, severity, urgency, title, detail, subject_kind, subject_id, subject_name, count, first_at, last_at,
			state, snoozed_until, assignee_id, resolved_at, resolver_id, resolver_name, resolution, version`, 5000, func(i int) []any {
			state := "resolved"
			if i%50 == 0 {
				state = []string{"open", "acked", "snoozed"}[i/50%3]
			}
			ended := time.Now().UTC().AddDate(0, 0, -i%5) // what ended before that has gone, but for what is to go now
			if i%100 == 1 {
				ended = at(i)
			}
			return []any{
				id("i", i), id("cause", i), pick(i, "escalation", "standup_failed", "standup_missed", "old_blocker"), pick(i, "urgent", "high", "medium", "low"), i % 4,
				"I", "", "task", id("t", i), "TASK", 1, at(i), at(i), state, when(state == "snoozed", at(i)), when(i%3 == 0, id("u", i%1000)),
				when(state == "resolved", ended), when(state == "resolved", "system"), when(state == "resolved", "Wardroom"), when(state == "resolved", ""), 1,
			}
		}},
		{"schedule_runs", "job_id, started_at, ended_at, run_id, session_key, status, error, summary, manual", 10000, func(i int) []any {
			return []any{id("job", i%100), recent(i), recent(i), "", "", "ok", "", "", false}
		}},
		{"schedule_slots", "job_id, due_at, agent_id, name, spread, deadline_at, state, reason, started_at, judged_at, settled, look_at", 10000, func(i int) []any {
			return []any{id("job", i%100), recent(i), "cto", "J", 0, recent(i), pick(i, "on_time", "missed", "late"), "", nil, recent(i), true, nil}
		}},
		{"api_keys", "id, user_id, name, digest, hint, created_at", 2000, func(i int) []any { return []any{id("key", i), id("u", i%500*2), "K", id("d", i), "h", at(i)} }},
	}
	all = append(append(all, seedArchive(at, recent, id, pick)...), append(seedWords(d.Engine(), id), seedUsage(at, id, pick)...)...)
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		if d.Engine() == db.Postgres {
			// With a sample of the rows, what is about as quick in two ways is planned
			// in one today and in the other tomorrow. This reads them all.
			if _, err := tx.Exec(t.Context(), `SET LOCAL default_statistics_target = 1000`); err != nil {
				return err
			}
		}
		for _, r := range all {
			if err := r.insert(t.Context(), tx); err != nil {
				return fmt.Errorf("%s: %w", r.table, err)
			}
			if _, err := tx.Exec(t.Context(), `ANALYZE `+r.table); err != nil {
				return err
			}
		}
		return seedCounters(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Refill(t, d, "0041_usage_rollup_fill.sql")
	err = d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `ANALYZE usage_rollup`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// seedCounters leaves the counters as a long transaction beside many changes does:
// PostgreSQL keeps pages of what their one row was before.
func seedCounters(ctx context.Context, tx *db.Tx) error {
	for table, last := range map[string]int{"event_counter": 51000, "task_counter": 10000} {
		statements := []string{fmt.Sprintf(`UPDATE %s SET last = %d`, table, last), `ANALYZE ` + table}
		if tx.Engine() == db.Postgres {
			again := fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..5000 LOOP UPDATE %s SET last = last + 1; END LOOP; END $$`, table)
			statements = append([]string{again}, statements...)
		}
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
	}
	return nil
}

// seedUsage is a ledger of 50,000 runs in 5,000 sessions.
func seedUsage(at func(int) time.Time, id func(string, int) string, pick func(int, ...any) any) []rows {
	const runs, sessions = 50000, 5000
	return []rows{
		{"usage_ledger", `run_id, provider, model, kind, at, ended_at, noted_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price, runs, unpriced`, runs, func(i int) []any {
			unpriced := i%1000 == 0
			return []any{
				id("run", i), "p", id("m", i%4), "run", at(i * 30).UnixMilli(), at(i * 30), at(i * 30), id("a", i%8), id("agent:a:", i/10), id("t", i/10),
				pick(i, "human", "task", "standup"), "", orNone(i%3 == 1, id("TASK", i%5000)), orNone(i%3 == 2, id("s", i%1000)),
				1000, 100, 10, 5, 0, when(!unpriced, 28314000), map[bool]string{true: "unpriced", false: "runtime"}[unpriced], 1, map[bool]int{true: 1}[unpriced],
			}
		}},
		{"usage_transcripts", "session_id, session_key, agent_id, seq, version", sessions, func(i int) []any {
			return []any{id("t", i), id("agent:a:", i), id("a", i%8), 20, at(i).UnixMilli()}
		}},
		{"usage_inherited", "session_id, run_id, provider, model, input, output, cache_read, cache_write, other, cost_nano", sessions, func(i int) []any {
			return []any{id("t", i), id("run", i), "p", "m", 1, 1, 1, 1, 0, 1}
		}},
		{"usage_going", `run_id, provider, model, read_at, at, started_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price`, 40, func(i int) []any {
			return []any{id("going", i), "p", "m", at(i), at(i).UnixMilli(), at(i), id("a", i%8), id("agent:a:", i), id("t", i), "human", "", "", "", 1, 1, 1, 1, 0, 1, "runtime"}
		}},
		{"usage_told", "session_id, provider, model, input, output, cache_read, cache_write, other, cost_nano, rows_made, shrunk", sessions, func(i int) []any {
			return []any{id("t", i), "p", "m", 1, 1, 1, 1, 0, 1, 0, false}
		}},
	}
}

// seedArchive is an archive of 5,000 sessions, of which few are in the runtime,
// and few old ones of sub-agents have not gone.
func seedArchive(at, recent func(int) time.Time, id func(string, int) string, pick func(int, ...any) any) []rows {
	const sessions = 5000
	return []rows{
		{"archive_sessions", `id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message, active, began_at, started_at, ended_at, last_at,
			version, as_of, present, ended, archived_at, coverage, read_version, last_seq, messages, purged`, sessions, func(i int) []any {
			kind, last := pick(i, "main", "custom", "cron"), at(i)
			if i%4 == 3 {
				kind, last = "subagent", recent(i)
			}
			return []any{
				id("z", i), id("agent:a:", i), id("t", i), id("a", i%8), kind, "", pick(i, "done", "failed"), "p/m", "", "x", false, last, last, last, last,
				last.UnixMilli(), last, i%200 == 0, "rests", last, "whole", last.UnixMilli(), 20, 20, false,
			}
		}},
		{"archive_parts", "session_id, part, first, messages, size, data", sessions, func(i int) []any { return []any{id("z", i), 0, 0, 0, 0, []byte{3, 0}} }},
		{"archive_texts", "session_id, head, tail", sessions, func(i int) []any { return []any{id("z", i), fmt.Sprint("Number ", i), ""} }},
	}
}

// orNone is the text, or none.
func orNone(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// seedWords are the words of the 10,000 tasks and 5,000 comments.
func seedWords(engine db.Engine, id func(string, int) string) []rows {
	const tasks, comments, texts = 10000, 15000, 20000
	of := func(i int) (taskID, commentID, sessionID any) {
		switch {
		case i < tasks:
			return id("t", i), nil, nil
		case i < comments:
			return id("t", i-tasks), id("c", i-tasks), nil
		}
		return nil, nil, id("z", i-comments)
	}
	// As search writes them: a letter for the class of the text before each word.
	words := func(i int) []string {
		number := fmt.Sprint(i)
		switch {
		case i < tasks:
			return []string{"anumber", "a" + number, "bnumber", "b" + number}
		case i < comments:
			return []string{"enumber", "e" + number}
		}
		return []string{"hnumber", "h" + number, "inumber", "i" + number}
	}
	if engine == db.Postgres {
		return []rows{{"search_texts", "task_id, comment_id, session_id, words", texts, func(i int) []any {
			taskID, commentID, sessionID := of(i)
			return []any{taskID, commentID, sessionID, "'" + strings.Join(words(i), "' '") + "'"}
		}}}
	}
	return []rows{
		{"search_texts", "id, task_id, comment_id, session_id", texts, func(i int) []any {
			taskID, commentID, sessionID := of(i)
			return []any{i + 1, taskID, commentID, sessionID}
		}},
		{"search_index", "rowid, words", texts, func(i int) []any { return []any{i + 1, strings.Join(words(i), " ")} }},
	}
}

func seedTasks(at func(int) time.Time, id func(string, int) string, pick func(int, ...any) any) rows {
	return rows{
		"tasks", `id, number, title, search, description, status, priority, priority_rank, type, tags, assignee_id, reporter_id, blocked_reason, blocked_since,
			blocked_by, due_at, due_rank, urgency, position, done_at, archive_from, archived_at, project_id, parent_id, claim_by, claim_name, claim_until, claim_seq,
			depends_on, moved_at, created_at, updated_at, version`, 10000, func(i int) []any {
			status := pick(i, "done", "todo", "done", "review", "backlog", "done", "in_progress")
			due := int64(253402300800000000)
			if i%3 == 0 {
				due = at(i).UnixMicro()
			}
			held := status == "in_progress" && i%70 == 6
			return []any{
				id("t", i), i + 1, "Number", fmt.Sprintf("task-%d number", i+1), "", status, pick(i, "low", "medium", "high", "urgent"), i % 4, pick(i, "task", "bug", "feature"), "[]",
				when(i%7 > 0, id("u", i%1000)), id("u", i%1000), when(i%25 == 0, "x"), when(i%25 == 0, at(i)), when(i%25 == 0, "x"),
				when(i%3 == 0, at(i)), due, int64(3-i%4)*1_000_000_000_000_000_000 + 100_000_000_000_000_000 + due, fmt.Sprintf("%012d", i+1),
				when(status == "done", at(i)), when(status == "done", at(i)), when(status == "done" && i%4 > 0, at(i)), when(i%5 == 0, id("p", i%50)), when(i%10 == 3, id("t", i/10)),
				when(held, id("u", i%1000)), when(held, "U"), when(held, time.Now().UTC().Add(time.Hour)), i % 2,
				"", at(i), at(i), at(i), 1,
			}
		},
	}
}

// insert puts the rows in, some hundreds at a time.
func (r rows) insert(ctx context.Context, tx *db.Tx) error {
	const most = 300
	one := `(?` + strings.Repeat(`, ?`, strings.Count(r.columns, ",")) + `)`
	for from := 0; from < r.n; from += most {
		n := min(most, r.n-from)
		var args []any
		for i := range n {
			args = append(args, r.row(from+i)...)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO `+r.table+` (`+r.columns+`) VALUES `+one+strings.Repeat(`, `+one, n-1), args...); err != nil {
			return err
		}
	}
	return nil
}
