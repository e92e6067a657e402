package db_test

import (
	"slices"
	"testing"

	"wardroom/internal/platform/db"
)

// pg_dump must connect to the same database as Wardroom, however the address is
// written, and must not use other settings.
func TestProgramsFor(t *testing.T) {
	t.Setenv("PGHOSTADDR", "203.0.113.1")
	t.Setenv("PGGSSENCMODE", "disable")
	for address, want := range map[string][]string{
		"postgres://ada:p%40ss%20word@db.example.com:6543/ops?sslmode=require": {
			"PGHOST=db.example.com", "PGPORT=6543", "PGUSER=ada", "PGPASSWORD=p@ss word", "PGDATABASE=ops", "PGSSLMODE=require",
			"PGGSSENCMODE=disable",
		},
		"postgres://ada@a.example.com:1,b.example.com:2/ops?target_session_attrs=read-write": {
			"PGHOST=a.example.com,b.example.com", "PGPORT=1,2", "PGTARGETSESSIONATTRS=read-write",
		},
		"postgres://ada@/ops?host=/run/postgresql&port=5433": {"PGHOST=/run/postgresql", "PGPORT=5433"},
		"postgres://ada@db/ops?pool_max_conns=3&search_path=%22o%22%22ps%20x%22%2Cb%5Cc&options=-c%20role%3Dreader": {
			`PGOPTIONS=-c role=reader -c search_path="o""ps\ x",b\\c`,
		},
	} {
		p, err := db.ProgramsFor(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		for _, w := range want {
			if !slices.Contains(p.Env, w) {
				t.Errorf("%s: no %s in %q", address, w, p.Env)
			}
		}
		if slices.Contains(p.Env, "PGHOSTADDR=203.0.113.1") {
			t.Errorf("%s: the environment leads elsewhere", address)
		}
	}
}
