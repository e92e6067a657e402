package task

import (
	"context"
	"errors"
	"fmt"
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

// Project is what tasks are grouped by.
type Project struct {
	ID          string      `json:"id"`
	Key         string      `json:"key" doc:"Names it for people; unique, and never changes." example:"WEB"`
	Name        string      `json:"name"`
	Description string      `json:"description" doc:"Markdown. Agents write it too: never trust it."`
	ArchivedAt  *clock.Time `json:"archived_at" doc:"Since when it gets no tasks any more; null while it does."`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at"`
	Version     int64       `json:"version" doc:"Counts the changes; part of the ETag."`
}

// NewProject is what a project is made from.
type NewProject struct {
	Key         string `json:"key" maxLength:"10" pattern:"^[A-Z][A-Z0-9]{1,9}$" doc:"2 to 10 upper-case letters and digits, a letter first. Not NONE, which stands for no project." example:"WEB"`
	Name        string `json:"name" minLength:"1" maxLength:"100"`
	Description string `json:"description,omitempty" maxLength:"10000" doc:"Markdown."`
}

// ProjectChange is a partial update. What is not given stays as it is.
type ProjectChange struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Description *string `json:"description,omitempty" maxLength:"10000" doc:"Markdown."`
	Archived    *bool   `json:"archived,omitempty" doc:"Whether it is in the archive. Its tasks stay as they are; it only gets no others."`
}

// Limits of a project's texts, in characters.
const (
	maxProjectName        = 100
	maxProjectDescription = 10_000
)

// The failures of projects, beside ErrProject.
var (
	ErrProjectNotFound = fault.New(fault.NotFound, "project_not_found", "There is no such project.")
	ErrProjectChanged  = fault.New(fault.Stale, "project_changed", "The project was changed meanwhile.")
	ErrProjectKey      = fault.New(fault.Conflict, "project_key_taken", "There is a project with this key already.")
)

// projectKey leaves no key that could be taken for an id.
var projectKey = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}$`)

// make builds a project from n, or says everything that is wrong with it.
func (n NewProject) make(id string, now time.Time) (Project, error) {
	p := Project{ID: id, Key: n.Key, CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1}
	var bad fault.Fields
	if !projectKey.MatchString(n.Key) || strings.EqualFold(n.Key, string(Nobody)) {
		bad.Add("/key", "Give it 2 to 10 upper-case letters and digits, a letter first, and not NONE.")
	}
	p.apply(ProjectChange{Name: &n.Name, Description: &n.Description}, now, &bad)
	return p, bad.Err()
}

// apply makes the change to p and notes in bad what is wrong with it.
func (p *Project) apply(c ProjectChange, now time.Time, bad *fault.Fields) {
	if c.Name != nil {
		p.Name = strings.TrimSpace(*c.Name)
		if wrong := label.Wrong(p.Name, maxProjectName); wrong != "" {
			bad.Add("/name", "%s", wrong)
		}
	}
	if c.Description != nil {
		p.Description = plaintext.Lines(*c.Description)
		if utf8.RuneCountInString(p.Description) > maxProjectDescription {
			bad.Add("/description", "It may have %d characters at most.", maxProjectDescription)
		}
	}
	if c.Archived != nil && *c.Archived != (p.ArchivedAt != nil) {
		if p.ArchivedAt = nil; *c.Archived {
			p.ArchivedAt = clock.Ptr(now)
		}
	}
}

// changes tells what an update changed, for the event: field → [before, after].
func (p Project) changes(was Project) map[string][2]any {
	changes := map[string][2]any{}
	if was.Name != p.Name {
		changes["name"] = [2]any{was.Name, p.Name}
	}
	if was.Description != p.Description {
		changes["description"] = [2]any{len(was.Description), len(p.Description)} // its text is in the project
	}
	if !same(was.ArchivedAt, p.ArchivedAt) {
		changes["archived_at"] = [2]any{was.ArchivedAt, p.ArchivedAt}
	}
	return changes
}

// CreateProject makes a project. Its key is taken for good.
func (s *Service) CreateProject(ctx context.Context, n NewProject) (Project, error) {
	var p Project
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		p, err = once.Do(ctx, tx, s.Now(), findProjectRow, func(p Project) string { return p.ID },
			func() (Project, error) { return s.createProject(ctx, tx, n) })
		return err
	})
	if err != nil {
		return Project{}, fmt.Errorf("create project: %w", err)
	}
	return p, nil
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

// Project returns a project by its id or its key, in any case.
func (s *Service) Project(ctx context.Context, ref string) (Project, error) {
	return findProjectRow(ctx, s.DB, ref)
}

// Projects returns one page of those in the archive, or of those that are not,
// by their key, creation or update.
func (s *Service) Projects(ctx context.Context, archived bool, want page.Want) (page.Part[Project], error) {
	var part page.Part[Project]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		part, err = projects.Read(ctx, q, ofArchive(archived), want)
		return err
	})
	return part, err
}

// UpdateProject makes a partial change. With a version it is refused with
// ErrProjectChanged when the project has moved on. A change that changes
// nothing leaves no trace.
func (s *Service) UpdateProject(ctx context.Context, ref string, c ProjectChange, version *int64) (Project, error) {
	var p Project
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for {
			done, err := s.updateProject(ctx, tx, ref, c, version)
			if errors.Is(err, errRaced) {
				continue
			}
			p = done
			return err
		}
	})
	if err != nil {
		return Project{}, fmt.Errorf("update project: %w", err)
	}
	return p, nil
}

func (s *Service) updateProject(ctx context.Context, tx *db.Tx, ref string, c ProjectChange, version *int64) (Project, error) {
	was, err := findProjectRow(ctx, tx, ref)
	if err != nil {
		return Project{}, err
	}
	if version != nil && *version != was.Version {
		return Project{}, ErrProjectChanged.With("It is at version %d now. Read it again and repeat the change.", was.Version).
			Fact("current_version", was.Version)
	}
	p := was
	var bad fault.Fields
	p.apply(c, s.Now(), &bad)
	if err := bad.Err(); err != nil {
		return Project{}, err
	}
	changes := p.changes(was)
	if len(changes) == 0 {
		return was, nil
	}
	p.Version, p.UpdatedAt = was.Version+1, clock.At(s.Now())
	if err := updateProjectRow(ctx, tx, was, p); err != nil {
		return Project{}, err
	}
	return p, p.record(ctx, tx, s.Now(), "project.changed", map[string]any{"changes": changes})
}

// record notes in the log what happened to p. Nothing else may be written after it.
func (p Project) record(ctx context.Context, tx *db.Tx, at time.Time, kind string, data any) error {
	about := event.Subject{Kind: "project", ID: p.ID, Name: p.Key}
	return event.Record(ctx, tx, at, event.Activity, kind, about, data)
}
