package trouble

import (
	"cmp"
	"context"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
)

const (
	almostFull   = 90 // percentage of its limit from which an agent's file is reported
	bytesPerChar = 3  // at most; a file with more bytes is too long without a look at its text
)

// CheckFiles raises an inbox item when a file of an agent, such as its memory, has almost reached the length
// from which the runtime cuts it off.
func (s *Checks) CheckFiles(ctx context.Context) error {
	return s.check(ctx, inbox.AgentFile, s.longFiles, "The file is shorter than its limit, or no longer there.")
}

// longFiles returns the items about the files that are too long. It reads a file only if its size
// in bytes, which is at least its length, is near the limit.
func (s *Checks) longFiles(ctx context.Context) (found []inbox.NewItem, err error) {
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return nil, err
	}
	limits, err := s.Runtime.FileLimits(ctx)
	if err != nil {
		return nil, err
	}
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
				found = append(found, fileItem(a, f.Name, length, limit))
			}
		}
	}
	return found, nil
}

// fileItem returns the item about a file. A file that is cut off is more severe than one that soon will be.
func fileItem(a gateway.Agent, name string, length, limit int64) inbox.NewItem {
	who := cmp.Or(a.IdentityName, a.Name, a.ID)
	m := inbox.NewItem{
		Cause: "gateway/file/" + a.ID + "/" + name, Severity: inbox.Medium,
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
