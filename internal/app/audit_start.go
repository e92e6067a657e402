package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
)

const (
	startKind = "service.started"
	// sameStart is how long Wardroom does not record another start that is identical
	// to the last recorded one. Otherwise a crash loop could fill the disk.
	sameStart = 10 * time.Minute
)

// started is the payload of the audit event that records that Wardroom started.
type started struct {
	Version  string       `json:"version"`
	Settings config.Given `json:"settings"`
	// Changes holds the settings that changed since the last start. A change from one
	// secret to another is not detected.
	Changes map[string]change `json:"changes,omitempty"`
}

// change holds the values of a setting before and after a change. A nil value means
// the default.
type change struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// auditStart records in the audit log that Wardroom has started, and with which settings.
func (a *App) auditStart(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	is, now := started{Version: Version, Settings: a.cfg.Given}, a.opts.Now()
	err := a.DB.Tx(ctx, func(tx *db.Tx) error {
		last, err := event.Read(ctx, tx, event.Filter{Class: event.Audit, Kinds: []string{startKind}},
			page.Want{Query: page.Query{Limit: 1}})
		if err != nil {
			return err
		}
		for _, e := range last.Rows {
			var was started
			if err := json.Unmarshal(e.Data, &was); err != nil {
				return err
			}
			is.Changes = changes(was.Settings, is.Settings)
			if len(is.Changes) == 0 && was.Version == is.Version && now.Sub(e.At.Time) < sameStart &&
				!e.At.After(now.Add(clock.Skew)) {
				return nil
			}
		}
		return event.Record(ctx, tx, now, event.Audit, startKind,
			event.Subject{Kind: "service", ID: "wardroom", Name: "Wardroom"}, is)
	})
	if err != nil {
		return fmt.Errorf("record the start in the audit log: %w", err)
	}
	return nil
}

// changes returns the settings that differ between the last start and this one.
func changes(was, is config.Given) map[string]change {
	out := map[string]change{}
	value := func(g config.Given, name string) *string {
		if v, ok := g[name]; ok {
			return &v
		}
		return nil
	}
	for _, g := range []config.Given{was, is} {
		for name := range g {
			before, after := value(was, name), value(is, name)
			if (before == nil) != (after == nil) || before != nil && *before != *after {
				out[name] = change{before, after}
			}
		}
	}
	return out
}
