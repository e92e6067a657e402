// Package account knows the people and agents that may call the service, and
// signs them in.
package account

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// User is an account of a person or an agent. Its password's hash is not part
// of it, so that no answer, log or event can carry it by mistake.
type User struct {
	ID          string      `json:"id"`
	Email       string      `json:"email" doc:"The login. Upper and lower case are the same."`
	Name        string      `json:"name"`
	Role        actor.Role  `json:"role" enum:"owner,admin,user,agent"`
	AgentID     *string     `json:"agent_id" doc:"The runtime's agent that an agent user is; null for people."`
	Active      bool        `json:"active" doc:"Whether the account may log in and call the API."`
	AvatarURL   *string     `json:"avatar_url"`
	LastLoginAt *clock.Time `json:"last_login_at"`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at" doc:"The last change of the account; a login is none."`
	Version     int64       `json:"version" doc:"Counts the changes of the account; a login is none."`
}

// AgentUser is an active account of an agent, for features that need to know
// which agents may take part in something.
type AgentUser struct {
	UserID  string
	AgentID string
	Name    string
}

// Person is what whoever may not see accounts is told of one: enough to read a
// board and to give somebody work, and nothing to write to anybody or to sign in with.
type Person struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Active bool   `json:"active" doc:"False of an account that is deactivated: nobody gives it work any more."`
}

// NewUser is what a new account is made of.
type NewUser struct {
	Email           string              `json:"email" maxLength:"254" example:"coo@example.com"`
	Name            string              `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Left out, it is the agent's id, or what stands before the @."`
	Password        string              `json:"password" format:"password" doc:"At least 12 characters; there is no maximum."`
	Role            actor.Role          `json:"role" enum:"owner,admin,user,agent" doc:"There is one owner already, so that role is refused."`
	AgentID         patch.Field[string] `json:"agent_id,omitzero" maxLength:"64" doc:"Required for the role agent, and refused for others."`
	AvatarURL       patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
	CurrentPassword *string             `json:"current_password,omitempty" format:"password" doc:"Your own password. Required for the role admin."`
}

// Change is a partial update. What it does not name stays as it is.
type Change struct {
	Email           *string             `json:"email,omitempty" maxLength:"254"`
	Name            *string             `json:"name,omitempty" maxLength:"100"`
	Password        *string             `json:"password,omitempty" format:"password" doc:"At least 12 characters; there is no maximum."`
	Role            *actor.Role         `json:"role,omitempty" enum:"owner,admin,user,agent" doc:"Nobody becomes the owner, or stops being it, through the API."`
	AgentID         patch.Field[string] `json:"agent_id,omitzero" maxLength:"64"`
	Active          *bool               `json:"active,omitempty" doc:"false deactivates the account: its tokens are answered with 403 at once."`
	AvatarURL       patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
	CurrentPassword *string             `json:"current_password,omitempty" format:"password" doc:"Your own password. Required to make somebody an admin, and to change the email, password, role or activity of an admin or the owner."`
}

// The failures of this feature.
var (
	ErrBusy         = fault.New(fault.Throttled, "passwords_busy", "Too many passwords are being checked at the moment.")
	ErrLogin        = fault.New(fault.Unauthenticated, "login_failed", "The email or the password is wrong.")
	ErrThrottled    = fault.New(fault.Throttled, "too_many_logins", "There were too many failed logins.")
	ErrPassword     = fault.New(fault.Forbidden, "wrong_password", "The current password is wrong.")
	ErrConfirm      = fault.New(fault.Forbidden, "password_required", "This change needs your current password.")
	ErrOwnPassword  = fault.New(fault.Forbidden, "own_password", "Your own password is changed with the current one.")
	ErrToken        = fault.New(fault.Unauthenticated, "token_invalid", "The token is not valid, or no longer.")
	ErrDeactivated  = fault.New(fault.Forbidden, "account_deactivated", "This account is deactivated.")
	ErrRegistration = fault.New(fault.Forbidden, "registration_disabled", "People cannot register themselves here.")
	ErrSetupDone    = fault.New(fault.Conflict, "setup_done", "The service has an owner already.")
	ErrSetupToken   = fault.New(fault.Forbidden, "setup_token_invalid", "The set-up token is not valid, or no longer.")
	ErrNotFound     = fault.New(fault.NotFound, "user_not_found", "There is no such user.")
	ErrNameTaken    = fault.New(fault.Conflict, "name_taken", "Another account is called so.")
	ErrEmailTaken   = fault.New(fault.Conflict, "email_taken", "Another account has this email.")
	ErrAgentTaken   = fault.New(fault.Conflict, "agent_taken", "The agent has another active account.")
	ErrOwnerOnly    = fault.New(fault.Forbidden, "owner_only", "Only the owner may change the owner's account.")
	ErrOneOwner     = fault.New(fault.Conflict, "one_owner", "There is always exactly one owner, who is active.")
	ErrStale        = fault.New(fault.Stale, "user_stale", "The account has changed since you read it.")
)

// The limits of what an account is made of.
const (
	maxEmail    = 254 // bytes; what an address in an SMTP envelope may have (RFC 5321, 4.5.3.1.3)
	maxLocal    = 64  // bytes before the @ (RFC 5321, 4.5.3.1.1)
	maxLabel    = 63  // bytes between the dots of a domain (RFC 1035, 2.3.4)
	maxName     = 100 // characters
	minPassword = 12  // characters
	maxAvatar   = 2000
)

var agentID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// handOverHint is what to do where the API refuses to.
const handOverHint = "On the service's machine, `wardroom user owner` hands the ownership over."

