package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
)

func newProject(t testing.TB, s *Service, key string) Project {
	t.Helper()
	p, err := s.CreateProject(asService(t), NewProject{Key: key, Name: "The " + key})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func projectKeys(ps []Project) string {
	var keys []string
	for _, p := range ps {
		keys = append(keys, p.Key)
	}
	return strings.Join(keys, " ")
}

// A project must be found as it was stored, and tell the log what was done to it.
func TestProject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made := newProject(t, s, "WEB")
		for _, ref := range []string{made.ID, strings.ToUpper(made.ID), "WEB", "web"} {
			if got, err := s.Project(asService(t), ref); err != nil || !cmp.Equal(got, made) {
				t.Errorf("%s: %+v, %v; want %+v", ref, got, err, made)
			}
		}
		if _, err := s.CreateProject(asService(t), NewProject{Key: "WEB", Name: "Another"}); !errors.Is(err, ErrProjectKey) {
			t.Errorf("the key is taken: %v", err)
		}
		later := s.at(monday.Add(time.Hour))
		changed, err := later.UpdateProject(asService(t), "web", ProjectChange{Name: new(" Site "), Archived: new(true)}, &made.Version)
		if err != nil || changed.Name != "Site" || changed.ArchivedAt == nil || changed.Version != 2 {
			t.Errorf("changed: %+v, %v", changed, err)
		}
		if got, err := s.Project(asService(t), "WEB"); err != nil || !cmp.Equal(got, changed) {
			t.Errorf("%+v, %v; want %+v", got, err, changed)
		}
		if _, err := s.UpdateProject(asService(t), "WEB", ProjectChange{Name: new("Late")}, &made.Version); !errors.Is(err, ErrProjectChanged) {
			t.Errorf("a change of an old version: %v", err)
		}
		if again, err := later.UpdateProject(asService(t), "WEB", ProjectChange{Name: new("Site"), Archived: new(true)}, nil); err != nil || again.Version != 2 {
			t.Errorf("a change that changes nothing: %+v, %v", again, err)
		}
		part, err := event.Read(asService(t), d, event.Filter{Class: event.Activity, SubjectKind: "project"}, page.Want{})
		var told []string
		for _, e := range slices.Backward(part.Rows) {
			told = append(told, fmt.Sprint(e.Kind, " ", e.Subject.Name, " ", string(e.Data)))
		}
		want := []string{
			`project.created WEB {"name":"The WEB"}`,
			`project.changed WEB {"changes":{"archived_at":[null,"2026-11-16T09:00:00.000Z"],"name":["The WEB","Site"]}}`,
		}
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("the log says %q, %v; want %q", told, err, want)
		}
		if _, err := s.Create(asService(t), New{Title: "Late", Project: new("WEB")}); !errors.Is(err, ErrProject) {
			t.Errorf("a project in the archive got a task: %v", err)
		}
	})
}

// A list that forgets or repeats a project, or mixes in the archive, hides work.
func TestProjectList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for i, key := range []string{"WEB", "A1", "AB", "OPS"} {
			newProject(t, s.at(monday.Add(time.Duration(i)*time.Minute)), key)
		}
		if _, err := s.at(monday.Add(time.Hour)).UpdateProject(asService(t), "A1", ProjectChange{Description: new("x")}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UpdateProject(asService(t), "OPS", ProjectChange{Archived: new(true)}, nil); err != nil {
			t.Fatal(err)
		}
		for sort, want := range map[string]string{
			"": "A1 AB WEB", "-key": "WEB AB A1", "created": "WEB A1 AB", "-created": "AB A1 WEB", "updated": "WEB AB A1", "-updated": "A1 AB WEB",
		} {
			var got []Project
			w := page.Want{Query: page.Query{Limit: 1}, Sort: sort, Total: true}
			for {
				part, err := s.Projects(asService(t), false, w)
				if err != nil || *part.Total != 3 {
					t.Fatal(part, err)
				}
				got = append(got, part.Rows...)
				if w.Cursor = part.Next; w.Cursor == "" {
					break
				}
			}
			if projectKeys(got) != want {
				t.Errorf("by %q: %s, want %s", sort, projectKeys(got), want)
			}
		}
		if part, err := s.Projects(asService(t), true, page.Want{}); err != nil || projectKeys(part.Rows) != "OPS" {
			t.Errorf("the archive has %s, %v", projectKeys(part.Rows), err)
		}
	})
}

