// Package hold stops an agent until a person releases it. A hold has two halves. Wardroom's own
// half is in force from the transaction that makes the hold: Wardroom starts no run of the agent.
// The runtime's half keeps others from starting one: a job points the agent at a model that does
// not exist, stops what runs, and disables the agent's scheduled jobs. A release restores exactly
// what the hold changed.
package hold

import (
	"bytes"
	"encoding/json"
	"strings"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Errors that this package returns.
var (
	// ErrHeld means that the agent is held, so Wardroom starts no run of it.
	ErrHeld = fault.New(fault.Conflict, "agent_held", "The agent is held.")
	// ErrNotHeld means that there is nothing to release.
	ErrNotHeld = fault.New(fault.Conflict, "agent_not_held", "The agent is not held.")
)

// State is the state of a hold.
type State string

// States of a hold. Wardroom's half is in force until the hold is released.
const (
	Held      State = "held"
	Releasing State = "releasing" // the runtime's half is being undone
	Released  State = "released"
)

// Half is the state of the runtime's half of a hold.
type Half string

// States of the runtime's half.
const (
	Pending     Half = "pending"     // a job is working on it
	InForce     Half = "held"        // nothing starts a run of the agent
	Unavailable Half = "unavailable" // not permitted or not possible; Wardroom stops each run at its start
	Restored    Half = "restored"    // everything is as before the hold
)

// Hold is why and since when an agent is held.
type Hold struct {
	Reason  string     `json:"reason"`
	By      string     `json:"by" doc:"The person who held the agent, or the limit that did."`
	Since   clock.Time `json:"since"`
	State   State      `json:"state" enum:"held,releasing" doc:"releasing: Wardroom is restoring the runtime. Wardroom starts no runs of the agent in either state."`
	Runtime Half       `json:"runtime" enum:"pending,held,unavailable,restored" doc:"What the runtime does. pending: Wardroom is working on it. held: the runtime refuses every run of the agent. unavailable: the runtime still starts runs, and Wardroom stops each one. restored: as before the hold."`
	Detail  string     `json:"detail" doc:"Why the runtime's half is pending or unavailable; otherwise empty. Can quote the gateway."`

	id, agentID string
	byID        string
	before      *before
}

// before is what the runtime had before the hold. It is stored before the runtime is changed.
type before struct {
	Model  json.RawMessage `json:"model"`  // null if the agent had none of its own
	Policy bool            `json:"policy"` // whether it had a modelPolicy
	Allow  json.RawMessage `json:"allow"`  // null if it had none
	Jobs   []disabledJob   `json:"jobs"`   // the jobs that the hold disabled
}

// disabledJob is a scheduled job that the hold disabled.
type disabledJob struct {
	ID   string     `json:"id"`
	Name string     `json:"name"`
	At   clock.Time `json:"at"` // the job's last change after it was disabled; zero if unknown
}

// Err returns the error for an attempt to start a run of the agent.
func (h Hold) Err() error {
	way := "An owner or admin can release it."
	if h.State == Releasing {
		way = "The agent is being released. Try again in a few seconds."
	}
	return ErrHeld.With("%s held %s at %s: %s. %s", h.By, h.agentID, h.Since.UTC().Format("15:04 UTC on 2 January"),
		strings.TrimRight(h.Reason, "."), way).
		Fact("agent_id", h.agentID).Fact("reason", h.Reason).Fact("since", h.Since).Fact("held_by", h.By)
}

func (h Hold) subject() event.Subject {
	return event.Subject{Kind: event.TopicAgent, ID: h.agentID, Name: h.agentID}
}

// modelPrefix begins the name of each model that stands for a hold.
const modelPrefix = "wardroom-hold/"

// maxSlug limits the part of a reason that callers of a held agent read.
const maxSlug = 60

// model returns the name of the model that stands for a hold. Whoever starts a run of the agent
// reads "Unknown model" with this name, so it contains the reason.
func model(reason string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(reason) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" {
		slug = "held"
	}
	return modelPrefix + slug
}

// isHoldModel reports whether a configured model is one that stands for a hold.
func isHoldModel(raw json.RawMessage) bool {
	var name string
	return json.Unmarshal(raw, &name) == nil && strings.HasPrefix(name, modelPrefix)
}

// isHoldAllow reports whether a modelPolicy.allow is one that stands for a hold.
func isHoldAllow(raw json.RawMessage) bool {
	var names []json.RawMessage
	return json.Unmarshal(raw, &names) == nil && len(names) == 1 && isHoldModel(names[0])
}

// applied reports whether the configuration holds the agent.
func applied(is gateway.AgentModel) bool { return isHoldModel(is.Model) && isHoldAllow(is.Allow) }

// remember updates what a release restores, from the configuration as it is before a patch. It keeps
// what it knows of a value that the hold has set.
func (b *before) remember(is gateway.AgentModel) {
	if !isHoldModel(is.Model) {
		b.Model = orNull(is.Model)
	}
	if !isHoldAllow(is.Allow) {
		b.Policy, b.Allow = is.Policy, orNull(is.Allow)
	}
}

// holdPatch returns the change that holds the agent.
func holdPatch(reason string) gateway.ModelPatch {
	name, _ := json.Marshal(model(reason)) // a string always encodes
	return gateway.ModelPatch{Model: name, Allow: json.RawMessage("[" + string(name) + "]")}
}

// restorePatch returns the change that undoes the hold, and whether there is anything to undo. It
// leaves alone what someone has changed since.
func (b *before) restorePatch(is gateway.AgentModel) (p gateway.ModelPatch, needed bool) {
	if isHoldModel(is.Model) {
		p.Model = orNull(b.Model)
	}
	if isHoldAllow(is.Allow) {
		p.Allow, p.DropPolicy = orNull(b.Allow), !b.Policy
	}
	return p, p.Model != nil || p.Allow != nil
}

// orNull returns raw, or null if raw is empty.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
