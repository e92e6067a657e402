// Package limit compares what agents spend with the limits that people set, and acts when usage
// crosses one: it tells people, stops runs, or holds agents. Wardroom sees a model call after it
// has ended, so a run is stopped after it crosses a limit, and the limit is exceeded by a few calls.
package limit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

// ScopeKind says which usage a limit counts.
type ScopeKind string

// The kinds of scopes.
const (
	All   ScopeKind = "all"
	Team  ScopeKind = "team"
	Agent ScopeKind = "agent"
	Model ScopeKind = "model"
	Job   ScopeKind = "job"
	Task  ScopeKind = "task"

	OneRun ScopeKind = "run" // the limit ends with the run
)

// ScopeKinds lists all kinds of scopes.
func ScopeKinds() []ScopeKind { return []ScopeKind{All, Team, Agent, Model, Job, Task, OneRun} }

// Measure is the unit of a limit.
type Measure string

// The measures.
const (
	Dollars Measure = "usd"
	Tokens  Measure = "tokens"
	Minutes Measure = "minutes" // that runs lasted
	Calls   Measure = "calls"   // of models
)

// Measures lists all measures.
func Measures() []Measure { return []Measure{Dollars, Tokens, Minutes, Calls} }

// Window is the time after which a limit starts again from zero.
type Window string

// The windows.
const (
	PerRun   Window = "run"
	PerHour  Window = "hour"
	PerDay   Window = "day"
	PerWeek  Window = "week"
	PerMonth Window = "month"
)

// Windows lists all windows.
func Windows() []Window { return []Window{PerRun, PerHour, PerDay, PerWeek, PerMonth} }

// Action is what Wardroom does when usage reaches a limit.
type Action string

// The actions.
const (
	Tell Action = "tell" // raise an inbox item
	Stop Action = "stop" // also stop the runs in the scope
	Hold Action = "hold" // also hold the agent
)

// Actions lists all actions.
func Actions() []Action { return []Action{Tell, Stop, Hold} }

// The levels at which a limit acts, in percent of its amount.
const (
	warnLevel = 80
	fullLevel = 100
)

// Limit is a limit on what agents spend.
type Limit struct {
	ID        string     `json:"id"`
	Name      string     `json:"name" doc:"Describes the limit, such as: $5.00 per day for agent cto."`
	Scope     ScopeKind  `json:"scope"`
	ScopeID   string     `json:"scope_id" doc:"The key of the team, the agent_id, the model with its provider, the ID of the job, the key of the task, or the ID of the run; empty if scope is all."`
	Measure   Measure    `json:"measure" doc:"The unit. minutes are those that runs last, so two runs at once use two minutes in a minute; calls are those of models."`
	Amount    string     `json:"amount" doc:"In the unit of measure, as a decimal number." example:"25"`
	Window    Window     `json:"window"`
	Timezone  string     `json:"timezone" doc:"The zone in which hours, days, weeks, and months begin."`
	Action    Action     `json:"action" doc:"What happens when usage reaches the amount. At 80 percent, an inbox item warns."`
	CreatedAt clock.Time `json:"created_at"`
	UpdatedAt clock.Time `json:"updated_at"`
	Version   int64      `json:"version" doc:"Incremented by every change; part of the ETag."`
	Headroom

	amount int64 // in nano-dollars if the measure is Dollars
	zone   *time.Location
}

// Headroom is the usage in the current period of a limit, or of its only run. For a limit on each run it is unknown.
type Headroom struct {
	Used       *string     `json:"used" doc:"Usage in the current period, including runs in progress; null for a limit on each run."`
	Allowed    string      `json:"allowed" doc:"The amount with what people allowed in addition for the current period."`
	Unpriced   int64       `json:"unpriced_runs" doc:"Number of runs in the period with an unknown cost. If it is not 0, a limit in dollars cannot be measured exactly: used does not include these runs."`
	Measurable bool        `json:"measurable" doc:"False if the limit is in dollars and some of the usage has no price. Use a limit in tokens for these runs."`
	ResetsAt   *clock.Time `json:"resets_at" doc:"When the period ends; null if window is run."`

	usedRatio float64
}

