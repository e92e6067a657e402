package hold

import (
	"encoding/json"
	"testing"

	"wardroom/internal/gateway"
)

// Whoever starts a run of a held agent reads the model's name, so it must say why and be a valid name.
func TestModelName(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"Over budget!":   "wardroom-hold/over-budget",
		"  $25 a day ":   "wardroom-hold/25-a-day",
		"预算":             "wardroom-hold/held",
		"--- \"x\" / {}": "wardroom-hold/x",
	} {
		if got := model(reason); got != want {
			t.Errorf("model(%q) = %q, want %q", reason, got, want)
		}
	}
}

// apply returns a configuration after a patch, as the gateway would have it.
func apply(is gateway.AgentModel, p gateway.ModelPatch) gateway.AgentModel {
	set := func(to *json.RawMessage, v json.RawMessage) {
		if *to = v; string(v) == "null" {
			*to = nil
		}
	}
	if p.Model != nil {
		set(&is.Model, p.Model)
	}
	switch {
	case p.DropPolicy:
		is.Policy, is.Allow = false, nil
	case p.Allow != nil:
		is.Policy = true
		set(&is.Allow, p.Allow)
	}
	return is
}

func same(a, b gateway.AgentModel) bool {
	return string(a.Model) == string(b.Model) && string(a.Allow) == string(b.Allow) && a.Policy == b.Policy
}

// A release that restores anything but what was there changes how the agent works for good.
func TestRestorePatch(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, was := range map[string]gateway.AgentModel{
		"nothing":         {Listed: true},
		"a name":          {Listed: true, Model: raw(`"stub/stub-1"`)},
		"with fallbacks":  {Listed: true, Model: raw(`{"primary":"stub/stub-1","fallbacks":["stub/stub-2"]}`)},
		"a policy":        {Listed: true, Policy: true, Allow: raw(`["stub/stub-1","stub/stub-2"]`)},
		"an empty policy": {Listed: true, Policy: true},
	} {
		var b before
		b.remember(was)
		held := apply(was, holdPatch("Over budget"))
		if !applied(held) {
			t.Errorf("%s: the agent is not held: %s, %s", name, held.Model, held.Allow)
		}
		b.remember(held) // as after a crash
		data, _ := json.Marshal(b)
		var stored before
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		p, needed := stored.restorePatch(held)
		if got := apply(held, p); !needed || !same(got, was) {
			t.Errorf("%s: restored %s, %s, %v", name, got.Model, got.Allow, got.Policy)
		}
		if _, again := stored.restorePatch(apply(held, p)); again {
			t.Errorf("%s: a second release changes something", name)
		}
		changed := held
		changed.Model = raw(`"stub/other"`)
		if p, _ := stored.restorePatch(changed); p.Model != nil {
			t.Errorf("%s: the release overwrites a model that a person has set", name)
		}
	}
}
