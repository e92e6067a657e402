//go:build journey

package realgateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// worker makes one agent do everything that starts a run.
type worker struct {
	*trial

	agent string
	round int
}

func (w *worker) key(name string) string { return "agent:" + w.agent + ":" + name }

// call sends a request to the gateway over a new connection, because the gateway may have
// been killed since the last one.
func (w *worker) call(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	op := w.administrator(t)
	defer op.conn.CloseNow()
	return op.call(t, method, params)
}

// ran reports whether a job has run.
func (w *worker) ran(t *testing.T, id string) bool {
	t.Helper()
	op := w.administrator(t)
	defer op.conn.CloseNow()
	return len(jobRuns(t, op, id)) > 0
}

// next returns another agent.
func (w *worker) next() string {
	return map[string]string{"cmo": "coo", "coo": "cpo", "cpo": "cto", "cto": "cmo"}[w.agent]
}

// start starts a run and does not wait for it.
func (w *worker) start(t *testing.T, name, message string) (runID string) {
	t.Helper()
	runID = fmt.Sprintf("trial-%s-%d-%d", w.agent, w.round, time.Now().UnixNano())
	w.call(t, "agent", map[string]any{
		"message": message, "agentId": w.agent, "sessionKey": w.key(name), "idempotencyKey": runID, "deliver": false, "timeout": 60,
	})
	return runID
}

// ask starts a run and waits for its end.
func (w *worker) ask(t *testing.T, name, message string) {
	t.Helper()
	begin := time.Now()
	w.call(t, "agent.wait", map[string]any{"runId": w.start(t, name, message), "timeoutMs": 60_000})
	if took := time.Since(begin); took > 5*time.Second {
		t.Logf("%s: %s %s", took.Round(time.Second), name, message)
	}
}

func (w *worker) work(t *testing.T) {
	for n := range 8 {
		w.ask(t, "main", fmt.Sprint("How is it going? ", n))
	}
	w.ask(t, "main", `[[use exec {"command":"echo one"}]]`)
	w.ask(t, "task:TRI-1", "Do the task.")
	w.ask(t, "task:TRI-1", `[[use exec {"command":"echo '[[use exec {}]]'"}]]`)
	w.http(t, "")
	w.http(t, "Somebody")
	w.ask(t, "main", `[[use tool_call {"id":"sessions_spawn","args":{"task":"Count to three.","label":"helper"}}]]`)
	w.ask(t, "main", `[[use tool_call {"id":"sessions_send","args":{"sessionKey":"agent:`+w.next()+`:main","message":"What do you think?","timeoutSeconds":20}}]]`)
	w.ask(t, "two", "With the usual model.")
	w.call(t, "sessions.patch", map[string]any{"key": w.key("two"), "model": map[bool]string{true: "scripted/large", false: "scripted/small"}[w.agent == "cmo"]})
	w.ask(t, "two", "With the other one.")
	w.ask(t, "notes", "[[fail 400]]")
	w.ask(t, "notes", `[[use exec {"command":"echo '[[fail 400]]'"}]]`)
	w.ask(t, "notes", "[[say NO_REPLY]]")
	w.aborted(t)
	w.ask(t, "anew", "Before it is begun anew.")
	w.call(t, "sessions.reset", map[string]any{"key": w.key("anew")})
	w.ask(t, "anew", "And after.")
	w.ask(t, "gone", "This session is deleted at once.")
	w.call(t, "sessions.delete", map[string]any{"key": w.key("gone")})
	w.jobs(t)
	w.call(t, "wake", map[string]any{"mode": "now", "text": "Look around.", "agentId": w.agent})
}

// http asks over the gateway's chat completions API.
func (w *worker) http(t *testing.T, user string) {
	t.Helper()
	ask := map[string]any{"model": "openclaw/" + w.agent, "messages": []any{map[string]string{"role": "user", "content": "By HTTP."}}}
	if user != "" {
		ask["user"] = user
	}
	body, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.gateway.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.gateway.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := w.gateway.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if said, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", res.Status, said)
	}
}

// aborted stops a run in its second model call.
func (w *worker) aborted(t *testing.T) {
	t.Helper()
	name := fmt.Sprint("stopped:", w.round)
	run := w.start(t, name, `[[use exec {"command":"echo '[[wait 50s]]'"}]]`)
	WaitFor(t, 3*time.Minute, "the first call of the run", func() bool {
		var out struct{ Messages []json.RawMessage }
		return json.Unmarshal(w.call(t, "sessions.get", map[string]any{"key": w.key(name), "limit": 50}), &out) == nil && len(out.Messages) >= 3
	})
	w.call(t, "chat.abort", map[string]any{"sessionKey": w.key(name), "runId": run})
	w.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 60_000})
}

// jobs runs a scheduled job in its own session and, for the default agent, one in the
// main session, which only that agent may have.
func (w *worker) jobs(t *testing.T) {
	t.Helper()
	for target, payload := range map[string]any{
		"isolated": map[string]any{"kind": "agentTurn", "message": "The job."},
		"main":     map[string]any{"kind": "systemEvent", "text": "It is time."},
	} {
		if target == "main" && w.agent != "coo" {
			continue
		}
		job := map[string]any{
			"name": target, "agentId": w.agent, "schedule": map[string]any{"kind": "cron", "expr": "0 0 1 1 *", "tz": "UTC"},
			"sessionTarget": target, "wakeMode": "now", "payload": payload, "enabled": true,
		}
		if target == "isolated" {
			job["delivery"] = map[string]string{"mode": "none"}
		}
		var made struct{ ID string }
		if err := json.Unmarshal(w.call(t, "cron.add", job), &made); err != nil {
			t.Fatal(err)
		}
		w.call(t, "cron.run", map[string]any{"id": made.ID, "mode": "force"})
		WaitFor(t, 3*time.Minute, "the job", func() bool { return w.ran(t, made.ID) })
		if w.agent != "coo" { // the gateway deletes the runs with the job, usually before they are read
			w.call(t, "cron.remove", map[string]any{"id": made.ID})
		}
	}
}
