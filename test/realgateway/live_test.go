//go:build journey

package realgateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// gatewayRow is a session as the gateway's lists and events show it, limited to what the
// service shows.
type gatewayRow struct {
	Key            string   `json:"key"`
	SessionID      string   `json:"sessionId"`
	AgentID        string   `json:"agentId"`
	Kind           string   `json:"kind"`
	Classification string   `json:"classification"`
	Label          string   `json:"label"`
	DisplayName    string   `json:"displayName"`
	Status         string   `json:"status"`
	HasActiveRun   bool     `json:"hasActiveRun"`
	ActiveRunIDs   []string `json:"activeRunIds"`
	Provider       string   `json:"modelProvider"`
	Model          string   `json:"model"`
	LastMessage    string   `json:"lastMessagePreview"`
	Parent         string   `json:"parentSessionKey"`
	SpawnedBy      string   `json:"spawnedBy"`
	TotalTokens    int64    `json:"totalTokens"`
	TotalFresh     *bool    `json:"totalTokensFresh"`
	ContextTokens  int64    `json:"contextTokens"`
	StartedAt      int64    `json:"startedAt"`
	EndedAt        int64    `json:"endedAt"`
	UpdatedAt      int64    `json:"updatedAt"`
	LastActivityAt int64    `json:"lastActivityAt"`
	Archived       bool     `json:"archived"`
	SnapshotAt     int64    `json:"snapshotAt"`
}

// told is what a second client received about the sessions, in order. The service relies
// on that order.
type told struct {
	mu    sync.Mutex
	rows  map[string]gatewayRow // last row of each key
	why   map[string]string
	count int
	back  []string // rows older than an earlier one, by the gateway's time stamp
}

// listen makes a separate client follow every session until the test ends.
func (j *journey) listen(t *testing.T) *told {
	t.Helper()
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil)
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	h := &told{rows: map[string]gatewayRow{}, why: map[string]string{}}
	hear := h.take
	op.hear.Store(&hear)
	op.call(t, "sessions.subscribe", struct{}{})
	return h
}

func (h *told) take(f frame) {
	var p struct {
		SessionKey string      `json:"sessionKey"`
		Reason     string      `json:"reason"`
		Phase      string      `json:"phase"`
		Session    *gatewayRow `json:"session"`
	}
	if f.Event != "sessions.changed" && f.Event != "session.message" || json.Unmarshal(f.Payload, &p) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	why := f.Event + " " + p.Reason + p.Phase
	if p.Session == nil {
		delete(h.rows, p.SessionKey)
		return
	}
	h.count++
	r := *p.Session
	if was, ok := h.rows[r.Key]; ok && r.SnapshotAt < was.SnapshotAt {
		h.back = append(h.back, fmt.Sprintf("%s: %s is %d ms older than %s", r.Key, why, was.SnapshotAt-r.SnapshotAt, h.why[r.Key]))
	}
	h.rows[r.Key], h.why[r.Key] = r, why
}

// list returns the gateway's own list.
func (o *operator) list(t *testing.T) map[string]gatewayRow {
	t.Helper()
	var out struct {
		Sessions []gatewayRow `json:"sessions"`
	}
	if err := json.Unmarshal(o.call(t, "sessions.list", map[string]any{"limit": 200, "includeLastMessage": true}), &out); err != nil {
		t.Fatal(err)
	}
	rows := map[string]gatewayRow{}
	for _, r := range out.Sessions {
		rows[r.Key] = r.plain()
	}
	return rows
}

// plain returns a row without the fields that change with each read.
func (r gatewayRow) plain() gatewayRow {
	r.SnapshotAt = 0
	if len(r.ActiveRunIDs) == 0 {
		r.ActiveRunIDs = nil
	}
	return r
}

// settled waits until nothing runs and two consecutive lists are equal.
func (o *operator) settled(t *testing.T) map[string]gatewayRow {
	t.Helper()
	var last map[string]gatewayRow
	WaitFor(t, 2*time.Minute, "the gateway to come to rest", func() bool {
		now := o.list(t)
		rest := gocmp.Equal(last, now)
		for _, r := range now {
			rest = rest && !r.HasActiveRun
		}
		last = now
		<-time.After(300 * time.Millisecond)
		return rest
	})
	return last
}

// liveSession is a session as the service shows it.
type liveSession struct {
	Key          string     `json:"key"`
	AgentID      string     `json:"agent_id"`
	Kind         *string    `json:"kind"`
	Label        *string    `json:"label"`
	Status       *string    `json:"status"`
	Active       bool       `json:"active"`
	ActiveRunID  *string    `json:"active_run_id"`
	Model        *string    `json:"model"`
	Context      *int64     `json:"context_tokens"`
	ContextLimit *int64     `json:"context_limit"`
	StartedAt    *time.Time `json:"started_at"`
	UpdatedAt    *time.Time `json:"updated_at"`
	LastMessage  *string    `json:"last_message"`
	ParentKey    *string    `json:"parent_key"`
}

// kind returns the kind of session that the service should show.
func (r gatewayRow) kind() string {
	for _, place := range []string{"task", "standup"} {
		if strings.HasPrefix(r.Key, "agent:"+r.AgentID+":"+place+":") {
			return place
		}
	}
	return cmp.Or(r.Classification, r.Kind)
}

