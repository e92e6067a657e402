package limit

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/web"
)

// Mount registers the routes for limits.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/limits", actor.Read, "List the limits", s.handleList,
		web.Describe("Returns each limit with the usage in its current period. Runs in progress are included; they are read within seconds of a model call."))
	web.Get(api, "/limits/{id}", actor.Read, "Get a limit", s.handleGet, web.Fails(ErrNotFound))
	web.Post(api, "/limits", actor.ManageLimits, "Create a limit", s.handleCreate, web.Status(http.StatusCreated),
		web.Once(), web.Fails(ErrTooMany, ErrNoRun),
		web.Describe("The limit applies to usage from now on; the current period counts from its beginning. At 80 percent of the amount, an inbox item warns. "+
			"When usage reaches the amount, the severity of the item rises, and the action follows: tell does no more; stop ends the runs in the scope, and each run that starts later after its first model call; hold also holds the agent. "+
			"Wardroom sees the cost of a model call after the call, so usage exceeds the amount slightly. Usage without a price does not count in dollars. A limit on one run is deleted when the run ends."))
	web.Post(api, "/limits/preview", actor.ManageLimits, "Test a limit on past usage", s.handlePreview,
		web.Describe("Returns how often usage would have reached the limit in the last 30 days, or whether the run has reached it if scope is run. Nothing is stored."))
	web.Patch(api, "/limits/{id}", actor.ManageLimits, "Change a limit", s.handleChange, web.Fails(ErrNotFound, ErrStale),
		web.Describe("A change never releases a held agent."))
	web.Delete(api, "/limits/{id}", actor.ManageLimits, "Delete a limit", s.handleDelete, web.Fails(ErrNotFound, ErrStale),
		web.Describe("Deleting a limit never releases a held agent."))
	web.Post(api, "/limits/{id}/allow", actor.ManageLimits, "Allow more in the current period", s.handleAllow,
		web.Fails(ErrNotFound, ErrNoPeriod),
		web.Describe("Adds an amount to the limit until its current period ends. For a limit on each run, the amount is added for the run that reached the limit last."))
}

// Schema implements huma.SchemaProvider.
func (ScopeKind) Schema(huma.Registry) *huma.Schema { return enum.Schema(ScopeKinds()) }

// Schema implements huma.SchemaProvider.
func (Measure) Schema(huma.Registry) *huma.Schema { return enum.Schema(Measures()) }

// Schema implements huma.SchemaProvider.
func (Window) Schema(huma.Registry) *huma.Schema { return enum.Schema(Windows()) }

// Schema implements huma.SchemaProvider.
func (Action) Schema(huma.Registry) *huma.Schema { return enum.Schema(Actions()) }

// Ref is the path parameter that identifies a limit.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The limit's ID."`
}

type limits struct {
	Body struct {
		Limits []Limit `json:"limits" nullable:"false"`
	}
}

func (s *Service) handleList(ctx context.Context, _ *struct{}) (*limits, error) {
	all, err := s.List(ctx)
	out := new(limits)
	out.Body.Limits = all
	return out, err
}

func tag(l Limit, err error) (*web.Tagged[Limit], error) { return web.Tag(l, l.Version), err }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Limit], error) {
	return tag(s.Get(ctx, in.ID))
}

type newInput struct{ Body New }

func (s *Service) handleCreate(ctx context.Context, in *newInput) (*web.Tagged[Limit], error) {
	return tag(s.Create(ctx, in.Body))
}

func (s *Service) handlePreview(ctx context.Context, in *newInput) (*struct{ Body Preview }, error) {
	p, err := s.Preview(ctx, in.Body)
	return &struct{ Body Preview }{p}, err
}

type changeInput struct {
	Ref
	web.IfMatch
	Body Change
}

func (s *Service) handleChange(ctx context.Context, in *changeInput) (*web.Tagged[Limit], error) {
	return tag(s.Change(ctx, in.ID, in.Body, in.Version()))
}

type deleteInput struct {
	Ref
	web.IfMatch
}

func (s *Service) handleDelete(ctx context.Context, in *deleteInput) (*struct{}, error) {
	return nil, s.Delete(ctx, in.ID, in.Version())
}

type allowInput struct {
	Ref
	Body struct {
		Amount string `json:"amount" maxLength:"22" pattern:"^[0-9.]+$" doc:"In the unit of the limit." example:"2"`
	}
}

func (s *Service) handleAllow(ctx context.Context, in *allowInput) (*web.Tagged[Limit], error) {
	return tag(s.Allow(ctx, in.ID, in.Body.Amount))
}
