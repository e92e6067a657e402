package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// Recorded files of an agent: those that are missing have no length, and characters count as in the runtime.
func TestAgentFiles(t *testing.T) {
	t.Parallel()
	r := recorded[map[string]any](t, "agent_files.json")
	payload := func(is any) exchangeResponse { return exchangeResponse{"type": "res", "ok": true, "payload": is} }
	wide := map[string]any{"agentId": "cto", "file": map[string]any{"name": "MEMORY.md", "content": "aß漢😀"}}
	c := adminClient(t,
		askedStep{"agents.files.list", `{"agentId":"cto"}`, payload(r["list"])},
		askedStep{"agents.files.list", `{"agentId":"cto"}`, payload(r["none"])},
		askedStep{"agents.files.get", `{"agentId":"cto","name":"SOUL.md"}`, payload(r["get"])},
		askedStep{"agents.files.get", `{"agentId":"cto","name":"MEMORY.md"}`, payload(wide)},
	)
	for _, want := range [][]gateway.AgentFile{{{Name: "SOUL.md", Bytes: 28}}, nil} {
		got, err := c.AgentFiles(within(t), "cto")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, want := range []struct {
		name   string
		length int64
	}{{"SOUL.md", 28}, {"MEMORY.md", 5}} { // the emoji counts as two
		if got, err := c.AgentFileLength(within(t), "cto", want.name); got != want.length || err != nil {
			t.Errorf("%s has %d characters, %v", want.name, got, err)
		}
	}
}

// The recorded tools of a session, without those of the runtime.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	tools := recorded[map[string]any](t, "tools.json")
	c := adminClient(t, askedStep{"tools.effective", `{"sessionKey":"agent:cto:main"}`, exchangeResponse{"type": "res", "ok": true, "payload": tools}})
	want := []gateway.MCPTool{{ID: "wardroom__board_claim", Server: "wardroom", Name: "board_claim"}, {ID: "wardroom__board_list", Server: "wardroom", Name: "board_list"}}
	got, err := c.MCPTools(within(t), "agent:cto:main")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The configuration can change the limits, for all agents or for one; USER.md has its own.
func TestFileLimits(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][3]int64{
		`{}`: {20_000, 20_000, 4_000},
		`{"agents":{"defaults":{"bootstrapMaxChars":9000},"entries":{"cpo":{"bootstrapMaxChars":3000}}}}`: {9_000, 3_000, 3_000},
		`{"agents":{"defaults":{"bootstrapMaxChars":"many"},"entries":{"cpo":null}}}`:                     {20_000, 20_000, 4_000},
	} {
		var parsed any
		if err := json.Unmarshal([]byte(config), &parsed); err != nil {
			t.Fatal(err)
		}
		l, err := adminClient(t, askedStep{"config.get", `{}`, exchangeResponse{"type": "res", "ok": true, "payload": map[string]any{"parsed": parsed}}}).FileLimits(within(t))
		got := [3]int64{l.Of("cto", "MEMORY.md"), l.Of("cpo", "MEMORY.md"), l.Of("cpo", "USER.md")}
		if got != want || err != nil {
			t.Errorf("%s: %v, %v", config, got, err)
		}
	}
}
