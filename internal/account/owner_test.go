package account

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// The first start decides whether anybody can ever log in.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	type want struct {
		created  bool
		warnings string // in the only warning; empty for none
		err      string // in the error; empty for none
	}
	const email, password = "owner@example.com", goodPassword
	tests := []struct { // in this order: each start finds what the one before left
		name            string
		exists          bool // whether there is an owner
		email, password string
		want            want
	}{
		{"nothing to do", false, "", "", want{}},
		{"needs the password", false, email, "", want{warnings: "BOOTSTRAP_OWNER_PASSWORD is needed"}},
		{"needs the email", false, "", password, want{warnings: "BOOTSTRAP_OWNER_EMAIL is needed"}},
		{"refuses a short password", false, email, "short", want{err: "BOOTSTRAP_OWNER_PASSWORD cannot be used: It needs at least 12 characters"}},
		{"refuses a bad email", false, "owner", password, want{err: "BOOTSTRAP_OWNER_EMAIL cannot be used"}},
		{"refuses somebody else's email", false, "admin@example.com", password, want{err: "wardroom user owner"}},
		{"makes the owner", false, email, password, want{created: true}},
		{"rests afterwards", true, "", "", want{}},
		{"asks to remove the password", true, email, password, want{warnings: "remove the password"}},
		{"asks to remove the password alone", true, "", password, want{warnings: "remove the password"}},
		{"says that the email is ignored", true, email, "", want{warnings: "BOOTSTRAP_OWNER_EMAIL is ignored"}},
		{"ignores another email", true, "other@example.com", password, want{warnings: "remove the password"}},
		{"refuses a short password also then", true, email, "short", want{err: "at least 12 characters"}},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeUser(t, s, "admin", actor.Admin)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if has, err := s.HasOwner(t.Context()); err != nil || has != tt.exists {
					t.Fatalf("there is an owner: %v (%v), want %v", has, err, tt.exists)
				}
				created, warnings, err := s.Bootstrap(t.Context(), tt.email, tt.password)
				switch {
				case (err == nil) != (tt.want.err == "") || err != nil && !strings.Contains(err.Error(), tt.want.err):
					t.Errorf("error %v, want %q", err, tt.want.err)
				case created != tt.want.created:
					t.Errorf("created = %v, want %v", created, tt.want.created)
				case len(warnings) > 1 || strings.Join(warnings, "") == "" != (tt.want.warnings == "") ||
					!strings.Contains(strings.Join(warnings, ""), tt.want.warnings):
					t.Errorf("warnings are %q, want %q", warnings, tt.want.warnings)
				}
				if said := fmt.Sprint(warnings, err); strings.Contains(said, password) || strings.Contains(said, "short") {
					t.Errorf("the password is told: %s", said)
				}
			})
		}
		in, err := s.Login(t.Context(), email, password, netip.Addr{})
		if err != nil || in.User.Role != actor.Owner || in.User.Name != "owner" {
			t.Errorf("the owner logs in as %+v (%v)", in.User, err)
		}
		want := []string{
			in.User.ID + " login.succeeded {}",
			`system user.created {"agent_id":null,"by":"bootstrap","email":"owner@example.com","role":"owner"}`,
		}
		if got := told(t, s, in.User.ID); !slices.Equal(got, want) {
			t.Errorf("events are %q, want %q", got, want)
		}
	})
}

