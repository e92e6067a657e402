package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// opened is the result of a request to open a standup: the standup's id, and whether the request created the standup.
type opened struct {
	id      string
	created bool
}

// key encodes o as a string to store under the request's Idempotency-Key. A repeated request then gets the same answer
// as the first.
func (o opened) key() string {
	if o.created {
		return o.id
	}
	return existedPrefix + o.id
}

// existedPrefix is the prefix that opened.key adds if the standup already existed.
const existedPrefix = "had "

// findOpening decodes a string returned by opened.key and checks that the standup still exists.
func findOpening(ctx context.Context, q db.Queryer, name string) (opened, error) {
	id, had := strings.CutPrefix(name, existedPrefix)
	_, err := find(ctx, q, id)
	return opened{id, !had}, err
}

// openIn opens a standup, unless the team already has one on that day. The standup gets
// the team's current facilitator and participants; later changes to the team do not affect
// it.
func (s *Service) openIn(
	ctx context.Context, tx *db.Tx, n New, now time.Time, members []account.AgentUser,
) (opened, error) {
	t, err := s.namedTeam(ctx, tx, n.Team)
	if err != nil {
		return opened{}, err
	}
	date, zone, err := n.day(now, s.zone(t))
	if err != nil {
		return opened{}, err
	}
	made := Standup{
		ID: db.NewID(), Team: t.Key, Date: date, Timezone: zone.String(), Title: cmp.Or(headline(n.Title), t.title(date)),
		Status: Running, Phase: Opened, Facilitator: t.Facilitator,
		CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1,
	}
	if t.ArchivedAt != nil {
		had, err := findByDay(ctx, tx, t.Key, date)
		if errors.Is(err, ErrNotFound) {
			err = ErrTeamArchived.With("Restore the team before you open a standup, or use another team.")
		}
		return opened{had.ID, false}, err
	}
	if created, err := insert(ctx, tx, made); err != nil || !created {
		if err != nil {
			return opened{}, err
		}
		had, err := findByDay(ctx, tx, t.Key, date)
		return opened{had.ID, false}, err
	}
	return s.recordOpened(ctx, tx, t, made, members)
}

// recordOpened finishes opening a standup: it stores a pending report for each participant,
// the first transcript entry and the event.
func (s *Service) recordOpened(
	ctx context.Context, tx *db.Tx, t Team, made Standup, members []account.AgentUser,
) (opened, error) {
	now := made.CreatedAt.Time
	for i, agentID := range t.Participants {
		r := Report{AgentID: agentID, Name: nameOf(members, agentID), Status: Pending}
		if err := putReport(ctx, tx, made.ID, i, r); err != nil {
			return opened{}, err
		}
	}
	text := fmt.Sprintf("%s opened the standup of %s (%s).", actor.From(ctx).Name, made.Date, made.Timezone)
	if err := appendLine(ctx, tx, made.ID, now, "note", service, team, text); err != nil {
		return opened{}, err
	}
	return opened{made.ID, true}, record(ctx, tx, now, "standup.opened", made, nil)
}
