package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// The documentation is rendered on the server and needs no scripts. huma's own page
// loads scripts from another host.

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

// docsPage holds the rendered documentation page and its Content-Security-Policy,
// which allows only the page's stylesheet.
type docsPage struct {
	html []byte
	csp  string
}

func (a *API) serveDocs(w http.ResponseWriter, r *http.Request) {
	p, err := a.page()
	if err != nil {
		Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", p.csp)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(p.html) // the client may have disconnected
}

func (a *API) renderDocs() (docsPage, error) {
	t, err := template.New("docs").Parse(docsHTML)
	if err != nil {
		return docsPage{}, fmt.Errorf("parse the documentation: %w", err)
	}
	var buf bytes.Buffer
	if err := t.Execute(&buf, a.docsView()); err != nil {
		return docsPage{}, fmt.Errorf("render the documentation: %w", err)
	}
	sum := sha256.Sum256([]byte(docsCSS))
	return docsPage{
		html: buf.Bytes(),
		csp: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// These types hold the data for the documentation page's template.
type (
	docsView struct {
		Title, Version string
		About          []string
		Prefix         string
		Style          template.CSS
		Groups         []docsGroup
		Types          []docsType
		Problems       []docsProblem
	}
	docsGroup struct {
		Name       string
		Operations []docsOperation
	}
	docsOperation struct {
		ID, Method, Path, Summary string
		About                     []string
		Who                       string
		Permission                string
		Parameters                []docsField
		Body                      *docsBody
		Answers                   []docsAnswer
		Problems                  []docsStatus
		Example                   string
	}
	docsBody struct {
		Type     docsRef
		Required bool
		Fields   []docsField
	}
	docsAnswer struct {
		Status  string
		Text    string
		Type    docsRef
		Headers []docsField
		Fields  []docsField
	}
	docsField struct {
		Name, In string
		Type     docsRef
		Required bool
		Limits   string
		About    string
	}
	// docsRef describes a type in words. Name, if set, links to the type's fields.
	docsRef  struct{ Before, Name, Plain, After string }
	docsType struct {
		Name   string
		Fields []docsField
	}
	docsStatus struct{ Status, Text string }
	// docsProblem is a fault. Its code is the anchor that a problem's type links to.
	docsProblem struct {
		Code, Title, Detail string
		Status              int
	}
)

func (a *API) docsView() docsView {
	doc := a.huma.OpenAPI()
	v := docsView{
		Title: doc.Info.Title, Version: doc.Info.Version, About: paragraphs(doc.Info.Description),
		Prefix: a.opts.BasePath + Prefix,
		Style:  template.CSS(docsCSS), //nolint:gosec // G203: our own embedded file
	}
	groups := map[string]*docsGroup{}
	for _, r := range a.routes {
		if r.op == nil {
			continue
		}
		name := r.op.Tags[0]
		if groups[name] == nil {
			groups[name] = &docsGroup{Name: name}
		}
		groups[name].Operations = append(groups[name].Operations, a.docsOperation(r))
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		v.Groups = append(v.Groups, *groups[name])
	}
	schemas := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		v.Types = append(v.Types, docsType{Name: name, Fields: a.fields(schemas[name])})
	}
	for _, f := range a.Faults() {
		v.Problems = append(v.Problems, docsProblem{Code: f.Code, Title: f.Title, Detail: f.Detail, Status: statusOf(f)})
	}
	return v
}

func (a *API) docsOperation(r *route) docsOperation {
	o := docsOperation{
		ID: r.op.OperationID, Method: r.Method, Path: r.Path, Summary: r.summary, About: paragraphs(r.describe),
		Who: "Everyone, without a token", Permission: string(r.Permission), Example: a.curl(r),
	}
	if r.Permission != actor.Public {
		o.Who = "Roles: " + strings.ReplaceAll(orList(r.Permission.Holders()), " or ", " and ")
	}
	for _, p := range r.op.Parameters {
		f := a.field(p.Name, p.Schema, p.Required)
		f.In = p.In
		o.Parameters = append(o.Parameters, f)
	}
	if b := r.op.RequestBody; b != nil {
		s := b.Content["application/json"].Schema
		o.Body = &docsBody{Type: describe(s), Required: b.Required, Fields: a.fields(s)}
	}
	for _, status := range slices.Sorted(maps.Keys(r.op.Responses)) {
		res := r.op.Responses[status]
		if status == "default" || status >= "400" {
			text := res.Description
			if res.Ref != "" {
				text = a.huma.OpenAPI().Components.Responses[res.Ref[strings.LastIndex(res.Ref, "/")+1:]].Description
			}
			o.Problems = append(o.Problems, docsStatus{status, strings.ReplaceAll(text, "`", "")})
			continue
		}
		ans := docsAnswer{Status: status, Text: res.Description}
		if m := res.Content["application/json"]; m != nil {
			ans.Type, ans.Fields = describe(m.Schema), a.fields(m.Schema)
		}
		for _, name := range slices.Sorted(maps.Keys(res.Headers)) {
			ans.Headers = append(ans.Headers, a.field(name, res.Headers[name].Schema, false))
		}
		o.Answers = append(o.Answers, ans)
	}
	return o
}

// fields returns the fields of an object schema. For an array, it returns the fields of the array's
// items.
func (a *API) fields(s *huma.Schema) []docsField {
	reg := a.huma.OpenAPI().Components.Schemas
	for s = resolve(reg, s); s != nil && s.Type == huma.TypeArray; {
		s = resolve(reg, s.Items)
	}
	if s == nil {
		return nil
	}
	var fs []docsField
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		fs = append(fs, a.field(name, s.Properties[name], slices.Contains(s.Required, name)))
	}
	slices.SortStableFunc(fs, func(x, y docsField) int { return cmp.Compare(b2i(y.Required), b2i(x.Required)) })
	return fs
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a *API) field(name string, s *huma.Schema, required bool) docsField {
	f := docsField{Name: name, Type: describe(s), Required: required, About: s.Description}
	if t := s; t != nil {
		if t.Type == huma.TypeArray && t.Items != nil {
			f.Limits = limits(t.Items)
		}
		f.Limits = strings.TrimPrefix(f.Limits+"; "+limits(t), "; ")
		f.Limits = strings.TrimSuffix(f.Limits, "; ")
	}
	return f
}

// describe returns a readable description of a schema's type.
func describe(s *huma.Schema) docsRef {
	switch {
	case s == nil:
		return docsRef{Plain: "anything"}
	case s.Ref != "":
		return docsRef{Name: s.Ref[strings.LastIndex(s.Ref, "/")+1:]}
	case len(s.AnyOf) == 2 && s.AnyOf[1].Type == typeNull:
		d := describe(s.AnyOf[0])
		d.After += " or null"
		return d
	case s.Type == huma.TypeArray:
		d := describe(s.Items)
		d.Before = "list of " + d.Before
		if s.Nullable {
			d.After += ", or null"
		}
		return d
	}
	d := docsRef{Plain: s.Type}
	switch {
	case s.Type == "":
		d.Plain = "anything"
	case s.Type == huma.TypeString &&
		(s.Format == "date-time" || s.Format == "date" || s.Format == "uuid" || s.Format == "password"):
		d.Plain = s.Format
	}
	if s.Type == huma.TypeObject {
		if m, ok := s.AdditionalProperties.(*huma.Schema); ok {
			d = describe(m)
			d.Before = "object of " + d.Before
		}
	}
	if s.Nullable {
		d.After = " or null"
	}
	return d
}

// limits returns a readable description of a schema's constraints.
func limits(s *huma.Schema) string {
	var l []string
	say := func(format string, args ...any) { l = append(l, fmt.Sprintf(format, args...)) }
	between := func(low, high *int, what string) {
		switch {
		case low != nil && high != nil:
			say("%d–%d %s", *low, *high, what)
		case low != nil:
			say("at least %d %s", *low, what)
		case high != nil:
			say("at most %d %s", *high, what)
		}
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			if e != nil {
				words = append(words, fmt.Sprint(e))
			}
		}
		say("%s", strings.Join(words, ", "))
	}
	between(s.MinLength, s.MaxLength, "characters")
	between(s.MinItems, s.MaxItems, "entries")
	number := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		say("%s–%s", number(s.Minimum), number(s.Maximum))
	case s.Minimum != nil:
		say("at least %s", number(s.Minimum))
	case s.Maximum != nil:
		say("at most %s", number(s.Maximum))
	}
	if s.Pattern != "" {
		say("%s", cmp.Or(s.PatternDescription, s.Pattern))
	}
	if s.Default != nil {
		say("default %v", s.Default)
	}
	return strings.Join(l, "; ")
}

