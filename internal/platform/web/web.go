// Package web is the shared HTTP layer: typed routes with permissions, errors in
// one format, the OpenAPI document and the documentation page.
//
// A feature declares its routes in its http.go:
//
//	web.Patch(api, "/tasks/{id}", actor.ChangeTasks, "Change a task", s.handleUpdate,
//		web.Fails(ErrNotFound, ErrMove))
//
// A request passes these steps: request ID and headers, routing, authentication and
// permission, body (size, type, strict JSON), validation of the input's tags,
// handler. problem.go turns all errors into responses.
package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Prefix is the path prefix of the API. Routes are declared without it.
const Prefix = "/api/v1"

// Options configures an API. Zero fields get the defaults listed next to them.
type Options struct {
	Title       string
	Version     string
	Description string // description of the API in the OpenAPI document
	Log         *slog.Logger
	// Authenticate returns the actor to whom a bearer token belongs. For an invalid
	// or expired token it returns a fault of the kind Unauthenticated.
	Authenticate func(ctx context.Context, token string) (actor.Actor, error)
	// CORSOrigin is the origin whose pages may call the API from a browser, in the
	// form that browsers send. "*" allows any origin, and an empty string allows
	// none.
	CORSOrigin string
	// TrustedProxies are the proxies whose X-Forwarded-For header is used; see
	// ClientAddress. IPv4 prefixes must not be in the IPv4-mapped IPv6 form.
	TrustedProxies []netip.Prefix
	// BasePath is the path below which browsers and clients see Wardroom behind a proxy, such as
	// "/wardroom", without a slash at its end. Requests may have it or not, because some proxies
	// remove it. Empty means that Wardroom is at the root of its host.
	BasePath string
	// DB is the database of the handlers. While it is unavailable, the API responds to requests
	// that need it with 503, and logs them at debug level.
	DB *db.DB
	// Observe is called after each request, for metrics. It must not block.
	Observe        func(Observed)
	MaxBody        int64            // maximum size of a body in bytes; 1 MiB
	BodyTimeout    time.Duration    // time to receive a body; 15 s
	RequestTimeout time.Duration    // time for a handler without Waits; 30 s
	SendTimeout    time.Duration    // time for a client to receive one write of a stream; 10 s
	Now            func() time.Time // current time; time.Now
}

// Observed describes a finished request. It contains no text chosen by the client, so
// that metrics have few distinct values.
type Observed struct {
	Method string // "other" for a method that HTTP does not define
	Route  string // route pattern, "unmatched" or "preflight"; never the path
	Status int    // 499 if the client disconnected before the response
	Took   time.Duration
}

// API is a set of routes. Declare all of them before calling Handler.
type API struct {
	opts         Options
	huma         huma.API
	mux          *http.ServeMux
	namer        *namer
	routes       []*route
	faults       map[string]*fault.Error // documented faults, by code
	fixedSchemas map[*huma.Schema]bool   // see fixSchemas
	buffers      sync.Pool
	build        string      // see listETag
	headers      http.Header // of every response
	noStore      []string
	pack         func(http.Handler) http.HandlerFunc // see compressed
	page         func() (docsPage, error)
	openapi      func() []byte
	pages        http.HandlerFunc // nil if not set; see Pages
	running      atomic.Int64     // requests in progress
	unlisted     unlistedProxies
}

// New returns an API without feature routes. It serves its OpenAPI document at
// /api/v1/openapi.json and its documentation at /api/docs.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 15 * time.Second
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = requestTime
	}
	if o.SendTimeout == 0 {
		o.SendTimeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &API{
		opts: o, mux: http.NewServeMux(), namer: &namer{}, faults: map[string]*fault.Error{},
		fixedSchemas: map[*huma.Schema]bool{}, build: o.Version + build(), headers: usualHeaders(),
		noStore: []string{"no-store"}, pack: newCompressor(),
	}
	a.buffers.New = newBuffer
	a.huma = huma.NewAPI(a.config(), adapter{a})
	// Every operation refers to an error schema. Problem replaces huma's own, which no
	// response uses.
	a.huma.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	for _, f := range commonFaults() {
		a.faults[f.Code] = f
	}
	a.openapi = sync.OnceValue(a.Document)
	a.page = sync.OnceValues(a.renderDocs)
	a.Raw("GET "+Prefix+"/openapi.json", actor.Public, a.compressed(a.serveDocument))
	a.Raw("GET "+docsPath, actor.Public, a.compressed(a.serveDocs))
	return a
}

// usualHeaders returns the headers that every response has. The names are in
// canonical form, so net/http does not have to convert them.
func usualHeaders() http.Header {
	return http.Header{
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"no-referrer"},
		// For responses opened in a browser. Pages that need more override it.
		"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	}
}

