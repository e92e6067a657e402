// Package account manages the accounts of people and agents, and authenticates their requests.
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
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// User is the account of a person or an agent. It does not contain the password hash, so that no
// response, log or event can leak it.
type User struct {
	ID          string      `json:"id"`
	Email       string      `json:"email" doc:"The login. Case, width, and the Unicode form are ignored."`
	Name        string      `json:"name"`
	Role        actor.Role  `json:"role"`
	AgentID     *string     `json:"agent_id" doc:"The ID of the agent in the runtime; null for people."`
	Active      bool        `json:"active" doc:"Whether the account can log in and call the API."`
	AvatarURL   *string     `json:"avatar_url"`
	LastLoginAt *clock.Time `json:"last_login_at"`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at" doc:"When the account last changed. Logins do not count."`
	Version     int64       `json:"version" doc:"Increases with each change to the account. Logins do not count."`
}

// AgentUser describes the active account of an agent, for use by other features.
type AgentUser struct {
	UserID  string
	AgentID string
	Name    string
}

// Person is the part of an account that every user can read. It is enough to show and assign tasks,
// and excludes the email and the role.
type Person struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Active bool   `json:"active" doc:"False if the account is deactivated."`
}

// NewUser is the input for a new account.
type NewUser struct {
	Email           string              `json:"email" maxLength:"254" example:"coo@example.com"`
	Name            string              `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Defaults to the agent's ID, or to the part of the email before the @."`
	Password        string              `json:"password" format:"password" doc:"At least 12 characters. No maximum."`
	Role            actor.Role          `json:"role" doc:"owner is rejected, because there is exactly one owner."`
	AgentID         patch.Field[string] `json:"agent_id,omitzero" maxLength:"64" doc:"Required for the role agent, rejected for all others."`
	AvatarURL       patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
	CurrentPassword *string             `json:"current_password,omitempty" format:"password" doc:"Your own password. Required for the role admin."`
}

// Change is a partial update of an account. Omitted fields keep their values.
type Change struct {
	Email           *string             `json:"email,omitempty" maxLength:"254"`
	Name            *string             `json:"name,omitempty" maxLength:"100"`
	Password        *string             `json:"password,omitempty" format:"password" doc:"At least 12 characters. No maximum."`
	Role            *actor.Role         `json:"role,omitempty" doc:"The API cannot assign or remove the role owner."`
	AgentID         patch.Field[string] `json:"agent_id,omitzero" maxLength:"64"`
	Active          *bool               `json:"active,omitempty" doc:"false deactivates the account. Requests with its tokens then fail with 403."`
	AvatarURL       patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
	CurrentPassword *string             `json:"current_password,omitempty" format:"password" doc:"Your own password. Required to grant the role admin, and to change the email, password, role or active state of an admin or the owner."`
}

// Errors that the account operations return.
var (
	ErrBusy        = fault.New(fault.Throttled, "passwords_busy", "Too many password checks are in progress.")
	ErrLogin       = fault.New(fault.Unauthenticated, "login_failed", "The email or password is wrong.")
	ErrThrottled   = fault.New(fault.Throttled, "too_many_logins", "Too many failed logins.")
	ErrPassword    = fault.New(fault.Forbidden, "wrong_password", "The current password is wrong.")
	ErrConfirm     = fault.New(fault.Forbidden, "password_required", "This change requires your current password.")
	ErrOwnPassword = fault.New(fault.Forbidden, "own_password",
		"Changing your own password requires your current password.")
	ErrToken        = fault.New(fault.Unauthenticated, "token_invalid", "The token is invalid or has expired.")
	ErrDeactivated  = fault.New(fault.Forbidden, "account_deactivated", "This account is deactivated.")
	ErrRegistration = fault.New(fault.Forbidden, "registration_disabled", "Registration is disabled.")
	ErrSetupDone    = fault.New(fault.Conflict, "setup_done", "Wardroom already has an owner.")
	ErrSignInLink   = fault.New(fault.Forbidden, "sign_in_link_invalid",
		"The sign-in link is invalid, expired, or already used.")
	ErrSetupToken = fault.New(fault.Forbidden, "setup_token_invalid", "The setup token is invalid or has expired.")
	ErrNotFound   = fault.New(fault.NotFound, "user_not_found", "User not found.")
	ErrNameTaken  = fault.New(fault.Conflict, "name_taken", "Another account already uses this name.")
	ErrEmailTaken = fault.New(fault.Conflict, "email_taken", "Another account already uses this email.")
	ErrAgentTaken = fault.New(fault.Conflict, "agent_taken", "This agent already has an active account.")
	ErrOwnerOnly  = fault.New(fault.Forbidden, "owner_only", "Only the owner can change the owner's account.")
	ErrOneOwner   = fault.New(fault.Conflict, "one_owner", "There must be exactly one active owner.")
	ErrStale      = fault.New(fault.Stale, "user_stale", "The account has changed since you read it.")
)

// Limits on the fields of an account.
const (
	maxEmail    = 254 // bytes; the longest address in an SMTP envelope (RFC 5321, 4.5.3.1.3)
	maxLocal    = 64  // bytes before the @ (RFC 5321, 4.5.3.1.1)
	maxLabel    = 63  // bytes between the dots of a domain (RFC 1035, 2.3.4)
	maxName     = 100 // characters
	minPassword = 12  // characters
	maxAvatar   = 2000
)

