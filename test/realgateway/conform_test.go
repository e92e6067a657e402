//go:build journey

package realgateway

import (
	"net/http"
	"testing"
	"time"

	"wardroom/test/conform"
)

// The real gateway does what the demo runtime does, for which test/faults runs the same checks.
func TestConforms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	model := StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{})
	script := func(reply Reply) func(string, bool) {
		return func(agentID string, on bool) { model.Script(agentID, map[bool]Reply{true: reply}[on]) }
	}
	conform.Run(t, conform.Subject{
		URL: gateway.URL, Token: gateway.Token,
		Silence: script(Reply{Delay: 10 * time.Minute}), Refuse: script(Reply{Status: http.StatusBadRequest}),
	})
}
