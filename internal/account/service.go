package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/limiter"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
)

// Service manages accounts. It must not be copied after first use.
type Service struct {
	DB        *db.DB
	Now       func() time.Time
	Secret    []byte        // signs the tokens, and nothing else
	TokenLife time.Duration // rounded down to whole seconds
	Cost      int           // bcrypt cost; 0 means DefaultCost
	Log       *slog.Logger  // nil disables logging
	// RegistrationOpen allows people to register accounts with the role user.
	RegistrationOpen bool
	// Observe, if not nil, is called with the outcome of each login; see
	// LoginOutcomes. It must not block.
	Observe func(outcome string)
	// NoteEvery is how often Run writes API key uses and waiting audit entries; 0 means every minute.
	NoteEvery time.Duration

	once      sync.Once
	passwords *hasher
	broken    error         // why there is no hasher
	attempts  limiter.Queue // limits concurrent password checks by account and address
	notes     notes         // written later; see Run
	link      signInLink    // see OfferSignIn
	tokens    tokens
	callers   db.ReadCache[string, caller] // by "token " and an ID, or "key " and a digest
}

// SignIn is the result of a successful login.
type SignIn struct {
	Token     string     `json:"token" format:"password" doc:"Send it with every request: Authorization: Bearer <token>."`
	User      User       `json:"user"`
	ExpiresAt clock.Time `json:"expires_at" doc:"When the token expires."`
}

// Filter selects users to list. The zero Filter selects all.
type Filter struct {
	Role    actor.Role
	AgentID string
	Active  *bool
	Text    string // in the name or the email; case is ignored
}

// Login checks a password and issues a token. It returns ErrLogin for an unknown email, a wrong password and a
// deactivated account, and takes the same time in all three cases. Only the log and the audit events show the reason.
// After too many failures for an email or an IP address, it returns ErrThrottled and does not check the password. If
// from is the zero Addr, failures are counted only against the email.
func (s *Service) Login(ctx context.Context, email, password string, from netip.Addr) (SignIn, error) {
	in, err := s.login(ctx, email, password, from)
	if s.Observe != nil {
		s.Observe(loginOutcome(err))
	}
	return in, err
}

// LoginOutcomes returns all outcomes that Service.Observe can receive.
func LoginOutcomes() []string { return []string{"succeeded", "failed", "throttled", "busy", "error"} }

func loginOutcome(err error) string {
	switch {
	case err == nil:
		return "succeeded"
	case errors.Is(err, ErrLogin):
		return "failed"
	case errors.Is(err, ErrThrottled):
		return "throttled"
	case errors.Is(err, ErrBusy):
		return "busy"
	}
	return "error"
}

func (s *Service) login(ctx context.Context, email, password string, from netip.Addr) (_ SignIn, err error) {
	k, err := s.hasher()
	if err != nil {
		return SignIn{}, err
	}
	try := attempt{account: accountSubject(email), address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return SignIn{}, s.recordThrottled(ctx, err, "login", from)
	}
	defer func() { leave(err) }()
	u, err := findEmail(ctx, s.DB, email)
	missing := errors.Is(err, ErrNotFound)
	if err != nil && !missing {
		return SignIn{}, fmt.Errorf("look up a login: %w", err)
	}
	matches, err := k.matches(ctx, u.hash, password)
	switch {
	case err != nil:
		return SignIn{}, err
	case missing:
		return SignIn{}, s.refuse(ctx, "unknown email", User{}, from)
	case !matches:
		return SignIn{}, s.refuse(ctx, "wrong password", u.User, from)
	case !u.Active:
		return SignIn{}, s.refuse(ctx, "deactivated", u.User, from)
	}
	in, err := s.signIn(ctx, u, &try)
	if errors.Is(err, ErrLogin) {
		return SignIn{}, s.refuse(ctx, "account changed during login", u.User, from)
	}
	return in, err
}

