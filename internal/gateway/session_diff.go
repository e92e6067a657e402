package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway/wire"
)

// FileChange is a changed file of a session, according to the version control of its workspace.
type FileChange struct {
	Path           string
	Added, Removed int64 // lines; of a binary file, both are 0
	Binary         bool
}

// SessionDiff returns the files that have changed in a session's workspace. The result is empty if the
// workspace is not under version control. It requires the scope operator.read.
func (c *Client) SessionDiff(ctx context.Context, sessionKey string) ([]FileChange, error) {
	p := struct {
		SessionKey string `json:"sessionKey"`
	}{sessionKey}
	var out struct {
		Files []json.RawMessage `json:"files"`
	}
	if err := c.call(ctx, "sessions.diff", p, &out); err != nil {
		return nil, fmt.Errorf("read the changes in %s: %w", sessionKey, err)
	}
	var list []FileChange
	for _, raw := range out.Files {
		var f struct {
			Path    wire.Word   `json:"path"`
			Added   wire.Number `json:"additions"`
			Removed wire.Number `json:"deletions"`
			Binary  wire.Flag   `json:"binary"`
		}
		if json.Unmarshal(raw, &f) == nil && f.Path != "" {
			list = append(list, FileChange{
				Path: c.short(string(f.Path)), Added: f.Added.Count(), Removed: f.Removed.Count(), Binary: f.Binary.Is(),
			})
		}
	}
	return list, nil
}

// Artifacts returns the titles of what the agent has delivered in a session, such as images. It
// requires the scope operator.read.
func (c *Client) Artifacts(ctx context.Context, sessionKey string) ([]string, error) {
	p := struct {
		SessionKey  string `json:"sessionKey"`
		MessageRole string `json:"messageRole"`
	}{sessionKey, "assistant"}
	var out struct {
		Artifacts []json.RawMessage `json:"artifacts"`
	}
	if err := c.call(ctx, "artifacts.list", p, &out); err != nil {
		return nil, fmt.Errorf("list the artifacts of %s: %w", sessionKey, err)
	}
	var titles []string
	for _, raw := range out.Artifacts {
		var a struct {
			Title wire.Word `json:"title"`
			Type  wire.Word `json:"type"`
		}
		if json.Unmarshal(raw, &a) == nil && first(a.Title, a.Type) != "" {
			titles = append(titles, c.short(string(first(a.Title, a.Type))))
		}
	}
	return titles, nil
}
