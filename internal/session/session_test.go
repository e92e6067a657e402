package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// TestOverview checks that pages about agents show what runs, the last result, which is not that of a
// sub-agent, and recent failures, and no more than that.
func TestOverview(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		failed := func(g gateway.Session) gateway.Session { g.Status = "failed"; return g }
		sub, other := sessionAt("subagent:x", 90), sessionAt("of cpo", 5)
		sub.Kind, other.AgentID = "subagent", "cpo"
		going := sessionAt("going", 1)
		going.Active = true
		r.rows = []gateway.Session{failed(sessionAt("failed before", 2)), failed(sessionAt("failed", 60)), sessionAt("older", 70), sessionAt("last", 80), sub, going, other}
		list(t, s)
		got, err := s.Overview(t.Context(), began.Add(time.Minute))
		var keys []string
		for _, one := range got {
			keys = append(keys, strings.TrimPrefix(one.Key, "agent:cto:"))
		}
		if want := []string{"going", "last", "failed", "of cpo"}; err != nil || !slices.Equal(keys, want) {
			t.Errorf("%q, %v, want %q", keys, err, want)
		}
	})
}

// TestListOrderAndPages checks that pages neither repeat nor omit sessions and have a stable
// order.
func TestListOrderAndPages(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.rows = nil
		for i := range 40 {
			g := sessionAt(fmt.Sprintf("s%02d", i), i%7)
			g.Active, g.Status, g.Kind = i%5 == 0, []string{"done", "failed"}[i%2], []string{"main", "custom", ""}[i%3]
			if i == 3 {
				g.UpdatedAt = clock.Time{}
			}
			g.AgentID = []string{"cto", "cpo"}[i%2]
			r.rows = append(r.rows, g)
		}
		all := list(t, s)
		if len(all) != 40 || all[39].Key != "agent:cto:s03" {
			t.Fatalf("%d rows, the last is %s", len(all), all[39].Key)
		}
		for i := range all[1:] {
			a, b := all[i], all[i+1]
			inOrder := a.Active && !b.Active || a.Active == b.Active && (b.UpdatedAt == nil || a.UpdatedAt.After(b.UpdatedAt.Time) || a.UpdatedAt.Equal(b.UpdatedAt.Time) && a.Key < b.Key)
			if !inOrder {
				t.Errorf("%s stands before %s", a.Key, b.Key)
			}
		}
		yes := true
		for name, f := range map[string]Filter{
			"all": {}, "active": {Active: &yes}, "one agent": {AgentID: "cpo"}, "one kind": {Kind: "main"}, "one status": {Status: "failed", AgentID: "cpo"}, "none": {Kind: "x"},
		} {
			want, _, err := s.List(t.Context(), f, nil, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if f.Active != nil && !w.Active || f.AgentID != "" && w.AgentID != f.AgentID || f.Kind != "" && *w.Kind != f.Kind || f.Status != "" && *w.Status != f.Status {
					t.Errorf("%s has %+v", name, w)
				}
			}
			var got []Session
			var after *position
			for {
				page, _, err := s.List(t.Context(), f, after, 3)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				if after, err = readPosition(positionOf(page[len(page)-1])); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: in pages (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestPositionRefused checks that invalid cursors are rejected.
func TestPositionRefused(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]string{{"maybe", "1", "k"}, {"true", "-1", "k"}, {"true", "x", "k"}, {"true", "9223372036854775807", "k"}, {"1", "1", "k"}, {"true", "01", "k"}} {
		if p, err := readPosition(parts); err == nil {
			t.Errorf("%q is %+v", parts, p)
		}
	}
}

// TestCursorBelongsToItsFilters checks that a cursor is rejected if it belongs to other
// filters.
func TestCursorBelongsToItsFilters(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.rows = nil
		for i := range 4 {
			g := sessionAt(fmt.Sprintf("s%d", i), i)
			g.AgentID, g.Kind, g.Status = "cto", "main", "done"
			r.rows = append(r.rows, g)
		}
		r.begin()
		api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) {
			return actor.Actor{ID: "u", Name: "U", Role: actor.User}, nil
		}})
		s.Mount(api)
		ask := func(query url.Values) (status int, body, next string) {
			req := httptest.NewRequestWithContext(t.Context(), "GET", web.Prefix+"/agentrt/sessions?"+query.Encode(), nil)
			req.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			api.Handler().ServeHTTP(w, req)
			link, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
			if u, err := url.Parse(link); err == nil {
				next = u.Query().Get("cursor")
			}
			return w.Code, w.Body.String(), next
		}
		lists := []url.Values{{}, {"agent_id": {"cto"}}, {"kind": {"main"}}, {"status": {"done"}}, {"active": {"false"}}, {"agent_id": {"cto"}, "kind": {"main"}}}
		for i, from := range lists {
			first := maps.Clone(from)
			first.Set("limit", "2")
			status, body, next := ask(first)
			if status != http.StatusOK || next == "" {
				t.Fatalf("%v: %d %s", from, status, body)
			}
			for j, to := range lists {
				second := maps.Clone(to)
				second.Set("cursor", next)
				status, body, _ := ask(second)
				switch {
				case i == j && (status != http.StatusOK || strings.Count(body, `"key"`) != 2):
					t.Errorf("the next page of %v: %d %s", from, status, body)
				case i != j && (status != http.StatusUnprocessableEntity || !strings.Contains(body, `"invalid_cursor"`)):
					t.Errorf("the cursor of %v for %v: %d %s", from, to, status, body)
				}
			}
		}
		for _, made := range []string{page.Encode("true", "1", "k"), page.Encode("", "true", "1", "k"), "zzz"} {
			if status, body, _ := ask(url.Values{"cursor": {made}}); status != http.StatusUnprocessableEntity || !strings.Contains(body, `"invalid_cursor"`) {
				t.Errorf("a made-up cursor: %d %s", status, body)
			}
		}
	})
}

