package web

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/fault"
)

// maxDepth bounds how deep arrays and objects may lie in each other. Our own
// inputs need four.
const maxDepth = 64

// scanner reads JSON more strictly than encoding/json does, without building
// anything. Along the way it compares the body with its schema in the two
// respects that huma lets pass: names that differ in case, and null where the
// schema has no null.
type scanner struct {
	data     []byte
	pos      int
	depth    int
	at       []byte // the JSON pointer of the current value
	registry huma.Registry
	fields   fault.Fields
}

// document reads all of data. A nil schema accepts any value.
func (s *scanner) document(schema *huma.Schema) error {
	if !utf8.Valid(s.data) {
		return errJSON.With("It is not valid UTF-8.")
	}
	if err := s.value(schema); err != nil {
		return err
	}
	if s.space(); s.pos < len(s.data) {
		return s.bad("something follows the end of the value")
	}
	return nil
}

// bad says where and what, and never what was there.
func (s *scanner) bad(what string) error {
	return errJSON.With("At byte %d %s.", s.pos, what)
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

// peek is the next byte, or 0 at the end; a NUL is no JSON either.
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
			s.refuse("It may not be null.")
		}
		return s.word("null")
	default:
		return s.bad("a value is missing")
	}
}

func (s *scanner) word(w string) error {
	if !strings.HasPrefix(string(s.data[s.pos:min(len(s.data), s.pos+len(w))]), w) {
		return s.bad("there is a word that JSON does not have")
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
			return s.bad("a name in quotes is missing")
		}
		raw, escaped, err := s.text()
		if err != nil {
			return err
		}
		name := string(raw)
		if escaped {
			if err := json.Unmarshal([]byte(`"`+name+`"`), &name); err != nil {
				return s.bad("a name cannot be read")
			}
		}
		if !names.add(name) {
			return s.bad("an object has the same name twice")
		}
		if s.space(); s.peek() != ':' {
			return s.bad("a colon is missing")
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

// more reads what follows a member: a comma, or the end.
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
		return false, s.bad("a comma or the end of the value is missing")
	}
}

// member is the schema of an object's member, or nil. It refuses names that
// the schema does not have. encoding/json would take "Title" for "title", and
// of both the last, of which huma has checked perhaps the other.
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
			s.refuse("There is no such field; did you mean " + known + "?")
			return nil
		}
	}
	s.refuse("There is no such field.")
	return nil
}

// text reads a string and returns what is between its quotes, and whether that
// has escapes.
func (s *scanner) text() (raw []byte, escaped bool, err error) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start : s.pos-1], escaped, nil
		case c < ' ':
			return nil, false, s.bad("a string has a control character")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.pos++
		}
	}
	return nil, false, s.bad("a string has no end")
}

// escape reads one escape, or the two that make one character.
func (s *scanner) escape() error {
	s.pos++
	c := s.peek()
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return s.bad("a string has an escape that JSON does not have")
	}
	r, ok := s.hex()
	switch {
	case !ok:
		return s.bad("a string has an unfinished escape")
	case r == 0:
		// PostgreSQL cannot store it, and SQLite would cut the text there.
		return s.bad("a string has a NUL")
	case r >= 0xDC00 && r <= 0xDFFF:
		return s.bad("a string has half of a surrogate pair")
	case r < 0xD800 || r > 0xDBFF:
		return nil
	}
	if s.peek() == '\\' && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		s.pos += 2
		if low, ok := s.hex(); ok && low >= 0xDC00 && low <= 0xDFFF {
			return nil
		}
	}
	return s.bad("a string has half of a surrogate pair")
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
		return s.bad("a number is not written as JSON writes it")
	}
	if s.peek() == '.' {
		if s.pos++; s.digits() == 0 {
			return s.bad("a number is not written as JSON writes it")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return s.bad("a number is not written as JSON writes it")
		}
	}
	return nil
}

// fits refuses numbers that their Go type will not hold, here where their
// pointer is known. Short ones without a point or an exponent always fit.
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
			s.refuse("It must be a whole number of at most 64 bits, without a point or an exponent.")
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

// nameSet is the names of one object. Small ones are a list; a large one would
// make that slow, and is a map.
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

// escape makes a name a token of a JSON pointer (RFC 6901).
func escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// resolve follows references. Of a value that may be null it is the other
// choice. It is nil where anything goes.
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

// typeNull is the type that huma has no constant for.
const typeNull = "null"

// nullable reports whether the schema has null.
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
