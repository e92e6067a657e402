package account

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodPassword = "correct horse battery"

// blank is a new user of whom everything is right.
func blank() NewUser {
	return NewUser{Email: "ada@example.com", Name: "Ada", Password: goodPassword, Role: actor.User}
}

// refused are the pointers of the fields that err refuses.
func refused(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Invalid {
		t.Fatalf("%v is no refusal of input", err)
	}
	var at []string
	for _, field := range f.Fields {
		at = append(at, field.Pointer)
	}
	return at
}

// What slips through here is in every list and every log for ever.
func TestRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat
	tests := []struct {
		name string
		make func(*NewUser)
		want []string
	}{
		{"takes a person", func(*NewUser) {}, nil},
		{"takes an agent", func(n *NewUser) { n.Role, n.AgentID = actor.Agent, patch.Set("coo") }, nil},
		{"takes an explicit null", func(n *NewUser) { n.AgentID, n.AvatarURL = patch.Clear[string](), patch.Clear[string]() }, nil},
		{"trims the email", func(n *NewUser) { n.Email = "  ada@example.com\n" }, nil},
		{"takes a host without a dot", func(n *NewUser) { n.Email = "owner@localhost" }, nil},
		{"takes other scripts", func(n *NewUser) { n.Email = "péter.ж@bücher.example" }, nil},
		{"takes plus and apostrophe", func(n *NewUser) { n.Email = "o'hara+wardroom@example.com" }, nil},
		{"takes the longest email", func(n *NewUser) {
			n.Email = long("a", 64) + "@" + long("b", 63) + "." + long("c", 63) + "." + long("d", 61)
		}, nil},
		{"refuses a longer one", func(n *NewUser) {
			n.Email = long("a", 64) + "@" + long("b", 63) + "." + long("c", 63) + "." + long("d", 62)
		}, []string{"/email"}},
		{"refuses no email", func(n *NewUser) { n.Email = " " }, []string{"/email"}},
		{"refuses no @", func(n *NewUser) { n.Email = "ada.example.com" }, []string{"/email"}},
		{"refuses two @", func(n *NewUser) { n.Email = "ada@home@example.com" }, []string{"/email"}},
		{"refuses no domain", func(n *NewUser) { n.Email = "ada@" }, []string{"/email"}},
		{"refuses nobody", func(n *NewUser) { n.Email = "@example.com" }, []string{"/email"}},
		{"refuses an empty label", func(n *NewUser) { n.Email = "ada@example..com" }, []string{"/email"}},
		{"refuses a final dot", func(n *NewUser) { n.Email = "ada@example.com." }, []string{"/email"}},
		{"refuses dots at the edge", func(n *NewUser) { n.Email = ".ada@example.com" }, []string{"/email"}},
		{"refuses a blank within", func(n *NewUser) { n.Email = "a da@example.com" }, []string{"/email"}},
		{"refuses a newline within", func(n *NewUser) { n.Email = "ada\nbcc:x@example.com" }, []string{"/email"}},
		{"refuses a display name", func(n *NewUser) { n.Email = "Ada <ada@example.com>" }, []string{"/email"}},
		{"refuses what cannot be seen", func(n *NewUser) { n.Email = "ada\u200b@example.com" }, []string{"/email"}},
		{"refuses bytes that are no text", func(n *NewUser) { n.Email = "ad\xff@example.com" }, []string{"/email"}},
		{"takes 100 characters of name", func(n *NewUser) { n.Name = long("ж", 100) }, nil},
		{"refuses 101", func(n *NewUser) { n.Name = long("ж", 101) }, []string{"/name"}},
		{"refuses a blank name", func(n *NewUser) { n.Name = "  \t" }, []string{"/name"}},
		{"refuses two lines", func(n *NewUser) { n.Name = "Ada\nowner" }, []string{"/name"}},
		{"refuses turned text", func(n *NewUser) { n.Name = "Ada \u202egnp" }, []string{"/name"}},
		{"refuses a name of nothing", func(n *NewUser) { n.Name = "\u200b" }, []string{"/name"}},
		{"takes joined emoji", func(n *NewUser) { n.Name = "👩‍🚀" }, nil},
		{"takes 12 characters of password", func(n *NewUser) { n.Password = "éééééééééééé" }, nil},
		{"refuses 11, whatever their bytes", func(n *NewUser) { n.Password = "ééééééééééé" }, []string{"/password"}},
		{"refuses none", func(n *NewUser) { n.Password = "" }, []string{"/password"}},
		{"takes any length of password", func(n *NewUser) { n.Password = long("x", 1<<20) }, nil},
		{"refuses a NUL in it", func(n *NewUser) { n.Password = goodPassword + "\x00" }, []string{"/password"}},
		{"refuses an unknown role", func(n *NewUser) { n.Role = "root" }, []string{"/role"}},
		{"refuses no role", func(n *NewUser) { n.Role = "" }, []string{"/role"}},
		{"refuses an agent without its id", func(n *NewUser) { n.Role = actor.Agent }, []string{"/agent_id"}},
		{"refuses a person with one", func(n *NewUser) { n.AgentID = patch.Set("coo") }, []string{"/agent_id"}},
		{"refuses capitals in it", func(n *NewUser) { n.Role, n.AgentID = actor.Agent, patch.Set("COO") }, []string{"/agent_id"}},
		{"refuses 65 characters of it", func(n *NewUser) { n.Role, n.AgentID = actor.Agent, patch.Set(long("a", 65)) }, []string{"/agent_id"}},
		{"refuses a newline after it", func(n *NewUser) { n.Role, n.AgentID = actor.Agent, patch.Set("coo\n") }, []string{"/agent_id"}},
		{"takes an avatar", func(n *NewUser) { n.AvatarURL = patch.Set("https://example.com/a.png") }, nil},
		{"refuses a script", func(n *NewUser) { n.AvatarURL = patch.Set("javascript:alert(1)") }, []string{"/avatar_url"}},
		{"refuses a path", func(n *NewUser) { n.AvatarURL = patch.Set("/a.png") }, []string{"/avatar_url"}},
		{"refuses credentials in it", func(n *NewUser) { n.AvatarURL = patch.Set("https://u:p@example.com/") }, []string{"/avatar_url"}},
		{"refuses 2001 bytes of it", func(n *NewUser) { n.AvatarURL = patch.Set("https://example.com/" + long("a", 1981)) }, []string{"/avatar_url"}},
		{
			"names everything at once", func(n *NewUser) { *n = NewUser{Email: "x", Name: " ", Password: "y", Role: "z"} },
			[]string{"/email", "/name", "/password", "/role"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := blank()
			tt.make(&n)
			_, err := User{}.apply(n.change())
			if got := refused(t, err); !slices.Equal(got, tt.want) {
				t.Errorf("refused %v, want %v", got, tt.want)
			}
		})
	}
}

