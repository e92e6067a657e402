package trouble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

const (
	almostFull   = 90 // percentage of its limit from which an agent's file is reported
	bytesPerChar = 3  // at most; a file with more bytes is too long without a look at its text
)

// Workspaces is the part of the gateway client that tells how long the agents' files are.
type Workspaces interface {
	Agents(ctx context.Context) ([]gateway.Agent, error)
	FileLimits(ctx context.Context) (gateway.FileLimits, error)
	AgentFiles(ctx context.Context, agentID string) ([]gateway.AgentFile, error)
	AgentFileLength(ctx context.Context, agentID, name string) (int64, error)
}

// Files raises an inbox item when a file of an agent, such as its memory, has almost reached the length
// from which the runtime cuts it off. It resolves the item once the file is shorter.
type Files struct {
	DB      *db.DB
	Runtime Workspaces
	Now     func() time.Time
	Inbox   *inbox.Service
}

// Check compares the agents' files with the inbox. While the gateway cannot be asked, it does nothing, so
// that an outage resolves no item.
func (s *Files) Check(ctx context.Context) error {
	found, err := s.find(ctx)
	if link.IsUnavailable(err) || errors.Is(err, link.ErrNotConfigured) {
		return nil // the state of the gateway is reported elsewhere
	}
	if err != nil {
		return fmt.Errorf("check the agents' files: %w", err)
	}
	err = s.DB.Tx(actor.With(ctx, actor.System), func(tx *db.Tx) error {
		for _, cause := range slices.Sorted(maps.Keys(found)) {
			reported, err := fileReported(ctx, tx, found[cause])
			if err == nil && !reported {
				err = s.Inbox.Raise(ctx, tx, found[cause])
			}
			if err != nil {
				return err
			}
		}
		return s.resolveOthers(ctx, tx, found)
	})
	if err != nil {
		return fmt.Errorf("report the agents' files to the inbox: %w", err)
	}
	return nil
}

// find returns the items about the files that are too long, by cause. It reads a file only if its size
// in bytes, which is at least its length, is near the limit.
func (s *Files) find(ctx context.Context) (map[string]inbox.NewItem, error) {
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return nil, err
	}
	limits, err := s.Runtime.FileLimits(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]inbox.NewItem{}
	for _, a := range agents {
		files, err := s.Runtime.AgentFiles(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			limit := limits.Of(a.ID, f.Name)
			if f.Bytes*100 < limit*almostFull {
				continue
			}
			length := f.Bytes
			if f.Bytes <= limit*bytesPerChar {
				if length, err = s.Runtime.AgentFileLength(ctx, a.ID, f.Name); err != nil {
					return nil, err
				}
			}
			if length*100 >= limit*almostFull {
				m := fileItem(a, f.Name, length, limit)
				m.At = s.Now()
				found[m.Cause] = m
			}
		}
	}
	return found, nil
}

// fileItem returns the item about a file. A file that is cut off is more severe than one that soon will be.
func fileItem(a gateway.Agent, name string, length, limit int64) inbox.NewItem {
	who := cmp.Or(a.IdentityName, a.Name, a.ID)
	m := inbox.NewItem{
		Cause: "gateway/file/" + a.ID + "/" + name, Kind: inbox.AgentFile, Severity: inbox.Medium,
		Title: fmt.Sprintf("%s's %s is at %d%% of its limit", who, name, length*100/limit),
		Detail: fmt.Sprintf(
			"The file has %d of %d characters. The runtime cuts off what is beyond the limit, so %s would forget it.", length,
			limit, who,
		),
		Subject: event.Subject{Kind: event.TopicAgent, ID: a.ID, Name: who},
	}
	if length > limit {
		m.Severity = inbox.High
		m.Title = fmt.Sprintf("%s's %s is too long", who, name)
		m.Detail = fmt.Sprintf("The runtime cuts off what is beyond %d characters, so %s does not see the whole file.", limit,
			who)
	}
	m.Detail += "\n\nShorten the file, or raise `bootstrapMaxChars` in the gateway's configuration. This item resolves itself after that."
	return m
}

// fileReported reports whether the inbox has the item already. An item that a person resolved counts, but
// not one that was less severe or that Wardroom resolved.
func fileReported(ctx context.Context, tx *db.Tx, m inbox.NewItem) (reported bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM inbox_items WHERE cause = ? AND severity IN (?, ?) AND (state <> 'resolved' OR resolver_id <> ?))`
	err = tx.QueryRow(ctx, query, m.Cause, m.Severity, inbox.High, actor.System.ID).Scan(&reported)
	return reported, err
}

// resolveOthers resolves the items about files that are short enough now.
func (s *Files) resolveOthers(ctx context.Context, tx *db.Tx, found map[string]inbox.NewItem) error {
	rows, err := tx.Query(ctx, `SELECT cause FROM inbox_items WHERE kind = ? AND state <> 'resolved'`, inbox.AgentFile)
	open, err := db.All(rows, err, func(r db.Row) (cause string, err error) { return cause, r.Scan(&cause) })
	for _, cause := range open {
		if _, still := found[cause]; !still && err == nil {
			err = s.Inbox.ResolveCause(ctx, tx, cause, "The file is shorter than its limit, or no longer there.")
		}
	}
	return err
}
