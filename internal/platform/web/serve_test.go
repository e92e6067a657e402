package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/platform/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is the service on a real socket.
func (s *toys) served(t *testing.T, grace time.Duration) (addr string, stop func() error) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- web.Serve(ctx, ln, s.Handler(), slog.New(slog.DiscardHandler), grace) }()
	t.Cleanup(end)
	return ln.Addr().String(), func() error { end(); return <-done }
}

// get asks for path and hands over what came back, or the error, as text.
func get(addr, path string) <-chan string {
	c := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			c <- "error: " + err.Error()
			return
		}
		tr := &http.Transport{DisableKeepAlives: true}
		defer tr.CloseIdleConnections()
		res, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			c <- "error: " + err.Error()
			return
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		c <- fmt.Sprintf("%d %s %v", res.StatusCode, body, err)
	}()
	return c
}

// A deployment must not cut off the request that is being answered.
func TestServeGraceful(t *testing.T) {
	t.Parallel()
	t.Run("lets requests finish", func(t *testing.T) {
		s := newToys(t)
		addr, stop := s.served(t, time.Minute)
		answer := get(addr, "/api/v1/slow")
		<-s.started
		if err := stop(); err != nil {
			t.Errorf("stopped with %v", err)
		}
		// A handler that listens to Stopping ends its wait by itself.
		if got := <-answer; !strings.Contains(got, `"said":"stopping"`) {
			t.Errorf("got %s", got)
		}
		if got := <-get(addr, "/health"); !strings.HasPrefix(got, "error:") {
			t.Errorf("after the end it still answers %s", got)
		}
	})
	t.Run("cuts off what runs past the grace, and says so", func(t *testing.T) {
		release := make(chan struct{})
		started := make(chan struct{})
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(started)
			<-r.Context().Done() // only the end of the grace ends it
			close(release)
		})
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- web.Serve(ctx, ln, h, slog.New(slog.DiscardHandler), time.Millisecond) }()
		answer := get(ln.Addr().String(), "/")
		<-started
		end()
		<-release
		if err := <-done; err == nil {
			t.Error("nothing was said")
		}
		// The handler had its moment to end by itself.
		if got := <-answer; !strings.HasPrefix(got, "200") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("says why it cannot serve", func(t *testing.T) {
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		if err := web.Serve(t.Context(), ln, http.NotFoundHandler(), slog.New(slog.DiscardHandler), time.Second); err == nil {
			t.Error("it served a closed listener")
		}
	})
}

// say sends raw bytes and reads one answer: its status, its body, and whether
// the server closes the connection after it.
func say(t *testing.T, addr, text string) (status int, body string, closes bool) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all), res.Close
}

// Somebody who sends a body byte by byte, or never, must not hold us.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := newToys(t, func(o *web.Options) { o.BodyTimeout = 20 * time.Millisecond })
	addr, stop := s.served(t, time.Second)
	head := "POST /api/v1/toys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer owner\r\nContent-Length: 100\r\n\r\n"
	if status, body, _ := say(t, addr, head+`{"name`); status != http.StatusRequestTimeout || !strings.Contains(body, `"body_timeout"`) {
		t.Errorf("got %d %s", status, body)
	}
	// Nor with a body that no route reads.
	if status, _, _ := say(t, addr, strings.Replace(head, "Bearer owner", "", 1)); status != http.StatusUnauthorized {
		t.Errorf("got %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// deadlines notes what is set on the connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = append(d.write, at)
	return nil
}

// The time for a body must not end a request whose answer takes longer: when
// it is read, its deadline is lifted. The server's deadline for the answer is
// moved for a route that waits.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	close(s.release)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	before := time.Now()
	s.Handler().ServeHTTP(d, newRequest(t, "POST", "/api/v1/waits", strings.NewReader("{}")))
	if d.Code != 200 || len(d.read) != 2 || d.read[0].Sub(before) < 14*time.Second || !d.read[1].IsZero() {
		t.Errorf("%d, read deadlines %v", d.Code, d.read)
	}
	if len(d.write) != 1 || d.write[0].Sub(before) < 2*time.Minute {
		t.Errorf("write deadlines %v", d.write)
	}
	d = &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s.Handler().ServeHTTP(d, newRequest(t, "GET", "/api/v1/toys/7", nil))
	if d.Code != 200 || len(d.read)+len(d.write) != 0 {
		t.Errorf("%d, an ordinary request sets %v, %v", d.Code, d.read, d.write)
	}
}
