package app

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
)

// Every setting of the connection must reach the gateway client. A certificate pin that
// is not passed on would trust any server.
func TestGatewaySettingsReachTheClient(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	options := func(change func(*config.Raw)) link.Options {
		t.Helper()
		raw := config.Raw{JWTSecret: config.Secret(strings.Repeat("j", 48)), GatewayURL: "wss://gateway.test", GatewayToken: "token-1", GatewayTimeoutMS: "1234"}
		change(&raw)
		cfg, _, err := raw.Check()
		if err != nil {
			t.Fatal(err)
		}
		return gatewayOptions(cfg, slog.New(slog.DiscardHandler), link.Backoff{})
	}
	o := options(func(r *config.Raw) {
		r.DevicePrivateKey, r.DeviceToken = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "token-2"
		r.GatewayTLSPin = strings.Repeat("ab", 32) + "," + strings.Repeat("cd", 32)
	})
	if o.URL != "wss://gateway.test" || o.Token != "token-1" || o.DeviceToken != "token-2" || o.Timeout != 1234*time.Millisecond ||
		len(o.DeviceKey) != 64 || len(o.Pins) != 2 || o.Pins[1][0] != 0xcd || o.Roots != nil || o.InsecureTLS || len(o.Scopes) != 2 {
		t.Errorf("the client's options are %+v", o)
	}
	if o := options(func(r *config.Raw) { r.GatewayCAFile = ca }); o.Roots == nil || o.DeviceKey != nil || o.Pins != nil {
		t.Errorf("with a CA, the client's options are %+v", o)
	}
	if o := options(func(r *config.Raw) { r.GatewayInsecureTLS = "true" }); !o.InsecureTLS {
		t.Error("InsecureTLS is not passed on")
	}
}

// A service that lacks another one must stop the start, because it would fail only when it is called.
func TestCheckFields(t *testing.T) {
	type service struct {
		Log *slog.Logger
		Now func() time.Time
		_   int // not exported, so it need not be set
	}
	if err := checkFields(&service{Log: slog.Default()}); err == nil || err.Error() != "app.service has no Now" {
		t.Errorf("without Now: %v", err)
	}
	if err := checkFields(&service{Log: slog.Default(), Now: time.Now}); err != nil {
		t.Errorf("with all exported fields: %v", err)
	}
}
