package task

import (
	"context"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/plaintext"
)

const projectColumns = `id, key, name, description, archived_at, created_at, updated_at, version`

// projects defines the list of projects. Because there are few projects, the
// table has indexes only for sorting.
var projects = list.List[Project]{
	Table: `projects`, Columns: projectColumns, Scan: scanProject, Usual: "key",
	Sorts: map[string]list.Sort[Project]{
		"key": {Columns: []string{`key`}, Position: func(p Project) []any { return []any{p.Key} }},
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(p Project) []any { return []any{p.CreatedAt.Time, p.ID} },
		},
		"updated": {
			Columns: []string{`updated_at`, `id`}, Position: func(p Project) []any { return []any{p.UpdatedAt.Time, p.ID} },
		},
	},
}

func ofArchive(archived bool) (w list.Where) {
	w.And(map[bool]string{true: `archived_at IS NOT NULL`, false: `archived_at IS NULL`}[archived])
	return w
}

func scanProject(row db.Row) (Project, error) {
	var p Project
	err := row.Scan(&p.ID, &p.Key, &p.Name, &p.Description, &p.ArchivedAt, &p.CreatedAt, &p.UpdatedAt, &p.Version)
	return p, err
}

// findProjectRow returns the project with the given ID or key, ignoring case.
func findProjectRow(ctx context.Context, q db.Queryer, ref string) (Project, error) {
	p, err := scanProject(q.QueryRow(ctx, `SELECT `+projectColumns+` FROM projects WHERE id = ? OR key = ?`,
		plaintext.Fold(ref), strings.ToUpper(plaintext.Fold(ref))))
	if db.IsNotFound(err) {
		return Project{}, ErrProjectNotFound.With("Use the project's ID or key, such as WEB.")
	}
	return p, err
}

func insertProject(ctx context.Context, tx *db.Tx, p Project) error {
	_, err := tx.Exec(ctx, `INSERT INTO projects (`+projectColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		p.ID, p.Key, p.Name, p.Description, p.ArchivedAt, p.CreatedAt, p.UpdatedAt, p.Version)
	if db.IsDuplicate(err) {
		return ErrProjectKey.With("Choose a key other than %s, or use the existing project, which may be archived.", p.Key)
	}
	return err
}

// updateProjectRow stores a changed project.
func updateProjectRow(ctx context.Context, tx *db.Tx, p Project) error {
	_, err := tx.Exec(ctx,
		`UPDATE projects SET name = ?, description = ?, archived_at = ?, updated_at = ?, version = ? WHERE id = ?`, p.Name,
		p.Description, p.ArchivedAt, p.UpdatedAt, p.Version, p.ID)
	return err
}
