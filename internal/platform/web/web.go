// Package web is the HTTP edge that every feature shares: routes that state
// who may call them, typed inputs and outputs, problems in one shape, and the
// document and page that describe all of it.
//
// A feature declares its routes in its http.go:
//
//	web.Patch(api, "/tasks/{id}", actor.ChangeTasks, "Change a task", s.handleUpdate,
//		web.Fails(ErrNotFound, ErrMove))
//
// Requests go: request id and headers → route → caller and permission → body
// (size, type, strict JSON) → limits of the input's tags → handler. Whatever
// goes wrong on the way is answered in problem.go, and nowhere else.
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
	"wardroom/internal/platform/fault"
)

// Prefix is where the API lives. Routes are declared without it.
const Prefix = "/api/v1"

// Options is what an API needs from the program. Zero fields get the defaults
// that are named beside them.
type Options struct {
	Title       string
	Version     string
	Description string // what the service is, in a few sentences, for the document
	Log         *slog.Logger
	// Authenticate finds out who a Bearer token belongs to. It returns a fault
	// of kind Unauthenticated for a token that is not good (any more).
	Authenticate func(ctx context.Context, token string) (actor.Actor, error)
	// CORSOrigin is the origin whose pages may call from a browser, as browsers
	// write it, or "*" for any page; empty for none.
	CORSOrigin string
	// TrustedProxies are those whose X-Forwarded-For is believed; see ClientAddress.
	// IPv4 is not to be written as IPv6.
	TrustedProxies []netip.Prefix
	// Away tells whether an error, which is no fault, says that the database
	// cannot be used at the moment. Such are answered with 503, and logged by
	// whoever is asked: here only at debug.
	Away func(error) bool
	// Observe is told of each request once it is answered, for metrics. It must
	// not block.
	Observe        func(Observed)
	MaxBody        int64            // bytes; 1 MiB
	BodyTimeout    time.Duration    // how long a caller may take to send a body; 15 s
	RequestTimeout time.Duration    // how long a handler may take, unless Waits; 30 s
	SendTimeout    time.Duration    // how long the caller of a Stream may take for what is sent at once; 10 s
	Now            func() time.Time // time.Now
}

// Observed is a request that was answered. None of it is the caller's own text,
// so that there are few different ones.
type Observed struct {
	Method string // or "other", when it is none that HTTP knows
	Route  string // the pattern, "unmatched" or "preflight"; never the path
	Status int    // 499 when the caller left before the answer
	Took   time.Duration
}

// API is a set of routes. Declare all of them before Handler is called.
type API struct {
	opts    Options
	huma    huma.API
	mux     *http.ServeMux
	namer   *namer
	routes  []*route
	faults  map[string]*fault.Error // documented, by code
	mended  map[*huma.Schema]bool   // see finish
	buffers sync.Pool
	build   string      // see tagOf
	headers http.Header // of every answer
	noStore []string
	pack    func(http.Handler) http.HandlerFunc // see compressed
	page    func() (docsPage, error)
	openapi func() []byte
	pages   http.HandlerFunc // nil when there are none; see Pages
	running atomic.Int64     // requests that are being answered
}

// New returns an API without routes of features; it has its document at
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
	a := &API{opts: o, mux: http.NewServeMux(), namer: &namer{}, faults: map[string]*fault.Error{}, mended: map[*huma.Schema]bool{}, build: o.Version + build(), headers: usualHeaders(), noStore: []string{"no-store"}, pack: newCompressor()}
	a.buffers.New = newBuffer
	a.huma = huma.NewAPI(a.config(), adapter{a})
	// Every operation refers to an error's schema. Ours stands in for huma's, which
	// would be in the document although no answer has its shape.
	a.huma.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	for _, f := range edgeFaults() {
		a.faults[f.Code] = f
	}
	a.openapi = sync.OnceValue(a.Document)
	a.page = sync.OnceValues(a.renderDocs)
	a.Raw("GET "+Prefix+"/openapi.json", actor.Public, a.compressed(a.serveDocument))
	a.Raw("GET "+docsPath, actor.Public, a.compressed(a.serveDocs))
	return a
}

// usualHeaders are on every answer. Their names are written as net/http writes
// them, which then need not look at each.
func usualHeaders() http.Header {
	return http.Header{
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"no-referrer"},
		// For whoever opens an answer in a browser. Pages that need more say so.
		"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	}
}

// config is huma without its own pages, its $schema links and its formats.
func (a *API) config() huma.Config {
	format := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	// What huma would write of a problem is out already; see refuse.
	written := huma.Format{Marshal: func(io.Writer, any) error { return nil }, Unmarshal: unmarshal}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: a.opts.Title, Version: a.opts.Version, Description: a.opts.Description},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry("#/components/schemas/", a.namer.name),
				Responses: map[string]*huma.Response{},
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "A token from the login, or an API key."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "application/problem+json": written},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{refuse},
	}
}

// Get declares a route that reads. HEAD works too. A route whose permission is
// not in actor's table is a programming error and panics, as do all mistakes
// in a declaration.
func Get[I, O any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option) {
	register(a, http.MethodGet, path, p, summary, h, opts)
}

// Post declares a route that makes or does something. It answers 200, or 204
// when O has no Body, unless Status says otherwise.
func Post[I, O any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option) {
	register(a, http.MethodPost, path, p, summary, h, opts)
}

// Put declares a route that stores a whole resource.
func Put[I, O any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option) {
	register(a, http.MethodPut, path, p, summary, h, opts)
}

// Patch declares a route that changes parts of a resource; see package patch.
func Patch[I, O any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option) {
	register(a, http.MethodPatch, path, p, summary, h, opts)
}

