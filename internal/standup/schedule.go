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
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/schedule"
)

// Timetable is the part of the gateway client that manages the runtime's scheduled jobs.
type Timetable interface {
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	AddJob(ctx context.Context, n gateway.NewJob) (gateway.Job, error)
	ChangeJob(ctx context.Context, id string, change gateway.JobChange, revision string) (gateway.Job, error)
}

const (
	// jobNamePrefix is the name of the executive team's job in the runtime and the
	// prefix of the other teams' job names.
	jobNamePrefix = "daily-standup"
	// KeyVariable is the name of the environment variable in the runtime that contains the
	// facilitator's API key. The job contains only this name, not the key.
	KeyVariable = "WARDROOM_API_KEY"
	// defaultExpr is 9 a.m. on weekdays.
	defaultExpr = "0 9 * * 1-5"
	// maxNextRuns is the maximum number of upcoming start times in a Schedule.
	maxNextRuns = 5
)

// jobName returns the name of the team's job in the runtime.
func (t Team) jobName() string {
	if t.Key == Executive {
		return jobNamePrefix
	}
	return jobNamePrefix + "-" + t.Key
}

// jobDeclaration returns the key that identifies the team's job to the runtime, so that
// declaring the job again does not create a second one.
func (t Team) jobDeclaration() string { return "wardroom/" + t.jobName() }

// Schedule describes the runtime's scheduled job that starts a team's standups.
type Schedule struct {
	Team         string       `json:"team" doc:"The key of the team." example:"executive"`
	Job          gateway.Job  `json:"job" doc:"The job as the runtime returns it."`
	Live         bool         `json:"live" doc:"Whether the job was just read from the runtime; otherwise it is as last seen there."`
	SeenAt       clock.Time   `json:"seen_at" doc:"When the job was read from the runtime."`
	NextRuns     []clock.Time `json:"next_runs" nullable:"false" doc:"The next start times, at most 5; empty while the job is disabled."`
	ServiceURL   string       `json:"service_url" doc:"The Wardroom URL in the job's message; empty if the job was created elsewhere."`
	Variable     string       `json:"variable" doc:"The environment variable of the runtime that must hold the agent's API key. The job contains only its name."`
	Watched      bool         `json:"watched" doc:"Whether Wardroom reports standups that do not start on time."`
	Unwatched    string       `json:"unwatched_because" doc:"Why watched is false; empty if it is true."`
	GraceSeconds int64        `json:"grace_seconds" doc:"How late a standup may start before it counts as missed."`
	Fallback     bool         `json:"fallback" doc:"Whether Wardroom starts a missed standup itself."`
	Others       []string     `json:"other_jobs" nullable:"false" doc:"Ids of duplicate jobs with the same name and agent. They are harmless; remove them in the runtime."`
	Warnings     []string     `json:"warnings" nullable:"false" doc:"Problems that would keep the job from working."`
}

// Plan is the requested state of a schedule. Omitted fields keep the existing job's values or,
// for a new job, get their defaults.
type Plan struct {
	Expr       *string `json:"expr,omitempty" maxLength:"500" doc:"A cron expression with five fields: minute, hour, day of month, month, weekday. Default: 0 9 * * 1-5 (9 a.m. on weekdays)." example:"0 9 * * 1-5"`
	Timezone   *string `json:"timezone,omitempty" maxLength:"64" doc:"The IANA time zone of expr. Default: the team's time zone." example:"Europe/Berlin"`
	Team       *string `json:"team,omitempty" maxLength:"64" doc:"The team's key or ID. Default: executive." example:"executive"`
	Enabled    *bool   `json:"enabled,omitempty" doc:"A disabled job does not start standups. Default: true."`
	ServiceURL *string `json:"service_url,omitempty" maxLength:"300" doc:"The URL at which the runtime's agents reach Wardroom. Default: PUBLIC_URL, else the URL used before, else Wardroom's own address if the gateway is on the same machine." example:"http://127.0.0.1:3000"`
	Revision   *string `json:"revision,omitempty" maxLength:"128" doc:"The configRevision of the job that you read. If the job has changed since, the request fails and changes nothing."`
}

// ErrNoSchedule means that no job in the runtime starts the team's standups.
var ErrNoSchedule = fault.New(fault.NotFound, "schedule_not_found", "No scheduled job starts this team's standups.")

// jobRecord is what Wardroom keeps about a team's job besides the job itself, which the schedule's mirror has.
type jobRecord struct {
	JobID      string     // empty if there was no job yet
	ServiceURL string     // as in Schedule
	CheckedTo  clock.Time // slots due up to this time have been checked
	CheckedDay string     // the day of the last slot that was checked; empty for none
}

// desiredJob is the state that a job in the runtime should have.
type desiredJob struct {
	expr, zone  string
	enabled     bool
	url         string
	facilitator string
	message     string
}

