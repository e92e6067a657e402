package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// object is a JSON object. The demo uses map literals instead of structs, because the
// members of a frame depend on the gateway's state, and because map literals are easy to
// compare with the recordings.
type object = map[string]any

// Request is a frame from a client.
type Request struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Failure is the `error` member of a response.
type Failure struct {
	Code         string `json:"code"`
	Message      string `json:"message"`
	Details      object `json:"details,omitempty"`
	Retryable    bool   `json:"retryable,omitempty"`
	RetryAfterMs int    `json:"retryAfterMs,omitempty"`

	Reason    string               `json:"-"` // close reason, if it differs from Message
	CloseCode websocket.StatusCode `json:"-"` // for a refused connect request; defaults to 1008
}

func invalid(format string, args ...any) *Failure {
	return &Failure{Code: "INVALID_REQUEST", Message: fmt.Sprintf(format, args...)}
}

// params lists the required and optional parameters of a method. Like the gateway, the runtime rejects all others.
type params struct {
	required, optional []string
}

// words splits a space-separated list.
func words(s string) []string { return strings.Fields(s) }

// read decodes the JSON in raw into v. It uses name and at only in error messages: name
// is the method's name, and at is a JSON pointer to the object within the method's
// parameters, or empty for the parameters as a whole.
func (p params) read(name, at string, raw json.RawMessage, v any) *Failure {
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
			return invalid("invalid %s params: at %s/%s: must be %s", name, at, p.jsonName(wrong.Field),
				jsonType(wrong.Type.Kind().String()))
		}
		return invalid("invalid %s params: %smust be object", name, where)
	}
	return nil
}

// checkRange returns the gateway's error for a number that is out of range, or nil if the
// number is in range.
func checkRange(method, member string, v, least, most int) *Failure {
	switch {
	case v < least:
		return invalid("invalid %s params: at /%s: must be >= %d", method, member, least)
	case v > most:
		return invalid("invalid %s params: at /%s: must be <= %d", method, member, most)
	}
	return nil
}

// jsonName returns the JSON name of a struct field.
func (p params) jsonName(field string) string {
	for _, k := range slices.Concat(p.required, p.optional) {
		if strings.EqualFold(k, field) {
			return k
		}
	}
	return field
}

// jsonType returns the JSON Schema type for a Go kind.
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

// Encode returns a frame as JSON. Frames contain only plain values, so encoding can fail
// only because of a bug. In that case, Encode panics.
func Encode(frame any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(frame); err != nil {
		panic(fmt.Sprintf("demo: encode frame: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
