package gateway

import (
	"encoding/json"
	"testing"

	"wardroom/internal/platform/plaintext"
)

// readEverything decodes a payload as each type that it could be.
func readEverything(t *testing.T, payload []byte) {
	if a, err := readWait(payload); err == nil && a.Outcome == "" {
		t.Errorf("a wait without an outcome: %s", payload)
	}
	if a, ended := readOutcome(payload); ended && (a.Outcome == "" || a.Outcome == Running) {
		t.Errorf("an end without an outcome: %s", payload)
	} else if a.Usage != nil && a.Usage.CostNanoUSD != nil && *a.Usage.CostNanoUSD < 0 {
		t.Errorf("it costs less than nothing: %s", payload)
	}
	var h history
	if json.Unmarshal(payload, &h) == nil {
		rows := rowsOf(h.Messages)
		if tr := trace(rows, h, "run"); tr.Answered && tr.Answer.Outcome != Finished {
			t.Errorf("answered and %s", tr.Answer.Outcome)
		}
		for _, turn := range new(Client).fold(rows) {
			for _, b := range turn.Blocks {
				if b.Text != plaintext.Lines(b.Text) {
					t.Errorf("what cannot be seen gets through: %q", b.Text)
				}
			}
		}
	}
	var list roster
	if json.Unmarshal(payload, &list) == nil {
		for _, a := range list.agents(nil) {
			if text := a.ID + " " + a.Name + " " + a.IdentityName + " " + a.Emoji + " " + a.Model; text != plaintext.Lines(text) {
				t.Errorf("what cannot be seen gets through: %+v", a)
			}
		}
	}
}

// payloadsIn returns the payloads of the frames in a recording, at any depth.
func payloadsIn(data []byte) [][]byte {
	var object map[string]json.RawMessage
	var list, payloads [][]byte
	if json.Unmarshal(data, &object) == nil {
		if p, ok := object["payload"]; ok {
			payloads = append(payloads, p)
		}
		for _, v := range object {
			list = append(list, v)
		}
	} else {
		var values []json.RawMessage
		_ = json.Unmarshal(data, &values) // a text or a number contains no frame
		for _, v := range values {
			list = append(list, v)
		}
	}
	for _, v := range list {
		payloads = append(payloads, payloadsIn(v)...)
	}
	return payloads
}
