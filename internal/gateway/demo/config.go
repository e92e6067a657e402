package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The runtime's configuration has only the agents, their models, and whether they ask before they run commands. A
// patch survives restarts, as the file of a real gateway does.

var configPatchParams = params{
	required: words("raw"), optional: words("baseHash note replacePaths sessionKey restartDelayMs deliveryContext"),
}

// initialConfig returns the configuration before the first patch.
func initialConfig(agents []Agent) object {
	entries := object{}
	for _, a := range agents {
		entries[a.ID] = object{"name": a.Name}
	}
	return object{
		"agents": object{"ownership": "explicit", "entries": entries},
		"tools":  object{"exec": object{"mode": "ask"}},
	}
}

// configHash identifies the configuration.
func (r *Runtime) configHash() string {
	data, _ := json.Marshal(r.config) // plain values always encode
	return "hmac-" + hashed(string(data))
}

// Config returns the runtime's configuration as its file would have it.
func (r *Runtime) Config() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, _ := json.MarshalIndent(r.config, "", "  ") // plain values always encode
	return string(data)
}

func (r *Runtime) handleConfigGet(c call) (any, *Failure) {
	if f := (params{}).read("config.get", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	data, _ := json.MarshalIndent(r.config, "", "  ") // plain values always encode
	return object{
		"path": "demo/openclaw.json", "exists": true, "valid": true, "raw": string(data), "parsed": r.config,
		"config": r.config, "hash": r.configHash(), "issues": []object{}, "warnings": []object{},
	}, nil
}

func (r *Runtime) handleConfigPatch(c call) (any, *Failure) {
	var in struct {
		Raw, BaseHash string
		ReplacePaths  []string
	}
	if f := configPatchParams.read("config.patch", "", c.params, &in); f != nil {
		return nil, f
	}
	var patch object
	if json.Unmarshal([]byte(in.Raw), &patch) != nil || patch == nil {
		return nil, invalid("config.patch raw must be an object")
	}
	if in.BaseHash != r.configHash() {
		return nil, invalid("config changed since last load; re-run config.get and retry")
	}
	var lost, changed []string
	next := mergePatch(r.config, patch, "", &lost, &changed)
	lost = slices.DeleteFunc(lost, func(path string) bool { return slices.Contains(in.ReplacePaths, path) })
	if len(lost) > 0 {
		return nil, invalid("config.patch would remove entries from array path(s): %s. Pass replacePaths with the exact path(s) when this is intentional, or use config.apply for full-config replacement.", strings.Join(lost, ", "))
	}
	r.config = next
	return object{
		"ok": true, "path": "demo/openclaw.json", "hash": r.configHash(), "config": r.config,
		"changedPaths": append([]string{}, changed...),
	}, nil
}

// mergePatch returns the object with a JSON merge patch applied. It adds to lost the paths of lists
// from which the patch removes entries, and to changed those of values that it changes.
func mergePatch(is, patch object, at string, lost, changed *[]string) object {
	out := maps.Clone(is)
	if out == nil {
		out = object{}
	}
	for k, v := range patch {
		path := strings.TrimPrefix(at+"."+k, ".")
		if sub, ok := v.(object); ok {
			was, _ := out[k].(object)
			out[k] = mergePatch(was, sub, path, lost, changed)
			continue
		}
		noteLost(out[k], v, path, lost)
		*changed = append(*changed, path)
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

// noteLost adds the paths of lists in was that lose entries when is replaces it.
func noteLost(was, is any, path string, lost *[]string) {
	switch was := was.(type) {
	case []any:
		kept, _ := is.([]any)
		if slices.ContainsFunc(was, func(v any) bool { return !slices.Contains(kept, v) }) {
			*lost = append(*lost, path)
		}
	case object:
		for k, v := range was {
			noteLost(v, nil, path+"."+k, lost)
		}
	}
}

// configuredModel returns the model of an agent as agents.list has it. An agent's runs use its model in the
// options, so a patched configuration shows an agent that uses another one.
func (r *Runtime) configuredModel(a Agent) object {
	agents, _ := r.config["agents"].(object)
	entries, _ := agents["entries"].(object)
	entry, _ := entries[a.ID].(object)
	switch is := entry["model"].(type) {
	case string:
		return object{"primary": is}
	case object:
		return is
	}
	m := modelOf(a)
	return object{"primary": m.provider + "/" + m.id}
}

// unknownModel returns the configured model of an agent if the runtime does not have it.
func (r *Runtime) unknownModel(a Agent) string {
	name, _ := r.configuredModel(a)["primary"].(string)
	own := modelOf(a)
	if name == own.provider+"/"+own.id || slices.ContainsFunc(models, func(m model) bool {
		return m.provider+"/"+m.id == name
	}) {
		return ""
	}
	return name
}

// chooseModel sets the model of a run whose session has chosen one, and reports whether it has. A modelPolicy that does
// not allow the choice makes the session forget it.
func (r *Runtime) chooseModel(q *run) bool {
	if q.session.model == "" {
		return false
	}
	agents, _ := r.config["agents"].(object)
	entries, _ := agents["entries"].(object)
	entry, _ := entries[q.agent.ID].(object)
	policy, _ := entry["modelPolicy"].(object)
	if allow, limited := policy["allow"].([]any); limited && !slices.Contains(allow, any(q.session.model)) {
		q.session.model, q.session.agent = "", q.agent
		return false
	}
	q.agent.Model = q.session.model
	q.session.agent = q.agent
	return true
}

// errUnknownModel is the failure of a run whose agent has a model that the runtime does not have.
func errUnknownModel(name string) string {
	provider, _, _ := strings.Cut(name, "/")
	return "Unknown model: " + name + ". Run `openclaw models list --refresh --provider " + provider +
		"` to inspect this provider's model choices, then retry with a model supported by your account."
}
