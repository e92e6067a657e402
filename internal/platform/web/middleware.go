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

// exchange is one request and its response, including its log message.
type exchange struct {
	api             *API
	w               *responder
	r               *http.Request
	whole           context.Context // request context without the handler's time limit
	id              string
	address         netip.Addr // client address; see ClientAddress
	route           *route     // nil until a route matches
	caller          actor.Actor
	tag             string        // ETag of the requested list, for routes with Unchanged
	query           url.Values    // nil if there is no query
	body            *bytes.Buffer // request body, if the route reads one
	refused         fault.Fields  // inputs rejected by the strict checks of query and body
	answered        bool          // whether the response is written, so huma must not write one
	status          int           // status for the log, if it differs from the one sent
	err             error         // error for the log
	stack           []byte        // stack of a panic
	loggedElsewhere bool          // whether the error is logged elsewhere, once for all requests
}

type exchangeKey struct{}

func from(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// serve passes one request to the given handler and logs the request.
func (a *API) serve(w http.ResponseWriter, r *http.Request, routes http.Handler) {
	start := a.opts.Now()
	x := &exchange{api: a, id: requestID(r.Header.Get("X-Request-Id"))}
	x.address = clientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), a.opts.TrustedProxies)
	a.unlisted.note(&a.opts, r, x.address)
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
		// The server also drains bodies that no handler reads, so every route needs a
		// deadline. Test recorders do not support deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.opts.BodyTimeout))
	}
	routes.ServeHTTP(x.w, x.r)
	if x.route == nil && x.w.missed != 0 {
		x.unmatched()
	}
}

// requestID returns the client's request ID if it is safe to log, otherwise a new
// one.
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

