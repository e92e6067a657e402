package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/clock"
)

// Minimum lengths of secrets, in characters.
const (
	minJWTSecret     = 48
	minPassword      = 12
	minEncryptionKey = 32
)

// Check validates the settings. If they are valid, it returns them with warnings about
// values that are probably mistakes. Otherwise it returns an error with one line per
// mistake. Warnings and errors never contain the value of a secret.
func (r Raw) Check() (Config, []string, error) {
	set := editableSet(r)
	r = fill(r)
	var k checker
	c := Config{
		Common: r.common(&k),

		Host:     k.host("HOST", r.Host),
		Port:     k.number("PORT", r.Port, 0, 65535),
		Timezone: k.zone("TIMEZONE", r.Timezone),

		PublicURL:      k.public("PUBLIC_URL", r.PublicURL),
		CORSOrigin:     k.origin("CORS_ORIGIN", r.CORSOrigin, r.NodeEnv == "production"),
		TrustedProxies: k.proxies("TRUSTED_PROXIES", r.TrustedProxies),
		MetricsAddr:    k.address("METRICS_ADDR", r.MetricsAddr),

		JWTSecret:              r.JWTSecret,
		JWTExpiresIn:           k.duration("JWT_EXPIRES_IN", r.JWTExpiresIn, time.Second, 520*week),
		BootstrapOwnerEmail:    k.email("BOOTSTRAP_OWNER_EMAIL", r.BootstrapOwnerEmail),
		BootstrapOwnerPassword: r.BootstrapOwnerPassword,
		RegistrationEnabled:    k.truth("REGISTRATION_ENABLED", r.RegistrationEnabled),

		StandupFacilitator:  strings.TrimSpace(r.StandupFacilitator),
		StandupParticipants: k.list("STANDUP_PARTICIPANTS", r.StandupParticipants, agentID, "an agent ID such as cto"),
		StandupAgentTimeout: k.duration("STANDUP_AGENT_TIMEOUT", r.StandupAgentTimeout, time.Millisecond, day),
		StandupDeadline:     k.duration("STANDUP_DEADLINE", r.StandupDeadline, time.Millisecond, week),
		StandupGatewayGrace: k.duration("STANDUP_GATEWAY_GRACE", r.StandupGatewayGrace, 0, day),
		StandupStartGrace:   k.duration("STANDUP_START_GRACE", r.StandupStartGrace, time.Minute, day),
		StandupFallback:     k.truth("STANDUP_FALLBACK", r.StandupFallback),

		ScheduleGrace:    k.duration("SCHEDULE_GRACE", r.ScheduleGrace, time.Minute, day),
		DispatchPatience: k.duration("DISPATCH_PATIENCE", r.DispatchPatience, time.Second, 7*day),
		DispatchTimeout:  k.duration("DISPATCH_TIMEOUT", r.DispatchTimeout, time.Second, day),
		StalledAfter:     k.duration("STALLED_AFTER", r.StalledAfter, time.Second, day),

		ArchiveAfterDays:         k.number("ARCHIVE_AFTER_DAYS", r.ArchiveAfterDays, 0, maxDays),
		ActivityLogRetentionDays: k.number("ACTIVITY_LOG_RETENTION_DAYS", r.ActivityLogRetentionDays, 0, maxDays),
		HistoryRetentionDays:     k.number("HISTORY_RETENTION_DAYS", r.HistoryRetentionDays, 0, maxDays),
		SubagentRetentionDays:    k.number("SUBAGENT_RETENTION_DAYS", r.SubagentRetentionDays, 0, maxDays),
	}
	if c.JWTExpiresIn > 0 && c.JWTExpiresIn < time.Minute {
		k.warn("JWT_EXPIRES_IN is %q, so a login lasts %s: a plain number is in seconds; 7d is seven days", r.JWTExpiresIn,
			clock.FormatDuration(c.JWTExpiresIn))
	}
	k.secrets(r, c)
	k.encryption(r, &c)
	k.connection(r, &c)
	k.standup(c)
	if err := errors.Join(k.errs...); err != nil {
		return Config{}, k.warnings, err
	}
	c.Given, c.Set = given(r), set
	return c, k.warnings, nil
}

