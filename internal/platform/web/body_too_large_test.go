package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/web"
)

// spaces returns a body of that many bytes that is valid JSON.
func spaces(n int) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte(" "), n)) }

// onlyReader hides the length of a body, so that it is sent in chunks.
type onlyReader struct{ io.Reader }

// A client that sends the whole body before it reads must get the 413, not a broken
// connection.
func TestTooLargeIsTold(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	addr, stop := s.served(t, 10*time.Second)
	tr := &http.Transport{ExpectContinueTimeout: 10 * time.Second}
	client := &http.Client{Transport: tr, Timeout: 20 * time.Second}
	send := func(body io.Reader, headers ...string) (status int, code string, closes bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/api/v1/toys", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer owner")
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Errorf("%d bytes: %v", req.ContentLength, err)
			return 0, "", false
		}
		defer res.Body.Close()
		var p struct {
			Code  string
			Limit int64
		}
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil && res.StatusCode >= 400 {
			t.Error(err)
		}
		if p.Code == "too_large" && p.Limit != 1<<20 {
			t.Errorf("the limit is told as %d", p.Limit)
		}
		return res.StatusCode, p.Code, res.Close
	}
	for _, size := range []int{1<<20 + 1, 5 << 20, 8 << 20} {
		for name, body := range map[string]io.Reader{"announced": spaces(size), "in chunks": onlyReader{spaces(size)}} {
			if status, code, closes := send(body); status != http.StatusRequestEntityTooLarge || code != "too_large" || closes {
				t.Errorf("%d bytes %s: %d %s", size, name, status, code)
			}
		}
	}
	// The connection must stay usable.
	if status, _, _ := send(strings.NewReader(`{"name":"a"}`)); status != http.StatusCreated {
		t.Errorf("the next request: %d", status)
	}
	// A client that waits for 100 Continue gets the response before it sends the body.
	unsent := &counted{Reader: spaces(5 << 20)}
	if status, code, _ := send(unsent, "Expect", "100-continue"); status != http.StatusRequestEntityTooLarge || code != "too_large" {
		t.Errorf("in chunks, after asking: %d %s", status, code)
	} else if unsent.n == 0 {
		t.Error("of chunks nobody knows the length, so they have to be read")
	}
	asked := &counted{Reader: spaces(5 << 20)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/api/v1/toys", asked)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 5 << 20
	req.Header.Set("Authorization", "Bearer owner")
	req.Header.Set("Expect", "100-continue")
	if res, err := client.Do(req); err != nil || res.StatusCode != http.StatusRequestEntityTooLarge || asked.n != 0 {
		t.Errorf("after asking: %v, %v, %d bytes sent", res, err, asked.n)
	} else {
		_ = res.Body.Close()
	}
	tr.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// counted counts the bytes read.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// Agents are told to use curl.
func TestTooLargeForCurl(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	addr, stop := s.served(t, 10*time.Second)
	for _, args := range [][]string{nil, {"-H", "Transfer-Encoding: chunked"}, {"-H", "Expect:"}, {"-H", "Transfer-Encoding: chunked", "-H", "Expect:"}, {"-H", "Expect: 100-continue"}, {"--http1.0"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		all := append([]string{"-sS", "-X", "POST", "http://" + addr + "/api/v1/toys", "-H", "Authorization: Bearer owner", "-H", "Content-Type: application/json", "--data-binary", "@-"}, args...)
		c := exec.CommandContext(ctx, "curl", all...)
		c.Stdin = spaces(5 << 20)
		out, err := c.CombinedOutput()
		cancel()
		if err != nil || !strings.Contains(string(out), `"code":"too_large"`) {
			t.Errorf("curl %q: %v %s", args, err, out)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Above mostDiscarded the rest is not read: the response is sent and the connection
// closes.
func TestTooLargeCloses(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	addr, stop := s.served(t, 10*time.Second)
	for name, c := range map[string]struct {
		head string
		send func(w io.Writer) error
	}{
		"announced": {"Content-Length: 1000000000", func(io.Writer) error { return nil }},
		"in chunks": {"Transfer-Encoding: chunked", func(w io.Writer) error {
			for range 20 {
				if _, err := fmt.Fprintf(w, "%x\r\n%s\r\n", 1<<20, strings.Repeat(" ", 1<<20)); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := fmt.Fprintf(conn, "POST /api/v1/toys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer owner\r\n%s\r\n\r\n", c.head); err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		go func() { defer close(sent); _ = c.send(conn) }()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close || !strings.Contains(string(body), "too_large") || strconv.Itoa(len(body)) != res.Header.Get("Content-Length") {
			t.Errorf("%s: %d, closes %t, %s", name, res.StatusCode, res.Close, body)
		}
		_ = conn.Close()
		<-sent // a client that continues to send gets a broken pipe
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A client that stops in the middle of a too large body must not block the server.
func TestTooLargeAndSlow(t *testing.T) {
	t.Parallel()
	s := newToys(t, func(o *web.Options) { o.BodyTimeout = time.Second })
	addr, stop := s.served(t, 10*time.Second)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(conn, "POST /api/v1/toys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer owner\r\nContent-Length: 5000000\r\n\r\n%s", strings.Repeat(" ", 2<<20)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
		t.Errorf("%+v", res)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
