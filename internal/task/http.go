package task

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes for the board.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/tasks", actor.Read, "List tasks", s.handleList, web.Unchanged(s.listETag),
		web.Fails(ErrAssignee, ErrReporter, ErrHolder, ErrProject, ErrParent, ErrDependency, page.ErrCursor),
		web.Describe("Returns the tasks that match all filters, newest first by default. A task that moves in the sort order while you page "+
			"may appear twice or not at all; all other tasks appear exactly once. When you sort by updated, every change moves a task."))
	web.Post(api, "/tasks", actor.ChangeTasks, "Create a task", s.handleCreate,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrAssignee, ErrProject, ErrParent, ErrDependency, ErrWaiting))
	web.Get(api, "/tasks/{id}", actor.Read, "Get a task by ID or key", s.handleGet, web.Fails(ErrNotFound))
	web.Patch(api, "/tasks/{id}", actor.ChangeTasks, "Change a task", s.handleUpdate,
		web.Fails(ErrNotFound, ErrStale, ErrAssignee, ErrProject, ErrParent, ErrDependency, ErrNeighbor, ErrCycle, ErrWaiting,
			ErrClaimed, ErrClaimLost, ErrArchived, ErrWithAgent),
		web.Describe("Changes only the fields in the body. With If-Match, the change is refused if the task has changed since.\n\n"+
			"A task may move between any two columns. Moving it to in_progress, review, or done requires that all tasks in depends_on are done, "+
			"and, while the task is claimed, that you hold the claim. The task keeps its place on the board unless you set position."))
	s.mountClaims(api)
	s.mountDecisions(api)
	s.mountProjects(api)
	s.mountComments(api)
	web.Post(api, "/tasks/{id}/archive", actor.ChangeTasks, "Archive a task", s.handleArchive,
		web.Fails(ErrNotFound, ErrStale, ErrClaimed, ErrClaimLost, ErrWithAgent),
		web.Describe("The task leaves the lists and cannot be claimed or changed until it is restored. Archiving an archived task has no effect. "+
			"If the task is dispatched, archiving stops the agent's run. This requires the dispatch_tasks permission unless you are that agent."))
	web.Post(api, "/tasks/{id}/restore", actor.ChangeTasks, "Restore an archived task", s.handleRestore,
		web.Fails(ErrNotFound, ErrStale),
		web.Describe("The task returns to the board unchanged. If it is done, the waiting period before it is archived automatically starts over."))
	web.Delete(api, "/tasks/{id}", actor.DeleteTasks, "Delete a task", s.handleDelete, web.Fails(ErrNotFound, ErrStale),
		web.Describe("The task's history is kept, and its key is never reused. Tasks that depend on the task or have it as their parent are detached from it."))
	web.Get(api, "/tasks/{id}/history", actor.Read, "List the history of a task, newest first", s.handleHistory,
		web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("Also returns the history of a deleted task, by ID or key."))
	web.Post(api, "/tasks/bulk", actor.ChangeTasks, "Apply one change to many tasks", s.handleBulk,
		web.Describe("Each task is changed independently. For each task, in the order of the request, the response contains the new version or the problem. "+
			"The status is 200 even if no task was changed."))
}

// mountClaims adds the routes for claims and reports.
func (s *Service) mountClaims(api *web.API) {
	web.Post(api, "/tasks/claim", actor.ChangeTasks, "Claim the next task", s.handleClaimNext,
		web.Also(http.StatusNoContent),
		web.Describe("Picks one of the tasks in todo that are neither blocked nor waiting on other tasks: first those assigned to you, then unassigned ones, "+
			"by priority, due time, and position. The task moves to in_progress. Concurrent callers get different tasks. Returns 204 if no task is available."))
	web.Post(api, "/tasks/{id}/claim", actor.ChangeTasks, "Claim a task or renew a claim", s.handleClaim,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrNotOpen, ErrWaiting, ErrArchived),
		web.Describe("While a task is claimed, only the holder of the claim can start, finish, or report on it. Claiming moves the task to in_progress. Claim it again to renew the lease; "+
			"when the lease ends, the task is released and moves back to todo. Send claim_token to renew only that claim, not a newer claim that you hold on the task."))
	web.Post(api, "/tasks/{id}/release", actor.ChangeTasks, "Release a claimed task", s.handleRelease,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrArchived),
		web.Describe("The task moves back to todo. Users with the permission to delete tasks can also release other users' claims. Releasing an unclaimed task has no effect."))
	web.Post(api, "/tasks/{id}/reports", actor.ChangeTasks, "Submit a report on a task", s.handleReport,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrWaiting, ErrArchived, ErrWithAgent),
		web.Describe("A report moves the task according to its kind and appears in the task's history. Repeating the last report has no effect."))
}

