package db

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Programs tells PostgreSQL's own programs, such as pg_dump, how to reach a database.
type Programs struct {
	// Env is their whole environment. It holds the password, which would be visible
	// to other users of the machine as an argument, and no secret of Wardroom's.
	Env      []string
	Database string // its name
	password string
}

// Hide removes the password from what a program wrote.
func (p Programs) Hide(text string) string {
	if p.password == "" {
		return text
	}
	return strings.ReplaceAll(text, p.password, "[password]")
}

// ProgramsFor reads the address of a PostgreSQL database as Open does.
func ProgramsFor(rawURL string) (Programs, error) {
	unreadable := errors.New("the database's address is not one that PostgreSQL's client understands")
	pool, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return Programs{}, unreadable // pgx's message can carry the address with its password
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return Programs{}, unreadable
	}
	cfg := pool.ConnConfig
	hosts, ports := []string{cfg.Host}, []string{fmt.Sprint(cfg.Port)}
	last := cfg.Host + " " + ports[0]
	for _, f := range cfg.Fallbacks { // one for each host, and for each way to encrypt
		if at := fmt.Sprint(f.Host, " ", f.Port); at != last {
			hosts, ports, last = append(hosts, f.Host), append(ports, fmt.Sprint(f.Port)), at
		}
	}
	set := map[string]string{
		"PGHOST": strings.Join(hosts, ","), "PGPORT": strings.Join(ports, ","), "PGUSER": cfg.User, "PGPASSWORD": cfg.Password,
		"PGDATABASE": cfg.Database, "PGOPTIONS": options(cfg.RuntimeParams), "PGCLIENTENCODING": "UTF8",
	}
	parameters, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B")) // to PostgreSQL a + is a plus
	if err != nil {
		return Programs{}, unreadable
	}
	for parameter, name := range libpq {
		if value := parameters.Get(parameter); value != "" {
			set[name] = value
		}
	}
	return Programs{Env: environment(set), Database: cfg.Database, password: cfg.Password}, nil
}

// libpq names the variables for the parameters of an address that pgx does not
// pass on: how the connection is made and encrypted.
var libpq = map[string]string{
	"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "sslsni": "PGSSLSNI",
	"sslnegotiation": "PGSSLNEGOTIATION", "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION", "channel_binding": "PGCHANNELBINDING",
	"krbsrvname": "PGKRBSRVNAME", "connect_timeout": "PGCONNECT_TIMEOUT", "target_session_attrs": "PGTARGETSESSIONATTRS",
}

// options writes settings of a session, such as search_path, as PGOPTIONS.
func options(settings map[string]string) string {
	var list []string
	if given := settings["options"]; given != "" {
		list = append(list, given)
	}
	escape := strings.NewReplacer(`\`, `\\`, ` `, `\ `)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name != "options" {
			list = append(list, "-c "+name+"="+escape.Replace(settings[name]))
		}
	}
	return strings.Join(list, " ")
}

// environment is set and what else of this process's environment the programs need.
func environment(set map[string]string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		_, ours := set[name]
		switch {
		case ours, name == "PGSERVICE", name == "PGHOSTADDR": // they would win over the address
		case name == "PATH", name == "HOME", name == "LANG", name == "TMPDIR", strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "PG"), strings.HasPrefix(name, "KRB5"):
			env = append(env, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] != "" {
			env = append(env, name+"="+set[name])
		}
	}
	return env
}
