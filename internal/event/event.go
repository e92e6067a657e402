// Package event keeps the one log of what happened: every change, who made it
// and when. Histories, the activity feed and live views are readings of it.
package event

import (
	"encoding/json"
	"slices"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Class decides who may read an event and how long it is kept.
type Class string

// The classes.
const (
	Activity Class = "activity" // for everyone who is signed in, except what is guarded
	Audit    Class = "audit"    // accounts and what guards them
)

// guarded says what whoever reads activity about things of a kind must be
// allowed to, beside reading.
var guarded = map[string]actor.Permission{TopicInbox: actor.UseInbox}

// hiddenFrom are the kinds of things of whose activity a role reads nothing.
func hiddenFrom(r actor.Role) (kinds []string) {
	for kind, p := range guarded {
		if !r.May(p) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ErrActor refuses to list what nobody can have done.
var ErrActor = fault.New(fault.Invalid, "actor_unknown", "There is no account like that.")

// Subject is the thing an event tells of.
type Subject struct {
	Kind string `json:"kind" doc:"What it is: task, project, standup, team, schedule, inbox, session or user; in the audit also address, device, service, prices and retention."`
	ID   string `json:"id"`
	Name string `json:"name" doc:"What it was called then, such as TASK-12."`
}

// Author is who did it, by the name they had then.
type Author struct {
	ID   string `json:"id" doc:"A user's id, system for the service, or anonymous for somebody who is not signed in."`
	Name string `json:"name"`
}

// Origin is from where something was done.
type Origin struct {
	Via     actor.Via `json:"via" enum:"api,command,service" doc:"api for a request, command for the command line on the service's machine, service for the service itself."`
	Address string    `json:"address,omitempty" doc:"Of who sent the request."`
}

// Event is one fact that happened.
type Event struct {
	ID      int64           `json:"id" doc:"Numbers in the order of the commits; a later event never has a smaller one."`
	At      clock.Time      `json:"at"`
	Class   Class           `json:"-"`
	Kind    string          `json:"kind" doc:"What happened, such as task.created."`
	Actor   Author          `json:"actor"`
	Subject Subject         `json:"subject"`
	From    *Origin         `json:"from,omitempty" doc:"From where it was done; only in the audit."`
	Data    json.RawMessage `json:"data" doc:"The facts of this kind of event, an object."`
}
