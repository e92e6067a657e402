package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// maxDepth limits the nesting of arrays and objects. Wardroom's inputs need four
// levels.
const maxDepth = 64

// scanner validates JSON more strictly than encoding/json and builds no values. It
// also makes two checks against the schema that huma does not make: it rejects names
// that differ only in case from a known name, and null for values that are not
// nullable.
type scanner struct {
	data     []byte
	pos      int
	depth    int
	at       []byte // JSON pointer of the current value
	registry huma.Registry
	fields   fault.Fields
}

// document validates the whole document in s.data. A nil schema accepts any value.
func (s *scanner) document(schema *huma.Schema) error {
	if !utf8.Valid(s.data) {
		for r, n := utf8.DecodeRune(s.data); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(s.data[s.pos:]) {
			s.pos += n
		}
		return s.bad("not valid UTF-8")
	}
	if err := s.value(schema); err != nil {
		return err
	}
	if s.space(); s.pos < len(s.data) {
		return s.bad("unexpected data after the value")
	}
	return nil
}

// bad returns the fault for invalid JSON, with the position and the reason. It never
// quotes the input, except for a character that nobody sees.
func (s *scanner) bad(what string) error {
	if r, n := utf8.DecodeRune(s.data[min(s.pos, len(s.data)):]); n > 0 && (r != utf8.RuneError || n > 1) &&
		(plaintext.Hidden(r) || n > 1 && unicode.IsSpace(r)) {
		what += fmt.Sprintf("; this character is %U", r)
	}
	return errJSON.With("Byte %d: %s.", s.pos, what)
}

func (s *scanner) refuse(text string) {
	if len(s.fields) < maxFields {
		s.fields.Add(string(s.at), "%s", text)
	}
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end of the input. A NUL byte in the input
// looks the same, but JSON does not allow one.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) value(schema *huma.Schema) error {
	s.space()
	switch c := s.peek(); {
	case c == '{':
		return s.nested(schema, s.object)
	case c == '[':
		return s.nested(schema, s.array)
	case c == '"':
		_, _, err := s.text()
		return err
	case c == '-' || (c >= '0' && c <= '9'):
		start := s.pos
		if err := s.number(); err != nil {
			return err
		}
		s.fits(schema, s.data[start:s.pos])
		return nil
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		if !nullable(s.registry, schema) {
			s.refuse("It must not be null.")
		}
		return s.word("null")
	default:
		return s.bad("expected a value")
	}
}

func (s *scanner) word(w string) error {
	if !strings.HasPrefix(string(s.data[s.pos:min(len(s.data), s.pos+len(w))]), w) {
		return s.bad("invalid literal")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) nested(schema *huma.Schema, read func(*huma.Schema) error) error {
	if s.depth++; s.depth > maxDepth {
		return s.bad("the value is nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	s.pos++
	err := read(resolve(s.registry, schema))
	s.depth--
	return err
}

func (s *scanner) object(schema *huma.Schema) error {
	var names nameSet
	base := len(s.at)
	for first := true; ; first = false {
		s.space()
		switch c := s.peek(); {
		case first && c == '}':
			s.pos++
			return nil
		case c != '"':
			return s.bad("expected a name in quotes")
		}
		raw, escaped, err := s.text()
		if err != nil {
			return err
		}
		name := string(raw)
		if escaped {
			if err := json.Unmarshal([]byte(`"`+name+`"`), &name); err != nil {
				return s.bad("invalid escape in a name")
			}
		}
		if !names.add(name) {
			return s.bad("duplicate name in an object")
		}
		if s.space(); s.peek() != ':' {
			return s.bad("expected a colon")
		}
		s.pos++
		s.at = append(append(s.at, '/'), escape(name)...)
		if err := s.value(s.member(schema, name)); err != nil {
			return err
		}
		s.at = s.at[:base]
		more, err := s.more('}')
		if !more {
			return err
		}
	}
}

func (s *scanner) array(schema *huma.Schema) error {
	var items *huma.Schema
	if schema != nil {
		items = schema.Items
	}
	base := len(s.at)
	for i := 0; ; i++ {
		if s.space(); i == 0 && s.peek() == ']' {
			s.pos++
			return nil
		}
		s.at = strconv.AppendInt(append(s.at, '/'), int64(i), 10)
		if err := s.value(items); err != nil {
			return err
		}
		s.at = s.at[:base]
		more, err := s.more(']')
		if !more {
			return err
		}
	}
}

// more reads the comma or the closing bracket after a member, and reports whether
// another member follows.
func (s *scanner) more(end byte) (bool, error) {
	s.space()
	switch s.peek() {
	case ',':
		s.pos++
		return true, nil
	case end:
		s.pos++
		return false, nil
	default:
		return false, s.bad("expected a comma or the end of the value")
	}
}

// member returns the schema of the named member, or nil if any value is accepted. It rejects names
// that are not in the schema. encoding/json would accept "Title" for "title". If both were present,
// it would use the last one, even if huma had validated the other.
func (s *scanner) member(schema *huma.Schema, name string) *huma.Schema {
	if schema == nil || schema.Type != huma.TypeObject {
		return nil
	}
	if m, ok := schema.Properties[name]; ok {
		return m
	}
	switch further := schema.AdditionalProperties.(type) {
	case *huma.Schema:
		return further
	case bool:
		if further {
			return nil
		}
	}
	for known := range schema.Properties {
		if strings.EqualFold(known, name) {
			s.refuse("Unknown field. Did you mean " + known + "?")
			return nil
		}
	}
	s.refuse("Unknown field.")
	return nil
}

// text reads a string. It returns the bytes between the quotes, and whether they
// contain escapes.
func (s *scanner) text() (raw []byte, escaped bool, err error) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start : s.pos-1], escaped, nil
		case c < ' ':
			return nil, false, s.bad("control character in a string")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.pos++
		}
	}
	return nil, false, s.bad("unterminated string")
}

