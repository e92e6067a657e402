package account

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
)

// lookAlikes are names that a reader takes for "Zoë Müller".
var lookAlikes = []string{
	"ZOË MÜLLER", "Zoë  Müller", "Zoë\u00a0Müller", "Zoë\u2009Müller", "Zoë\u3000Müller", norm.NFD.String("Zoë Müller"), "Ｚｏë Ｍüｌｌｅｒ",
}

// Nobody can act under a name or email that looks like another person's, whoever sets it.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		s.RegistrationOpen = true
		zoe, err := s.Create(system(t), NewUser{Email: "zoë@example.com", Name: "Zoë Müller", Password: goodPassword, Role: actor.User})
		if err != nil {
			t.Fatal(err)
		}
		eve := makeUser(t, s, "eve", actor.User)
		for i, name := range lookAlikes {
			n := NewUser{Email: fmt.Sprintf("eve%d@example.com", i), Name: name, Password: goodPassword, Role: actor.User}
			_, created := s.Create(system(t), n)
			_, registered := s.Register(t.Context(), Registration{Email: n.Email, Name: name, Password: goodPassword}, netip.MustParseAddr("192.0.2.7"))
			_, changed := s.Change(system(t), eve.ID, Change{Name: &name}, nil)
			_, own := s.ChangeOwn(as(t, eve), OwnChange{Name: &name}, nil)
			for what, err := range map[string]error{"created": created, "registered": registered, "changed": changed, "own": own} {
				if !errors.Is(err, ErrNameTaken) {
					t.Errorf("%s with the name %+q: %v", what, name, err)
				}
			}
			if _, err := s.Change(system(t), zoe.ID, Change{Name: &name}, nil); err != nil {
				t.Errorf("Zoë can't write her name as %+q: %v", name, err)
			}
		}
		for _, email := range []string{"ZOË@example.com", norm.NFD.String("zoë@example.com"), "ｚoë@example.com", "zoë＠example.com"} {
			u, err := s.Get(system(t), email)
			if in, login := s.Login(t.Context(), email, goodPassword, netip.MustParseAddr("192.0.2.7")); err != nil || login != nil || u.ID != zoe.ID || in.User.ID != zoe.ID {
				t.Errorf("%+q finds %s: %v, %v", email, u.Name, err, login)
			}
			if strings.Contains(email, "@") {
				if _, err := s.Create(system(t), NewUser{Email: email, Name: "Z", Password: goodPassword, Role: actor.User}); !errors.Is(err, ErrEmailTaken) {
					t.Errorf("a second account with %+q: %v", email, err)
				}
			}
		}
		if u, err := s.Create(system(t), NewUser{Email: norm.NFD.String("rené@example.com"), Name: norm.NFD.String("René"), Password: goodPassword, Role: actor.User}); err != nil ||
			u.Email != "rené@example.com" || u.Name != "René" {
			t.Errorf("%+q %+q is kept, %v", u.Email, u.Name, err)
		}
	})
}

// The accounts that an agent had one after the other can have its name.
func TestNameOfAnAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		old := makeUser(t, s, "cto", actor.Agent)
		if _, err := s.Change(system(t), old.ID, Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(system(t), NewUser{Email: "cto2@example.com", Password: goodPassword, Role: actor.Agent, AgentID: patch.Set("cto")}); err != nil {
			t.Error(err)
		}
		if _, err := s.Create(system(t), NewUser{Email: "x@example.com", Name: "CTO", Password: goodPassword, Role: actor.User}); !errors.Is(err, ErrNameTaken) {
			t.Errorf("a person takes the agent's name: %v", err)
		}
	})
}

// A password is right in each form in which a keyboard sends it, also one that an earlier version stored.
func TestPasswordForms(t *testing.T) {
	t.Parallel()
	k := newTestHasher(t)
	composed := "Frühlingsgefühle\u00a09"
	forms := []string{composed, strings.ReplaceAll(composed, "\u00a0", " "), norm.NFD.String(composed)}
	for _, chosen := range forms {
		stored, err := k.hash(t.Context(), chosen)
		if err != nil {
			t.Fatal(err)
		}
		for _, typed := range forms {
			mustMatch(t, k, stored, typed, true)
		}
		mustMatch(t, k, stored, strings.ToLower(composed), false)
	}
	for _, raw := range []string{forms[0], forms[2], strings.Repeat(forms[2], 5), "tab\tand umlaut ü"} {
		m, long := bcryptInput(raw)
		hash, err := k.generate(m, k.cost)
		if err != nil {
			t.Fatal(err)
		}
		stored := string(hash)
		if long {
			stored = longPrefix + stored
		}
		mustMatch(t, k, stored, raw, true)
	}
	if checkPassword(norm.NFD.String("éééééé")) == "" {
		t.Error("6 letters are taken for 12 characters")
	}
}

// A taken default name does not keep the service from starting.
func TestBootstrapNameTaken(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s := newService(d)
	makeUser(t, s, "ada", actor.User)
	created, _, err := s.Bootstrap(t.Context(), "ADA@example.org", goodPassword)
	if u, getErr := s.Get(system(t), "ada@example.org"); err != nil || getErr != nil || !created || u.Name != "Owner" || u.Role != actor.Owner {
		t.Errorf("%v: %q %s, %v, %v", created, u.Name, u.Role, err, getErr)
	}
}
