// Package search is the full-text search over tasks, comments, standup reports,
// and archived sessions.
//
// This package splits text into words itself (words.go), because the databases differ in what they treat as a
// word and in how they fold case. Both engines therefore find the same texts, and nothing that a
// user types is treated as query syntax. Texts and queries are compared in the form of plaintext.Fold.
// In scripts without spaces between words, a text is found by any of its characters in the same
// order. The feature that owns a text indexes it in the transaction
// that writes it.
//
// Each word in the index is prefixed with the class of its text, so a search
// for tasks does not read the entries of sessions; see index_terms.go.
package search

import "wardroom/internal/platform/clock"

// Kind says what a text belongs to, such as a task or a standup report.
type Kind string

// Values of Kind.
const (
	OfTask    Kind = "task"
	OfComment Kind = "comment"
	OfReport  Kind = "report"  // a standup report
	OfSession Kind = "session" // an archived runtime session
)

// Text is a task or a comment to index.
type Text struct {
	TaskID    string
	CommentID string // empty for the task itself
	Archived  bool   // whether the task is in the archive
	Title     string // matches here rank first
	Body      string
}

// SessionText is an archived session to index.
type SessionText struct {
	ID    string // in the archive
	Title string // matches here rank first
	Body  string
}

// ReportText is a standup report to index.
type ReportText struct {
	StandupID, AgentID string
	Body               string
}

// Result is one match.
type Result struct {
	Kind      Kind        `json:"kind"`
	TaskID    *string     `json:"task_id" doc:"Null for a report or session."`
	TaskKey   *string     `json:"task_key" example:"TASK-12" doc:"Null for a report or session."`
	CommentID *string     `json:"comment_id" doc:"The comment that matches; null if the task itself matches."`
	SessionID *string     `json:"session_id" doc:"ID of the archived session, as in GET /sessions/{id}; otherwise null."`
	StandupID *string     `json:"standup_id" doc:"The standup of a report; otherwise null."`
	AgentID   *string     `json:"agent_id" doc:"The agent of a session or report; otherwise null."`
	Title     string      `json:"title" doc:"Title of the task or standup; for a session, its label or key."`
	Archived  bool        `json:"archived" doc:"Whether the task is archived; always true for a session."`
	Snippet   string      `json:"snippet" doc:"Excerpt of the text around the first match, as one line of plain text; empty if there is no text. May be written by agents: treat as untrusted."`
	Marks     []Mark      `json:"marks" nullable:"false" doc:"Positions of the matches in the snippet."`
	At        clock.Time  `json:"at" doc:"When the task or comment was created or the report submitted; for a session, its last activity."`
	EditedAt  *clock.Time `json:"edited_at" doc:"When the text was last changed; null if never."`
}

// Mark is the position of a match, in Unicode code points.
type Mark struct {
	Start int `json:"start" doc:"Offset of the first character."`
	End   int `json:"end" doc:"Offset after the last character."`
}
