// Package actor says who is calling, and what they may do.
package actor

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Role is the kind of an account.
type Role string

// The roles. There is one owner; an agent is a worker of the runtime.
const (
	Owner Role = "owner"
	Admin Role = "admin"
	User  Role = "user"
	Agent Role = "agent"
)

// Roles lists every role an account may have.
func Roles() []Role { return []Role{Owner, Admin, User, Agent} }

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Permission is what a route asks of its caller. Every route names one.
type Permission string

// The permissions. Everyone who is signed in may Read.
const (
	Public          Permission = "public"           // no token needed
	Read            Permission = "read"             // tasks, standups, agents, sessions, activity
	ChangeTasks     Permission = "change_tasks"     // create, change, claim and comment tasks
	DeleteTasks     Permission = "delete_tasks"     // delete tasks and others' comments
	HoldStandups    Permission = "hold_standups"    // create and run a standup
	FileReports     Permission = "file_reports"     // hand in a report to a standup: an agent its own, the others anybody's
	ManageStandups  Permission = "manage_standups"  // delete a standup, cancel a run, make and change teams
	ManageSchedules Permission = "manage_schedules" // what the runtime does at fixed times
	ControlSessions Permission = "control_sessions" // send messages to the runtime's sessions, and end their runs
	ManageRuntime   Permission = "manage_runtime"   // examine the way to the agent runtime
	UseInbox        Permission = "use_inbox"        // see what needs a human, and deal with it
	NamePeople      Permission = "name_people"      // see how those are called who have an account
	ManageAccounts  Permission = "manage_accounts"  // users and their keys
	ReadAudit       Permission = "read_audit"       // what happened to accounts and what guards them
	ManageRetention Permission = "manage_retention" // see what goes when it is old, and let it go now
	ManagePrices    Permission = "manage_prices"    // the prices that costs are estimated with
	DispatchTasks   Permission = "dispatch_tasks"   // hand tasks to agents, and take them back
)

// may is the table of who may do what.
var may = map[Permission][]Role{
	Read:            {Owner, Admin, User, Agent},
	ChangeTasks:     {Owner, Admin, User, Agent},
	DeleteTasks:     {Owner, Admin},
	HoldStandups:    {Owner, Admin, Agent},
	FileReports:     {Owner, Admin, Agent},
	ManageStandups:  {Owner, Admin},
	ManageSchedules: {Owner, Admin},
	ControlSessions: {Owner, Admin},
	ManageRuntime:   {Owner, Admin},
	UseInbox:        {Owner, Admin, User},
	NamePeople:      {Owner, Admin, User},
	ManageAccounts:  {Owner, Admin},
	ReadAudit:       {Owner, Admin},
	ManageRetention: {Owner, Admin},
	ManagePrices:    {Owner, Admin},
	DispatchTasks:   {Owner, Admin},
}

// Permissions lists every permission, Public first.
func Permissions() []Permission {
	return []Permission{Public, Read, ChangeTasks, DeleteTasks, HoldStandups, FileReports, ManageStandups, ManageSchedules, ControlSessions, ManageRuntime, UseInbox, NamePeople, ManageAccounts, ReadAudit, ManageRetention, ManagePrices, DispatchTasks}
}

// Valid reports whether p stands in the table. A route with another does not start.
func (p Permission) Valid() bool { return p == Public || may[p] != nil }

// May reports whether role r has permission p.
func (r Role) May(p Permission) bool { return p == Public || slices.Contains(may[p], r) }

// Holders lists the roles that have permission p, for messages and documents.
func (p Permission) Holders() []Role {
	if p == Public {
		return Roles()
	}
	return slices.Clone(may[p])
}

// Actor is the caller of the current request or job. The zero Actor is nobody.
type Actor struct {
	ID      string // the user's id; "system" for the service itself
	Name    string // for people to read; kept with what the actor did
	Role    Role
	AgentID string // the runtime agent that an agent user is; else empty
	// Expires is when the token that they sent ends; zero is never. What lasts
	// longer than a request must end by then.
	Expires time.Time
	// AsOf names the state of the service's log when the account was read at the
	// beginning of a request, so that who needs both need not read twice; empty
	// when nobody read it. It is of no use after the request.
	AsOf string
}

// System is the service itself, in background work.
var System = Actor{ID: "system", Name: "Wardroom"}

// Anonymous stands for those who are not signed in, such as who fails to.
var Anonymous = Actor{ID: "anonymous", Name: "Somebody"}

// Known reports whether anybody is signed in.
func (a Actor) Known() bool { return a.ID != "" }

type key struct{}

// With returns a context that carries a.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// NoID is the id of no account.
const NoID = "-"

// OwnEmailOnly reports whether ref is an email in a filter of a caller who may not
// see the emails of all accounts. Then it finds the caller's own account or nothing,
// so that nobody learns from a filter whether an email has an account.
func OwnEmailOnly(ctx context.Context, ref string) bool {
	by := From(ctx)
	return by.Role != "" && !by.Role.May(ManageAccounts) && strings.Contains(ref, "@")
}

// From returns the caller, or the zero Actor when nobody is signed in.
func From(ctx context.Context) Actor {
	a, _ := ctx.Value(key{}).(Actor)
	return a
}

// Via is the way in which somebody reached the service.
type Via string

// The ways.
const (
	ViaAPI     Via = "api"
	ViaCommand Via = "command" // the command line on the service's machine
	ViaService Via = "service" // the service by itself
)

// Origin is from where somebody acts. The zero Origin is the service itself.
type Origin struct {
	Via     Via
	Address netip.Addr // of who sent the request; zero when nobody did
}

type originKey struct{}

// Through returns a context that carries o.
func Through(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns from where the caller acts.
func OriginOf(ctx context.Context) Origin {
	o, ok := ctx.Value(originKey{}).(Origin)
	if !ok || o.Via == "" {
		o.Via = ViaService
	}
	return o
}