// shown returns a row of the gateway as the service should show it.
func (r gatewayRow) shown() liveSession {
	text := func(s string) *string {
		if s = strings.Join(strings.Fields(s), " "); s == "" {
			return nil
		}
		return &s
	}
	moment := func(ms int64) *time.Time {
		if ms == 0 {
			return nil
		}
		return new(time.UnixMilli(ms).UTC())
	}
	count := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	s := liveSession{
		Key: r.Key, AgentID: r.AgentID, Kind: text(r.kind()), Label: text(cmp.Or(r.Label, r.DisplayName)), Status: text(r.Status),
		Active: r.HasActiveRun, Model: text(r.Provider + "/" + r.Model), ContextLimit: count(r.ContextTokens),
		StartedAt: moment(r.StartedAt), UpdatedAt: moment(r.UpdatedAt), LastMessage: text(r.LastMessage), ParentKey: text(cmp.Or(r.Parent, r.SpawnedBy)),
	}
	if r.TotalFresh == nil || *r.TotalFresh {
		s.Context = count(r.TotalTokens)
	}
	return s
}

// live checks that the service's sessions equal the gateway's list whenever the gateway
// is idle, and that a live stream received the same.
func (j *journey) live(t *testing.T) {
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil, "operator.admin")
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	heard, stream := j.listen(t), j.owner.Follow(t, "session")
	j.settledAlike(t, "before", op, heard, stream)
	for round := range 2 {
		for i, agent := range agentIDs() {
			j.model.Script(agent, Reply{Delay: time.Duration(100+i*150) * time.Millisecond})
			for _, name := range []string{"live", "main"} {
				op.start(t, agent, "agent:"+agent+":"+name, fmt.Sprintf("live-%d-%s-%s", round, agent, name), fmt.Sprintf("%s\n\n    echo round %d\n", inShell, round))
			}
		}
		switch round {
		case 0: // a change without a run, and a run that is stopped
			op.call(t, "sessions.patch", map[string]any{"key": "agent:cto:live", "label": "A label"})
			op.call(t, "chat.abort", map[string]any{"sessionKey": "agent:cpo:live"})
		case 1: // a new session, and a queued question
			op.call(t, "sessions.create", map[string]any{"agentId": "cmo", "label": "Made by hand"})
			op.call(t, "chat.send", map[string]any{"sessionKey": "agent:coo:live", "message": "And what else?", "idempotencyKey": "live-chat"})
		}
		j.settledAlike(t, fmt.Sprintf("round %d", round), op, heard, stream)
	}
	op.call(t, "sessions.reset", map[string]any{"key": "agent:cto:live"})
	op.call(t, "sessions.delete", map[string]any{"key": "agent:cmo:live"})
	op.call(t, "sessions.patch", map[string]any{
		"key": "agent:cpo:live", "archived": true, "expectedSessionId": op.list(t)["agent:cpo:live"].SessionID,
	})
	j.settledAlike(t, "reset, deleted and archived", op, heard, stream)
	for _, agent := range agentIDs() {
		j.model.Script(agent, Reply{})
	}
}

// start asks an agent and does not wait for the answer.
func (o *operator) start(t *testing.T, agent, key, run, question string) {
	t.Helper()
	o.call(t, "agent", map[string]any{
		"message": question, "agentId": agent, "sessionKey": key, "idempotencyKey": run, "deliver": false, "timeout": 120,
	})
}

// settledAlike waits until the gateway is idle and compares its list with its events,
// with the service's list and with the service's live stream.
func (j *journey) settledAlike(t *testing.T, when string, op *operator, heard *told, stream *Stream) {
	t.Helper()
	rows := op.settled(t)
	want := map[string]liveSession{}
	for key, r := range rows {
		want[key] = r.shown()
	}
	began := time.Now()
	var diff string
	WaitFor(t, time.Minute, when+": the service to show what the gateway lists", func() bool {
		var list []liveSession
		j.owner.Get(t, "/api/v1/agentrt/sessions?limit=200").Into(t, http.StatusOK, &list)
		got := map[string]liveSession{}
		for _, s := range list {
			got[s.Key] = s
		}
		is := gocmp.Diff(want, got)
		if is != "" && is != diff {
			t.Logf("%s: not yet, after %s (-gateway +service):\n%s", when, time.Since(began).Round(time.Millisecond), is)
		}
		diff = is
		return is == ""
	})
	t.Logf("%s: %d sessions, alike after %s", when, len(want), time.Since(began).Round(time.Millisecond))
	j.toldAlike(t, when, want, stream)
	heard.mu.Lock()
	defer heard.mu.Unlock()
	// The service relies on this: the last event of each session has everything that the
	// list has except the last message, and events are in order.
	for key, r := range rows {
		last, ok := heard.rows[key]
		if !ok {
			continue // nothing has happened to it since the test started to listen
		}
		last = last.plain()
		if last.LastMessage = r.LastMessage; !gocmp.Equal(r, last) {
			t.Errorf("%s: the last event of %s, %s, is not what the list has (-list +event):\n%s", when, key, heard.why[key], gocmp.Diff(r, last))
		}
	}
	if len(heard.back) > 0 {
		t.Errorf("%s: events out of order: %s", when, strings.Join(heard.back, "; "))
	}
	t.Logf("%s: %d rows in events", when, heard.count)
}

// toldAlike checks that the live stream alone leads to the same rows.
func (j *journey) toldAlike(t *testing.T, when string, want map[string]liveSession, stream *Stream) {
	t.Helper()
	var got map[string]liveSession
	WaitFor(t, time.Minute, when+": the stream to have told it", func() bool {
		got = map[string]liveSession{}
		for _, f := range stream.Frames() {
			var s liveSession
			if f.Event == "session.changed" || f.Event == "session.gone" {
				f.Into(t, &s)
			}
			switch f.Event {
			case "session.changed":
				got[s.Key] = s
			case "session.gone":
				delete(got, s.Key)
			}
		}
		for key, s := range got {
			if !gocmp.Equal(s, want[key]) {
				return false
			}
		}
		return true
	})
}
