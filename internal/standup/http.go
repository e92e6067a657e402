package standup

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// maxWait is the longest time that a request can wait for a standup to end.
const maxWait = 10 * time.Minute

// Mount registers the routes for standups, schedules and teams.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/standups", actor.Read, "List standups, latest day first by default", s.handleList,
		web.Fails(ErrTeam, page.ErrCursor),
		web.Describe("Lists the standups of the executive team by default."))
	web.Post(api, "/standups", actor.HoldStandups, "Open a standup", s.handleOpen,
		web.Status(http.StatusCreated), web.Also(http.StatusOK), web.Once(), web.Fails(ErrTeam, ErrTeamArchived),
		web.Describe("Returns 201 with the new standup, or 200 if the team already has one on that day."))
	web.Get(api, "/standups/latest", actor.Read, "Get the latest standup", s.handleLatest, web.Fails(ErrNotFound, ErrTeam),
		web.Describe("Returns the team's standup for today, or for the most recent day that has one. Standups opened for a future day are ignored."))
	s.mountSchedule(api)
	web.Get(api, "/standups/{id}", actor.Read, "Get a standup with its reports and transcript",
		s.handleGet, web.Fails(ErrNotFound))
	web.Text(api, "/standups/{id}/transcript", actor.Read, "Stream the transcript as plain text", s.handleTranscript,
		web.Waits(max(s.Deadline, maxDeadline)+time.Minute), web.Fails(ErrNotFound, ErrWaiting),
		web.Describe("While the standup runs, the response stays open and adds each entry as it is written. Use `curl -N`."))
	web.Delete(api, "/standups/{id}", actor.ManageStandups, "Delete a standup", s.handleDelete,
		web.Fails(ErrNotFound, ErrRunning, ErrStale))
	web.Post(api, "/standups/{id}/run", actor.HoldStandups, "Run or retry a standup", s.handleRun,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), web.Waits(maxWait+time.Minute),
		web.Fails(ErrNotFound, ErrRunning, ErrCompleted, ErrWaiting),
		web.Describe("Returns 202 while the standup runs. With `Prefer: wait=60` the request waits up to that many seconds (at most 600) and returns 200 if the standup has ended by then."))
	web.Put(api, "/standups/{id}/reports/{agent_id}", actor.FileReports,
		"Submit a participant's report", s.handleSubmitReport,
		web.Fails(ErrNotFound, ErrParticipant, ErrNotOwnReport, ErrTooManySubmissions, ErrEnded),
		web.Describe("Submit the report before or during the standup. Wardroom then does not ask the agent, or stops the agent's run if it has already asked. "+
			"An agent can submit only its own report; the owner and admins can submit any participant's. Repeating the same report changes nothing."))
	web.Post(api, "/standups/{id}/cancel", actor.ManageStandups, "Cancel a standup", s.handleCancel,
		web.Fails(ErrNotFound, ErrIdle))
	s.mountTeams(api)
}

// mountTeams registers the routes for teams.
func (s *Service) mountTeams(api *web.API) {
	web.Get(api, "/teams", actor.Read, "List teams", s.handleTeams, web.Fails(page.ErrCursor))
	web.Post(api, "/teams", actor.ManageStandups, "Create a team", s.handleCreateTeam,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrTeamKey))
	web.Get(api, "/teams/{id}", actor.Read, "Get a team by ID or key", s.handleTeam, web.Fails(ErrTeamNotFound))
	web.Patch(api, "/teams/{id}", actor.ManageStandups, "Change a team", s.handleUpdateTeam,
		web.Fails(ErrTeamNotFound, ErrTeamChanged, ErrTeamKept),
		web.Describe("Open standups keep their participants. New limits apply the next time a standup starts. "+
			"An archived team keeps its standups and cannot open new ones."))
}

// Schema describes an agent id in the OpenAPI document.
func (AgentID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(64), Pattern: agentID.String(), Examples: []any{"cto"}}
}

