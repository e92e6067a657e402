package archive

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wardroom/internal/transcript"
)

// A transcript is stored in parts. A part ends after partMessages messages or partBytes bytes, so
// that a page can be read without reading the whole transcript.
const (
	partMessages = 100
	partBytes    = 256 << 10
	// sizeMost is the maximum size of a part's JSON in bytes. A message has at
	// most about 600,000 characters.
	sizeMost = 16 << 20
)

// part is a compressed part of a transcript.
type part struct {
	number, first, messages, size int64
	data                          []byte
}

// pack encodes messages into parts. Part numbers start at number, and message indexes at first.
func pack(messages []transcript.Message, number, first int64) ([]part, error) {
	var parts []part
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	n := int64(0)
	end := func() error {
		if n == 0 {
			return nil
		}
		data, err := deflate(text.Bytes())
		if err != nil {
			return err
		}
		parts = append(parts, part{number, first, n, int64(text.Len()), data})
		number, first, n = number+1, first+n, 0
		text.Reset()
		return nil
	}
	for i := range messages {
		if err := e.Encode(&messages[i]); err != nil {
			return nil, fmt.Errorf("pack a message: %w", err)
		}
		if n++; n == partMessages || text.Len() >= partBytes {
			if err := end(); err != nil {
				return nil, err
			}
		}
	}
	return parts, end()
}

func deflate(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress a transcript: %w", err)
	}
	return b.Bytes(), nil
}

// unpack decodes the messages of a part. Its errors do not wrap io.ErrUnexpectedEOF, which means that the database's
// connection broke (db.Unavailable).
func (p part) unpack() ([]transcript.Message, error) {
	if p.size > sizeMost {
		return nil, errors.New("a part of a transcript is too large")
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(p.data)), p.size+1))
	if err != nil || int64(len(text)) != p.size {
		return nil, fmt.Errorf("decompress a transcript: %d of %d bytes: %v", len(text), p.size, err) //nolint:errorlint // see above
	}
	messages := make([]transcript.Message, 0, p.messages)
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var m transcript.Message
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("read an archived message: %v", err) //nolint:errorlint // see above
		}
		messages = append(messages, m)
	}
	if int64(len(messages)) != p.messages {
		return nil, fmt.Errorf("a part of a transcript has %d messages, want %d", len(messages), p.messages)
	}
	return messages, nil
}
