// Package event is the append-only log of every change: what changed, who
// changed it, and when. Histories, the activity feed, and live streams read
// from it.
package event

import (
	"encoding/json"
	"slices"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Class determines who can read an event and how long it is kept.
type Class string

// Classes of events.
const (
	Activity Class = "activity" // for all signed-in users, except guarded subjects
	Audit    Class = "audit"    // accounts, credentials, and settings
)

// guarded maps a subject kind to the permission required to read activity about such subjects.
var guarded = map[string]actor.Permission{TopicInbox: actor.UseInbox}

// hiddenFrom returns the kinds of subjects, such as inbox items, whose activity a role
// may not read.
func hiddenFrom(r actor.Role) (kinds []string) {
	for kind, p := range guarded {
		if !r.May(p) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ErrActor means that a filter names an unknown actor.
var ErrActor = fault.New(fault.Invalid, "actor_unknown", "No account matches this actor.")

// Subject is the object that an event is about, such as a task.
type Subject struct {
	Kind string `json:"kind" doc:"task, project, standup, team, schedule, inbox, session, agent, or user; in the audit log also address, device, service, prices, limit, and retention."`
	ID   string `json:"id"`
	Name string `json:"name" doc:"Name at the time of the event, such as TASK-12."`
}

// Author is the actor who caused an event, with the name they had at that time.
type Author struct {
	ID   string `json:"id" doc:"A user's ID, system for Wardroom itself, or anonymous for a client that is not signed in."`
	Name string `json:"name"`
}

// Origin is where a change came from.
type Origin struct {
	Via     actor.Via `json:"via" enum:"api,command,service" doc:"api: an HTTP request. command: the command line on Wardroom's machine. service: Wardroom itself."`
	Address string    `json:"address,omitempty" doc:"IP address of the client."`
}

// Event is one entry of the log.
type Event struct {
	ID      int64           `json:"id" doc:"Number of the event. IDs increase in commit order."`
	At      clock.Time      `json:"at"`
	Class   Class           `json:"-"`
	Kind    string          `json:"kind" doc:"What happened, such as task.created."`
	Actor   Author          `json:"actor"`
	Subject Subject         `json:"subject"`
	From    *Origin         `json:"from,omitempty" doc:"Where the change came from; only in the audit log."`
	Data    json.RawMessage `json:"data" doc:"Object with the facts for this kind of event."`
}