// Delete declares a route that removes something.
func Delete[I, O any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts ...Option) {
	register(a, http.MethodDelete, path, p, summary, h, opts)
}

// Option says something more of a route.
type Option func(*route)

// Status is what the route answers when all went well.
func Status(code int) Option { return func(r *route) { r.status = code } }

// Also documents further statuses: problems, or successes that the handler
// chooses with a Status field. Prefer Fails where there is a named failure.
func Also(codes ...int) Option { return func(r *route) { r.also = append(r.also, codes...) } }

// Fails documents the named failures that the handler returns, with their
// codes and titles.
func Fails(faults ...*fault.Error) Option {
	return func(r *route) { r.fails = append(r.fails, faults...) }
}

// Describe explains the route beyond its summary. Blank lines part paragraphs.
func Describe(text string) Option { return func(r *route) { r.describe = text } }

// Root keeps the path as it is, without Prefix, such as /health.
func Root() Option { return func(r *route) { r.root = true } }

// Quiet logs the route's successes at debug, for what is asked every few seconds.
func Quiet() Option { return func(r *route) { r.quiet = true } }

// Waits lets the handler take up to limit instead of RequestTimeout. It should
// also end its wait when Stopping is closed.
func Waits(limit time.Duration) Option { return func(r *route) { r.Limit = limit } }

// Asks is for a handler that asks somebody else, such as the agent runtime, so
// many times one after the other, and waits for each answer up to patience. It
// may take so much longer than others: else it would be cut off before it can say
// which answer did not come, and note what was done.
func Asks(times int, patience time.Duration) Option {
	return Waits(requestTime + time.Duration(times)*patience)
}

// Route tells what is served to whom.
type Route struct {
	Method     string
	Path       string
	Permission actor.Permission
	Limit      time.Duration // how long its handler may take; zero is Options.RequestTimeout
}

// route is one declared route and all that is said of it.
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
	plain    bool                                  // its answers are never compressed
	mark     func(context.Context) (string, error) // see Unchanged
	query    map[string]*huma.Param                // the parameters in the query, by name
	op       *huma.Operation                       // nil for a raw route
}

// register declares one route to huma, the mux and the document.
func register[I, O any](a *API, method, path string, p actor.Permission, summary string, h func(context.Context, *I) (*O, error), opts []Option) {
	r := a.newRoute(method, path, p, opts)
	r.summary = summary
	if holdsSecret(reflect.TypeFor[O](), map[reflect.Type]bool{}) {
		r.plain = true
		if r.once {
			panic(fmt.Sprintf("web: %s %s: its answer holds a secret, and would be repeated", r.Method, r.Path))
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
		if err != nil {
			x.fail(err)
			return nil, nil
		}
		o, err := h(ctx, in)
		tellReplayed(x.w.Header(), repeat)
		switch {
		case err != nil:
			x.fail(err)
		case out.stream:
			return o, nil
		case o == nil && out.body != nil:
			x.fail(fmt.Errorf("%s %s answered neither an output nor an error", method, path))
		default:
			x.answer(out, o)
		}
		return nil, nil // written; see call
	})
	a.finish(r, reflect.TypeFor[I](), reflect.TypeFor[O]())
	a.document(r)
}

// newRoute checks what was declared.
func (a *API) newRoute(method, path string, p actor.Permission, opts []Option) *route {
	r := &route{Route: Route{Method: method, Path: path, Permission: p}}
	for _, o := range opts {
		o(r)
	}
	switch {
	case !p.Valid():
		panic(fmt.Sprintf("web: %s %s: %q is no permission", method, path, p))
	case p != actor.Public && a.opts.Authenticate == nil:
		panic(fmt.Sprintf("web: %s %s needs Options.Authenticate", method, path))
	case !strings.HasPrefix(path, "/"):
		panic(fmt.Sprintf("web: %s %s: the path begins with /", method, path))
	}
	if !r.root {
		r.Path = Prefix + path
	}
	a.routes = append(a.routes, r)
	return r
}

// operation is what huma needs to know of the route.
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
		MaxBodyBytes:  -1, // body.go limits it
	}
	if r.Permission != actor.Public {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	return op
}

// operationID is stable as long as the route is: "post-tasks-by-id-claim".
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

// tag is the first segment of the path.
func tag(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// adapter lets huma declare its operations on our mux, behind our own checks.
type adapter struct{ *API }

// Handle is called by huma.Register.
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
		if x.same() {
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

// Raw declares a route whose answers are not JSON, such as "GET /{$}". It is
// in Routes but not in the document; everything else (permission, limits, log,
// headers) is as for the others. Its handler reports failures with Fail.
func (a *API) Raw(pattern string, p actor.Permission, h http.Handler, opts ...Option) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		panic("web: " + pattern + " has no method")
	}
	if path == "/" || (strings.HasPrefix(path, "/api") && strings.HasSuffix(path, "/")) {
		// It would take every unknown path, and 405 would become 404.
		panic("web: " + pattern + " would answer unknown paths of the API")
	}
	r := a.newRoute(method, path, p, append([]Option{Root()}, opts...))
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		x := from(req.Context())
		done, err := x.enter(req, r)
		defer done()
		if err != nil {
			x.fail(err)
			return
		}
		h.ServeHTTP(w, x.r)
	})
}

// Handler serves every route that was declared.
func (a *API) Handler() http.Handler {
	routes := a.shareAcross(a.mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, routes) })
}

// InFlight is how many requests are being answered now.
func (a *API) InFlight() int64 { return a.running.Load() }

// Routes lists what is served to whom, by path and method.
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
