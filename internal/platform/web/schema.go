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

// namer names the types in the document. Every feature has a createInput and a
// Change, so a name carries its package: "TaskChange". A type that already
// begins with its package's name keeps it: task.Task is "Task".
type namer struct{ pkg string }

// scope says which package the types without a name belong to: that of the
// input or output that is being declared.
func (n *namer) scope(ts ...reflect.Type) {
	n.pkg = ""
	for _, t := range ts {
		if p := path.Base(t.PkgPath()); t.PkgPath() != "" && t.PkgPath() != reflect.TypeFor[API]().PkgPath() {
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
		pkg, name = path.Base(t.PkgPath()), t.Name()
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

// finish mends the schemas that huma made for a route, and refuses what would
// fail later. It is by Go type, because only that tells a pointer from a value:
//
//   - an array is never null: huma lets every array be, and a nil slice is
//     encoded as null, so that a forgotten one shows in the contract tests;
//   - a pointer without omitempty or omitzero may be null, also to a struct or
//     to a type with its own schema, for which huma has no null;
//   - an optional field is not therefore also nullable.
func (a *API) finish(r *route, in, out reflect.Type) {
	reg := a.huma.OpenAPI().Components.Schemas
	for name, s := range reg.Map() {
		if !a.mended[s] {
			a.mended[s] = true
			a.finishStruct(s, reg.TypeFromRef("#/components/schemas/"+name))
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

// mostValues is how many values a parameter takes that is a list and does not
// say otherwise. Each is a part of the query, of its plan, and of the address of
// the next page; a header line holds some thousands, which nobody means.
const mostValues = 20

// boundLists gives every list among the parameters an end.
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

func (a *API) finishStruct(s *huma.Schema, t reflect.Type) {
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
		s.Properties[name] = mend(p, f, optional)
	}
}

// isField recognises patch.Field.
func isField(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && path.Base(t.PkgPath()) == "patch" && strings.HasPrefix(t.Name(), "Field[")
}

// mend returns the schema that a field of a struct should have.
func mend(p *huma.Schema, f reflect.StructField, optional bool) *huma.Schema {
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
		p.Enum = append(slices.Clone(p.Enum), nil) // else the document would deny the null
	}
	return p
}

// checkParameters refuses inputs whose parameters huma would not see: those of
// an embedded type that is not exported, and path segments without a field.
func checkParameters(r *route, in reflect.Type) {
	have := map[string]bool{}
	for _, f := range reflect.VisibleFields(in) {
		if f.Anonymous && !f.IsExported() {
			panic(fmt.Sprintf("web: %s %s: %s embeds %s, which is not exported and would be ignored", r.Method, r.Path, in, f.Name))
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

// checkInput refuses inputs that we could not hold to what the API promises:
// strings without a limit, and uniqueItems, at which huma panics when an item
// is an object.
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
		panic(fmt.Sprintf(`web: %s %s: %s has no maxLength; a password says format:"password"`, r.Method, r.Path, at))
	}
	checkInput(reg, r, s.Items, at+"[]", seen)
	for name, p := range s.Properties {
		checkInput(reg, r, p, at+"."+name, seen)
	}
}

// limited are the formats that bound a string by themselves, and passwords,
// which may have any length.
func limited(format string) bool {
	return slices.Contains([]string{"password", "date-time", "date", "uuid"}, format)
}