func paragraphs(text string) []string {
	var ps []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			ps = append(ps, p)
		}
	}
	return ps
}

// curl returns an example curl command. It can be pasted into a shell where $URL and
// $TOKEN are set.
func (a *API) curl(r *route) string {
	var b strings.Builder
	b.WriteString("curl")
	if r.Method != http.MethodGet {
		b.WriteString(" -X " + r.Method)
	}
	path := r.Path
	for _, p := range r.op.Parameters {
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", "$"+strings.ToUpper(p.Name))
		}
	}
	b.WriteString(` "$URL` + path + `"`)
	if r.Permission != actor.Public {
		b.WriteString(" \\\n  -H \"Authorization: Bearer $TOKEN\"")
	}
	if body := r.op.RequestBody; body != nil {
		data, err := json.Marshal(a.example(body.Content["application/json"].Schema, 0))
		if err == nil {
			b.WriteString(
				" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(string(data), "'", "") + "'",
			)
		}
	}
	return b.String()
}

// example returns a value that the schema accepts. An object gets its required
// members, or one member if none is required.
func (a *API) example(s *huma.Schema, depth int) any {
	s = resolve(a.huma.OpenAPI().Components.Schemas, s)
	switch {
	case s == nil || depth > 4:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.Type {
	case huma.TypeBoolean:
		return true
	case huma.TypeInteger, huma.TypeNumber:
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case huma.TypeArray:
		return []any{a.example(s.Items, depth+1)}
	case huma.TypeObject:
		names := s.Required
		if all := slices.Sorted(maps.Keys(s.Properties)); len(names) == 0 && len(all) > 0 {
			names = all[:1]
		}
		o := map[string]any{}
		for _, name := range names {
			o[name] = a.example(s.Properties[name], depth+1)
		}
		return o
	}
	switch s.Format {
	case "email":
		return "someone@example.com"
	case "password":
		return "a long pass phrase"
	case "date":
		return "2026-11-20"
	case "uuid":
		return "0199a0b4-5c00-7000-8000-000000000001"
	case "uri":
		return "https://example.com/"
	}
	return "text"
}