// CheckGateway validates the settings for a command that needs only the gateway
// connection. In the Config that it returns, only Production and the fields for the
// connection and the stored device identity are set. If a database or encryption
// setting is invalid, CheckGateway returns a warning and leaves DatabaseURL empty.
func (r Raw) CheckGateway() (Config, []string, error) {
	r = fill(r)
	var k, stored checker
	c := Config{Common: Common{Production: r.NodeEnv == "production"}}
	k.connection(r, &c)
	if err := errors.Join(k.errs...); err != nil {
		return Config{}, k.warnings, err
	}
	common := r.common(&stored)
	stored.encryption(r, &c)
	if err := errors.Join(stored.errs...); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		k.warn("the stored device was not checked, because a setting is invalid: %s", first)
		return c, k.warnings, nil
	}
	c.DataDir, c.DatabaseURL = common.DataDir, common.DatabaseURL
	return c, k.warnings, nil
}

// connection validates the settings for the gateway connection.
func (k *checker) connection(r Raw, c *Config) {
	c.GatewayURL = k.gateway("AGENTRT_GATEWAY_URL", r.GatewayURL)
	c.GatewayToken = k.token("AGENTRT_GATEWAY_TOKEN", r.GatewayToken)
	c.GatewayTimeout = time.Duration(k.number("AGENTRT_GATEWAY_TIMEOUT_MS", r.GatewayTimeoutMS,
		100, 600_000)) * time.Millisecond
	c.GatewayScopes = k.list("AGENTRT_GATEWAY_SCOPES", r.GatewayScopes, scope, "a scope such as operator.read")
	k.device(r, c)
	k.gatewayTLS(r, c)
	k.unused(r)
}

// Check validates the settings for a command that needs only RawCommon.
func (r RawCommon) Check() (Common, []string, error) {
	r = fill(r)
	var k checker
	c := r.common(&k)
	if err := errors.Join(k.errs...); err != nil {
		return Common{}, k.warnings, err
	}
	return c, k.warnings, nil
}

func (r RawCommon) common(k *checker) Common {
	c := Common{
		Production: r.NodeEnv == "production",
		DataDir:    k.path("DATA_DIR", r.DataDir),
		LogLevel:   k.level("LOG_LEVEL", r.LogLevel),
		LogFormat:  k.choice("LOG_FORMAT", r.LogFormat, "text", "json"),
	}
	if e := strings.ToLower(strings.TrimSpace(r.NodeEnv)); !c.Production && (e == "production" || e == "prod") {
		k.warn("NODE_ENV is %q: set it to production to enable the checks for production", r.NodeEnv)
	}
	c.DatabaseURL = k.database(r, c)
	return c
}

const (
	day     = 24 * time.Hour
	week    = 7 * day
	maxDays = 36_500 // a century; use 0 for no limit
)

// checker collects mistakes and warnings while the settings are validated.
type checker struct {
	errs     []error
	warnings []string
}

func (k *checker) reject(name, format string, args ...any) {
	k.errs = append(k.errs, fmt.Errorf(name+" "+format, args...))
}

func (k *checker) warn(format string, args ...any) {
	k.warnings = append(k.warnings, fmt.Sprintf(format, args...))
}

// secrets rejects secrets that are missing or too short, and warns of white space around one, which usually comes
// from the line end of a file.
func (k *checker) secrets(r Raw, c Config) {
	for _, s := range []struct {
		name  string
		value Secret
	}{{"JWT_SECRET", c.JWTSecret}, {"BOOTSTRAP_OWNER_PASSWORD", c.BootstrapOwnerPassword}, {"DB_PASSWORD", r.DBPassword}} {
		if v := s.value.Reveal(); strings.TrimSpace(strings.TrimPrefix(v, "\ufeff")) != v {
			k.warn("%s begins or ends with white space, a line break, or a byte order mark, which is part of it: remove that if it comes from a file", s.name)
		}
	}
	switch n := utf8.RuneCountInString(c.JWTSecret.Reveal()); {
	case n == 0:
		k.reject("JWT_SECRET",
			"is missing: set it to at least %d characters, for example the output of: openssl rand -hex 48", minJWTSecret)
	case n < minJWTSecret:
		k.reject("JWT_SECRET", "has %d characters: set it to at least %d, for example the output of: openssl rand -hex 48", n,
			minJWTSecret)
	}
	if n := utf8.RuneCountInString(c.BootstrapOwnerPassword.Reveal()); n > 0 && n < minPassword {
		k.reject("BOOTSTRAP_OWNER_PASSWORD", "has %d characters: set it to at least %d", n, minPassword)
	}
}