var agentID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ownershipHint tells the user which command transfers ownership, because the API cannot transfer
// it.
const ownershipHint = "To transfer ownership, run `wardroom user owner` on the server."

// change returns n as a change to an empty account. If n has no name, the change contains a default
// name.
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

// apply returns u with the changes in c, or a validation error that lists every problem. It
// validates the password but does not store it, because User has no field for it.
func (u User) apply(c Change) (User, error) {
	var bad fault.Fields
	reject := func(pointer, problem string) {
		if problem != "" {
			bad.Add(pointer, "%s", problem)
		}
	}
	was := u
	if c.Email != nil {
		u.Email = plaintext.NFC(strings.TrimSpace(*c.Email))
		reject("/email", checkEmail(u.Email))
	}
	if c.Name != nil {
		var wrong string
		u.Name, wrong = label.Clean(*c.Name, maxName)
		reject("/name", wrong)
	}
	if c.Password != nil {
		reject("/password", checkPassword(*c.Password))
	}
	if c.Role != nil {
		u.Role = *c.Role
		enum.Check(&bad, "role", u.Role, actor.Roles())
	}
	if c.Active != nil {
		u.Active = *c.Active
	}
	u.AgentID = c.AgentID.Apply(u.AgentID)
	reject("/agent_id", checkAgentID(u.Role, u.AgentID))
	u.AvatarURL = c.AvatarURL.Apply(u.AvatarURL)
	if c.AvatarURL.Given && u.AvatarURL != nil {
		reject("/avatar_url", checkAvatar(*u.AvatarURL))
	}
	if err := bad.Err(); err != nil {
		return was, err
	}
	if (was.Role == actor.Owner) != (u.Role == actor.Owner) {
		return was, ErrOneOwner.With("%s", ownershipHint)
	}
	if u.Role == actor.Owner && !u.Active {
		return was, ErrOneOwner.With("The owner cannot be deactivated. %s", ownershipHint)
	}
	return u, nil
}

// Each check function describes what is wrong with a value, or returns "" if the value is valid.

func checkEmail(s string) string {
	local, domain, _ := strings.Cut(s, "@")
	switch {
	case s == "":
		return "Required."
	case len(s) > maxEmail:
		return fmt.Sprintf("Must be at most %d bytes.", maxEmail)
	case plaintext.Odd(s) != "":
		return "Contains " + plaintext.Odd(s) + "."
	case !isLocal(local) || !isDomain(domain) || plaintext.Line(s) != plaintext.NFC(s):
		return "Must look like name@example.com."
	}
	return ""
}

// isLocal reports whether s is valid as the part of an email before the @. It rejects the quoted
// form of RFC 5322, which is not used in practice.
func isLocal(s string) bool {
	return s != "" && len(s) <= maxLocal && utf8.ValidString(s) &&
		!strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..") &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return !unicode.IsPrint(r) || strings.ContainsRune(" ()<>[]:;,\\\"", r)
		})
}

// isDomain reports whether s is a host name, in any script. A dot is not
// required, so that name@localhost is valid.
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

// localPart returns the part of an email address before the @, for use as an account's default
// name.
func localPart(email string) string {
	local, _, _ := strings.Cut(strings.TrimSpace(email), "@")
	return local
}

// emailKey returns the form of s in which an account's email is stored for comparing, or "" if s
// cannot be an email or contains characters that the database rejects. It accepts more than
// checkEmail does, so that users with imported accounts can log in.
func emailKey(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxEmail || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return ""
	}
	return plaintext.Fold(s)
}

// checkPassword describes what is wrong with a new password, or returns "". It rejects NUL
// characters, because with them two different passwords could have the same bcrypt hash. (bcrypt
// repeats the password, separated by NULs, to fill its key.) It rejects invalid UTF-8, because JSON
// cannot represent it.
func checkPassword(s string) string {
	switch {
	case utf8.RuneCountInString(prepared(s)) < minPassword:
		return fmt.Sprintf("Must have at least %d characters.", minPassword)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return "Must be UTF-8 text without NUL characters."
	}
	return ""
}

func checkAgentID(role actor.Role, id *string) string {
	switch {
	case role != actor.Agent && id != nil:
		return "Must be null unless the role is agent."
	case role == actor.Agent && id == nil:
		return "Required for the role agent."
	case id != nil && !agentID.MatchString(*id):
		return "Must have 1 to 64 of the characters a-z, 0-9, _ and -, and start with a letter or digit."
	}
	return ""
}

func checkAvatar(s string) string {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxAvatar:
		return fmt.Sprintf("Must be at most %d bytes.", maxAvatar)
	case plaintext.Odd(s) != "":
		return "Contains " + plaintext.Odd(s) + "."
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
		plaintext.Line(s) != plaintext.NFC(s):
		return "Must be a URL that starts with https:// or http://."
	}
	return ""
}

// difference holds the old and the new value of a changed field, for use in events.
type difference struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// differences returns the fields that differ between two states of an account, keyed by field name.
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

// value returns the string that p points to, or nil if p is nil, so that two optional strings can
// be compared.
func value(p *string) any {
	if p == nil {
		return nil
	}
	return *p
}
