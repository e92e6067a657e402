package inbox

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes for the inbox. They require the permission use_inbox, because an
// item's detail may quote text by one agent that other agents must not read.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/inbox", actor.UseInbox, "List inbox items, most urgent first", s.handleList,
		web.Fails(ErrAssignee, page.ErrCursor), web.Describe(listText))
	web.Get(api, "/inbox/{id}", actor.UseInbox, "Get an inbox item", s.handleGet, web.Fails(ErrNotFound))
	web.Post(api, "/inbox/{id}/ack", actor.UseInbox, "Acknowledge an item", s.handleAck,
		web.Fails(ErrNotFound, ErrStale, ErrResolved),
		web.Describe("The item stays in the list. If it is raised again, only its count increases. If its severity also rises, it reopens. Acknowledging a snoozed item returns it to the list."))
	web.Post(api, "/inbox/{id}/snooze", actor.UseInbox, "Snooze an item", s.handleSnooze,
		web.Fails(ErrNotFound, ErrStale, ErrResolved),
		web.Describe("The item leaves the list until the given time, at most 90 days from now, and then reopens. If it is raised before then, only its count increases. If its severity also rises, it reopens at once."))
	web.Post(api, "/inbox/{id}/assign", actor.UseInbox, "Assign an item", s.handleAssign,
		web.Fails(ErrNotFound, ErrStale, ErrResolved, ErrAssignee),
		web.Describe("The assignee must be a person with an active account; null unassigns the item."))
	web.Post(api, "/inbox/{id}/resolve", actor.UseInbox, "Resolve an item", s.handleResolve,
		web.Fails(ErrNotFound, ErrStale),
		web.Describe("The item reopens if its cause recurs. Resolving a resolved item has no effect."))
	web.Post(api, "/inbox/{id}/reopen", actor.UseInbox, "Reopen an item", s.handleReopen, web.Fails(ErrNotFound, ErrStale),
		web.Describe("Works from any state. The count and the assignee are kept."))
}

const listText = `The inbox has one item for each cause, with a count. The most severe items come first, then those that have waited longest. Wardroom resolves an item when its cause ends and reopens it if the cause recurs.

Without the parameter state, the list contains the items that are open or acknowledged. An item whose severity rises while you page may appear twice or not at all; all other items appear exactly once.`

// Schema implements huma.SchemaProvider.
func (Kind) Schema(huma.Registry) *huma.Schema { return enum.Schema(Kinds()) }

// Schema implements huma.SchemaProvider.
func (Severity) Schema(huma.Registry) *huma.Schema { return enum.Schema(Severities()) }

// Schema implements huma.SchemaProvider.
func (State) Schema(huma.Registry) *huma.Schema { return enum.Schema(States()) }

type listInput struct {
	State    []State    `query:"state" doc:"Items in any of these states. Default: open and acked."`
	Kind     []Kind     `query:"kind" doc:"Items of any of these kinds."`
	Severity []Severity `query:"severity" doc:"Items with any of these severities."`
	Assignee string     `query:"assignee" maxLength:"254" doc:"Items assigned to this user: an ID, an email, an agent_id, 'me', or 'none'. Without the manage_accounts permission, only your own email matches."`
	NeedsMe  bool       `query:"needs_me" doc:"Only the items that need you: those assigned to you, and the unassigned ones that are not acknowledged. The dashboard counts these in its badge."`
	Sort     string     `query:"sort" enum:"rank,last,-last" default:"rank" doc:"rank: repeating runs first, then by severity, then longest wait. last: by when the item was last raised; a minus reverses the order."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Item], error) {
	f := Filter{States: in.State, Kinds: in.Kind, Severities: in.Severity, Assignee: in.Assignee, NeedsMe: in.NeedsMe}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// Ref is the path parameter that identifies an item.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The item's ID."`
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Item], error) {
	i, err := s.Get(ctx, in.ID)
	return web.Tag(i, i.Version), err
}

// Versioned identifies the item to change and its expected version.
type Versioned struct {
	Ref
	web.IfMatch
}

// answer calls do with the version from the If-Match header and returns the resulting item.
func (v Versioned) answer(do func(version *int64) (Item, error)) (*web.Tagged[Item], error) {
	i, err := do(v.Version())
	return web.Tag(i, i.Version), err
}

func (s *Service) handleAck(ctx context.Context, in *Versioned) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Ack(ctx, in.ID, version) })
}

type snoozeInput struct {
	Versioned
	Body struct {
		Until time.Time `json:"until" doc:"When the item reopens: in the future, at most 90 days from now."`
	}
}

func (s *Service) handleSnooze(ctx context.Context, in *snoozeInput) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Snooze(ctx, in.ID, in.Body.Until, version) })
}

type assignInput struct {
	Versioned
	Body struct {
		Assignee *string `json:"assignee" minLength:"1" maxLength:"254" doc:"A user's ID or email; null unassigns the item."`
	}
}

func (s *Service) handleAssign(ctx context.Context, in *assignInput) (*web.Tagged[Item], error) {
	return in.answer(func(version *int64) (Item, error) { return s.Assign(ctx, in.ID, in.Body.Assignee, version) })
}

type resolveInput struct {
	Versioned
	Body *struct {
		Note string `json:"note,omitempty" maxLength:"1000" doc:"How the item was resolved."`
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
