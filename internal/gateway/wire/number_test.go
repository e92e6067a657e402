package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"wardroom/internal/platform/clock"
)

// Money is summed over thousands of runs, so it must be exact.
func TestNanos(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0":                                    0,
		"0.0":                                  0,
		"0e5":                                  0,
		"1":                                    1_000_000_000,
		"0.021504":                             21_504_000,
		"0.028314":                             28_314_000,
		"0.1":                                  100_000_000,
		"0.29":                                 290_000_000, // 0.29 * 1e9 is 289999999.99999994 in a float
		"3e-7":                                 300,         // a cache read at $0.30 a million
		"3E-7":                                 300,
		"1.5e+3":                               1_500_000_000_000,
		"0.0000000004":                         0,
		"0.0000000005":                         1,
		"0.0000000015":                         2,
		"0.00000000049999":                     0,
		"9e-60":                                0,
		"9223372036.854775807":                 math.MaxInt64,
		"0.1000000000000000055511151231257827": 100_000_000,
	} {
		if got, err := Number(text).Nanos(); got != want || err != nil {
			t.Errorf("%s dollars are %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "-1", "-0.5", "9223372036.8547758075", "1e20", "1e999999999", "1e-999999999", "abc", ".5", "1.2.3", strings.Repeat("1", 300)} {
		if got, err := Number(bad).Nanos(); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

// A runtime whose times have fractions or other forms must not lose sessions and runs, and no client may show
// a year that cannot be.
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1795161387199`: "2026-11-20T07:56:27.199Z", `1795161387199.9`: "2026-11-20T07:56:27.199Z", `1.795161387199e12`: "2026-11-20T07:56:27.199Z",
		`"1795161387199"`: "2026-11-20T07:56:27.199Z", `946684800000`: "2000-01-01T00:00:00.000Z", `4102444799999.5`: "2099-12-31T23:59:59.999Z",
		`946684799999.9`: "", `4102444800000`: "", `1795161387`: "", `0`: "", `-1795161387199`: "", `1e300`: "", `1e999`: "", `null`: "", `"soon"`: "", `"-"`: "", `"0x1"`: "", `{}`: "", `[1]`: "",
	} {
		var n Number
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := n.TimeOrNil(); at != nil {
			got = at.Format(clock.Layout)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
