package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// An agent without an account would silently take no part in the standup, and
// one that the runtime has lost would be asked for ever: both must show.
func TestJoin(t *testing.T) {
	yes, no, emoji, model := true, false, "🧭", "stub/stub-1"
	roster := []gateway.Agent{{ID: "coo", Name: "COO", IdentityName: "Navigator", Emoji: emoji, Model: model}, {ID: "qa", Name: "QA"}}
	members := []Member{{UserID: "u1", AgentID: "coo", Name: "Operations"}, {UserID: "u2", AgentID: "cmo", Name: "Marketing"}}

	got := join(roster, members)
	want := []Agent{
		{AgentID: "coo", Name: "Navigator", Emoji: &emoji, Model: &model, Runtime: &yes, Account: &Account{"u1", "Operations"}},
		{AgentID: "qa", Name: "QA", Runtime: &yes},
		{AgentID: "cmo", Name: "Marketing", Runtime: &no, Account: &Account{"u2", "Marketing"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("joined (-want +got):\n%s", d)
	}

	away := join(nil, members)
	for _, a := range away {
		if a.Runtime != nil {
			t.Errorf("%s: in_runtime is %v while the runtime is away, want null", a.AgentID, *a.Runtime)
		}
	}
	if len(away) != 2 {
		t.Errorf("%d agents while the runtime is away, want the 2 accounts", len(away))
	}
}
