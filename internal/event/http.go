package event

import (
	"context"
	"strconv"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes for the event log.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/activity", actor.Read, "List activity, newest first", s.handleActivity,
		web.Fails(ErrActor, page.ErrCursor),
		web.Describe("Events about the inbox require the use_inbox permission."))
	web.Get(api, "/audit", actor.ReadAudit, "List the audit log, newest first", s.handleAudit,
		web.Fails(ErrActor, page.ErrCursor), web.Describe(auditText))
	web.CSV(api, "/audit.csv", actor.ReadAudit, "Export the audit log as CSV", s.handleAuditTable,
		web.Fails(ErrActor), web.Waits(exportTime), web.Describe(auditTableText))
	web.Stream(api, "/events", actor.Read, "Stream events", s.handleEvents,
		web.Fails(ErrStreams), web.Describe(eventsText))
}

const eventsText = `Streams server-sent events until the token expires. Each event in the log is sent as one frame. The frame's id is the event's number, its event field is the event's kind, such as task.changed, and its data is the same JSON as in /activity. Activity about a task also has the member task: the task as it is now, as in /tasks/{id}. It is missing if the task is deleted, and if a later event that is sent together with this one has it. Events about accounts require the read_audit permission, and events about the inbox require the use_inbox permission.

IDs increase in commit order. Send the last ID you received as Last-Event-ID to get all later events, without gaps or repeats.

Control frames: hello comes first and contains the stream's position. reset replaces hello if the events you missed are no longer available: reload your data and continue from the id of this frame. position comes every 15 seconds; you have received all selected events up to its id. end contains a code that says why the stream ends, such as token_invalid, role_changed, or behind.

Frames without an id report live state. agentrt.status: the connection to the agent runtime. session.changed: a new or changed runtime session, as in /agentrt/sessions. session.gone: the key of a session that no longer exists. session.message: a message in a session that you selected with the parameter session. usage.grown: /usage has changed, at most once a second. jobs.changed: the IDs of the runtime's scheduled jobs that were changed or deleted; reload these jobs. Reload the list of sessions at each agentrt.status, including the first, and then apply the frames that follow.`

const auditText = `Lists logins, failed logins, changes to accounts and keys, deletions, and the settings at each start. Each event says who made the change, what it was before and after, and where it came from. Audit events do not appear in /activity. Frequent events are combined once a minute, with a count and a start time. Wardroom does not store what a user typed in a failed login.`

const auditTableText = `Returns all matching events as text/csv with a header row. Cells that a spreadsheet would read as a formula are prefixed with an apostrophe.`

// exportTime is the time limit for downloading the whole audit log.
const exportTime = 10 * time.Minute

// begin is the value of StreamOptions.After that makes a stream start with new events instead of
// replaying past ones.
const begin = -1

type eventsInput struct {
	Header   string   `header:"Last-Event-ID" maxLength:"19" example:"42" doc:"ID of the last event you received; the stream continues after it. Default: the stream begins now."`
	Query    string   `query:"last_event_id" maxLength:"19" example:"42" doc:"Same as the header Last-Event-ID, for clients that cannot set headers. The header takes precedence."`
	Topics   []string `query:"topics" enum:"task,project,standup,team,schedule,inbox,user,gateway,session,usage,agent" maxItems:"20" doc:"Topics to receive, separated by commas. Most topics are kinds of event subjects. gateway is the connection to the agent runtime, session its sessions, and usage the usage ledger. Default: all."`
	Sessions []string `query:"session" maxItems:"50" doc:"Keys of runtime sessions, separated by commas. New messages in these sessions are sent as session.message."`
}

// after returns the ID of the last event that the client has received.
func (in *eventsInput) after() (int64, error) {
	where, text := "header.Last-Event-ID", in.Header
	if text == "" {
		where, text = "query.last_event_id", in.Query
	}
	if text == "" {
		return begin, nil
	}
	id, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		var refused fault.Fields
		refused.Add(where, "Must be the ID of the last event you received. Omit it to begin now.")
		return 0, refused.Err()
	}
	return int64(id), nil
}

