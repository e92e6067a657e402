package demo

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// The gateway keeps at most 1,000 runs.
func TestRunLimit(t *testing.T) {
	t.Parallel()
	b := &boot{runs: map[string]*run{}}
	now := time.UnixMilli(1_795_161_590_000)
	for i := range maxRuns + 10 {
		b.store(&run{id: fmt.Sprint(i), ended: true, endedAt: now.UnixMilli() + int64(i)}, now)
	}
	if len(b.runs) != maxRuns || b.find("9", now) != nil || b.find("10", now) == nil {
		t.Errorf("%d runs are stored; the oldest must be removed first", len(b.runs))
	}
	going := &run{id: "going"}
	b.store(going, now.Add(time.Hour))
	if len(b.runs) != 1 {
		t.Errorf("%d runs are stored an hour later", len(b.runs))
	}
}

// A client that doesn't read must not fill the runtime's memory.
func TestBacklog(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &Conn{socket: ours, stop: func() {}, queue: outbox{wake: make(chan struct{}, 1)}}
	for range maxBuffered / (10 << 20) {
		c.enqueue(Packet{Data: make([]byte, 10<<20)})
	}
	if err := theirs.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("cut off at the limit: %v", err)
	}
	if err := theirs.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c.enqueue(Packet{Data: []byte("one more")})
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("past the limit: %v, want the end", err)
	}
}
