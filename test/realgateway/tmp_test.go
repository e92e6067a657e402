//go:build journey

package realgateway

import "testing"

func TestTmp(t *testing.T) {
	bin, model := Build(t), StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{})
	j := startJourney(t, bin, model, gateway, "2026-11", nil)
	gateway.Restart(t)
	j.connected(t)
	j.scene(t, "scheduled", j.scheduled)
}
