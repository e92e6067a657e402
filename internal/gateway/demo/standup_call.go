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

// These patterns match the parts of a message that asks an agent to run a standup over
// HTTP: the URL, the name of the environment variable that holds the key, and the team.
var (
	urlPattern         = regexp.MustCompile(`https?://[^\s"'<>` + "`" + `]+`)
	keyVariablePattern = regexp.MustCompile(`Bearer \$\{?([A-Z][A-Z0-9_]*)`)
	teamPattern        = regexp.MustCompile(`\{"team":"[a-z0-9-]{1,64}"\}`)
)

// isStandupCall reports whether a message asks the agent to run a standup through
// Wardroom's API.
func isStandupCall(message string) bool {
	return strings.Contains(message, "POST /api/v1/standups") && strings.Contains(message, "/run")
}

// runStandup opens and runs the standup that a message asks for, and returns a sentence
// about the result. It reads the API key from the environment variable that the message
// names. A real agent would use a shell or fetch tool. runStandup calls only loopback
// addresses.
func (r *Runtime) runStandup(ctx context.Context, agentID, message string) string {
	base, key, err := r.apiTarget(agentID, message)
	if err != nil {
		return "I couldn't run the standup: " + err.Error() + "."
	}
	client := newClient()
	// Without a team in the message the body is empty, which selects the executive team.
	opened, err := post(ctx, client, base+"/api/v1/standups", key, teamPattern.FindString(message))
	if err != nil || opened.ID == "" {
		return fmt.Sprintf("I couldn't open the standup: %s.", opened.failureReason(err))
	}
	run, err := post(ctx, client, base+"/api/v1/standups/"+url.PathEscape(opened.ID)+"/run", key, "")
	switch {
	case err != nil:
		return fmt.Sprintf("I opened the %s standup but couldn't run it: %s.", opened.Date, run.failureReason(err))
	case run.Code == "already_running" || run.Code == "already_completed":
		return fmt.Sprintf("Nothing left to do for the %s standup: %s.", opened.Date, run.Code)
	case run.status >= http.StatusMultipleChoices:
		return fmt.Sprintf("I opened the %s standup but couldn't run it: %s.", opened.Date, run.failureReason(nil))
	}
	return fmt.Sprintf("The %s standup is %s.", opened.Date, run.Status)
}

var (
	errNoURL         = errors.New("the message contains no URL")
	errRemoteURL     = errors.New("the URL points to another machine, and the demo's agents only call this one")
	errNoKeyVariable = errors.New("the message names no environment variable for my API key")
)

// newClient returns a client for Wardroom's API. It follows no redirect, which would forward the
// credential.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       20 * time.Second,
	}
}

// apiTarget returns the base URL and the agent's API key that a message says to use.
func (r *Runtime) apiTarget(agentID, message string) (base, key string, err error) {
	found, err := url.Parse(strings.TrimRight(urlPattern.FindString(message), ".,;:)"))
	if err != nil || found.Host == "" {
		return "", "", errNoURL
	}
	at, err := netip.ParseAddr(found.Hostname())
	if found.Hostname() != "localhost" && (err != nil || !at.IsLoopback()) {
		return "", "", errRemoteURL
	}
	name := keyVariablePattern.FindStringSubmatch(message)
	if name == nil {
		return "", "", errNoKeyVariable
	}
	if r.options.Env != nil {
		key = r.options.Env(agentID, name[1])
	}
	if key == "" {
		return "", "", fmt.Errorf("the environment variable %s is not set", name[1])
	}
	path, _, _ := strings.Cut(found.Path, "/api/v1")
	return (&url.URL{Scheme: found.Scheme, Host: found.Host, Path: strings.TrimRight(path, "/")}).String(), key, nil
}

// apiAnswer is a response from Wardroom's API: a standup, a task, a comment or an error.
type apiAnswer struct {
	ID, Key, Date, Status string
	Code, Detail          string

	status int
}

// failureReason returns the reason why a call to Wardroom's API failed, as text for the transcript.
func (s apiAnswer) failureReason(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "Wardroom did not answer in time"
	case err != nil:
		return "Wardroom could not be reached"
	}
	return strings.TrimRight(fmt.Sprintf("Wardroom answered %d %s: %s", s.status, s.Code, s.Detail), ". :")
}

// post sends a POST request with an optional JSON body.
func post(ctx context.Context, client *http.Client, address, key, body string) (apiAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return apiAnswer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		return apiAnswer{}, err
	}
	defer res.Body.Close()
	out := apiAnswer{status: res.StatusCode}
	data, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return out, err
	}
	var problem struct{ ID, Date, Code, Detail string }
	if res.StatusCode >= http.StatusMultipleChoices {
		_ = json.Unmarshal(data, &problem) // a proxy may answer with something other than JSON
		out.Code, out.Detail = clip(problem.Code, 60), clip(problem.Detail, 300)
		return out, nil
	}
	return out, json.Unmarshal(data, &out)
}
