package pairing

import (
	"context"
	"net/http"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes for pairing.
func (s *Service) Mount(api *web.API) {
	keys := web.Fails(ErrSettings, ErrNoKey, ErrOtherKey, ErrKeyFile)
	web.Get(api, "/agentrt/pairing", actor.ManageRuntime, "Get the pairing", s.handleShow,
		web.Describe("Returns Wardroom's device, whether it is approved, the command that approves it, and the missing scopes with the features that need them. The response contains no secrets."))
	web.Post(api, "/agentrt/pairing", actor.ManageRuntime, "Pair Wardroom with the gateway", s.handleStart,
		web.Status(http.StatusCreated), web.Also(http.StatusOK), keys,
		web.Describe("Creates a device with a key pair, which is stored encrypted, and connects to the gateway with it. Approve the device on the gateway's host with the command from GET /agentrt/pairing; all replicas notice the approval within seconds. "+
			"Returns 201 with the new device, or 200 with the existing one, so the request can be repeated."))
	web.Delete(api, "/agentrt/pairing", actor.ManageRuntime, "Forget the device", s.handleForget,
		web.Fails(ErrSettings, ErrNone),
		web.Describe("Deletes the device's key and token in Wardroom, which then uses only the shared token. The gateway still lists the device: the response contains the command that removes it there."))
	web.Post(api, "/agentrt/pairing/rotate", actor.ManageRuntime, "Replace the device", s.handleRotate,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), keys, web.Fails(ErrNone, ErrNotPaired, ErrNeedsToken),
		web.Describe("Creates a second device and uses the shared token to request its approval. The current device stays in use until the gateway approves the new one, which then replaces it. "+
			"Returns 202 with the new device, or 200 with one that is already waiting. GET /agentrt/pairing returns it in `next`, with the command that approves it."))
	web.Delete(api, "/agentrt/pairing/rotate", actor.ManageRuntime, "Cancel the replacement of the device",
		s.handleCancelRotation, web.Fails(ErrNone),
		web.Describe("Discards the device that is waiting for approval to replace the current one."))
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
	return outputFor(p, made, http.StatusCreated), err
}

func (s *Service) handleRotate(ctx context.Context, _ *struct{}) (*output, error) {
	p, made, err := s.Rotate(ctx)
	return outputFor(p, made, http.StatusAccepted), err
}

// outputFor returns the response for a device. It uses the given status code if the request
// created the device, and 200 otherwise.
func outputFor(p Pairing, made bool, status int) *output {
	if !made {
		status = http.StatusOK
	}
	return &output{status, p}
}

func (s *Service) handleForget(ctx context.Context, _ *struct{}) (*struct{ Body Forgotten }, error) {
	f, err := s.Forget(ctx)
	return &struct{ Body Forgotten }{f}, err
}

func (s *Service) handleCancelRotation(ctx context.Context, _ *struct{}) (*struct{ Body Pairing }, error) {
	p, err := s.CancelRotation(ctx)
	return &struct{ Body Pairing }{p}, err
}
