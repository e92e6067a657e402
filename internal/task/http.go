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
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the board's routes.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/tasks", actor.Read, "List tasks", s.handleList, web.Unchanged(s.mark), web.Fails(ErrAssignee, ErrReporter, ErrHolder, ErrProject, ErrParent, page.ErrCursor),
		web.Describe("The newest first, unless sort says otherwise; what matches all filters. A task that changes its place in the order while you turn "+
			"pages, as every change does when you sort by updated, may come twice or not at all; the others neither repeat nor go missing."))
	web.Post(api, "/tasks", actor.ChangeTasks, "Create a task", s.handleCreate,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrAssignee, ErrProject, ErrParent, ErrDependency, ErrWaiting))
	web.Get(api, "/tasks/{id}", actor.Read, "One task, by id or key", s.handleGet, web.Fails(ErrNotFound))
	web.Patch(api, "/tasks/{id}", actor.ChangeTasks, "Change a task", s.handleUpdate,
		web.Fails(ErrNotFound, ErrStale, ErrAssignee, ErrProject, ErrParent, ErrDependency, ErrNeighbour, ErrCycle, ErrWaiting, ErrClaimed, ErrClaimLost, ErrArchived, ErrWithAgent),
		web.Describe("Only what the body names is changed. With If-Match the change is refused when somebody else was faster.\n\n"+
			"A task may move between any two columns. But to in_progress, review and done it moves only when all in depends_on are done, "+
			"and, while somebody holds it, only by them. It keeps its place in the order of the board, unless position says another."))
	s.mountClaims(api)
	s.mountProjects(api)
	s.mountComments(api)
	web.Post(api, "/tasks/{id}/archive", actor.ChangeTasks, "Put a task into the archive", s.handleArchive, web.Fails(ErrNotFound, ErrStale, ErrClaimed, ErrClaimLost, ErrWithAgent),
		web.Describe("It leaves the lists, and cannot be claimed or changed until it is restored. Archiving it again changes nothing. "+
			"While its agent has it, archiving stops the run: that takes the permission dispatch_tasks, or to be that agent."))
	web.Post(api, "/tasks/{id}/restore", actor.ChangeTasks, "Take a task out of the archive", s.handleRestore, web.Fails(ErrNotFound, ErrStale),
		web.Describe("It comes back as it was. If it is done, the days until it is archived count anew."))
	web.Delete(api, "/tasks/{id}", actor.DeleteTasks, "Delete a task", s.handleDelete, web.Fails(ErrNotFound, ErrStale),
		web.Describe("Its history stays, and its key is not given again. What depended on it, or was a part of it, does not any more."))
	web.Get(api, "/tasks/{id}/history", actor.Read, "What happened to a task, the newest first", s.handleHistory, web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("Also of a task that was deleted, by its id or its last key."))
	web.Post(api, "/tasks/bulk", actor.ChangeTasks, "Change many tasks alike", s.handleBulk,
		web.Describe("Each task stands for itself: the answer says of each, in the order of the request, whether it was changed, or by which problem it was not. "+
			"The answer is 200 even when none was."))
}

