package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test machine may have no time zone database

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/config"
)

const secret = config.Secret("0123456789abcdef0123456789abcdef0123456789abcdef")

// sealing encrypts stored secrets.
const sealing = config.Secret("dGhlIGVuY3J5cHRpb24ga2V5IG9mIHRoZXNlIHRlc3Q=")

// good returns the minimum valid settings.
func good() config.Raw { return config.Raw{JWTSecret: secret} }

// With only a secret set, every setting must have its documented default.
func TestDefaults(t *testing.T) {
	c, warnings, err := good().Check()
	if err != nil || len(warnings) != 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	want := config.Config{
		Common: config.Common{
			DataDir: "data", DatabaseURL: "data/wardroom.db", LogLevel: slog.LevelInfo, LogFormat: "text",
		},
		Host: "127.0.0.1", Port: 3000, Timezone: time.UTC,
		JWTSecret: secret, JWTExpiresIn: 7 * 24 * time.Hour,
		GatewayTimeout: 15 * time.Second, GatewayScopes: []string{"operator.read", "operator.write"},
		StandupFacilitator: "coo", StandupParticipants: []string{"cto", "cpo", "cmo"},
		StandupAgentTimeout: 2 * time.Minute, StandupDeadline: 20 * time.Minute, StandupGatewayGrace: time.Minute, StandupStartGrace: 15 * time.Minute, ScheduleGrace: 5 * time.Minute,
		DispatchPatience: time.Hour, DispatchTimeout: 2 * time.Hour, StalledAfter: 5 * time.Minute,
		ArchiveAfterDays: 7, ActivityLogRetentionDays: 7, HistoryRetentionDays: 30, SubagentRetentionDays: 30,
		Given: config.Given{"JWT_SECRET": "[secret]"},
	}
	reveal := cmp.Transformer("reveal", func(s config.Secret) string { return s.Reveal() })
	zone := cmp.Transformer("zone", func(z *time.Location) string { return z.String() })
	if diff := cmp.Diff(want, c, reveal, zone); diff != "" {
		t.Error(diff)
	}
}

