package account

import (
	"context"
	"net/http"
	"net/url"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount registers the routes for accounts.
func (s *Service) Mount(api *web.API) {
	web.Post(api, "/auth/login", actor.Public, "Log in", s.handleLogin,
		web.Fails(ErrLogin, ErrThrottled, ErrBusy),
		web.Describe("Returns a token for the Authorization header. A wrong email or password returns 401, even if its format is invalid. "+
			"From the 5th failure for an email, or the 20th from an IP address, each failure starts a pause. The first pause lasts 30 seconds, and each one after it twice as long, up to 15 minutes. "+
			"During the pause, logins with that email or from that IP address return 429 with Retry-After. An hour without a failure resets the count."))
	web.Post(api, "/auth/link", actor.Public, "Log in with a link", s.handleLink,
		web.Fails(ErrSignInLink, ErrThrottled, ErrBusy),
		web.Describe("Exchanges the token of the link that `wardroom demo` prints for a login. The token works once, for 30 minutes, and only from the machine that runs the demo. "+
			"Without a demo, every token is refused. A refused token counts as a failed login from your IP address."))
	web.Get(api, "/auth/me", actor.Read, "Get your own account", s.handleMe, web.Fails(ErrToken, ErrDeactivated))
	web.Post(api, "/auth/register", actor.Public, "Register", s.handleRegister,
		web.Status(http.StatusCreated), web.Fails(ErrRegistration, ErrEmailTaken, ErrNameTaken, ErrThrottled, ErrBusy),
		web.Describe("If registration is enabled (see registration_enabled in /config), creates an account with the user role and logs in. "+
			"A request with an email or name that another account uses, or that looks the same, is rejected and counts as a failed login from your IP address."))
	web.Post(api, "/auth/setup", actor.Public, "Become the owner", s.handleSetup,
		web.Status(http.StatusCreated),
		web.Fails(ErrSetupDone, ErrSetupToken, ErrEmailTaken, ErrNameTaken, ErrThrottled, ErrBusy),
		web.Describe("Creates the owner's account and logs in. This works only while there is no owner (see setup_required in /config). "+
			"Requires the setup token that Wardroom prints to its terminal. The token works once, for 30 minutes. "+
			"A wrong token counts as a failed login from your IP address."))
	web.Patch(api, "/auth/me", actor.Read, "Change your own account", s.handleChangeOwn,
		web.Fails(ErrNameTaken, ErrStale, ErrToken, ErrDeactivated),
		web.Describe("Changes your name and picture. A name that another account uses, or that looks the same, is rejected, because comments show their author's name. Only an admin or the owner can change the email and role. To change the password, use /auth/password."))
	web.Post(api, "/auth/password", actor.Read, "Change your own password", s.handlePassword,
		web.Fails(ErrPassword, ErrThrottled, ErrToken, ErrDeactivated),
		web.Describe("Requires your current password. A wrong password counts as a failed login. Returns the account."))
	web.Get(api, "/auth/me/sessions", actor.Read, "List your signed-in devices", s.handleDevices,
		web.Fails(page.ErrCursor),
		web.Describe("Lists the browsers and programs that are signed in to your account with a password or a link, newest first. API keys are not included."))
	web.Delete(api, "/auth/me/sessions/{id}", actor.Read, "Sign out a device", s.handleSignOut, web.Fails(ErrDevice),
		web.Describe("Every replica refuses the device's token from then on, and its live streams end. The ID current signs out the device that sends the request."))
	web.Delete(api, "/auth/me/sessions", actor.Read, "Sign out everywhere", s.handleSignOutAll,
		web.Describe("Signs out all devices except the one that sends the request. API keys keep working."))
	web.Get(api, "/people", actor.NamePeople, "List people by name", s.handlePeople, web.Fails(page.ErrCursor),
		web.Describe("Lists all accounts, including deactivated ones, with the ID that tasks and comments refer to, the name, and whether the account is active."))
	web.Get(api, "/users", actor.ManageAccounts, "List users", s.handleList, web.Fails(page.ErrCursor))
	web.Post(api, "/users", actor.ManageAccounts, "Create a user", s.handleCreate,
		web.Status(http.StatusCreated), web.Once(),
		web.Fails(ErrEmailTaken, ErrNameTaken, ErrAgentTaken, ErrOneOwner, ErrConfirm, ErrPassword, ErrThrottled,
			ErrDeactivated, ErrBusy),
		web.Describe("A name that another account uses, or that looks the same, is rejected; several accounts of one agent can share it. To create an admin, send your own password as current_password. A wrong password counts as a failed login."))
	web.Get(api, "/users/{id}", actor.ManageAccounts, "Get a user", s.handleGet, web.Fails(ErrNotFound))
	web.Patch(api, "/users/{id}", actor.ManageAccounts, "Change a user", s.handleChange,
		web.Fails(ErrNotFound, ErrEmailTaken, ErrNameTaken, ErrAgentTaken, ErrOneOwner, ErrOwnerOnly, ErrOwnPassword,
			ErrConfirm, ErrPassword, ErrThrottled, ErrDeactivated, ErrStale, ErrBusy),
		web.Describe("Accounts can be deactivated but not deleted, so that past work keeps its author. Change your own password with /auth/password.\n\n"+
			"To grant the admin role, or to change the email, password, role, or active state of an admin or the owner, send your own password as current_password. A wrong password counts as a failed login."))
	web.Get(api, "/users/{id}/keys", actor.ManageAccounts, "List the API keys of a user", s.handleKeys,
		web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("Oldest first, including expired and revoked keys."))
	web.Post(api, "/users/{id}/keys", actor.ManageAccounts, "Create an API key for an agent user", s.handleMakeKey,
		web.Status(http.StatusCreated), web.Fails(ErrNotFound, ErrKeyHolder),
		web.Describe("Send the key as a bearer token: Authorization: Bearer <key>. It is shown only in this response; Wardroom stores a digest. "+
			"The key starts with wrk_ and has the agent's permissions. It works until it expires or is revoked, or until the account is deactivated or no longer belongs to an agent."))
	web.Delete(api, "/users/{id}/keys/{key_id}", actor.ManageAccounts, "Revoke an API key", s.handleRevokeKey,
		web.Fails(ErrNotFound, ErrKeyNotFound),
		web.Describe(
			"The key stops working with the next request, and live streams opened with it close. The key stays in the list.",
		))
}

type loginInput struct {
	Body struct {
		// The limit equals the limit for request bodies, so that a login with a very long email
		// fails with 401, like one with any other unknown email, and not with 422.
		Email    string `json:"email" maxLength:"1048576"`
		Password string `json:"password" format:"password"`
	}
}

type loginOutput struct{ Body SignIn }

type linkInput struct {
	Body struct {
		Token string `json:"token" format:"password" maxLength:"100" doc:"The part of the link after the #."`
	}
}

type registerInput struct{ Body Registration }

type setupInput struct{ Body Setup }

type changeOwnInput struct {
	web.IfMatch
	Body OwnChange
}

type passwordInput struct {
	Body struct {
		CurrentPassword string `json:"current_password" format:"password"`
		NewPassword     string `json:"new_password" format:"password" doc:"At least 12 characters. No maximum."`
		SignOutOthers   bool   `json:"sign_out_others,omitempty" doc:"Also sign out all other devices. Otherwise their tokens stay valid until they expire."`
	}
}

// UserInput is the path parameter that identifies a user.
type UserInput struct {
	ID string `path:"id" maxLength:"254" doc:"The user's ID or email."`
}

type devicesInput struct {
	page.Query
	page.Total
}

type signOutInput struct {
	ID string `path:"id" maxLength:"64" doc:"The ID of the device, or current."`
}

type signOutAllInput struct {
	Current bool `query:"include_current" doc:"Also sign out the device that sends the request."`
}

type listInput struct {
	page.Query
	page.Total
	Role    actor.Role `query:"role" doc:"Only users with this role."`
	Active  string     `query:"active" enum:"true,false" doc:"Only active or only deactivated users."`
	AgentID string     `query:"agent_id" maxLength:"64" doc:"Only users that belong to this agent."`
	Text    string     `query:"q" maxLength:"200" doc:"Only users with this text in their name or email. Case is ignored."`
	Sort    string     `query:"sort" enum:"created,-created,name,-name,email,-email" default:"created" doc:"The sort order; a minus sign reverses it."`
}

type peopleInput struct {
	page.Query
	page.Total
}

type createInput struct{ Body NewUser }

type changeInput struct {
	UserInput
	web.IfMatch
	Body Change
}

func (s *Service) handleLogin(ctx context.Context, in *loginInput) (*loginOutput, error) {
	done, err := s.Login(ctx, in.Body.Email, in.Body.Password, web.ClientAddress(ctx))
	return &loginOutput{done}, err
}

func (s *Service) handleLink(ctx context.Context, in *linkInput) (*loginOutput, error) {
	done, err := s.SignInWithLink(ctx, in.Body.Token, web.ClientAddress(ctx), web.Local(ctx))
	return &loginOutput{done}, err
}

func (s *Service) handleMe(ctx context.Context, _ *struct{}) (*web.Tagged[User], error) {
	u, err := s.Get(ctx, actor.From(ctx).ID)
	return web.Tag(u, u.Version), err
}

func (s *Service) handleRegister(ctx context.Context, in *registerInput) (*loginOutput, error) {
	done, err := s.Register(ctx, in.Body, web.ClientAddress(ctx))
	return &loginOutput{done}, err
}

func (s *Service) handleSetup(ctx context.Context, in *setupInput) (*loginOutput, error) {
	done, err := s.Setup(ctx, in.Body, web.ClientAddress(ctx))
	return &loginOutput{done}, err
}

func (s *Service) handleChangeOwn(ctx context.Context, in *changeOwnInput) (*web.Tagged[User], error) {
	u, err := s.ChangeOwn(ctx, in.Body, in.Version())
	return web.Tag(u, u.Version), err
}

func (s *Service) handlePassword(ctx context.Context, in *passwordInput) (*web.Tagged[User], error) {
	u, err := s.ChangeOwnPassword(ctx, in.Body.CurrentPassword, in.Body.NewPassword, in.Body.SignOutOthers)
	return web.Tag(u, u.Version), err
}

func (s *Service) handleDevices(ctx context.Context, in *devicesInput) (*web.List[Device], error) {
	part, err := s.Devices(ctx, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleSignOut(ctx context.Context, in *signOutInput) (*struct{}, error) {
	return nil, s.SignOut(ctx, in.ID)
}

func (s *Service) handleSignOutAll(ctx context.Context, in *signOutAllInput) (*struct{}, error) {
	return nil, s.SignOutAll(ctx, in.Current)
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[User], error) {
	f := Filter{Role: in.Role, AgentID: in.AgentID, Text: in.Text}
	if in.Active != "" {
		f.Active = new(in.Active == "true")
	}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handlePeople(ctx context.Context, in *peopleInput) (*web.List[Person], error) {
	part, err := s.People(ctx, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleCreate(ctx context.Context, in *createInput) (*web.Tagged[User], error) {
	u, err := s.Create(ctx, in.Body)
	return web.Tag(u, u.Version).At(web.Prefix + "/users/" + u.ID), err
}

func (s *Service) handleGet(ctx context.Context, in *UserInput) (*web.Tagged[User], error) {
	u, err := s.Get(ctx, in.ID)
	return web.Tag(u, u.Version), err
}

func (s *Service) handleChange(ctx context.Context, in *changeInput) (*web.Tagged[User], error) {
	u, err := s.Change(ctx, in.ID, in.Body, in.Version())
	return web.Tag(u, u.Version), err
}

type keysInput struct {
	UserInput
	page.Query
	page.Total
}

type makeKeyInput struct {
	UserInput
	Body NewKey
}

type makeKeyOutput struct {
	Location string `header:"Location" doc:"The URL of the new key, for revoking it."`
	Body     IssuedKey
}

type revokeKeyInput struct {
	UserInput
	KeyID string `path:"key_id" maxLength:"64" doc:"The ID of the key."`
}

func (s *Service) handleKeys(ctx context.Context, in *keysInput) (*web.List[Key], error) {
	part, err := s.Keys(ctx, in.ID, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

func (s *Service) handleMakeKey(ctx context.Context, in *makeKeyInput) (*makeKeyOutput, error) {
	k, err := s.MakeKey(ctx, in.ID, in.Body)
	return &makeKeyOutput{Location: web.Prefix + "/users/" + url.PathEscape(in.ID) + "/keys/" + k.ID, Body: k}, err
}

func (s *Service) handleRevokeKey(ctx context.Context, in *revokeKeyInput) (*struct{}, error) {
	return nil, s.RevokeKey(ctx, in.ID, in.KeyID)
}
