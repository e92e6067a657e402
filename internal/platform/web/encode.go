package web

import (
	"bytes"
	"reflect"

	"wardroom/internal/platform/encode"
)

// appending is implemented by outputs that can encode their body with
// encode.Appender.
type appending interface {
	// appendBody appends the body, or returns false if its type is not an
	// encode.Appender.
	appendBody(to []byte) ([]byte, bool)
}

// encodeBody writes an output's body as one line of JSON. It uses encode.Appender if the body's type implements it,
// and encoding/json otherwise. Both produce the same bytes.
func encodeBody(to *bytes.Buffer, out any, body reflect.Value) error {
	if a, ok := out.(appending); ok {
		if text, ok := a.appendBody(to.AvailableBuffer()); ok {
			_, err := to.Write(append(text, '\n'))
			return err
		}
	}
	return marshal(to, body.Addr().Interface())
}

func (t *Tagged[T]) appendBody(to []byte) ([]byte, bool) {
	a, ok := any(&t.Body).(encode.Appender)
	if !ok {
		return to, false
	}
	return a.AppendJSON(to), true
}

func (l *List[T]) appendBody(to []byte) ([]byte, bool) {
	if _, ok := any((*T)(nil)).(encode.Appender); !ok || l.Body == nil {
		return to, false
	}
	to = append(to, '[')
	for i := range l.Body {
		if i > 0 {
			to = append(to, ',')
		}
		a, ok := any(&l.Body[i]).(encode.Appender)
		if !ok {
			return to, false
		}
		to = a.AppendJSON(to)
	}
	return append(to, ']'), true
}
