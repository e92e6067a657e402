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

// Mount adds the routes of the log.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/activity", actor.Read, "What happened, the newest first", s.handleActivity, web.Fails(ErrActor, page.ErrCursor),
		web.Describe("What happened in the inbox is told only to those with the permission use_inbox."))
	web.Get(api, "/audit", actor.ReadAudit, "What happened to accounts, keys and settings, the newest first", s.handleAudit,
		web.Fails(ErrActor, page.ErrCursor), web.Describe(auditText))
	web.CSV(api, "/audit.csv", actor.ReadAudit, "The audit as a table", s.handleAuditTable,
		web.Fails(ErrActor), web.Waits(exportTime), web.Describe(auditTableText))
	web.Stream(api, "/events", actor.Read, "What happens, live", s.handleEvents, web.Fails(ErrStreams), web.Describe(eventsText))
}

const eventsText = `Server-sent events, until the token ends. Each event of the log comes as a frame whose id is its number, whose event is its kind, such as task.changed, and whose data is the same JSON as in /activity. Events about accounts come only to those with the permission read_audit, and those of the inbox only to those with use_inbox.

Ids follow the order of the commits. Send the last one that you have as Last-Event-ID, and you get everything after it, without a gap and without repeats.

Other frames: hello comes first and says where the stream stands; reset comes instead when what you missed cannot be told any more: read anew what you show, and go on from its id; position comes every 15 seconds with the id up to which you have everything that you asked for; end says with a code why the stream ends, such as token_invalid, role_changed or behind. Frames without an id tell a state of this moment: agentrt.status how the connection to the agent runtime is doing, session.changed a session of the runtime that is new or other than before, as in /agentrt/sessions, session.gone the key of one that is there no more, session.message what is said in a session that you asked for with session, usage.grown that /usage has become other, at most once a second, and jobs.changed the ids of timed jobs of the runtime that are other than before, or gone: read them anew. Read the list of the sessions at each agentrt.status, the first included, and then apply the frames that come.`

const auditText = `Logins and failed ones, accounts, keys, deletions and the settings of each start: who, what, before and after, and from where. None of it is in /activity. What happens often is told once a minute: count says how often, and since when. The texts that somebody who failed to log in typed are not kept.`

const auditTableText = `All that matches, as text/csv with a line of names. A cell that a spreadsheet would take for a formula begins with an apostrophe.`

// exportTime is how long somebody may take to read the whole audit.
const exportTime = 10 * time.Minute

// begin is Ask.After for a stream that begins now.
const begin = -1

type eventsInput struct {
	Header   string   `header:"Last-Event-ID" maxLength:"19" example:"42" doc:"The last id that you have; what comes after it is sent. Without it the stream begins now."`
	Query    string   `query:"last_event_id" maxLength:"19" example:"42" doc:"The same, for callers that cannot set headers; the header wins."`
	Topics   []string `query:"topics" enum:"task,project,standup,team,schedule,inbox,user,gateway,session,usage" maxItems:"20" doc:"Only of these, separated by commas: subjects of events, gateway for the connection to the agent runtime, session for what its agents do, and usage for what that costs. Without it everything."`
	Sessions []string `query:"session" maxItems:"10" doc:"Keys of sessions of the runtime, separated by commas: what is said in them comes as session.message."`
}

// after reads the id to go on after.
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
		refused.Add(where, "It is a number: the id of the last event that you have. Leave it out to begin now.")
		return 0, refused.Err()
	}
	return int64(id), nil
}

func (s *Service) handleEvents(ctx context.Context, in *eventsInput) (web.Streaming, error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	stream, err := s.Open(ctx, Ask{Caller: web.Reauthenticate, Topics: in.Topics, After: after, Sessions: in.Sessions})
	if err != nil {
		return nil, err
	}
	return stream.Run, nil
}

type activityInput struct {
	SubjectKind string    `query:"subject_kind" enum:"task,project,standup,team,schedule,inbox,session" doc:"Only of things of this kind."`
	SubjectID   string    `query:"subject_id" maxLength:"512" doc:"Only of the thing with this id; of a session of the runtime, its key."`
	Actor       string    `query:"actor" maxLength:"254" doc:"Only what this one did: a user's id or email, an agent_id, me, or system for the service. Without the permission manage_accounts every email but your own finds nothing."`
	Kinds       []string  `query:"kind" maxItems:"20" doc:"Only of these kinds, such as task.created; task.* is all that begin so."`
	Since       time.Time `query:"since" doc:"Only at this time or later."`
	Until       time.Time `query:"until" doc:"Only before this time."`
	page.Query
	page.Total
}

func (s *Service) handleActivity(ctx context.Context, in *activityInput) (*web.List[Event], error) {
	f := Filter{SubjectKind: in.SubjectKind, SubjectID: in.SubjectID, Kinds: in.Kinds, Since: in.Since, Until: in.Until}
	part, err := s.Activity(ctx, f, in.Actor, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// AuditFilter is what both forms of the audit can be asked for.
type AuditFilter struct {
	SubjectKind string    `query:"subject_kind" enum:"user,address,device,service,prices,retention,task,standup,schedule,session" doc:"Only of things of this kind."`
	SubjectID   string    `query:"subject_id" maxLength:"512" doc:"Only of the thing with this id; of an address, the address."`
	Actor       string    `query:"actor" maxLength:"254" doc:"Only what this one did: a user's id or email, an agent_id, me, system for the service, or anonymous for those who were not signed in."`
	Kinds       []string  `query:"kind" maxItems:"20" doc:"Only of these kinds, such as login.failed; login.* is all that begin so."`
	Since       time.Time `query:"since" doc:"Only at this time or later."`
	Until       time.Time `query:"until" doc:"Only before this time."`
	Sort        string    `query:"sort" enum:"id,-id" default:"-id" doc:"The order; a minus turns it round."`
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
	// Before the first row, while a wrong filter can still be answered.
	if _, err := actorIDs(ctx, s.DB, in.Actor); err != nil {
		return nil, err
	}
	want := page.Want{Query: page.Query{Limit: exportPage}, Sort: in.Sort}
	return &web.Table{
		Name:    "audit.csv",
		Columns: []string{"id", "at", "kind", "actor_id", "actor_name", "subject_kind", "subject_id", "subject_name", "via", "address", "data"},
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

// exportPage is how many events are read at once for a table.
const exportPage = 500
