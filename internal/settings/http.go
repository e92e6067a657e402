package settings

import (
	"context"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// examRoom is added to the time limit of a test, because another test may have to end first.
const examRoom = 10 * time.Second

// Mount registers the routes for settings.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/settings", actor.ManageSettings, "Get the settings", s.handleShow,
		web.Describe("Returns the settings that can be changed while Wardroom runs, where each value comes from, and whether it can be changed here. The response contains no secrets."))
	web.Patch(api, "/settings", actor.ManageSettings, "Change the settings", s.handleChange,
		web.Fails(ErrFixed, ErrStale, ErrNoKey, ErrKeyFile), web.Fails(account.ConfirmFaults()...),
		web.Describe("Changes the gateway's address and token, the days of retention, and whether holds may change the runtime, without a restart; all replicas follow within seconds. The token is stored encrypted and never returned. "+
			"A change of the gateway, and holds.in_runtime true, require your own password as current_password. A wrong password counts as a failed login. Use GET /retention/preview before you lower a number of days.\n\n"+
			"A change of the address requires the token again, or null if the gateway requires none. A value that the environment determines is rejected; the problem's variable names the environment variable."))
	web.Post(api, "/settings/test", actor.ManageSettings, "Test gateway settings", s.handleTest,
		web.Waits(link.ExamLimit+examRoom), web.Fails(ErrFixed), web.Fails(account.ConfirmFaults()...),
		web.Describe("Checks the connection to the gateway step by step, with the given address and token in place of the current ones, and stores nothing. Events are not checked, because that can take a minute. "+
			"Without values, it checks the connection in use, as GET /agentrt/doctor does. A stored token is never sent to another address. Values require your own password as current_password."))
}

type changeInput struct {
	web.IfMatch
	Body Change
}

type testInput struct{ Body Change }

func (s *Service) handleShow(ctx context.Context, _ *struct{}) (*web.Tagged[Settings], error) {
	is, err := s.Show(ctx)
	return web.Tag(is, is.Version), err
}

func (s *Service) handleChange(ctx context.Context, in *changeInput) (*web.Tagged[Settings], error) {
	is, err := s.Change(ctx, in.Body, in.Version())
	return web.Tag(is, is.Version), err
}

func (s *Service) handleTest(ctx context.Context, in *testInput) (*struct{ Body link.Examination }, error) {
	found, err := s.Test(ctx, in.Body)
	return &struct{ Body link.Examination }{found}, err
}
