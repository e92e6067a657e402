package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object is a JSON object. The gateway's frames have hundreds of members that
// come and go with the state; written as literals they read like the recordings.
type object = map[string]any

// request is a frame from the client.
type request struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// failure is the error member of a response.
type failure struct {
	Code         string `json:"code"`
	Message      string `json:"message"`
	Details      object `json:"details,omitempty"`
	Retryable    bool   `json:"retryable,omitempty"`
	RetryAfterMs int    `json:"retryAfterMs,omitempty"`

	Reason string `json:"-"` // of the close, where it is not the message
}

func invalid(format string, args ...any) *failure {
	return &failure{Code: "INVALID_REQUEST", Message: fmt.Sprintf(format, args...)}
}

// params says which members a method takes; all others are refused, as the
// gateway does.
type params struct {
	required, optional []string
}

// words splits a list of names.
func words(s string) []string { return strings.Fields(s) }

// read decodes raw into v. name is the method, for the wording of the refusal;
// at is the JSON pointer of the object inside the params, empty for the params
// themselves.
func (p params) read(name, at string, raw json.RawMessage, v any) *failure {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	where := ""
	if at != "" {
		where = "at " + at + ": "
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return invalid("invalid %s params: %smust be object", name, where)
	}
	for _, k := range p.required {
		if _, ok := members[k]; !ok {
			return invalid("invalid %s params: %smust have required property '%s'", name, where, k)
		}
	}
	for k, value := range members {
		if !slices.Contains(p.required, k) && !slices.Contains(p.optional, k) {
			root := where
			if root == "" {
				root = "at root: "
			}
			return invalid("invalid %s params: %sunexpected property '%s'", name, root, k)
		}
		if slices.Contains(p.required, k) && string(value) == `""` {
			return invalid("invalid %s params: at %s/%s: must NOT have fewer than 1 characters", name, at, k)
		}
	}
	if err := json.Unmarshal(raw, v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return invalid("invalid %s params: at %s/%s: must be %s", name, at, p.spell(wrong.Field), jsonType(wrong.Type.Kind().String()))
		}
		return invalid("invalid %s params: %smust be object", name, where)
	}
	return nil
}

// within refuses a number that is out of range, in the words of the gateway.
func within(method, member string, v, least, most int) *failure {
	switch {
	case v < least:
		return invalid("invalid %s params: at /%s: must be >= %d", method, member, least)
	case v > most:
		return invalid("invalid %s params: at /%s: must be <= %d", method, member, most)
	}
	return nil
}

// spell is a member's name as the client writes it, from the name of our field.
func (p params) spell(field string) string {
	for _, k := range slices.Concat(p.required, p.optional) {
		if strings.EqualFold(k, field) {
			return k
		}
	}
	return field
}

// jsonType is what JSON schema calls a Go kind.
func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "integer"
	case kind == "bool":
		return "boolean"
	case kind == "slice":
		return "array"
	case kind == "struct", kind == "map":
		return "object"
	}
	return kind
}

// encode turns a frame into bytes. What we send is made of literals, numbers
// and texts, so this cannot fail; if it ever does, the tests must see it.
func encode(frame any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(frame); err != nil {
		panic(fmt.Sprintf("demo: a frame that is no JSON: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