// mountDecisions adds the routes with which people decide about tasks.
func (s *Service) mountDecisions(api *web.API) {
	decides := slices.Concat([]*fault.Error{ErrNotFound, ErrArchived, ErrMayNotDispatch}, s.SendRefusals)
	returns := slices.Concat([]*fault.Error{ErrNotFound, ErrArchived, ErrNotInReview, ErrRunActive, ErrWaiting},
		s.SendRefusals)
	web.Post(api, "/tasks/{id}/decide", actor.DecideTasks, "Decide what to do about a task", s.handleDecide,
		web.Once(), web.Fails(decides...),
		web.Describe("Everything happens or nothing does. The text becomes your comment on the task. The task is unblocked, the standups' blockers that name it end, "+
			"and the unresolved inbox items of the kinds escalation, old_blocker, and task_blocked about it are resolved with the text as the note. "+
			"With unblock set to false, the task stays blocked and these items are acknowledged. The next standup tells the team what you decided."))
	web.Post(api, "/tasks/{id}/approve", actor.DecideTasks, "Approve a task in review", s.handleApprove, web.Once(),
		web.Fails(ErrNotFound, ErrArchived, ErrNotInReview, ErrRunActive, ErrWaiting),
		web.Describe(
			"The task moves from review to done, and its inbox item is resolved. Agents cannot approve tasks. "+unsettled,
		))
	web.Post(api, "/tasks/{id}/send-back", actor.DecideTasks, "Send a task in review back", s.handleSendBack,
		web.Once(), web.Fails(returns...),
		web.Describe("The text becomes your comment on the task, the task moves from review to in_progress, and its inbox item is resolved. "+
			"If the task is assigned to an active agent, a gateway is configured, and you have the dispatch_tasks permission, the task is also dispatched, "+
			"in the same session as before, with the text as a note. "+unsettled))
}

// unsettled says when a task can be neither approved nor sent back.
const unsettled = "If the agent's last run has not ended, the request is refused, because the result may still change."

// mountComments adds the routes for comments.
func (s *Service) mountComments(api *web.API) {
	web.Get(api, "/tasks/{id}/comments", actor.Read, "List the comments on a task", s.handleComments,
		web.Fails(ErrNotFound, page.ErrCursor))
	web.Post(api, "/tasks/{id}/comments", actor.ChangeTasks, "Comment on a task", s.handleComment,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrNotFound, ErrArchived),
		web.Describe("@agent_id and @name mention a user, except in code. Archived tasks cannot be commented on."))
	web.Patch(api, "/tasks/{id}/comments/{comment_id}", actor.ChangeTasks, "Edit your comment", s.handleEditComment,
		web.Fails(ErrNotFound, ErrCommentNotFound, ErrNotAuthor, ErrArchived, ErrCommentChanged))
	web.Delete(api, "/tasks/{id}/comments/{comment_id}", actor.ChangeTasks, "Delete a comment", s.handleDeleteComment,
		web.Fails(ErrNotFound, ErrCommentNotFound, ErrNotAuthor, ErrCommentChanged),
		web.Describe("You can delete your own comments; the owner and admins can delete any comment. The history does not keep the text."))
}

