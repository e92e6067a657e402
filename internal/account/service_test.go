package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

func newService(d *db.DB) *Service {
	return &Service{
		DB: d, Now: func() time.Time { return monday },
		Secret: secret, TokenLife: time.Hour, Cost: bcrypt.MinCost,
	}
}

// system returns a context with Wardroom itself as the actor.
func system(t testing.TB) context.Context { return actor.With(t.Context(), actor.System) }

// as returns a context with a user as the actor.
func as(t testing.TB, u User) context.Context {
	a := actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role}
	if u.AgentID != nil {
		a.AgentID = *u.AgentID
	}
	return actor.With(t.Context(), a)
}

// makeUser adds an account with the email name@example.com. The agent ID of an agent is its name.
func makeUser(t testing.TB, s *Service, name string, role actor.Role) User {
	t.Helper()
	n := NewUser{Email: name + "@example.com", Name: name, Password: goodPassword, Role: role}
	if role == actor.Agent {
		n.AgentID = patch.Set(name)
	}
	if role == actor.Owner {
		created, _, err := s.Bootstrap(t.Context(), n.Email, n.Password)
		if err != nil || !created {
			t.Fatalf("make the owner: %v, %v", created, err)
		}
		u, err := s.Get(t.Context(), n.Email)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u, err := s.Create(system(t), n)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// told returns the audit events of a user, newest first, as "kind data".
func told(t testing.TB, s *Service, id string) []string {
	t.Helper()
	part, err := event.Read(t.Context(), s.DB, event.Filter{Class: event.Audit, SubjectKind: "user", SubjectID: id}, page.Want{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range part.Rows {
		var data any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		tidy, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e.Actor.ID+" "+e.Kind+" "+string(tidy))
	}
	return lines
}

// race runs fn n times concurrently and counts the results by error code.
func race(n int, fn func(i int) error) map[string]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	counts := map[string]int{}
	for i := range n {
		wg.Go(func() {
			err := fn(i)
			key := "won"
			if err != nil {
				key = err.Error()
				if f := fault.Of(err); f != nil {
					key = f.Code
				}
			}
			mu.Lock()
			defer mu.Unlock()
			counts[key]++
		})
	}
	wg.Wait()
	return counts
}

func wantCounts(t *testing.T, got map[string]int, want map[string]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) { // maps print in the order of their keys
		t.Errorf("outcomes are %v, want %v", got, want)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		admin := makeUser(t, s, "admin", actor.Admin)
		coo, err := s.Create(as(t, admin), NewUser{
			Email: "Coo@Example.com", Password: goodPassword, Role: actor.Agent,
			AgentID: patch.Set("coo"), AvatarURL: patch.Set("https://example.com/coo.png"),
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Get(t.Context(), "coo@EXAMPLE.com")
		if err != nil {
			t.Fatal(err)
		}
		if a, b := asJSON(t, coo), asJSON(t, read); a != b {
			t.Errorf("created %s\nread    %s", a, b)
		}
		if coo.Email != "Coo@Example.com" || coo.Name != "coo" || !coo.Active || coo.Version != 1 || *coo.AgentID != "coo" {
			t.Errorf("created %+v", coo)
		}
		want := []string{admin.ID + ` user.created {"agent_id":"coo","email":"Coo@Example.com","role":"agent"}`}
		if got := told(t, s, coo.ID); !slices.Equal(got, want) {
			t.Errorf("events are %q, want %q", got, want)
		}
		for _, tt := range []struct {
			name   string
			n      NewUser
			want   error
			holder any
		}{
			{"the same email", NewUser{Email: "COO@example.com", Password: goodPassword, Role: actor.User}, ErrEmailTaken, coo.ID},
			{"the same agent", NewUser{Email: "x@example.com", Password: goodPassword, Role: actor.Agent, AgentID: patch.Set("coo")}, ErrAgentTaken, coo.ID},
			{"an owner", NewUser{Email: "x@example.com", Password: goodPassword, Role: actor.Owner}, ErrOneOwner, nil},
			{"nonsense", NewUser{Email: "x", Password: goodPassword, Role: actor.User}, fault.ErrInvalid, nil},
		} {
			_, err := s.Create(as(t, admin), tt.n)
			if f := fault.Of(err); !errors.Is(err, tt.want) || f.Facts["holder"] != tt.holder {
				t.Errorf("%s: %v held by %v, want %v by %v", tt.name, err, f.Facts["holder"], tt.want, tt.holder)
			}
		}
		if n := counted(t, s, Filter{}); n != 2 {
			t.Errorf("there are %d users, want 2", n)
		}
	})
}

// counted returns how many users match.
func counted(t testing.TB, s *Service, f Filter) int64 {
	t.Helper()
	part, err := s.List(t.Context(), f, page.Want{Total: true})
	if err != nil {
		t.Fatal(err)
	}
	return *part.Total
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestChange(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		admin := makeUser(t, s, "admin", actor.Admin)
		ada := makeUser(t, s, "ada", actor.User)
		s.Now = func() time.Time { return monday.Add(time.Hour) }

		same, err := s.Change(as(t, admin), ada.ID, Change{Name: new("ada"), Role: new(actor.User)}, new(int64(1)))
		if err != nil || same.Version != 1 || !same.UpdatedAt.Equal(monday) {
			t.Errorf("nothing new made version %d of %v (%v)", same.Version, same.UpdatedAt, err)
		}
		got, err := s.Change(as(t, admin), "ADA@example.com", Change{
			Email: new("lovelace@example.com"), Name: new("Ada"), Password: new("a good new password"),
			Role: new(actor.Agent), AgentID: patch.Set("ada"), Active: new(false), AvatarURL: patch.Set("https://example.com/"),
		}, new(int64(1)))
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Get(t.Context(), ada.ID)
		if a, b := asJSON(t, got), asJSON(t, read); err != nil || a != b {
			t.Errorf("answered %s\nstored   %s (%v)", a, b, err)
		}
		if got.Version != 2 || !got.UpdatedAt.Equal(monday.Add(time.Hour)) || !got.CreatedAt.Equal(monday) {
			t.Errorf("version %d, updated %v, created %v", got.Version, got.UpdatedAt, got.CreatedAt)
		}
		want := admin.ID + ` user.changed {"active":{"after":false,"before":true},"agent_id":{"after":"ada","before":null},` +
			`"avatar_url":{"after":"https://example.com/","before":null},` +
			`"email":{"after":"lovelace@example.com","before":"ada@example.com"},"name":{"after":"Ada","before":"ada"},` +
			`"password":"changed","role":{"after":"agent","before":"user"}}`
		if events := told(t, s, ada.ID); len(events) != 2 || events[0] != want {
			t.Errorf("events are %q,\nwant first %q", events, want)
		}
		if _, err := s.Get(t.Context(), "ada@example.com"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the old email still finds somebody: %v", err)
		}
		_, err = s.Change(as(t, admin), ada.ID, Change{Name: new("B")}, new(int64(1)))
		if f := fault.Of(err); !errors.Is(err, ErrStale) || f.Facts["current_version"] != int64(2) {
			t.Errorf("a stale change: %v", err)
		}
		for _, ref := range []string{db.NewID(), "nobody@example.com", "", "ada", "\x00", "\xff", "\x00@x"} {
			if _, err := s.Change(as(t, admin), ref, Change{Name: new("B")}, nil); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v, want %v", ref, err, ErrNotFound)
			}
		}
		if _, err := s.Change(as(t, admin), ada.ID, Change{Password: new("short")}, nil); !slices.Equal(refused(t, err), []string{"/password"}) {
			t.Errorf("a short password: %v", err)
		}
	})
}

