package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// SetFile writes a file of an agent, such as MEMORY.md. An empty file is missing.
func (r *Runtime) SetFile(agentID, name, content string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[agentID+"/"+name] = content
}

// fileNames returns the names of the files that the runtime puts into an agent's context.
func fileNames() []string { return words("AGENTS.md SOUL.md USER.md BOOTSTRAP.md MEMORY.md") }

// fileRow describes a file without its content.
func (r *Runtime) fileRow(agentID, name string) object {
	row := object{"name": name, "path": "demo/workspace-" + agentID + "/" + name, "missing": false}
	content := r.files[agentID+"/"+name]
	if content == "" {
		return merge(row, object{"missing": true, "expectedAbsent": name != "AGENTS.md" && name != "BOOTSTRAP.md"})
	}
	sum := sha256.Sum256([]byte(content))
	return merge(row, object{"size": len(content), "updatedAtMs": r.now(), "hash": hex.EncodeToString(sum[:])})
}

func (r *Runtime) handleFiles(c call) (any, *Failure) {
	var in struct{ AgentID string }
	if f := (params{required: words("agentId")}).read(c.method, "", c.params, &in); f != nil {
		return nil, f
	}
	if _, ok := r.agent(in.AgentID); !ok {
		return nil, invalid("unknown agent id %q", in.AgentID)
	}
	list := []object{}
	for _, name := range fileNames() {
		list = append(list, r.fileRow(in.AgentID, name))
	}
	return object{"agentId": in.AgentID, "files": list}, nil
}

func (r *Runtime) handleFile(c call) (any, *Failure) {
	var in struct{ AgentID, Name string }
	if f := (params{required: words("agentId name")}).read(c.method, "", c.params, &in); f != nil {
		return nil, f
	}
	if _, ok := r.agent(in.AgentID); !ok {
		return nil, invalid("unknown agent id %q", in.AgentID)
	}
	if !slices.Contains(fileNames(), in.Name) {
		return nil, invalid("unsupported file %q", in.Name)
	}
	file := r.fileRow(in.AgentID, in.Name)
	if content := r.files[in.AgentID+"/"+in.Name]; content != "" {
		file["content"] = content
	}
	return object{"agentId": in.AgentID, "file": file}, nil
}