// mountProjects adds the routes for projects.
func (s *Service) mountProjects(api *web.API) {
	web.Get(api, "/projects", actor.Read, "List projects", s.handleProjects, web.Fails(page.ErrCursor))
	web.Post(api, "/projects", actor.ChangeTasks, "Create a project", s.handleCreateProject,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrProjectKey))
	web.Get(api, "/projects/{id}", actor.Read, "Get a project by ID or key", s.handleProject,
		web.Fails(ErrProjectNotFound))
	web.Patch(api, "/projects/{id}", actor.ChangeTasks, "Change a project", s.handleUpdateProject,
		web.Fails(ErrProjectNotFound, ErrProjectChanged),
		web.Describe("Changes only the fields in the body; the key cannot be changed. With If-Match, the change is refused if the project has changed since. "+
			"An archived project keeps its tasks, but no tasks can be added."))
}

// Ref is the path parameter that identifies a task.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's ID or key." example:"TASK-12"`
}

// Schema implements huma.SchemaProvider.
func (Status) Schema(huma.Registry) *huma.Schema { return enum.Schema(Statuses()) }

// Schema implements huma.SchemaProvider.
func (Priority) Schema(huma.Registry) *huma.Schema { return enum.Schema(Priorities()) }

// Schema implements huma.SchemaProvider.
func (Type) Schema(huma.Registry) *huma.Schema { return enum.Schema(Types()) }

// Schema implements huma.SchemaProvider.
func (Kind) Schema(huma.Registry) *huma.Schema { return enum.Schema(Kinds()) }

// Schema implements huma.SchemaProvider.
func (Name) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(64), Examples: []any{"TASK-12"}}
}

// Schema implements huma.SchemaProvider.
func (Command) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, MinLength: new(1), MaxLength: new(maxCriterion), Examples: []any{"make test"},
	}
}

// Schema describes a card as either a whole task or a slim card.
func (Card) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[Task](), true, ""),
		r.Schema(reflect.StructOf(boardFields()), true, "TaskCard"),
	}}
}

// boardFields returns the fields of Task that are included in a slim card.
func boardFields() []reflect.StructField {
	all := reflect.VisibleFields(reflect.TypeFor[Task]())
	return all[:slices.IndexFunc(all, func(f reflect.StructField) bool { return f.Name == "Description" })]
}

// Whole is a card with all fields of the task.
type Whole struct{ Card }

// Schema returns the schema of Task, because a whole card has the same fields as a task.
func (Whole) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[Task](), true, "")
}

// Schema implements huma.SchemaProvider. The schema does not express all rules for tags;
// applyTags enforces the rest.
func (Tag) Schema(huma.Registry) *huma.Schema {
	most := maxTag
	return &huma.Schema{Type: huma.TypeString, MaxLength: &most, Examples: []any{"security"}}
}

