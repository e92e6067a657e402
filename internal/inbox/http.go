package inbox

import (
	"context"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the inbox. All of them are for people: the detail of
// an item may quote one agent to whom another has no access.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/inbox", actor.UseInbox, "What needs a human, the most urgent first", s.handleList,
		web.Fails(ErrAssignee, page.ErrCursor), web.Describe(listText))
	web.Get(api, "/inbox/{id}", actor.UseInbox, "One item of the inbox", s.handleGet, web.Fails(ErrNotFound))
	web.Post(api, "/inbox/{id}/ack", actor.UseInbox, "Acknowledge an item", s.handleAck, web.Fails(ErrNotFound, ErrStale, ErrResolved),
		web.Describe("It stays in the list. Raised again it only counts, unless it has become worse: then it is open again. One that was put off comes back."))
	web.Post(api, "/inbox/{id}/snooze", actor.UseInbox, "Put an item off", s.handleSnooze, web.Fails(ErrNotFound, ErrStale, ErrResolved),
		web.Describe("It leaves the list until that time, at most 90 days from now, and then is open again. Raised meanwhile it only counts, unless it has become worse."))
	web.Post(api, "/inbox/{id}/assign", actor.UseInbox, "Say who sees to an item", s.handleAssign, web.Fails(ErrNotFound, ErrStale, ErrResolved, ErrAssignee),
		web.Describe("Somebody with an active account, who is no agent; null is nobody."))
	web.Post(api, "/inbox/{id}/resolve", actor.UseInbox, "Resolve an item", s.handleResolve, web.Fails(ErrNotFound, ErrStale),
		web.Describe("Should its cause come back, it opens again. Resolving what is resolved changes nothing."))
	web.Post(api, "/inbox/{id}/reopen", actor.UseInbox, "Open an item again", s.handleReopen, web.Fails(ErrNotFound, ErrStale),
		web.Describe("From every other state. Its count, and who sees to it, stay."))
}

const listText = `What has one cause is one item with a count. The most severe come first, and of those the one that has waited longest. An item resolves itself when its cause ends, and opens again when that comes back.

Without state it lists what waits for somebody: what is open or acknowledged. An item that becomes more severe while you turn pages may come twice or not at all; the others neither repeat nor go missing.`

type listInput struct {
	State    []State    `query:"state" enum:"open,acked,snoozed,resolved" doc:"Only in one of these states; without it open and acked."`
	Kind     []Kind     `query:"kind" enum:"escalation,standup_failed,standup_missed,old_blocker,job_missed,job_failed,dispatch_failed,run_stalled,task_blocked,gateway_trouble,pairing_pending" doc:"Only of one of these kinds."`
	Severity []Severity `query:"severity" enum:"urgent,high,medium,low" doc:"Only of one of these severities."`
	Assignee string     `query:"assignee" maxLength:"254" doc:"Only what this person sees to: a user's id or email, an agent_id, me, or none for what nobody does. Without the permission manage_accounts every email but your own finds nothing."`
	Sort     string     `query:"sort" enum:"rank,last,-last" default:"rank" doc:"The order: by severity and then the longest wait, or by when it was last raised; a minus turns it round."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Item], error) {
	f := Filter{States: in.State, Kinds: in.Kind, Severities: in.Severity, Assignee: in.Assignee}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// Ref names an item in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The item's id."`
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Item], error) {
	i, err := s.Get(ctx, in.ID)
	return web.Tag(i, i.Version), err
}

// Versioned names an item that is to change, and the version that is meant.
type Versioned struct {
	Ref
	web.IfMatch
}

// answer does something to the item, unless its If-Match is no ETag.
func (v Versioned) answer(do func(version *int64) (Item, error)) (*web.Tagged[Item], error) {
	version, err := v.Version()
	if err != nil {
		return nil, err
	}
	i, err := do(version)
	return web.Tag(i, i.Version), err
}

func (s *Service) handleAck(ctx context.Context, in *Versioned) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Ack(ctx, in.ID, version) })
}

type snoozeInput struct {
	Versioned
	Body struct {
		Until time.Time `json:"until" doc:"When it is to be open again: after now, and at most 90 days from now."`
	}
}

func (s *Service) handleSnooze(ctx context.Context, in *snoozeInput) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Snooze(ctx, in.ID, in.Body.Until, version) })
}

type assignInput struct {
	Versioned
	Body struct {
		Assignee *string `json:"assignee" minLength:"1" maxLength:"254" doc:"A user's id or email; null is nobody."`
	}
}

func (s *Service) handleAssign(ctx context.Context, in *assignInput) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Assign(ctx, in.ID, in.Body.Assignee, version) })
}

type resolveInput struct {
	Versioned
	Body *struct {
		Note string `json:"note,omitempty" maxLength:"1000" doc:"How, for those who look later."`
	} `required:"false"`
}

func (s *Service) handleResolve(ctx context.Context, in *resolveInput) (*web.Tagged[Item], error) {
	note := ""
	if in.Body != nil {
		note = in.Body.Note
	}
	return in.answer(func(version *int64) (Item, error) { return s.Resolve(ctx, in.ID, note, version) })
}

func (s *Service) handleReopen(ctx context.Context, in *Versioned) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Reopen(ctx, in.ID, version) })
}
