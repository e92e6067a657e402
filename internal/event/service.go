package event

import (
	"context"

	"wardroom/internal/platform/db"
)

// Service reads the log for people.
type Service struct{ DB *db.DB }

// Activity returns what happened, the newest first: of one thing when its kind
// and id are given, and below an id when that is not zero.
func (s *Service) Activity(ctx context.Context, subjectKind, subjectID string, before int64, limit int) ([]Event, error) {
	return Read(ctx, s.DB, Filter{Class: Activity, SubjectKind: subjectKind, SubjectID: subjectID, Before: before, Limit: limit})
}
