package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// A mistake here lets clients choose their own address, or ignores the proxy's
// header.
func TestTrustedProxies(t *testing.T) {
	for given, want := range map[string]string{
		"": "[]", " ": "[]", ",": "[]", "127.0.0.1": "[127.0.0.1/32]", "127.0.0.1, ::1": "[127.0.0.1/32 ::1/128]",
		"10.0.0.0/8 fd00::/8\n192.168.0.0/16,": "[10.0.0.0/8 fd00::/8 192.168.0.0/16]", "::ffff:10.0.0.1": "[10.0.0.1/32]",
	} {
		r := good()
		r.TrustedProxies = given
		if c, warnings, err := r.Check(); err != nil || len(warnings) != 0 || fmt.Sprint(c.TrustedProxies) != want {
			t.Errorf("%q is %v, warnings %v, error %v; want %s", given, c.TrustedProxies, warnings, err, want)
		}
	}
	for given, say := range map[string]string{
		"proxy.example.com": "such as 127.0.0.1", "10.0.0.0/33": "such as 127.0.0.1", "10.0.0.1/8": "write 10.0.0.0/8", "fe80::1%eth0": "such as 127.0.0.1",
		"127.0.0.1:80": "such as 127.0.0.1", "[::1]": "such as 127.0.0.1", "10.0.0.0/08": "such as 127.0.0.1", "::ffff:10.0.0.0/104": "such as 127.0.0.1",
		"127.0.0.1,127.0.0.1/32": "twice", "*": "such as 127.0.0.1", "10.0.0.0-10.0.0.9": "such as 127.0.0.1", "127.0.0.1;::1": "such as 127.0.0.1", "10.": "such as 127.0.0.1",
	} {
		r := good()
		r.TrustedProxies = given
		c, _, err := r.Check()
		if err == nil || !strings.HasPrefix(err.Error(), "TRUSTED_PROXIES contains ") || !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v; want an error that says %q", given, c.TrustedProxies, err, say)
		}
	}
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		r := good()
		r.TrustedProxies = all
		if _, warnings, err := r.Check(); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "any client") {
			t.Errorf("%s: %v, %v; want one warning", all, warnings, err)
		}
	}
}

// Metrics require no token, so the address must be explicit.
func TestMetricsAddr(t *testing.T) {
	for given, want := range map[string]string{
		"": "", " ": "", "127.0.0.1:9464": "127.0.0.1:9464", " localhost:0 ": "localhost:0", "[::1]:9464": "[::1]:9464", "0.0.0.0:9464": "0.0.0.0:9464",
	} {
		r := good()
		r.MetricsAddr = given
		if c, warnings, err := r.Check(); err != nil || len(warnings) != 0 || c.MetricsAddr != want {
			t.Errorf("%q is %q, warnings %v, error %v; want %q", given, c.MetricsAddr, warnings, err, want)
		}
	}
	for _, given := range []string{":9464", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http", "::1:9464", "http://127.0.0.1:9464", "127.0.0.1:9464/metrics", "a b:1", "*:1"} {
		r := good()
		r.MetricsAddr = given
		if c, _, err := r.Check(); err == nil || !strings.HasPrefix(err.Error(), "METRICS_ADDR is ") || !strings.Contains(err.Error(), "127.0.0.1:9464") {
			t.Errorf("%q: %q, %v", given, c.MetricsAddr, err)
		}
	}
}
