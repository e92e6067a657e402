// Package config is every setting that the program has: its name, its default,
// what it means, and what would be a mistake.
//
// Raw and its tags are the only list of settings. The command line reads flags
// and environment into it, docs/settings.md is printed from it, and Check turns
// it into a Config, or says everything that is wrong with it at once.
package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// RawCommon is what any command that touches the database needs, as it was
// given: text. An empty text counts as not given.
type RawCommon struct {
	NodeEnv string `name:"node-env" env:"NODE_ENV" group:"Server" help:"Set it to production in production: weak database passwords are then refused."`

	DataDir     string `name:"data-dir" env:"DATA_DIR" default:"data" group:"Storage" help:"Folder of what the service keeps on disk. It is made when it is missing."`
	DatabaseURL Secret `name:"database-url" env:"DATABASE_URL" group:"Storage" help:"Where the data is: sqlite:PATH, or postgres://USER:PASSWORD@HOST:PORT/NAME. Without it, and without DB_HOST, an SQLite file wardroom.db in DATA_DIR. It wins over DB_HOST and the others."`
	DBHost      string `name:"db-host" env:"DB_HOST" group:"Storage" help:"PostgreSQL host, or the folder of its socket. It says that PostgreSQL is used when DATABASE_URL is empty."`
	DBPort      string `name:"db-port" env:"DB_PORT" default:"5432" group:"Storage" help:"PostgreSQL port."`
	DBName      string `name:"db-name" env:"DB_NAME" default:"wardroom" group:"Storage" help:"PostgreSQL database."`
	DBUser      string `name:"db-user" env:"DB_USER" default:"wardroom" group:"Storage" help:"PostgreSQL user."`
	DBPassword  Secret `name:"db-password" env:"DB_PASSWORD" group:"Storage" help:"PostgreSQL password. In production at least 12 characters, and none that everybody tries first."`
	DBSSLMode   string `name:"db-sslmode" env:"DB_SSLMODE" default:"prefer" group:"Storage" help:"How the connection to PostgreSQL is encrypted: disable, allow, prefer, require, verify-ca or verify-full."`

	LogLevel  string `name:"log-level" env:"LOG_LEVEL" default:"info" group:"Log" help:"Least important lines that are written: debug, info, warn or error."`
	LogFormat string `name:"log-format" env:"LOG_FORMAT" default:"text" group:"Log" help:"How lines look: text for people, json for machines."`
}