// signIn issues a token after a successful attempt. It returns ErrLogin if the account was
// deactivated or its password was changed after u was read.
func (s *Service) signIn(ctx context.Context, u row, try *attempt) (SignIn, error) {
	d := Device{ID: db.NewID(), UserAgent: cutUserAgent(actor.OriginOf(ctx).UserAgent)}
	token, expires, err := s.issue(u.User, d.ID)
	if err != nil {
		return SignIn{}, fmt.Errorf("sign a token: %w", err)
	}
	at := clock.At(s.Now())
	d.CreatedAt, d.ExpiresAt = at, expires
	// If an account logs in often, record it only once a minute.
	often := u.LastLoginAt != nil && at.Sub(u.LastLoginAt.Time) < noteInterval && u.LastLoginAt.Sub(at.Time) < clock.Skew
	self := actor.Actor{ID: u.ID, Name: u.Name}
	about := event.Subject{Kind: "user", ID: u.ID, Name: u.Name}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := try.succeed(ctx, tx); err != nil {
			return err
		}
		current, err := touch(ctx, tx, u, at)
		if err == nil && !current {
			err = ErrLogin
		}
		if err == nil {
			err = insertDevice(ctx, tx, u.ID, d)
		}
		if err != nil || often {
			return err
		}
		return event.Record(actor.With(ctx, self), tx, at.Time, event.Audit, loginSucceeded, about, nil)
	})
	if err != nil {
		return SignIn{}, fmt.Errorf("record a login: %w", err)
	}
	if often {
		s.notes.note(auditEntry{kind: loginSucceeded, about: about, by: self}, actor.OriginOf(ctx).Address, at.Time)
	}
	u.LastLoginAt = &at
	return SignIn{Token: token, User: u.User, ExpiresAt: expires}, nil
}

// refuse records the reason for a failed login in an audit event and in the log, and returns
// ErrLogin. It does not log the email, because people sometimes type their password into the email
// field.
func (s *Service) refuse(ctx context.Context, reason string, tried User, from netip.Addr) error {
	s.recordFailure(loginFailed, reason, tried, from)
	if s.Log != nil {
		s.Log.InfoContext(ctx, "login refused", slog.String("reason", reason), slog.String("user", tried.ID),
			slog.Any("address", from))
	}
	return ErrLogin
}

// hasher returns the password hasher, and creates it on the first call. Logins call hasher before
// they look up the email address, so that the response time does not reveal whether the account
// exists.
func (s *Service) hasher() (*hasher, error) {
	s.once.Do(func() { s.passwords, s.broken = newHasher(s.Cost) })
	return s.passwords, s.broken
}

// Authenticate returns the actor for a login token or an API key. A token contains no permissions:
// they are read from the account, so that a demotion, deactivation or sign-out takes effect
// immediately.
func (s *Service) Authenticate(ctx context.Context, token string) (actor.Actor, error) {
	if strings.HasPrefix(token, keyPrefix) {
		return s.authenticateKey(ctx, token)
	}
	is, err := s.verify(token)
	if err != nil {
		return actor.Actor{}, err
	}
	c, err := s.callers.Read(ctx, s.DB, "token "+is.device, func(ctx context.Context) (caller, error) {
		return findCaller(ctx, s.DB.Brief(), is.subject, is.device)
	})
	switch {
	case db.IsNotFound(err):
		return actor.Actor{}, ErrToken.With("Log in again.")
	case err != nil:
		return actor.Actor{}, fmt.Errorf("look up a token's user: %w", err)
	case !c.active:
		return actor.Actor{}, ErrDeactivated.With("Ask an admin or the owner to reactivate the account.")
	}
	c.Expires = is.expires
	s.notes.used(use{device: true, id: is.device}, &c.used, s.Now(), deviceInterval)
	return c.Actor, nil
}

// List returns one page of the users that match f.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[User], error) {
	var part page.Part[User]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		part, err = users.Read(ctx, q, f.where(), want)
		return err
	})
	return part, err
}

// People returns one page of all accounts, including deactivated ones, sorted by name.
func (s *Service) People(ctx context.Context, want page.Want) (page.Part[Person], error) {
	var part page.Part[Person]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		part, err = people.Read(ctx, q, list.Where{}, want)
		return err
	})
	return part, err
}

// Get returns a user by ID or email.
func (s *Service) Get(ctx context.Context, ref string) (User, error) {
	u, err := find(ctx, s.DB, ref)
	return u.User, err
}