type listInput struct {
	Status       []Status   `query:"status" doc:"Tasks in any of these columns."`
	Priority     []Priority `query:"priority" doc:"Tasks with any of these priorities."`
	Type         []Type     `query:"type" doc:"Tasks of any of these types."`
	Assignee     Person     `query:"assignee" maxLength:"254" doc:"Tasks assigned to this user: an ID, an email, an agent_id, \"me\", or \"none\" for unassigned tasks. Without the manage_accounts permission, only your own email matches."`
	Reporter     Person     `query:"reporter" maxLength:"254" doc:"Tasks created by this user, in the same format as assignee; \"none\" for tasks created by Wardroom."`
	Blocked      string     `query:"blocked" enum:"true,false" doc:"Only blocked tasks, or only tasks that are not blocked."`
	Tag          []Tag      `query:"tag" maxItems:"20" doc:"Tasks with any of these tags."`
	Project      string     `query:"project" maxLength:"64" doc:"Tasks in this project: an ID or key, or \"none\" for tasks without a project."`
	Parent       string     `query:"parent" maxLength:"64" doc:"Subtasks of this task: an ID or key, or \"none\" for tasks without a parent."`
	DependsOn    string     `query:"depends_on" maxLength:"64" doc:"Tasks that depend on this task: an ID or key."`
	Archived     string     `query:"archived" enum:"true,false" default:"false" doc:"true: only archived tasks. false: only tasks that are not archived."`
	DueAfter     time.Time  `query:"due_after" doc:"Tasks due at or after this time; for whole days, those that have not passed in Wardroom's time zone."`
	DueBefore    time.Time  `query:"due_before" doc:"Tasks due before this time; for whole days, those that have passed in Wardroom's time zone. With the current time, the overdue tasks."`
	UpdatedSince time.Time  `query:"updated_since" doc:"Tasks changed at or after this time."`
	Holder       Person     `query:"holder" maxLength:"254" doc:"Tasks claimed by this user, in the same format as assignee; \"any\" for all claimed tasks, \"none\" for unclaimed ones."`
	Text         string     `query:"q" maxLength:"200" doc:"Tasks with this text in the key or title, ignoring case."`
	Sort         string     `query:"sort" enum:"key,-key,created,-created,updated,-updated,priority,-priority,due,-due,position,-position" default:"-key" doc:"Sort order; a minus reverses it. Ties are broken by key. With due, tasks without a due time come last."`
	Fields       string     `query:"fields" enum:"all,card" default:"all" doc:"card returns only the fields that a board shows. It omits, for example, description, parent_id, depends_on, and dispatch."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.Marked[Card], error) {
	f := Filter{
		Statuses: in.Status, Priorities: in.Priority, Types: in.Type,
		Assignee: in.Assignee, Reporter: in.Reporter, Holder: in.Holder, UpdatedSince: in.UpdatedSince, Text: in.Text,
		Tags: in.Tag, Project: in.Project, Parent: in.Parent, DependsOn: in.DependsOn, Archived: in.Archived == "true",
		DueAfter: in.DueAfter, DueBefore: in.DueBefore,
	}
	if in.Blocked != "" {
		f.Blocked = new(in.Blocked == "true")
	}
	part, err := s.Cards(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total}, in.Fields == "card")
	return web.Part(ctx, part).Marked(ctx), err
}

type createInput struct{ Body New }

func (s *Service) handleCreate(ctx context.Context, in *createInput) (*web.Tagged[Task], error) {
	t, err := s.Create(ctx, in.Body)
	return web.Tag(t, t.Version).At(web.Prefix + "/tasks/" + t.Key), err
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Whole], error) {
	c, version, err := s.Card(ctx, in.ID)
	return web.Tag(Whole{c}, version), err
}

type updateInput struct {
	Ref
	web.IfMatch
	Body Change
}

func (s *Service) handleUpdate(ctx context.Context, in *updateInput) (*web.Tagged[Task], error) {
	t, err := s.Update(ctx, in.ID, in.Body, in.Version())
	return web.Tag(t, t.Version), err
}

// ClaimBody is the body of a request to claim a task.
type ClaimBody struct {
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"1" maximum:"86400" doc:"How long the claim lasts unless renewed. Default: 900."`
	ClaimToken   *int64 `json:"claim_token,omitempty" minimum:"1" doc:"Token of the claim to renew."`
}

func (b *ClaimBody) opt() ClaimOptions {
	if b == nil {
		return ClaimOptions{}
	}
	return ClaimOptions{Lease: time.Duration(b.LeaseSeconds) * time.Second, Token: b.ClaimToken}
}

type claimInput struct {
	Ref
	Body *ClaimBody `required:"false"`
}

func (s *Service) handleClaim(ctx context.Context, in *claimInput) (*web.Tagged[Task], error) {
	t, err := s.Claim(ctx, in.ID, in.Body.opt())
	return web.Tag(t, t.Version), err
}

type claimNextInput struct {
	Body *struct {
		LeaseSeconds int  `json:"lease_seconds,omitempty" minimum:"1" maximum:"86400" doc:"How long the claim lasts unless renewed. Default: 900."`
		Resume       bool `json:"resume,omitempty" doc:"Whether to renew the claim that you hold on a task that is not blocked, if there is one, instead of claiming another task."`
	} `required:"false"`
}