// encryption validates the encryption keys. It rejects keys that are easy to guess or
// equal to another secret.
func (k *checker) encryption(r Raw, c *Config) {
	const name, old = "ENCRYPTION_KEY", "ENCRYPTION_KEY_OLD"
	c.EncryptionKey = k.encryptionKey(name, r.EncryptionKey)
	for v := range strings.SplitSeq(r.EncryptionKeyOld.Reveal(), ",") {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		switch key := k.encryptionKey(old, Secret(v)); {
		case key == "":
		case key == c.EncryptionKey || slices.Contains(c.EncryptionKeyOld, key):
			k.reject(old, "repeats a key, or contains the key in %s: remove it", name)
		default:
			c.EncryptionKeyOld = append(c.EncryptionKeyOld, key)
		}
	}
	if s := c.EncryptionKey; s != "" && (s == r.JWTSecret || s == r.GatewayToken) {
		k.reject(name,
			"is the same as another secret: set a separate key, for example the output of: openssl rand -base64 32")
	}
}

// encryptionKey validates an encryption key. It returns an empty key if the key is
// missing or rejected.
func (k *checker) encryptionKey(name string, s Secret) Secret {
	const fix = "for example the output of: openssl rand -base64 32"
	v := strings.TrimSpace(s.Reveal())
	kinds := map[rune]bool{}
	for _, r := range v {
		kinds[r] = true
	}
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }
	switch n := utf8.RuneCountInString(v); {
	case n == 0:
		return ""
	case strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}"):
		k.reject(name, "refers to another variable, which is not expanded: set it to the key itself")
	case strings.ContainsFunc(v, odd):
		k.reject(name, "contains a space, a comma or another invalid character: set it to at least %d printable ASCII characters without spaces or commas, %s", minEncryptionKey, fix)
	case n < minEncryptionKey || n > 1000:
		k.reject(name, "has %d characters: set it to at least %d, %s", n, minEncryptionKey, fix)
	case len(kinds) < 10:
		k.reject(name, "has only %d different characters, so it is easy to guess: set a random one, %s", len(kinds), fix)
	default:
		return Secret(v)
	}
	return ""
}

// standup checks that the standup settings are consistent with each other.
func (k *checker) standup(c Config) {
	if !agentID.MatchString(c.StandupFacilitator) {
		k.reject("STANDUP_FACILITATOR", "is %q: set it to an agent ID such as coo", c.StandupFacilitator)
	}
	if slices.Contains(c.StandupParticipants, c.StandupFacilitator) {
		k.reject("STANDUP_PARTICIPANTS", "contains the facilitator %s: remove it, or change STANDUP_FACILITATOR",
			c.StandupFacilitator)
	}
	if c.StandupDeadline > 0 && c.StandupDeadline < c.StandupAgentTimeout {
		k.warn("STANDUP_DEADLINE (%s) is shorter than STANDUP_AGENT_TIMEOUT (%s): one slow agent can end the standup",
			clock.FormatDuration(c.StandupDeadline), clock.FormatDuration(c.StandupAgentTimeout))
	}
}

func (k *checker) number(name, s string, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < least || n > most {
		k.reject(name, "is %q: set it to a whole number from %d to %d", s, least, most)
		return 0
	}
	return n
}

func (k *checker) duration(name, s string, least, most time.Duration) time.Duration {
	d, err := clock.ParseDuration(s)
	if err != nil || d < least || d > most {
		k.reject(name, "is %q: set it to a duration such as 45s, 30m, 24h, 7d, 2w or a number of seconds, from %s to %s",
			s, clock.FormatDuration(least), clock.FormatDuration(most))
		return 0
	}
	return d
}

func (k *checker) choice(name, s string, allowed ...string) string {
	v := strings.ToLower(strings.TrimSpace(s))
	if !slices.Contains(allowed, v) {
		k.reject(name, "is %q: set it to one of %s", s, strings.Join(allowed, ", "))
	}
	return v
}

