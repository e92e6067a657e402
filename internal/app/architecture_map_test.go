package app_test

import "slices"

// The rules of docs/architecture.md. Change both together. Packages are named by their
// folder below the module or internal/.

// plumbing is what every feature may import. It does not include the settings, which
// features get as fields, and dbtest, which is for tests.
var plumbing = []string{
	"platform/actor", "platform/clock", "platform/cron", "platform/db", "platform/encode", "platform/enum", "platform/fault", "platform/job", "platform/label",
	"platform/limiter", "platform/list", "platform/money", "platform/once", "platform/page", "platform/patch", "platform/plaintext", "platform/vault", "platform/web",
}

// mayImport lists the imports that each package may have. A package that is not listed
// fails.
var mayImport = map[string][]string{
	"cmd/wardroom": slices.Concat([]string{"app", "account", "backup", "gateway", "platform/config", "schema"}, plumbing),
	"app": slices.Concat([]string{
		"web", "account", "agent", "approval", "archive", "ask", "dispatch", "event", "gateway", "gateway/demo", "hold", "inbox", "limit", "mcp", "mirror", "pairing", "platform/config", "receipt", "retention", "schedule", "schema", "search", "session", "settings", "standup", "task", "transcript", "trouble", "usage",
	}, plumbing),
	"archive": slices.Concat([]string{"gateway", "mirror", "search", "transcript"}, plumbing),

	"account":        slices.Concat([]string{"event"}, plumbing),
	"backup":         {"platform/db", "schema"}, // reads every feature's tables and writes none
	"agent":          slices.Concat([]string{"event", "gateway"}, plumbing),
	"ask":            {"gateway", "platform/db", "platform/job"},
	"approval":       slices.Concat([]string{"event", "gateway", "inbox", "mirror"}, plumbing),
	"dispatch":       slices.Concat([]string{"ask", "event", "gateway", "inbox"}, plumbing),
	"event":          plumbing,
	"hold":           slices.Concat([]string{"event", "gateway", "mirror"}, plumbing),
	"inbox":          slices.Concat([]string{"event"}, plumbing),
	"limit":          slices.Concat([]string{"event", "inbox"}, plumbing),
	"mcp":            slices.Concat([]string{"approval", "event", "gateway", "inbox", "standup", "task"}, plumbing), // tools of agents over these features; only its tests import inbox
	"mirror":         slices.Concat([]string{"gateway"}, plumbing),
	"pairing":        slices.Concat([]string{"event", "gateway"}, plumbing),
	"receipt":        slices.Concat([]string{"event", "gateway", "transcript"}, plumbing),
	"retention":      slices.Concat([]string{"event"}, plumbing),
	"schedule":       slices.Concat([]string{"event", "gateway", "inbox", "mirror"}, plumbing),
	"search":         plumbing,
	"session":        slices.Concat([]string{"event", "gateway", "inbox", "mirror", "transcript"}, plumbing),
	"settings":       slices.Concat([]string{"event", "gateway"}, plumbing),
	"standup":        slices.Concat([]string{"ask", "event", "gateway", "inbox", "search", "standup/answer"}, plumbing),
	"standup/answer": {"platform/plaintext"},
	"transcript":     {"gateway", "platform/clock", "platform/money"}, // shared by the sessions and their archive
	"task":           slices.Concat([]string{"event", "inbox", "search"}, plumbing),
	"trouble":        slices.Concat([]string{"event", "gateway", "inbox", "mirror"}, plumbing),
	"usage":          slices.Concat([]string{"event", "gateway", "mirror"}, plumbing),

	"gateway":      {"platform/clock", "platform/fault", "platform/plaintext"},
	"gateway/demo": {"gateway", "platform/cron"}, // its jobs run in a time zone
	"schema":       {},

	"web": {}, // embeds the built dashboard; imports nothing

	"platform/actor":     {"platform/enum", "platform/plaintext"},
	"platform/clock":     {},
	"platform/cron":      {"platform/clock"},
	"platform/config":    {"platform/clock"},
	"platform/db":        {},
	"platform/db/dbtest": {"platform/db", "schema"},
	"platform/encode":    {},
	"platform/enum":      {"platform/fault"},
	"platform/fault":     {},
	"platform/job":       {"platform/actor", "platform/cron", "platform/db"},
	"platform/label":     {"platform/plaintext"},
	"platform/limiter":   {},
	"platform/list":      {"platform/actor", "platform/db", "platform/page", "platform/plaintext"},
	"platform/money":     {},
	"platform/once":      {"platform/db", "platform/fault"},
	"platform/page":      {"platform/fault"},
	"platform/patch":     {},
	"platform/plaintext": {},
	"platform/vault":     {"platform/fault"},
	"platform/web":       {"platform/actor", "platform/db", "platform/encode", "platform/enum", "platform/fault", "platform/once", "platform/page", "platform/plaintext"},

	"test/faults":      {"gateway", "gateway/demo"},                                                                                                                                // the demo runtime with faults
	"test/durable":     {},                                                                                                                                                         // so do its tests, with the demo runtime
	"test/realgateway": {},                                                                                                                                                         // drives the built binary from outside
	"test/bench":       {"app", "account", "gateway", "gateway/demo", "platform/actor", "platform/config", "platform/db", "schema", "standup", "task", "test/faults", "test/year"}, // seeds through the services, and is the gateway of one
	"test/year":        {"platform/db"},
}

