package gateway_test

import (
	"io"
	"log"
	"strings"
	"testing"

	"wardroom/internal/gateway/link"
)

// To tell a renewed certificate from an interception, a person needs both the expected
// and the presented fingerprint.
func TestOtherPinIsNamed(t *testing.T) {
	t.Parallel()
	begins := func(b byte) string { // 0xab: AB:00:00:…
		const digits = "0123456789ABCDEF"
		return string([]byte{digits[b>>4], digits[b&15]}) + strings.Repeat(":00", 31)
	}
	for name, test := range map[string]struct {
		pins  [][32]byte
		names []string
		not   string
	}{
		"one":           {[][32]byte{{0xab}}, []string{begins(0xab)}, "more"},
		"two":           {[][32]byte{{0xab}, {0xcd}}, []string{begins(0xab) + ", " + begins(0xcd)}, "more"},
		"more than fit": {[][32]byte{{1}, {2}, {3}, {4}, {5}}, []string{begins(1), begins(3), "2 more"}, begins(4)},
	} {
		t.Run(name, func(t *testing.T) {
			g := newReplayer(t, func(int, *peer) {})
			g.Config.ErrorLog = log.New(io.Discard, "", 0)
			g.StartTLS()
			opt := g.options()
			opt.Pins = test.pins
			s := untilState(t, client(t, opt), link.Untrusted)
			for _, want := range append(test.names, s.Certificate.Fingerprint) {
				if !strings.Contains(s.LastError, want) {
					t.Errorf("it lacks %q: %s", want, s.LastError)
				}
			}
			if strings.Contains(s.LastError, test.not) {
				t.Errorf("it has %q: %s", test.not, s.LastError)
			}
		})
	}
}