// mountSchedule registers the routes for the runtime's scheduled job that starts a team's standups.
func (s *Service) mountSchedule(api *web.API) {
	fails := web.Fails(
		link.ErrNotConfigured, link.ErrUnreachable, link.ErrTimeout, link.ErrUnauthorized,
		link.ErrUnpaired, link.ErrUntrusted, link.ErrMissingScope, link.ErrBusy, link.ErrRefused,
	)
	web.Get(api, "/standups/schedule", actor.Read, "Get the schedule of a team's standups", s.handleSchedule, fails,
		web.Asks(1, s.Patience), web.Fails(ErrNoSchedule, ErrTeam),
		web.Describe(
			"Returns the team's job as it is in the runtime, or as Wardroom last read it if the runtime is unavailable.",
		))
	web.Post(api, "/standups/schedule", actor.ManageSchedules, "Schedule a team's standups", s.handleSetSchedule, fails,
		web.Asks(2, s.Patience),
		web.Fails(gateway.ErrNoJob, gateway.ErrJobChanged, ErrTeam, ErrTeamArchived),
		web.Describe("Creates or changes the job `daily-standup` in the agent runtime. Omitted fields stay unchanged, and repeating the request changes nothing. "+
			"For teams other than executive, the job is named `daily-standup-` followed by the team's key. The job of an archived team can only be disabled.\n\n"+
			"Requires the gateway scope operator.admin in AGENTRT_GATEWAY_SCOPES. The job tells the team's facilitator to open and run the standup with its own API key, "+
			"which the facilitator reads from the variable `WARDROOM_API_KEY` of the runtime's environment."))
}

// teamInput is the query parameter that selects a team.
type teamInput struct {
	Team string `query:"team" maxLength:"64" default:"executive" doc:"The team's key or ID."`
}

func (s *Service) handleSchedule(ctx context.Context, in *teamInput) (*scheduleOutput, error) {
	got, err := s.Schedule(ctx, in.Team)
	return &scheduleOutput{got}, err
}

type scheduleOutput struct{ Body Schedule }

type scheduleInput struct {
	Body *Plan `required:"false"`
}

func (s *Service) handleSetSchedule(ctx context.Context, in *scheduleInput) (*scheduleOutput, error) {
	var p Plan
	if in.Body != nil {
		p = *in.Body
	}
	got, err := s.SetSchedule(ctx, p)
	return &scheduleOutput{got}, err
}

// Ref is the path parameter with a standup's id.
type Ref struct {
	ID string `path:"id" maxLength:"64"`
}

func location(m Standup) string { return web.Prefix + "/standups/" + m.ID }