// All mistakes must be reported at once.
func TestCheckReportsAllMistakes(t *testing.T) {
	r := config.Raw{
		RawCommon: config.RawCommon{NodeEnv: "production", DBHost: "db", DBPassword: "postgres", DBPort: "0", LogLevel: "loud"},
		Port:      "70000", Timezone: "Moon/Base", JWTSecret: "short", JWTExpiresIn: "-7d",
		BootstrapOwnerPassword: "eleven char", GatewayURL: "ftp://gateway", StandupParticipants: "cto,cto",
	}
	_, _, err := r.Check()
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		`LOG_LEVEL is "loud": set it to one of debug, info, warn, error`,
		"DB_PASSWORD is a common password: set a different one of at least 12 characters",
		`DB_PORT is "0": set it to a whole number from 1 to 65535`,
		`PORT is "70000": set it to a whole number from 0 to 65535`,
		`TIMEZONE is "Moon/Base": set it to an IANA time zone such as UTC or Europe/Lisbon`,
		`JWT_EXPIRES_IN is "-7d": set it to a duration such as 45s, 30m, 24h, 7d, 2w or a number of seconds, from 1s to 520w`,
		"STANDUP_PARTICIPANTS contains cto twice: remove one of them",
		"JWT_SECRET has 5 characters: set it to at least 48, for example the output of: openssl rand -hex 48",
		"BOOTSTRAP_OWNER_PASSWORD has 11 characters: set it to at least 12",
		"AGENTRT_GATEWAY_URL is not a valid URL: set it to one such as ws://127.0.0.1:18789 (http, https, ws or wss)",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// Each invalid setting is rejected with a message that names the variable.
func TestCheckRefuses(t *testing.T) {
	production := func(r *config.Raw) { r.NodeEnv = "production"; r.DBHost = "db" }
	for name, c := range map[string]struct {
		change func(*config.Raw)
		says   string
	}{
		"no secret":                     {func(r *config.Raw) { r.JWTSecret = "" }, "JWT_SECRET is missing: set it to at least 48 characters, for example the output of: openssl rand -hex 48"},
		"a secret of 47 characters":     {func(r *config.Raw) { r.JWTSecret = secret[:47] }, "JWT_SECRET has 47"},
		"a login of no length":          {func(r *config.Raw) { r.JWTExpiresIn = "0" }, "JWT_EXPIRES_IN"},
		"a login for ever":              {func(r *config.Raw) { r.JWTExpiresIn = "521w" }, "JWT_EXPIRES_IN"},
		"a short encryption key":        {func(r *config.Raw) { r.EncryptionKey = secret[:31] }, "ENCRYPTION_KEY has 31 characters: set it to at least 32, for example the output of: openssl rand -base64 32"},
		"an endless encryption key":     {func(r *config.Raw) { r.EncryptionKey = config.Secret(strings.Repeat(string(secret), 30)) }, "ENCRYPTION_KEY has 1440"},
		"an encryption key of one sort": {func(r *config.Raw) { r.EncryptionKey = config.Secret(strings.Repeat("0", 64)) }, "ENCRYPTION_KEY has only 1 different"},
		"an encryption key with blanks": {func(r *config.Raw) { r.EncryptionKey = "correct horse battery staple and more" }, "ENCRYPTION_KEY contains a space"},
		"two encryption keys":           {func(r *config.Raw) { r.EncryptionKey = sealing + "," + sealing }, "ENCRYPTION_KEY contains a space, a comma"},
		"a variable for a key":          {func(r *config.Raw) { r.EncryptionKey = "${ENCRYPTION_KEY_OF_THE_SERVICE_0}" }, "ENCRYPTION_KEY refers to another variable"},
		"logins and secrets by one key": {func(r *config.Raw) { r.EncryptionKey = secret }, "ENCRYPTION_KEY is the same as another secret"},
		"an old key that is the new":    {func(r *config.Raw) { r.EncryptionKey, r.EncryptionKeyOld = sealing, sealing }, "ENCRYPTION_KEY_OLD repeats a key"},
		"a short old key":               {func(r *config.Raw) { r.EncryptionKeyOld = sealing + ", short" }, "ENCRYPTION_KEY_OLD has 5"},
		"a port that is a word":         {func(r *config.Raw) { r.Port = "http" }, "PORT"},
		"a host with a port":            {func(r *config.Raw) { r.Host = "localhost:80" }, "HOST"},
		"a zone by another spelling":    {func(r *config.Raw) { r.Timezone = "europe/lisbon" }, "TIMEZONE"},
		"the zone of the machine":       {func(r *config.Raw) { r.Timezone = "Local" }, "TIMEZONE"},
		"an email without a domain":     {func(r *config.Raw) { r.BootstrapOwnerEmail = "owner@" }, "BOOTSTRAP_OWNER_EMAIL"},
		"a gateway without a scheme":    {func(r *config.Raw) { r.GatewayURL = "127.0.0.1:18789" }, "AGENTRT_GATEWAY_URL"},
		"a gateway with a token in it":  {func(r *config.Raw) { r.GatewayURL = "ws://:hunter2@gw:1" }, "AGENTRT_GATEWAY_TOKEN"},
		"a gateway with a wild port":    {func(r *config.Raw) { r.GatewayURL = "ws://gw:99999" }, "AGENTRT_GATEWAY_URL"},
		"a token that is a variable":    {func(r *config.Raw) { r.GatewayToken = "${OPENCLAW_GATEWAY_TOKEN}" }, "AGENTRT_GATEWAY_TOKEN refers to another variable"},
		"a token with a line break":     {func(r *config.Raw) { r.GatewayToken = "abc\n" }, "AGENTRT_GATEWAY_TOKEN"},
		"an impatient gateway timeout":  {func(r *config.Raw) { r.GatewayTimeoutMS = "99" }, "AGENTRT_GATEWAY_TIMEOUT_MS"},
		"an endless gateway timeout":    {func(r *config.Raw) { r.GatewayTimeoutMS = "600001" }, "AGENTRT_GATEWAY_TIMEOUT_MS"},
		"scopes that are none":          {func(r *config.Raw) { r.GatewayScopes = " , " }, "AGENTRT_GATEWAY_SCOPES"},
		"a facilitator who reports":     {func(r *config.Raw) { r.StandupParticipants = "cto,coo" }, "STANDUP_PARTICIPANTS"},
		"a facilitator with a blank":    {func(r *config.Raw) { r.StandupFacilitator = "the boss" }, "STANDUP_FACILITATOR"},
		"no time to answer":             {func(r *config.Raw) { r.StandupAgentTimeout = "0" }, "STANDUP_AGENT_TIMEOUT"},
		"a public address with a user":  {func(r *config.Raw) { r.PublicURL = "https://me:pass@ops.example.com" }, "PUBLIC_URL"},
		"a public address for a shell":  {func(r *config.Raw) { r.PublicURL = "https://ops.example.com/$(id)" }, "PUBLIC_URL"},
		"a public address with a quote": {func(r *config.Raw) { r.PublicURL = `http://[::1%25"]` }, "PUBLIC_URL"},
		"no protocol":                   {func(r *config.Raw) { r.PublicURL = "ops.example.com" }, "PUBLIC_URL"},
		"no patience for a dispatch":    {func(r *config.Raw) { r.DispatchPatience = "0s" }, "DISPATCH_PATIENCE"},
		"a dispatch that never ends":    {func(r *config.Raw) { r.DispatchTimeout = "25h" }, "DISPATCH_TIMEOUT"},
		"runs that stall at once":       {func(r *config.Raw) { r.StalledAfter = "10ms" }, "STALLED_AFTER"},
		"no grace for a job":            {func(r *config.Raw) { r.ScheduleGrace = "59s" }, "SCHEDULE_GRACE"},
		"no grace for a start":          {func(r *config.Raw) { r.StandupStartGrace = "10s" }, "STANDUP_START_GRACE"},
		"perhaps a fallback":            {func(r *config.Raw) { r.StandupFallback = "maybe" }, "STANDUP_FALLBACK"},
		"a negative grace":              {func(r *config.Raw) { r.StandupGatewayGrace = "-1s" }, "STANDUP_GATEWAY_GRACE"},
		"a format for nobody":           {func(r *config.Raw) { r.LogFormat = "xml" }, "LOG_FORMAT"},
		"a folder with a NUL":           {func(r *config.Raw) { r.DataDir = "a\x00b" }, "DATA_DIR"},
		"days that are a duration":      {func(r *config.Raw) { r.ArchiveAfterDays = "7d" }, `ARCHIVE_AFTER_DAYS is "7d": set it to a whole number from 0 to 36500`},
		"days before today":             {func(r *config.Raw) { r.ActivityLogRetentionDays = "-1" }, "ACTIVITY_LOG_RETENTION_DAYS"},
		"half a day":                    {func(r *config.Raw) { r.ActivityLogRetentionDays = "0.5" }, "ACTIVITY_LOG_RETENTION_DAYS"},
		"more than a century":           {func(r *config.Raw) { r.SubagentRetentionDays = "36501" }, "SUBAGENT_RETENTION_DAYS"},
		"days that run over":            {func(r *config.Raw) { r.SubagentRetentionDays = "99999999999999999999" }, "SUBAGENT_RETENTION_DAYS"},
		"any origin in production": {
			func(r *config.Raw) { r.NodeEnv, r.CORSOrigin = "production", " * " },
			"CORS_ORIGIN is *: in production set it to the dashboard's own origin, such as https://ops.example.com",
		},
		"registration that is perhaps":  {func(r *config.Raw) { r.RegistrationEnabled = "yes" }, `REGISTRATION_ENABLED is "yes": set it to one of true, false`},
		"another database":              {func(r *config.Raw) { r.DatabaseURL = "mysql://u@h/d" }, "DATABASE_URL"},
		"another database, short":       {func(r *config.Raw) { r.DatabaseURL = "mysql:u@h/d" }, "DATABASE_URL"},
		"a database in memory":          {func(r *config.Raw) { r.DatabaseURL = "sqlite::memory:" }, "DATABASE_URL"},
		"a database without a file":     {func(r *config.Raw) { r.DatabaseURL = "sqlite:" }, "DATABASE_URL"},
		"a database with parameters":    {func(r *config.Raw) { r.DatabaseURL = "file:a.db?mode=ro" }, "DATABASE_URL"},
		"a database in keywords":        {func(r *config.Raw) { r.DatabaseURL = "user=a host=b" }, "DATABASE_URL"},
		"an address without a host":     {func(r *config.Raw) { r.DatabaseURL = "postgres:///db" }, "DATABASE_URL"},
		"a password in need of escapes": {func(r *config.Raw) { r.DatabaseURL = "postgres://u:a%zz@h/d" }, "DATABASE_URL"},
		"a database host with a port":   {func(r *config.Raw) { r.DBHost = "db:5432" }, "DB_HOST"},
		"an unknown sslmode":            {func(r *config.Raw) { r.DBHost, r.DBSSLMode = "db", "yes" }, "DB_SSLMODE"},
		"no password in production":     {production, "DB_PASSWORD is missing"},
		"a default password in production": {
			func(r *config.Raw) { production(r); r.DBPassword = "Postgres" }, "DB_PASSWORD is a common password",
		},
		"a short password in production": {
			func(r *config.Raw) { production(r); r.DBPassword = "x7Kq2-mLp9e" }, "DB_PASSWORD has 11",
		},
		"the user's name as a password in production": {
			func(r *config.Raw) { production(r); r.DBUser, r.DBPassword = "standup_service", "standup_service" }, "DB_PASSWORD is the name",
		},
		"a default password in production, though SQLite is used": {
			func(r *config.Raw) { r.NodeEnv, r.DBPassword = "production", "changeme" }, "DB_PASSWORD",
		},
		"a default password in the address in production": {
			func(r *config.Raw) { r.NodeEnv, r.DatabaseURL = "production", "postgres://a:postgres@db/a" }, "DATABASE_URL's password",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			c.change(&r)
			got, _, err := r.Check()
			if err == nil {
				t.Fatalf("accepted as %v", got)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.Contains(lines[0], c.says) {
				t.Errorf("said %q, want one line with %q", lines, c.says)
			}
		})
	}
}

// Common ways to write a value must be accepted with the intended meaning.
func TestCheckAccepts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Raw)
		ok     func(config.Config) bool
	}{
		"data for ever": {
			func(r *config.Raw) {
				r.ArchiveAfterDays, r.ActivityLogRetentionDays, r.HistoryRetentionDays, r.SubagentRetentionDays = "0", " 0 ", "0", "0"
			},
			func(c config.Config) bool {
				return c.ArchiveAfterDays == 0 && c.ActivityLogRetentionDays == 0 && c.HistoryRetentionDays == 0 && c.SubagentRetentionDays == 0
			},
		},
		"data for a century": {
			func(r *config.Raw) {
				r.ArchiveAfterDays, r.ActivityLogRetentionDays, r.HistoryRetentionDays, r.SubagentRetentionDays = "36500", "36500", "36500", "36500"
			},
			func(c config.Config) bool {
				return c.ArchiveAfterDays+c.ActivityLogRetentionDays+c.HistoryRetentionDays+c.SubagentRetentionDays == 4*36500
			},
		},
		"days, each for itself": {
			func(r *config.Raw) {
				r.ArchiveAfterDays, r.ActivityLogRetentionDays, r.HistoryRetentionDays, r.SubagentRetentionDays = "1", "2", "3", "4"
			},
			func(c config.Config) bool {
				return c.ArchiveAfterDays == 1 && c.ActivityLogRetentionDays == 2 && c.HistoryRetentionDays == 3 && c.SubagentRetentionDays == 4
			},
		},
		"a secret of 48 letters of two bytes": {func(r *config.Raw) { r.JWTSecret = config.Secret(strings.Repeat("é", 48)) }, func(config.Config) bool { return true }},
		"a free port":                         {func(r *config.Raw) { r.Port = "0" }, func(c config.Config) bool { return c.Port == 0 }},
		"IPv6 in brackets":                    {func(r *config.Raw) { r.Host = "[::1]" }, func(c config.Config) bool { return c.Host == "::1" }},
		"a zone":                              {func(r *config.Raw) { r.Timezone = "Asia/Tokyo" }, func(c config.Config) bool { return c.Timezone.String() == "Asia/Tokyo" }},
		"seconds":                             {func(r *config.Raw) { r.JWTExpiresIn = "3600" }, func(c config.Config) bool { return c.JWTExpiresIn == time.Hour }},
		"a public address":                    {func(r *config.Raw) { r.PublicURL = " https://Ops.example.com:8443/ops/ " }, func(c config.Config) bool { return c.PublicURL == "https://Ops.example.com:8443/ops" }},
		"a fallback":                          {func(r *config.Raw) { r.StandupFallback, r.StandupStartGrace = "true", "1h" }, func(c config.Config) bool { return c.StandupFallback && c.StandupStartGrace == time.Hour }},
		"no grace":                            {func(r *config.Raw) { r.StandupGatewayGrace = "0" }, func(c config.Config) bool { return c.StandupGatewayGrace == 0 }},
		"a level in capitals":                 {func(r *config.Raw) { r.LogLevel = "WARN" }, func(c config.Config) bool { return c.LogLevel == slog.LevelWarn }},
		"a password without an email":         {func(r *config.Raw) { r.BootstrapOwnerPassword = "twelve chars" }, func(c config.Config) bool { return c.BootstrapOwnerEmail == "" }},
		"an email without a password":         {func(r *config.Raw) { r.BootstrapOwnerEmail = " a@b.c " }, func(c config.Config) bool { return c.BootstrapOwnerEmail == "a@b.c" }},
		"scopes with blanks":                  {func(r *config.Raw) { r.GatewayScopes = "operator.read, operator.admin" }, func(c config.Config) bool { return len(c.GatewayScopes) == 2 }},
		"a gateway on a path":                 {func(r *config.Raw) { r.GatewayURL = "HTTPS://gw.example.com/rt" }, func(c config.Config) bool { return c.GatewayURL == "https://gw.example.com/rt" }},
		"sqlite: and a path":                  {func(r *config.Raw) { r.DatabaseURL = "sqlite:./x/../a.db" }, func(c config.Config) bool { return c.DatabaseURL == "a.db" }},
		"sqlite:// and an absolute path":      {func(r *config.Raw) { r.DatabaseURL = "sqlite:///var/a.db" }, func(c config.Config) bool { return c.DatabaseURL == "/var/a.db" }},
		"a bare path":                         {func(r *config.Raw) { r.DatabaseURL = "/var/a.db" }, func(c config.Config) bool { return c.DatabaseURL == "/var/a.db" }},
		"the folder decides about the file":   {func(r *config.Raw) { r.DataDir = "/srv/w/" }, func(c config.Config) bool { return c.DatabaseURL == "/srv/w/wardroom.db" }},
		"a socket in production needs no password": {
			func(r *config.Raw) { r.NodeEnv, r.DBHost = "production", "/run/postgresql" },
			func(c config.Config) bool {
				return c.Production && c.DatabaseURL == "postgres://wardroom@/wardroom?host=%2Frun%2Fpostgresql&port=5432&sslmode=prefer"
			},
		},
		"a strong password in production": {
			func(r *config.Raw) { r.NodeEnv, r.DBHost, r.DBPassword = "production", "db", "x7Kq2-mLp9eR" },
			func(c config.Config) bool { return c.Production },
		},
		"a default password outside production": {
			func(r *config.Raw) { r.DBHost, r.DBPassword = "db", "postgres" }, func(c config.Config) bool { return !c.Production },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			c.change(&r)
			got, warnings, err := r.Check()
			if err != nil || len(warnings) != 0 {
				t.Fatalf("warnings %v, error %v", warnings, err)
			}
			if !c.ok(got) {
				t.Errorf("understood as %v, database %q", got, got.DatabaseURL.Reveal())
			}
		})
	}
}

