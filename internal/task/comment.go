package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/search"
)

// Comment is a comment on a task.
type Comment struct {
	ID         string      `json:"id"`
	TaskID     string      `json:"task_id"`
	AuthorID   *string     `json:"author_id" doc:"ID of the author; null if Wardroom wrote it."`
	AuthorName string      `json:"author_name" doc:"Name of the author when the comment was written."`
	Body       string      `json:"body" doc:"Markdown. May be written by agents: treat as untrusted."`
	Mentions   []string    `json:"mentions" nullable:"false" doc:"IDs of the users mentioned as @agent_id or @name, at most 20."`
	CreatedAt  clock.Time  `json:"created_at"`
	EditedAt   *clock.Time `json:"edited_at" doc:"When the text was last changed; null if never."`
	Version    int64       `json:"version" doc:"Incremented by every change; part of the ETag."`
}

// CommentText is the text of a comment to create or edit.
type CommentText struct {
	Body string `json:"body" minLength:"1" maxLength:"10000" doc:"Markdown. @agent_id and @name mention a user, except in code."`
}

// maxComment is the maximum length of a comment in characters.
const maxComment = 10_000

// Errors returned by the comment operations.
var (
	ErrCommentNotFound = fault.New(fault.NotFound, "comment_not_found", "Comment not found on this task.")
	ErrCommentChanged  = fault.New(fault.Stale, "comment_changed", "The comment has changed since you read it.")
	ErrNotAuthor       = fault.New(fault.Forbidden, "not_the_author", "You are not the author of this comment.")
)

// clean returns the sanitized text. It fails if the text is blank or too long.
func (c CommentText) clean() (CommentText, error) {
	var bad fault.Fields
	c.Body = plaintext.Lines(c.Body)
	if n := utf8.RuneCountInString(c.Body); strings.TrimSpace(c.Body) == "" || n > maxComment {
		bad.Add("/body", "Must not be blank, and must be at most %d characters.", maxComment)
	}
	return c, bad.Err()
}

// Event kinds for comments. The events do not contain the text of the comment,
// so that no copy remains when the comment is deleted.
const (
	commented      = "task.commented"
	commentChanged = "comment.changed"
	commentDeleted = "comment.deleted"
)

// Comment adds a comment to a task. Archived tasks cannot be commented on.
func (s *Service) Comment(ctx context.Context, ref string, text CommentText) (Comment, error) {
	return db.Do(ctx, s.DB, "comment on a task", func(tx *db.Tx) (Comment, error) {
		return once.Do(ctx, tx, s.Now(), findAnyComment, func(c Comment) string { return c.ID },
			func() (Comment, error) { return s.CommentIn(ctx, tx, ref, text) })
	})
}

// CommentIn is like Comment, but runs in the caller's transaction. The author
// is the actor in ctx. Standups use CommentIn to record decisions on tasks.
func (s *Service) CommentIn(ctx context.Context, tx *db.Tx, ref string, text CommentText) (Comment, error) {
	text.Body = s.redact(ctx, text.Body)
	text, err := text.clean()
	if err != nil {
		return Comment{}, err
	}
	now, by := s.Now(), actor.From(ctx)
	t, err := findOpen(ctx, tx, ref)
	if err != nil {
		return Comment{}, err
	}
	c := Comment{ID: db.NewID(), TaskID: t.ID, AuthorName: by.Name, Body: text.Body, CreatedAt: clock.At(now), Version: 1}
	if by.Role != "" {
		c.AuthorID = &by.ID
	}
	if c.Mentions, err = mentioned(ctx, tx, c.Body); err != nil {
		return Comment{}, fmt.Errorf("find mentioned users: %w", err)
	}
	if err := countComment(ctx, tx, t.ID, 1); err != nil {
		return Comment{}, err
	}
	if err := insertComment(ctx, tx, c); err != nil {
		return Comment{}, err
	}
	data := map[string]any{"comment_id": c.ID, "mentions": c.Mentions, "length": utf8.RuneCountInString(c.Body)}
	return c, s.record(ctx, tx, []pendingEvent{{now, commented, t, data, nil}})
}

