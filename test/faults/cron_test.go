package faults

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// admin connects a client that may change jobs.
func admin(t *testing.T, r *Runtime) *client {
	t.Helper()
	c := dial(t, r, nil)
	c.event("connect.challenge")
	c.ok("connect", hello(func(p object) { p["scopes"] = []string{scopeRead, scopeWrite, scopeAdmin} }))
	return c
}

// job returns the params of cron.add.
func job(change func(object)) object {
	p := object{
		"name": "standup-daily", "description": "created by ops", "agentId": "cto",
		"schedule":      object{"kind": "cron", "expr": "30 9 * * 1-5", "tz": "Europe/Berlin"},
		"sessionTarget": "isolated", "wakeMode": "now",
		"payload":  object{"kind": "agentTurn", "message": "Daily standup please", "timeoutSeconds": 60},
		"delivery": object{"mode": "none"},
	}
	if change != nil {
		change(p)
	}
	return p
}

// Every job method must answer and emit events in the recorded shape. Otherwise a client
// that works here could fail at a real gateway.
func TestCronMethods(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := admin(t, r)
	shape := func(method, name string, params object, except ...string) object {
		t.Helper()
		got := c.call(method, params)
		sameShape(t, name, recording(t, "responses.json", name), got, except...)
		return got
	}
	made := shape("cron.add", "cron.add", job(func(p object) {
		p["schedule"] = object{"kind": "every", "everyMs": 3600000}
		delete(p, "description")
	}))
	id := must[string](t, made, "payload", "id")
	shape("cron.list", "cron.list", object{"includeDisabled": true})
	shape("cron.get", "cron.get", object{"id": must[string](t, c.ok("cron.add", job(nil)), "id")})
	shape("cron.runs", "cron.runs all", object{"scope": "all", "limit": 5})
	shape("cron.run", "cron.run", object{"id": id, "mode": "force"})
	c.until("the end of the run", 0, func(f object) bool { return dig[string](f, "payload", "action") == "finished" })
	shape("cron.runs", "cron.runs", object{"id": id, "limit": 5})
	shape("cron.update", "cron.update", object{"id": id, "patch": object{"schedule": object{"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}}})
	shape("cron.remove", "cron.remove", object{"id": id})
	for event, except := range map[string][]string{
		// The recorded job had been changed, so its state says when.
		"cron.added":                    {"/payload/job/description", "/payload/job/schedule"},
		"cron.started":                  {"/payload/job/description", "/payload/job/schedule", "/payload/job/state"},
		"cron.finished":                 {"/payload/job/description", "/payload/job/schedule", "/payload/job/state", "/payload/nextRunAtMs"}, // it was disabled
		"cron.updated":                  {"/payload/job/description", "/payload/job/state", "/payload/nextRunAtMs"},
		"cron.removed":                  {"/payload/job"},
		"task.automation_run.completed": nil,
	} {
		name, action, _ := strings.Cut(event, ".")
		got := c.until(event, 0, func(f object) bool {
			if f["event"] != name {
				return false
			}
			return dig[string](f, "payload", "action") == action ||
				name == "task" && dig[string](f, "payload", "task", "kind") == "automation_run" && dig[string](f, "payload", "task", "status") == "completed"
		})
		sameShape(t, event, recording(t, "events.json", event), got, except...)
	}
}

// fakeWardroom is a fake Wardroom server that records the calls of the COO.
type fakeWardroom struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

func newFakeWardroom(t *testing.T, run int, answer string) *fakeWardroom {
	t.Helper()
	d := &fakeWardroom{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		d.calls = append(d.calls, strings.Join(slices.DeleteFunc([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
		}, func(part string) bool { return part == "" }), " "))
		if strings.HasSuffix(r.URL.Path, "/run") {
			w.WriteHeader(run)
			_, _ = w.Write([]byte(answer))
			return
		}
		_, _ = w.Write([]byte(`{"id":"s1","date":"2026-11-20","status":"running"}`))
	}))
	t.Cleanup(d.Close)
	return d
}

// The COO does what a job's message says, with the key from its environment, and reports
// the result.
func TestStandupCall(t *testing.T) {
	t.Parallel()
	const message = "Open it with POST /api/v1/standups at %s, then POST /api/v1/standups/:id/run, with Authorization: Bearer $WARDROOM_API_KEY."
	going := newFakeWardroom(t, http.StatusAccepted, `{"id":"s1","date":"2026-11-20","status":"running"}`)
	done := newFakeWardroom(t, http.StatusConflict, `{"code":"already_completed","status":409,"detail":"It is."}`)
	refused := newFakeWardroom(t, http.StatusForbidden, `{"code":"forbidden","status":403,"detail":"You may not."}`)
	for name, test := range map[string]struct{ address, env, want string }{
		"opens and runs it":  {going.URL, "wrk_x", "The 2026-11-20 standup is running."},
		"already completed":  {done.URL, "wrk_x", "Nothing left to do for the 2026-11-20 standup: already_completed."},
		"refused":            {refused.URL, "wrk_x", "I opened the 2026-11-20 standup but couldn't run it: Wardroom answered 403 forbidden: You may not."},
		"unreachable":        {"http://127.0.0.1:9", "wrk_x", "I couldn't open the standup: Wardroom could not be reached."},
		"remote address":     {"http://192.0.2.1", "wrk_x", "I couldn't run the standup: the URL points to another machine, and the demo's agents only call this one."},
		"no variable is set": {going.URL, "", "I couldn't run the standup: the environment variable WARDROOM_API_KEY is not set."},
		"no address":         {"home", "wrk_x", "I couldn't run the standup: the message contains no URL."},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{Env: func(agentID, name string) string {
				if agentID != "coo" || name != "WARDROOM_API_KEY" {
					t.Errorf("asked for %s of %s", name, agentID)
				}
				return test.env
			}})
			c := join(t, r)
			c.ok("agent", question("coo", "run-1", strings.Replace(message, "%s", test.address, 1)))
			if got := must[string](t, c.wait("run-1"), "terminalReply", "text"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	want := []string{"POST /api/v1/standups Bearer wrk_x", "POST /api/v1/standups/s1/run Bearer wrk_x"}
	if diff := cmp.Diff(want, going.calls); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
}
