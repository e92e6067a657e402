package standup

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/fault"
)

// Timetable is the part of the gateway that a standup's schedule needs: the
// runtime's own timed jobs.
type Timetable interface {
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	AddJob(ctx context.Context, n gateway.NewJob) (gateway.Job, error)
	ChangeJob(ctx context.Context, id string, change gateway.JobChange, revision string) (gateway.Job, error)
}

const (
	// jobNames is how the job of the team executive is called in the runtime, as
	// the specification has it, and what the names of all others begin with.
	jobNamePrefix = "daily-standup"
	// KeyVariable is the variable in the runtime's environment that holds the
	// facilitator's API key. Only its name is in the job.
	KeyVariable = "WARDROOM_API_KEY"
	// defaultExpr is nine o'clock on weekdays.
	defaultExpr = "0 9 * * 1-5"
	// nextShown is how many of the next times are answered.
	maxNextRuns = 5
)

// jobName is how the job that starts t's standups is called in the runtime.
func (t Team) jobName() string {
	if t.Key == Executive {
		return jobNamePrefix
	}
	return jobNamePrefix + "-" + t.Key
}

// jobDeclaration names that job for the runtime: whoever makes it twice makes one.
func (t Team) jobDeclaration() string { return "wardroom/" + t.jobName() }

// Schedule is the runtime's job that starts the standups of a team.
type Schedule struct {
	Team         string       `json:"team" doc:"The key of the team whose standups it starts." example:"executive"`
	Job          gateway.Job  `json:"job" doc:"The job as the runtime has it, in the runtime's own words."`
	Live         bool         `json:"live" doc:"Whether it was read from the runtime for this answer; else it is as it was last seen there."`
	SeenAt       clock.Time   `json:"seen_at" doc:"When it was read; of one that was last seen there, to about ten minutes."`
	NextRuns     []clock.Time `json:"next_runs" nullable:"false" doc:"Its next times, five at most; none while it is disabled."`
	ServiceURL   string       `json:"service_url" doc:"Where its agent is told to call this service; empty when the job was made elsewhere."`
	Variable     string       `json:"variable" doc:"The variable in the runtime's environment that must hold the agent's API key. Only its name is told to the agent."`
	Watched      bool         `json:"watched" doc:"Whether a standup that does not begin in time is noticed."`
	Unwatched    string       `json:"unwatched_because" doc:"Why not; empty when it is."`
	GraceSeconds int64        `json:"grace_seconds" doc:"How late the standup may begin before it counts as missed."`
	Fallback     bool         `json:"fallback" doc:"Whether this service begins one that was missed."`
	Others       []string     `json:"other_jobs" nullable:"false" doc:"Ids of further jobs of that name and agent. They do no harm; remove them in the runtime."`
	Warnings     []string     `json:"warnings" nullable:"false" doc:"What would keep the job from working, in words."`
}

// Plan is how a schedule is to be. What is left out stays as it is; of a job
// that there is not yet it has its default.
type Plan struct {
	Expr       *string `json:"expr,omitempty" maxLength:"500" doc:"Five fields: minute, hour, day of the month, month, weekday. Default: 0 9 * * 1-5, nine o'clock on weekdays." example:"0 9 * * 1-5"`
	Timezone   *string `json:"timezone,omitempty" maxLength:"64" doc:"The IANA time zone of expr. Default: the team's." example:"Europe/Berlin"`
	Team       *string `json:"team,omitempty" maxLength:"64" doc:"Whose standups it starts: the team's key or id; the team executive when left out." example:"executive"`
	Enabled    *bool   `json:"enabled,omitempty" doc:"A disabled job does not trigger. Default: true."`
	ServiceURL *string `json:"service_url,omitempty" maxLength:"300" doc:"Where the runtime's agents reach this service. Default: PUBLIC_URL, else what was said before, else the address that it listens on when the gateway is on the same machine." example:"http://127.0.0.1:3000"`
	Revision   *string `json:"revision,omitempty" maxLength:"128" doc:"The job's configRevision as you read it: then nothing is changed when the job is another one by now."`
}

