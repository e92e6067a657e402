package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// exchange is one request and its answer, from the first header to the line in
// the log.
type exchange struct {
	api      *API
	w        *responder
	r        *http.Request
	whole    context.Context // of the request, without the limit of its handler
	id       string
	address  netip.Addr // of the caller; see ClientAddress
	route    *route     // nil until one matched
	caller   actor.Actor
	tag      string        // of the list that is asked for, when its route is Unchanged
	query    url.Values    // nil when there is none
	body     *bytes.Buffer // the request's, when the route reads one
	refused  fault.Fields  // what the strict reading of query and body refused
	answered bool          // whether we wrote the answer, and huma must not
	status   int           // for the log, when it is not what was sent
	err      error         // for the log
	stack    []byte        // of a panic
	damped   bool          // whether somebody else logs what was wrong, once for all requests
}

type exchangeKey struct{}

func from(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID is the id of the request that ctx belongs to, or empty. It is in
// the answer's X-Request-Id, in problems and in the log.
func RequestID(ctx context.Context) string {
	if x := from(ctx); x != nil {
		return x.id
	}
	return ""
}

// serve answers one request by routes and logs one line about it.
func (a *API) serve(w http.ResponseWriter, r *http.Request, routes http.Handler) {
	start := a.opts.Now()
	x := &exchange{api: a, id: requestID(r.Header.Get("X-Request-Id"))}
	x.address = clientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), a.opts.TrustedProxies)
	x.w = &responder{ResponseWriter: w, x: x}
	x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	a.running.Add(1)
	defer a.running.Add(-1)
	defer x.end(start)
	h := w.Header()
	maps.Copy(h, a.headers)
	h["X-Request-Id"] = []string{x.id}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h["Cache-Control"] = a.noStore
	}
	if r.ContentLength != 0 {
		// Also for bodies that nobody reads: the server drains them. A recorder
		// in a test has no deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.opts.BodyTimeout))
	}
	routes.ServeHTTP(x.w, x.r)
	if x.route == nil && x.w.missed != 0 {
		x.miss()
	}
}

// requestID keeps the caller's id when it is safe to log, else makes one.
func requestID(given string) string {
	if given == "" || len(given) > 64 {
		return rand.Text()
	}
	for i := range len(given) {
		c := given[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return rand.Text()
		}
	}
	return given
}

// end is deferred: it turns a panic into a 500 and writes the line of the log.
func (x *exchange) end(start time.Time) {
	v := recover()
	err, _ := v.(error)
	cut := errors.Is(err, http.ErrAbortHandler)
	if v != nil && !cut {
		x.stack = debug.Stack()
		err = fmt.Errorf("panic: %v", v)
		// Half an answer is out: the caller must see that it is not whole.
		cut = x.w.status != 0
		x.fail(err)
	}
	x.log(start)
	if x.body != nil {
		x.api.putBuffer(x.body)
	}
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// knownMethod keeps callers from making up methods to be counted under.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// log tells the metrics, and writes the one line that each request leaves.
func (x *exchange) log(start time.Time) {
	status := x.w.status
	if x.status != 0 {
		status = x.status
	} else if status == 0 {
		status = http.StatusOK
	}
	level, path := slog.LevelInfo, "unmatched"
	if x.route == nil && status == http.StatusNoContent {
		level, path = slog.LevelDebug, "preflight" // see cors.go; the request itself follows
	}
	if x.route != nil {
		path = x.route.Path
		if x.route.quiet && status < http.StatusBadRequest {
			level = slog.LevelDebug
		}
	}
	took := x.api.opts.Now().Sub(start)
	if observe := x.api.opts.Observe; observe != nil {
		observe(Observed{Method: knownMethod(x.r.Method), Route: path, Status: status, Took: took})
	}
	switch {
	case x.stack != nil || status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.damped:
		level = slog.LevelDebug
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn // something we depend on is away or slow
	}
	ctx := x.r.Context()
	if !x.api.opts.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("method", x.r.Method), slog.String("route", path),
		slog.Int("status", status), slog.Duration("duration", took),
		slog.String("request_id", x.id))
	if x.address.IsValid() {
		attrs = append(attrs, slog.String("address", x.address.String()))
	}
	if x.caller.Known() {
		attrs = append(attrs, slog.String("actor", x.caller.ID))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("err", x.err.Error()))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String("stack", string(x.stack)))
	}
	x.api.opts.Log.LogAttrs(ctx, level, "request", attrs...)
}

// enter does for r everything that comes before its handler. The caller defers
// done whatever the error.
func (x *exchange) enter(req *http.Request, r *route) (done func(), err error) {
	x.route, x.whole = r, req.Context()
	limit := x.api.opts.RequestTimeout
	if r.Limit > 0 {
		limit = r.Limit
	}
	if limit > requestTime {
		// The server's own deadline would come before the answer.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(limit + takeTime))
	}
	ctx, done := context.WithTimeout(actor.Through(req.Context(), actor.Origin{Via: actor.ViaAPI, Address: x.address}), limit)
	if r.Permission != actor.Public {
		caller, err := x.authenticate(ctx)
		if err != nil {
			x.r = req.WithContext(ctx)
			return done, err
		}
		x.caller = caller
		ctx = actor.With(ctx, caller)
	}
	x.r = req.WithContext(ctx)
	if r.mark != nil {
		mark, err := r.mark(ctx)
		if err != nil {
			return done, err
		}
		if x.tag = x.tagOf(mark); x.held(x.tag, false) != "" {
			return done, nil // there is nothing more to look at; see same
		}
	}
	if x.query, err = readURL(req.URL); err != nil {
		return done, err
	}
	if r.op == nil {
		return done, nil
	}
	x.checkQuery()
	return done, x.readBody()
}

