package standup

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// longestWait is how long a request may ask to wait for the end of a meeting.
const maxWait = 10 * time.Minute

// Mount adds the routes of standups.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/standups", actor.Read, "List standups, the latest day first unless sort says otherwise", s.handleList, web.Fails(ErrTeam, page.ErrCursor),
		web.Describe("Those of the team executive, unless team says otherwise."))
	web.Post(api, "/standups", actor.HoldStandups, "Open the standup of a day", s.handleOpen,
		web.Status(http.StatusCreated), web.Also(http.StatusOK), web.Once(), web.Fails(ErrTeam, ErrTeamArchived),
		web.Describe("Answers 201, or 200 with the standup that the team already has of the day."))
	web.Get(api, "/standups/latest", actor.Read, "The standup of the latest day", s.handleLatest, web.Fails(ErrNotFound, ErrTeam),
		web.Describe("Of today or the last day before that has one. One that was opened for a day to come is not it until that day."))
	s.mountSchedule(api)
	web.Get(api, "/standups/{id}", actor.Read, "One standup with all that was said", s.handleGet, web.Fails(ErrNotFound))
	web.Text(api, "/standups/{id}/transcript", actor.Read, "Follow the meeting as plain text", s.handleTranscript,
		web.Waits(max(s.Deadline, maxDeadline)+time.Minute), web.Fails(ErrNotFound, ErrWaiting),
		web.Describe("Reads like minutes. While the meeting goes on, it stays and adds each line as it is said: `curl -N`."))
	web.Delete(api, "/standups/{id}", actor.ManageStandups, "Delete a standup", s.handleDelete, web.Fails(ErrNotFound, ErrRunning, ErrStale))
	web.Post(api, "/standups/{id}/run", actor.HoldStandups, "Run the standup, or retry it", s.handleRun,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), web.Waits(maxWait+time.Minute),
		web.Fails(ErrNotFound, ErrRunning, ErrCompleted, ErrWaiting),
		web.Describe("Answers 202 while the meeting goes on. With `Prefer: wait=60` it waits up to so many seconds, 600 at most, and answers 200 when the meeting has ended by then."))
	web.Put(api, "/standups/{id}/reports/{agent_id}", actor.FileReports, "Hand in a participant's report", s.handleSubmitReport,
		web.Fails(ErrNotFound, ErrParticipant, ErrNotOwnReport, ErrTooManySubmissions, ErrEnded),
		web.Describe("Before the meeting or while it goes on: the agent is not asked then, and when it is being asked, that run is stopped. "+
			"An agent hands in its own report only, the owner and admins that of any participant. The same again changes nothing."))
	web.Post(api, "/standups/{id}/cancel", actor.ManageStandups, "Cancel a standup", s.handleCancel, web.Fails(ErrNotFound, ErrIdle))
	s.mountTeams(api)
}

// mountTeams adds the routes of whose standups there are.
func (s *Service) mountTeams(api *web.API) {
	web.Get(api, "/teams", actor.Read, "List teams", s.handleTeams, web.Fails(page.ErrCursor))
	web.Post(api, "/teams", actor.ManageStandups, "Create a team", s.handleCreateTeam,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrTeamKey))
	web.Get(api, "/teams/{id}", actor.Read, "One team, by id or key", s.handleTeam, web.Fails(ErrTeamNotFound))
	web.Patch(api, "/teams/{id}", actor.ManageStandups, "Change a team", s.handleUpdateTeam,
		web.Fails(ErrTeamNotFound, ErrTeamChanged, ErrTeamKept),
		web.Describe("Standups that are open already keep who is asked in them. New limits count from the next start of a meeting on. "+
			"A team in the archive keeps its standups and opens no others."))
}

// Schema bounds an agent's id in the API's document.
func (AgentID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(64), Pattern: agentID.String(), Examples: []any{"cto"}}
}

// mountSchedule adds the routes of the runtime's job that starts the standups.
func (s *Service) mountSchedule(api *web.API) {
	fails := web.Fails(
		gateway.ErrNotConfigured, gateway.ErrUnreachable, gateway.ErrTimeout, gateway.ErrUnauthorized,
		gateway.ErrUnpaired, gateway.ErrUntrusted, gateway.ErrMissingScope, gateway.ErrBusy, gateway.ErrRefused,
	)
	web.Get(api, "/standups/schedule", actor.Read, "When the runtime starts the standups", s.handleSchedule, fails, web.Asks(1, s.Patience), web.Fails(ErrNoSchedule, ErrTeam),
		web.Describe("The runtime's job of one team, read there; while the runtime is away, as it was last seen."))
	web.Post(api, "/standups/schedule", actor.ManageSchedules, "Have the runtime start the standups", s.handleSetSchedule, fails,
		web.Asks(2, s.Patience),
		web.Fails(gateway.ErrNoJob, gateway.ErrJobChanged, ErrTeam, ErrTeamArchived),
		web.Describe("Makes the job `daily-standup` in the agent runtime, or changes it; what is left out stays as it is. Repeating it changes nothing more. "+
			"The job of another team than executive is called `daily-standup-` and the team's key. That of a team in the archive can only be disabled.\n\n"+
			"It needs the gateway's scope operator.admin in AGENTRT_GATEWAY_SCOPES. The job tells the team's facilitator to open the standup and to run it, with its own API key, "+
			"which it finds in the variable `WARDROOM_API_KEY` of the runtime's environment."))
}

// teamInput names the team that is asked about.
type teamInput struct {
	Team string `query:"team" maxLength:"64" default:"executive" doc:"Of this team: its key or id."`
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

// Ref names a standup in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64"`
}

func location(m Standup) string { return web.Prefix + "/standups/" + m.ID }

type listInput struct {
	Team   string   `query:"team" maxLength:"64" default:"executive" doc:"Only of this team: its key or id; all is every team."`
	Status []Status `query:"status" enum:"running,completed,error" doc:"Only in one of these states."`
	From   string   `query:"from" maxLength:"10" doc:"Only of this day, such as 2026-11-20, or later."`
	To     string   `query:"to" maxLength:"10" doc:"Only of this day or earlier."`
	Sort   string   `query:"sort" enum:"date,-date" default:"-date" doc:"The order; a minus turns it round."`
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	return nil, s.Delete(ctx, in.ID, version)
}

type runInput struct {
	Ref
	web.Prefer
	Body *struct {
		Again bool `json:"again,omitempty" doc:"Hold a completed standup once more, from the start."`
	} `required:"false"`
}

func (s *Service) handleRun(ctx context.Context, in *runInput) (*web.Tagged[Standup], error) {
	wait := in.Wait(maxWait)
	if wait > 0 { // before anything is begun
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
	Body    Filing
}

type submitOutput struct{ Body Report }

func (s *Service) handleSubmitReport(ctx context.Context, in *submitInput) (*submitOutput, error) {
	r, err := s.SubmitReport(ctx, in.ID, in.AgentID, in.Body)
	return &submitOutput{r}, err
}

// handleTranscript writes the transcript as plain text, for a terminal. While
// the meeting goes on it stays and adds each line as it is said.
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
	Archived string `query:"archived" enum:"true,false" default:"false" doc:"What is in the archive, or what is not."`
	Sort     string `query:"sort" enum:"key,-key" default:"key" doc:"The order; a minus turns it round."`
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

// TeamRef names a team in a path.
type TeamRef struct {
	ID string `path:"id" maxLength:"64" doc:"The team's id or key." example:"executive"`
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	t, err := s.UpdateTeam(ctx, in.ID, in.Body, version)
	return web.Tag(t, t.Version), err
}