// Replicas start together, and each has the settings.
func TestBootstrapRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		wantCounts(t, race(8, func(i int) error {
			created, warnings, err := s.Bootstrap(t.Context(), fmt.Sprintf("owner%d@example.com", i%2), goodPassword)
			if err == nil && !created {
				return errors.New(strings.Join(warnings, ""))
			}
			return err
		}), map[string]int{"won": 1, strings.Join(obsolete("x", "y"), ""): 7})
		if n := counted(t, s, Filter{}); n != 1 {
			t.Errorf("there are %d users, want 1", n)
		}
	})
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		heir := makeUser(t, s, "heir", actor.User)
		agent := makeUser(t, s, "coo", actor.Agent)
		off := makeUser(t, s, "off", actor.Admin)
		if _, err := s.Change(system(t), off.ID, Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		for ref, want := range map[string]error{agent.ID: ErrOneOwner, off.Email: ErrOneOwner, "nobody@example.com": ErrNotFound} {
			if _, err := s.HandOver(t.Context(), ref); !errors.Is(err, want) {
				t.Errorf("HandOver(%s) = %v, want %v", ref, err, want)
			}
		}
		owner, err := s.HandOver(t.Context(), off.Email)
		if err == nil {
			t.Fatalf("%+v is the owner", owner)
		}
		owner = makeUser(t, s, "owner", actor.Owner)
		got, err := s.HandOver(t.Context(), "HEIR@example.com")
		if err != nil || got.ID != heir.ID || got.Role != actor.Owner || got.Version != 2 {
			t.Fatalf("HandOver() = %+v, %v", got, err)
		}
		former, err := s.Get(t.Context(), owner.ID)
		if err != nil || former.Role != actor.Admin || former.Version != 2 || !former.Active {
			t.Errorf("the former owner is %+v (%v)", former, err)
		}
		for id, want := range map[string]string{
			heir.ID:  `system user.changed {"role":{"after":"owner","before":"user"}}`,
			owner.ID: `system user.changed {"role":{"after":"admin","before":"owner"}}`,
		} {
			if got := told(t, s, id); len(got) != 2 || got[0] != want {
				t.Errorf("events are %q, want first %q", got, want)
			}
		}
		if again, err := s.HandOver(t.Context(), heir.ID); err != nil || again.Version != 2 {
			t.Errorf("to the owner itself: %+v, %v", again, err)
		}
		if _, err := s.Login(t.Context(), owner.Email, goodPassword, netip.Addr{}); err != nil {
			t.Errorf("the former owner cannot log in: %v", err)
		}
	})
}

// A place that is empty can be filled by hand.
func TestHandOverFillsThePlace(t *testing.T) {
	t.Parallel()
	s := newService(dbtest.New(t))
	admin := makeUser(t, s, "admin", actor.Admin)
	if u, err := s.HandOver(t.Context(), admin.ID); err != nil || u.Role != actor.Owner {
		t.Errorf("HandOver() = %+v, %v", u, err)
	}
	if got := told(t, s, admin.ID); len(got) != 2 {
		t.Errorf("events are %q", got)
	}
}

// However the place is fought for, in the end there is one owner.
func TestHandOverRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeUser(t, s, "owner", actor.Owner)
		var heirs []User
		for i := range 6 {
			heirs = append(heirs, makeUser(t, s, fmt.Sprint("heir", i), actor.User))
		}
		wantCounts(t, race(6, func(i int) error {
			_, err := s.HandOver(t.Context(), heirs[i].ID)
			return err
		}), map[string]int{"won": 6})
		for role, want := range map[actor.Role]int64{actor.Owner: 1, actor.Admin: 6, actor.User: 0} {
			if n := counted(t, s, Filter{Role: role}); n != want {
				t.Errorf("%d are %s, want %d", n, role, want)
			}
		}
	})
}

// What the machine's command does asks for nobody's permission, and is noted.
func TestSetPassword(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		owner := makeUser(t, s, "owner", actor.Owner)
		long := strings.Repeat("long password ", 10)
		if err := s.SetPassword(t.Context(), owner.Email, long); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Login(t.Context(), owner.Email, long, netip.Addr{}); err != nil {
			t.Errorf("the new password: %v", err)
		}
		for _, old := range []string{goodPassword, long[:72], long + "x"} {
			if _, err := s.Login(t.Context(), owner.Email, old, netip.Addr{}); !errors.Is(err, ErrLogin) {
				t.Errorf("another password: %v", err)
			}
		}
		if got := told(t, s, owner.ID); len(got) != 3 || got[1] != `system user.changed {"password":"changed"}` {
			t.Errorf("events are %q", got)
		}
		if err := s.SetPassword(t.Context(), owner.Email, "elevenchars"); !slices.Equal(refused(t, err), []string{"/password"}) {
			t.Errorf("a short password: %v", err)
		}
		if err := s.SetPassword(t.Context(), "nobody@example.com", long); !errors.Is(err, ErrNotFound) {
			t.Errorf("nobody's password: %v", err)
		}
	})
}
