package gateway

import (
	"context"
	"fmt"

	"wardroom/internal/gateway/wire"
)

// MCPTool is a tool that an agent has from an MCP server.
type MCPTool struct {
	ID     string // the name by which the agent calls it
	Server string
	Name   string // in the server
}

// MCPTools lists the tools that the agent has from MCP servers in a session. It requires the scope
// operator.read.
func (c *Client) MCPTools(ctx context.Context, sessionKey string) ([]MCPTool, error) {
	p := struct {
		SessionKey string `json:"sessionKey"`
	}{sessionKey}
	var out struct {
		Groups []struct {
			Tools []struct {
				ID     wire.Word `json:"id"`
				Source wire.Word `json:"source"`
				Server wire.Word `json:"mcpServer"`
				Name   wire.Word `json:"mcpToolName"`
			} `json:"tools"`
		} `json:"groups"`
	}
	if err := c.call(ctx, "tools.effective", p, &out); err != nil {
		return nil, fmt.Errorf("list the tools of a session: %w", err)
	}
	var all []MCPTool
	for _, g := range out.Groups {
		for _, t := range g.Tools {
			if t.Source == "mcp" {
				all = append(all, MCPTool{c.short(string(t.ID)), c.short(string(t.Server)), c.short(string(t.Name))})
			}
		}
	}
	return all, nil
}
