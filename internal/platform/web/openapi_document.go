package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// document completes a route's part of the OpenAPI document. It adds the common
// errors, the route's own faults and its additional success statuses, because the
// route's types do not show them.
func (a *API) document(r *route) {
	rs := r.op.Responses
	rs["default"] = a.shared(0)
	for _, status := range a.commonStatuses(r) {
		rs[strconv.Itoa(status)] = a.shared(status)
	}
	for _, status := range r.also {
		if status >= http.StatusBadRequest {
			rs[strconv.Itoa(status)] = a.shared(status)
			continue
		}
		rs[strconv.Itoa(status)] = otherSuccess(rs[strconv.Itoa(r.op.DefaultStatus)], status)
	}
	a.documentUnchanged(r)
	r.documentOnce()
	named := map[int][]string{}
	for _, f := range r.fails {
		if have := a.faults[f.Code]; have != nil && have.Title != f.Title {
			panic(fmt.Sprintf("web: %s %s: the code %s has two titles", r.Method, r.Path, f.Code))
		}
		a.faults[f.Code] = f
		status := statusOf(f)
		named[status] = append(named[status], "`"+f.Code+"`: "+f.Title)
	}
	for status, texts := range named {
		// Keep the shared description, because common errors can have the same status.
		rs[strconv.Itoa(status)] = a.problemResponse(http.StatusText(status) + ". " + strings.Join(texts, " "))
	}
}

// documentUnchanged documents the If-None-Match header and the 304 response of a route whose responses have an ETag.
func (a *API) documentUnchanged(r *route) {
	usual := r.op.Responses[strconv.Itoa(http.StatusOK)]
	if r.Method != http.MethodGet || usual == nil || usual.Headers["ETag"] == nil {
		return
	}
	r.op.Parameters = append(r.op.Parameters, &huma.Param{
		Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "ETags of cached copies, separated by commas. If one is still current, the response is 304 without a body.",
	})
	r.op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
		Description: http.StatusText(http.StatusNotModified),
		Headers:     map[string]*huma.Param{"ETag": usual.Headers["ETag"]},
	}
}

// commonStatuses returns the error statuses that this package can return for r.
func (a *API) commonStatuses(r *route) []int {
	var s []int
	if r.Permission != actor.Public {
		s = append(s, http.StatusUnauthorized, http.StatusForbidden)
	}
	if r.op.RequestBody != nil {
		s = append(s, http.StatusBadRequest, http.StatusRequestTimeout,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	// Every route rejects unknown query parameters.
	return append(s, http.StatusBadRequest, http.StatusUnprocessableEntity)
}

// shared returns a reference to the shared description of responses with the given
// error status. Status 0 stands for all error statuses that a route does not list.
func (a *API) shared(status int) *huma.Response {
	name, text := "Problem", "Any other error."
	if status != 0 {
		text = http.StatusText(status) + "."
		name = strings.ReplaceAll(http.StatusText(status), " ", "")
	}
	if all := a.huma.OpenAPI().Components.Responses; all[name] == nil {
		all[name] = a.problemResponse(text)
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

func (a *API) problemResponse(text string) *huma.Response {
	s := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	return &huma.Response{
		Description: text,
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: s}},
	}
}

// otherSuccess documents an additional success status of a route. A response with this status has the same body and
// headers as the usual one, unless the status does not allow a body.
func otherSuccess(usual *huma.Response, status int) *huma.Response {
	r := &huma.Response{Description: http.StatusText(status)}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		r.Content, r.Headers = usual.Content, usual.Headers
	}
	return r
}

// Document returns the OpenAPI 3.1 document for all routes declared so far, as
// indented JSON. The same routes always produce the same bytes.
func (a *API) Document() []byte {
	compact, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		panic(fmt.Errorf("web: cannot encode the OpenAPI document: %w", err)) // a schema has an invalid default
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, compact, "", "  "); err != nil {
		panic(fmt.Errorf("web: cannot indent the OpenAPI document: %w", err))
	}
	buf.WriteByte('\n')
	return buf.Bytes()
}

func (a *API) serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a.openapi()) // the client may have disconnected
}

// Faults returns the documented faults, sorted by code.
func (a *API) Faults() []*fault.Error {
	fs := make([]*fault.Error, 0, len(a.faults))
	for _, f := range a.faults {
		fs = append(fs, f)
	}
	slices.SortFunc(fs, func(x, y *fault.Error) int { return strings.Compare(x.Code, y.Code) })
	return fs
}

// StatusOf returns the HTTP status for a fault. It is used to generate documentation.
func StatusOf(f *fault.Error) int { return statusOf(f) }
