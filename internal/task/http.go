package task

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the board's routes.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/tasks", actor.Read, "List tasks, the newest first", s.handleList, web.Fails(ErrAssignee, page.ErrCursor))
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
	Status   []Status `query:"status" enum:"backlog,todo,in_progress,review,done" doc:"One or more columns, parted by commas."`
	Assignee string   `query:"assignee" maxLength:"254" doc:"A user's id or email, or an agent_id."`
	Blocked  string   `query:"blocked" enum:"true,false" doc:"Only what is blocked, or only what is not."`
	page.Query
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Task], error) {
	f := Filter{Statuses: in.Status, Assignee: in.Assignee, Limit: in.Limit + 1}
	if in.Blocked != "" {
		blocked := in.Blocked == "true"
		f.Blocked = &blocked
	}
	at, err := page.Decode(in.Cursor, 1)
	if err != nil {
		return nil, err
	}
	if at != nil {
		if f.Below, err = strconv.ParseInt(at[0], 10, 64); err != nil || f.Below < 1 {
			return nil, page.Refused()
		}
	}
	tasks, err := s.List(ctx, f)
	if err != nil {
		return nil, err
	}
	tasks, next := page.Cut(tasks, in.Limit, func(t Task) []string { return []string{strconv.FormatInt(t.number, 10)} })
	return web.Page(ctx, tasks, next), nil
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