// ErrNoSchedule means that the runtime has no job that starts the team's standups.
var ErrNoSchedule = fault.New(fault.NotFound, "schedule_not_found", "No job of the agent runtime starts the standups.")

// seenJob is a schedule as it was last seen in the runtime.
type seenJob struct {
	Job        gateway.Job
	Present    bool
	ServiceURL string
	CheckedTo  clock.Time
	CheckedDay string
	SeenAt     clock.Time
	Version    int64 // 0: nothing is remembered
}

// aim is the job as it is to be.
type desiredJob struct {
	expr, zone  string
	enabled     bool
	url         string
	facilitator string
	message     string
}

// aim puts together what p says, what is there, and the defaults, or says what
// is wrong with it. Nothing has been sent by then.
func (s *Service) desiredJob(t Team, p Plan, was seenJob, now *gateway.Job) (desiredJob, error) {
	var bad fault.Fields
	a := desiredJob{expr: defaultExpr, zone: t.Timezone, enabled: true, facilitator: t.Facilitator}
	if now != nil {
		a.enabled = now.Enabled
		if now.Schedule.Kind == "cron" {
			a.expr, a.zone = now.Schedule.Expr, cmp.Or(now.Schedule.Zone, a.zone)
		}
	}
	a.expr, a.zone, a.enabled = or(p.Expr, a.expr), or(p.Timezone, a.zone), or(p.Enabled, a.enabled)
	a.expr = strings.Join(strings.Fields(a.expr), " ")
	if _, err := clock.Zone(a.zone); err != nil {
		bad.Add("/timezone", "Give an IANA name, such as Europe/Berlin.")
	} else if _, err := cron.Parse(a.expr, a.zone); err != nil {
		bad.Add("/expr", "%s.", capital(err.Error()))
	}
	given := or(p.ServiceURL, "")
	a.url = cmp.Or(given, s.PublicURL, was.ServiceURL)
	if a.url == "" && s.OwnURL != nil {
		a.url = s.OwnURL()
	}
	switch address, ok := serviceAddress(a.url); {
	case a.url == "":
		bad.Add("/service_url", "Say where the runtime's agents reach this service, or set PUBLIC_URL: the gateway is not on this machine.")
	case !ok:
		bad.Add("/service_url", "Give an address such as https://ops.example.com: http or https, no user, no query.")
	default:
		a.url, a.message = address, jobMessage(address, t.Key)
	}
	return a, bad.Err()
}

// or is what was given, or else what there is.
func or[T any](given *T, there T) T {
	if given != nil {
		return *given
	}
	return there
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// addressLetters are what an address in a job may be made of. Agents paste it
// into a command line, so that nothing gets through that a shell would read.
const addressChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:[]"

// serviceAddress reads an address of this service, without what belongs to its
// routes.
func serviceAddress(text string) (string, bool) {
	text = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(text), "/"), "/api/v1")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" || strings.Trim(text, addressChars) != "" {
		return "", false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", false
		}
	}
	return text, !strings.HasSuffix(u.Host, ":")
}

