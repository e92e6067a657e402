package standup

import (
	"context"
	"database/sql"
	"strings"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	enc "wardroom/internal/platform/encode"
	"wardroom/internal/platform/list"
)

// This file lists standups. Lists are read most often, so each page takes one SQL
// statement that selects only the columns shown, and a Brief encodes its own JSON.

// Filter selects the standups to list. The zero Filter selects all.
type Filter struct {
	Team     string // key or id; empty means every team
	Statuses []Status
	From, To string // dates, inclusive; empty means no bound
}

// where returns the SQL conditions for the filter. The field Team must contain a team's key, not its id.
func (f Filter) where() list.Where {
	var w list.Where
	list.Is(&w, `team`, f.Team)
	list.In(&w, `status`, f.Statuses)
	if f.From != "" {
		w.And(`date >= ?`, f.From)
	}
	if f.To != "" {
		w.And(`date <= ?`, f.To)
	}
	return w
}

// list defines how standups are listed. They are sorted by day. If the filter selects no team,
// standups of the same day are sorted by team key.
func (f Filter) list() list.List[Brief] {
	byDay := list.Sort[Brief]{Columns: []string{`date`}, Position: func(b Brief) []any { return []any{b.Date} }}
	if f.Team == "" {
		byDay = list.Sort[Brief]{
			Columns: []string{`date`, `team`}, Position: func(b Brief) []any { return []any{b.Date, b.Team} },
		}
	}
	return list.List[Brief]{
		Table: `standups`, Columns: briefColumns, Scan: scanBrief, Usual: "-date",
		Sorts: map[string]list.Sort[Brief]{"date": byDay},
	}
}

const briefColumns = `id, team, date, timezone, title, status, phase, facilitator, roll, summary, error_code, error_detail, attempt,
	created_at, started_at, completed_at, version`

func scanBrief(row db.Row) (Brief, error) {
	var b Brief
	var roll string
	var code, detail sql.NullString
	err := row.Scan(&b.ID, &b.Team, &b.Date, &b.Timezone, &b.Title, &b.Status, &b.Phase, &b.Facilitator, &roll, &b.Summary,
		&code, &detail, &b.Attempt, &b.CreatedAt, &b.StartedAt, &b.CompletedAt, &b.Version)
	if code.Valid {
		b.Failure = &Failure{Code: code.String, Detail: detail.String}
	}
	b.Reports = parseRoll(roll)
	return b, err
}

// updateRoll updates a standup's roll, a text in the standup's row. The roll has one line per
// report: the agent's id, the report's status and the agent's name. Lists use the roll to avoid a
// join.
func updateRoll(ctx context.Context, tx *db.Tx, standupID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE standups SET roll = COALESCE((
			SELECT STRING_AGG(agent_id || ' ' || status || ' ' || name, ? ORDER BY place) FROM standup_reports WHERE standup_id = ?), '')
		WHERE id = ?`, "\n", standupID, standupID)
	return err
}

// parseRoll parses the text that updateRoll stores in a standup's row. An agent's name may contain
// line breaks, so a line that is not a complete entry continues the name on the previous line. Ids
// and statuses contain no spaces.
func parseRoll(text string) []BriefReport {
	if text == "" {
		return []BriefReport{}
	}
	reports := make([]BriefReport, 0, 1+strings.Count(text, "\n"))
	for line := range strings.SplitSeq(text, "\n") {
		agentID, rest, _ := strings.Cut(line, " ")
		status, name, ok := strings.Cut(rest, " ")
		if !ok && len(reports) > 0 {
			reports[len(reports)-1].Name += "\n" + line
			continue
		}
		reports = append(reports, BriefReport{AgentID: agentID, Name: name, Status: ReportStatus(status)})
	}
	return reports
}

// AppendJSON appends the JSON form of the brief to the buffer. The output is identical to that of encoding/json.
func (b *Brief) AppendJSON(to []byte) []byte {
	to = enc.String(append(to, `{"id":`...), b.ID)
	to = enc.String(append(to, `,"team":`...), b.Team)
	to = enc.String(append(to, `,"date":`...), b.Date)
	to = enc.String(append(to, `,"timezone":`...), b.Timezone)
	to = enc.String(append(to, `,"title":`...), b.Title)
	to = enc.String(append(to, `,"status":`...), b.Status)
	to = enc.String(append(to, `,"phase":`...), b.Phase)
	to = enc.String(append(to, `,"facilitator":`...), b.Facilitator)
	to = appendReports(append(to, `,"reports":`...), b.Reports)
	to = enc.Optional(append(to, `,"summary":`...), b.Summary)
	to = b.Failure.appendJSON(append(to, `,"error":`...))
	to = enc.Int(append(to, `,"attempt":`...), int64(b.Attempt))
	to = enc.Time(append(to, `,"created_at":`...), b.CreatedAt.Time)
	to = appendTime(append(to, `,"started_at":`...), b.StartedAt)
	to = appendTime(append(to, `,"completed_at":`...), b.CompletedAt)
	to = enc.Int(append(to, `,"version":`...), b.Version)
	return append(to, '}')
}

func appendReports(to []byte, reports []BriefReport) []byte {
	if reports == nil {
		return append(to, "null"...)
	}
	to = append(to, '[')
	for i, r := range reports {
		if i > 0 {
			to = append(to, ',')
		}
		to = enc.String(append(to, `{"agent_id":`...), r.AgentID)
		to = enc.String(append(to, `,"name":`...), r.Name)
		to = enc.String(append(to, `,"status":`...), r.Status)
		to = append(to, '}')
	}
	return append(to, ']')
}

func (f *Failure) appendJSON(to []byte) []byte {
	if f == nil {
		return append(to, "null"...)
	}
	to = enc.String(append(to, `{"code":`...), f.Code)
	to = enc.String(append(to, `,"detail":`...), f.Detail)
	return append(to, '}')
}

func appendTime(to []byte, t *clock.Time) []byte {
	if t == nil {
		return append(to, "null"...)
	}
	return enc.Time(to, t.Time)
}