// mountClaims adds the routes of those who work on tasks.
func (s *Service) mountClaims(api *web.API) {
	web.Post(api, "/tasks/claim", actor.ChangeTasks, "Claim the best task that is to do", s.handleClaimNext, web.Also(http.StatusNoContent),
		web.Describe("Of the tasks in todo that are not blocked and wait for no other: those assigned to the caller before those assigned to nobody, "+
			"then by priority, due time and position. It moves to in_progress. Of any number of callers each gets another task. 204 when there is none."))
	web.Post(api, "/tasks/{id}/claim", actor.ChangeTasks, "Claim a task, or renew the claim", s.handleClaim,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrNotOpen, ErrWaiting, ErrArchived),
		web.Describe("While somebody holds a task, nobody else starts, finishes or reports on it. Claiming moves it to in_progress. Claim it again before the lease ends to renew it; "+
			"a lease that ends frees the task and moves it back to todo. Send claim_token along to renew that very claim, and no other that you may have got since."))
	web.Post(api, "/tasks/{id}/release", actor.ChangeTasks, "Give a claimed task back", s.handleRelease,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrArchived),
		web.Describe("It moves back to todo. Who may delete tasks may also take one from its holder. Of a task that nobody holds nothing changes."))
	web.Post(api, "/tasks/{id}/reports", actor.ChangeTasks, "Report on a task", s.handleReport,
		web.Fails(ErrNotFound, ErrClaimed, ErrClaimLost, ErrWaiting, ErrArchived, ErrWithAgent),
		web.Describe("One call says how it goes, moves the task, and is told in its history. Repeating the last report changes nothing."))
}

// mountComments adds the routes of what is said about tasks.
func (s *Service) mountComments(api *web.API) {
	web.Get(api, "/tasks/{id}/comments", actor.Read, "What was said about a task, the oldest first", s.handleComments, web.Fails(ErrNotFound, page.ErrCursor))
	web.Post(api, "/tasks/{id}/comments", actor.ChangeTasks, "Comment on a task", s.handleComment,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrNotFound, ErrArchived),
		web.Describe("@agent_id and @name mention somebody, except in code. A task in the archive takes no comments."))
	web.Patch(api, "/tasks/{id}/comments/{comment_id}", actor.ChangeTasks, "Change one's own comment", s.handleEditComment,
		web.Fails(ErrNotFound, ErrCommentNotFound, ErrNotAuthor, ErrArchived, ErrCommentChanged))
	web.Delete(api, "/tasks/{id}/comments/{comment_id}", actor.ChangeTasks, "Delete a comment", s.handleDeleteComment,
		web.Fails(ErrNotFound, ErrCommentNotFound, ErrNotAuthor, ErrCommentChanged),
		web.Describe("One's own; the owner and admins also those of others. Its text is in no history."))
}

// mountProjects adds the routes of what tasks are grouped by.
func (s *Service) mountProjects(api *web.API) {
	web.Get(api, "/projects", actor.Read, "List projects", s.handleProjects, web.Fails(page.ErrCursor))
	web.Post(api, "/projects", actor.ChangeTasks, "Create a project", s.handleCreateProject,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrProjectKey))
	web.Get(api, "/projects/{id}", actor.Read, "One project, by id or key", s.handleProject, web.Fails(ErrProjectNotFound))
	web.Patch(api, "/projects/{id}", actor.ChangeTasks, "Change a project", s.handleUpdateProject, web.Fails(ErrProjectNotFound, ErrProjectChanged),
		web.Describe("Only what the body names is changed; the key never is. With If-Match the change is refused when somebody else was faster. "+
			"A project in the archive keeps its tasks and gets no others."))
}

// Ref names a task in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's id or key." example:"TASK-12"`
}

// Schema bounds a name in the API's document.
func (Name) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(64), Examples: []any{"TASK-12"}}
}

// Schema says in the API's document what a card may be.
func (Card) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[Task](), true, ""),
		r.Schema(reflect.StructOf(boardFields()), true, "TaskCard"),
	}}
}

// boardFields are the fields of a task that a slim card has.
func boardFields() []reflect.StructField {
	all := reflect.VisibleFields(reflect.TypeFor[Task]())
	return all[:slices.IndexFunc(all, func(f reflect.StructField) bool { return f.Name == "Description" })]
}

// Whole is a card that has all fields of its task.
type Whole struct{ Card }

