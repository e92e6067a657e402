package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// AgentFile is a file of an agent's workspace that the runtime puts into the agent's context.
type AgentFile struct {
	Name  string
	Bytes int64
}

// AgentFiles lists the files of an agent that exist. It requires the scope operator.read.
func (c *Client) AgentFiles(ctx context.Context, agentID string) ([]AgentFile, error) {
	p := struct {
		AgentID string `json:"agentId"`
	}{agentID}
	var out struct {
		Files []json.RawMessage `json:"files"`
	}
	if err := c.call(ctx, "agents.files.list", p, &out); err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", agentID, err)
	}
	var list []AgentFile
	for _, raw := range out.Files {
		var f struct {
			Name    wire.Word   `json:"name"`
			Missing wire.Flag   `json:"missing"`
			Size    wire.Number `json:"size"`
		}
		if json.Unmarshal(raw, &f) == nil && f.Name != "" && !f.Missing.Is() {
			list = append(list, AgentFile{Name: c.short(string(f.Name)), Bytes: f.Size.Count()})
		}
	}
	return list, nil
}

// AgentFileLength returns the length of an agent's file in characters, counted as the runtime does. It
// requires the scope operator.read.
func (c *Client) AgentFileLength(ctx context.Context, agentID, name string) (int64, error) {
	p := struct {
		AgentID string `json:"agentId"`
		Name    string `json:"name"`
	}{agentID, name}
	var out struct {
		File struct {
			Content *string `json:"content"`
		} `json:"file"`
	}
	if err := c.call(ctx, "agents.files.get", p, &out); err != nil {
		return 0, fmt.Errorf("read a file of %s: %w", agentID, err)
	}
	if out.File.Content == nil {
		return 0, link.ErrUnreadable("agents.files.get")
	}
	var n int64
	for _, r := range *out.File.Content {
		n += int64(utf16.RuneLen(r))
	}
	return n, nil
}

// FileLimits says how many characters of an agent's file the runtime reads. It cuts off the rest.
type FileLimits struct {
	Default int64
	Agents  map[string]int64 // of agents with a limit of their own
}

// The runtime's limits.
const (
	defaultFileLimit = 20_000
	userFileLimit    = 4_000 // of USER.md; a setting can only lower it
)

// Of returns the limit of an agent's file, in characters.
func (l FileLimits) Of(agentID, name string) int64 {
	limit, ok := l.Agents[agentID]
	if !ok {
		limit = l.Default
	}
	if name == "USER.md" {
		limit = min(limit, userFileLimit)
	}
	return limit
}

// FileLimits reads the limits from the runtime's configuration. It requires the scope operator.read.
func (c *Client) FileLimits(ctx context.Context) (FileLimits, error) {
	type limited struct {
		Max wire.Number `json:"bootstrapMaxChars"`
	}
	var out struct {
		Parsed struct {
			Agents struct {
				Defaults limited            `json:"defaults"`
				Entries  map[string]limited `json:"entries"`
			} `json:"agents"`
		} `json:"parsed"`
	}
	if err := c.call(ctx, "config.get", struct{}{}, &out); err != nil {
		return FileLimits{}, fmt.Errorf("read the runtime's configuration: %w", err)
	}
	l := FileLimits{Default: defaultFileLimit, Agents: map[string]int64{}}
	if n := out.Parsed.Agents.Defaults.Max.Count(); n > 0 {
		l.Default = n
	}
	for id, e := range out.Parsed.Agents.Entries {
		if n := e.Max.Count(); n > 0 {
			l.Agents[id] = n
		}
	}
	return l, nil
}