// desiredJob returns the job that the plan p describes. Fields that p omits come from
// the existing job or a default. If fields are invalid, the error lists all of them.
func (s *Service) desiredJob(t Team, p Plan, was jobRecord, now *gateway.Job) (desiredJob, error) {
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
		bad.Add("/timezone", "Use an IANA time zone name, such as Europe/Berlin.")
	} else if _, err := cron.Parse(a.expr, a.zone); err != nil {
		bad.Add("/expr", "%s.", plaintext.Capital(err.Error()))
	}
	given := or(p.ServiceURL, "")
	a.url = cmp.Or(given, s.URL.Public, was.ServiceURL, s.URL.Own())
	switch address, ok := serviceAddress(a.url); {
	case a.url == "":
		bad.Add("/service_url",
			"The gateway is not on this machine. Specify the URL that its agents use to reach Wardroom, or set PUBLIC_URL.")
	case !ok:
		bad.Add("/service_url", "Use an http or https URL without a user name or query, such as https://ops.example.com.")
	default:
		a.url, a.message = address, jobMessage(address, t.Key)
	}
	return a, bad.Err()
}

// or returns the value that given points to, or the fallback there if given is nil.
func or[T any](given *T, there T) T {
	if given != nil {
		return *given
	}
	return there
}

// addressChars are the characters allowed in a URL in a job's message. Agents paste
// the URL into a shell, so it must not contain shell syntax.
const addressChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:[]"

// serviceAddress removes the API's path prefix from a Wardroom URL, and reports whether the URL is valid.
func serviceAddress(text string) (string, bool) {
	text = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(text), "/"), "/api/v1")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" ||
		strings.Trim(text, addressChars) != "" {
		return "", false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", false
		}
	}
	return text, !strings.HasSuffix(u.Host, ":")
}

// exposesKey reports whether an API key that is sent to the URL would travel unencrypted
// over a network.
func exposesKey(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// jobMessage returns the job's instructions for the facilitator, who must open and run the team's
// standup. The message names the environment variable that contains the API key, but does not
// contain the key itself. It names the team, except for the executive team, which is the default.
func jobMessage(address, key string) string {
	whose, body, data := "", "No body.", ""
	if key != Executive {
		named := `{"team":"` + key + `"}`
		whose = " of the team " + key
		body = "Send exactly this body: " + named + ". Without it you open another team's standup."
		data = fmt.Sprintf(" -H 'Content-Type: application/json' -d '%s'", named)
	}
	return fmt.Sprintf(`Hold today's standup%[3]s through the operations service Wardroom at %[1]s.

1. Open it: POST /api/v1/standups. %[4]s The answer is JSON; take its "id".
2. Run it: POST /api/v1/standups/:id/run with that id. No body. It answers 202 immediately.

Use your own agent credentials: your API key is in the environment variable %[2]s. Never print it or write it to a file or message. In a shell:

    ID=$(curl -sS -X POST %[1]s/api/v1/standups -H "Authorization: Bearer $%[2]s"%[5]s | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
    curl -sS -o /dev/null -w '%%{http_code}\n' -X POST "%[1]s/api/v1/standups/$ID/run" -H "Authorization: Bearer $%[2]s"

202: the standup has started. 409: it has already been started, and there is nothing left to do. Do not wait for its end. Do not ask the participants yourself: Wardroom asks them in your name, and asks you for the review in another session. End this turn with one line that states what Wardroom answered.
`, address, KeyVariable, whose, body, data)
}

// change returns the update that brings the job j to its desired state, and the names of the fields
// that differ.
func (a desiredJob) change(j gateway.Job) (c gateway.JobChange, names []string) {
	differs := func(name string, is, should any) bool {
		if is != should {
			names = append(names, name)
		}
		return is != should
	}
	wanted := gateway.JobSchedule{Kind: "cron", Expr: a.expr, Zone: a.zone}
	if differs(
		"schedule", gateway.JobSchedule{Kind: j.Schedule.Kind, Expr: j.Schedule.Expr, Zone: j.Schedule.Zone}, wanted,
	) {
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

// pick finds the team's job among jobs. Candidates have the team's job name, and either have the given id or run as the
// facilitator. pick prefers the candidate with the given id, then the oldest one. It also returns the ids of the other
// candidates.
func (t Team) pick(jobs []schedule.Job, id string) (found *schedule.Job, others []string) {
	others = []string{}
	ours := slices.DeleteFunc(slices.Clone(jobs), func(j schedule.Job) bool { return !t.started(j.Job, id) })
	slices.SortFunc(ours, func(a, b schedule.Job) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	at := max(slices.IndexFunc(ours, func(j schedule.Job) bool { return j.ID == id }), 0)
	for i := range ours {
		if i == at {
			found = &ours[i]
		} else {
			others = append(others, ours[i].ID)
		}
	}
	return found, others
}

// started reports whether a job starts the team's standups. The id is that of its recorded job.
func (t Team) started(j gateway.Job, id string) bool {
	return j.Name == t.jobName() && (j.ID == id || j.AgentID == t.Facilitator)
}

// view builds the API response that describes a team's job.
func (s *Service) view(t Team, j schedule.Job, live bool, address string) Schedule {
	out := Schedule{
		Team: t.Key, Job: j.Job, Live: live, SeenAt: j.AsOf, NextRuns: []clock.Time{}, ServiceURL: address,
		Variable: KeyVariable, Watched: j.Watched, Unwatched: j.Unwatched, GraceSeconds: int64(s.StartGrace / time.Second),
		Fallback: s.Fallback, Others: []string{}, Warnings: []string{},
	}
	for _, next := range j.NextRuns[:min(maxNextRuns, len(j.NextRuns))] {
		out.NextRuns = append(out.NextRuns, next.At)
	}
	if t.ArchivedAt != nil { // the job may still be enabled in the runtime
		out.Watched, out.Unwatched = false, "The team is archived."
	}
	return out
}