// Raw is every setting as it was given.
type Raw struct {
	RawCommon

	Host     string `name:"host" env:"HOST" default:"127.0.0.1" group:"Server" help:"Address to listen on. 0.0.0.0 or :: listens on all of them."`
	Port     string `name:"port" env:"PORT" default:"3000" group:"Server" help:"Port to listen on. 0 takes a free one."`
	Timezone string `name:"timezone" env:"TIMEZONE" default:"UTC" group:"Server" help:"IANA time zone in which a day begins and ends, such as Europe/Lisbon."`

	PublicURL string `name:"public-url" env:"PUBLIC_URL" group:"Server" help:"Where others reach this service, such as https://ops.example.com: the runtime's agents are told to call it there. Empty: where a request to schedule the standup says, or the address that it listens on when the gateway is on this machine."`

	CORSOrigin string `name:"cors-origin" env:"CORS_ORIGIN" group:"Server" help:"Origin of a dashboard that is served elsewhere and may call from a browser: one, such as https://ops.example.com. * lets any page call, and is refused in production. Empty: none may."`

	TrustedProxies string `name:"trusted-proxies" env:"TRUSTED_PROXIES" group:"Server" help:"Proxies in front of the service, as addresses and networks separated by commas, such as 127.0.0.1,10.0.0.0/8: what they say in X-Forwarded-For of where a request comes from counts. Empty: nobody is believed, and a proxy's address is that of all its callers."`

	MetricsAddr string `name:"metrics-addr" env:"METRICS_ADDR" group:"Server" help:"Where Prometheus reads metrics, as HOST:PORT, such as 127.0.0.1:9464; nothing else is served there, and no token is asked for. Empty: nowhere."`

	EncryptionKey    Secret `name:"encryption-key" env:"ENCRYPTION_KEY" group:"Storage" help:"Key that encrypts what is stored and must stay secret, such as the device that POST /api/v1/agentrt/pairing makes: 32 to 1000 characters without blanks and commas that nobody can guess, such as the output of: openssl rand -base64 32. Empty with SQLite: a file encryption.key in DATA_DIR, which the service makes when it first needs it. With PostgreSQL the same one for all processes; without it nothing is stored that needs it."`
	EncryptionKeyOld Secret `name:"encryption-key-old" env:"ENCRYPTION_KEY_OLD" group:"Storage" help:"Keys of before, separated by commas: what was encrypted with them can be read, and is encrypted with ENCRYPTION_KEY at the next start."`

	JWTSecret              Secret `name:"jwt-secret" env:"JWT_SECRET" must:"true" group:"Accounts" help:"Key that signs logins, at least 48 characters. Changing it logs everybody out."`
	JWTExpiresIn           string `name:"jwt-expires-in" env:"JWT_EXPIRES_IN" default:"7d" group:"Accounts" help:"How long a login lasts: 45s, 30m, 24h, 7d, 2w, or a number of seconds; at most 520w."`
	BootstrapOwnerEmail    string `name:"bootstrap-owner-email" env:"BOOTSTRAP_OWNER_EMAIL" group:"Accounts" help:"Email of the owner that is made at start while there is none. Needs BOOTSTRAP_OWNER_PASSWORD."`
	BootstrapOwnerPassword Secret `name:"bootstrap-owner-password" env:"BOOTSTRAP_OWNER_PASSWORD" group:"Accounts" help:"Password of that owner, at least 12 characters. Remove it after the first login."`
	RegistrationEnabled    string `name:"registration-enabled" env:"REGISTRATION_ENABLED" default:"false" group:"Accounts" help:"Whether people may make accounts of the role user for themselves: true or false."`

	GatewayURL       string `name:"agentrt-gateway-url" env:"AGENTRT_GATEWAY_URL" group:"Gateway" help:"Address of the agent runtime's gateway, such as ws://127.0.0.1:18789. Empty: not configured, and all but the agents works."`
	GatewayToken     Secret `name:"agentrt-gateway-token" env:"AGENTRT_GATEWAY_TOKEN" group:"Gateway" help:"Token that the gateway expects of us."`
	GatewayTimeoutMS string `name:"agentrt-gateway-timeout-ms" env:"AGENTRT_GATEWAY_TIMEOUT_MS" default:"15000" group:"Gateway" help:"Milliseconds until a request to the gateway is given up, 100 to 600000. An agent's turn has its own limit."`
	GatewayScopes    string `name:"agentrt-gateway-scopes" env:"AGENTRT_GATEWAY_SCOPES" default:"operator.read,operator.write" group:"Gateway" help:"Scopes to ask the gateway for, separated by commas. With operator.admin a second connection, without it, starts runs."`

	DevicePrivateKey Secret `name:"agentrt-device-private-key" env:"AGENTRT_DEVICE_PRIVATE_KEY" group:"Gateway" help:"Ed25519 private key of this service as a paired device, in base64url: the seed of 32 bytes, the seed and the public key in 64, or PKCS #8 as openssl writes it. Padding and the plain base64 alphabet are taken, too. Needed where the gateway is on another host."`
	DevicePublicKey  string `name:"agentrt-device-public-key" env:"AGENTRT_DEVICE_PUBLIC_KEY" group:"Gateway" help:"Public key of that pair, in base64url. It follows from the private key and may be left out; one that does not fit is refused."`
	DeviceID         string `name:"agentrt-device-id" env:"AGENTRT_DEVICE_ID" group:"Gateway" help:"Id of the device: the SHA-256 of the public key, in hex. It follows from the private key and may be left out; one that does not fit is refused."`
	DeviceToken      Secret `name:"agentrt-device-token" env:"AGENTRT_DEVICE_TOKEN" group:"Gateway" help:"Token that the gateway gave the paired device. It is used before AGENTRT_GATEWAY_TOKEN, which then may be left out."`

	GatewayCAFile      string `name:"agentrt-gateway-ca-file" env:"AGENTRT_GATEWAY_CA_FILE" group:"Gateway" help:"PEM file of the authorities that may vouch for the gateway's certificate, instead of those that the system trusts. It is read at start."`
	GatewayTLSPin      string `name:"agentrt-gateway-tls-pin" env:"AGENTRT_GATEWAY_TLS_PIN" group:"Gateway" help:"SHA-256 fingerprint of the gateway's certificate, in hex with or without colons; several separated by commas. Exactly these certificates are trusted, whatever names and dates they hold."`
	GatewayInsecureTLS string `name:"agentrt-gateway-insecure-tls" env:"AGENTRT_GATEWAY_INSECURE_TLS" default:"false" group:"Gateway" help:"true trusts any certificate, so that anybody between can read the token: for development, refused in production."`

	StandupFacilitator  string `name:"standup-facilitator" env:"STANDUP_FACILITATOR" default:"coo" group:"Standup" help:"Agent that holds the meetings of the team executive, unless the team itself names another."`
	StandupParticipants string `name:"standup-participants" env:"STANDUP_PARTICIPANTS" default:"cto,cpo,cmo" group:"Standup" help:"Agents that report in the team executive, in the order in which they are asked, separated by commas; unless the team itself names others."`
	StandupAgentTimeout string `name:"standup-agent-timeout" env:"STANDUP_AGENT_TIMEOUT" default:"2m" group:"Standup" help:"How long one agent may take to answer, the facilitator included; at most 1d. A team may have its own."`
	StandupDeadline     string `name:"standup-deadline" env:"STANDUP_DEADLINE" default:"20m" group:"Standup" help:"How long the whole meeting may take; at most 7d. A team may have its own."`
	StandupGatewayGrace string `name:"standup-gateway-grace" env:"STANDUP_GATEWAY_GRACE" default:"60s" group:"Standup" help:"How long a meeting waits for a gateway that went away; 0 does not wait; at most 1d."`

	StandupStartGrace string `name:"standup-start-grace" env:"STANDUP_START_GRACE" default:"15m" group:"Standup" help:"How long after its time in the runtime's schedule a standup may begin before somebody is told that it did not; 1m to 1d."`
	StandupFallback   string `name:"standup-fallback" env:"STANDUP_FALLBACK" default:"false" group:"Standup" help:"true has the service itself begin a standup that the runtime did not begin within STANDUP_START_GRACE."`

	ScheduleGrace    string `name:"schedule-grace" env:"SCHEDULE_GRACE" default:"5m" group:"Gateway" help:"How long after its time a job of the runtime may begin before it counts as missed and somebody is told; 1m to 1d."`
	DispatchPatience string `name:"dispatch-patience" env:"DISPATCH_PATIENCE" default:"1h" group:"Gateway" help:"How long a task that was handed to its agent waits for the gateway and the agent before that has failed; 1s to 7d."`
	DispatchTimeout  string `name:"dispatch-timeout" env:"DISPATCH_TIMEOUT" default:"2h" group:"Gateway" help:"How long the agent's run for a task may take before it is stopped; 1s to 1d."`
	StalledAfter     string `name:"stalled-after" env:"STALLED_AFTER" default:"5m" group:"Gateway" help:"For how long a run may tell nothing of itself before it is shown as stalled and somebody is told; 1s to 1d."`

	ArchiveAfterDays         string `name:"archive-after-days" env:"ARCHIVE_AFTER_DAYS" default:"7" group:"Retention" help:"Days after which done tasks are archived, 0 to 36500; 0 keeps them on the board for ever."`
	ActivityLogRetentionDays string `name:"activity-log-retention-days" env:"ACTIVITY_LOG_RETENTION_DAYS" default:"7" group:"Retention" help:"Days of TIMEZONE after which activity, and resolved items of the inbox, and runs and slots of the runtime's jobs, are deleted, 0 to 36500; 0 keeps them for ever. The histories of tasks and the audit stay."`
	SubagentRetentionDays    string `name:"subagent-retention-days" env:"SUBAGENT_RETENTION_DAYS" default:"30" group:"Retention" help:"Days of TIMEZONE after which archived sessions of sub-agents, in which nothing has happened since, are deleted with what was said in them, 0 to 36500; 0 keeps them for ever. What they used stays in the ledger."`
}

