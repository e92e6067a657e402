// Package config defines every setting of the program: its name, default, description
// and validation.
//
// The struct Raw and its tags are the only list of settings. The command line fills
// Raw from flags and environment variables, docs/settings.md is generated from it,
// and Check converts it to a Config or reports all mistakes at once.
package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// RawCommon holds the settings that every command with database access needs. All
// values are text. An empty string means that a setting is not set.
type RawCommon struct {
	NodeEnv string `name:"node-env" env:"NODE_ENV" group:"Server" help:"Set to production in production. Wardroom then rejects weak database passwords, a CORS wildcard and unverified TLS."`

	DataDir     string `name:"data-dir" env:"DATA_DIR" default:"data" group:"Storage" help:"Folder for Wardroom's files. It is created if it does not exist."`
	DatabaseURL Secret `name:"database-url" env:"DATABASE_URL" group:"Storage" help:"Database address: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME. It overrides DB_HOST and the other DB_ settings. If neither DATABASE_URL nor DB_HOST is set, Wardroom uses the SQLite file wardroom.db in DATA_DIR."`
	DBHost      string `name:"db-host" env:"DB_HOST" group:"Storage" help:"PostgreSQL host, or the folder of its Unix socket. Setting it selects PostgreSQL, unless DATABASE_URL is set."`
	DBPort      string `name:"db-port" env:"DB_PORT" default:"5432" group:"Storage" help:"PostgreSQL port."`
	DBName      string `name:"db-name" env:"DB_NAME" default:"wardroom" group:"Storage" help:"PostgreSQL database name."`
	DBUser      string `name:"db-user" env:"DB_USER" default:"wardroom" group:"Storage" help:"PostgreSQL user."`
	DBPassword  Secret `name:"db-password" env:"DB_PASSWORD" group:"Storage" help:"PostgreSQL password. In production it needs at least 12 characters and must not be a common password."`
	DBSSLMode   string `name:"db-sslmode" env:"DB_SSLMODE" default:"prefer" group:"Storage" help:"TLS mode of the PostgreSQL connection: disable, allow, prefer, require, verify-ca or verify-full."`

	LogLevel  string `name:"log-level" env:"LOG_LEVEL" default:"info" group:"Log" help:"Minimum level of log messages: debug, info, warn or error."`
	LogFormat string `name:"log-format" env:"LOG_FORMAT" default:"text" group:"Log" help:"Log format: text or json."`
}