// TestOneActiveAgentUser checks that an agent has at most one active account, and that the error
// names its holder.
func TestOneActiveAgentUser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := system(t)
		first := makeUser(t, s, "coo", actor.Agent)
		if _, err := s.Change(ctx, first.ID, Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		second, err := s.Create(ctx, NewUser{Email: "coo2@example.com", Password: goodPassword, Role: actor.Agent, AgentID: patch.Set("coo")})
		if err != nil {
			t.Fatal(err)
		}
		person := makeUser(t, s, "ada", actor.User)
		cto := makeUser(t, s, "cto", actor.Agent)
		for name, try := range map[string]func() (User, error){
			"comes back": func() (User, error) { return s.Change(ctx, first.ID, Change{Active: new(true)}, nil) },
			"comes over": func() (User, error) {
				return s.Change(ctx, person.ID, Change{Role: new(actor.Agent), AgentID: patch.Set("coo")}, nil)
			},
			"renames itself": func() (User, error) { return s.Change(ctx, cto.ID, Change{AgentID: patch.Set("coo")}, nil) },
		} {
			_, err := try()
			if f := fault.Of(err); !errors.Is(err, ErrAgentTaken) || f.Facts["holder"] != second.ID || !strings.Contains(f.Detail, second.Email) {
				t.Errorf("%s: %v, want %v naming %s", name, err, ErrAgentTaken, second.ID)
			}
		}
		got, err := s.AgentUsers(ctx, d)
		want := []AgentUser{{second.ID, "coo", "coo"}, {cto.ID, "cto", "cto"}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("AgentUsers() = %v, %v; want %v", got, err, want)
		}
		for ref, want := range map[string]string{
			"coo": second.ID, "cto": cto.ID, "COO@example.com": first.ID, first.ID: first.ID, person.ID: person.ID,
		} {
			if u, err := s.Resolve(ctx, d, ref); err != nil || u.ID != want {
				t.Errorf("Resolve(%q) = %q, %v; want %q", ref, u.ID, err, want)
			}
		}
		for _, ref := range []string{"", "ada", "cmo", "\x00", "x@y"} {
			if _, err := s.Resolve(ctx, d, ref); !errors.Is(err, ErrNotFound) {
				t.Errorf("Resolve(%q): %v, want %v", ref, err, ErrNotFound)
			}
		}
	})
}