// Values that are valid but probably a mistake must cause a warning and not prevent
// the start.
func TestCheckWarns(t *testing.T) {
	for says, change := range map[string]func(*config.Raw){
		"AGENTRT_GATEWAY_URL is not":      func(r *config.Raw) { r.GatewayToken = "abc" },
		"AGENTRT_GATEWAY_URL has no port": func(r *config.Raw) { r.GatewayURL = "ws://gw" },
		"DATABASE_URL is used":            func(r *config.Raw) { r.DatabaseURL, r.DBHost = "postgres://h/d", "db" },
		"NODE_ENV is \"Production\"":      func(r *config.Raw) { r.NodeEnv = "Production" },
		"a login lasts 7s":                func(r *config.Raw) { r.JWTExpiresIn = "7" },
		"STANDUP_DEADLINE (1m) is short":  func(r *config.Raw) { r.StandupDeadline = "60" },
	} {
		t.Run(says, func(t *testing.T) {
			r := good()
			change(&r)
			_, warnings, err := r.Check()
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], says) {
				t.Errorf("warnings %q, error %v", warnings, err)
			}
		})
	}
}

// A command such as "migrate" must work without the secret that signs logins.
func TestCommonCheck(t *testing.T) {
	c, _, err := config.RawCommon{DataDir: "here"}.Check()
	if err != nil || c.DatabaseURL != "here/wardroom.db" || c.LogFormat != "text" {
		t.Errorf("got %+v, error %v", c, err)
	}
	if _, _, err := (config.RawCommon{LogLevel: "x"}).Check(); err == nil {
		t.Error("accepted a level that is none")
	}
}