// Schema says in the API's document that it is a task.
func (Whole) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[Task](), true, "")
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
	Assignee     Person     `query:"assignee" maxLength:"254" doc:"Only of this person: a user's id or email, an agent_id, me, or none. Without the permission manage_accounts every email but your own finds nothing."`
	Reporter     Person     `query:"reporter" maxLength:"254" doc:"Only made by this person, named like the assignee, with the same rule for emails; none is what the service made itself."`
	Blocked      string     `query:"blocked" enum:"true,false" doc:"Only what is blocked, or only what is not."`
	Tag          []Tag      `query:"tag" maxItems:"20" doc:"Only with one of these tags."`
	Project      string     `query:"project" maxLength:"64" doc:"Only of this project: its id or key, or none."`
	Parent       string     `query:"parent" maxLength:"64" doc:"Only the parts of this task: its id or key; none is what is part of no other."`
	Archived     string     `query:"archived" enum:"true,false" default:"false" doc:"What is in the archive, or what is not."`
	DueAfter     time.Time  `query:"due_after" doc:"Only what is due at this time or later."`
	DueBefore    time.Time  `query:"due_before" doc:"Only what is due before this time."`
	UpdatedSince time.Time  `query:"updated_since" doc:"Only what was changed at this time or later."`
	Holder       Person     `query:"holder" maxLength:"254" doc:"Only with a claim of this person, named like the assignee; any is whoever has one, none is what nobody holds."`
	Text         string     `query:"q" maxLength:"200" doc:"Only with this text in the key or the title, in whatever case."`
	Sort         string     `query:"sort" enum:"key,-key,created,-created,updated,-updated,priority,-priority,due,-due,position,-position" default:"-key" doc:"The order; a minus turns it round, so that the newest, the last changed, the most urgent come first. Sorted by due, what is due at no time comes last. Among equals the key decides."`
	Fields       string     `query:"fields" enum:"all,card" default:"all" doc:"card leaves out all but what a board shows: no description, dates or relations."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.Marked[Card], error) {
	f := Filter{
		Statuses: in.Status, Priorities: in.Priority, Types: in.Type,
		Assignee: in.Assignee, Reporter: in.Reporter, Holder: in.Holder, UpdatedSince: in.UpdatedSince, Text: in.Text,
		Tags: in.Tag, Project: in.Project, Parent: in.Parent, Archived: in.Archived == "true", DueAfter: in.DueAfter, DueBefore: in.DueBefore,
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	t, err := s.Update(ctx, in.ID, in.Body, version)
	return web.Tag(t, t.Version), err
}

// ClaimBody is what a claim may say.
type ClaimBody struct {
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"1" maximum:"86400" doc:"How long it lasts unless it is renewed; 900 when left out."`
	ClaimToken   *int64 `json:"claim_token,omitempty" minimum:"1" doc:"The token of the claim that is to be renewed."`
}

func (b *ClaimBody) ask() Ask {
	if b == nil {
		return Ask{}
	}
	return Ask{Lease: time.Duration(b.LeaseSeconds) * time.Second, Token: b.ClaimToken}
}

type claimInput struct {
	Ref
	Body *ClaimBody `required:"false"`
}

func (s *Service) handleClaim(ctx context.Context, in *claimInput) (*web.Tagged[Task], error) {
	t, err := s.Claim(ctx, in.ID, in.Body.ask())
	return web.Tag(t, t.Version), err
}

type claimNextInput struct {
	Body *struct {
		LeaseSeconds int `json:"lease_seconds,omitempty" minimum:"1" maximum:"86400" doc:"How long it lasts unless it is renewed; 900 when left out."`
	} `required:"false"`
}

func (s *Service) handleClaimNext(ctx context.Context, in *claimNextInput) (*web.Tagged[Task], error) {
	var ask Ask
	if in.Body != nil {
		ask.Lease = time.Duration(in.Body.LeaseSeconds) * time.Second
	}
	t, ok, err := s.ClaimNext(ctx, ask)
	if err != nil || ok {
		return web.Tag(t, t.Version), err
	}
	return web.Tag(t, 0).As(http.StatusNoContent), nil
}