// config returns a huma configuration. It turns off huma's own pages, $schema links
// and formats.
func (a *API) config() huma.Config {
	format := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	// convertError has already written the problem.
	written := huma.Format{Marshal: func(io.Writer, any) error { return nil }, Unmarshal: unmarshal}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: a.opts.Title, Version: a.opts.Version, Description: a.opts.Description},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry("#/components/schemas/", a.namer.name),
				Responses: map[string]*huma.Response{},
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {
						Type: "http", Scheme: "bearer",
						Description: "A token from the login, or an API key. Behind a proxy that uses the Authorization header itself, send it in " + tokenHeader + " instead, without the word Bearer.",
					},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "application/problem+json": written},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{convertError},
	}
}

// Get declares a route that reads data. The route also supports HEAD. Get and the other functions
// that declare routes panic if the declaration is invalid, for example because it names an unknown
// permission.
func Get[I, O any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option,
) {
	register(a, http.MethodGet, path, p, summary, h, opts)
}

// Post declares a route that creates a resource or performs an action. A successful
// response has the status 200, or 204 if O has no Body. The option Status changes it.
func Post[I, O any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option,
) {
	register(a, http.MethodPost, path, p, summary, h, opts)
}

// Put declares a route that replaces a resource.
func Put[I, O any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option,
) {
	register(a, http.MethodPut, path, p, summary, h, opts)
}

// Patch declares a route that updates parts of a resource; see package patch.
func Patch[I, O any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option,
) {
	register(a, http.MethodPatch, path, p, summary, h, opts)
}

// Delete declares a route that removes a resource.
func Delete[I, O any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option,
) {
	register(a, http.MethodDelete, path, p, summary, h, opts)
}

// Option configures a route.
type Option func(*route)

// Status sets the status of a successful response.
func Status(code int) Option { return func(r *route) { r.status = code } }

// Also documents additional response statuses: error statuses, and success statuses that the
// handler sets with a Status field. For errors that are declared as faults, use Fails.
func Also(codes ...int) Option { return func(r *route) { r.also = append(r.also, codes...) } }

// Fails documents the faults that the handler returns, with their codes and titles.
func Fails(faults ...*fault.Error) Option {
	return func(r *route) { r.fails = append(r.fails, faults...) }
}

// Describe sets the description of the route. Blank lines separate paragraphs.
func Describe(text string) Option { return func(r *route) { r.describe = text } }

// Root declares a route whose path does not start with Prefix, such as /health.
func Root() Option { return func(r *route) { r.root = true } }

// Quiet makes the API log successful requests at debug level. Use it for routes that
// are polled often.
func Quiet() Option { return func(r *route) { r.quiet = true } }

// Waits sets the handler's time limit, which replaces Options.RequestTimeout. The
// handler should also stop waiting when Stopping is closed.
func Waits(limit time.Duration) Option { return func(r *route) { r.Limit = limit } }

// Asks extends the time limit of a handler that calls another service, such as the agent runtime.
// The new limit is enough for the given number of calls, each taking no longer than patience. Even
// if a call times out, the handler then has time to report that and to record what was done.
func Asks(times int, patience time.Duration) Option {
	return Waits(requestTime + time.Duration(times)*patience)
}

// Route describes a served route and who may call it.
type Route struct {
	Method     string
	Path       string
	Permission actor.Permission
	Limit      time.Duration // time for the handler; zero means Options.RequestTimeout
}

// route is a declared route with its options.
type route struct {
	Route
	summary  string
	describe string
	status   int
	also     []int
	fails    []*fault.Error
	root     bool
	quiet    bool
	once     bool
	plain    bool                                  // responses are never compressed
	mark     func(context.Context) (string, error) // see Unchanged
	query    map[string]*huma.Param                // query parameters, by name
	op       *huma.Operation                       // nil for a raw route
}

// register registers a route with huma, the mux and the OpenAPI document.
func register[I, O any](
	a *API, method, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error),
	opts []Option,
) {
	r := a.newRoute(method, path, p, opts)
	r.summary = summary
	if holdsSecret(reflect.TypeFor[O](), map[reflect.Type]bool{}) {
		r.plain = true
		if r.once {
			panic(fmt.Sprintf("web: %s %s: its response contains a secret, which a retry would repeat", r.Method, r.Path))
		}
	}
	checkParameters(r, reflect.TypeFor[I]())
	a.namer.scope(reflect.TypeFor[I](), reflect.TypeFor[O]())
	out := shapeOf(r, reflect.TypeFor[O]())
	huma.Register(a.huma, r.operation(), func(ctx context.Context, in *I) (*O, error) {
		x := from(ctx)
		if len(x.refused) > 0 {
			x.fail(x.refused.Err())
			return nil, nil
		}
		ctx, repeat, err := x.repeatable(ctx)
		if m, ok := any(in).(interface{ parse() error }); ok && err == nil {
			err = m.parse()
		}
		if err != nil {
			x.fail(err)
			return nil, nil
		}
		o, err := h(ctx, in)
		setReplayed(x.w.Header(), repeat)
		switch {
		case err != nil:
			x.fail(err)
		case out.stream:
			return o, nil
		case o == nil && out.body != nil:
			x.fail(fmt.Errorf("%s %s returned neither an output nor an error", method, path))
		default:
			x.answer(out, o)
		}
		return nil, nil // already written; see call
	})
	a.fixSchemas(r, reflect.TypeFor[I](), reflect.TypeFor[O]())
	a.document(r)
}