// Secrets must not appear in logs and errors.
func TestSecretsAreNeverShown(t *testing.T) {
	const mark = "hUnTeR2"
	secrets := config.Raw{
		RawCommon: config.RawCommon{DatabaseURL: "postgres://u:" + mark + "-long-enough@h/d", DBPassword: mark},
		JWTSecret: config.Secret(strings.Repeat(mark, 9)), BootstrapOwnerPassword: mark + mark, GatewayToken: mark,
		EncryptionKey: config.Secret(mark + "0123456789abcdefghijklmnop"), EncryptionKeyOld: config.Secret(mark + "ponmlkjihgfedcba9876543210"),
	}
	c, warnings, err := secrets.Check()
	if err != nil {
		t.Fatal(err)
	}
	broken := secrets
	broken.NodeEnv, broken.DBHost = "production", "db"
	broken.JWTSecret, broken.BootstrapOwnerPassword, broken.GatewayToken = mark, mark, mark+"\n"
	broken.EncryptionKey, broken.EncryptionKeyOld = mark, mark+","+mark+" 0123456789abcdefghijklmnop"
	broken.DatabaseURL = "postgres://u:" + mark + "@h:" + mark + "/d"
	_, more, mistakes := broken.Check()
	if mistakes == nil {
		t.Fatal("accepted")
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	log.Info("start", "config", c, "raw", secrets, "one", c.JWTSecret)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("start", "config", c, "raw", secrets, "one", c.JWTSecret)
	encoded, err := json.Marshal([]any{c.JWTSecret, secrets})
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{c.String(), logged.String(), string(encoded), mistakes.Error(), strings.Join(append(warnings, more...), "\n")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, c), fmt.Sprintf(verb, secrets), fmt.Sprintf(verb, c.JWTSecret), fmt.Sprintf(verb, &c))
	}
	for _, s := range shown {
		if strings.Contains(s, mark) || strings.Contains(s, fmt.Sprintf("%x", mark)) {
			t.Errorf("shows a secret: %s", s)
		}
	}
	if !strings.Contains(c.String(), "Port=3000") || !strings.Contains(c.String(), "JWTSecret=[secret]") {
		t.Errorf("String() = %s", c.String())
	}
}

