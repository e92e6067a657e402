// Package patch tells apart the three things a partial update can say of a
// field: nothing, "make it empty", or a value.
package patch

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Field is a field of a partial update that may be emptied. For one that may
// not, a pointer with `omitempty` is enough: null is then refused.
//
// Tag it `json:"due_at,omitzero"`: without omitzero it would be required, and
// the route does not start. Limits in further tags (maxLength, enum, minimum,
// pattern, format, doc) hold for the value and never for null.
type Field[T any] struct {
	Given bool // whether the caller named the field
	Value *T   // nil empties the field; meaningless unless Given
}

// Set is a field that is given a value.
func Set[T any](v T) Field[T] { return Field[T]{Given: true, Value: &v} }

// Clear is a field that is emptied.
func Clear[T any]() Field[T] { return Field[T]{Given: true} }

// Apply returns what the field becomes when it was current.
func (f Field[T]) Apply(current *T) *T {
	if f.Given {
		return f.Value
	}
	return current
}

// UnmarshalJSON is called for null too, and not for a field that is absent.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	f.Given, f.Value = true, nil
	return json.Unmarshal(data, &f.Value)
}

// MarshalJSON writes the value, or null. A field that was not given is left
// out by omitzero.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(f.Value) }

// Schema describes T, or null, in the OpenAPI document; the requests are
// checked against it.
func (Field[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		// A reference cannot be nullable, and of a choice between T and null the
		// validator only says that neither fits. T itself can say which field is wrong.
		s = r.SchemaFromRef(s.Ref)
	}
	c := *s
	c.Nullable = true
	return &c
}