func (k *checker) truth(name, s string) bool {
	return k.choice(name, s, "true", "false") == "true"
}

func (k *checker) level(name, s string) slog.Level {
	switch k.choice(name, s, "debug", "info", "warn", "error") {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

func (k *checker) zone(name, s string) *time.Location {
	s = strings.TrimSpace(s)
	z, err := clock.Zone(s)
	if err != nil {
		k.reject(name, "is %q: set it to an IANA time zone such as UTC or Europe/Lisbon", s)
		return time.UTC
	}
	return z
}

func (k *checker) path(name, s string) string {
	if unprintable(s) {
		k.reject(name, "is %q: remove the control characters", s)
		return ""
	}
	return filepath.Clean(s)
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`) // and at most maxHost characters
	agentID  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	scope    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)
)

const maxHost = 253 // limit of DNS

func (k *checker) host(name, s string) string {
	v := strings.TrimSpace(s)
	v = strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
	if !isHost(v) {
		k.reject(name, "is %q: set it to an address or host name without a port, such as 127.0.0.1; set the port with PORT",
			s)
	}
	return v
}

// address validates an address of the form HOST:PORT. It rejects an address without a
// host, such as :9464, because Wardroom would then listen on all network addresses.
func (k *checker) address(name, s string) string {
	v := strings.TrimSpace(s)
	if v == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(v)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 || !isHost(host) {
		k.reject(name,
			"is %q: set it to HOST:PORT, such as 127.0.0.1:9464; to listen on all addresses, use 0.0.0.0 or [::] as the host", s)
		return ""
	}
	return v
}

func (k *checker) email(name, s string) string {
	v := strings.TrimSpace(s)
	local, domain, ok := strings.Cut(v, "@")
	wrong := !ok || local == "" || domain == "" || strings.ContainsAny(v, " \t,;<>") || strings.Contains(domain, "@") ||
		unprintable(v)
	if v != "" && wrong {
		k.reject(name, "is %q: set it to an email address such as owner@example.com", s)
	}
	return v
}

func (k *checker) list(name, s string, shape *regexp.Regexp, what string) []string {
	var out []string
	for _, v := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		switch {
		case !shape.MatchString(v):
			k.reject(name, "contains %q, which is not %s", v, what)
		case slices.Contains(out, v):
			k.reject(name, "contains %s twice: remove one of them", v)
		default:
			out = append(out, v)
		}
	}
	if strings.Trim(s, ", \t\r\n") == "" {
		k.reject(name, "is empty: set it to %s, or several separated by commas", what)
	}
	return out
}

// token rejects a token with characters that an HTTP header cannot contain. The most
// common one is a line break that was copied together with the token.
func (k *checker) token(name string, s Secret) Secret {
	if v := strings.TrimSpace(s.Reveal()); strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}") {
		k.reject(name, "refers to another variable, which is not expanded: set it to the token itself")
		return s
	}
	for _, r := range s.Reveal() {
		if r <= ' ' || r > '~' {
			k.reject(name,
				"contains a space, a line break or another invalid character: copy the token again, without surrounding text")
			break
		}
	}
	return s
}

func (k *checker) gateway(name, s string) string {
	v := strings.TrimSpace(s)
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || !slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(u.Scheme)) ||
		!isHost(u.Hostname()) {
		// The text may contain a misplaced token, so the message does not quote it.
		k.reject(name, "is not a valid URL: set it to one such as ws://127.0.0.1:18789 (http, https, ws or wss)")
		return ""
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		k.reject(name, "has a user, a query or a fragment: remove it, and set the token with AGENTRT_GATEWAY_TOKEN")
		return ""
	}
	if !validPort(u.Port()) {
		k.reject(name, "has the port %s: set one from 1 to 65535", u.Port())
		return ""
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Port() == "" && (u.Scheme == "http" || u.Scheme == "ws") {
		k.warn("%s has no port, so port 80 is used; gateways listen on 18789 by default", name)
	}
	return u.String()
}

// validPort reports whether s is a valid port or empty. An empty port means the
// default port of the URL's scheme.
func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "" || err == nil && n >= 1 && n <= 65535
}

func unprintable(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}
