package money

import (
	"encoding/json"
	"testing"
)

// A cost on the screen must equal the cost in the ledger.
func TestString(t *testing.T) {
	tests := map[Nano]string{
		0: "0", 1: "0.000000001", 300: "0.0000003", 28_314_000: "0.028314", 1_000_000_000: "1",
		12_500_000_000: "12.5", -28_314_000: "-0.028314", 9_223_372_036_854_775_807: "9223372036.854775807",
		-9_223_372_036_854_775_808: "-9223372036.854775808",
	}
	for n, want := range tests {
		if got := n.String(); got != want {
			t.Errorf("Nano(%d) is %q, want %q", int64(n), got, want)
		}
		var back Nano
		if err := json.Unmarshal([]byte(`"`+want+`"`), &back); err != nil || back != n {
			t.Errorf("%q is read as %d, %v; want %d", want, int64(back), err, int64(n))
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, text := range []string{`1`, `""`, `"."`, `"-"`, `"1.0000000001"`, `"+1"`, `"1e9"`, `"--1"`, `"9223372036.854775808"`, `null`} {
		var n Nano
		if err := n.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read as %s", text, n)
		}
	}
}
