package pairing

import (
	"context"
	"net/http"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of pairing.
func (s *Service) Mount(api *web.API) {
	keys := web.Fails(ErrSettings, ErrNoKey, ErrOtherKey, ErrKeyFile)
	web.Get(api, "/agentrt/pairing", actor.ManageRuntime, "What this service is to the agent runtime, and what is missing", s.handleShow,
		web.Describe("Says which device this service is, whether it is approved, the command that approves it, and which scopes are missing and what they are needed for. No secret is in it."))
	web.Post(api, "/agentrt/pairing", actor.ManageRuntime, "Make this service a device of the agent runtime", s.handleStart,
		web.Status(http.StatusCreated), web.Also(http.StatusOK), keys,
		web.Describe("Makes a key pair, stores it encrypted and shows it to the gateway; then somebody approves it on the gateway's host with the command that GET tells, and nothing else is to be done: the approval is noticed within seconds, here and in every replica. "+
			"Answers 201 when the device is made, and 200 with the one that there is, so that it may be sent again."))
	web.Delete(api, "/agentrt/pairing", actor.ManageRuntime, "Forget the device", s.handleForget, web.Fails(ErrSettings, ErrNone),
		web.Describe("Deletes its key and token here and goes on with the shared token alone. The gateway still knows the device: the answer has the command that removes it there."))
	web.Post(api, "/agentrt/pairing/rotate", actor.ManageRuntime, "Replace the device by a new one", s.handleRotate,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), keys, web.Fails(ErrNone, ErrNotPaired, ErrNeedsToken),
		web.Describe("Makes another key pair and asks the gateway to approve it, with the shared token. The present device stays in use until then, and the new one takes its place by itself. "+
			"Answers 202 when the next device is made, and 200 with the one that waits already. GET /agentrt/pairing shows it in `next`, with the command that approves it."))
	web.Delete(api, "/agentrt/pairing/rotate", actor.ManageRuntime, "Keep the present device", s.handleKeep, web.Fails(ErrNone),
		web.Describe("Drops the device that was to replace it and waits for approval."))
}

type output struct {
	Status int
	Body   Pairing
}

func (s *Service) handleShow(ctx context.Context, _ *struct{}) (*struct{ Body Pairing }, error) {
	p, err := s.Show(ctx)
	return &struct{ Body Pairing }{p}, err
}

func (s *Service) handleStart(ctx context.Context, _ *struct{}) (*output, error) {
	p, made, err := s.Start(ctx)
	return answered(p, made, http.StatusCreated), err
}

func (s *Service) handleRotate(ctx context.Context, _ *struct{}) (*output, error) {
	p, made, err := s.Rotate(ctx)
	return answered(p, made, http.StatusAccepted), err
}

func answered(p Pairing, made bool, status int) *output {
	if !made {
		status = http.StatusOK
	}
	return &output{status, p}
}

func (s *Service) handleForget(ctx context.Context, _ *struct{}) (*struct{ Body Forgotten }, error) {
	f, err := s.Forget(ctx)
	return &struct{ Body Forgotten }{f}, err
}

func (s *Service) handleKeep(ctx context.Context, _ *struct{}) (*struct{ Body Pairing }, error) {
	p, err := s.KeepPresent(ctx)
	return &struct{ Body Pairing }{p}, err
}