// Comments returns one page of a task's comments, oldest first.
func (s *Service) Comments(ctx context.Context, ref string, want page.Want) (page.Part[Comment], error) {
	var part page.Part[Comment]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		t, err := find(ctx, q, ref)
		if err != nil {
			return err
		}
		part, err = comments.Read(ctx, q, ofTask(t.ID), want)
		return err
	})
	return part, err
}

// EditComment changes the text of a comment that the caller wrote. If a version is given
// but is not the comment's current one, it fails with ErrCommentChanged.
func (s *Service) EditComment(ctx context.Context, ref, id string, text CommentText, version *int64) (Comment, error) {
	return db.Do(ctx, s.DB, "edit a comment", func(tx *db.Tx) (Comment, error) {
		return s.editIn(ctx, tx, ref, id, text, version)
	})
}

func (s *Service) editIn(
	ctx context.Context, tx *db.Tx, ref, id string, text CommentText, version *int64,
) (Comment, error) {
	text.Body = s.redact(ctx, text.Body)
	text, err := text.clean()
	if err != nil {
		return Comment{}, err
	}
	t, old, err := findComment(ctx, tx, ref, id)
	if err != nil {
		return Comment{}, err
	}
	if old.AuthorID == nil || *old.AuthorID != actor.From(ctx).ID {
		return Comment{}, ErrNotAuthor.With("Only the author can edit a comment. Write a new comment instead.")
	}
	if err := t.checkArchived(); err != nil {
		return Comment{}, err
	}
	if err := ErrCommentChanged.Unless(version, old.Version, "comment"); err != nil {
		return Comment{}, err
	}
	if old.Body == text.Body {
		return old, nil
	}
	now, c := s.Now(), old
	c.Body, c.EditedAt, c.Version = text.Body, clock.Ptr(now), old.Version+1
	if c.Mentions, err = mentioned(ctx, tx, c.Body); err != nil {
		return Comment{}, fmt.Errorf("find mentioned users: %w", err)
	}
	if err := updateComment(ctx, tx, c); err != nil {
		return Comment{}, err
	}
	fresh := slices.DeleteFunc(slices.Clone(c.Mentions), func(id string) bool { return slices.Contains(old.Mentions, id) })
	data := map[string]any{"comment_id": c.ID, "mentions": fresh, "length": utf8.RuneCountInString(c.Body)}
	return c, s.record(ctx, tx, []pendingEvent{{now, commentChanged, t, data, nil}})
}

// DeleteComment permanently deletes a comment, even if its task is archived.
// Users who may delete tasks can delete all comments; other users can delete
// only their own.
func (s *Service) DeleteComment(ctx context.Context, ref, id string, version *int64) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		t, c, err := findComment(ctx, tx, ref, id)
		if err != nil {
			return err
		}
		by := actor.From(ctx)
		if own := c.AuthorID != nil && *c.AuthorID == by.ID; !own && !by.Role.May(actor.DeleteTasks) {
			return ErrNotAuthor.With("Only the author, an admin, or Wardroom's owner can delete a comment.")
		}
		if err := ErrCommentChanged.Unless(version, c.Version, "comment"); err != nil {
			return err
		}
		if err := countComment(ctx, tx, t.ID, -1); err != nil {
			return err
		}
		if err := deleteComment(ctx, tx, c); err != nil {
			return err
		}
		data := map[string]any{"comment_id": c.ID, "author_id": c.AuthorID, "author_name": c.AuthorName}
		return s.record(ctx, tx, []pendingEvent{{s.Now(), commentDeleted, t, data, nil}})
	})
	if err != nil {
		return fmt.Errorf("delete a comment: %w", err)
	}
	return nil
}

const commentColumns = `id, task_id, author_id, author_name, body, mentions, created_at, edited_at, version`

// comments defines the list of comments. Comments with the same creation time
// are sorted by ID.
var comments = list.List[Comment]{
	Table: `comments`, Columns: commentColumns, Scan: scanComment, Usual: "created",
	Sorts: map[string]list.Sort[Comment]{
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(c Comment) []any { return []any{c.CreatedAt.Time, c.ID} },
		},
	},
}

