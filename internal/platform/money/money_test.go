package money

import "testing"

// A cost on the screen that is not the cost in the ledger is the worst thing we could show.
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
	}
}