// Raw holds all settings as text.
type Raw struct {
	RawCommon

	Host     string `name:"host" env:"HOST" default:"127.0.0.1" group:"Server" help:"Address to listen on. Use 0.0.0.0 or :: for all addresses."`
	Port     string `name:"port" env:"PORT" default:"3000" group:"Server" help:"Port to listen on. 0 picks a free port."`
	Timezone string `name:"timezone" env:"TIMEZONE" default:"UTC" group:"Server" help:"IANA time zone that defines when a day begins and ends, such as Europe/Lisbon."`

	PublicURL string `name:"public-url" env:"PUBLIC_URL" group:"Server" help:"URL at which people and agents reach Wardroom, such as https://ops.example.com. With a path, such as https://ops.example.com/wardroom, Wardroom works below that path, whether or not the proxy removes it. If empty, agents use the URL given when a standup is scheduled, or Wardroom's own listen address if the gateway runs on the same machine."`

	CORSOrigin string `name:"cors-origin" env:"CORS_ORIGIN" group:"Server" help:"Origin of a dashboard on another host that may call the API from a browser, such as https://ops.example.com. * allows all origins and is rejected in production. Empty allows none."`

	TrustedProxies string `name:"trusted-proxies" env:"TRUSTED_PROXIES" group:"Server" help:"Proxies in front of Wardroom: addresses and networks separated by commas, such as 127.0.0.1,10.0.0.0/8. Wardroom reads the client address from their X-Forwarded-For header. If empty, it ignores the header, and all clients behind a proxy share the address of the proxy."`

	MetricsAddr string `name:"metrics-addr" env:"METRICS_ADDR" group:"Server" help:"Address that serves Prometheus metrics, as HOST:PORT, such as 127.0.0.1:9464. It serves nothing else and requires no token. Empty disables metrics."`

	EncryptionKey    Secret `name:"encryption-key" env:"ENCRYPTION_KEY" group:"Storage" help:"Key that encrypts stored secrets, such as the gateway token from the dashboard. Use 32 to 1000 random characters without spaces or commas, such as the output of: openssl rand -base64 32. With PostgreSQL, set the same key on all replicas; without a key, Wardroom stores no such secrets. With SQLite, if empty, Wardroom creates the key file encryption.key in DATA_DIR when it first needs a key."`
	EncryptionKeyOld Secret `name:"encryption-key-old" env:"ENCRYPTION_KEY_OLD" group:"Storage" help:"Previous encryption keys, separated by commas. Wardroom can still decrypt secrets with these keys. At the next start, it encrypts those secrets again with ENCRYPTION_KEY."`

	JWTSecret              Secret `name:"jwt-secret" env:"JWT_SECRET" must:"true" group:"Accounts" help:"Key that signs login tokens, at least 48 characters. Changing it logs everyone out."`
	JWTExpiresIn           string `name:"jwt-expires-in" env:"JWT_EXPIRES_IN" default:"7d" group:"Accounts" help:"How long a login lasts: 45s, 30m, 24h, 7d, 2w, or a number of seconds; at most 520w."`
	BootstrapOwnerEmail    string `name:"bootstrap-owner-email" env:"BOOTSTRAP_OWNER_EMAIL" group:"Accounts" help:"Email of the owner account that Wardroom creates at startup if there is no owner. Requires BOOTSTRAP_OWNER_PASSWORD."`
	BootstrapOwnerPassword Secret `name:"bootstrap-owner-password" env:"BOOTSTRAP_OWNER_PASSWORD" group:"Accounts" help:"Password of the account in BOOTSTRAP_OWNER_EMAIL, at least 12 characters. Remove it after the first login."`
	RegistrationEnabled    string `name:"registration-enabled" env:"REGISTRATION_ENABLED" default:"false" group:"Accounts" help:"Whether people can create their own account, with the role user: true or false."`

	GatewayURL       string `name:"agentrt-gateway-url" env:"AGENTRT_GATEWAY_URL" group:"Gateway" help:"Address of the agent runtime's gateway, such as ws://127.0.0.1:18789. If empty, people set the address in the dashboard under Settings → Gateway. Until then, features that need agents are unavailable."`
	GatewayToken     Secret `name:"agentrt-gateway-token" env:"AGENTRT_GATEWAY_TOKEN" group:"Gateway" help:"Token that authenticates Wardroom to the gateway. It is sent only to AGENTRT_GATEWAY_URL. If empty, people set the token in the dashboard under Settings → Gateway."`
	GatewayTimeoutMS string `name:"agentrt-gateway-timeout-ms" env:"AGENTRT_GATEWAY_TIMEOUT_MS" default:"15000" group:"Gateway" help:"Timeout of a request to the gateway in milliseconds, 100 to 600000. Agent turns have their own timeouts."`
	GatewayScopes    string `name:"agentrt-gateway-scopes" env:"AGENTRT_GATEWAY_SCOPES" default:"operator.read,operator.write" group:"Gateway" help:"Scopes to request from the gateway, separated by commas. If operator.admin is included, Wardroom starts runs on a second connection without it."`

	DevicePrivateKey Secret `name:"agentrt-device-private-key" env:"AGENTRT_DEVICE_PRIVATE_KEY" group:"Gateway" help:"Ed25519 private key of Wardroom as a paired device, in base64url: the 32-byte seed, the 64-byte seed and public key, or PKCS #8 as written by openssl. Standard base64 and padding are accepted. Required if the gateway runs on another host."`
	DevicePublicKey  string `name:"agentrt-device-public-key" env:"AGENTRT_DEVICE_PUBLIC_KEY" group:"Gateway" help:"Public key of the device, in base64url. Optional: Wardroom derives it from the private key. If set, it must match."`
	DeviceID         string `name:"agentrt-device-id" env:"AGENTRT_DEVICE_ID" group:"Gateway" help:"ID of the device: the SHA-256 of the public key, in hex. Optional: Wardroom derives it from the private key. If set, it must match."`
	DeviceToken      Secret `name:"agentrt-device-token" env:"AGENTRT_DEVICE_TOKEN" group:"Gateway" help:"Token that the gateway issued to the paired device. It takes precedence over AGENTRT_GATEWAY_TOKEN, which is then optional."`

	GatewayCAFile      string `name:"agentrt-gateway-ca-file" env:"AGENTRT_GATEWAY_CA_FILE" group:"Gateway" help:"PEM file with the certificate authorities to trust for the gateway, instead of the system's. It is read at startup."`
	GatewayTLSPin      string `name:"agentrt-gateway-tls-pin" env:"AGENTRT_GATEWAY_TLS_PIN" group:"Gateway" help:"SHA-256 fingerprints of trusted gateway certificates, in hex with or without colons, separated by commas. Only these certificates are accepted; their names and dates are not checked."`
	GatewayInsecureTLS string `name:"agentrt-gateway-insecure-tls" env:"AGENTRT_GATEWAY_INSECURE_TLS" default:"false" group:"Gateway" help:"If true, Wardroom accepts any gateway certificate, so an attacker on the network can read the token. Use it only for development; it is rejected in production."`

	StandupFacilitator  string `name:"standup-facilitator" env:"STANDUP_FACILITATOR" default:"coo" group:"Standup" help:"Agent that facilitates the standups of the executive team, unless the team names another one."`
	StandupParticipants string `name:"standup-participants" env:"STANDUP_PARTICIPANTS" default:"cto,cpo,cmo" group:"Standup" help:"Agents that report in the standups of the executive team, separated by commas, in the order in which they are asked. A team can name others."`
	StandupAgentTimeout string `name:"standup-agent-timeout" env:"STANDUP_AGENT_TIMEOUT" default:"2m" group:"Standup" help:"How long one agent, including the facilitator, can take to answer; at most 1d. A team can override it."`
	StandupDeadline     string `name:"standup-deadline" env:"STANDUP_DEADLINE" default:"20m" group:"Standup" help:"How long a standup can take in total; at most 7d. A team can override it."`
	StandupGatewayGrace string `name:"standup-gateway-grace" env:"STANDUP_GATEWAY_GRACE" default:"60s" group:"Standup" help:"How long a standup waits for a lost gateway connection to return; at most 1d. 0 disables waiting."`

	StandupStartGrace string `name:"standup-start-grace" env:"STANDUP_START_GRACE" default:"15m" group:"Standup" help:"How late a scheduled standup can start before Wardroom reports that it did not start; 1m to 1d."`
	StandupFallback   string `name:"standup-fallback" env:"STANDUP_FALLBACK" default:"false" group:"Standup" help:"Whether Wardroom starts a standup itself if the runtime has not started it within STANDUP_START_GRACE: true or false."`

	ScheduleGrace    string `name:"schedule-grace" env:"SCHEDULE_GRACE" default:"5m" group:"Gateway" help:"How late a scheduled job of the runtime can start before Wardroom reports it as missed; 1m to 1d."`
	DispatchPatience string `name:"dispatch-patience" env:"DISPATCH_PATIENCE" default:"1h" group:"Gateway" help:"How long a dispatched task waits for the gateway and the agent before the dispatch fails; 1s to 7d."`
	DispatchTimeout  string `name:"dispatch-timeout" env:"DISPATCH_TIMEOUT" default:"2h" group:"Gateway" help:"How long an agent's run for a dispatched task can take before Wardroom stops it; 1s to 1d."`
	StalledAfter     string `name:"stalled-after" env:"STALLED_AFTER" default:"5m" group:"Gateway" help:"How long a run can show no activity before Wardroom reports it as stalled; 1s to 1d."`

	// Settings with the tag unset in place of default can be changed in the dashboard while they have no value here.
	ArchiveAfterDays         string `name:"archive-after-days" env:"ARCHIVE_AFTER_DAYS" unset:"7" placeholder:"7" group:"Retention" help:"Days after which done tasks are archived, 0 to 36500. 0 keeps them on the board forever."`
	ActivityLogRetentionDays string `name:"activity-log-retention-days" env:"ACTIVITY_LOG_RETENTION_DAYS" unset:"7" placeholder:"7" group:"Retention" help:"Days, counted in TIMEZONE, after which activity is deleted, 0 to 36500. 0 keeps it forever. Task histories and the audit log are always kept."`
	HistoryRetentionDays     string `name:"history-retention-days" env:"HISTORY_RETENTION_DAYS" unset:"30" placeholder:"30" group:"Retention" help:"Days, counted in TIMEZONE, after which resolved inbox items and the runs and slots of the runtime's jobs are deleted, 0 to 36500. 0 keeps them forever."`
	SubagentRetentionDays    string `name:"subagent-retention-days" env:"SUBAGENT_RETENTION_DAYS" unset:"30" placeholder:"30" group:"Retention" help:"Days, counted in TIMEZONE, after which archived sub-agent sessions without new activity are deleted with their messages, 0 to 36500. 0 keeps them forever. Their usage stays in the ledger."`
}

