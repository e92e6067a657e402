package tree_test

import "slices"

// The rules of docs/architecture.md. Change both together. Packages are named by their
// folder below the module or internal/.

// plumbing is what every feature may import. It does not include the settings, which
// features get as fields, and dbtest, which is for tests.
var plumbing = []string{
	"platform/actor", "platform/clock", "platform/cron", "platform/db", "platform/encode", "platform/enum",
	"platform/fault", "platform/job", "platform/label", "platform/limiter", "platform/list", "platform/money",
	"platform/once", "platform/page", "platform/patch", "platform/plaintext", "platform/redact", "platform/shared",
	"platform/vault", "platform/web",
}

// order lists the features so that each may import those before it, and none behind it. What a
// feature needs of one behind it is a function field that app sets.
var order = []string{
	"event", "search", "account", "inbox", "settings", "pairing", "retention", "hold", "task", "usage", "trouble",
	"session", "schedule", "archive", "receipt", "dispatch", "standup", "limit", "agent", "approval", "mcp",
}

// feature returns what a feature may import: the plumbing, the features before it in the order, and more.
func feature(name string, more ...string) []string {
	return slices.Concat(plumbing, order[:slices.Index(order, name)], more)
}

// mayImport lists the imports that each package may have. A package that is not listed
// fails.
var mayImport = map[string][]string{
	"cmd/wardroom": slices.Concat([]string{"app", "account", "backup", "gateway/link", "platform/config", "schema"}, plumbing),
	"app": slices.Concat(order, plumbing, []string{
		"web", "ask", "gateway", "gateway/link", "gateway/demo", "mirror", "platform/config", "schema", "transcript",
	}),

	"account":   feature("account"),
	"agent":     feature("agent", "gateway", "gateway/link", "mirror"), // only its tests import mirror
	"approval":  feature("approval", "gateway", "gateway/link", "mirror"),
	"archive":   feature("archive", "gateway", "gateway/link", "mirror", "transcript"),
	"dispatch":  feature("dispatch", "ask", "gateway", "gateway/link"),
	"event":     feature("event"),
	"hold":      feature("hold", "gateway", "gateway/link", "mirror"),
	"inbox":     feature("inbox"),
	"limit":     feature("limit"),
	"mcp":       feature("mcp", "gateway", "gateway/link"),
	"pairing":   feature("pairing", "gateway", "gateway/link"),
	"receipt":   feature("receipt", "gateway", "gateway/link", "transcript"),
	"retention": feature("retention"),
	"schedule":  feature("schedule", "gateway", "gateway/link", "mirror"),
	"search":    feature("search"),
	"session":   feature("session", "gateway", "gateway/link", "mirror", "transcript"),
	"settings":  feature("settings", "gateway", "gateway/link"),
	"standup":   feature("standup", "ask", "gateway", "gateway/link", "standup/answer"),
	"task":      feature("task"),
	"trouble":   feature("trouble", "gateway", "gateway/link", "mirror"),
	"usage":     feature("usage", "gateway", "gateway/link", "mirror"),

	// Parts that features share. They have no table and no route.
	"ask":            {"gateway", "gateway/link", "platform/db", "platform/job"},
	"mirror":         slices.Concat([]string{"gateway", "gateway/link"}, plumbing),
	"standup/answer": {"platform/plaintext"},
	"transcript":     {"gateway", "platform/clock", "platform/money"},

	"backup":       {"platform/db", "platform/disk", "schema"}, // reads every feature's tables and writes none
	"gateway":      {"gateway/link", "gateway/wire", "platform/clock", "platform/fault", "platform/plaintext"},
	"gateway/demo": {"gateway", "gateway/link", "platform/cron"}, // its jobs run in a time zone
	"gateway/link": {"gateway/wire", "platform/clock", "platform/fault", "platform/plaintext"},
	"gateway/wire": {"platform/clock", "platform/plaintext"},
	"schema":       {},

	"web": {}, // embeds the built dashboard; imports nothing

	"platform/actor":     {"platform/enum", "platform/plaintext"},
	"platform/clock":     {},
	"platform/cron":      {"platform/clock"},
	"platform/config":    {"platform/clock"},
	"platform/db":        {"platform/limiter", "platform/shared"},
	"platform/db/dbtest": {"platform/db", "schema"},
	"platform/disk":      {},
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
	"platform/redact":    {},
	"platform/shared":    {},
	"platform/vault":     {"platform/disk", "platform/fault"},
	"platform/web":       {"platform/actor", "platform/db", "platform/encode", "platform/enum", "platform/fault", "platform/once", "platform/page", "platform/plaintext"},

	"test/conform":     {"gateway", "gateway/link"},                                                                                                                                                // what the client expects of a gateway
	"test/faults":      {"gateway", "gateway/link", "gateway/demo"},                                                                                                                                // the demo runtime with faults
	"test/durable":     {},                                                                                                                                                                         // so do its tests, with the demo runtime
	"test/realgateway": {},                                                                                                                                                                         // drives the built binary from outside
	"test/bench":       {"app", "account", "gateway", "gateway/link", "gateway/demo", "platform/actor", "platform/config", "platform/db", "schema", "standup", "task", "test/faults", "test/year"}, // seeds through the services, and is the gateway of one
	"test/year":        {"platform/db"},
	"test/tree":        {}, // reads the sources
}

// features are the packages whose HTTP stays in http.go.
var features = append([]string{"standup/answer"}, order...)

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
