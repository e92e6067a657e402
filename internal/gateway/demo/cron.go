package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"wardroom/internal/platform/cron"
)

// cronJob is a scheduled job. Jobs, like sessions, survive a simulated restart and are
// lost when the runtime closes. The runtime's lock guards a job's fields.
type cronJob struct {
	spec
	id                   string
	createdAt, updatedAt int64
	activatedAt          int64 // when its schedule last changed; 0 if it never did
	next                 int64 // next run; 0 if none
	active               *run  // its active run, or nil
	runningAt            int64

	lastRunAt, lastDuration int64
	lastStatus              string // ok or error; empty before the first run
	lastError               string
	errors                  int
}

// spec holds the fields of a job that clients can set.
type spec struct {
	Key           string `json:"declarationKey"`
	Name          string
	Description   string
	AgentID       string
	Enabled       bool
	Schedule      schedule
	SessionTarget string
	WakeMode      string
	Payload       payload
	Delivery      object
}

type schedule struct {
	Kind, Expr, Tz, At string
	EveryMs, AnchorMs  int64
	StaggerMs          *int64

	times cron.Schedule // for kind cron
}

type payload struct {
	Kind, Message, Text string
	TimeoutSeconds      *float64
}

var (
	cronParams = params{optional: words(`includeDisabled limit offset query enabled scheduleKind lastRunStatus trigger
		sortBy sortDir agentId compact includeDeliveryPreviews`)}
	cronAddParams = params{
		required: words("name schedule sessionTarget wakeMode payload"),
		optional: words(`declarationKey displayName owner agentId sessionKey description enabled deleteAfterRun pacing trigger
			delivery failureAlert`),
	}
	cronPatch = params{optional: words(`name displayName agentId sessionKey description enabled deleteAfterRun schedule pacing
		trigger sessionTarget wakeMode payload delivery failureAlert state`)}
	cronUpdateParams = params{required: words("id patch"), optional: words("expectedConfigRevision")}
	cronRefParams    = params{required: words("id")}
	cronRunParams    = params{required: words("id"), optional: words("mode expectedProcessInstanceId")}
	cronRunsParams   = params{optional: words(`agentId scope id jobId runId limit offset statuses status deliveryStatuses
		deliveryStatus query sortDir`)}
)

// These constants limit how often a client may call a method that changes jobs. Each method has its
// own limit.
const (
	cronWrites = 30
	cronWindow = time.Minute
)

// rateLimited adds a rate limit to a handler. It is used for the methods that change jobs.
func (r *Runtime) rateLimited(serve func(c call) (any, *Failure)) func(c call) (any, *Failure) {
	return func(c call) (any, *Failure) {
		now := r.options.Now()
		recent := slices.DeleteFunc(c.conn.writes[c.method], func(at time.Time) bool { return now.Sub(at) >= cronWindow })
		if len(recent) >= r.options.Writes {
			wait := cronWindow - now.Sub(recent[0])
			return nil, &Failure{
				Code:      "UNAVAILABLE",
				Message:   fmt.Sprintf("rate limit exceeded for %s; retry after %ds", c.method, int(math.Ceil(wait.Seconds()))),
				Retryable: true, RetryAfterMs: int(wait.Milliseconds()),
				Details: object{
					"method": c.method, "limit": fmt.Sprintf("%d per %ds", r.options.Writes, int(cronWindow.Seconds())),
				},
			}
		}
		if c.conn.writes == nil {
			c.conn.writes = map[string][]time.Time{}
		}
		c.conn.writes[c.method] = append(recent, now)
		return serve(c)
	}
}

func (r *Runtime) handleCronList(c call) (any, *Failure) {
	in := struct {
		Limit, Offset   int
		IncludeDisabled bool
		AgentID, Query  string
	}{Limit: 50}
	if f := cronParams.read("cron.list", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := cmp.Or(
		checkRange("cron.list", "limit", in.Limit, 1, 200), checkRange("cron.list", "offset", in.Offset, 0, math.MaxInt),
	); f != nil {
		return nil, f
	}
	all := slices.DeleteFunc(slices.Clone(r.jobs), func(j *cronJob) bool {
		text := strings.ToLower(strings.Join([]string{j.id, j.Name, j.Description, j.AgentID}, " "))
		return !in.IncludeDisabled && !j.Enabled || in.AgentID != "" && in.AgentID != j.AgentID ||
			!strings.Contains(text, strings.ToLower(in.Query))
	})
	slices.SortFunc(all, func(a, b *cronJob) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.id, b.id))
	})
	page := all[min(in.Offset, len(all)):]
	page = page[:min(in.Limit, len(page))]
	rows, revisions := []object{}, ""
	for _, j := range page {
		rows = append(rows, merge(j.methodJSON(), object{"effectiveAgentId": j.AgentID}))
	}
	for _, j := range all {
		revisions += j.revision()
	}
	out := object{
		"jobs": rows, "snapshotRevision": hashed(revisions), "total": len(all), "offset": in.Offset, "limit": in.Limit,
		"hasMore": false, "nextOffset": nil,
	}
	if end := in.Offset + len(page); end < len(all) {
		out["hasMore"], out["nextOffset"] = true, end
	}
	return out, nil
}