// overheard reports whether a key that is sent to an address can be read on the
// way.
func exposesKey(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// jobMessage is what the job tells the facilitator: what the specification has
// it do, and how. There is the name of a variable in it, and no credential. The
// endpoints mean the team executive where none is named.
func jobMessage(address, key string) string {
	whose, body, data := "", "No body.", ""
	if key != Executive {
		named := `{"team":"` + key + `"}`
		whose = " of the team " + key
		body = "The body is " + named + ", and nothing else: without it you would open another team's standup."
		data = fmt.Sprintf(" -H 'Content-Type: application/json' -d '%s'", named)
	}
	return fmt.Sprintf(`Hold today's standup%[3]s through the operations service at %[1]s.

1. Open it: POST /api/v1/standups. %[4]s The answer is JSON; take its "id".
2. Run it: POST /api/v1/standups/:id/run, with that id. No body. It answers 202 at once.

Use your own agent credentials: your API key is in the environment variable %[2]s. Never print it, and write it into no file or message. In a shell:

    ID=$(curl -sS -X POST %[1]s/api/v1/standups -H "Authorization: Bearer $%[2]s"%[5]s | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
    curl -sS -o /dev/null -w '%%{http_code}\n' -X POST "%[1]s/api/v1/standups/$ID/run" -H "Authorization: Bearer $%[2]s"

202 means that the meeting has begun; 409 means that somebody was faster and nothing is left to do. Do not wait for its end, and ask nobody yourself: the service asks every participant in your name, and asks you for the review in another session. End this turn with one line that says what the service answered.
`, address, KeyVariable, whose, body, data)
}

// change is what has to be changed of a job for it to be as it should; empty
// when nothing has.
func (a desiredJob) change(j gateway.Job) (c gateway.JobChange, names []string) {
	differs := func(name string, is, should any) bool {
		if is != should {
			names = append(names, name)
		}
		return is != should
	}
	wanted := gateway.JobSchedule{Kind: "cron", Expr: a.expr, Zone: a.zone}
	if differs("schedule", gateway.JobSchedule{Kind: j.Schedule.Kind, Expr: j.Schedule.Expr, Zone: j.Schedule.Zone}, wanted) {
		c.Schedule = &wanted
	}
	if differs("enabled", j.Enabled, a.enabled) {
		c.Enabled = &a.enabled
	}
	if differs("message", j.Payload.Kind+strings.TrimSpace(j.Payload.Message), "agentTurn"+strings.TrimSpace(a.message)) {
		c.Message = &a.message
	}
	if differs("agentId", j.AgentID, a.facilitator) {
		c.AgentID = &a.facilitator
	}
	if target := "isolated"; differs("sessionTarget", j.SessionTarget, target) {
		c.SessionTarget = &target
	}
	if mode := "none"; differs("delivery", j.Delivery.Mode, mode) {
		c.Delivery = &mode
	}
	return c, names
}

// pick finds t's job among the runtime's, by its name: the one that is
// remembered, whoever leads the standups by now, else the oldest of who leads
// them. others are further ones.
func (t Team) pick(jobs []gateway.Job, id string) (found *gateway.Job, others []string) {
	others = []string{}
	ours := slices.DeleteFunc(slices.Clone(jobs), func(j gateway.Job) bool {
		return j.Name != t.jobName() || j.ID != id && j.AgentID != t.Facilitator
	})
	slices.SortFunc(ours, func(a, b gateway.Job) int {
		return cmp.Or(yesFirst(a.ID == id, b.ID == id), a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	for i := range ours {
		if i == 0 {
			found = &ours[0]
			continue
		}
		others = append(others, ours[i].ID)
	}
	return found, others
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// times is when a job is due, or why that cannot be told.
func times(j gateway.Job) (at cron.Schedule, why string) {
	switch {
	case j.Schedule.Kind != "cron":
		return at, "Its schedule is of the kind " + j.Schedule.Kind + ", and only cron is watched."
	case j.Schedule.Zone == "":
		return at, "Its schedule names no time zone, and the runtime does not tell its own."
	}
	at, err := cron.Parse(j.Schedule.Expr, j.Schedule.Zone)
	if err != nil {
		return at, "Its expression is one of the runtime's own: " + err.Error() + "."
	}
	return at, ""
}

// shown is a schedule as the API answers it.
func (s *Service) view(t Team, j gateway.Job, live bool, seen clock.Time, address string) Schedule {
	out := Schedule{
		Team: t.Key, Job: j, Live: live, SeenAt: seen, NextRuns: []clock.Time{}, ServiceURL: address, Variable: KeyVariable,
		GraceSeconds: int64(s.StartGrace / time.Second), Fallback: s.Fallback, Others: []string{}, Warnings: []string{},
	}
	at, why := times(j)
	if why == "" && !j.Enabled {
		why = "The job is disabled."
	}
	if why == "" {
		for next := at.Next(s.Now()); len(out.NextRuns) < maxNextRuns && !next.IsZero(); next = at.Next(next) {
			out.NextRuns = append(out.NextRuns, clock.At(next))
		}
		if t.ArchivedAt != nil { // the runtime does not know
			why = "The team is in the archive."
		}
	}
	out.Unwatched, out.Watched = why, why == ""
	return out
}