func (s *Service) handleEvents(ctx context.Context, in *eventsInput) (web.Streaming, error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	stream, err := s.Open(ctx, StreamOptions{
		Caller: web.Reauthenticate, Topics: in.Topics, After: after, Sessions: in.Sessions,
	})
	if err != nil {
		return nil, err
	}
	return stream.Run, nil
}

type activityInput struct {
	SubjectKind string    `query:"subject_kind" enum:"task,project,standup,team,schedule,inbox,session" doc:"Events about this kind of subject."`
	SubjectID   string    `query:"subject_id" maxLength:"512" doc:"Events about the subject with this ID; for a runtime session, its key."`
	Actor       string    `query:"actor" maxLength:"254" doc:"Events caused by this actor: a user's ID or email, an agent_id, \"me\", or \"system\". Without the manage_accounts permission, only your own email matches."`
	Kinds       []string  `query:"kind" maxItems:"20" doc:"Events of these kinds, such as task.created; task.* matches all kinds with that prefix."`
	Since       time.Time `query:"since" doc:"Events at or after this time."`
	Until       time.Time `query:"until" doc:"Events before this time."`
	page.Query
	page.Total
}

func (s *Service) handleActivity(ctx context.Context, in *activityInput) (*web.List[Event], error) {
	f := Filter{SubjectKind: in.SubjectKind, SubjectID: in.SubjectID, Kinds: in.Kinds, Since: in.Since, Until: in.Until}
	part, err := s.Activity(ctx, f, in.Actor, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// AuditFilter holds the query parameters that the audit list and its CSV export have in common.
type AuditFilter struct {
	SubjectKind string    `query:"subject_kind" enum:"user,address,device,service,prices,retention,task,standup,schedule,session" doc:"Events about this kind of subject."`
	SubjectID   string    `query:"subject_id" maxLength:"512" doc:"Events about the subject with this ID; for an address, the address itself."`
	Actor       string    `query:"actor" maxLength:"254" doc:"Events caused by this actor: a user's ID or email, an agent_id, \"me\", \"system\", or \"anonymous\"."`
	Kinds       []string  `query:"kind" maxItems:"20" doc:"Events of these kinds, such as login.failed; login.* matches all kinds with that prefix."`
	Since       time.Time `query:"since" doc:"Events at or after this time."`
	Until       time.Time `query:"until" doc:"Events before this time."`
	Sort        string    `query:"sort" enum:"id,-id" default:"-id" doc:"Sort order; a minus reverses it."`
}

func (in *AuditFilter) filter() Filter {
	return Filter{SubjectKind: in.SubjectKind, SubjectID: in.SubjectID, Kinds: in.Kinds, Since: in.Since, Until: in.Until}
}

type auditInput struct {
	AuditFilter
	page.Query
	page.Total
}

func (s *Service) handleAudit(ctx context.Context, in *auditInput) (*web.List[Event], error) {
	part, err := s.Audit(ctx, in.filter(), in.Actor, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type auditTableInput struct{ AuditFilter }

func (s *Service) handleAuditTable(ctx context.Context, in *auditTableInput) (*web.Table, error) {
	// Check the filter before the response begins, while an error status can
	// still be sent.
	if _, err := actorIDs(ctx, s.DB, in.Actor); err != nil {
		return nil, err
	}
	want := page.Want{Query: page.Query{Limit: exportPage}, Sort: in.Sort}
	return &web.Table{
		Name: "audit.csv",
		Columns: []string{
			"id", "at", "kind", "actor_id", "actor_name", "subject_kind", "subject_id", "subject_name", "via", "address", "data",
		},
		Rows: func(row func(cells ...string) error) error {
			return s.EachAudit(ctx, in.filter(), in.Actor, want, func(e Event) error {
				var from Origin
				if e.From != nil {
					from = *e.From
				}
				return row(strconv.FormatInt(e.ID, 10), e.At.UTC().Format(clock.Layout), e.Kind, e.Actor.ID, e.Actor.Name,
					e.Subject.Kind, e.Subject.ID, e.Subject.Name, string(from.Via), from.Address, string(e.Data))
			})
		},
	}, nil
}

// exportPage is the number of events read at a time for the export.
const exportPage = 500