type releaseInput struct {
	Ref
	Body *struct {
		ClaimToken *int64 `json:"claim_token,omitempty" minimum:"1" doc:"The token of the claim that is to be given back."`
	} `required:"false"`
}

func (s *Service) handleRelease(ctx context.Context, in *releaseInput) (*web.Tagged[Task], error) {
	var ask Ask
	if in.Body != nil {
		ask.Token = in.Body.ClaimToken
	}
	t, err := s.Release(ctx, in.ID, ask)
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

type versionInput struct {
	Ref
	web.IfMatch
}

func (s *Service) handleArchive(ctx context.Context, in *versionInput) (*web.Tagged[Task], error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	t, err := s.Archive(ctx, in.ID, version)
	return web.Tag(t, t.Version), err
}

func (s *Service) handleRestore(ctx context.Context, in *versionInput) (*web.Tagged[Task], error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	t, err := s.Restore(ctx, in.ID, version)
	return web.Tag(t, t.Version), err
}

func (s *Service) handleDelete(ctx context.Context, in *versionInput) (*struct{}, error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	return nil, s.Delete(ctx, in.ID, version)
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
	page.Query
	page.Total
}

func (s *Service) handleComments(ctx context.Context, in *commentsInput) (*web.List[Comment], error) {
	part, err := s.Comments(ctx, in.ID, page.Want{Query: in.Query, Total: in.Total.Total})
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

// CommentRef names a comment of a task in a path.
type CommentRef struct {
	Ref
	CommentID string `path:"comment_id" maxLength:"64" doc:"The comment's id."`
	web.IfMatch
}

func (s *Service) handleEditComment(ctx context.Context, in *struct {
	CommentRef
	Body CommentText
},
) (*web.Tagged[Comment], error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	c, err := s.EditComment(ctx, in.ID, in.CommentID, in.Body, version)
	return web.Tag(c, c.Version), err
}

func (s *Service) handleDeleteComment(ctx context.Context, in *CommentRef) (*struct{}, error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	return nil, s.DeleteComment(ctx, in.ID, in.CommentID, version)
}

type projectsInput struct {
	Archived string `query:"archived" enum:"true,false" default:"false" doc:"What is in the archive, or what is not."`
	Sort     string `query:"sort" enum:"key,-key,created,-created,updated,-updated" default:"key" doc:"The order; a minus turns it round."`
	page.Query
	page.Total
}

func (s *Service) handleProjects(ctx context.Context, in *projectsInput) (*web.List[Project], error) {
	part, err := s.Projects(ctx, in.Archived == "true", page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleCreateProject(ctx context.Context, in *struct{ Body NewProject }) (*web.Tagged[Project], error) {
	p, err := s.CreateProject(ctx, in.Body)
	return web.Tag(p, p.Version).At(web.Prefix + "/projects/" + p.Key), err
}

// ProjectRef names a project in a path.
type ProjectRef struct {
	ID string `path:"id" maxLength:"64" doc:"The project's id or key." example:"WEB"`
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	p, err := s.UpdateProject(ctx, in.ID, in.Body, version)
	return web.Tag(p, p.Version), err
}

type bulkInput struct {
	Body struct {
		Tasks  []Name `json:"tasks" minItems:"1" maxItems:"200" doc:"Their ids or keys."`
		Change Change `json:"change"`
	}
}

// BulkResult is an Outcome as the API tells it.
type BulkResult struct {
	Outcome
	Status  int          `json:"status" doc:"What a request for this task alone would have been answered with."`
	Problem *BulkProblem `json:"problem" doc:"Why it was not changed; null when it was."`
}

// BulkProblem says why one task of many was not changed.
type BulkProblem struct {
	Code   string         `json:"code"`
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Errors []fault.Field  `json:"errors" nullable:"false"`
	Facts  map[string]any `json:"facts" doc:"Further members of the problem, such as blocking or claim."`
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