// TestRaces checks that of concurrent requests one succeeds and the others fail with the right
// error.
func TestRaces(t *testing.T) {
	t.Parallel()
	const n = 8
	lost := func(code string) map[string]int { return map[string]int{"won": 1, code: n - 1} }
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := system(t)
		agent := func(i int) User {
			return makeUser(t, s, fmt.Sprint("agent", i), actor.Agent)
		}
		t.Run("one email", func(t *testing.T) {
			wantCounts(t, race(n, func(i int) error {
				_, err := s.Create(ctx, NewUser{Email: []string{"x", "X"}[i%2] + "@example.com", Password: goodPassword, Role: actor.User})
				return err
			}), lost("email_taken"))
		})
		t.Run("one agent", func(t *testing.T) {
			wantCounts(t, race(n, func(i int) error {
				_, err := s.Create(ctx, NewUser{Email: fmt.Sprintf("a%d@example.com", i), Password: goodPassword, Role: actor.Agent, AgentID: patch.Set("one")})
				return err
			}), lost("agent_taken"))
		})
		var agents []User
		for i := range n {
			agents = append(agents, agent(i))
		}
		t.Run("one version", func(t *testing.T) {
			wantCounts(t, race(n, func(i int) error {
				_, err := s.Change(ctx, agents[0].ID, Change{Name: new(fmt.Sprint("name ", i))}, new(int64(1)))
				return err
			}), lost("user_stale"))
		})
		t.Run("one new email", func(t *testing.T) {
			wantCounts(t, race(n, func(i int) error {
				_, err := s.Change(ctx, agents[i].ID, Change{Email: new("new@example.com")}, nil)
				return err
			}), lost("email_taken"))
		})
		t.Run("one who comes and one who returns", func(t *testing.T) {
			if _, err := s.Change(ctx, agents[1].ID, Change{Active: new(false)}, nil); err != nil {
				t.Fatal(err)
			}
			wantCounts(t, race(2, func(i int) error {
				var err error
				if i == 0 {
					_, err = s.Change(ctx, agents[1].ID, Change{Active: new(true)}, nil)
				} else {
					_, err = s.Create(ctx, NewUser{Email: "n@example.com", Password: goodPassword, Role: actor.Agent, AgentID: patch.Set("agent1")})
				}
				return err
			}), map[string]int{"won": 1, "agent_taken": 1})
		})
		t.Run("no version", func(t *testing.T) {
			before, err := s.Get(ctx, agents[2].ID)
			if err != nil {
				t.Fatal(err)
			}
			wantCounts(t, race(n, func(i int) error {
				_, err := s.Change(ctx, agents[2].ID, Change{Name: new(fmt.Sprint("without version ", i))}, nil)
				return err
			}), map[string]int{"won": n})
			after, err := s.Get(ctx, agents[2].ID)
			if err != nil || after.Version != before.Version+n {
				t.Errorf("%d changes made version %d of %d (%v)", n, after.Version, before.Version, err)
			}
		})
	})
}

