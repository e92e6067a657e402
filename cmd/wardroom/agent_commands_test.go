package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// agents starts a service with two agents and returns their keys. WARDROOM_URL is its address.
func agents(t *testing.T) (cto, cmo string) {
	t.Helper()
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	t.Setenv("WARDROOM_URL", serve(t, "serve").address)
	t.Setenv("WARDROOM_API_KEY", "")
	key := func(id string) string {
		command(t, password+"\n", "user", "add", id+"@example.com", "--role", "agent", "--agent-id", id).ends(0)
		return strings.TrimSpace(command(t, "", "key", "add", id+"@example.com", "--name", "cli").ends(0).out)
	}
	return key("cto"), key("cmo")
}

// An agent works on a task and asks a person with the commands; repeated ones have no second effect, and each error
// has its exit status and says what to do.
func TestAgentCommands(t *testing.T) {
	cto, cmo := agents(t)
	use := func(key string) func(code int, in string, args ...string) outcome {
		return func(code int, in string, args ...string) outcome {
			t.Helper()
			t.Setenv("WARDROOM_KEY", key)
			o := command(t, in, args...).ends(code)
			if strings.Contains(o.out+o.err, key) {
				t.Errorf("%s prints the key", o.what)
			}
			return o
		}
	}
	run, other := use(cto), use(cmo)
	run(4, "", "task", "next").ends(4, "no task is waiting")
	if o := run(4, "", "task", "next", "--json"); o.out != "null\n" {
		t.Errorf("without a task, the JSON is %q", o.out)
	}
	run(0, "All floors.\x1b[31m", "task", "create", "Count the chairs", "--assignee", "cto", "--priority", "high", "--description", "-").ends(0, "TASK-1 was added.")
	run(0, "All floors.\x1b[31m", "task", "create", "Count the chairs", "--assignee", "cto", "--priority", "high", "--description", "-").ends(0, "TASK-1 is there", "Nothing was added.")
	run(0, "", "task", "create", "Count the chairs", "--again").ends(0, "TASK-2 was added.")
	if o := run(0, "", "task", "list"); !strings.Contains(o.out, "TASK-1  todo    high      Count the chairs") || strings.Contains(o.out, "TASK-2") {
		t.Errorf("the list is\n%s", o.out)
	}
	run(0, "", "task", "list", "--assignee", "all", "--status", "todo").ends(0, "TASK-1", "TASK-2")
	run(0, "", "task", "next").ends(0, "TASK-1 (in_progress, high), claimed by cto until ")
	var next struct{ Key string }
	if err := json.Unmarshal([]byte(run(0, "", "task", "next", "--json").out), &next); err != nil || next.Key != "TASK-1" {
		t.Errorf("the task is %+v, %v", next, err)
	}
	run(0, "", "task", "report", "TASK-1", "ack").ends(0, "The report is on TASK-1 (in_progress")
	run(0, "@cmo, which floor?\n", "task", "comment", "TASK-1", "-").ends(0, "was added")
	run(0, "@cmo, which floor?\n", "task", "comment", "TASK-1", "-").ends(0, "Nothing was added.")
	if o := run(0, "", "task", "show", "task-1"); !strings.Contains(o.out, "All floors.[31m") || strings.Count(o.out, "@cmo, which floor?") != 1 {
		t.Errorf("the task is\n%q", o.out)
	}
	other(5, "", "task", "report", "TASK-1", "ack").ends(5, "claimed by cto", "task_claimed")
	run(2, "", "task", "report", "TASK-1", "done", "All.", "--checked", "twice").ends(2, "--not-checked")
	run(2, "", "task", "report", "TASK-1", "progress", "Half.", "--checked", "twice").ends(2, "only for done")
	run(2, "", "task", "report", "TASK-1", "blocker").ends(2, "text: ")
	run(2, "", "task", "report", "TASK-1", "finished").ends(2, "ack", "blocker")
	run(0, "", "task", "report", "TASK-1", "done", "All.", "--checked", "twice", "--not-checked", "the cellar").ends(0, "(review, high)")
	run(4, "", "task", "show", "TASK-99").ends(4, "task_not_found")

	asked := run(0, "", "ask", "Which floor?", "--option", "first, left", "--option", "second", "--task", "TASK-1", "--for", "8h").ends(0, "waits for an answer until ")
	if again := run(0, "", "ask", "Which floor?", "--option", "first, left", "--option", "second", "--task", "TASK-1", "--for", "8h"); again.out != asked.out {
		t.Errorf("repeated, it says %q, not %q", again.out, asked.out)
	}
	var q struct {
		ID    string
		Parts []struct{ Options []struct{ Label string } }
	}
	if err := json.Unmarshal([]byte(run(0, "Which port?", "ask", "-", "--option", "first, left", "--json").out), &q); err != nil || q.Parts[0].Options[0].Label != "first, left" {
		t.Errorf("the question is %+v, %v", q, err)
	}
	other(4, "", "ask", "--withdraw", q.ID).ends(4, "approval_not_found")
	run(0, "", "ask", "--withdraw", q.ID).ends(0, "is withdrawn.")
	run(2, "", "ask").ends(2, "say what to ask")
	run(2, "", "ask", "Which?", "--for", "soon").ends(2, "--for")
	run(2, "", "ask", "Which?", "--session", "agent:cmo:main").ends(2, "session_key: ")

	use("wrk_wrong")(3, "", "task", "list").ends(3, "token_invalid", "Set WARDROOM_KEY")
	t.Setenv("WARDROOM_KEY", "")
	command(t, "", "task", "list").ends(3, "no API key", "wardroom key add")
	t.Setenv("WARDROOM_API_KEY", cto)
	command(t, "", "task", "list", "--status", "review").ends(0, "TASK-1")
	t.Setenv("WARDROOM_API_KEY", "two words")
	if o := command(t, "", "task", "list").ends(2, "WARDROOM_API_KEY"); strings.Contains(o.err, "two words") {
		t.Errorf("it prints the key: %s", o.err)
	}
	t.Setenv("WARDROOM_API_KEY", cto)
	command(t, "", "task", "list", "--url", "http://user:"+password+"@127.0.0.1").ends(2, "without a password")
	command(t, "", "task", "list", "--url", "http://127.0.0.1:9").ends(6, "could not reach Wardroom at http://127.0.0.1:9: ", "connection refused", "Start it")
}

