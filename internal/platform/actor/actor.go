// Package actor identifies the caller of a request and defines what each caller may do.
package actor

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/plaintext"
)

// Role is the role of an account.
type Role string

// The roles of accounts. Only one account can be the owner. Accounts with the role
// Agent belong to the runtime's agents.
const (
	Owner Role = "owner"
	Admin Role = "admin"
	User  Role = "user"
	Agent Role = "agent"
)

// Roles returns every role that an account can have.
func Roles() []Role { return []Role{Owner, Admin, User, Agent} }

// Schema implements huma.SchemaProvider.
func (Role) Schema(huma.Registry) *huma.Schema { return enum.Schema(Roles()) }

// Permission names a group of actions. Every route declares the permission that it
// requires.
type Permission string

// The permissions. Every signed-in caller has the permission Read.
const (
	Public       Permission = "public"        // no token needed
	Read         Permission = "read"          // tasks, standups, agents, sessions, activity
	ChangeTasks  Permission = "change_tasks"  // create, change, claim and comment on tasks
	DeleteTasks  Permission = "delete_tasks"  // delete tasks and other people's comments
	HoldStandups Permission = "hold_standups" // create and run standups
	// submit standup reports: agents only their own, other roles any report
	FileReports     Permission = "file_reports"
	ManageStandups  Permission = "manage_standups"  // delete and cancel standups, create and change teams
	ManageSchedules Permission = "manage_schedules" // manage the runtime's scheduled jobs
	ControlSessions Permission = "control_sessions" // send messages to the runtime's sessions and stop their runs
	ManageRuntime   Permission = "manage_runtime"   // diagnose and pair the gateway connection
	ManageSettings  Permission = "manage_settings"  // read and change the settings, such as the gateway's address
	UseInbox        Permission = "use_inbox"        // read and resolve inbox items
	NamePeople      Permission = "name_people"      // read the names of accounts
	ManageAccounts  Permission = "manage_accounts"  // manage users and API keys
	ReadAudit       Permission = "read_audit"       // read the audit log
	ManageRetention Permission = "manage_retention" // read the retention settings and purge now
	ManagePrices    Permission = "manage_prices"    // manage the prices for cost estimates
	ManageLimits    Permission = "manage_limits"    // create and change limits on what agents spend, and allow more
	DispatchTasks   Permission = "dispatch_tasks"   // dispatch tasks to agents and cancel dispatches
	// decide what to do about blocked tasks, approve tasks and send them back
	DecideTasks  Permission = "decide_tasks"
	AnswerAgents Permission = "answer_agents" // allow or deny what agents want to do, and answer their questions
	UseTools     Permission = "use_tools"     // call the tools for agents at /mcp, and ask people
)

// may maps each permission to the roles that have it.
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
	ManageSettings:  {Owner, Admin},
	UseInbox:        {Owner, Admin, User},
	NamePeople:      {Owner, Admin, User},
	ManageAccounts:  {Owner, Admin},
	ReadAudit:       {Owner, Admin},
	ManageRetention: {Owner, Admin},
	ManagePrices:    {Owner, Admin},
	ManageLimits:    {Owner, Admin},
	DispatchTasks:   {Owner, Admin},
	AnswerAgents:    {Owner, Admin},
	UseTools:        {Agent},              // never people: each call is made in an agent's name
	DecideTasks:     {Owner, Admin, User}, // never agents: they must not approve their own work
}

// Permissions returns every permission, starting with Public.
func Permissions() []Permission {
	return []Permission{
		Public, Read, ChangeTasks, DeleteTasks, HoldStandups, FileReports, ManageStandups, ManageSchedules, ControlSessions,
		ManageRuntime, ManageSettings, UseInbox, NamePeople, ManageAccounts, ReadAudit, ManageRetention, ManagePrices,
		ManageLimits, DispatchTasks, DecideTasks, AnswerAgents, UseTools,
	}
}

// Valid reports whether p is a known permission. A route with an unknown permission
// causes a panic at startup.
func (p Permission) Valid() bool { return p == Public || may[p] != nil }

// May reports whether the role r has the permission p.
func (r Role) May(p Permission) bool { return p == Public || slices.Contains(may[p], r) }

// Holders returns the roles that have the permission p, for use in messages and
// documentation.
func (p Permission) Holders() []Role {
	if p == Public {
		return Roles()
	}
	return slices.Clone(may[p])
}

// Actor is the caller of the current request or job. The zero Actor is not signed
// in.
type Actor struct {
	ID      string // user ID; "system" for Wardroom itself
	Name    string // display name, stored with the actor's changes
	Role    Role
	AgentID string // runtime agent of a user with the role agent; else empty
	// Expires is the time at which the caller's token expires, or zero if it never expires.
	// Long-lived responses, such as streams, must end by then.
	Expires time.Time
	// Device identifies the browser or program whose token sent the request. It is empty for API
	// keys and background work.
	Device string
	// Key is the ID of the API key that sent the request; empty for tokens.
	Key string
	// TaskVersion is event.TaskVersion when the caller's account was read at the start of the
	// request. Using it saves a second query. It is empty if unknown, and must not be used after
	// the request.
	TaskVersion string
}

// System is the actor of background work.
var System = Actor{ID: "system", Name: "Wardroom"}

// Anonymous is the actor of a request without a signed-in caller, such as a failed
// login.
var Anonymous = Actor{ID: "anonymous", Name: "Somebody"}

// Known reports whether the actor is signed in.
func (a Actor) Known() bool { return a.ID != "" }

type key struct{}

// With returns a context that carries the actor a.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// NoID is an ID that never belongs to an account.
const NoID = "-"

// OwnEmailOnly reports whether ref is an email address and the caller may not see other
// people's email addresses. If so, a filter by ref must match only the caller's own account.
// Otherwise it would reveal whether that email address belongs to an account.
func OwnEmailOnly(ctx context.Context, ref string) bool {
	by := From(ctx)
	return by.Role != "" && !by.Role.May(ManageAccounts) && strings.Contains(plaintext.Fold(ref), "@")
}

// From returns the caller, or the zero Actor if no caller is signed in.
func From(ctx context.Context) Actor {
	a, _ := ctx.Value(key{}).(Actor)
	return a
}

// Via is the way in which a caller reached Wardroom.
type Via string

// The ways in which a caller can reach Wardroom.
const (
	ViaAPI     Via = "api"
	ViaCommand Via = "command" // the command line on Wardroom's machine
	ViaService Via = "service" // Wardroom's own background work
)

// Origin describes where a request comes from. The zero Origin means that Wardroom
// itself is the caller.
type Origin struct {
	Via     Via
	Address netip.Addr // client address; zero if there is none
	// UserAgent is the User-Agent header of the request, which the client can choose freely.
	UserAgent string
}

type originKey struct{}

// Through returns a context that carries the origin o.
func Through(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of the current request.
func OriginOf(ctx context.Context) Origin {
	o, ok := ctx.Value(originKey{}).(Origin)
	if !ok || o.Via == "" {
		o.Via = ViaService
	}
	return o
}