// Resolve returns a user by ID, by email, or by the agent_id of an active agent
// user.
func (s *Service) Resolve(ctx context.Context, q db.Queryer, ref string) (User, error) {
	u, err := find(ctx, q, ref)
	if errors.Is(err, ErrNotFound) && agentID.MatchString(ref) {
		u, err = findAgent(ctx, q, ref)
	}
	return u.User, err
}

// AgentUsers returns the active agent users, sorted by agent_id.
func (s *Service) AgentUsers(ctx context.Context, q db.Queryer) ([]AgentUser, error) {
	return agentUsers(ctx, q)
}

// AgentName returns the name of an agent, or its ID if it has no account.
func AgentName(ctx context.Context, q db.Queryer, id string) string {
	users, err := agentUsers(ctx, q)
	for _, u := range users {
		if err == nil && u.AgentID == id {
			return u.Name
		}
	}
	return cmp.Or(id, "An agent")
}

// Create adds an account. It cannot create the owner; see Bootstrap. Creating an admin requires the
// caller's current password; without it, Create returns ErrConfirm.
func (s *Service) Create(ctx context.Context, n NewUser) (User, error) {
	u, err := User{}.apply(n.change())
	if err != nil {
		return User{}, err
	}
	u.ID = db.NewID()
	var made row
	err = s.confirmed(ctx, n.CurrentPassword, "user creation", func(p *proof) (err error) {
		made, err = s.add(ctx, u, n.Password, "", func(tx *db.Tx) error {
			return p.allow(ctx, tx, User{}, u, true)
		})
		return err
	})
	return made.User, err
}

// add stores a new user. If allowed is not nil, add first calls it in the same transaction and
// stores the user only if it returns no error. If by is not empty, the audit event includes it to
// show how the account was created.
func (s *Service) add(ctx context.Context, u User, password, by string, allowed func(*db.Tx) error) (row, error) {
	hash, err := s.hash(ctx, password)
	if err != nil {
		return row{}, err
	}
	now := clock.At(s.Now())
	u.Version, u.CreatedAt, u.UpdatedAt = 1, now, now
	made := row{u, hash}
	err = s.unique(ctx, &u, func(tx *db.Tx) (err error) {
		if allowed != nil {
			if err := allowed(tx); err != nil {
				return err
			}
		}
		made, err = once.Do(ctx, tx, s.Now(), find, func(r row) string { return r.ID }, func() (row, error) {
			return row{u, hash}, s.addIn(ctx, tx, row{u, hash}, by)
		})
		return err
	})
	if err != nil {
		return row{}, fmt.Errorf("create a user: %w", err)
	}
	return made, nil
}

func (s *Service) addIn(ctx context.Context, tx *db.Tx, u row, by string) error {
	if err := insert(ctx, tx, u); err != nil { // a taken email is reported first
		return err
	}
	if err := requireFreeName(ctx, tx, u.User); err != nil {
		return err
	}
	data := map[string]any{"email": u.Email, "role": u.Role, "agent_id": u.AgentID}
	if by != "" {
		data["by"] = by
	}
	return record(ctx, tx, u.User, "user.created", data)
}

func (s *Service) hash(ctx context.Context, password string) (string, error) {
	k, err := s.hasher()
	if err != nil {
		return "", err
	}
	return k.hash(ctx, password)
}

func record(ctx context.Context, tx *db.Tx, u User, kind string, data any) error {
	return event.Record(ctx, tx, u.UpdatedAt.Time, event.Audit, kind,
		event.Subject{Kind: "user", ID: u.ID, Name: u.Name}, data)
}

// unique runs the transaction fn, which writes u. If another user already has u's email or agent,
// it returns an error that names that user. It relies on the unique indexes.
func (s *Service) unique(ctx context.Context, u *User, fn func(*db.Tx) error) error {
	var err error
	for range 3 { // the holder may be gone by the time s.taken looks it up
		if err = s.DB.Tx(ctx, fn); !db.IsDuplicate(err) {
			return err
		}
		if taken := s.taken(ctx, *u); taken != nil {
			return taken
		}
	}
	return err
}

