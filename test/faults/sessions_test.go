package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/gateway/demo"
)

// A sub-agent's session shows its parent, its title and its activity.
func TestSpawn(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	release := make(chan struct{})
	r.Answer("cto", func(demo.Question) string { <-release; return "found it" })
	key, runID, err := r.Spawn("agent:cto:test", "look it up", "Find the bug.")
	if err != nil {
		t.Fatal(err)
	}
	created := c.until("sessions.changed of the sub-agent", 0, func(f object) bool {
		return f["event"] == "sessions.changed" && dig[string](f, "payload", "sessionKey") == key
	})
	if at := must[object](t, created, "payload", "session"); at["parentSessionKey"] != "agent:cto:test" || at["label"] != "look it up" {
		t.Errorf("created as %v, called %v", at["parentSessionKey"], at["label"])
	}
	spawned := func() object {
		rows := must[[]any](t, c.ok("sessions.list", object{}), "sessions")
		i := slices.IndexFunc(rows, func(row any) bool { return dig[string](row, "key") == key })
		if i < 0 {
			t.Fatal("the sub-agent's session is not listed")
		}
		return as[object](rows[i])
	}
	if row := spawned(); row["hasActiveRun"] != true || row["status"] != "running" || row["startedAt"] == nil {
		t.Errorf("while it runs: %v", row)
	}
	close(release)
	if text := must[string](t, c.wait(runID), "terminalReply", "text"); text != "found it" {
		t.Errorf("answered %q", text)
	}
	sameShape(t, "row", recording(t, "devices.json", "subagent row"), spawned(), "/activeRunIds", "/hasActiveRun")
	task := c.until("its task", 0, func(f object) bool {
		return f["event"] == "task" && dig[string](f, "payload", "task", "runId") == runID && dig[string](f, "payload", "task", "status") == "completed"
	})
	if kind := must[string](t, task, "payload", "task", "kind"); kind != "subagent" {
		t.Errorf("its task is of kind %s", kind)
	}
	if _, _, err := r.Spawn("agent:cto:nope", "", ""); !errors.Is(err, demo.ErrNoSession) {
		t.Errorf("unknown parent: %v", err)
	}
}

// A label set by a user becomes the session's title.
func TestLabel(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	if err := r.Label("agent:cto:test", "Release"); err != nil {
		t.Fatal(err)
	}
	c.until("the change", 0, func(f object) bool {
		return f["event"] == "sessions.changed" && dig[string](f, "payload", "reason") == "patch" && dig[string](f, "payload", "session", "label") == "Release"
	})
	row := must[object](t, c.ok("sessions.describe", object{"key": "agent:cto:test"}), "session")
	if row["label"] != "Release" || row["displayName"] != "Release" {
		t.Errorf("described as %v", row["label"])
	}
	if err := r.Label("agent:cto:nope", "x"); !errors.Is(err, demo.ErrNoSession) {
		t.Errorf("label of an unknown session: %v", err)
	}
}

// The row, the list, the transcript and the events show the same session data.
func TestMonitorRow(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	settled := c.until("the end", 0, func(f object) bool { return dig[string](f, "payload", "reason") == "agent.input.settled" })
	list := must[[]any](t, c.ok("sessions.list", object{"includeLastMessage": true}), "sessions")
	for name, row := range map[string]object{
		"list":       as[object](list[0]),
		"transcript": must[object](t, c.ok("chat.history", object{"sessionKey": "agent:cto:test"}), "sessionInfo"),
		"event":      must[object](t, settled, "payload", "session"),
	} {
		for k := range strings.FieldsSeq(`key agentId kind classification sessionId hasActiveRun activeRunIds status startedAt endedAt
			updatedAt createdAt modelProvider model contextTokens inputTokens outputTokens totalTokens estimatedCostUsd displayName`) {
			if row[k] == nil {
				t.Errorf("%s: no %s", name, k)
			}
		}
		if name != "transcript" && row["lastMessagePreview"] == nil {
			t.Errorf("%s: no preview", name)
		}
	}
}

// Usage that is still refreshing must not be reported as zero.
func TestRefreshing(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	ask := func() (status string, usage any) {
		u := c.ok("sessions.usage", object{"agentScope": "all"})
		row := as[object](must[[]any](t, u, "sessions")[0])
		return must[string](t, u, "cacheStatus", "status"), row["usage"]
	}
	r.Refreshing(2)
	for range 2 {
		if status, usage := ask(); status != "refreshing" || usage != nil {
			t.Errorf("before the files were read: %s, %v", status, usage)
		}
	}
	if status, usage := ask(); status != "fresh" || usage == nil {
		t.Errorf("then: %s, %v", status, usage)
	}
}
