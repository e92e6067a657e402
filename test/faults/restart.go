package faults

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"

	"wardroom/internal/gateway/demo"
)

// Drop disconnects all clients without a close frame, as if a cable had been unplugged.
// Runs continue, and the port still accepts connections. Drop returns when the
// connections are gone.
func (r *Runtime) Drop() { cut(r.connected(nil)) }

// cut disconnects clients without a close frame, and waits until they are gone.
func cut(list []*connection) {
	for _, c := range list {
		c.conn.Cut()
		<-c.conn.Done()
	}
}

// Restart simulates a worst-case gateway restart. All clients get a shutdown event and are
// disconnected with close code 1012. The port refuses connections for the duration down. Then the
// runtime starts again with a new boot id. Transcripts are kept, but runs, stored idempotency keys
// and pending agent.wait requests are lost. An active run leaves an unanswered question in the
// transcript. A queued run leaves nothing, and its caller gets an error saying that the gateway is
// draining.
//
// Restart returns when the port is closed or, if down is zero, when the port is open again.
func (r *Runtime) Restart(down time.Duration) {
	if r.frozen.Load() != nil {
		r.Drop() // a frozen connection would never send the close frame
	}
	interrupted, running := r.Stop(object{"reason": "gateway restarting", "restartExpectedMs": 1500})
	if !running {
		return
	}
	r.mu.Lock()
	r.boots++
	for _, run := range interrupted {
		if r.faults.resume > 0 {
			r.interrupted[run.SessionKey] = run
		}
	}
	r.mu.Unlock()
	if down <= 0 {
		r.reopen()
		return
	}
	r.work.Go(func() {
		if sleep(r.ctx, down) == nil {
			r.reopen()
		}
	})
}

// reopen starts the simulated gateway again, on the same address as before. It retries
// until the port is free or the runtime closes. Then it lets interrupted turns resume.
func (r *Runtime) reopen() {
	for {
		var config net.ListenConfig
		ln, err := config.Listen(r.ctx, "tcp", strings.TrimPrefix(r.Runtime.URL(), "http://"))
		if err == nil {
			r.Boot(ln)
			break
		}
		if sleep(r.ctx, 10*time.Millisecond) != nil {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	boot, after := r.boots, r.faults.resume
	for _, run := range r.interrupted {
		r.work.Go(func() {
			if sleep(r.ctx, after) == nil {
				r.resume(boot, run)
			}
		})
	}
}

// sleep waits for the duration d. If ctx ends first, it returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What follows simulates the real gateway's recovery of turns that a restart interrupted
// (main-session-restart-recovery, OpenClaw 2026.9.6): the gateway resumes them by itself,
// as a new run in the same session.

// recoveryText is the message that precedes a resumed turn in the transcript.
// recoveryTool is the tool that the transcript names as the source of that message.
const (
	recoveryText = "[system] Your previous turn was interrupted by a gateway restart. Continue from the existing transcript."
	recoveryTool = "main_session_restart_recovery"
)

// errSessionChanged is the error for a request that arrived before the session's
// interrupted turn was resumed.
const errSessionChanged = `Session %q changed while starting work. Retry. | SESSION_WORK_START_CHANGED`

// Resume sets how long after a restart the runtime resumes interrupted turns, counted from when its port is open
// again. The real gateway took 3 s. Zero turns resuming off.
//
// A request that arrives before that time is accepted, but fails when the turn resumes, because the session has
// changed. It leaves nothing in the transcript, and repeating it with the same idempotency key returns the same
// failure.
func (r *Runtime) Resume(after time.Duration) {
	r.change(func(f *faults) { f.resume = max(0, after) })
}

// Held reports whether a session has an interrupted turn that was not resumed yet.
func (b behavior) Held(sessionKey string) bool {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	_, held := b.r.interrupted[sessionKey]
	return held
}

// resume ends the session's queued requests with an error and restarts its interrupted
// turn, unless the gateway was restarted again since the given boot.
func (r *Runtime) resume(boot int, run demo.Run) {
	r.mu.Lock()
	current := boot == r.boots
	r.mu.Unlock()
	if !current {
		return
	}
	// The turn stays interrupted if the gateway is stopped now.
	_ = r.Prompt(demo.Prompt{
		RunID: uuid.NewString(), SessionKey: run.SessionKey, Message: run.Message, Shown: recoveryText, Tool: recoveryTool,
		Instead: fmt.Sprintf(errSessionChanged, run.SessionKey),
	})
}
