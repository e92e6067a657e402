package durable

import (
	"maps"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/db"
)

// outcome is the expected result of a standup. Zero values mean the result of a standup
// without interruptions, as the comments show.
type outcome struct {
	status  string         // completed
	code    string         // code of the error
	attempt int            // 1
	reports string         // answered answered answered
	asked   map[string]int // agent → number of questions; 1 each
	lines   string         // kinds of the lines of the transcript
	tasks   int            // tasks created from action items: 2; negative means 0
}

const wholeLines = "note note note question answer question answer question answer question summary note"

// lease is how long the work of a killed process waits on PostgreSQL. On SQLite, the next
// process continues at once.
const lease = 15 * time.Second

// soon is the time limit of a standup whose agents answer, usually about a second, on a
// busy machine.
const soon = 45 * time.Second

// whole checks for everything that an interruption could cause: repeated questions or
// effects, lost or repeated lines, and long waits.
func (x *trial) whole(r record, want outcome) {
	x.Helper()
	want = want.filled()
	code := ""
	if r.Failure != nil {
		code = r.Failure.Code
	}
	if r.Status != want.status || code != want.code || r.Attempt != want.attempt {
		x.Errorf("the standup is %s %s, attempt %d, want %s %s, %d: %+v", r.Status, code, r.Attempt, want.status, want.code, want.attempt, r.Failure)
	}
	var reports, lines []string
	for _, p := range r.Reports {
		reports = append(reports, p.Status)
	}
	for i, l := range r.Transcript {
		lines = append(lines, l.Kind)
		if l.Seq != i+1 {
			x.Errorf("line %d of the transcript has the number %d", i+1, l.Seq)
		}
	}
	if got := strings.Join(reports, " "); got != want.reports {
		x.Errorf("the reports are %s, want %s", got, want.reports)
	}
	if got := strings.Join(lines, " "); got != want.lines {
		x.Errorf("the transcript has\n%s, want\n%s", got, want.lines)
	}
	x.askedOnce(want.asked)
	if n := x.count(`SELECT COUNT(*) FROM tasks`); n != want.tasks || len(r.ActionItems) != want.tasks {
		x.Errorf("%d tasks of %d action items, want %d", n, len(r.ActionItems), want.tasks)
	}
	for _, item := range r.ActionItems {
		if item.Task == nil {
			x.Errorf("%q has no task", item.Title)
		}
	}
	x.nothingTwice(want.attempt, slices.Max(slices.Collect(maps.Values(want.asked))))
	x.settled()
}

func (o outcome) filled() outcome {
	if o.status == "" {
		o.status = "completed"
	}
	if o.attempt == 0 {
		o.attempt = 1
	}
	if o.reports == "" {
		o.reports = "answered answered answered"
	}
	if o.lines == "" {
		o.lines = wholeLines
	}
	asked := map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1}
	maps.Copy(asked, o.asked)
	o.asked = asked
	switch {
	case o.tasks == 0:
		o.tasks = 2
	case o.tasks < 0:
		o.tasks = 0
	}
	return o
}

// askedOnce counts the questions that agents received and their run IDs. Sending a run ID
// again is safe; a second run ID is not.
func (x *trial) askedOnce(want map[string]int) {
	x.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for agent, n := range want {
		if got := x.runtime.Asked(agent); got != n {
			x.Errorf("%s was asked %d times, want %d", agent, got, n)
		}
		if got := len(x.asked[agent]); got != n {
			x.Errorf("%s was sent questions under %d run ids, want %d: %v", agent, got, n, slices.Sorted(maps.Keys(x.asked[agent])))
		}
	}
}

// own reports whether a column may differ in two rows with the same content: IDs, numbers
// and times.
func own(column string) bool {
	return slices.Contains([]string{"id", "at", "seq", "key", "number", "rank", "version", "run_id", "job_id", "boot_id", "lease_until"}, column) ||
		strings.HasSuffix(column, "_at")
}

// apart reports whether a table has no results of a standup.
func apart(table string) bool {
	return slices.Contains([]string{"goose_db_version", "jobs", "job_steps", "job_timers", "login_failures", "retention_runs", "users", "api_keys"}, table) ||
		strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "search_") || strings.HasPrefix(table, "task_grams")
}

// nothingTwice looks for rows with the same content in every table, including tables
// added later. Results of an attempt may appear once per attempt, and lines of a question
// once per question.
func (x *trial) nothingTwice(attempts, questions int) {
	x.Helper()
	tables := `SELECT name FROM sqlite_master WHERE type = 'table'`
	columns := `SELECT name FROM pragma_table_info(?)`
	if x.engine == db.Postgres {
		tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
		columns = `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?`
	}
	looked := 0
	for _, table := range x.names(tables) {
		if apart(table) {
			continue
		}
		said := slices.DeleteFunc(x.names(columns, table), own)
		if len(said) == 0 {
			continue
		}
		looked++
		for i, c := range said {
			said[i] = `COALESCE(CAST(` + c + ` AS TEXT), '-')`
		}
		about := strings.Join(said, ` || ' | ' || `)
		except, most := "", attempts
		switch table {
		case "events":
			except = ` WHERE subject_kind <> 'gateway'` // connections and disconnections
		case "standup_transcript":
			most = max(attempts, questions)
		}
		often := x.names(`SELECT COUNT(*) || ' times: ' || (`+about+`) FROM `+table+except+` GROUP BY `+about+` HAVING COUNT(*) > ?`, most)
		for _, text := range often {
			x.Errorf("%s has %.300s", table, text)
		}
	}
	if looked < 8 {
		x.Errorf("only %d tables were checked", looked)
	}
}

// settled checks that nothing is left: no open question and no job.
func (x *trial) settled() {
	x.Helper()
	if n := x.count(`SELECT COUNT(*) FROM standup_questions WHERE state = 'open'`); n != 0 {
		x.Errorf("%d questions are still open", n)
	}
	until(x.T, "the end of the work", lease+60*time.Second, func() bool {
		return x.count(`SELECT COUNT(*) FROM jobs WHERE kind = 'standup' AND state IN ('ready', 'running')`) == 0
	})
}

// inTime checks that the standup ended soon after its work could continue.
func (x *trial) inTime(r record) {
	x.Helper()
	x.mu.Lock()
	killed := x.killed
	x.mu.Unlock()
	x.inTimeSince(r, killed)
}

// inTimeSince is inTime for work that could continue only later than the kill.
func (x *trial) inTimeSince(r record, from time.Time) {
	x.Helper()
	if r.CompletedAt == nil {
		x.Error("the standup has not ended")
		return
	}
	took := r.CompletedAt.Sub(from)
	limit := soon
	if x.engine == db.Postgres {
		limit += lease
	}
	if took > limit {
		x.Errorf("it ended %s after its work could continue, want at most %s", took, limit)
	}
	x.Logf("ended %s after its work could continue", took.Round(10*time.Millisecond))
}

func (x *trial) names(query string, args ...any) []string {
	x.Helper()
	var list []string
	x.look(query, func() error {
		rows, err := x.db.Query(x.Context(), query, args...)
		list, err = db.All(rows, err, func(row db.Row) (name string, err error) { return name, row.Scan(&name) })
		return err
	})
	return list
}
