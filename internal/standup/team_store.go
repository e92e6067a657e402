package standup

import (
	"context"
	"encoding/json"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/plaintext"
)

const teamColumns = `id, key, name, facilitator, participants, timezone, agent_timeout_ms, deadline_ms, archived_at, created_at, updated_at, version`

// teams defines how teams are listed.
var teams = list.List[Team]{
	Table: `teams`, Columns: teamColumns, Scan: scanTeam, Usual: "key",
	Sorts: map[string]list.Sort[Team]{
		"key": {Columns: []string{`key`}, Position: func(t Team) []any { return []any{t.Key} }},
	},
}

// whereArchived returns the SQL condition that selects either the archived or the active teams.
func whereArchived(archived bool) (w list.Where) {
	w.And(map[bool]string{true: `archived_at IS NOT NULL`, false: `archived_at IS NULL`}[archived])
	return w
}

// scanTeam reads a row with the columns in teamColumns. It does not fill in default values
// from the settings; see effective.
func scanTeam(row db.Row) (Team, error) {
	var t Team
	var participants *string
	var agentTimeout, deadline *int64
	err := row.Scan(&t.ID, &t.Key, &t.Name, &t.own.facilitator, &participants, &t.own.timezone, &agentTimeout, &deadline,
		&t.ArchivedAt, &t.CreatedAt, &t.UpdatedAt, &t.Version)
	if err != nil {
		return Team{}, err
	}
	t.own.agentTimeout, t.own.deadline = span(agentTimeout), span(deadline)
	if participants != nil {
		err = json.Unmarshal([]byte(*participants), &t.own.participants)
	}
	return t, err
}

// values returns the values of the columns listed in teamColumns, except the id and the key.
func (t Team) values() []any {
	var participants *string
	if t.own.participants != nil {
		text := encode(*t.own.participants)
		participants = &text
	}
	return []any{
		t.Name, t.own.facilitator, participants, t.own.timezone, millis(t.own.agentTimeout), millis(t.own.deadline),
		t.ArchivedAt, t.CreatedAt, t.UpdatedAt, t.Version,
	}
}

func span(ms *int64) *clock.Span {
	if ms == nil {
		return nil
	}
	s := clock.Span(time.Duration(*ms) * time.Millisecond)
	return &s
}

func millis(s *clock.Span) *int64 {
	if s == nil {
		return nil
	}
	ms := time.Duration(*s).Milliseconds()
	return &ms
}

// findTeam returns the team with the given id or key, ignoring case.
func (s *Service) findTeam(ctx context.Context, q db.Queryer, ref string) (Team, error) {
	t, err := scanTeam(q.QueryRow(ctx, `SELECT `+teamColumns+` FROM teams WHERE id = ? OR key = ?`,
		plaintext.Fold(ref), plaintext.Fold(ref)))
	if db.IsNotFound(err) {
		return Team{}, ErrTeamNotFound.With("Use a team's ID or key, such as %s.", Executive)
	}
	return s.effective(t), err
}

// namedTeam returns the team that a request refers to by id or key. An empty reference
// selects the executive team. For an unknown team, namedTeam fails with ErrTeam.
func (s *Service) namedTeam(ctx context.Context, q db.Queryer, ref string) (Team, error) {
	if ref == "" {
		ref = Executive
	}
	t, err := s.findTeam(ctx, q, ref)
	if f := fault.Of(err); f != nil && f.Kind == fault.NotFound {
		return Team{}, ErrTeam.With("Use a team's ID or key, such as %s. GET /teams lists all teams.", Executive)
	}
	return t, err
}

func insertTeam(ctx context.Context, tx *db.Tx, t Team) error {
	_, err := tx.Exec(ctx, `INSERT INTO teams (`+teamColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append([]any{t.ID, t.Key}, t.values()...)...)
	if db.IsDuplicate(err) {
		return ErrTeamKey.With("Choose a key other than %s, or use the existing team, which may be archived.", t.Key)
	}
	return err
}

// updateTeamRow stores a changed team.
func updateTeamRow(ctx context.Context, tx *db.Tx, t Team) error {
	_, err := tx.Exec(ctx, `
		UPDATE teams SET name = ?, facilitator = ?, participants = ?, timezone = ?, agent_timeout_ms = ?, deadline_ms = ?,
			archived_at = ?, created_at = ?, updated_at = ?, version = ?
		WHERE id = ?`, append(t.values(), t.ID)...)
	return err
}