// Common is RawCommon, checked.
type Common struct {
	Production bool   // NODE_ENV is "production"
	DataDir    string // a clean path, relative to the working directory unless it was given as an absolute one
	// DatabaseURL is what db.Open takes: "postgres://…", or the path of an
	// SQLite file. It is a secret because it may carry a password.
	DatabaseURL Secret
	LogLevel    slog.Level
	LogFormat   string // "text" or "json"
}

// Config is every setting, checked. Printing or logging it shows no secret.
type Config struct {
	Common

	Host     string // without brackets, even for IPv6
	Port     int    // 0 takes a free one
	Timezone *time.Location

	PublicURL      string         // http or https, without a slash at its end; empty when nobody said
	CORSOrigin     string         // as browsers write it, "*" (never in production), or empty
	TrustedProxies []netip.Prefix // without host bits; IPv4 is never written as IPv6
	MetricsAddr    string         // host:port, or empty

	EncryptionKey    Secret   // empty, or at least 32 characters
	EncryptionKeyOld []Secret // like it, none twice and none of them EncryptionKey; none without it, but for a key file

	JWTSecret              Secret        // at least 48 characters
	JWTExpiresIn           time.Duration // at least a second
	BootstrapOwnerEmail    string        // may be set without the password, and the other way round
	BootstrapOwnerPassword Secret        // empty, or at least 12 characters
	RegistrationEnabled    bool

	GatewayURL     string // http, https, ws or wss; empty when not configured
	GatewayToken   Secret // may be empty
	GatewayTimeout time.Duration
	GatewayScopes  []string // at least one, none twice

	DeviceKey   *DeviceKey // nil when this service is not a paired device
	DeviceToken Secret     // empty without a DeviceKey

	// How the gateway's certificate is checked; at most one of the three is set,
	// and none stands for the authorities that the system trusts.
	GatewayCA          *Authorities
	GatewayPins        []Fingerprint
	GatewayInsecureTLS bool // never in production

	StandupFacilitator  string   // an agent_id
	StandupParticipants []string // agent_ids, at least one, none twice, without the facilitator
	StandupAgentTimeout time.Duration
	StandupDeadline     time.Duration
	StandupGatewayGrace time.Duration // may be zero
	StandupStartGrace   time.Duration // at least a minute
	StandupFallback     bool

	ScheduleGrace time.Duration // at least a minute

	DispatchPatience, DispatchTimeout, StalledAfter time.Duration

	// Days until data goes; 0 keeps it for ever.
	ArchiveAfterDays         int // done tasks
	ActivityLogRetentionDays int // activity events
	SubagentRetentionDays    int // archived sub-agent sessions

	Given Given // for the audit
}

// String shows the settings, one "Name=value" each, without the secrets.
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

// GoString is String, so that %#v does not look behind it.
func (c Config) GoString() string { return c.String() }

// LogValue shows the settings in a log line, without the secrets.
func (c Config) LogValue() slog.Value { return slog.GroupValue(attrs(reflect.ValueOf(c))...) }

func attrs(v reflect.Value) []slog.Attr {
	var out []slog.Attr
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			out = append(out, attrs(v.Field(i))...)
			continue
		}
		value := v.Field(i).Interface()
		if s, ok := value.(fmt.Stringer); ok { // durations, levels, the zone, secrets
			value = s.String()
		}
		out = append(out, slog.Any(v.Type().Field(i).Name, value))
	}
	return out
}

// Secret is a text that no log, error, JSON or printed struct may show.
type Secret string

// hidden stands where a secret would be; an empty one stays empty, because
// that it is missing is worth seeing.
const hidden = "[secret]"

// Reveal returns the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format hides the text from every verb, also from %q, %x and %#v.
func (s Secret) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.String())
}

// LogValue hides the text in a log line.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text in JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
