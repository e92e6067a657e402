package event

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
)

// Queued batches are sent in one write.
func TestStreamSendsABurstAtOnce(t *testing.T) {
	t.Parallel()
	s := &Service{}
	h := s.hub()
	f, _ := h.join(0, 8)
	for id := range int64(3) {
		if n := h.broadcast([]frame{{id: id + 1, class: Activity, topics: []string{TopicTask}, text: []byte{'a' + byte(id)}}}, id+1); n != 1 {
			t.Errorf("handed to %d streams, want 1", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var sent []string
	stream := &Stream{s: s, limits: Limits{}.withDefaults(), who: actor.Actor{ID: "owner"}, seen: time.Now(), send: func(frames []byte) error {
		sent = append(sent, string(frames))
		cancel()
		return nil
	}}
	_ = stream.follow(ctx, f) // ends with ctx
	if len(sent) != 1 || sent[0] != "abc" || stream.pos != 3 {
		t.Errorf("sent %q up to %d, want all in one", sent, stream.pos)
	}
}