// Common holds the validated settings from RawCommon.
type Common struct {
	Production bool   // NODE_ENV is "production"
	DataDir    string // cleaned path, absolute or relative to the working directory
	// DatabaseURL is the argument for db.Open: "postgres://…", or the path of an
	// SQLite file. It is a secret because it can contain a password.
	DatabaseURL Secret
	LogLevel    slog.Level
	LogFormat   string // "text" or "json"
}

// Config holds all validated settings. Printing or logging it shows no secrets.
type Config struct {
	Common

	Host     string // without brackets, even for IPv6
	Port     int    // 0 picks a free port
	Timezone *time.Location

	PublicURL      string         // http or https, without a trailing slash; may be empty; see BasePath
	CORSOrigin     string         // in the form that browsers send, "*" (never in production), or empty
	TrustedProxies []netip.Prefix // masked; IPv4 addresses are never in IPv6-mapped form
	MetricsAddr    string         // host:port, or empty

	EncryptionKey    Secret   // empty, or at least 32 characters
	EncryptionKeyOld []Secret // distinct keys, none equal to EncryptionKey

	JWTSecret              Secret        // at least 48 characters
	JWTExpiresIn           time.Duration // at least a second
	BootstrapOwnerEmail    string        // can be set without the password, and vice versa
	BootstrapOwnerPassword Secret        // empty, or at least 12 characters
	RegistrationEnabled    bool

	GatewayURL     string // http, https, ws or wss; empty if no gateway is configured
	GatewayToken   Secret // may be empty
	GatewayTimeout time.Duration
	GatewayScopes  []string // at least one, no duplicates

	DeviceKey   *DeviceKey // nil if no device key is set
	DeviceToken Secret     // empty if DeviceKey is nil

	// These fields determine how the gateway's certificate is verified. At most one
	// of them is set. If none is set, the system's certificate authorities are used.
	GatewayCA          *Authorities
	GatewayPins        []Fingerprint
	GatewayInsecureTLS bool // never in production

	StandupFacilitator  string   // agent ID
	StandupParticipants []string // agent IDs: at least one, no duplicates, without the facilitator
	StandupAgentTimeout time.Duration
	StandupDeadline     time.Duration
	StandupGatewayGrace time.Duration // may be zero
	StandupStartGrace   time.Duration // at least a minute
	StandupFallback     bool

	ScheduleGrace time.Duration // at least a minute

	DispatchPatience, DispatchTimeout, StalledAfter time.Duration

	// Number of days after which old data is archived or deleted; 0 keeps it forever.
	ArchiveAfterDays         int // done tasks
	ActivityLogRetentionDays int // activity events
	HistoryRetentionDays     int // resolved inbox items, runs and slots of jobs
	SubagentRetentionDays    int // archived sub-agent sessions

	Given Given           // for the audit log
	Set   map[string]bool // which variables with a tag unset have a value
}