// change is what makes the new user out of a blank one.
func (n NewUser) change() Change {
	if n.Name == "" {
		n.Name = localPart(n.Email)
		if n.AgentID.Value != nil {
			n.Name = *n.AgentID.Value
		}
	}
	return Change{
		Email: &n.Email, Name: &n.Name, Password: &n.Password, Role: &n.Role,
		AgentID: n.AgentID, AvatarURL: n.AvatarURL, Active: new(true),
	}
}

// apply returns what u becomes by c, or everything that is wrong with c. The
// password is only checked here: its hash is not the user's business.
func (u User) apply(c Change) (User, error) {
	var bad fault.Fields
	refuse := func(pointer, problem string) {
		if problem != "" {
			bad.Add(pointer, "%s", problem)
		}
	}
	was := u
	if c.Email != nil {
		u.Email = strings.TrimSpace(*c.Email)
		refuse("/email", checkEmail(u.Email))
	}
	if c.Name != nil {
		u.Name = strings.TrimSpace(*c.Name)
		refuse("/name", checkName(u.Name))
	}
	if c.Password != nil {
		refuse("/password", checkPassword(*c.Password))
	}
	if c.Role != nil {
		u.Role = *c.Role
		if !u.Role.Valid() {
			bad.Add("/role", "It is none of owner, admin, user and agent.")
		}
	}
	if c.Active != nil {
		u.Active = *c.Active
	}
	u.AgentID = c.AgentID.Apply(u.AgentID)
	refuse("/agent_id", checkAgentID(u.Role, u.AgentID))
	u.AvatarURL = c.AvatarURL.Apply(u.AvatarURL)
	if c.AvatarURL.Given && u.AvatarURL != nil {
		refuse("/avatar_url", checkAvatar(*u.AvatarURL))
	}
	if err := bad.Err(); err != nil {
		return was, err
	}
	if (was.Role == actor.Owner) != (u.Role == actor.Owner) {
		return was, ErrOneOwner.With("%s", handOverHint)
	}
	if u.Role == actor.Owner && !u.Active {
		return was, ErrOneOwner.With("The owner cannot be deactivated. %s", handOverHint)
	}
	return u, nil
}

// check… say what is wrong with a value, or nothing.

func checkEmail(s string) string {
	local, domain, _ := strings.Cut(s, "@")
	switch {
	case s == "":
		return "It is required."
	case len(s) > maxEmail:
		return fmt.Sprintf("It may have at most %d bytes.", maxEmail)
	case !isLocal(local) || !isDomain(domain) || plaintext.Line(s) != s:
		return "Write it like name@example.com."
	}
	return ""
}

// isLocal accepts what people have before the @, without the quoting that RFC
// 5322 knows and nobody uses.
func isLocal(s string) bool {
	return s != "" && len(s) <= maxLocal && utf8.ValidString(s) &&
		!strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..") &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return !unicode.IsPrint(r) || strings.ContainsRune(" ()<>[]:;,\\\"", r)
		})
}

// isDomain accepts host names of any script, also without a dot: a machine's
// own mail may go to name@localhost.
func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || !utf8.ValidString(label) ||
			strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool {
				return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
			}) {
			return false
		}
	}
	return true
}

// localPart is a name for somebody of whom we know no more than the email.
func localPart(email string) string {
	local, _, _ := strings.Cut(strings.TrimSpace(email), "@")
	return local
}

// emailKey is how emails are compared: without case. It reports false for what
// no account has and a database may not even take as a parameter. It accepts
// more than checkEmail, so that accounts from elsewhere can log in.
func emailKey(s string) (key string, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxEmail || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", false
	}
	return strings.ToLower(s), true
}

func checkName(s string) string { return label.Wrong(s, maxName) }

// checkPassword is the one rule for passwords wherever one is set. bcrypt ends
// a password with a NUL and starts it over, so that one within it would make
// different passwords equal; and what is not UTF-8 could never be sent to us.
func checkPassword(s string) string {
	switch {
	case utf8.RuneCountInString(s) < minPassword:
		return fmt.Sprintf("It needs at least %d characters.", minPassword)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return "It must be text in UTF-8 without NUL."
	}
	return ""
}

func checkAgentID(role actor.Role, id *string) string {
	switch {
	case role != actor.Agent && id != nil:
		return "Only the role agent has one; make it null."
	case role == actor.Agent && id == nil:
		return "The role agent needs it."
	case id != nil && !agentID.MatchString(*id):
		return "It is 1 to 64 of a-z, 0-9, _ and -, and begins with a letter or a digit."
	}
	return ""
}

func checkAvatar(s string) string {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxAvatar:
		return fmt.Sprintf("It may have at most %d bytes.", maxAvatar)
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || plaintext.Line(s) != s:
		return "It must be an address that begins with https:// or http://."
	}
	return ""
}

// difference is one changed field in an event.
type difference struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// differences lists what changed between two states of an account, by field.
func differences(was, is User) map[string]any {
	all := map[string]difference{
		"email":      {was.Email, is.Email},
		"name":       {was.Name, is.Name},
		"role":       {was.Role, is.Role},
		"agent_id":   {value(was.AgentID), value(is.AgentID)},
		"active":     {was.Active, is.Active},
		"avatar_url": {value(was.AvatarURL), value(is.AvatarURL)},
	}
	changed := map[string]any{}
	for name, d := range all {
		if d.Before != d.After {
			changed[name] = d
		}
	}
	return changed
}

// value is what p points to, or nil, so that two of them can be compared.
func value(p *string) any {
	if p == nil {
		return nil
	}
	return *p
}