// The specification's user has no name; whoever creates one by it gets a good one.
func TestNameIsOptional(t *testing.T) {
	t.Parallel()
	n := blank()
	n.Name = ""
	if u, err := (User{}).apply(n.change()); err != nil || u.Name != "ada" {
		t.Errorf("a person is called %q (%v), want ada", u.Name, err)
	}
	n.Role, n.AgentID = actor.Agent, patch.Set("coo")
	if u, err := (User{}).apply(n.change()); err != nil || u.Name != "coo" {
		t.Errorf("an agent is called %q (%v), want coo", u.Name, err)
	}
}

// Two owners, or none, and nobody can repair the installation from outside.
func TestOwnerStays(t *testing.T) {
	t.Parallel()
	owner := User{Email: "o@example.com", Name: "O", Role: actor.Owner, Active: true}
	admin := User{Email: "a@example.com", Name: "A", Role: actor.Admin, Active: true}
	tests := []struct {
		name string
		user User
		c    Change
		want error
	}{
		{"is not demoted", owner, Change{Role: new(actor.Admin)}, ErrOneOwner},
		{"is not deactivated", owner, Change{Active: new(false)}, ErrOneOwner},
		{"is not joined by another", admin, Change{Role: new(actor.Owner)}, ErrOneOwner},
		{"may say that it stays", owner, Change{Role: new(actor.Owner), Active: new(true), Name: new("Olga")}, nil},
		{"does not keep others from changing", admin, Change{Role: new(actor.User), Active: new(false)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.user.apply(tt.c)
			if !errors.Is(err, tt.want) {
				t.Errorf("apply() = %v, want %v", err, tt.want)
			}
			if tt.want != nil && got != tt.user {
				t.Errorf("a refused change was made: %+v", got)
			}
		})
	}
}

// The audit tells what was what before, and only of what changed.
func TestDifferences(t *testing.T) {
	t.Parallel()
	was := User{Email: "a@example.com", Name: "A", Role: actor.Agent, AgentID: new("coo"), Active: true}
	is := was
	is.AgentID = new("coo")
	if got := differences(was, is); len(got) != 0 {
		t.Errorf("equal users differ in %v", got)
	}
	is.Role, is.AgentID, is.Active = actor.User, nil, false
	want := map[string]any{
		"role":     difference{actor.Agent, actor.User},
		"agent_id": difference{"coo", nil},
		"active":   difference{true, false},
	}
	if d := cmp.Diff(want, differences(was, is)); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
}