// features are the packages whose HTTP stays in http.go.
var features = []string{"account", "agent", "approval", "archive", "dispatch", "event", "hold", "inbox", "limit", "mcp", "pairing", "receipt", "retention", "schedule", "search", "session", "settings", "standup", "standup/answer", "task", "trouble", "usage"}

// owners names the package that writes each table. Any package may read any table.
var owners = map[string]string{
	"users":                  "account",
	"agent_roster":           "agent",
	"api_keys":               "account",
	"agent_holds":            "hold",
	"idempotency_keys":       "platform/once",
	"login_failures":         "account",
	"setup_tokens":           "account",
	"sign_ins":               "account",
	"dispatches":             "dispatch",
	"events":                 "event",
	"event_counter":          "event",
	"approvals":              "approval",
	"inbox_items":            "inbox",
	"jobs":                   "platform/job",
	"job_steps":              "platform/job",
	"job_timers":             "platform/job",
	"pairing_devices":        "pairing",
	"receipts":               "receipt",
	"retention_days":         "settings",
	"retention_runs":         "retention",
	"schedule_jobs":          "schedule",
	"schedule_reading":       "schedule",
	"schedule_runs":          "schedule",
	"schedule_slots":         "schedule",
	"schema_programs":        "platform/db",
	"task_grams":             "task",
	"task_grams_state":       "task",
	"search_state":           "search",
	"search_texts":           "search",
	"search_index":           "search",
	"search_terms":           "search",
	"session_messages":       "session",
	"settings":               "settings",
	"stalled_runs":           "session",
	"standups":               "standup",
	"standup_blockers":       "standup",
	"standup_effects":        "standup",
	"standup_questions":      "standup",
	"standup_reports":        "standup",
	"standup_transcript":     "standup",
	"standup_schedules":      "standup",
	"teams":                  "standup",
	"archive_parts":          "archive",
	"archive_sessions":       "archive",
	"archive_state":          "archive",
	"archive_texts":          "archive",
	"comments":               "task",
	"projects":               "task",
	"tasks":                  "task",
	"task_dependencies":      "task",
	"task_tags":              "task",
	"task_counter":           "task",
	"spend_limits":           "limit",
	"spend_limit_allowances": "limit",
	"spend_limit_crossings":  "limit",
	"usage_ledger":           "usage",
	"usage_prices":           "usage",
	"usage_state":            "usage",
	"usage_inherited":        "usage",
	"usage_going":            "usage",
	"usage_rollup":           "usage",
	"usage_told":             "usage",
	"usage_transcripts":      "usage",
}
