package faults

import (
	"testing"

	"wardroom/internal/gateway/demo"
	"wardroom/test/conform"
)

// The demo runtime does what the real gateway does, for which test/realgateway runs the same checks.
func TestDemoConforms(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	conform.Run(t, conform.Subject{
		URL: r.URL(), Token: token, Silence: r.Silence,
		Refuse: func(agentID string, on bool) {
			r.Fail(agentID, map[bool]string{true: "LLM request failed: provider rejected the request."}[on])
		},
	})
}
