package standup

import (
	"strings"
	"testing"
)

// Texts that differ only in case, punctuation or spaces are the same blocker.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Waiting for the legal review", "waiting for the  legal review.", true},
		{"Waiting for the legal review", "**Waiting** for the\nlegal review!", true},
		{"The mock-ups aren't ready", "The mockups aren’t ready", true},
		{"Нет доступа", "нет доступа…", true},
		{"等待法务审核新条款", "等待法务审核新条款。", true},
		{"🔥", "🔥", true},
		{"Kein Café", "kein cafe\u0301", true},
		{"ＡＰＩ が落ちた", "APIが落ちた", true},
		{strings.Repeat("long ", 1000), strings.Repeat("long ", 1000), true},
		{"Waiting for the legal review", "Still waiting for the legal review", false},
		{"PR #412 needs a review", "PR #415 needs a review", false},
		{"หมา", "หมู", false},
		{"🔥", "🚧", false},
		{"", "x", false},
	} {
		if got := fold(c.a) == fold(c.b); got != c.same {
			t.Errorf("%q and %q are the same: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

// An item of the blockers that says "none" is no blocker, so that it never reaches the inbox.
func TestNoneAmongBlockers(t *testing.T) {
	t.Parallel()
	text := "- Keine\n- Aucun blocage\n- なし。\n- TASK-3: keine Antwort vom Kunden\n- None"
	all := mentions(Standup{Timezone: "UTC", Reports: []Report{{AgentID: "cto", Status: Answered, Blockers: &text}}})
	if len(all) != 1 || len(all[0]) != 1 || all[0][0].text != "TASK-3: keine Antwort vom Kunden" {
		t.Errorf("the blockers are %+v", all)
	}
}
