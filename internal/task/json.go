package task

import (
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/encode"
)

// AppendJSON appends what encoding/json makes of the task. Boards are read far
// more often than anything else, a hundred tasks at a time.
func (t *Task) AppendJSON(to []byte) []byte {
	to = encode.String(append(to, `{"id":`...), t.ID)
	to = encode.String(append(to, `,"key":`...), t.Key)
	to = encode.String(append(to, `,"title":`...), t.Title)
	to = encode.String(append(to, `,"description":`...), t.Description)
	to = encode.String(append(to, `,"status":`...), t.Status)
	to = encode.String(append(to, `,"priority":`...), t.Priority)
	to = encode.String(append(to, `,"type":`...), t.Type)
	to = encode.Strings(append(to, `,"tags":`...), t.Tags)
	to = encode.Optional(append(to, `,"assignee_id":`...), t.AssigneeID)
	to = encode.Optional(append(to, `,"reporter_id":`...), t.ReporterID)
	to = encode.Optional(append(to, `,"project_id":`...), t.ProjectID)
	to = encode.Optional(append(to, `,"parent_id":`...), t.ParentID)
	to = encode.Strings(append(to, `,"depends_on":`...), t.DependsOn)
	to = encode.Int(append(to, `,"waiting_on":`...), t.WaitingOn)
	to = t.Blocked.appendJSON(append(to, `,"blocked":`...))
	to = t.Claim.appendJSON(append(to, `,"claim":`...))
	to = encode.Optional(append(to, `,"session_key":`...), t.SessionKey)
	to = encode.Optional(append(to, `,"branch":`...), t.Branch)
	to = encode.Optional(append(to, `,"pr_url":`...), t.PRURL)
	to = t.Dispatch.appendJSON(append(to, `,"dispatch":`...))
	to = t.appendSpend(to)
	to = encode.Optional(append(to, `,"origin":`...), t.Origin)
	to = appendTime(append(to, `,"due_at":`...), t.DueAt)
	to = appendTime(append(to, `,"done_at":`...), t.DoneAt)
	to = appendTime(append(to, `,"archived_at":`...), t.ArchivedAt)
	to = encode.Time(append(to, `,"moved_at":`...), t.MovedAt.Time)
	to = encode.Time(append(to, `,"created_at":`...), t.CreatedAt.Time)
	to = encode.Time(append(to, `,"updated_at":`...), t.UpdatedAt.Time)
	to = encode.String(append(to, `,"position":`...), t.Position)
	to = encode.Int(append(to, `,"comment_count":`...), t.Comments)
	to = encode.Int(append(to, `,"version":`...), t.Version)
	return append(to, '}')
}

func (b *Blocked) appendJSON(to []byte) []byte {
	if b == nil {
		return append(to, "null"...)
	}
	to = encode.String(append(to, `{"reason":`...), b.Reason)
	to = encode.Time(append(to, `,"since":`...), b.Since.Time)
	to = encode.String(append(to, `,"by":`...), b.By)
	return append(to, '}')
}

func (c *Claim) appendJSON(to []byte) []byte {
	if c == nil {
		return append(to, "null"...)
	}
	to = encode.String(append(to, `{"by":`...), c.By)
	to = encode.String(append(to, `,"name":`...), c.Name)
	to = encode.Time(append(to, `,"expires_at":`...), c.ExpiresAt.Time)
	if c.Token != 0 {
		to = encode.Int(append(to, `,"token":`...), c.Token)
	}
	return append(to, '}')
}

func appendTime(to []byte, t *clock.Time) []byte {
	if t == nil {
		return append(to, "null"...)
	}
	return encode.Time(to, t.Time)
}