// TestGet checks that sessions that are not in the list, such as archived ones, can be read by
// key.
func TestGet(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.begin()
		if got, err := s.Get(t.Context(), "agent:cto:main"); err != nil || got.Key != "agent:cto:main" || r.count("describe") != 0 {
			t.Errorf("listed: %+v, %v", got, err)
		}
		if got, err := s.Get(t.Context(), "agent:cto:archived"); err != nil || got.Key != "agent:cto:archived" {
			t.Errorf("archived: %+v, %v", got, err)
		}
		if _, err := s.Get(t.Context(), "agent:cto:none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("none: %v", err)
		}
		if _, err := s.Messages(t.Context(), "agent:cto:none", 10, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("messages of none: %v", err)
		}
	})
}

// TestMessagesOfAnotherTranscript checks that a cursor of a reset conversation is rejected.
func TestMessagesOfAnotherTranscript(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.page = gateway.TurnPage{SessionID: "two", Turns: []gateway.Turn{{Seq: 5, Role: "user"}}, Total: 9, Older: 5}
		r.begin()
		m, err := s.Messages(t.Context(), "agent:cto:main", 10, nil)
		if err != nil || len(m.List) != 1 || m.older == nil || *m.older != (older{transcript: "two", total: 9, offset: 5, seq: 5}) {
			t.Fatalf("%+v, %v", m, err)
		}
		if _, err := s.Messages(t.Context(), "agent:cto:main", 10, &older{transcript: "one"}); !errors.Is(err, errOtherTranscript) {
			t.Errorf("got %v", err)
		}
	})
}

// TestActivities checks that an agent with a run in progress is active, whatever its other
// sessions are.
func TestActivities(t *testing.T) {
	t.Parallel()
	at := func(s int) clock.Time { return clock.At(began.Add(time.Duration(s) * time.Second)) }
	running := func(key string, since clock.Time) row {
		return row{Session: gateway.Session{Key: key, AgentID: "cto", Active: true, StartedAt: since}}
	}
	ended := func(key string, s int) row {
		return row{Session: gateway.Session{Key: key, AgentID: "cto", StartedAt: at(0), EndedAt: at(s)}}
	}
	for name, tt := range map[string]struct {
		rows []row
		want Activity
	}{
		"the run that began first":            {[]row{running("b", at(7)), running("a", at(5)), ended("c", 9)}, Activity{Active: 2, Key: "a", Since: at(5)}},
		"one of which nobody says since when": {[]row{running("b", clock.Time{}), running("a", at(5))}, Activity{Active: 2, Key: "a", Since: at(5)}},
		"the end that was last":               {[]row{ended("a", 3), ended("b", 9), ended("c", 5)}, Activity{Since: at(9)}},
		"what was said last, without an end":  {[]row{{Session: gateway.Session{AgentID: "cto", ActiveAt: at(4)}}}, Activity{Since: at(4)}},
		"never":                               {[]row{{Session: gateway.Session{AgentID: "cto"}}}, Activity{}},
		// Until the run starts, the row has the times of the previous run.
		"a run that waits for its turn": {[]row{{Session: gateway.Session{Key: "a", AgentID: "cto", Active: true, StartedAt: at(1), EndedAt: at(2)}}}, Activity{Active: 1, Key: "a"}},
	} {
		for range 2 {
			if got := activities(tt.rows)["cto"]; got != tt.want {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
			}
			slices.Reverse(tt.rows)
		}
	}
}

// TestKeysAreFoundEitherWay checks that session keys are found in any case.
func TestKeysAreFoundEitherWay(t *testing.T) {
	t.Parallel()
	shown := &snapshot{place: map[string]int{"agent:cto:task:task-1": 3, "agent:cto:Main": 4}}
	for key, want := range map[string]int{"agent:cto:task:TASK-1": 3, "agent:cto:task:task-1": 3, "agent:cto:Main": 4} {
		if got, ok := shown.find(key); !ok || got != want {
			t.Errorf("%s is at %d, %v; want %d", key, got, ok, want)
		}
	}
	if _, ok := shown.find("agent:cto:main"); ok {
		t.Error("another key is taken for one that is not small")
	}
}
