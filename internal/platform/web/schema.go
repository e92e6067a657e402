package web

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// namer names the types in the OpenAPI document. Several packages have a type
// createInput or Change, so each name starts with the name of the package, as in
// "TaskChange". A type name that already starts with it stays unchanged: task.Task is
// "Task".
type namer struct{ pkg string }

// scope sets the package name with which the generated names of anonymous types start. It uses the
// first package, other than this one, that declares one of the given types.
func (n *namer) scope(ts ...reflect.Type) {
	n.pkg = ""
	for _, t := range ts {
		if p := room(t.PkgPath()); t.PkgPath() != "" && t.PkgPath() != reflect.TypeFor[API]().PkgPath() {
			n.pkg = p
			return
		}
	}
}

func (n *namer) name(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg, name := n.pkg, hint
	if t.Name() != "" {
		pkg, name = room(t.PkgPath()), t.Name()
	}
	if strings.ContainsAny(name, "[") {
		return huma.DefaultSchemaNamer(t, hint)
	}
	if t.PkgPath() == reflect.TypeFor[API]().PkgPath() {
		pkg = ""
	}
	pkg, _, _ = strings.Cut(pkg, "_test")
	if len(name) >= len(pkg) && strings.EqualFold(name[:len(pkg)], pkg) {
		name = name[len(pkg):]
	}
	var b strings.Builder
	for w := range strings.FieldsFuncSeq(pkg+"-"+name, func(r rune) bool { return r == '-' || r == '/' || r == '.' }) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// room returns the last part of a package's path. For a package inside a feature, such as gateway/link, it returns the
// feature's name.
func room(pkgPath string) string {
	_, inside, _ := strings.Cut(pkgPath, "/internal/")
	if feature, _, nested := strings.Cut(inside, "/"); nested && feature != "platform" {
		return feature
	}
	return path.Base(pkgPath)
}

// fixSchemas corrects the schemas that huma generated for a route, and panics on
// types that would fail later. It uses the Go types, because only they distinguish
// pointers from values:
//
//   - An array is never null, although huma makes every array nullable. A nil slice
//     is still encoded as null, so the contract tests find slices that were not set.
//   - A pointer without omitempty or omitzero is nullable. huma does not support this
//     for pointers to structs and to types with their own schema.
//   - An optional field is not nullable just because it is optional.
func (a *API) fixSchemas(r *route, in, out reflect.Type) {
	reg := a.huma.OpenAPI().Components.Schemas
	for name, s := range reg.Map() {
		if !a.fixedSchemas[s] {
			a.fixedSchemas[s] = true
			a.fixStruct(s, reg.TypeFromRef("#/components/schemas/"+name))
		}
	}
	for _, t := range []reflect.Type{in, out} {
		f, ok := t.FieldByName("Body")
		if !ok || f.Type.Kind() != reflect.Slice {
			continue
		}
		for _, m := range bodies(r.op) {
			if m.Schema != nil && m.Schema.Type == huma.TypeArray {
				m.Schema.Nullable = false
			}
		}
	}
	boundLists(r.op)
	r.query = map[string]*huma.Param{}
	for _, p := range r.op.Parameters {
		if p.In == "query" {
			r.query[p.Name] = p
		}
	}
	if r.op.RequestBody != nil {
		checkInput(reg, r, r.op.RequestBody.Content["application/json"].Schema, "body", map[*huma.Schema]bool{})
	}
}

// mostValues is the maximum number of values for a list parameter that declares no
// maximum. Each value becomes part of the query, its plan and the URL of the next
// page.
const mostValues = 20

// boundLists sets the maximum mostValues for each list parameter that declares none.
func boundLists(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.Schema.Type == huma.TypeArray && p.Schema.MaxItems == nil {
			most := mostValues
			p.Schema.MaxItems = &most
			p.Schema.PrecomputeMessages()
		}
	}
}

func bodies(op *huma.Operation) []*huma.MediaType {
	var ms []*huma.MediaType
	if op.RequestBody != nil {
		ms = slices.Collect(maps.Values(op.RequestBody.Content))
	}
	for _, r := range op.Responses {
		ms = slices.AppendSeq(ms, maps.Values(r.Content))
	}
	return ms
}

func (a *API) fixStruct(s *huma.Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil || !f.IsExported() || f.Anonymous {
			continue
		}
		optional := strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero")
		if isField(f.Type) && !optional {
			panic(fmt.Sprintf("web: %s.%s is a patch.Field and needs omitzero in its json tag", t, f.Name))
		}
		s.Properties[name] = fixSchema(p, f, optional)
	}
}

// isField reports whether t is a patch.Field.
func isField(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && path.Base(t.PkgPath()) == "patch" && strings.HasPrefix(t.Name(), "Field[")
}

// fixSchema returns the corrected schema of a struct field.
func fixSchema(p *huma.Schema, f reflect.StructField, optional bool) *huma.Schema {
	switch f.Type.Kind() {
	case reflect.Slice, reflect.Map:
		if p.Type == huma.TypeArray {
			p.Nullable = f.Tag.Get("nullable") == "true"
		}
	case reflect.Pointer:
		if optional {
			break
		}
		if p.Ref != "" {
			d := p.Description
			p.Description = ""
			return &huma.Schema{Description: d, AnyOf: []*huma.Schema{p, {Type: typeNull, Enum: []any{nil}}}}
		}
		p.Nullable = p.Type != ""
	}
	if p.Nullable && len(p.Enum) > 0 && !slices.Contains(p.Enum, nil) {
		p.Enum = append(slices.Clone(p.Enum), nil) // otherwise the enum would exclude null
	}
	return p
}

// checkParameters panics if huma would ignore a parameter. That is the case for fields
// of an embedded unexported type, and for path parameters without a field.
func checkParameters(r *route, in reflect.Type) {
	have := map[string]bool{}
	for _, f := range reflect.VisibleFields(in) {
		if f.Anonymous && !f.IsExported() {
			panic(fmt.Sprintf("web: %s %s: %s embeds %s, which is not exported and would be ignored", r.Method, r.Path,
				in, f.Name))
		}
		if name := f.Tag.Get("path"); name != "" {
			have[name] = true
		}
	}
	for s := range strings.SplitSeq(r.Path, "/") {
		name, ok := strings.CutPrefix(s, "{")
		if name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."); ok && !have[name] {
			panic(fmt.Sprintf("web: %s %s: %s has no field for {%s}", r.Method, r.Path, in, name))
		}
	}
}

// checkInput panics if an input has a string without a maximum length. It also panics
// for a list with uniqueItems, because huma would panic later if the items are
// objects.
func checkInput(reg huma.Registry, r *route, s *huma.Schema, at string, seen map[*huma.Schema]bool) {
	s = resolve(reg, s)
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	switch {
	case s.UniqueItems:
		panic(fmt.Sprintf("web: %s %s: %s has uniqueItems; check that in the service", r.Method, r.Path, at))
	case s.Type == huma.TypeString && s.MaxLength == nil && len(s.Enum) == 0 && !limited(s.Format):
		panic(fmt.Sprintf(`web: %s %s: %s has no maxLength; use format:"password" for a password`, r.Method, r.Path, at))
	}
	checkInput(reg, r, s.Items, at+"[]", seen)
	for name, p := range s.Properties {
		checkInput(reg, r, p, at+"."+name, seen)
	}
}

// limited reports whether a string of the given format needs no maxLength. Passwords
// may have any length; the other formats are short.
func limited(format string) bool {
	return slices.Contains([]string{"password", "date-time", "date", "uuid"}, format)
}