// String returns the settings as "Name=value" pairs, with the secrets redacted.
func (c Config) String() string {
	var b strings.Builder
	for _, a := range attrs(reflect.ValueOf(c)) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%v", a.Key, a.Value)
	}
	return b.String()
}

// GoString returns c.String(), so that %#v shows no secrets.
func (c Config) GoString() string { return c.String() }

// LogValue returns the settings for a log message, with the secrets redacted.
func (c Config) LogValue() slog.Value { return slog.GroupValue(attrs(reflect.ValueOf(c))...) }

func attrs(v reflect.Value) []slog.Attr {
	var out []slog.Attr
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			out = append(out, attrs(v.Field(i))...)
			continue
		}
		value := v.Field(i).Interface()
		if s, ok := value.(fmt.Stringer); ok { // durations, levels, time zones, secrets
			value = s.String()
		}
		out = append(out, slog.Any(v.Type().Field(i).Name, value))
	}
	return out
}

// Secret is a string whose value does not appear in logs, errors, JSON or printed
// structs.
type Secret string

// hidden is shown in place of a secret. An empty secret is shown as an empty string,
// so that it is clear that the secret is missing.
const hidden = "[secret]"

// Reveal returns the secret itself. Only code that uses the secret should call it.
func (s Secret) Reveal() string { return string(s) }

// String returns "[secret]", or "" if the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format redacts the secret for every formatting verb, including %q, %x and %#v.
func (s Secret) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.String())
}

// LogValue redacts the secret in log messages.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText redacts the secret in JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