// cli is a command line like that of cmd, with settings in a subcommand.
type cli struct {
	Serve struct {
		config.Raw
	} `cmd:"" help:"Serve."`
	Migrate struct {
		config.RawCommon
	} `cmd:"" help:"Migrate."`
}

func parse(t *testing.T, dotenv string, args ...string) cli {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte(dotenv), 0o600); err != nil {
		t.Fatal(err)
	}
	env, err := config.LoadDotEnv(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	var c cli
	k, err := kong.New(&c, kong.Resolvers(config.Resolver(env)), kong.Exit(func(int) { t.Error("exits") }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// Only what the environment really sets takes precedence over the dashboard, even if it is the default.
func TestEditableSettings(t *testing.T) {
	c, _, err := config.Raw{JWTSecret: secret, ArchiveAfterDays: "7"}.Check()
	if want := map[string]bool{"ARCHIVE_AFTER_DAYS": true}; err != nil || !maps.Equal(c.Set, want) {
		t.Errorf("set are %v, %v; want %v", c.Set, err, want)
	}
	if got := parse(t, "", "serve").Serve.ArchiveAfterDays; got != "" {
		t.Errorf("the command line sets %q", got)
	}
}

// The documented order of precedence is: flag, environment, .env, default.
func TestPrecedence(t *testing.T) {
	for _, s := range config.Settings() { // ignore the environment of the test machine
		if v, ok := os.LookupEnv(s.Env); ok {
			t.Setenv(s.Env, v) // restores it afterwards
			if err := os.Unsetenv(s.Env); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PORT", "2")
	t.Setenv("TIMEZONE", "Etc/GMT-2")
	t.Setenv("AGENTRT_GATEWAY_URL", "") // set but empty: .env is ignored
	t.Setenv("AGENTRT_GATEWAY_TOKEN", "-starts-with-a-dash")
	dotenv := "HOST=three\nPORT=3\nTIMEZONE=Etc/GMT-3\nJWT_SECRET='-$a b'\nAGENTRT_GATEWAY_URL=ws://three\nDATA_DIR=three\nUNKNOWN=3\n"
	raw := parse(t, dotenv, "serve", "--port=1", "--data-dir", "one").Serve.Raw
	got := map[string]string{
		"flag": raw.Port, "flag, .env": raw.DataDir, "environment": raw.Timezone, ".env": raw.Host, ".env, secret": raw.JWTSecret.Reveal(),
		"empty": raw.GatewayURL, "dash": raw.GatewayToken.Reveal(), "default": raw.LogLevel, "nothing": raw.BootstrapOwnerEmail,
	}
	want := map[string]string{
		"flag": "1", "flag, .env": "one", "environment": "Etc/GMT-2", ".env": "three", ".env, secret": "-$a b",
		"empty": "", "dash": "-starts-with-a-dash", "default": "info", "nothing": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := parse(t, dotenv, "migrate").Migrate.DataDir; got != "three" {
		t.Errorf("migrate has the folder %q", got)
	}
}

// The help text must not print secrets from the environment.
func TestHelpHidesSecrets(t *testing.T) {
	t.Setenv("JWT_SECRET", "hUnTeR2")
	var out bytes.Buffer
	var c cli
	k, err := kong.New(&c, kong.Writers(&out, &out), kong.Exit(func(int) {}),
		kong.Resolvers(config.Resolver(map[string]string{"DB_PASSWORD": "hUnTeR2"})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"serve", "--help"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hUnTeR2") || !strings.Contains(out.String(), "$JWT_SECRET") {
		t.Error(out.String())
	}
}

// A setting with incomplete tags would be missing in the documentation or on the
// command line.
func TestSettings(t *testing.T) {
	seen := map[string]bool{}
	markdown := config.Markdown()
	for _, s := range config.Settings() {
		if s.Help == "" || s.Group == "" || !strings.HasSuffix(s.Help, ".") || seen[s.Env] {
			t.Errorf("%s: help, group or a name of its own is missing", s.Env)
		}
		seen[s.Env] = true
		if want := strings.ToLower(strings.ReplaceAll(s.Env, "_", "-")); s.Flag != want {
			t.Errorf("%s has the flag %s, want %s", s.Env, s.Flag, want)
		}
		if n := strings.Count(markdown, "\n| `"+s.Env+"` | `--"+s.Flag+"` | "); n != 1 {
			t.Errorf("%s stands %d times in the document", s.Env, n)
		}
		secretive := strings.Contains(s.Env, "SECRET") || strings.Contains(s.Env, "PASSWORD") || strings.HasSuffix(s.Env, "TOKEN") || strings.Contains(s.Env, "PRIVATE") || strings.HasPrefix(s.Env, "ENCRYPTION") || s.Env == "DATABASE_URL"
		if s.Secret != secretive {
			t.Errorf("%s: secret is %v", s.Env, s.Secret)
		}
	}
	for _, part := range []string{
		"## Server\n\n| Variable | Flag | Default | Meaning |\n|---|---|---|---|\n| `NODE_ENV` | `--node-env` | – |",
		"| `JWT_SECRET` | `--jwt-secret` | **required** |", "| `PORT` | `--port` | `3000` |", "logs everyone out. *Secret.* |",
	} {
		if !strings.Contains(markdown, part) {
			t.Errorf("the document lacks %q", part)
		}
	}
}

// The descriptions of the retention settings must match what is deleted.
func TestRetentionSaysWhatItDoes(t *testing.T) {
	says := map[string]string{
		"ARCHIVE_AFTER_DAYS":          "done tasks are archived",
		"ACTIVITY_LOG_RETENTION_DAYS": "activity is deleted",
		"HISTORY_RETENTION_DAYS":      "resolved inbox items and the runs and slots of the runtime's jobs are deleted",
		"SUBAGENT_RETENTION_DAYS":     "archived sub-agent sessions without new activity are deleted with their messages",
	}
	for _, s := range config.Settings() {
		if s.Group == "Retention" {
			if says[s.Env] == "" || !strings.Contains(s.Help, says[s.Env]) {
				t.Errorf("%s says %q", s.Env, s.Help)
			}
			delete(says, s.Env)
		}
	}
	if len(says) > 0 {
		t.Errorf("no settings for %v", says)
	}
}

// The doctor command must work even if the server does not start: a mistake in
// another setting is only a warning.
func TestCheckGateway(t *testing.T) {
	r := config.Raw{GatewayURL: "ws://127.0.0.1:18789", EncryptionKey: " " + sealing + "\n", EncryptionKeyOld: "0123456789abcdefghijklmnopqrstuvwxyz, "}
	c, warnings, err := r.CheckGateway()
	if err != nil || len(warnings) != 0 || c.GatewayURL == "" || c.DatabaseURL != "data/wardroom.db" || c.DataDir != "data" ||
		c.EncryptionKey != sealing || len(c.EncryptionKeyOld) != 1 {
		t.Errorf("%v with %v, %v", c, warnings, err)
	}
	for name, spoil := range map[string]func(*config.Raw){
		"DATABASE_URL":   func(r *config.Raw) { r.DatabaseURL = "mysql:u@h/d" },
		"ENCRYPTION_KEY": func(r *config.Raw) { r.EncryptionKey = "short" },
	} {
		r := r
		spoil(&r)
		c, warnings, err := r.CheckGateway()
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], name) || c.GatewayURL == "" || c.DatabaseURL != "" {
			t.Errorf("%s: %v with %v, %v", name, c, warnings, err)
		}
	}
}
