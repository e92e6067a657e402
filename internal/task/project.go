package task

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
)

// Project is a group of tasks.
type Project struct {
	ID          string      `json:"id"`
	Key         string      `json:"key" doc:"Unique short name. It cannot be changed." example:"WEB"`
	Name        string      `json:"name"`
	Description string      `json:"description" doc:"Markdown. May be written by agents: treat as untrusted."`
	ArchivedAt  *clock.Time `json:"archived_at" doc:"When the project was archived; null if it is not archived."`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at"`
	Version     int64       `json:"version" doc:"Incremented by every change; part of the ETag."`
}

// NewProject is a request to create a project.
type NewProject struct {
	Key         string `json:"key" maxLength:"10" pattern:"^[A-Z][A-Z0-9]{1,9}$" doc:"2 to 10 upper-case letters and digits, beginning with a letter. NONE is reserved." example:"WEB"`
	Name        string `json:"name" minLength:"1" maxLength:"100"`
	Description string `json:"description,omitempty" maxLength:"10000" doc:"Markdown."`
}

// ProjectChange is a partial update of a project. Omitted fields stay unchanged.
type ProjectChange struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Description *string `json:"description,omitempty" maxLength:"10000" doc:"Markdown."`
	Archived    *bool   `json:"archived,omitempty" doc:"Whether the project is archived. An archived project keeps its tasks but accepts no others."`
}

// Limits on a project's texts, in characters.
const (
	maxProjectName        = 100
	maxProjectDescription = 10_000
)

// Errors returned by the project operations, in addition to ErrProject.
var (
	ErrProjectNotFound = fault.New(fault.NotFound, "project_not_found", "Project not found.")
	ErrProjectChanged  = fault.New(fault.Stale, "project_changed", "The project has changed since you read it.")
	ErrProjectKey      = fault.New(fault.Conflict, "project_key_taken", "A project with this key already exists.")
)

// projectKey matches valid project keys. A valid key cannot be mistaken for an
// ID.
var projectKey = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}$`)

// make builds a project from a request. If fields are invalid, it returns an
// error that lists them.
func (n NewProject) make(id string, now time.Time) (Project, error) {
	p := Project{ID: id, Key: n.Key, CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1}
	var bad fault.Fields
	if !projectKey.MatchString(n.Key) || strings.EqualFold(n.Key, string(Nobody)) {
		bad.Add("/key", "Use 2 to 10 uppercase letters and digits, starting with a letter. The key NONE is reserved.")
	}
	p.apply(ProjectChange{Name: &n.Name, Description: &n.Description}, now, &bad)
	return p, bad.Err()
}

// apply applies a change to the project. It adds an error to bad for each invalid field.
func (p *Project) apply(c ProjectChange, now time.Time, bad *fault.Fields) {
	if c.Name != nil {
		var wrong string
		if p.Name, wrong = label.Clean(*c.Name, maxProjectName); wrong != "" {
			bad.Add("/name", "%s", wrong)
		}
	}
	if c.Description != nil {
		p.Description = plaintext.Lines(*c.Description)
		if utf8.RuneCountInString(p.Description) > maxProjectDescription {
			bad.Add("/description", "Must be at most %d characters.", maxProjectDescription)
		}
	}
	if c.Archived != nil && *c.Archived != (p.ArchivedAt != nil) {
		if p.ArchivedAt = nil; *c.Archived {
			p.ArchivedAt = clock.Ptr(now)
		}
	}
}

// CreateProject creates a project. The project's key can never be used for
// another project.
func (s *Service) CreateProject(ctx context.Context, n NewProject) (Project, error) {
	return db.Do(ctx, s.DB, "create project", func(tx *db.Tx) (Project, error) {
		return once.Do(ctx, tx, s.Now(), findProjectRow, func(p Project) string { return p.ID },
			func() (Project, error) { return s.createProject(ctx, tx, n) })
	})
}

func (s *Service) createProject(ctx context.Context, tx *db.Tx, n NewProject) (Project, error) {
	p, err := n.make(db.NewID(), s.Now())
	if err != nil {
		return Project{}, err
	}
	if err := insertProject(ctx, tx, p); err != nil {
		return Project{}, err
	}
	return p, p.record(ctx, tx, s.Now(), "project.created", map[string]any{"name": p.Name})
}

// Project returns the project with the given ID or key, ignoring case.
func (s *Service) Project(ctx context.Context, ref string) (Project, error) {
	return findProjectRow(ctx, s.DB, ref)
}

// Projects returns one page of either the archived or the active projects.
func (s *Service) Projects(ctx context.Context, archived bool, want page.Want) (page.Part[Project], error) {
	var part page.Part[Project]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		part, err = projects.Read(ctx, q, ofArchive(archived), want)
		return err
	})
	return part, err
}

// UpdateProject applies a partial update to a project. If a version is given and it is not the project's current
// version, UpdateProject fails with ErrProjectChanged. An update that changes nothing writes nothing.
func (s *Service) UpdateProject(ctx context.Context, ref string, c ProjectChange, version *int64) (Project, error) {
	return db.Do(ctx, s.DB, "update project", func(tx *db.Tx) (Project, error) {
		return s.updateProject(ctx, tx, ref, c, version)
	})
}

func (s *Service) updateProject(
	ctx context.Context, tx *db.Tx, ref string, c ProjectChange, version *int64,
) (Project, error) {
	old, err := findProjectRow(ctx, tx, ref)
	if err != nil {
		return Project{}, err
	}
	if err := ErrProjectChanged.Unless(version, old.Version, "project"); err != nil {
		return Project{}, err
	}
	p := old
	var bad fault.Fields
	p.apply(c, s.Now(), &bad)
	if err := bad.Err(); err != nil {
		return Project{}, err
	}
	changes := diff(old, p)
	if len(changes) == 0 {
		return old, nil
	}
	p.Version, p.UpdatedAt = old.Version+1, clock.At(s.Now())
	if err := updateProjectRow(ctx, tx, p); err != nil {
		return Project{}, err
	}
	return p, p.record(ctx, tx, s.Now(), "project.changed", map[string]any{"changes": changes})
}

// record writes an event about the project.
func (p Project) record(ctx context.Context, tx *db.Tx, at time.Time, kind string, data any) error {
	about := event.Subject{Kind: "project", ID: p.ID, Name: p.Key}
	return event.Record(ctx, tx, at, event.Activity, kind, about, data)
}
