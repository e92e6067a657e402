package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/link"
)

func recordedEvents(t *testing.T) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var frames []json.RawMessage
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		frames = append(frames, bytes.Clone(lines.Bytes()))
	}
	if len(frames) < 60 {
		t.Fatalf("only %d events are recorded", len(frames))
	}
	return frames
}

// Every recorded kind of event arrives complete, including unused ones.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	frames := recordedEvents(t)
	subscribed := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		<-subscribed
		for i, f := range frames {
			p.send(with(t, f, "seq", i+1))
		}
		p.gone()
	})
	c := g.connected(t)
	events, stop := c.Events(len(frames) + 1)
	defer stop()
	close(subscribed)
	if e := next(t, events); e.Name != link.EventConnected || !e.Resync || e.BootID != "boot-1" || e.At.IsZero() {
		t.Errorf("a late subscriber first hears %+v", e)
	}
	for i, f := range frames {
		var want struct {
			Event   string
			Payload any
		}
		if err := json.Unmarshal(f, &want); err != nil {
			t.Fatal(err)
		}
		e := next(t, events)
		if e.Name != want.Event || e.Seq != int64(i+1) || e.At.IsZero() || e.BootID != "boot-1" || e.Resync {
			t.Errorf("event %d = %s %d, want %s", i, e.Name, e.Seq, want.Event)
		}
		var got any
		if err := json.Unmarshal(e.Payload, &got); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if diff := cmp.Diff(want.Payload, got); diff != "" {
			t.Errorf("%s lost something (-recorded +got):\n%s", e.Name, diff)
		}
	}
}

// A gap in the numbers is reported as EventGap, even at the start of a connection.
// Repeated and late events are dropped.
func TestEventGap(t *testing.T) {
	t.Parallel()
	tick := recordedEvents(t)[0]
	subscribed := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		<-subscribed
		for _, seq := range []int{2, 2, 1, 3, 7, 5, 8} {
			p.send(with(t, tick, "seq", seq))
		}
		p.gone()
	})
	c := g.connected(t)
	events, stop := c.Events(20)
	defer stop()
	close(subscribed)
	next(t, events) // connected
	var got []int64
	for {
		e := next(t, events)
		if e.Name == link.EventGap {
			if !e.Resync {
				t.Error("the gap does not ask to resync")
			}
			got = append(got, -1)
			continue
		}
		got = append(got, e.Seq)
		if e.Seq == 8 {
			break
		}
	}
	if diff := cmp.Diff([]int64{-1, 2, 3, -1, 7, 8}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A slow subscriber holds up neither the others nor the connection.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	tick := recordedEvents(t)[0]
	subscribed := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		<-subscribed
		for i := range 10 {
			p.send(with(t, tick, "seq", i+1))
		}
		p.gone()
	})
	c := g.connected(t)
	slow, stopSlow := c.Events(3)
	quick, stopQuick := c.Events(20)
	close(subscribed)
	for next(t, quick).Seq != 10 {
	}
	n := 0
	for range slow {
		n++
	}
	if n != 3 {
		t.Errorf("the slow one got %d events before it was dropped, want 3", n)
	}
	stopSlow() // a second call is harmless
	stopQuick()
	if _, open := <-quick; open {
		t.Error("stop leaves the channel open")
	}
}
