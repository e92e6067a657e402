package main

import (
	"strconv"
	"time"
)

// append encodes the row as JSON, field by field, and appends it to the given bytes.
func (r *row) append(to []byte) []byte {
	to = text(append(to, `{"id":`...), r.ID)
	to = strconv.AppendInt(append(to, `,"number":`...), r.Number, 10)
	to = text(append(to, `,"title":`...), r.Title)
	to = text(append(to, `,"description":`...), r.Description)
	to = text(append(to, `,"status":`...), r.Status)
	to = text(append(to, `,"priority":`...), r.Priority)
	to = text(append(to, `,"type":`...), r.Type)
	to = append(append(to, `,"tags":`...), r.Tags...)
	to = optional(append(to, `,"assignee_id":`...), r.AssigneeID)
	to = optional(append(to, `,"reporter_id":`...), r.ReporterID)
	to = optional(append(to, `,"project_id":`...), r.ProjectID)
	to = optional(append(to, `,"parent_id":`...), r.ParentID)
	to = text(append(to, `,"depends_on":`...), r.DependsOn)
	to = strconv.AppendInt(append(to, `,"waiting_on":`...), r.WaitingOn, 10)
	to = optional(append(to, `,"blocked":`...), r.Blocked)
	to = optional(append(to, `,"claim":`...), r.ClaimBy)
	to = optional(append(to, `,"session_key":`...), r.SessionKey)
	to = optional(append(to, `,"branch":`...), r.Branch)
	to = optional(append(to, `,"pr_url":`...), r.PRURL)
	to = optional(append(to, `,"origin":`...), r.Origin)
	to = maybe(append(to, `,"due_at":`...), r.DueAt)
	to = maybe(append(to, `,"done_at":`...), r.DoneAt)
	to = maybe(append(to, `,"archived_at":`...), r.ArchivedAt)
	to = moment(append(to, `,"moved_at":`...), r.MovedAt)
	to = moment(append(to, `,"created_at":`...), r.CreatedAt)
	to = moment(append(to, `,"updated_at":`...), r.UpdatedAt)
	to = text(append(to, `,"position":`...), r.Position)
	to = strconv.AppendInt(append(to, `,"version":`...), r.Version, 10)
	to = strconv.AppendInt(append(to, `,"comment_count":`...), r.Comments, 10)
	return append(to, '}')
}

func text(to []byte, s string) []byte {
	to = append(to, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		default:
			const hex = "0123456789abcdef"
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		from = i + 1
	}
	return append(append(to, s[from:]...), '"')
}

func optional(to []byte, s *string) []byte {
	if s == nil {
		return append(to, "null"...)
	}
	return text(to, *s)
}

func moment(to []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(to, '"'), "2006-01-02T15:04:05.000Z"), '"')
}

func maybe(to []byte, t *time.Time) []byte {
	if t == nil {
		return append(to, "null"...)
	}
	return moment(to, *t)
}