// jobOf decodes a request and returns the job with the requested id. If there is no such job,
// it returns a failure whose message begins with the given words.
func (r *Runtime) jobOf(c call, p params, in any, id *string, words string) (*cronJob, *Failure) {
	if f := p.read(c.method, "", c.params, in); f != nil {
		return nil, f
	}
	i := slices.IndexFunc(r.jobs, func(j *cronJob) bool { return j.id == *id })
	if i < 0 {
		f := invalid("%s: %s. List automations and retry with a current job id. For cross-session management, use a fresh authenticated "+
			"configured channel owner or Control UI administrator turn or the Automations page.", words, *id)
		f.Details = object{"code": "CRON_JOB_NOT_FOUND", "jobId": *id}
		return nil, f
	}
	return r.jobs[i], nil
}

const noAutomation = "Automation not found"

func (r *Runtime) handleCronGet(c call) (any, *Failure) {
	var in struct{ ID string }
	j, f := r.jobOf(c, cronRefParams, &in, &in.ID, "cron job not found")
	if f != nil {
		return nil, f
	}
	return j.methodJSON(), nil
}

func (r *Runtime) handleCronAdd(c call) (any, *Failure) {
	in := spec{Enabled: true}
	if f := cronAddParams.read("cron.add", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := r.validate(c.method, &in); f != nil {
		return nil, f
	}
	now := r.now()
	if in.Key != "" {
		if i := slices.IndexFunc(r.jobs, func(j *cronJob) bool { return j.Key == in.Key }); i >= 0 {
			j := r.jobs[i]
			was := j.revision()
			r.redefine(j, in, now)
			return object{"created": false, "updated": j.revision() != was, "job": j.methodJSON()}, nil
		}
	}
	j := &cronJob{spec: in, id: uuid.NewString(), createdAt: now, updatedAt: now}
	if j.Schedule.Kind == "every" && j.Schedule.AnchorMs == 0 {
		j.Schedule.AnchorMs = now
	}
	j.next = j.nextAfter(now)
	r.jobs = append(r.jobs, j)
	r.emitJob(j, "added", nil)
	if in.Key != "" {
		return object{"created": true, "job": j.methodJSON()}, nil
	}
	return j.methodJSON(), nil
}

// redefine replaces a job's definition.
func (r *Runtime) redefine(j *cronJob, to spec, now int64) {
	was := j.revision()
	j.spec = to
	if j.Schedule.Kind == "every" && j.Schedule.AnchorMs == 0 {
		j.Schedule.AnchorMs = now
	}
	if j.revision() == was {
		return
	}
	j.updatedAt, j.activatedAt = now, now
	j.next = j.nextAfter(now)
	r.emitJob(j, "updated", nil)
}

func (r *Runtime) handleCronUpdate(c call) (any, *Failure) {
	var in struct {
		ID                     string
		Patch                  json.RawMessage
		ExpectedConfigRevision string
	}
	j, f := r.jobOf(c, cronUpdateParams, &in, &in.ID, noAutomation)
	if f != nil {
		return nil, f
	}
	to := j.spec
	var given struct{ Schedule, Payload, Delivery json.RawMessage }
	if json.Unmarshal(in.Patch, &given) == nil {
		if len(given.Schedule) > 0 {
			to.Schedule = schedule{} // a schedule is replaced as a whole
		}
		if len(given.Delivery) > 0 {
			to.Delivery = maps.Clone(to.Delivery)
		}
	}
	if f := cronPatch.read(c.method, "/patch", in.Patch, &to); f != nil {
		return nil, f
	}
	if f := r.validate(c.method, &to); f != nil {
		return nil, f
	}
	if in.ExpectedConfigRevision != "" && in.ExpectedConfigRevision != j.revision() {
		f := invalid("cron job definition no longer matches the loaded version; review the latest version before retrying")
		f.Details = object{
			"code": "CRON_JOB_CHANGED", "expectedConfigRevision": in.ExpectedConfigRevision,
			"actualConfigRevision": j.revision(),
		}
		return nil, f
	}
	r.redefine(j, to, r.now())
	return j.methodJSON(), nil
}

func (r *Runtime) handleCronRemove(c call) (any, *Failure) {
	var in struct{ ID string }
	j, f := r.jobOf(c, cronRefParams, &in, &in.ID, noAutomation)
	if f != nil {
		return nil, f
	}
	r.removeJob(j)
	return object{"ok": true, "removed": true}, nil
}

func (r *Runtime) removeJob(j *cronJob) {
	r.jobs = slices.DeleteFunc(r.jobs, func(other *cronJob) bool { return other == j })
	j.next = 0
	r.emitJob(j, "removed", nil)
}

func (r *Runtime) handleCronRun(c call) (any, *Failure) {
	var in struct{ ID string }
	j, f := r.jobOf(c, cronRunParams, &in, &in.ID, noAutomation)
	if f != nil {
		return nil, f
	}
	out := object{"ok": true, "processInstanceId": c.conn.boot.id}
	switch {
	case j.active != nil:
		out["ran"], out["reason"] = false, "already-running"
	default:
		r.manual++
		id := fmt.Sprintf("manual:%s:%d:%d", j.id, r.now(), r.manual)
		out["enqueued"], out["runId"] = true, id
		r.work.Go(func() { // starts after the answer has been sent
			r.mu.Lock()
			defer r.mu.Unlock()
			if j.active == nil && r.boot == c.conn.boot {
				r.startJob(c.conn.boot, j, id)
			}
		})
	}
	return out, nil
}

func (r *Runtime) handleCronRuns(c call) (any, *Failure) {
	in := struct {
		Scope, ID, JobID string
		Limit, Offset    int
	}{Limit: 50}
	if f := cronRunsParams.read("cron.runs", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := cmp.Or(
		checkRange("cron.runs", "limit", in.Limit, 1, 200), checkRange("cron.runs", "offset", in.Offset, 0, math.MaxInt),
	); f != nil {
		return nil, f
	}
	id := cmp.Or(in.ID, in.JobID)
	if in.Scope == "job" && id == "" {
		return nil, invalid("invalid cron.runs params: missing id")
	}
	all := slices.DeleteFunc(append([]object{}, r.jobHistory...), func(e object) bool {
		return in.Scope != "all" && id != "" && e["jobId"] != id
	})
	slices.Reverse(all)
	page := all[min(in.Offset, len(all)):]
	page = page[:min(in.Limit, len(page))]
	out := object{
		"entries": page, "total": len(all), "offset": in.Offset, "limit": in.Limit, "hasMore": false, "nextOffset": nil,
	}
	if end := in.Offset + len(page); end < len(all) {
		out["hasMore"], out["nextOffset"] = true, end
	}
	return out, nil
}

// validate checks a job's definition and parses the schedule in it.
func (r *Runtime) validate(method string, s *spec) *Failure {
	bad := func(format string, args ...any) *Failure {
		return invalid("invalid "+method+" params: "+format, args...)
	}
	if s.AgentID == "" {
		s.AgentID = r.options.Agents[0].ID
	}
	if _, ok := r.agent(s.AgentID); !ok {
		return bad("unknown agent id %q", s.AgentID)
	}
	switch {
	case s.SessionTarget == "main" && s.Payload.Kind != "systemEvent":
		return bad(`main cron jobs require payload.kind="systemEvent"`)
	case s.SessionTarget != "main" && s.Payload.Kind != "agentTurn":
		return bad(`isolated/current/session cron jobs require payload.kind="agentTurn"`)
	case s.Payload.Kind == "agentTurn" && s.Payload.Message == "":
		return bad("at /payload/message: must NOT have fewer than 1 characters")
	}
	return s.Schedule.parse(bad)
}

func (s *schedule) parse(bad func(string, ...any) *Failure) *Failure {
	switch s.Kind {
	case "cron":
		times, err := cron.Parse(s.Expr, cmp.Or(s.Tz, "UTC"))
		if err != nil {
			return bad("CronPattern: %v", err)
		}
		s.times = times
	case "every":
		if s.EveryMs < 1 {
			return bad("at /schedule/everyMs: must be >= 1")
		}
	case "at":
		if _, err := time.Parse(time.RFC3339, s.At); err != nil {
			return bad("at /schedule/at: must be an ISO 8601 timestamp")
		}
	default:
		return bad("at /schedule: the demo runtime supports the kinds cron, every and at")
	}
	return nil
}

// nextAfter returns the time of the first run after now, in Unix milliseconds, or 0 if
// there is none.
func (j *cronJob) nextAfter(now int64) int64 {
	s := j.Schedule
	switch {
	case !j.Enabled:
	case s.Kind == "cron":
		if at := s.times.Next(time.UnixMilli(now)); !at.IsZero() {
			return at.UnixMilli()
		}
	case s.Kind == "every":
		return s.AnchorMs + (max(0, now-s.AnchorMs)/s.EveryMs+1)*s.EveryMs
	case s.Kind == "at":
		if at, err := time.Parse(time.RFC3339, s.At); err == nil && at.UnixMilli() > now {
			return at.UnixMilli()
		}
	}
	return 0
}