func (s *Service) handleClaimNext(ctx context.Context, in *claimNextInput) (*web.Tagged[Task], error) {
	var opt ClaimOptions
	if in.Body != nil {
		opt.Lease, opt.Resume = time.Duration(in.Body.LeaseSeconds)*time.Second, in.Body.Resume
	}
	t, ok, err := s.ClaimNext(ctx, opt)
	if err != nil || ok {
		return web.Tag(t, t.Version), err
	}
	return web.Tag(t, 0).As(http.StatusNoContent), nil
}

type releaseInput struct {
	Ref
	Body *struct {
		ClaimToken *int64 `json:"claim_token,omitempty" minimum:"1" doc:"Token of the claim to release."`
	} `required:"false"`
}

func (s *Service) handleRelease(ctx context.Context, in *releaseInput) (*web.Tagged[Task], error) {
	var opt ClaimOptions
	if in.Body != nil {
		opt.Token = in.Body.ClaimToken
	}
	t, err := s.Release(ctx, in.ID, opt)
	return web.Tag(t, t.Version), err
}

type reportInput struct {
	Ref
	Body Report
}

func (s *Service) handleReport(ctx context.Context, in *reportInput) (*web.Tagged[Task], error) {
	t, err := s.Report(ctx, in.ID, in.Body)
	return web.Tag(t, t.Version), err
}

type decideInput struct {
	Ref
	Body Decision
}

func (s *Service) handleDecide(ctx context.Context, in *decideInput) (*web.Tagged[Task], error) {
	t, err := s.Decide(ctx, in.ID, in.Body)
	return web.Tag(t, t.Version), err
}

func (s *Service) handleApprove(ctx context.Context, in *Ref) (*web.Tagged[Task], error) {
	t, err := s.Approve(ctx, in.ID)
	return web.Tag(t, t.Version), err
}

type sendBackInput struct {
	Ref
	Body Return
}

func (s *Service) handleSendBack(ctx context.Context, in *sendBackInput) (*web.Tagged[Task], error) {
	t, err := s.SendBack(ctx, in.ID, in.Body)
	return web.Tag(t, t.Version), err
}

type versionInput struct {
	Ref
	web.IfMatch
}

func (s *Service) handleArchive(ctx context.Context, in *versionInput) (*web.Tagged[Task], error) {
	t, err := s.Archive(ctx, in.ID, in.Version())
	return web.Tag(t, t.Version), err
}

func (s *Service) handleRestore(ctx context.Context, in *versionInput) (*web.Tagged[Task], error) {
	t, err := s.Restore(ctx, in.ID, in.Version())
	return web.Tag(t, t.Version), err
}

func (s *Service) handleDelete(ctx context.Context, in *versionInput) (*struct{}, error) {
	return nil, s.Delete(ctx, in.ID, in.Version())
}

type historyInput struct {
	Ref
	page.Query
	page.Total
}