// Eight at once: each change must be there, or its caller told.
func TestUpdateProjectRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made := newProject(t, s, "WEB")
		counts := race(8, func(i int) error {
			_, err := s.UpdateProject(asService(t), "WEB", ProjectChange{Name: new(fmt.Sprint("n", i))}, &made.Version)
			return err
		})
		if counts["won"] != 1 || counts[ErrProjectChanged.Code] != 7 {
			t.Errorf("%v, want one to win and 7 to be told", counts)
		}
		counts = race(8, func(int) error {
			_, err := s.CreateProject(asService(t), NewProject{Key: "OPS", Name: "Ops"})
			return err
		})
		if counts["won"] != 1 || counts[ErrProjectKey.Code] != 7 {
			t.Errorf("%v, want one project", counts)
		}
	})
}

// What would break lists and addresses must not get in.
func TestProjectRules(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]NewProject{
		"/key: a small letter":   {Key: "Web", Name: "x"},
		"/key: one letter":       {Key: "W", Name: "x"},
		"/key: eleven letters":   {Key: "ABCDEFGHIJK", Name: "x"},
		"/key: a digit first":    {Key: "1A", Name: "x"},
		"/key: stands for none":  {Key: "NONE", Name: "x"},
		"/key: two lines":        {Key: "WEB\n", Name: "x"},
		"/name: blank":           {Key: "WEB", Name: "  "},
		"/name: long":            {Key: "WEB", Name: strings.Repeat("ä", 101)},
		"/name: two lines":       {Key: "WEB", Name: "a\nb"},
		"/description: too long": {Key: "WEB", Name: "x", Description: strings.Repeat("ä", 10_001)},
	} {
		_, err := n.make("id", monday)
		pointer, _, _ := strings.Cut(name, ":")
		if f := fault.Of(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (NewProject{Key: "W2", Name: strings.Repeat("ä", 100), Description: strings.Repeat("ä", 10_000)}).make("id", monday); err != nil {
		t.Error(err)
	}
}

// The routes must say what the service says, with what clients need to go on.
func TestProjectRoutes(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	body := `{"key":"WEB","name":"Site"}`
	made := s.ask(t, "cto", "POST", "/projects", body, "Idempotency-Key", "k")
	if made.status != 401 {
		t.Errorf("a stranger makes one: %d", made.status)
	}
	made = s.ask(t, "agent", "POST", "/projects", body, "Idempotency-Key", "k")
	made.want(t, "make", 201, "")
	if made.header.Get("Location") != "/api/v1/projects/WEB" || made.header.Get("ETag") == "" {
		t.Errorf("headers %v", made.header)
	}
	again := s.ask(t, "agent", "POST", "/projects", body, "Idempotency-Key", "k")
	if again.want(t, "again", 201, ""); again.body["id"] != made.body["id"] || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %v", again.body)
	}
	s.ask(t, "user", "POST", "/projects", body).want(t, "taken", 409, "project_key_taken")
	s.ask(t, "user", "POST", "/projects", `{"key":"web","name":"x"}`).want(t, "small", 422, "invalid_input", "/key")
	s.ask(t, "user", "POST", "/projects", `{"key":"NONE","name":"x"}`).want(t, "none", 422, "invalid_input", "/key")
	s.ask(t, "user", "GET", "/projects/web", "").want(t, "read", 200, "")
	s.ask(t, "user", "GET", "/projects/OPS", "").want(t, "read none", 404, "project_not_found")
	s.ask(t, "user", "PATCH", "/projects/WEB", `{"key":"OPS"}`).want(t, "change the key", 422, "invalid_input", "/key")
	tag := made.header.Get("ETag")
	s.ask(t, "user", "PATCH", "/projects/WEB", `{"archived":true}`, "If-Match", tag).want(t, "archive", 200, "")
	s.ask(t, "user", "PATCH", "/projects/WEB", `{"archived":false}`, "If-Match", tag).want(t, "late", 412, "project_changed")
	for path, want := range map[string]int{"/projects": 0, "/projects?archived=true": 1} {
		if got := s.ask(t, "user", "GET", path+map[bool]string{true: "&", false: "?"}[want == 1]+"total=true", ""); len(got.list) != want || got.header.Get("X-Total-Count") != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v", path, got.list, got.header)
		}
	}
}