// UsedRatio returns the usage in the current period as a part of what is allowed.
func (h *Headroom) UsedRatio() float64 { return h.usedRatio }

// New is the request to create a limit, or to test one with POST /limits/preview.
type New struct {
	Scope    ScopeKind `json:"scope"`
	ScopeID  string    `json:"scope_id,omitempty" maxLength:"200" doc:"The key of the team, the agent_id, the model with its provider, the ID of the job, the key of the task, or the ID of the run; empty if scope is all."`
	Measure  Measure   `json:"measure" doc:"The unit. minutes are those that runs last, so two runs at once use two minutes in a minute; calls are those of models."`
	Amount   string    `json:"amount" maxLength:"22" pattern:"^[0-9.]+$" doc:"In dollars with up to 9 decimal places, or a whole number of tokens, minutes, or model calls." example:"25"`
	Window   Window    `json:"window" doc:"Must be run if scope is run."`
	Timezone string    `json:"timezone,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9_+/-]+$" doc:"An IANA time zone name. Default: the setting TIMEZONE."`
	Action   Action    `json:"action"`
}

// Change is a partial update of a limit. Omitted fields stay unchanged.
type Change struct {
	Amount *string `json:"amount,omitempty" maxLength:"22" pattern:"^[0-9.]+$"`
	Action *Action `json:"action,omitempty"`
}

// Preview is what a limit would have done.
type Preview struct {
	Days    int `json:"days" doc:"The number of days that were examined."`
	Reached int `json:"reached" doc:"How often usage would have reached the amount: the number of periods, or of runs."`
}

// Errors that limit operations return.
var (
	ErrNotFound = fault.New(fault.NotFound, "limit_not_found", "Limit not found.")
	ErrStale    = fault.New(fault.Stale, "limit_changed", "The limit has changed since you read it.")
	ErrTooMany  = fault.New(fault.Conflict, "limit_too_many", "There are too many limits.")
	ErrNoRun    = fault.New(fault.Conflict, "limit_run_not_in_progress", "The run is not in progress.")
	ErrNoPeriod = fault.New(fault.Conflict, "limit_not_reached", "No run has reached this limit.")
)

// maxLimits bounds the work in each transaction that stores usage.
const maxLimits = 100

// maxQuantity is the largest amount of a limit: a billion dollars, or 10^18 tokens.
const maxQuantity = 1_000_000_000_000_000_000

// maxMinutes is about 2000 years.
const maxMinutes = 1_000_000_000

var (
	dollarAmount = regexp.MustCompile(`^\d{1,9}(\.\d{1,9})?$`)
	count        = regexp.MustCompile(`^\d{1,18}$`)
)

// parse returns an amount in nano-dollars or in the measure's unit, or 0 if the text is invalid.
func (m Measure) parse(text string) int64 {
	if m != Dollars {
		if !count.MatchString(text) {
			return 0
		}
		n, _ := strconv.ParseInt(text, 10, 64) // 18 digits always fit
		if m == Minutes && n > maxMinutes {
			return 0
		}
		return n
	}
	var n money.Nano
	if !dollarAmount.MatchString(text) || n.UnmarshalJSON([]byte(`"`+text+`"`)) != nil {
		return 0
	}
	return int64(n)
}

// format is the reverse of parse.
func (m Measure) format(n int64) string {
	if m != Dollars {
		return strconv.FormatInt(n, 10)
	}
	return money.Nano(n).String()
}

