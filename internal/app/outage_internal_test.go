package app

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

// Whoever reads the log in the night must find two lines, not one for each request.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var gone atomic.Bool
		back := 0
		o := newOutage(func(context.Context) error {
			if gone.Load() {
				return io.EOF
			}
			return nil
		}, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		go o.watch(ctx, func() { back++ })
		if o.notice("requests", errors.New("syntax error")) || o.notice("requests", nil) {
			t.Error("a query that is wrong was taken for an outage")
		}
		for range 2 {
			log.Reset()
			gone.Store(true)
			for range 100 {
				if !o.notice("requests", fmt.Errorf("look up: %w", io.ErrUnexpectedEOF)) || !o.notice("background work", io.EOF) {
					t.Error("a broken connection was not taken for an outage")
				}
			}
			time.Sleep(time.Minute - askAgain/2) // between two of its questions
			gone.Store(false)
			o.notice("requests", io.EOF)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], "database unavailable") || !strings.Contains(lines[0], "broke") ||
				!strings.Contains(lines[1], "database available again") || !strings.Contains(lines[1], "after=1m3s requests=101 background_work=100") {
				t.Errorf("the log says\n%s", log.String())
			}
		}
		if back != 2 {
			t.Errorf("it was told %d times that it is back", back)
		}
		cancel()
		synctest.Wait()
	})
}
