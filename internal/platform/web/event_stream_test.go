package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

var errFull = fault.New(fault.Throttled, "too_many_streams", "Too many live streams are open.")

// streams is the toy API with a stream that sends what say contains and then stays
// open.
type streams struct {
	*toys
	say   chan string
	ended chan error // error of send, or of ctx
}

func newStreams(t *testing.T, change ...func(*web.Options)) *streams {
	t.Helper()
	s := &streams{toys: newToys(t, change...), say: make(chan string), ended: make(chan error, 8)}
	type input struct {
		Full bool `query:"full" doc:"Answers that there is no place."`
	}
	web.Stream(s.API, "/news", actor.DeleteTasks, "News", func(_ context.Context, in *input) (web.Streaming, error) {
		if in.Full {
			return nil, errFull.After(3 * time.Second)
		}
		return s.stream, nil
	}, web.Fails(errFull))
	return s
}

func (s *streams) stream(ctx context.Context, send func([]byte) error) {
	err := send([]byte(": hello\n\n"))
	for err == nil {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case text := <-s.say:
			if text == "again" {
				who, failed := web.Reauthenticate(ctx)
				text = fmt.Sprintf("data: %s %v\n\n", who.ID, failed)
			}
			err = send([]byte(text))
		}
	}
	s.ended <- err
}

// tell makes the stream send text.
func (s *streams) tell(t *testing.T, text string) {
	t.Helper()
	select {
	case s.say <- text:
	case err := <-s.ended:
		t.Fatalf("the stream ended: %v", err)
	}
}

// heard is a response that may not have ended; the test closes it.
type heard struct {
	status int
	header http.Header
	body   io.ReadCloser
}

// listen opens the stream.
func (s *streams) listen(t *testing.T, addr, method, query string, headers ...string) heard {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/api/v1/news"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return heard{res.StatusCode, res.Header, res.Body}
}

func (s *streams) wantEnd(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the stream did not end")
		return nil
	}
}

func readText(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Errorf("read %q, %v; want %q", got, err, want)
	}
}

// The dashboard depends on this connection: each event must arrive at once, through
// proxies and for pages of another origin, for longer than any other response may
// take.
func TestStream(t *testing.T) {
	t.Parallel()
	t.Run("sends each piece at once, past the limit of other routes", func(t *testing.T) {
		s := newStreams(t, func(o *web.Options) {
			o.RequestTimeout, o.CORSOrigin = 50*time.Millisecond, "https://ops.example.com"
		})
		addr, stop := s.served(t, time.Minute)
		res := s.listen(t, addr, http.MethodGet, "", "Origin", "https://ops.example.com", "Last-Event-ID", "5")
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "",
			"Access-Control-Allow-Origin": "https://ops.example.com", "X-Content-Type-Options": "nosniff",
		} {
			if got := res.header.Get(name); got != want || res.status != http.StatusOK {
				t.Errorf("%d, %s: %q, want %q", res.status, name, got, want)
			}
		}
		readText(t, res.body, ": hello\n\n")
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); { // twice the time limit
			s.tell(t, "data: x\n\n")
			readText(t, res.body, "data: x\n\n")
		}
		s.tell(t, "again")
		readText(t, res.body, "data: id-of-admin <nil>\n\n")
		_ = res.body.Close()
		if err := s.wantEnd(t); !errors.Is(err, context.Canceled) {
			t.Errorf("after the caller left: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(s.log.String(), `"route":"/api/v1/news"`); n != 1 || !strings.Contains(s.log.String(), `"status":200`) {
			t.Errorf("%d lines: %s", n, s.log)
		}
	})
	t.Run("answers problems before it begins", func(t *testing.T) {
		s := newStreams(t)
		addr, _ := s.served(t, time.Minute)
		res := s.listen(t, addr, http.MethodGet, "?full=true")
		body, err := io.ReadAll(res.body)
		if err != nil || res.status != http.StatusTooManyRequests || res.header.Get("Retry-After") != "3" || !strings.Contains(string(body), "too_many_streams") {
			t.Errorf("%d %v %s %v", res.status, res.header, body, err)
		}
		if res := s.listen(t, addr, http.MethodGet, "", "Authorization", "Bearer user"); res.status != http.StatusForbidden {
			t.Errorf("who may not read it got %d", res.status)
		}
	})
	t.Run("ends at once for HEAD", func(t *testing.T) {
		s := newStreams(t)
		addr, _ := s.served(t, time.Minute)
		c := raw(t, addr, "HEAD") // stays open, like in a connection pool
		res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodHead})
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%v, %v", res, err)
		}
		_ = res.Body.Close()
		if err := s.wantEnd(t); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("ends when the server stops", func(t *testing.T) {
		s := newStreams(t)
		addr, stop := s.served(t, time.Minute)
		res := s.listen(t, addr, http.MethodGet, "")
		readText(t, res.body, ": hello\n\n")
		if err := stop(); err != nil {
			t.Error(err)
		}
		if rest, err := io.ReadAll(res.body); err != nil || len(rest) > 0 {
			t.Errorf("then came %q, %v: an end that looks like an accident", rest, err)
		}
	})
	t.Run("is in the document as what it is", func(t *testing.T) {
		if doc := newStreams(t).Document(); !bytes.Contains(doc, []byte(`"text/event-stream"`)) {
			t.Error("it is not")
		}
	})
}

// raw opens the stream on a separate connection and reads nothing from it.
func raw(t *testing.T, addr, method string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, method+" /api/v1/news HTTP/1.1\r\nHost: y\r\nAuthorization: Bearer admin\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that does not read must not block its goroutine forever, nor the
// shutdown.
func TestStreamStuck(t *testing.T) {
	t.Parallel()
	stuck := func(t *testing.T, s *streams, addr string) {
		t.Helper()
		c := raw(t, addr, "GET")
		s.tell(t, strings.Repeat("~", 64<<20)) // more than network buffers hold
		for r := bufio.NewReaderSize(c, 16); ; {
			b, err := r.ReadByte()
			if err != nil {
				t.Fatal(err)
			}
			if b == '~' {
				return // the write has started
			}
		}
	}
	t.Run("is noticed", func(t *testing.T) {
		s := newStreams(t, func(o *web.Options) { o.SendTimeout = 2 * time.Second }) // the frames before this one must get through on a busy machine
		addr, _ := s.served(t, time.Minute)
		stuck(t, s, addr)
		var timeout net.Error
		if err := s.wantEnd(t); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("the write ended with %v", err)
		}
	})
	t.Run("does not hold up the stop", func(t *testing.T) {
		s := newStreams(t, func(o *web.Options) { o.SendTimeout = time.Minute })
		addr, stop := s.served(t, time.Minute)
		stuck(t, s, addr)
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}