// end completes a request: it turns a panic into a 500 response and logs the request.
// Call it with defer.
func (x *exchange) end(start time.Time) {
	v := recover()
	err, _ := v.(error)
	cut := errors.Is(err, http.ErrAbortHandler)
	if v != nil && !cut {
		x.stack = debug.Stack()
		err = fmt.Errorf("panic: %v", v)
		// Part of the response was sent: cut the connection so that the client notices.
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

// knownMethod maps unknown methods to "other", so that clients cannot create new
// metric labels.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// log records the request's metrics and writes its log message.
func (x *exchange) log(start time.Time) {
	status := x.w.status
	if x.status != 0 {
		status = x.status
	} else if status == 0 {
		status = http.StatusOK
	}
	level, path := slog.LevelInfo, "unmatched"
	if x.route == nil && status == http.StatusNoContent {
		level, path = slog.LevelDebug, "preflight" // see cors.go; the actual request follows
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
	case x.loggedElsewhere:
		level = slog.LevelDebug
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn // a dependency is unavailable or slow
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

// enter runs all steps that come before the handler for the route r. The caller must
// defer done, even if enter returns an error.
func (x *exchange) enter(req *http.Request, r *route) (done func(), err error) {
	x.route, x.whole = r, req.Context()
	limit := x.api.opts.RequestTimeout
	if r.Limit > 0 {
		limit = r.Limit
	}
	if limit > requestTime {
		// Otherwise the server's own deadline would pass before the response is sent.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(limit + takeTime))
	}
	ctx, done := context.WithTimeout(actor.Through(req.Context(), x.origin()), limit)
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
		if x.tag = x.listETag(mark); x.matchingETag(x.tag, false) != "" {
			return done, nil // the response is 304; see notModified
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

// readURL parses the query and rejects URLs that contain invalid UTF-8 or NUL.
// PostgreSQL would return an error for such text instead of finding no rows.
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

// checkQuery rejects unknown parameters; otherwise, a request with a misspelled filter
// would return the whole list. It also rejects a repeated parameter that takes only one
// value. A list parameter accepts repetition, values separated by commas, or both.
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
			x.refused.Add("query."+shorten(name), "Unknown parameter. This route takes no parameters.")
		case p == nil:
			x.refused.Add("query."+shorten(name), "Unknown parameter. Valid parameters: %s.",
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case len(values) > 1 && p.Schema.Type == huma.TypeArray:
			x.query[name] = []string{strings.Join(values, ",")} // huma splits it
		case len(values) > 1:
			x.refused.Add("query."+name, "Specify this parameter only once.")
		}
	}
}

// shorten truncates the name of an unknown parameter, so that a response can quote
// it.
func shorten(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// authenticate returns the caller. It returns an error if the caller lacks the
// route's permission.
func (x *exchange) authenticate(ctx context.Context) (actor.Actor, error) {
	token, ok := tokenOf(x.r.Header)
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
		return actor.Actor{}, errors.New("authenticate: no error and no caller")
	}
	if !caller.Role.May(x.route.Permission) {
		x.caller = caller // for the log
		return actor.Actor{}, errForbidden.With("This requires the %s role. Your role is %s.",
			orList(x.route.Permission.Holders()), caller.Role)
	}
	return caller, nil
}

// tokenHeader carries the caller's token where the Authorization header belongs to a proxy, as with
// HTTP Basic authentication. As with a bearer token, no page of another origin can make a browser
// send it, so it needs no protection from cross-site requests.
const tokenHeader = "X-Wardroom-Token"

// tokenOf returns the caller's token. If the request has tokenHeader, the Authorization header is
// ignored.
func tokenOf(h http.Header) (token string, ok bool) {
	if own := h.Values(tokenHeader); len(own) > 0 {
		token = strings.TrimSpace(own[0])
		return token, len(own) == 1 && token != ""
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
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

// responder is the ResponseWriter of an exchange. It records the status and suppresses the mux's own error responses,
// so that problem responses can replace them.
type responder struct {
	http.ResponseWriter
	x      *exchange
	status int // 0 until the header is sent
	missed int // status from the mux if no route matched
}

// WriteHeader sends the header, but suppresses the mux's own errors and redirects. For
// example, the mux would answer a path that contains "//" with a redirect and an HTML
// body.
func (w *responder) WriteHeader(status int) {
	if w.x.route == nil && !w.x.answered && status >= http.StatusMultipleChoices {
		w.missed = status
		w.Header().Del("Location")
		return
	}
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		w.x.api.addBase(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responder) Write(b []byte) (int, error) {
	if w.missed != 0 && !w.x.answered {
		return len(b), nil
	}
	if w.status == 0 {
		w.status = http.StatusOK
		w.x.api.addBase(w.Header())
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the underlying writer. http.ResponseController calls it.
func (w *responder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// call is the huma context of an exchange. It prevents huma from writing a second
// response, and gives huma the query and the body, which have already been read and
// checked.
type call struct {
	inner // embedding huma.Context directly would hide its Context method
	x     *exchange
}

type inner = huma.Context

// Unwrap returns the underlying context. humago.Unwrap calls it.
func (c call) Unwrap() huma.Context { return c.inner }

// Query returns the value of a query parameter as parsed by net/url. If the query ends
// with a parameter that has no value, huma's own parser would return "true" for it.
func (c call) Query(name string) string { return c.x.query.Get(name) }

// Header returns a request header. It hides Content-Type and Accept, so that huma
// always reads and writes JSON.
func (c call) Header(name string) string {
	switch name {
	case "Content-Type", "Accept":
		return ""
	}
	return c.inner.Header(name)
}

// BodyReader returns a reader for the body, which readBody has already read.
func (c call) BodyReader() io.Reader {
	if c.x.body == nil {
		return bytes.NewReader(nil)
	}
	return bytes.NewReader(c.x.body.Bytes())
}

// SetReadDeadline does nothing, because the body is already in memory.
func (c call) SetReadDeadline(time.Time) error { return nil }

// SetStatus sets the status, unless the response has already been written.
func (c call) SetStatus(status int) {
	if !c.x.answered {
		c.inner.SetStatus(status)
	}
}

// BodyWriter returns the writer for a streamed body. If the response has already been written,
// that writer discards the body.
func (c call) BodyWriter() io.Writer {
	if c.x.answered {
		return io.Discard
	}
	return c.inner.BodyWriter()
}
