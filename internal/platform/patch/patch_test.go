package patch_test

import (
	"encoding/json"
	"testing"

	"wardroom/internal/platform/patch"
)

type input struct {
	Who patch.Field[string]   `json:"who,omitzero"`
	Set patch.Field[[]string] `json:"set,omitzero"`
}

// An absent field must stay, and a null field must be cleared: otherwise changing a
// title could remove the assignee.
func TestField(t *testing.T) {
	tests := []struct {
		body  string
		given bool
		value string
	}{
		{`{}`, false, "kept"},
		{`{"who":null}`, true, "nothing"},
		{`{"who":"ada"}`, true, "ada"},
		{`{"who":""}`, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.body, func(t *testing.T) {
			var in input
			if err := json.Unmarshal([]byte(tt.body), &in); err != nil {
				t.Fatal(err)
			}
			kept := "kept"
			got := "nothing"
			if v := in.Who.Apply(&kept); v != nil {
				got = *v
			}
			if in.Who.Given != tt.given || got != tt.value {
				t.Errorf("got %v, %q; want %v, %q", in.Who.Given, got, tt.given, tt.value)
			}
			if back, err := json.Marshal(in); err != nil || string(back) != tt.body {
				t.Errorf("written again it is %s, %v", back, err)
			}
		})
	}
}

func TestFieldMade(t *testing.T) {
	got, err := json.Marshal(input{Who: patch.Set("ada"), Set: patch.Clear[[]string]()})
	if want := `{"who":"ada","set":null}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestFieldRefuses(t *testing.T) {
	var in input
	if err := json.Unmarshal([]byte(`{"who":7}`), &in); err == nil {
		t.Error("a number was taken for a text")
	}
}
