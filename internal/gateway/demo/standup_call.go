package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// What an agent is told to do over HTTP, in a message such as that of the
// standup's job: where, the variable with the credential, and whose standup it is.
var (
	serviceIn    = regexp.MustCompile(`https?://[^\s"'<>` + "`" + `]+`)
	credentialIn = regexp.MustCompile(`Bearer \$\{?([A-Z][A-Z0-9_]*)`)
	teamIn       = regexp.MustCompile(`\{"team":"[a-z0-9-]{1,64}"\}`)
)

// isErrand recognises a message that asks for the standup to be held through
// the service's own endpoints.
func isErrand(message string) bool {
	return strings.Contains(message, "POST /api/v1/standups") && strings.Contains(message, "/run")
}

// act does what such a message says: it opens the standup and runs it, with the
// credential in the variable that the message names, and tells how it went. An
// agent of the real runtime does the same with a shell or a fetch tool. The
// errand's only reach is this machine.
func (r *Runtime) act(ctx context.Context, message string) string {
	base, key, err := r.errand(message)
	if err != nil {
		return "I could not hold the standup: " + err.Error() + "."
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would get the credential
		Timeout:       20 * time.Second,
	}
	// Without a team in the message there is no body, which is the team executive.
	opened, err := post(ctx, client, base+"/api/v1/standups", key, teamIn.FindString(message))
	if err != nil || opened.ID == "" {
		return fmt.Sprintf("I could not open the standup: %s.", opened.why(err))
	}
	run, err := post(ctx, client, base+"/api/v1/standups/"+url.PathEscape(opened.ID)+"/run", key, "")
	switch {
	case err != nil:
		return fmt.Sprintf("I opened the standup of %s and could not run it: %s.", opened.Date, run.why(err))
	case run.Code == "already_running" || run.Code == "already_completed":
		return fmt.Sprintf("The standup of %s needs nothing of me: %s.", opened.Date, run.Code)
	case run.status >= http.StatusMultipleChoices:
		return fmt.Sprintf("I opened the standup of %s and could not run it: %s.", opened.Date, run.why(nil))
	}
	return fmt.Sprintf("The standup of %s is %s.", opened.Date, run.Status)
}

var (
	errNoService    = errors.New("the message names no address of the service")
	errFarService   = errors.New("the service is on another machine, and the demo's agents call nothing beyond this one")
	errNoCredential = errors.New("the message names no variable with my credential")
)

// errand reads where to go and what to show there.
func (r *Runtime) errand(message string) (base, key string, err error) {
	found, err := url.Parse(strings.TrimRight(serviceIn.FindString(message), ".,;:)"))
	if err != nil || found.Host == "" {
		return "", "", errNoService
	}
	at, err := netip.ParseAddr(found.Hostname())
	if found.Hostname() != "localhost" && (err != nil || !at.IsLoopback()) {
		return "", "", errFarService
	}
	name := credentialIn.FindStringSubmatch(message)
	if name == nil {
		return "", "", errNoCredential
	}
	if r.options.Env != nil {
		key = r.options.Env(name[1])
	}
	if key == "" {
		return "", "", fmt.Errorf("the variable %s is empty in my environment", name[1])
	}
	path, _, _ := strings.Cut(found.Path, "/api/v1")
	return (&url.URL{Scheme: found.Scheme, Host: found.Host, Path: strings.TrimRight(path, "/")}).String(), key, nil
}

// said is what the service answered: a standup, or a problem.
type said struct {
	ID, Date, Status string
	Code, Detail     string

	status int
}

// why says what went wrong, in words for the transcript.
func (s said) why(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the service did not answer in time"
	case err != nil:
		return "the service cannot be reached"
	}
	return strings.TrimRight(fmt.Sprintf("it answered %d %s: %s", s.status, s.Code, s.Detail), ". :")
}

// post sends a body of JSON; an empty one is none.
func post(ctx context.Context, client *http.Client, address, key, body string) (said, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return said{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		return said{}, err
	}
	defer res.Body.Close()
	out := said{status: res.StatusCode}
	data, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return out, err
	}
	var problem struct{ ID, Date, Code, Detail string }
	if res.StatusCode >= http.StatusMultipleChoices {
		_ = json.Unmarshal(data, &problem) // a proxy may answer anything
		out.Code, out.Detail = clip(problem.Code, 60), clip(problem.Detail, 300)
		return out, nil
	}
	return out, json.Unmarshal(data, &out)
}