// newRoute creates a route and validates its declaration.
func (a *API) newRoute(method, path string, p actor.Permission, opts []Option) *route {
	r := &route{Route: Route{Method: method, Path: path, Permission: p}}
	for _, o := range opts {
		o(r)
	}
	switch {
	case !p.Valid():
		panic(fmt.Sprintf("web: %s %s: %q is not a permission", method, path, p))
	case p != actor.Public && a.opts.Authenticate == nil:
		panic(fmt.Sprintf("web: %s %s needs Options.Authenticate", method, path))
	case !strings.HasPrefix(path, "/"):
		panic(fmt.Sprintf("web: %s %s: the path must start with /", method, path))
	}
	if !r.root {
		r.Path = Prefix + path
	}
	a.routes = append(a.routes, r)
	return r
}

// operation returns the huma operation for the route.
func (r *route) operation() huma.Operation {
	op := huma.Operation{
		Method:        r.Method,
		Path:          r.Path,
		OperationID:   operationID(r.Method, strings.TrimPrefix(r.Path, Prefix)),
		Summary:       r.summary,
		Description:   r.describe,
		DefaultStatus: r.status,
		Tags:          []string{tag(strings.TrimPrefix(r.Path, Prefix))},
		Metadata:      map[string]any{"route": r},
		Extensions:    map[string]any{"x-permission": string(r.Permission)},
		MaxBodyBytes:  -1, // limited in body.go
	}
	if r.Permission != actor.Public {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	return op
}

// operationID returns an ID that changes only if the route's method or path changes,
// such as "post-tasks-by-id-claim".
func operationID(method, path string) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(method))
	for s := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			s = "by-" + strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")
		}
		id.WriteString("-" + strings.ReplaceAll(s, "_", "-"))
	}
	return id.String()
}

// tag returns the first segment of the path.
func tag(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// adapter implements huma.Adapter with the API's mux. It runs the API's own checks
// before each operation.
type adapter struct{ *API }

// Handle implements huma.Adapter.
func (a adapter) Handle(op *huma.Operation, next func(huma.Context)) {
	r, ok := op.Metadata["route"].(*route)
	if !ok {
		panic("web: " + op.Path + " was not declared through this package")
	}
	r.op = op
	h := func(w http.ResponseWriter, req *http.Request) {
		x := from(req.Context())
		done, err := x.enter(req, r)
		defer done()
		if err != nil {
			x.fail(err)
			return
		}
		if x.notModified() {
			return
		}
		next(call{inner: humago.NewContext(op, x.r, w), x: x})
	}
	if !r.plain {
		h = a.compressed(h)
	}
	a.mux.HandleFunc(r.Method+" "+r.Path, h)
}

func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.serve(w, r, a.mux) }

// Raw declares a route, such as "GET /{$}", whose handler writes the response itself.
// It is listed in Routes but not in the OpenAPI document; permissions, limits, logs
// and headers work as for other routes. The handler reports errors with Fail.
func (a *API) Raw(pattern string, p actor.Permission, h http.Handler, opts ...Option) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		panic("web: " + pattern + " has no method")
	}
	if path == "/" || (strings.HasPrefix(path, "/api") && strings.HasSuffix(path, "/")) {
		// It would match every unknown path, and 405 would become 404.
		panic("web: " + pattern + " would match unknown paths of the API")
	}
	r := a.newRoute(method, path, p, append([]Option{Root()}, opts...))
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		x := from(req.Context())
		done, err := x.enter(req, r)
		defer done()
		if err == nil {
			err = x.rawBody()
		}
		if err != nil {
			x.fail(err)
			return
		}
		h.ServeHTTP(w, x.r)
	})
}

// Handler returns a handler that serves all declared routes.
func (a *API) Handler() http.Handler {
	routes := a.withCORS(a.mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(w, a.withoutBase(r), routes) })
}

// InFlight returns the number of requests in progress.
func (a *API) InFlight() int64 { return a.running.Load() }

// Routes returns all routes, sorted by path and method.
func (a *API) Routes() []Route {
	rs := make([]Route, 0, len(a.routes))
	for _, r := range a.routes {
		rs = append(rs, r.Route)
	}
	slices.SortFunc(rs, func(x, y Route) int {
		if c := strings.Compare(x.Path, y.Path); c != 0 {
			return c
		}
		return strings.Compare(x.Method, y.Method)
	})
	return rs
}
