//go:build journey

package realgateway

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Frame is one server-sent event.
type Frame struct {
	ID    string // empty if the frame has none
	Event string
	Data  string
}

// Into decodes the data of the frame into v.
func (f Frame) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(f.Data), v); err != nil {
		t.Fatalf("decode a frame %s: %v\n%s", f.Event, err, f.Data)
	}
}

// Stream collects the frames that a client of GET /api/v1/events receives.
type Stream struct {
	mu     sync.Mutex
	frames []Frame
}

// Frames returns all frames received so far, oldest first.
func (s *Stream) Frames() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// Follow opens a stream of events about the given topics, such as "task,standup". The
// stream stays open until the test or the service ends.
func (c Client) Follow(t testing.TB, topics string) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/api/v1/events?topics="+topics, http.NoBody)
	if err != nil {
		cancel()
		t.Fatalf("follow the events: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the reading goroutine closes it
	if err != nil {
		cancel()
		t.Fatalf("follow the events: %v", err)
	}
	s, ended := &Stream{}, make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		defer res.Body.Close()
		s.read(bufio.NewScanner(res.Body))
	}()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("follow the events: status %d", res.StatusCode)
	}
	return s
}

// read collects frames until the stream ends.
func (s *Stream) read(lines *bufio.Scanner) {
	lines.Buffer(nil, 4<<20)
	var f Frame
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if f.Event != "" {
				s.mu.Lock()
				s.frames = append(s.frames, f)
				s.mu.Unlock()
			}
			f = Frame{}
		case name == "id":
			f.ID = value
		case name == "event":
			f.Event = value
		case name == "data":
			f.Data += value
		}
	}
}
