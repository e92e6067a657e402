package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// database returns the URL or file path of the database. It comes from DATABASE_URL or,
// if that is not set, from DB_HOST and the other DB_ settings. If DB_HOST is not set
// either, the database is an SQLite file in the data folder.
func (k *checker) database(r RawCommon, c Common) Secret {
	if c.Production && r.DBPassword != "" {
		k.password("DB_PASSWORD", r.DBPassword, r)
	}
	given := strings.TrimSpace(r.DatabaseURL.Reveal())
	switch {
	case given != "":
		if r.DBHost != "" {
			k.warn("DATABASE_URL and DB_HOST are both set: DATABASE_URL is used")
		}
		return Secret(k.databaseURL(given, r, c))
	case r.DBHost != "":
		return Secret(k.postgres(r, c))
	}
	return Secret(filepath.Join(c.DataDir, "wardroom.db"))
}

// databaseURL validates DATABASE_URL. Its error messages never quote the value,
// because the wrong part may be the password.
func (k *checker) databaseURL(given string, r RawCommon, c Common) string {
	const name = "DATABASE_URL"
	scheme, rest, ok := strings.Cut(given, ":")
	switch scheme = strings.ToLower(scheme); {
	case unprintable(given):
		k.reject(name, "contains a control character: remove it")
	case scheme == "postgres" || scheme == "postgresql":
		return k.postgresURL(given, r, c)
	case ok && (scheme == "sqlite" || scheme == "sqlite3" || scheme == "file"):
		return k.file(name, strings.TrimPrefix(rest, "//"))
	case strings.Contains(given, "://") || ok && isName(scheme) && len(scheme) > 1:
		k.reject(name, "has an unsupported scheme: set it to sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME")
	case strings.Contains(given, "host=") || strings.Contains(given, "dbname="):
		k.reject(name, "is in keyword format: set it to postgres://USER:PASSWORD@HOST:PORT/NAME")
	default:
		return k.file(name, given)
	}
	return ""
}

// file validates the path of an SQLite database. It rejects in-memory databases,
// because their data would be lost at exit and each connection would have its own
// database.
func (k *checker) file(name, path string) string {
	switch {
	case path == "" || strings.HasSuffix(path, "/"):
		k.reject(name, "contains no file name: set it to sqlite:PATH, such as sqlite:data/wardroom.db")
	case strings.ContainsAny(path, "?#"):
		k.reject(name, "contains ? or #: set it to sqlite:PATH, without parameters")
	case strings.Contains(path, ":memory:"):
		k.reject(name, "is an in-memory database, which is lost when Wardroom stops: set it to sqlite:PATH")
	default:
		return filepath.Clean(path)
	}
	return ""
}

func (k *checker) postgresURL(given string, r RawCommon, c Common) string {
	const name = "DATABASE_URL"
	u, err := url.Parse(given)
	if err != nil {
		k.reject(name,
			"cannot be parsed: percent-encode special characters in the user and password, such as @ as %%40 and / as %%2F")
		return ""
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		k.reject(name, "has invalid parameters: write them as ?name=value&name=value")
		return ""
	}
	if u.Host == "" && !q.Has("host") {
		k.reject(name, "contains no host: set it to postgres://USER:PASSWORD@HOST:PORT/NAME")
		return ""
	}
	password, _ := u.User.Password()
	if p := q.Get("password"); p != "" {
		password = p
	}
	if c.Production && password != "" {
		r.DBUser, r.DBName = u.User.Username(), strings.TrimPrefix(u.Path, "/")
		k.password("DATABASE_URL's password", Secret(password), r)
	}
	return given
}

// postgres builds the database address from DB_HOST and the other DB_ settings.
func (k *checker) postgres(r RawCommon, c Common) string {
	before := len(k.errs)
	port := k.number("DB_PORT", r.DBPort, 1, 65535)
	mode := k.choice("DB_SSLMODE", r.DBSSLMode, "disable", "allow", "prefer", "require", "verify-ca", "verify-full")
	for _, s := range [][2]string{{"DB_NAME", r.DBName}, {"DB_USER", r.DBUser}, {"DB_PASSWORD", r.DBPassword.Reveal()}} {
		if strings.ContainsRune(s[1], 0) || !utf8.ValidString(s[1]) {
			k.reject(s[0], "contains a character that PostgreSQL does not accept: remove it")
		}
	}
	socket := strings.HasPrefix(r.DBHost, "/")
	host := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(r.DBHost), "["), "]")
	if unprintable(host) || !socket && !isHost(host) {
		k.reject("DB_HOST", "is %q: set it to a host name or address without a port; set the port with DB_PORT", r.DBHost)
	}
	// On a Unix socket PostgreSQL can authenticate without a password.
	if c.Production && r.DBPassword == "" && !socket {
		k.reject("DB_PASSWORD", "is missing: set it to at least %d characters", minPassword)
	}
	if len(k.errs) > before {
		return ""
	}
	q := url.Values{"sslmode": {mode}}
	u := url.URL{Scheme: "postgres", User: url.User(r.DBUser), Path: "/" + r.DBName}
	if r.DBPassword != "" {
		u.User = url.UserPassword(r.DBUser, r.DBPassword.Reveal())
	}
	if socket {
		q.Set("host", host)
		q.Set("port", strconv.Itoa(port))
	} else {
		u.Host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// password rejects a database password that is short or common. It is called only in
// production.
func (k *checker) password(name string, s Secret, r RawCommon) {
	p := strings.ToLower(s.Reveal())
	tried := []string{
		"postgres", "postgresql", "password", "wardroom", "changeme", "change-me", "change_me", "secret", "admin", "root",
	}
	switch n := utf8.RuneCountInString(p); {
	case slices.Contains(tried, p):
		k.reject(name, "is a common password: set a different one of at least %d characters", minPassword)
	case n < minPassword:
		k.reject(name, "has %d characters: set one of at least %d characters", n, minPassword)
	case p == strings.ToLower(r.DBUser) || p == strings.ToLower(r.DBName):
		k.reject(name, "is the name of the user or the database: set a different one of at least %d characters", minPassword)
	}
}

func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return len(s) <= maxHost && hostName.MatchString(s)
}
