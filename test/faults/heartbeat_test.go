package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// Heartbeat runs are hidden from users but cost tokens, so a client that tracks usage must
// find them.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	works(t, c, "run-1")
	asked, err := c.Turns(t.Context(), "agent:cto:main", 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	runID, err := r.Heartbeat("cto")
	if err != nil {
		t.Fatal(err)
	}
	var kept []gateway.Turn
	for late := time.Now().Add(patience); len(kept) < len(asked.Turns)+2; <-time.After(time.Millisecond) {
		if kept, err = c.RawTurns(t.Context(), "agent:cto:main", 100); err != nil || time.Now().After(late) {
			t.Fatalf("%d rows, %v", len(kept), err)
		}
	}
	question, answer := kept[len(kept)-2], kept[len(kept)-1]
	if question.Role != "user" || question.Origin != "heartbeat" || answer.RunID != runID || answer.Usage == nil || answer.Usage.Output == 0 {
		t.Errorf("asked %+v, answered %+v", question, answer)
	}
	shown, err := c.Turns(t.Context(), strings.ToUpper("agent:cto:main"), 10, 0)
	if err != nil || len(shown.Turns) != len(asked.Turns) || shown.Total != asked.Total+2 || slices.Contains(shown.Seqs, answer.Seq) {
		t.Errorf("shows %d of %d rows: %v, %v", len(shown.Turns), shown.Total, shown.Seqs, err)
	}
	if some, err := c.RawTurns(t.Context(), "agent:cto:main", 1); err != nil || len(some) != 1 || some[0].Seq != answer.Seq {
		t.Errorf("the newest row is %+v, %v", some, err)
	}
	if none, err := c.RawTurns(t.Context(), "agent:cto:nobody", 10); err != nil || len(none) != 0 {
		t.Errorf("an unknown session has %d rows, %v", len(none), err)
	}
	r.RemoveMethods("sessions.get")
	if _, err := c.RawTurns(t.Context(), "agent:cto:main", 1); !errors.Is(err, link.ErrRefused) || !slices.Contains(lacks(c), "sessions.get") {
		t.Errorf("without the method: %v, lacks %v", err, lacks(c))
	}
	if _, err := r.Heartbeat("nobody"); err == nil {
		t.Error("Heartbeat accepted an unknown agent")
	}
}
