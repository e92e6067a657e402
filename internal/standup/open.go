package standup

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// opened is the standup of a day, and whether it was opened by this request.
type opened struct {
	id      string
	created bool
}

// name keeps both under an Idempotency-Key, whose repetition is answered alike.
func (o opened) name() string {
	if o.created {
		return o.id
	}
	return hadAlready + o.id
}

const hadAlready = "had "

func findOpening(ctx context.Context, q db.Queryer, name string) (opened, error) {
	id, had := strings.CutPrefix(name, hadAlready)
	_, err := find(ctx, q, id)
	return opened{id, !had}, err
}

// openIn stores a standup that was opened, unless its day has one.
func (s *Service) openIn(ctx context.Context, tx *db.Tx, made Standup, members []Member) (opened, error) {
	now := made.CreatedAt.Time
	if created, err := insert(ctx, tx, made); err != nil || !created {
		if err != nil {
			return opened{}, err
		}
		had, err := findByDate(ctx, tx, made.Date)
		return opened{had.ID, false}, err
	}
	for i, agentID := range s.Participants {
		r := Report{AgentID: agentID, Name: nameOf(members, agentID), Status: Pending}
		if err := putReport(ctx, tx, made.ID, i, r); err != nil {
			return opened{}, err
		}
	}
	text := fmt.Sprintf("%s opened the standup of %s (%s).", actor.From(ctx).Name, made.Date, made.Timezone)
	if err := say(ctx, tx, made.ID, now, "note", service, team, text); err != nil {
		return opened{}, err
	}
	return opened{made.ID, true}, record(ctx, tx, now, "standup.opened", made, nil)
}