// TestList checks that pages neither repeat nor omit users, even if all have the same creation
// time.
func TestList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		var want []string
		for i := range 7 {
			role := actor.User
			if i%2 == 1 {
				role = actor.Agent
			}
			if i > 3 {
				s.Now = func() time.Time { return monday.Add(time.Duration(i) * time.Millisecond) }
			}
			want = append(want, makeUser(t, s, fmt.Sprint("u", i), role).ID)
		}
		if _, err := s.Change(system(t), want[2], Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		pick := func(at ...int) (ids []string) {
			for _, i := range at {
				ids = append(ids, want[i])
			}
			return ids
		}
		for _, tt := range []struct {
			name  string
			f     Filter
			limit int
			want  []string
		}{
			{"all by two", Filter{}, 2, want},
			{"all at once", Filter{}, 7, want},
			{"without a limit", Filter{}, 0, want},
			{"by role", Filter{Role: actor.Agent}, 2, pick(1, 3, 5)},
			{"by agent", Filter{AgentID: "u3"}, 2, pick(3)},
			{"active", Filter{Active: new(true)}, 4, pick(0, 1, 3, 4, 5, 6)},
			{"not active", Filter{Active: new(false)}, 4, pick(2)},
			{"all of it", Filter{Role: actor.User, Active: new(true)}, 1, pick(0, 4, 6)},
			{"nobody", Filter{Role: actor.Owner}, 1, nil},
		} {
			var got []string
			q := page.Want{Query: page.Query{Limit: tt.limit}, Total: true}
			for pages := 0; ; pages++ {
				part, err := s.List(t.Context(), tt.f, q)
				if err != nil || pages > 7 {
					t.Fatalf("%s: %d pages, %v", tt.name, pages, err)
				}
				for _, u := range part.Rows {
					got = append(got, u.ID)
				}
				if *part.Total != int64(len(tt.want)) {
					t.Errorf("%s: counted %d, want %d", tt.name, *part.Total, len(tt.want))
				}
				if q.Cursor = part.Next; part.Next == "" {
					break
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		}
		for _, cursor := range []string{"x", page.Encode("1"), page.Encode("x", "1", "y")} {
			if _, err := s.List(t.Context(), Filter{}, page.Want{Query: page.Query{Limit: 1, Cursor: cursor}}); !errors.Is(err, page.ErrCursor) {
				t.Errorf("cursor %q: %v, want %v", cursor, err, page.ErrCursor)
			}
		}
	})
}

// TestListSorts checks that sorting ignores case.
func TestListSorts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for _, name := range []string{"bob", "Ada", "cyd", "adam"} {
			makeUser(t, s, name, actor.User)
		}
		if _, err := s.Change(system(t), "adam@example.com", Change{Name: new("BEA")}, nil); err != nil {
			t.Fatal(err)
		}
		for sort, want := range map[string]string{
			"": "bob Ada cyd BEA", "-created": "BEA cyd Ada bob",
			"name": "Ada BEA bob cyd", "-name": "cyd bob BEA Ada", "email": "Ada BEA bob cyd", "-email": "cyd bob BEA Ada",
		} {
			var names []string
			q := page.Want{Query: page.Query{Limit: 1}, Sort: sort}
			for range 5 {
				part, err := s.List(t.Context(), Filter{}, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range part.Rows {
					names = append(names, u.Name)
				}
				if q.Cursor = part.Next; q.Cursor == "" {
					break
				}
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("by %q: %s, want %s", sort, got, want)
			}
		}
		for text, want := range map[string]int64{"be": 1, "ADA": 2, "example.com": 4, "_": 0} {
			if n := counted(t, s, Filter{Text: text}); n != want {
				t.Errorf("%d have %q, want %d", n, text, want)
			}
		}
	})
}
