package demo

import "strings"

// SetServers sets the MCP servers whose tools an agent has. Each serves the tools of Wardroom.
func (r *Runtime) SetServers(agentID string, servers ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers == nil {
		r.servers = map[string][]string{}
	}
	r.servers[agentID] = servers
}

// handleTools lists the tools from MCP servers in a session. A real gateway also lists its own.
func (r *Runtime) handleTools(c call) (any, *Failure) {
	var in struct{ SessionKey string }
	if f := (params{
		required: words("sessionKey"), optional: words("agentId"),
	}).read("tools.effective", "", c.params, &in); f != nil {
		return nil, f
	}
	s := r.find(in.SessionKey)
	if s == nil {
		return nil, invalid("unknown session key %q", in.SessionKey)
	}
	tools := []object{}
	for _, server := range r.servers[s.agent.ID] {
		for _, name := range words("whoami submit_standup_report") {
			tools = append(tools, object{
				"id": server + "__" + name, "label": name, "description": name, "source": "mcp",
				"pluginId": "bundle-mcp", "mcpServer": server, "mcpToolName": name,
			})
		}
	}
	groups := []object{}
	if len(tools) > 0 {
		groups = append(groups, object{"id": "mcp", "label": "MCP server tools", "source": "mcp", "tools": tools})
	}
	return object{"agentId": strings.ToLower(s.agent.ID), "groups": groups}, nil
}