func (s *Service) taken(ctx context.Context, u User) error {
	holder, err := find(ctx, s.DB, u.Email)
	switch {
	case err == nil && holder.ID != u.ID:
		if !holder.Active {
			return ErrEmailTaken.With("The email belongs to the account of %s, which is deactivated.",
				holder.Name).Fact("holder", holder.ID)
		}
		return ErrEmailTaken.With("The email belongs to the account of %s.", holder.Name).Fact("holder", holder.ID)
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case u.AgentID == nil:
		return nil
	}
	holder, err = findAgent(ctx, s.DB, *u.AgentID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return ErrAgentTaken.With("Agent %s is already linked to the account of %s (%s). Deactivate that account first.",
		*u.AgentID, holder.Name, holder.Email).Fact("holder", holder.ID)
}

// Change updates the user whose ID or email is ref. It returns ErrStale if version is given and is
// not the current one. It returns ErrConfirm if the change requires the caller's current password
// and c does not contain it; see needsPassword.
func (s *Service) Change(ctx context.Context, ref string, c Change, version *int64) (u User, err error) {
	err = s.confirmed(ctx, c.CurrentPassword, "user change", func(p *proof) (err error) {
		u, err = s.change(ctx, ref, c, version, func(tx *db.Tx, was, is User) error {
			return p.allow(ctx, tx, was, is, c.Password != nil)
		})
		return err
	})
	return u, err
}

// change is Change without the check of the caller's password. Before it saves the new user, it
// calls the function may with the old and the new one in the same transaction. If that fails,
// nothing is saved.
func (s *Service) change(
	ctx context.Context, ref string, c Change, version *int64, may func(tx *db.Tx, was, is User) error,
) (User, error) {
	var hash string
	if c.Password != nil && checkPassword(*c.Password) == "" {
		// Hash before the transaction starts, so that other transactions do not wait for the hashing.
		var err error
		if hash, err = s.hash(ctx, *c.Password); err != nil {
			return User{}, err
		}
	}
	var u User
	err := s.unique(ctx, &u, func(tx *db.Tx) error {
		was, err := find(ctx, tx, ref)
		if err != nil {
			return err
		}
		if by := actor.From(ctx).ID; was.Role == actor.Owner && by != was.ID && by != actor.System.ID {
			return ErrOwnerOnly
		}
		if c.Password != nil && actor.From(ctx).ID == was.ID {
			// Otherwise, someone with a stolen token could lock the user out.
			return ErrOwnPassword.With("Use POST /auth/password to change your own password.")
		}
		if version != nil && *version != was.Version {
			return ErrStale.With("Read the account again and retry the change.").Fact("current_version", was.Version)
		}
		if u, err = was.apply(c); err != nil {
			return err
		}
		if err := may(tx, was.User, u); err != nil {
			return err
		}
		return s.save(ctx, tx, was, &u, hash)
	})
	if err != nil {
		return User{}, fmt.Errorf("change user: %w", err)
	}
	return u, nil
}

// save replaces the stored account, was, with u and records an event, unless nothing has changed. An empty
// hash keeps the current password. If another account has u's new name, save returns ErrNameTaken.
func (s *Service) save(ctx context.Context, tx *db.Tx, was row, u *User, hash string) error {
	changed := differences(was.User, *u)
	if hash != "" {
		changed["password"] = "changed"
	} else {
		hash = was.hash
	}
	if len(changed) == 0 {
		return nil
	}
	u.Version, u.UpdatedAt = was.Version+1, clock.At(s.Now())
	if hash != was.hash {
		// A new password unblocks users who are blocked by the failed logins of others.
		if err := clearFailures(ctx, tx, accountSubject(u.Email)); err != nil {
			return err
		}
	}
	if err := update(ctx, tx, row{*u, hash}); err != nil {
		return err
	}
	if u.Name != was.Name {
		if err := requireFreeName(ctx, tx, *u); err != nil {
			return err
		}
	}
	return record(ctx, tx, *u, "user.changed", changed)
}

// SetPassword changes the password of any user, including the owner. It does not check permissions,
// because only a command on the server calls it.
func (s *Service) SetPassword(ctx context.Context, ref, password string) error {
	_, err := s.Change(asSystem(ctx), ref, Change{Password: &password}, nil)
	return err
}

// asSystem returns ctx with Wardroom itself as the actor. Use it for commands on the server and for
// bootstrap settings, because neither has an account.
func asSystem(ctx context.Context) context.Context { return actor.With(ctx, actor.System) }