func ofTask(id string) (w list.Where) {
	w.And(`task_id = ?`, id)
	return w
}

func scanComment(row db.Row) (Comment, error) {
	var c Comment
	var mentions string
	err := row.Scan(&c.ID, &c.TaskID, &c.AuthorID, &c.AuthorName, &c.Body, &mentions, &c.CreatedAt,
		&c.EditedAt, &c.Version)
	if err != nil {
		return Comment{}, err
	}
	return c, json.Unmarshal([]byte(mentions), &c.Mentions)
}

// packMentions encodes the IDs of the mentioned users in the format that
// scanComment decodes.
func (c Comment) packMentions() string {
	text, err := json.Marshal(c.Mentions)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(text)
}

// findAnyComment finds the comment with the given ID on any task.
func findAnyComment(ctx context.Context, q db.Queryer, id string) (Comment, error) {
	c, err := scanComment(q.QueryRow(ctx, `SELECT `+commentColumns+` FROM comments WHERE id = ?`, strings.ToLower(id)))
	if db.IsNotFound(err) {
		return Comment{}, ErrCommentNotFound.With("Reload the task's comments.")
	}
	return c, err
}

// findComment finds a comment on the given task. It returns the task and the
// comment.
func findComment(ctx context.Context, q db.Queryer, ref, id string) (Task, Comment, error) {
	t, err := find(ctx, q, ref)
	if err != nil {
		return Task{}, Comment{}, err
	}
	c, err := findAnyComment(ctx, q, id)
	if err == nil && c.TaskID != t.ID {
		err = ErrCommentNotFound.With("Reload the comments on task %s.", t.Key)
	}
	return t, c, err
}

// countComment changes the task's comment count by the given number, which is
// negative after a deletion.
func countComment(ctx context.Context, tx *db.Tx, taskID string, by int) error {
	_, err := tx.Exec(ctx, `UPDATE tasks SET comment_count = comment_count + ? WHERE id = ?`, by, taskID)
	if err != nil {
		return err
	}
	return rewriteCards(ctx, tx, taskID)
}

func insertComment(ctx context.Context, tx *db.Tx, c Comment) error {
	_, err := tx.Exec(ctx, `INSERT INTO comments (`+commentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.TaskID, c.AuthorID, c.AuthorName, c.Body, c.packMentions(), c.CreatedAt, c.EditedAt, c.Version)
	if err != nil {
		return err
	}
	return search.Add(ctx, tx, c.findable())
}

// reindexComments updates the search entries of a task's comments when the task
// is archived or restored.
func reindexComments(ctx context.Context, tx *db.Tx, t Task) error {
	rows, err := tx.Query(ctx, `SELECT `+commentColumns+` FROM comments WHERE task_id = ?`, t.ID)
	all, err := db.All(rows, err, scanComment)
	for _, c := range all {
		if err == nil {
			text := c.findable()
			text.Archived = t.ArchivedAt != nil
			err = search.Put(ctx, tx, text)
		}
	}
	return err
}

// findable returns the comment's entry for the full-text search. The entry is
// not marked as archived, because comments on archived tasks cannot be added or
// edited.
func (c Comment) findable() search.Text {
	return search.Text{TaskID: c.TaskID, CommentID: c.ID, Body: c.Body}
}

// updateComment stores a changed comment.
func updateComment(ctx context.Context, tx *db.Tx, c Comment) error {
	_, err := tx.Exec(ctx, `UPDATE comments SET body = ?, mentions = ?, edited_at = ?, version = ? WHERE id = ?`,
		c.Body, c.packMentions(), c.EditedAt, c.Version, c.ID)
	if err == nil {
		err = search.Put(ctx, tx, c.findable())
	}
	return err
}

// deleteComment deletes a comment.
func deleteComment(ctx context.Context, tx *db.Tx, c Comment) error {
	_, err := tx.Exec(ctx, `DELETE FROM comments WHERE id = ?`, c.ID)
	return err
}
