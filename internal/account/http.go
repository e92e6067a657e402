package account

import (
	"context"
	"net/http"
	"net/url"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of accounts to api.
func (s *Service) Mount(api *web.API) {
	web.Post(api, "/auth/login", actor.Public, "Log in", s.handleLogin,
		web.Fails(ErrLogin, ErrThrottled, ErrBusy),
		web.Describe("Answers a token for the Authorization header. Any email and any password are taken; what is not right is answered with 401. "+
			"After 5 failures for an email, or 20 from an address, every further one is followed by a pause of 30 seconds that doubles up to 15 minutes; "+
			"in it every login is answered with 429, and Retry-After says for how long. An hour without a failure forgets them."))
	web.Get(api, "/auth/me", actor.Read, "Get your own account", s.handleMe, web.Fails(ErrToken, ErrDeactivated))
	web.Post(api, "/auth/register", actor.Public, "Make an account for yourself", s.handleRegister,
		web.Status(http.StatusCreated), web.Fails(ErrRegistration, ErrEmailTaken, ErrNameTaken, ErrThrottled, ErrBusy),
		web.Describe("Makes an account of the role user and logs in, where the service is set to allow it; registration_enabled in /config tells. "+
			"An email or a name that another account has is refused, and counts as a failed login from your address."))
	web.Post(api, "/auth/setup", actor.Public, "Become the owner", s.handleSetup,
		web.Status(http.StatusCreated), web.Fails(ErrSetupDone, ErrSetupToken, ErrEmailTaken, ErrThrottled, ErrBusy),
		web.Describe("Makes the owner's account and logs in, while there is no owner; setup_required in /config tells. "+
			"It needs the token that the service prints to its terminal, which works once and for 30 minutes. "+
			"A wrong one counts as a failed login from your address."))
	web.Patch(api, "/auth/me", actor.Read, "Change your own account", s.handleChangeOwn, web.Fails(ErrNameTaken, ErrStale, ErrToken, ErrDeactivated),
		web.Describe("Name and picture. A name that another account has is refused: what people say stands under their names. The email and the role are changed by an admin, the password under /auth/password."))
	web.Post(api, "/auth/password", actor.Read, "Change your own password", s.handlePassword,
		web.Fails(ErrPassword, ErrThrottled, ErrToken, ErrDeactivated),
		web.Describe("Needs the current password; a wrong one counts as a failed login. Answers the account. Tokens stay valid until they expire."))
	web.Get(api, "/people", actor.NamePeople, "List people by name", s.handlePeople, web.Fails(page.ErrCursor),
		web.Describe("Everybody who has an account, or had one: the id by which tasks and comments name them, how they are called, and whether the account is active."))
	web.Get(api, "/users", actor.ManageAccounts, "List the users", s.handleList, web.Fails(page.ErrCursor))
	web.Post(api, "/users", actor.ManageAccounts, "Create a user", s.handleCreate,
		web.Status(http.StatusCreated), web.Once(), web.Fails(ErrEmailTaken, ErrAgentTaken, ErrOneOwner, ErrConfirm, ErrPassword, ErrThrottled, ErrDeactivated, ErrBusy),
		web.Describe("To make an admin, send your own password as current_password. A wrong one counts as a failed login."))
	web.Get(api, "/users/{id}", actor.ManageAccounts, "Get a user", s.handleGet, web.Fails(ErrNotFound))
	web.Patch(api, "/users/{id}", actor.ManageAccounts, "Change a user", s.handleChange,
		web.Fails(ErrNotFound, ErrEmailTaken, ErrAgentTaken, ErrOneOwner, ErrOwnerOnly, ErrOwnPassword, ErrConfirm, ErrPassword, ErrThrottled, ErrDeactivated, ErrStale, ErrBusy),
		web.Describe("Accounts are deactivated and never deleted: what they did keeps its author. Your own password is changed under /auth/password.\n\n"+
			"To make somebody an admin, or to change the email, password, role or activity of an admin or the owner, send your own password as current_password. A wrong one counts as a failed login."))
	web.Get(api, "/users/{id}/keys", actor.ManageAccounts, "List the API keys of a user", s.handleKeys, web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("The oldest first, also those that have expired or were revoked."))
	web.Post(api, "/users/{id}/keys", actor.ManageAccounts, "Make an API key for an agent user", s.handleMakeKey,
		web.Status(http.StatusCreated), web.Fails(ErrNotFound, ErrKeyHolder),
		web.Describe("The key is sent as a token is: Authorization: Bearer <key>. It is in this answer and never shown again; only a digest is stored. "+
			"It begins with wrk_, may do what the agent may, and works until it expires or is revoked, or the account is deactivated or no agent's any more."))
	web.Delete(api, "/users/{id}/keys/{key_id}", actor.ManageAccounts, "Revoke an API key", s.handleRevokeKey, web.Fails(ErrNotFound, ErrKeyNotFound),
		web.Describe("It does not work from the next request on, and live streams that were opened with it end. It stays in the list."))
}

type loginInput struct {
	Body struct {
		// As long as the largest body, so that every string is answered with 401.
		Email    string `json:"email" maxLength:"1048576"`
		Password string `json:"password" format:"password"`
	}
}

type loginOutput struct{ Body SignIn }

type registerInput struct{ Body Registration }

type setupInput struct{ Body Setup }

type changeOwnInput struct {
	web.IfMatch
	Body OwnChange
}

type passwordInput struct {
	Body struct {
		CurrentPassword string `json:"current_password" format:"password"`
		NewPassword     string `json:"new_password" format:"password" doc:"At least 12 characters; there is no maximum."`
	}
}

// UserInput names one user.
type UserInput struct {
	ID string `path:"id" maxLength:"254" doc:"The user's id or email."`
}

type listInput struct {
	page.Query
	page.Total
	Role    string `query:"role" enum:"owner,admin,user,agent" doc:"Only those of this role."`
	Active  string `query:"active" enum:"true,false" doc:"Only those that are active, or that are not."`
	AgentID string `query:"agent_id" maxLength:"64" doc:"Only those of this agent."`
	Text    string `query:"q" maxLength:"200" doc:"Only those with this text in their name or email, in whatever case."`
	Sort    string `query:"sort" enum:"created,-created,name,-name,email,-email" default:"created" doc:"The order; a minus turns it round."`
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	u, err := s.ChangeOwn(ctx, in.Body, version)
	return web.Tag(u, u.Version), err
}

func (s *Service) handlePassword(ctx context.Context, in *passwordInput) (*web.Tagged[User], error) {
	u, err := s.ChangeOwnPassword(ctx, in.Body.CurrentPassword, in.Body.NewPassword)
	return web.Tag(u, u.Version), err
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[User], error) {
	f := Filter{Role: actor.Role(in.Role), AgentID: in.AgentID, Text: in.Text}
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
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	u, err := s.Change(ctx, in.ID, in.Body, version)
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
	Location string `header:"Location" doc:"Where the key can be revoked."`
	Body     IssuedKey
}

type revokeKeyInput struct {
	UserInput
	KeyID string `path:"key_id" maxLength:"64" doc:"The key's id."`
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