type listInput struct {
	Team   string   `query:"team" maxLength:"64" default:"executive" doc:"The team's key or ID, or \"all\" for all teams."`
	Status []Status `query:"status" enum:"running,completed,error" doc:"Only standups with one of these states."`
	From   string   `query:"from" maxLength:"10" doc:"Only standups on or after this day, such as 2026-11-20."`
	To     string   `query:"to" maxLength:"10" doc:"Only standups on or before this day."`
	Sort   string   `query:"sort" enum:"date,-date" default:"-date" doc:"Sort order; a minus reverses it."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Brief], error) {
	f := Filter{Team: in.Team, Statuses: in.Status, From: in.From, To: in.To}
	if f.Team == allTeams {
		f.Team = ""
	}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type openInput struct {
	Body *New `required:"false"`
}

func (s *Service) handleOpen(ctx context.Context, in *openInput) (*web.Tagged[Standup], error) {
	var n New
	if in.Body != nil {
		n = *in.Body
	}
	m, created, err := s.Open(ctx, n)
	out := web.Tag(m, m.Version).At(location(m))
	if !created {
		out = out.As(http.StatusOK)
	}
	return out, err
}

func (s *Service) handleLatest(ctx context.Context, in *teamInput) (*web.Tagged[Standup], error) {
	m, err := s.Latest(ctx, in.Team)
	return web.Tag(m, m.Version), err
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Standup], error) {
	m, err := s.Get(ctx, in.ID)
	return web.Tag(m, m.Version), err
}

type deleteInput struct {
	Ref
	web.IfMatch
}

func (s *Service) handleDelete(ctx context.Context, in *deleteInput) (*struct{}, error) {
	return nil, s.Delete(ctx, in.ID, in.Version())
}

type runInput struct {
	Ref
	web.Prefer
	Body *struct {
		Again bool `json:"again,omitempty" doc:"Run a completed standup again from the start."`
	} `required:"false"`
}

func (s *Service) handleRun(ctx context.Context, in *runInput) (*web.Tagged[Standup], error) {
	wait := in.Wait(maxWait)
	if wait > 0 { // reserve the slot before the standup starts
		leave, err := s.acquireSlot(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	m, err := s.Run(ctx, in.ID, in.Body != nil && in.Body.Again)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if m, err = s.AwaitEnd(ctx, in.ID, wait, web.Stopping(ctx)); err != nil {
			return nil, err
		}
	}
	out := web.Tag(m, m.Version).At(location(m))
	if m.Status != Running {
		out = out.As(http.StatusOK)
	}
	return out, nil
}

func (s *Service) handleCancel(ctx context.Context, in *Ref) (*web.Tagged[Standup], error) {
	m, err := s.Cancel(ctx, in.ID)
	return web.Tag(m, m.Version), err
}

type submitInput struct {
	Ref
	AgentID string `path:"agent_id" maxLength:"64"`
	Body    Submission
}

type submitOutput struct{ Body Report }

func (s *Service) handleSubmitReport(ctx context.Context, in *submitInput) (*submitOutput, error) {
	r, err := s.SubmitReport(ctx, in.ID, in.AgentID, in.Body)
	return &submitOutput{r}, err
}

// handleTranscript writes the transcript as plain text. While the standup runs, the
// response stays open, and each new entry is written to it.
func (s *Service) handleTranscript(ctx context.Context, in *Ref) (web.Writing, error) {
	m, err := s.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	leave := func() {}
	if m.inProgress() {
		if leave, err = s.acquireSlot(ctx); err != nil {
			return nil, err
		}
	}
	return func(say func(string) error) {
		defer leave()
		s.streamTranscript(ctx, m, web.Stopping(ctx), say)
	}, nil
}

type teamsInput struct {
	Archived string `query:"archived" enum:"true,false" default:"false" doc:"true lists archived teams, false active ones."`
	Sort     string `query:"sort" enum:"key,-key" default:"key" doc:"Sort order; a minus reverses it."`
	page.Query
	page.Total
}

func (s *Service) handleTeams(ctx context.Context, in *teamsInput) (*web.List[Team], error) {
	part, err := s.Teams(ctx, in.Archived == "true", page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleCreateTeam(ctx context.Context, in *struct{ Body NewTeam }) (*web.Tagged[Team], error) {
	t, err := s.CreateTeam(ctx, in.Body)
	return web.Tag(t, t.Version).At(web.Prefix + "/teams/" + t.Key), err
}

// TeamRef is the path parameter with a team's id or key.
type TeamRef struct {
	ID string `path:"id" maxLength:"64" doc:"The team's ID or key." example:"executive"`
}

func (s *Service) handleTeam(ctx context.Context, in *TeamRef) (*web.Tagged[Team], error) {
	t, err := s.Team(ctx, in.ID)
	return web.Tag(t, t.Version), err
}

type updateTeamInput struct {
	TeamRef
	web.IfMatch
	Body TeamChange
}

func (s *Service) handleUpdateTeam(ctx context.Context, in *updateTeamInput) (*web.Tagged[Team], error) {
	t, err := s.UpdateTeam(ctx, in.ID, in.Body, in.Version())
	return web.Tag(t, t.Version), err
}
