package task

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the board's routes.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/tasks", actor.Read, "List tasks", s.handleList, web.Fails(ErrAssignee, ErrReporter, page.ErrCursor),
		web.Describe("The newest first, unless sort says otherwise; what matches all filters. A task that changes its place in the order while you turn "+
			"pages, as every change does when you sort by updated, may come twice or not at all; the others neither repeat nor go missing."))
	web.Post(api, "/tasks", actor.ChangeTasks, "Create a task", s.handleCreate,
		web.Status(http.StatusCreated), web.Fails(ErrAssignee))
	web.Get(api, "/tasks/{id}", actor.Read, "One task, by id or key", s.handleGet, web.Fails(ErrNotFound))
	web.Patch(api, "/tasks/{id}", actor.ChangeTasks, "Change a task", s.handleUpdate,
		web.Fails(ErrNotFound, ErrStale, ErrAssignee),
		web.Describe("Only what the body names is changed. With If-Match the change is refused when somebody else was faster."))
}

// Ref names a task in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's id or key." example:"TASK-12"`
}

// Schema bounds a tag in the API's document; the rest of its rule is applyTags'.
func (Tag) Schema(huma.Registry) *huma.Schema {
	most := maxTag
	return &huma.Schema{Type: huma.TypeString, MaxLength: &most, Examples: []any{"security"}}
}

type listInput struct {
	Status       []Status   `query:"status" enum:"backlog,todo,in_progress,review,done" doc:"Only in one of these columns."`
	Priority     []Priority `query:"priority" enum:"low,medium,high,urgent" doc:"Only of one of these priorities."`
	Type         []Type     `query:"type" enum:"task,bug,feature,improvement,research,epic" doc:"Only of one of these types."`
	Assignee     Person     `query:"assignee" maxLength:"254" doc:"Only of this person: a user's id or email, an agent_id, me, or none."`
	Reporter     Person     `query:"reporter" maxLength:"254" doc:"Only made by this person, named like the assignee; none is what the service made itself."`
	Blocked      string     `query:"blocked" enum:"true,false" doc:"Only what is blocked, or only what is not."`
	UpdatedSince time.Time  `query:"updated_since" doc:"Only what was changed at this time or later."`
	Text         string     `query:"q" maxLength:"200" doc:"Only with this text in the key or the title, in whatever case."`
	Sort         string     `query:"sort" enum:"key,-key,created,-created,updated,-updated,priority,-priority" default:"-key" doc:"The order; a minus turns it round, so that the newest, the last changed, the most urgent come first. Among equals the key decides."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Task], error) {
	f := Filter{
		Statuses: in.Status, Priorities: in.Priority, Types: in.Type,
		Assignee: in.Assignee, Reporter: in.Reporter, UpdatedSince: in.UpdatedSince, Text: in.Text,
	}
	if in.Blocked != "" {
		f.Blocked = new(in.Blocked == "true")
	}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type createInput struct{ Body New }

func (s *Service) handleCreate(ctx context.Context, in *createInput) (*web.Tagged[Task], error) {
	t, err := s.Create(ctx, in.Body)
	return web.Tag(t, t.Version).At(web.Prefix + "/tasks/" + t.Key), err
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Task], error) {
	t, err := s.Get(ctx, in.ID)
	return web.Tag(t, t.Version), err
}

type updateInput struct {
	Ref
	web.IfMatch
	Body Change
}

func (s *Service) handleUpdate(ctx context.Context, in *updateInput) (*web.Tagged[Task], error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	t, err := s.Update(ctx, in.ID, in.Body, version)
	return web.Tag(t, t.Version), err
}
