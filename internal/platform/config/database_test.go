package config_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"wardroom/internal/platform/config"
)

// A password with special URL characters must reach PostgreSQL unchanged.
func TestDatabaseParts(t *testing.T) {
	text := rapid.StringN(1, 30, -1).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) && strings.TrimSpace(s) == s })
	rapid.Check(t, func(t *rapid.T) {
		r := good()
		r.DBHost = rapid.SampledFrom([]string{"db", "db.example.com", "10.0.0.1", "::1", "[fe80::1]", "/run/postgresql"}).Draw(t, "host")
		r.DBName, r.DBUser = text.Draw(t, "name"), text.Draw(t, "user")
		r.DBPassword = config.Secret(text.Draw(t, "password"))
		r.DBPort, r.DBSSLMode = "5433", "disable"
		c, _, err := r.Check()
		if err != nil {
			t.Fatal(err)
		}
		p, err := pgx.ParseConfig(c.DatabaseURL.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if p.User != r.DBUser || p.Password != r.DBPassword.Reveal() || p.Database != r.DBName || p.Host != strings.Trim(r.DBHost, "[]") || p.Port != 5433 {
			t.Fatalf("%q is read as user %q, password %q, database %q, host %q, port %d",
				c.DatabaseURL.Reveal(), p.User, p.Password, p.Database, p.Host, p.Port)
		}
	})
}