// A command repeats a request whose response was lost, with the same Idempotency-Key. It never follows a redirect,
// because that could lead the key elsewhere, nor takes its address from a file of the project in which it is called.
func TestAgentCommandsOnBadNetworks(t *testing.T) {
	machine(t)
	t.Setenv("WARDROOM_KEY", "wrk_"+secret)
	var mu sync.Mutex
	var keys []string
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys, path = append(keys, r.Header.Get("Idempotency-Key")), r.URL.Path
		switch {
		case strings.HasPrefix(path, "/moved/"):
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case strings.HasPrefix(path, "/other/"):
			_, _ = w.Write([]byte("<html>Welcome</html>"))
		case strings.HasPrefix(path, "/guarded/"): // a proxy with a sign-in of its own
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(path, "/failed/"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"title":"Something failed.","code":"internal","request_id":"req-7"}`))
		case strings.HasPrefix(path, "/busy/"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case len(keys) == 1:
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Error(err)
			}
		default:
			_, _ = w.Write([]byte(`{"key":"TASK-1"}`))
		}
	}))
	defer server.Close()
	write(t, ".env", "WARDROOM_URL=http://127.0.0.1:9\nthis is no setting\n")
	t.Setenv("WARDROOM_URL", server.URL)
	command(t, "", "task", "create", "Count the chairs").ends(0, "TASK-1 was added.")
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("the requests have the keys %q, want the same two", keys)
	}
	for name, tt := range map[string]struct {
		want     string
		requests int
	}{"moved": {"status 307", 1}, "other": {"does not answer like Wardroom", 1}, "guarded": {"past any proxy", 1}, "busy": {"status 503", attempts}} {
		keys = nil
		o := command(t, "", "task", "list", "--url", server.URL+"/"+name).ends(exitUnavailable, tt.want, server.URL+"/"+name+" ")
		if strings.Contains(o.err, "WARDROOM_KEY") {
			t.Errorf("%s: it blames the key: %s", name, o.err)
		}
		if len(keys) != tt.requests || path != "/"+name+"/api/v1/tasks" {
			t.Errorf("%s: %d requests, the last to %s", name, len(keys), path)
		}
	}
	command(t, "", "task", "list", "--url", server.URL+"/failed").ends(exitFailed, "Give the operator the request ID req-7.")
}

// A shell completes commands, flags and values. The scripts for zsh and fish pass the same words to the same command.
func TestCompletion(t *testing.T) {
	machine(t)
	for line, want := range map[string]string{
		"":                           "serve demo doctor migrate backup restore verify user key task ask health version completion",
		"ta":                         "task",
		"task ":                      "list next show report comment create",
		"task report TASK-1 ":        "ack progress blocker done",
		"task report TASK-1 b":       "blocker",
		"task list --status ":        "backlog todo in_progress review done",
		"task list --st":             "--status",
		"task --url ask list --as":   "--assignee",
		"completion ":                "bash zsh fish",
		"task show ":                 "",
		"user add a@example.com --r": "--role",
	} {
		words := strings.Split(line, " ")
		got := strings.Join(strings.Fields(command(t, "", append([]string{completeCommand}, words...)...).ends(0).out), " ")
		if got != want {
			t.Errorf("%q is completed with %q, want %q", line, got, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		command(t, "", "completion", shell).ends(0, "wardroom "+completeCommand)
	}
	// The function stands for the binary. It shows which words the script passes.
	script := command(t, "", "completion", "bash").out + `
wardroom() { printf '<%s>\n' "$@"; }
COMP_WORDS=(wardroom task report TASK-1 "") COMP_CWORD=4
_wardroom
echo "${COMPREPLY[*]}"`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
	if want := "<" + completeCommand + "> <task> <report> <TASK-1> <>\n"; err != nil || string(out) != want {
		t.Errorf("bash: %q, %v; want %q", out, err, want)
	}
}