func (s *Service) handleHistory(ctx context.Context, in *historyInput) (*web.List[event.Event], error) {
	part, err := s.History(ctx, in.ID, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type commentsInput struct {
	Ref
	Sort string `query:"sort" enum:"created,-created" default:"created" doc:"Sort order; a minus reverses it."`
	page.Query
	page.Total
}

func (s *Service) handleComments(ctx context.Context, in *commentsInput) (*web.List[Comment], error) {
	part, err := s.Comments(ctx, in.ID, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type commentInput struct {
	Ref
	Body CommentText
}

func (s *Service) handleComment(ctx context.Context, in *commentInput) (*web.Tagged[Comment], error) {
	c, err := s.Comment(ctx, in.ID, in.Body)
	return web.Tag(c, c.Version).At(web.Prefix + "/tasks/" + url.PathEscape(in.ID) + "/comments/" + c.ID), err
}

// CommentRef contains the path parameters that identify a comment.
type CommentRef struct {
	Ref
	CommentID string `path:"comment_id" maxLength:"64" doc:"The comment's ID."`
	web.IfMatch
}

func (s *Service) handleEditComment(ctx context.Context, in *struct {
	CommentRef
	Body CommentText
},
) (*web.Tagged[Comment], error) {
	c, err := s.EditComment(ctx, in.ID, in.CommentID, in.Body, in.Version())
	return web.Tag(c, c.Version), err
}

func (s *Service) handleDeleteComment(ctx context.Context, in *CommentRef) (*struct{}, error) {
	return nil, s.DeleteComment(ctx, in.ID, in.CommentID, in.Version())
}

type projectsInput struct {
	Archived string `query:"archived" enum:"true,false" default:"false" doc:"true: only archived projects. false: only projects that are not archived."`
	Sort     string `query:"sort" enum:"key,-key,created,-created,updated,-updated" default:"key" doc:"Sort order; a minus reverses it."`
	page.Query
	page.Total
}

func (s *Service) handleProjects(ctx context.Context, in *projectsInput) (*web.List[Project], error) {
	part, err := s.Projects(ctx, in.Archived == "true", page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleCreateProject(
	ctx context.Context, in *struct{ Body NewProject },
) (*web.Tagged[Project], error) {
	p, err := s.CreateProject(ctx, in.Body)
	return web.Tag(p, p.Version).At(web.Prefix + "/projects/" + p.Key), err
}

// ProjectRef is the path parameter that identifies a project.
type ProjectRef struct {
	ID string `path:"id" maxLength:"64" doc:"The project's ID or key." example:"WEB"`
}

func (s *Service) handleProject(ctx context.Context, in *ProjectRef) (*web.Tagged[Project], error) {
	p, err := s.Project(ctx, in.ID)
	return web.Tag(p, p.Version), err
}

type updateProjectInput struct {
	ProjectRef
	web.IfMatch
	Body ProjectChange
}

func (s *Service) handleUpdateProject(ctx context.Context, in *updateProjectInput) (*web.Tagged[Project], error) {
	p, err := s.UpdateProject(ctx, in.ID, in.Body, in.Version())
	return web.Tag(p, p.Version), err
}

type bulkInput struct {
	Body struct {
		Tasks  []Name `json:"tasks" minItems:"1" maxItems:"200" doc:"IDs or keys of the tasks."`
		Change Change `json:"change"`
	}
}

// BulkResult is the outcome of a bulk change for one task, as the API returns
// it.
type BulkResult struct {
	Outcome
	Status  int          `json:"status" doc:"HTTP status that a request for this task alone would have returned."`
	Problem *BulkProblem `json:"problem" doc:"Why the task was not changed; null on success."`
}

// BulkProblem is the error that prevented a bulk change from changing one of its tasks.
type BulkProblem struct {
	Code   string         `json:"code"`
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Errors []fault.Field  `json:"errors" nullable:"false"`
	Facts  map[string]any `json:"facts" doc:"Additional members of the problem, such as blocking or claim."`
}

func (s *Service) handleBulk(ctx context.Context, in *bulkInput) (*struct{ Body []BulkResult }, error) {
	refs := make([]string, len(in.Body.Tasks))
	for i, name := range in.Body.Tasks {
		refs[i] = string(name)
	}
	outcomes, err := s.Bulk(ctx, refs, in.Body.Change)
	results := make([]BulkResult, len(outcomes))
	for i, o := range outcomes {
		results[i] = BulkResult{Outcome: o, Status: http.StatusOK}
		if f := o.Error; f != nil {
			p := &BulkProblem{Code: f.Code, Title: f.Title, Detail: f.Detail, Errors: f.Fields, Facts: f.Facts}
			if p.Errors == nil {
				p.Errors = []fault.Field{}
			}
			if p.Facts == nil {
				p.Facts = map[string]any{}
			}
			results[i].Status, results[i].Problem = web.StatusOf(f), p
		}
	}
	return &struct{ Body []BulkResult }{results}, err
}
