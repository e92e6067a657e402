//go:build journey

package realgateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// kept is the part of an archived session that the test checks.
type kept struct {
	ID, Key, Coverage string
	Ended             *string
	Messages          int
	Present           bool
	CostUSD           *string `json:"cost_usd"`
}

// wholeMessage is the part of a message that the test checks, with all its blocks.
type wholeMessage struct {
	Role       string
	RunID      *string `json:"run_id"`
	StopReason *string `json:"stop_reason"`
	Waiting    *string
	Blocks     []struct {
		Type, Text string
		Tool       *struct {
			Name, Status, Arguments, Result string
		}
	}
}

// archives checks that the archive contains what the real gateway reports: messages sent by
// the service, runs with tool calls and stopped runs, also after the gateway has deleted them.
func (j *journey) archives(t *testing.T) {
	const key, secret = "agent:cto:notes", "wrk_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3"
	admin := j.administrator(t)
	admin.call(t, "agent", map[string]any{"message": "Hello.", "agentId": "cto", "sessionKey": key, "idempotencyKey": "archive-1", "deliver": false})
	admin.call(t, "agent.wait", map[string]any{"runId": "archive-1", "timeoutMs": 120_000})
	WaitFor(t, time.Minute, "the session", func() bool {
		return j.owner.Get(t, sessionPath(key)).Status == http.StatusOK
	})
	live := j.owner.Follow(t, "session&session="+url.QueryEscape(key))
	var sent struct {
		RunID string `json:"run_id"`
	}
	text := "[[exec: echo zeppelin " + secret + "]]"
	j.owner.Post(t, sessionPath(key)+"/messages", map[string]string{"text": text}).Into(t, http.StatusAccepted, &sent)
	var messages []wholeMessage
	WaitFor(t, 2*time.Minute, "the answer", func() bool {
		res := j.owner.Get(t, sessionPath(key)+"/messages")
		if res.Status != http.StatusOK { // on a busy machine
			return false
		}
		res.Into(t, http.StatusOK, &messages)
		last := messages[len(messages)-1]
		return last.RunID != nil && *last.RunID == sent.RunID && last.StopReason != nil && *last.StopReason == "stop"
	})
	j.wantTool(t, "the runtime's transcript", messages, secret)
	WaitFor(t, time.Minute, "the live tail", func() bool {
		for _, f := range live.Frames() {
			if f.Event == "session.message" && strings.Contains(f.Data, "Done. It said") {
				return true
			}
		}
		return false
	})

	t.Run("a run that goes on is stopped, and said again nothing is", func(t *testing.T) {
		j.model.Script("cto", Reply{Delay: time.Minute, Text: "Late."})
		defer j.model.Script("cto", Reply{})
		j.owner.Post(t, sessionPath(key)+"/messages", map[string]string{"text": "Take your time."}).Want(t, http.StatusAccepted)
		WaitFor(t, time.Minute, "the run", func() bool { return j.session(t, key).Active })
		var stopped struct {
			Stopped bool
			RunIDs  []string `json:"run_ids"`
		}
		j.owner.Post(t, sessionPath(key)+"/stop", nil).Into(t, http.StatusOK, &stopped)
		// The gateway doesn't name a run that it stops before the agent has started it.
		if !stopped.Stopped || len(stopped.RunIDs) > 1 {
			t.Errorf("stopped %+v", stopped)
		}
		WaitFor(t, time.Minute, "its end", func() bool { return !j.session(t, key).Active })
		j.owner.Post(t, sessionPath(key)+"/stop", nil).Into(t, http.StatusOK, &stopped)
		if stopped.Stopped {
			t.Errorf("stopping without a run returned %+v", stopped)
		}
	})

	t.Run("a person talks to an agent that has no session, also while it works", j.talks)

	find := func(ok func(kept) bool) (a kept) {
		WaitFor(t, 2*time.Minute, "the archive", func() bool {
			var list []kept
			j.owner.Get(t, "/api/v1/sessions?agent_id=cto").Into(t, http.StatusOK, &list)
			for _, a = range list {
				if a.Key == key && ok(a) {
					return true
				}
			}
			return false
		})
		return a
	}
	find(func(a kept) bool { return a.Coverage == "whole" })
	j.owner.Get(t, sessionPath(key)+"/messages").Into(t, http.StatusOK, &messages)
	// If the stop came before the agent had read the message, the gateway keeps it, but not in the transcript.
	messages = slices.DeleteFunc(messages, func(m wholeMessage) bool { return m.Waiting != nil })
	j.administrator(t).call(t, "sessions.delete", map[string]any{"key": key, "deleteTranscript": true})
	a := find(func(a kept) bool { return !a.Present })
	if a.Ended == nil || *a.Ended != "deleted" || a.Coverage != "whole" || a.Messages != len(messages) || a.CostUSD == nil {
		t.Errorf("kept %+v of %d messages", a, len(messages))
	}
	var stored []wholeMessage
	res := j.owner.Get(t, "/api/v1/sessions/"+a.ID+"/messages")
	res.Into(t, http.StatusOK, &stored)
	j.wantTool(t, "the archive", stored, "[masked:wardroom_key]")
	if strings.Contains(string(res.Body), secret) {
		t.Error("the archive contains the secret")
	}
	var found []struct {
		Kind      string
		SessionID *string `json:"session_id"`
	}
	j.owner.Get(t, "/api/v1/search?q=zeppelin").Into(t, http.StatusOK, &found)
	if len(found) != 1 || found[0].Kind != "session" || *found[0].SessionID != a.ID {
		t.Errorf("found %+v", found)
	}
}

// wantTool checks that a tool call has its arguments and its result.
func (j *journey) wantTool(t *testing.T, where string, messages []wholeMessage, secret string) {
	t.Helper()
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Tool == nil || b.Tool.Name != "exec" {
				continue
			}
			if b.Tool.Status != "done" || !strings.Contains(b.Tool.Arguments, "echo zeppelin "+secret) || !strings.Contains(b.Tool.Result, "zeppelin "+secret) {
				t.Errorf("%s has the call %+v", where, *b.Tool)
			}
			return
		}
	}
	t.Errorf("%s has no call of a tool: %+v", where, messages)
}
