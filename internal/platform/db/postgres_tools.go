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

// Programs holds the settings with which PostgreSQL's command-line tools, such as
// pg_dump, connect to a database.
type Programs struct {
	// Env is the complete environment for PostgreSQL's tools. It contains the password,
	// because other users of the machine can see the arguments of a process. It does
	// not contain Wardroom's own secrets.
	Env      []string
	Database string // database name
	password string
}

// Hide redacts the database password in the output of a PostgreSQL tool.
func (p Programs) Hide(text string) string {
	if p.password == "" {
		return text
	}
	return strings.ReplaceAll(text, p.password, "[password]")
}

// ProgramsFor parses the URL of a PostgreSQL database in the same way as Open.
func ProgramsFor(rawURL string) (Programs, error) {
	unreadable := errors.New("the database address is not a valid PostgreSQL address")
	pool, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return Programs{}, unreadable // pgx's message can contain the address with its password
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return Programs{}, unreadable
	}
	cfg := pool.ConnConfig
	hosts, ports := []string{cfg.Host}, []string{fmt.Sprint(cfg.Port)}
	last := cfg.Host + " " + ports[0]
	for _, f := range cfg.Fallbacks { // one for each host and encryption mode
		if at := fmt.Sprint(f.Host, " ", f.Port); at != last {
			hosts, ports, last = append(hosts, f.Host), append(ports, fmt.Sprint(f.Port)), at
		}
	}
	set := map[string]string{
		"PGHOST": strings.Join(hosts, ","), "PGPORT": strings.Join(ports, ","), "PGUSER": cfg.User,
		"PGPASSWORD": cfg.Password, "PGDATABASE": cfg.Database, "PGOPTIONS": options(cfg.RuntimeParams),
		"PGCLIENTENCODING": "UTF8",
	}
	parameters, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B")) // PostgreSQL reads + as a plus sign
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

// libpq lists the database URL's parameters that pgx does not expose, each with the environment
// variable that passes it to PostgreSQL's tools.
var libpq = map[string]string{
	"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
	"sslsni": "PGSSLSNI", "sslnegotiation": "PGSSLNEGOTIATION", "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
	"channel_binding": "PGCHANNELBINDING", "krbsrvname": "PGKRBSRVNAME", "connect_timeout": "PGCONNECT_TIMEOUT",
	"target_session_attrs": "PGTARGETSESSIONATTRS",
}

// options formats session settings, such as search_path, as the value of PGOPTIONS.
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

// environment returns the given variables, together with the variables of this
// process that PostgreSQL's tools need.
func environment(set map[string]string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		_, ours := set[name]
		switch {
		case ours, name == "PGSERVICE", name == "PGHOSTADDR": // they would override the address
		case name == "PATH", name == "HOME", name == "LANG", name == "TMPDIR", strings.HasPrefix(name, "LC_"),
			strings.HasPrefix(name, "PG"), strings.HasPrefix(name, "KRB5"):
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
