package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wardroom/internal/gateway"
)

// A model that the configuration names anywhere for an agent must not count as another one, in any form that the gateway has for it.
func TestConfiguredModels(t *testing.T) {
	t.Parallel()
	const list = `{"agents":[{"id":"cto","model":{"primary":"stub/stub-1","fallbacks":["stub/stub-2",7]}},{"id":"cpo","model":"opus"},{"id":"coo"}]}`
	const config = `{"parsed":{"agents":{
		"defaults":{"model":{"primary":"stub/other"},"models":{"stub/stub-3":{"alias":"opus"}},"heartbeat":{"model":"stub/beat"},"imageModel":{"primary":"stub/eye","fallbacks":["stub/beat"]}},
		"entries":{"cto":{"model":"stub/stub-1","subagents":{"model":{"primary":"stub/child"},"maxConcurrent":8}},"cpo":null,"coo":{"heartbeat":{"model":null}}}}}}`
	payload := func(text string) exchangeResponse {
		return exchangeResponse{"type": "res", "ok": true, "payload": json.RawMessage(text)}
	}
	got, err := adminClient(t, askedStep{"agents.list", `{}`, payload(list)}, askedStep{"config.get", `{}`, payload(config)}).ConfiguredModels(within(t))
	shared := []string{"stub/beat", "stub/eye"}
	want := map[string]gateway.ConfiguredModels{
		"cto": {Primary: "stub/stub-1", Fallbacks: []string{"stub/stub-2"}, Others: []string{"stub/beat", "stub/child", "stub/eye"}},
		"cpo": {Primary: "opus", Others: shared},
		"coo": {Others: shared},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
