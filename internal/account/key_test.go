package account

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// makeAgentKey creates an agent user with a key that does not expire.
func makeAgentKey(t testing.TB, s *Service, name string) (User, IssuedKey) {
	t.Helper()
	u := makeUser(t, s, name, actor.Agent)
	k, err := s.MakeKey(system(t), u.Email, NewKey{Name: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	return u, k
}

// TestMakeKey checks the format of keys, which secret scanners can detect.
func TestMakeKey(t *testing.T) {
	t.Parallel()
	shape, seen := regexp.MustCompile(`^wrk_[a-z2-7]{40}$`), map[string]bool{}
	for range 100 {
		k := newSecret()
		if !shape.MatchString(k) || seen[k] {
			t.Fatalf("made %s", k)
		}
		seen[k] = true
	}
}

// TestAuthenticateKey checks that a key has the current permissions of its agent, and that all
// unusable keys return the same error.
func TestAuthenticateKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		coo, k := makeAgentKey(t, s, "coo")
		until := clock.At(now.Add(time.Hour))
		short, err := s.MakeKey(system(t), coo.ID, NewKey{Name: " today ", ExpiresAt: patch.Set(until)})
		if err != nil || short.Name != "today" || short.Secret == k.Secret {
			t.Fatalf("%+v, %v", short.Key, err)
		}
		s.Secret = []byte("another secret, as after a change of JWT_SECRET, and long enough")
		want := actor.Actor{ID: coo.ID, Name: "coo", Role: actor.Agent, AgentID: "coo", Key: k.ID}
		if got, err := s.Authenticate(t.Context(), k.Secret); !same(got, want) || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		want.Expires, want.Key = until.Time, short.ID // an open stream ends then
		if got, err := s.Authenticate(t.Context(), short.Secret); !same(got, want) || err != nil {
			t.Errorf("with an end: %+v, %v; want %+v", got, err, want)
		}
		refused := func(what, secret string) {
			t.Helper()
			got, err := s.Authenticate(t.Context(), secret)
			if got.Known() || !errors.Is(err, ErrToken) || err.Error() != ErrToken.With(badKey).Error() {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
		refused("a wrong one", k.Secret[:len(k.Secret)-1]+"1")
		refused("the prefix", keyPrefix)
		refused("in capitals", keyPrefix+strings.ToUpper(k.Secret[len(keyPrefix):]))
		refused("its digest", keyPrefix+keyDigest(k.Secret))
		now = until.Time
		refused("an expired one", short.Secret)
		if err := s.RevokeKey(system(t), coo.Email, k.ID); err != nil {
			t.Fatal(err)
		}
		refused("a revoked one", k.Secret)
	})
}

// TestKeyFollowsTheAccount checks that a key stops working when its account is deactivated or is
// no longer an agent's.
func TestKeyFollowsTheAccount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		coo, k := makeAgentKey(t, s, "coo")
		step := func(c Change, want error) {
			t.Helper()
			if _, err := s.Change(system(t), coo.ID, c, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Authenticate(t.Context(), k.Secret); !errors.Is(err, want) {
				t.Errorf("Authenticate() = %v, want %v", err, want)
			}
		}
		step(Change{Active: new(false)}, ErrDeactivated)
		step(Change{Active: new(true), Password: new("another good password")}, nil)
		step(Change{Role: new(actor.Admin), AgentID: patch.Clear[string]()}, ErrToken)
		step(Change{Role: new(actor.Agent), AgentID: patch.Set("cto")}, nil)
		if a, err := s.Authenticate(t.Context(), k.Secret); err != nil || a.AgentID != "cto" {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestKeysAreForAgents checks that people cannot have keys.
func TestKeysAreForAgents(t *testing.T) {
	t.Parallel()
	s := newService(dbtest.New(t))
	coo, k := makeAgentKey(t, s, "coo")
	for _, role := range []actor.Role{actor.Owner, actor.Admin, actor.User} {
		u := makeUser(t, s, string(role), role)
		if got, err := s.MakeKey(system(t), u.ID, NewKey{Name: "x"}); !errors.Is(err, ErrKeyHolder) || got.Secret != "" {
			t.Errorf("as %s: %v", role, err)
		}
		if err := s.RevokeKey(system(t), u.ID, k.ID); !errors.Is(err, ErrKeyNotFound) {
			t.Errorf("another's key: %v", err)
		}
	}
	if _, err := s.MakeKey(system(t), "nobody@example.com", NewKey{Name: "x"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("nobody's: %v", err)
	}
	if err := s.RevokeKey(system(t), coo.ID, "x\x00"); !errors.Is(err, ErrKeyNotFound) {
		t.Errorf("no id: %v", err)
	}
	if _, err := s.Authenticate(t.Context(), k.Secret); err != nil {
		t.Errorf("the key of the agent: %v", err)
	}
}

// TestKeyUses checks that the last use of a key is stored in the background.
func TestKeyUses(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		coo, k := makeAgentKey(t, s, "coo")
		use := func() {
			t.Helper()
			if _, err := s.Authenticate(t.Context(), k.Secret); err != nil {
				t.Fatal(err)
			}
		}
		noted := func(want *clock.Time) {
			t.Helper()
			part, err := s.Keys(t.Context(), coo.ID, page.Want{})
			if err != nil || len(part.Rows) != 1 {
				t.Fatal(part, err)
			}
			if got := part.Rows[0].LastUsedAt; (got == nil) != (want == nil) || got != nil && !got.Equal(want.Time) {
				t.Errorf("last used %v, want %v", got, want)
			}
		}
		use()
		noted(nil)
		if err := s.writeUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		noted(clock.Ptr(monday))
		now = now.Add(time.Minute - time.Millisecond)
		use()
		if uses := s.notes.takeUses(); len(uses) != 0 {
			t.Errorf("within the minute %v is to be written", uses)
		}
		now = now.Add(time.Millisecond)
		use()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Run(ctx); err != nil { // the service stops
			t.Fatal(err)
		}
		noted(clock.Ptr(monday.Add(time.Minute)))
		err := d.Tx(t.Context(), func(tx *db.Tx) error { return touchKey(t.Context(), tx, k.ID, monday) })
		if err != nil {
			t.Fatal(err)
		}
		noted(clock.Ptr(monday.Add(time.Minute))) // a delayed write by another replica
	})
}

// TestToolUses checks that an agent counts as connected only while it has a usable key that has called
// the tools.
func TestToolUses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		coo, k := makeAgentKey(t, s, "coo")
		want := func(has bool, used *clock.Time) {
			t.Helper()
			uses, err := s.ToolUses(t.Context(), d)
			got, found := uses["coo"]
			if err != nil || found != has || (got == nil) != (used == nil) || got != nil && !got.Equal(used.Time) {
				t.Errorf("%v, %v; want %v, %v", uses, err, has, used)
			}
		}
		use := func(at bool) {
			t.Helper()
			by, err := s.Authenticate(t.Context(), k.Secret)
			if err == nil {
				err = s.NoteTools(actor.With(t.Context(), by), at)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.NoteTools(system(t), true); err != nil { // without a key
			t.Fatal(err)
		}
		want(true, nil)
		use(true)
		want(true, clock.Ptr(monday))
		now = monday.Add(time.Hour)
		use(false)
		want(true, clock.Ptr(monday))
		if err := s.writeUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(true, clock.Ptr(now))
		if _, err := s.MakeKey(system(t), coo.ID, NewKey{Name: "unused", ExpiresAt: patch.Set(clock.At(now.Add(time.Hour)))}); err != nil {
			t.Fatal(err)
		}
		want(true, clock.Ptr(now))
		if err := s.RevokeKey(system(t), coo.ID, k.ID); err != nil {
			t.Fatal(err)
		}
		want(true, nil)
		now = now.Add(time.Hour)
		want(false, nil)
	})
}

func TestKeysOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		admin := s.login(t, makeUser(t, s.Service, "admin", actor.Admin))
		coo := makeUser(t, s.Service, "coo", actor.Agent)
		own := s.login(t, coo)
		path := "/users/" + coo.ID + "/keys"
		made := s.ask(t, admin, "POST", path, `{"name":"laptop","expires_at":"2026-11-24T00:00:00+01:00"}`)
		secret, _ := made.body["key"].(string)
		id, _ := made.body["id"].(string)
		if made.status != http.StatusCreated || !strings.HasPrefix(secret, "wrk_") || made.body["hint"] != "wrk_…"+secret[len(secret)-4:] ||
			made.body["expires_at"] != "2026-11-23T23:00:00.000Z" || made.header.Get("Location") != "/api/v1"+path+"/"+id {
			t.Fatalf("made %d %v %v", made.status, made.body, made.header)
		}
		s.said.Reset()
		for what, body := range map[string]string{
			"no name": `{}`, "a blank name": `{"name":" "}`, "a long name": `{"name":"` + strings.Repeat("x", 101) + `"}`,
			"a past end": `{"name":"x","expires_at":"2026-11-23T09:00:00Z"}`, "no time": `{"name":"x","expires_at":"soon"}`, "no time of RFC 3339 in UTC": `{"name":"x","expires_at":"9999-12-31T23:59:59-12:00"}`, "its own key": `{"name":"x","key":"` + secret + `"}`,
		} {
			s.ask(t, admin, "POST", path, body).want(t, what, http.StatusUnprocessableEntity, "invalid_input")
		}
		s.ask(t, admin, "POST", "/users/admin@example.com/keys", `{"name":"x"}`).want(t, "a person's", http.StatusConflict, "keys_for_agents")
		for _, token := range []string{own, secret} { // agents cannot create, list or revoke keys, not even their own
			s.ask(t, token, "POST", path, `{"name":"x"}`).want(t, "its own", http.StatusForbidden, "forbidden")
			s.ask(t, token, "GET", path, nil).want(t, "its own", http.StatusForbidden, "forbidden")
			s.ask(t, token, "DELETE", path+"/"+id, nil).want(t, "its own", http.StatusForbidden, "forbidden")
			if me := s.ask(t, token, "GET", "/auth/me", nil); me.body["id"] != coo.ID {
				t.Errorf("me: %d %v", me.status, me.body)
			}
		}
		list := s.ask(t, admin, "GET", "/users/COO@example.com/keys?total=true", nil)
		if len(list.list) != 1 || list.header.Get("X-Total-Count") != "1" {
			t.Errorf("list: %d %v", list.status, list.list)
		}
		s.ask(t, admin, "DELETE", path+"/nothing", nil).want(t, "none", http.StatusNotFound, "key_not_found")
		s.ask(t, admin, "DELETE", "/users/admin@example.com/keys/"+id, nil).want(t, "another's", http.StatusNotFound, "key_not_found")
		for range 2 {
			s.gone(t, admin, path+"/"+id)
			s.ask(t, secret, "GET", "/auth/me", nil).want(t, "revoked", http.StatusUnauthorized, "token_invalid")
		}
		if said := strings.Join(told(t, s.Service, coo.ID), "\n"); strings.Count(said, "key.created") != 1 || strings.Count(said, "key.revoked") != 1 {
			t.Errorf("the audit says\n%s", said)
		}
		for place, text := range map[string]string{"answers": s.said.String(), "log": s.log.String(), "audit": strings.Join(told(t, s.Service, coo.ID), "")} {
			if strings.Contains(text, secret) || strings.Contains(text, keyDigest(secret)) {
				t.Errorf("the %s have the key", place)
			}
		}
	})
}

// gone deletes the resource at path.
func (s *site) gone(t *testing.T, token, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE %s: %d", path, res.StatusCode)
	}
}