// escape reads one escape sequence, or the two sequences of a surrogate pair.
func (s *scanner) escape() error {
	s.pos++
	c := s.peek()
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return s.bad("invalid escape in a string")
	}
	r, ok := s.hex()
	switch {
	case !ok:
		return s.bad("incomplete escape in a string")
	case r == 0:
		// PostgreSQL cannot store it, and SQLite would truncate the text.
		return s.bad("NUL in a string")
	case r >= 0xDC00 && r <= 0xDFFF:
		return s.bad("unpaired surrogate in a string")
	case r < 0xD800 || r > 0xDBFF:
		return nil
	}
	if s.peek() == '\\' && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		s.pos += 2
		if low, ok := s.hex(); ok && low >= 0xDC00 && low <= 0xDFFF {
			return nil
		}
	}
	return s.bad("unpaired surrogate in a string")
}

func (s *scanner) hex() (r rune, ok bool) {
	if s.pos+4 > len(s.data) {
		return 0, false
	}
	for range 4 {
		c := s.data[s.pos]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
		s.pos++
	}
	return r, true
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	whole := s.digits()
	if whole == 0 || (whole > 1 && s.data[s.pos-whole] == '0') {
		return s.bad("invalid number")
	}
	if s.peek() == '.' {
		if s.pos++; s.digits() == 0 {
			return s.bad("invalid number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return s.bad("invalid number")
		}
	}
	return nil
}

// fits rejects a number that its Go type cannot hold. The scanner checks this itself, so that the error can name the
// number's JSON pointer. Short numbers without a decimal point or exponent always fit.
func (s *scanner) fits(schema *huma.Schema, number []byte) {
	if schema == nil || (len(number) <= 15 && !bytes.ContainsAny(number, ".eE")) {
		return
	}
	schema = resolve(s.registry, schema)
	if schema == nil {
		return
	}
	switch schema.Type {
	case huma.TypeInteger:
		if _, err := strconv.ParseInt(string(number), 10, 64); err != nil {
			s.refuse("It must be a 64-bit integer without a decimal point or exponent.")
		}
	case huma.TypeNumber:
		if _, err := strconv.ParseFloat(string(number), 64); err != nil {
			s.refuse("The number is out of range.")
		}
	}
}

func (s *scanner) digits() (n int) {
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
		n++
	}
	return n
}

// nameSet is the set of names in one object. It is a slice while it is small, then a
// map.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

func (n *nameSet) add(name string) (fresh bool) {
	if n.many == nil {
		if slices.Contains(n.few, name) {
			return false
		}
		if n.few = append(n.few, name); len(n.few) <= 16 {
			return true
		}
		n.many = make(map[string]struct{}, 2*len(n.few))
		for _, f := range n.few {
			n.many[f] = struct{}{}
		}
		return true
	}
	if _, ok := n.many[name]; ok {
		return false
	}
	n.many[name] = struct{}{}
	return true
}

// escape escapes a name for use in a JSON pointer (RFC 6901).
func escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// resolve follows the references of a schema. For a nullable schema it returns the
// alternative that is not null. It returns nil for a schema that accepts anything.
func resolve(r huma.Registry, s *huma.Schema) *huma.Schema {
	for s != nil {
		switch {
		case s.Ref != "":
			s = r.SchemaFromRef(s.Ref)
		case len(s.AnyOf) == 2 && s.AnyOf[1].Type == typeNull:
			s = s.AnyOf[0]
		default:
			return s
		}
	}
	return nil
}

// typeNull is the JSON schema type null. huma has no constant for it.
const typeNull = "null"

// nullable reports whether the schema accepts null.
func nullable(r huma.Registry, s *huma.Schema) bool {
	for s != nil && s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	if s == nil || s.Nullable || s.Type == typeNull {
		return true
	}
	for _, c := range s.AnyOf {
		if nullable(r, c) {
			return true
		}
	}
	return s.Type == "" && len(s.AnyOf) == 0 && len(s.OneOf) == 0 && len(s.AllOf) == 0
}
