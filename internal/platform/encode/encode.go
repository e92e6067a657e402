// Package encode writes JSON for the few types that the API returns in large numbers.
// The output is the same as that of encoding/json without HTML escaping, but takes a
// fraction of the time. Tests compare the two.
package encode

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Appender is a value that can append its JSON to a buffer. The JSON must be identical to the output of encoding/json
// with SetEscapeHTML(false), without the trailing newline.
type Appender interface {
	AppendJSON(to []byte) []byte
}

const hex = "0123456789abcdef"

// String appends s as a JSON string.
func String[S ~string](to []byte, s S) []byte {
	to = append(to, '"')
	from := 0 // first byte not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			to = escape(append(to, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && size == 1:
			to = append(append(to, s[from:i]...), `\ufffd`...)
			from = i + size
		case r == '\u2028' || r == '\u2029': // line terminators in JavaScript
			to = append(append(to, s[from:i]...), `\u202`...)
			to = append(to, hex[r&15])
			from = i + size
		}
		i += size
	}
	return append(append(to, s[from:]...), '"')
}

// escape appends the escape sequence for a byte that a JSON string cannot contain.
func escape(to []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(to, '\\', c)
	case '\b':
		return append(to, '\\', 'b')
	case '\f':
		return append(to, '\\', 'f')
	case '\n':
		return append(to, '\\', 'n')
	case '\r':
		return append(to, '\\', 'r')
	case '\t':
		return append(to, '\\', 't')
	}
	return append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Optional appends s as a JSON string, or null if s is nil.
func Optional[S ~string](to []byte, s *S) []byte {
	if s == nil {
		return append(to, "null"...)
	}
	return String(to, *s)
}

// Int appends a number as JSON.
func Int(to []byte, n int64) []byte { return strconv.AppendInt(to, n, 10) }

// Time appends a time in the API's format: UTC with milliseconds.
func Time(to []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(to, '"'), "2006-01-02T15:04:05.000Z07:00"), '"')
}