// readURL reads the query, and refuses what is no text: PostgreSQL would fail
// on it instead of finding nothing.
func readURL(u *url.URL) (url.Values, error) {
	if !isText(u.Path) {
		return nil, errURL
	}
	if u.RawQuery == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errURL
	}
	for k, vs := range q {
		if !isText(k) || !isText(strings.Join(vs, "")) {
			return nil, errURL
		}
	}
	return q, nil
}

// checkQuery refuses parameters that the route does not have, and those that
// are given twice and have one value: whoever misspells a filter must not be
// answered the whole list, nor another than they think. A list of values may be
// parted by commas, given one by one, or both.
func (x *exchange) checkQuery() {
	if len(x.query) == 0 {
		return
	}
	known := x.route.query
	for _, name := range slices.Sorted(maps.Keys(x.query)) {
		p, values := known[name], x.query[name]
		switch {
		case len(x.refused) >= maxFields:
			return
		case p == nil && len(known) == 0:
			x.refused.Add("query."+brief(name), "There is no such parameter; this address takes none.")
		case p == nil:
			x.refused.Add("query."+brief(name), "There is no such parameter. This address knows %s.", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case len(values) > 1 && p.Schema.Type == huma.TypeArray:
			x.query[name] = []string{strings.Join(values, ",")} // which huma takes apart
		case len(values) > 1:
			x.refused.Add("query."+name, "Give it once.")
		}
	}
}

// brief keeps a name that a caller made up from filling the answer.
func brief(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// authenticate finds out who is calling and whether they may.
func (x *exchange) authenticate(ctx context.Context) (actor.Actor, error) {
	token, ok := bearer(x.r.Header.Get("Authorization"))
	if !ok {
		return actor.Actor{}, errSignIn
	}
	caller, err := x.api.opts.Authenticate(ctx, token)
	if err != nil {
		if f := fault.Of(err); f != nil && f.Kind == fault.Unauthenticated {
			x.w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		}
		return actor.Actor{}, err
	}
	if !caller.Known() {
		return actor.Actor{}, errors.New("authenticate: no error and nobody")
	}
	if !caller.Role.May(x.route.Permission) {
		x.caller = caller // they are known, so the log may say who tried
		return actor.Actor{}, errForbidden.With("This needs the role %s; yours is %s.",
			orList(x.route.Permission.Holders()), caller.Role)
	}
	return caller, nil
}

// bearer takes the token out of an Authorization header.
func bearer(header string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func orList(roles []actor.Role) string {
	var b strings.Builder
	for i, r := range roles {
		switch {
		case i == 0:
		case i == len(roles)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(r))
	}
	return b.String()
}

// responder is the ResponseWriter of an exchange. It remembers the status, and
// keeps back the mux's own answers, which become problems.
type responder struct {
	http.ResponseWriter
	x      *exchange
	status int // 0 until the header is out
	missed int // what the mux said when no route matched
}

// WriteHeader sends the header, unless it is the mux that complains, or sends
// the caller to another path: of one with "//" or "..", which is no address of
// ours, it would say so in HTML.
func (w *responder) WriteHeader(status int) {
	if w.x.route == nil && !w.x.answered && status >= http.StatusMultipleChoices {
		w.missed = status
		w.Header().Del("Location")
		return
	}
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responder) Write(b []byte) (int, error) {
	if w.missed != 0 && !w.x.answered {
		return len(b), nil
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController: flushing, deadlines.
func (w *responder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// call is huma's view of an exchange. What we answered, huma must not answer
// again; what we read and checked, it reads from us.
type call struct {
	inner // a Context would hide the method of that name
	x     *exchange
}

type inner = huma.Context

// Unwrap is for humago.Unwrap.
func (c call) Unwrap() huma.Context { return c.inner }

// Query reads a parameter as net/url does: to huma a name without a value is
// true, unless another parameter follows it.
func (c call) Query(name string) string { return c.x.query.Get(name) }

// Header hides what was checked already, so that JSON is all that huma sees.
func (c call) Header(name string) string {
	switch name {
	case "Content-Type", "Accept":
		return ""
	}
	return c.inner.Header(name)
}

// BodyReader reads what readBody read.
func (c call) BodyReader() io.Reader {
	if c.x.body == nil {
		return bytes.NewReader(nil)
	}
	return bytes.NewReader(c.x.body.Bytes())
}

// SetReadDeadline does nothing: the body is in memory.
func (c call) SetReadDeadline(time.Time) error { return nil }

// SetStatus sends the header, unless the answer is out.
func (c call) SetStatus(status int) {
	if !c.x.answered {
		c.inner.SetStatus(status)
	}
}

// BodyWriter is where streams write.
func (c call) BodyWriter() io.Writer {
	if c.x.answered {
		return io.Discard
	}
	return c.inner.BodyWriter()
}
