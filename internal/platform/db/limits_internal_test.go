package db

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// An address must be able to raise the limits on a slow network, and a mistake in it must not remove them.
func TestLimitsOf(t *testing.T) {
	usual := limits{dialTime, lockTime, idleTxTimeout}
	for query, want := range map[string]limits{
		"":                         usual,
		"?connect_timeout=20":      {20 * time.Second, lockTime, idleTxTimeout},
		"?lock_timeout=7000":       {dialTime, 7 * time.Second, idleTxTimeout},
		"?lock_timeout=0":          {},
		"?lock_timeout=5s":         {},
		"?lock_timeout=-1":         {},
		"?statement_timeout=1&a=b": usual,
		"?idle_in_transaction_session_timeout=250": {dialTime, lockTime, 250 * time.Millisecond},
	} {
		cfg, err := pgxpool.ParseConfig("postgres://wardroom@db/wardroom" + query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := limitsOf(cfg.ConnConfig)
		if got != want || (err != nil) != (want == limits{}) {
			t.Errorf("%s: %v, %v, want %v", query, got, err, want)
		}
		if err == nil && cfg.ConnConfig.ConnectTimeout != got.dial {
			t.Errorf("%s: connects within %s", query, cfg.ConnConfig.ConnectTimeout)
		}
		for _, name := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
			if _, sent := cfg.ConnConfig.RuntimeParams[name]; sent && err == nil {
				t.Errorf("%s: %s is sent as a startup parameter", query, name)
			}
		}
	}
}
