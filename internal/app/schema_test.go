package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// document is the part of the OpenAPI document that clients rely on.
type document struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]*schema
		Responses map[string]response
	}
}

type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Name, In string
		Required bool
		Schema   *schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses  map[string]response
	Permission string `json:"x-permission"`
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]media
	Headers map[string]struct{ Schema *schema }
}

type media struct{ Schema *schema }

// schema is the part of JSON Schema that the document uses. Unknown keywords are refused.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 types              `json:"type"`
	Description          string             `json:"description"`
	Format               string             `json:"format"`
	Enum                 []any              `json:"enum"`
	Default              any                `json:"default"`
	Examples             []any              `json:"examples"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties any                `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	AnyOf                []*schema          `json:"anyOf"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	Pattern              string             `json:"pattern"`
}

// types is one type or several.
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]string)(t)); err == nil {
		return nil
	}
	*t = types{""}
	return json.Unmarshal(data, &(*t)[0])
}

// UnmarshalJSON refuses keywords that the checks would ignore.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(s))
}

func readDocument(t *testing.T, data []byte) *document {
	t.Helper()
	d := &document{}
	if err := json.Unmarshal(data, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// resolve follows references.
func (d *document) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// response returns the response that the document has for a status; ok is false if there
// is none.
func (d *document) response(op operation, status int) (response, bool) {
	r, ok := op.Responses[fmt.Sprint(status)]
	if !ok && status >= 400 {
		r, ok = op.Responses["default"]
	}
	if r.Ref != "" {
		r, ok = d.Components.Responses[r.Ref[strings.LastIndex(r.Ref, "/")+1:]]
	}
	return r, ok
}

// check returns where and how v violates s, or an empty string.
func (d *document) check(s *schema, v any, at string) string {
	s = d.resolve(s)
	if s == nil {
		return at + " has no schema"
	}
	if len(s.AnyOf) > 0 {
		var all []string
		for _, one := range s.AnyOf {
			bad := d.check(one, v, at)
			if bad == "" {
				return ""
			}
			all = append(all, bad)
		}
		return strings.Join(all, ", and ")
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Sprintf("%s is %v, none of %v", at, v, s.Enum)
	}
	if got := typeOf(v); len(s.Type) > 0 && !slices.Contains(s.Type, got) && (got != "integer" || !slices.Contains(s.Type, "number")) {
		return fmt.Sprintf("%s is of type %s, want %v", at, got, s.Type)
	}
	switch v := v.(type) {
	case string:
		return d.checkText(s, v, at)
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return fmt.Sprintf("%s is %v, out of range", at, v)
		}
	case []any:
		for i, one := range v {
			if bad := d.check(s.Items, one, fmt.Sprintf("%s/%d", at, i)); bad != "" {
				return bad
			}
		}
	case map[string]any:
		return d.checkObject(s, v, at)
	}
	return ""
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

func (d *document) checkText(s *schema, v, at string) string {
	n := utf8.RuneCountInString(v)
	var err error
	switch {
	case s.MinLength != nil && n < *s.MinLength, s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("%s has %d characters", at, n)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v):
		return fmt.Sprintf("%s is %q, which does not match %s", at, v, s.Pattern)
	case s.Format == "date-time":
		_, err = time.Parse("2006-01-02T15:04:05.000Z", v) // as product.md requires, not any RFC 3339 time
	case s.Format == "date":
		_, err = time.Parse(time.DateOnly, v)
	case s.Format == "uuid":
		err = uuid.Validate(v)
	case s.Format == "uri" || s.Format == "uri-reference":
		_, err = url.Parse(v)
	}
	if err != nil {
		return fmt.Sprintf("%s is %q, which is no %s", at, v, s.Format)
	}
	return ""
}

func (d *document) checkObject(s *schema, v map[string]any, at string) string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return fmt.Sprintf("%s lacks %s", at, name)
		}
	}
	for name, one := range v {
		p := s.Properties[name]
		if p == nil {
			if len(s.Properties) > 0 && s.AdditionalProperties != true {
				return fmt.Sprintf("%s has %s, of which the document knows nothing", at, name)
			}
			continue
		}
		if bad := d.check(p, one, at+"/"+name); bad != "" {
			return bad
		}
	}
	return ""
}

// The check must find violations.
func TestSchemaCheck(t *testing.T) {
	d := readDocument(t, []byte(`{"components": {"schemas": {"T": {
		"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
			"id": {"type": "string", "format": "uuid"}, "at": {"type": ["string", "null"], "format": "date-time"},
			"n": {"type": "integer", "minimum": 1}, "status": {"type": "string", "enum": ["a", "b"]},
			"list": {"type": "array", "items": {"$ref": "#/components/schemas/T"}},
			"maybe": {"anyOf": [{"$ref": "#/components/schemas/T"}, {"type": "null"}]}
		}}}}}`))
	const id = `"id": "0199a0b4-5c00-7000-8000-000000000001"`
	for body, want := range map[string]string{
		`{` + id + `, "at": null, "n": 1, "status": "b", "list": [{` + id + `}], "maybe": null}`: "",
		`{` + id + `, "at": "2026-11-20T08:00:00.000Z", "maybe": {` + id + `}}`:                  "",
		`{}`:                               " lacks id",
		`null`:                             " is of type null, want [object]",
		`{"id": "x"}`:                      `/id is "x", which is no uuid`,
		`{` + id + `, "at": "2026-11-20"}`: `/at is "2026-11-20", which is no date-time`,
		`{` + id + `, "n": 0}`:             "/n is 0, out of range",
		`{` + id + `, "n": 1.5}`:           "/n is of type number, want [integer]",
		`{` + id + `, "status": "c"}`:      "/status is c, none of [a b]",
		`{` + id + `, "list": [{}]}`:       "/list/0 lacks id",
		`{` + id + `, "more": 1}`:          " has more, of which the document knows nothing",
		`{` + id + `, "maybe": 5}`:         "/maybe is of type integer, want [object], and /maybe is of type integer, want [null]",
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if got := d.check(&schema{Ref: "#/components/schemas/T"}, v, ""); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
