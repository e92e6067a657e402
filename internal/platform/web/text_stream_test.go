package web_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// newMinutes returns streams with a text at the same path that sends what say
// contains.
func newMinutes(t *testing.T, change ...func(*web.Options)) *streams {
	t.Helper()
	s := &streams{toys: newToys(t, change...), say: make(chan string), ended: make(chan error, 8)}
	web.Text(s.API, "/news", actor.DeleteTasks, "Minutes", func(ctx context.Context, _ *struct{}) (web.Writing, error) {
		return func(say func(string) error) {
			err := say("hello\n")
			for err == nil {
				select {
				case <-ctx.Done():
					err = ctx.Err()
				case text := <-s.say:
					err = say(text)
				}
			}
			s.ended <- err
		}, nil
	})
	return s
}

// A caller whose account is closed while it follows a standup must receive no further
// text.
func TestTextAfterLosingAccess(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	s := newMinutes(t, func(o *web.Options) {
		before := o.Authenticate
		o.Authenticate = func(ctx context.Context, token string) (actor.Actor, error) {
			if gone.Load() {
				return actor.Actor{}, errToken
			}
			return before(ctx, token)
		}
	})
	addr, _ := s.served(t, time.Minute)
	res := s.listen(t, addr, http.MethodGet, "")
	readText(t, res.body, "hello\n")
	s.tell(t, "all is well\n")
	readText(t, res.body, "all is well\n")
	gone.Store(true)
	s.tell(t, "a secret\n")
	if err := s.wantEnd(t); !errors.Is(err, errToken) {
		t.Errorf("it ended with %v", err)
	}
	if rest, err := io.ReadAll(res.body); err != nil || len(rest) > 0 {
		t.Errorf("then came %q, %v", rest, err)
	}
}

// A client that does not read must not block its goroutine for the length of a
// standup.
func TestTextStuck(t *testing.T) {
	t.Parallel()
	s := newMinutes(t, func(o *web.Options) { o.SendTimeout = 500 * time.Millisecond })
	addr, _ := s.served(t, time.Minute)
	raw(t, addr, http.MethodGet)
	s.tell(t, strings.Repeat("~", 64<<20)) // more than network buffers hold
	var timeout net.Error
	if err := s.wantEnd(t); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the write ended with %v", err)
	}
}
