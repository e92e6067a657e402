package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An outage is logged with two lines, not one for each failed request.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var gone atomic.Bool
		back := 0
		d := new(DB)
		d.LogOutages(slog.New(slog.NewTextHandler(&log, nil)))
		check := func(context.Context) error {
			if gone.Load() {
				return io.EOF
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		go d.WatchOutages(ctx, check, func() { back++ })
		if d.Away("requests", errors.New("syntax error")) || d.Away("requests", nil) {
			t.Error("an invalid query counts as an outage")
		}
		for range 2 {
			log.Reset()
			gone.Store(true)
			for range 100 {
				if !d.Away("requests", fmt.Errorf("look up: %w", io.ErrUnexpectedEOF)) || !d.Away("background work", io.EOF) {
					t.Error("a broken connection does not count as an outage")
				}
			}
			time.Sleep(time.Minute - retryInterval/2) // between two checks
			gone.Store(false)
			d.Away("requests", io.EOF)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], "database unavailable") || !strings.Contains(lines[0], "broke") ||
				!strings.Contains(lines[1], "database available again") || !strings.Contains(lines[1], "after=1m3s requests=101 background_work=100") {
				t.Errorf("the log is\n%s", log.String())
			}
		}
		if back != 2 {
			t.Errorf("recovered was called %d times", back)
		}
		cancel()
		synctest.Wait()
		log.Reset()
		for _, waited := range []string{"", "database unavailable"} { // a change that waits since the outage, and one that began after it
			if !d.Away("requests", fmt.Errorf("begin: %w", ErrBusy)) || !strings.Contains(log.String(), waited) || waited == "" && log.Len() > 0 {
				t.Errorf("want %q, the log is %q", waited, log.String())
			}
			time.Sleep(TurnTimeout)
		}
	})
}
