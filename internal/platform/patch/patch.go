// Package patch represents the fields of a partial update. Each field can be absent,
// null or a value.
package patch

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Field is a field in a partial update that can be cleared with null. For a field
// that cannot be cleared, use a pointer with `omitempty`; null is then rejected.
//
// A struct field of this type needs omitzero in its JSON tag, as in `json:"due_at,omitzero"`.
// Without omitzero, the field counts as required, so declaring the route panics at startup.
// Constraints in the struct field's other tags (maxLength, enum, minimum, pattern, format, doc)
// apply to the value, not to null.
type Field[T any] struct {
	Given bool // whether the request contains the field
	Value *T   // nil clears the field; ignored unless Given
}

// Set returns a field with a value.
func Set[T any](v T) Field[T] { return Field[T]{Given: true, Value: &v} }

// Given returns a field with the value of v, or an absent field if v is nil.
func Given[T any](v *T) Field[T] { return Field[T]{Given: v != nil, Value: v} }

// Clear returns a field that clears the value.
func Clear[T any]() Field[T] { return Field[T]{Given: true} }

// Apply returns the value after the update: the field's value if it was given, otherwise
// current.
func (f Field[T]) Apply(current *T) *T {
	if f.Given {
		return f.Value
	}
	return current
}

// UnmarshalJSON implements json.Unmarshaler. It is also called for null, but not
// for an absent field.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	f.Given, f.Value = true, nil
	return json.Unmarshal(data, &f.Value)
}

// MarshalJSON writes the value or null. It is not called for an absent field, because
// omitzero leaves the field out.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(f.Value) }

// Schema describes T or null in the OpenAPI document. Requests are validated against
// that document.
func (Field[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		// A reference cannot be nullable. For anyOf T or null, the validator only says
		// that neither matches; with T's own schema it names the invalid field.
		s = r.SchemaFromRef(s.Ref)
	}
	c := *s
	c.Nullable = true
	return &c
}
