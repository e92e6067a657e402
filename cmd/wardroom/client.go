package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"wardroom/internal/platform/plaintext"
)

// Exit statuses of the commands that call the API, in addition to exitFailed and exitUsage.
const (
	exitForbidden   = 3 // not signed in, or not allowed
	exitNotFound    = 4 // no such thing, or no task waits
	exitConflict    = 5 // the state of the board forbids it
	exitUnavailable = 6 // Wardroom cannot be reached or is overloaded
)

// statusError is an error with its exit status.
type statusError struct {
	error

	status int
}

func (e statusError) Unwrap() error { return e.error }

func withStatus(status int, format string, args ...any) error {
	return statusError{fmt.Errorf(format, args...), status}
}

// client calls the API. The key is only read from the environment, because other users of the machine
// can see the flags of a process.
type client struct {
	URL  string `name:"url" env:"WARDROOM_URL" default:"http://127.0.0.1:3000" help:"Wardroom's address. The API key is in WARDROOM_KEY, or else in WARDROOM_API_KEY."`
	JSON bool   `help:"Print the response of the API, one JSON value."`
}

const (
	callTimeout = 30 * time.Second
	attempts    = 3
	maxResponse = 16 << 20
)

// call is a request to the API.
type call struct {
	method, path string
	query        url.Values
	body         any
	key          string // Idempotency-Key; may be empty
}

// answer is a successful response. Its body is nil if there is none.
type answer struct {
	body     []byte
	replayed bool // an earlier request with the same Idempotency-Key had this effect
}

// address returns the address of the API.
func (c client) address() (*url.URL, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, usage(errors.New(
			"--url (WARDROOM_URL) must be an http or https address without a password, such as http://127.0.0.1:3000",
		))
	}
	return u, nil
}

// apiKey returns the key to call the API with.
func apiKey() (string, error) {
	for _, name := range []string{"WARDROOM_KEY", "WARDROOM_API_KEY"} {
		key := os.Getenv(name)
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", usage(fmt.Errorf("%s has characters that no key has. Set it to the key that `wardroom key add` prints",
				name))
		}
		if key != "" {
			return key, nil
		}
	}
	return "", withStatus(exitForbidden,
		"no API key. Create one with `wardroom key add EMAIL --name NAME`, and set WARDROOM_KEY to it")
}

// do sends a request and returns the response. All requests can be repeated safely, so do repeats one
// whose response was lost.
func (c client) do(ctx context.Context, r call) (answer, error) {
	u, err := c.address()
	if err != nil {
		return answer{}, err
	}
	key, err := apiKey()
	if err != nil {
		return answer{}, err
	}
	u = u.JoinPath("api/v1", r.path)
	u.RawQuery = r.query.Encode()
	body, err := json.Marshal(r.body)
	if err != nil {
		return answer{}, err
	}
	for attempt := 1; ; attempt++ {
		got, again, err := send(ctx, u, key, r, body)
		if err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return got, err
		}
		pause := time.NewTimer(time.Duration(attempt) * 200 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// send sends a request once. It reports whether another attempt may succeed soon.
func send(ctx context.Context, u *url.URL, key string, r call, body []byte) (got answer, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var content io.Reader = http.NoBody
	if r.body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), content)
	if err != nil {
		return answer{}, false, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	// A redirect could lead the key to another host.
	res, err := (&http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(req)
	if err != nil {
		return answer{}, true, unreachable(u, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return answer{}, true, unreachable(u, err)
	}
	own := strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json")
	switch {
	case res.StatusCode >= 400 && own:
		return answer{}, res.StatusCode >= 500, problem(res.StatusCode, text)
	case res.StatusCode >= 300 || len(text) > 0 && !json.Valid(text):
		return answer{}, res.StatusCode >= 500, foreign(u, res.StatusCode)
	}
	return answer{text, res.Header.Get("Idempotency-Replayed") == "true"}, false, nil
}

func unreachable(u *url.URL, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the whole address
	}
	if via, bad := http.ProxyFromEnvironment(&http.Request{URL: u}); bad == nil && via != nil {
		return withStatus(exitUnavailable, "could not reach Wardroom at %s://%s through the proxy %s, which %s_PROXY in the environment sets: %w. Add %s to NO_PROXY, or correct the proxy",
			u.Scheme, u.Host, via.Host, strings.ToUpper(u.Scheme), err, u.Hostname())
	}
	return withStatus(exitUnavailable,
		"could not reach Wardroom at %s://%s: %w. Start it, or set WARDROOM_URL to its address", u.Scheme, u.Host, err)
}

// foreign returns the error for a response that is not Wardroom's, such as that of a proxy. It says nothing about
// the key or the caller's role.
func foreign(u *url.URL, status int) error {
	return withStatus(exitUnavailable, "%s does not answer like Wardroom (status %d). Set WARDROOM_URL to Wardroom's address, past any proxy that asks for a sign-in", place(u), status)
}

// place returns the address of Wardroom that leads to the URL of a call.
func place(u *url.URL) string {
	path, _, _ := strings.Cut(u.Path, "api/v1/")
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(path, "/")
}

// advice says what to do about an error of the API that the response itself does not explain.
var advice = map[int]string{
	http.StatusUnauthorized: "Set WARDROOM_KEY to a key that `wardroom key add` prints.",
	http.StatusForbidden:    "Use the key of an agent's account that may do this.",
}

// problem returns the error for a response that is one (RFC 9457).
func problem(status int, body []byte) error {
	var p struct {
		Title, Detail, Code string
		RequestID           string `json:"request_id"`
		Errors              []struct{ Pointer, Detail string }
	}
	if json.Unmarshal(body, &p) != nil || p.Title == "" {
		p.Title = fmt.Sprintf("The response has the status %d.", status)
	}
	parts := []string{p.Title}
	for _, e := range p.Errors {
		parts = append(parts, strings.TrimPrefix(e.Pointer, "/")+": "+e.Detail)
	}
	if len(p.Errors) == 0 && p.Detail != "" {
		parts = append(parts, p.Detail)
	}
	if advice[status] != "" {
		parts = append(parts, advice[status])
	}
	if status == http.StatusInternalServerError && p.RequestID != "" {
		parts = append(parts, "Give the operator the request ID "+p.RequestID+".")
	}
	text := plaintext.Line(strings.Join(parts, " "))
	if p.Code != "" {
		text += " (" + plaintext.Line(p.Code) + ")"
	}
	return withStatus(exitOf(status), "%s", text)
}

// exitOf returns the exit status for a status of HTTP.
func exitOf(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitForbidden
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return exitConflict
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return exitUnavailable
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return exitUsage
	}
	return exitFailed
}

// keyOf returns an Idempotency-Key that is the same for the same content, or a new one if again is set.
func keyOf(again bool, path string, body any) (string, error) {
	if again {
		return rand.Text(), nil
	}
	content, err := json.Marshal([]any{path, body})
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// printAnswer writes the response as JSON, or as the text that write prints of it.
func printAnswer[T any](c client, t terminal, got answer, write func(io.Writer, T)) error {
	if c.JSON {
		text := got.body
		if len(text) == 0 {
			text = []byte("null")
		}
		_, err := fmt.Fprintf(t.out, "%s\n", bytes.TrimSpace(text))
		return err
	}
	var v T
	if err := json.Unmarshal(got.body, &v); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	write(t.out, v)
	return nil
}

// text returns an argument, or the standard input for "-".
func text(t terminal, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	const most = 1 << 20
	b, err := io.ReadAll(io.LimitReader(t.in, most))
	return string(b), err
}