// say returns an amount with its unit.
func (m Measure) say(n int64) string {
	if m != Dollars {
		unit := map[Measure]string{Tokens: "tokens", Minutes: "minutes", Calls: "model calls"}[m]
		if n == 1 {
			unit = strings.TrimSuffix(unit, "s")
		}
		return m.format(n) + " " + unit
	}
	text := strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64)
	if n%1e7 != 0 && n < 1e9 {
		text = m.format(n)
	}
	return "$" + text
}

// newLimit builds a limit from a request. If fields are invalid, it returns an error that lists them.
func newLimit(n New, id, zone string, now time.Time) (Limit, error) {
	l := Limit{
		ID: id, Scope: n.Scope, ScopeID: n.ScopeID, Measure: n.Measure, Window: n.Window, Timezone: n.Timezone,
		Action: n.Action, CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1,
	}
	if l.Timezone == "" {
		l.Timezone = zone
	}
	var bad fault.Fields
	if _, wrong := label.Clean(n.ScopeID, 200); n.Scope != All && wrong != "" {
		bad.Add("/scope_id", "%s", wrong)
	}
	if n.Scope == All && n.ScopeID != "" {
		bad.Add("/scope_id", "Omit the ID if scope is all.")
	}
	if _, err := clock.Zone(l.Timezone); err != nil {
		bad.Add("/timezone", "Use an IANA time zone name, such as Europe/Berlin.")
	}
	if n.Scope == OneRun && n.Window != PerRun {
		bad.Add("/window", "Use run, because the limit is on one run.")
	}
	l.setAmount(n.Amount, &bad)
	if err := bad.Err(); err != nil {
		return Limit{}, err
	}
	return l.complete()
}

func (l *Limit) setAmount(text string, bad *fault.Fields) {
	if l.amount = l.Measure.parse(text); l.amount < 1 || l.amount > maxQuantity {
		bad.Add("/amount", "Use a number above 0, such as 25; only dollars can have decimal places.")
	}
}

// complete sets the fields that are derived from others.
func (l Limit) complete() (Limit, error) {
	var err error
	if l.zone, err = clock.Zone(l.Timezone); err != nil {
		return Limit{}, fmt.Errorf("limit %s: %w", l.ID, err)
	}
	l.Amount = l.Measure.format(l.amount)
	amount := l.Measure.say(l.amount)
	switch l.Scope {
	case All:
		l.Name = fmt.Sprintf("%s per %s for everything", amount, l.Window)
	case OneRun:
		l.Name = fmt.Sprintf("%s for run %.8s", amount, l.ScopeID) // its ID is long, and says nothing to people
	default:
		l.Name = fmt.Sprintf("%s per %s for %s %s", amount, l.Window, l.Scope, l.ScopeID)
	}
	return l, nil
}

func (l Limit) subject() event.Subject { return event.Subject{Kind: "limit", ID: l.ID, Name: l.Name} }

// period is a time after which a limit starts again, or one run.
type period struct {
	key      string
	from, to time.Time // zero for a run
}

// periodAt returns the period of a limit that contains a time.
func (l Limit) periodAt(at time.Time, runID string) period {
	if l.Scope == OneRun {
		runID = l.ScopeID
	}
	if l.Window == PerRun {
		return period{key: runID}
	}
	var from, to time.Time
	local := at.In(l.zone)
	day := func(y int, m time.Month, d int) time.Time { return usage.StartOfDay(y, m, d, l.zone) }
	y, m, d := local.Date()
	switch l.Window {
	case PerHour:
		_, offset := local.Zone()
		past := time.Duration(local.Unix()+int64(offset)) * time.Second % time.Hour
		from = at.Truncate(time.Second).Add(-past)
		to = from.Add(time.Hour)
	case PerDay:
		from, to = day(y, m, d), day(y, m, d+1)
	case PerWeek:
		d -= int(local.Weekday()+6) % 7
		from, to = day(y, m, d), day(y, m, d+7)
	default:
		from, to = day(y, m, 1), day(y, m+1, 1)
	}
	return period{strconv.FormatInt(from.UnixMilli(), 10), from, to}
}
