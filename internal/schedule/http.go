package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

const (
	listText = `Jobs use the runtime's field names and are sorted by ID. The list is the one that Wardroom last read from the runtime; X-As-Of contains the time of that read. While the runtime is unreachable, live is false and X-Away contains the reason. If the jobs have never been read, the request fails with that reason.

Fields that Wardroom does not support are not shown, but a change preserves them.`
	patchText = `Send the configRevision that you have read, so that your change fails if the job has changed since. The error then contains expected_revision, current_revision, and current (the current job). A concurrent change causes the same error.

You can send a whole job as returned by GET, or only the fields to change, such as schedule.tz. A read-only field is rejected if its value differs from the current one.

For jobs that are not cron jobs, only the fields enabled and task can be changed.`
	slotsText = `A slot is one time at which a job is due. Past slots are in the ledger with their state; future slots are computed and pending. If only the runtime can compute a job's slots, the list contains the next slot and, if the job runs at an interval, the slots after it.

A schedule has no slots for times when it was not in effect: before it was set, while the job was disabled, or before the job existed.`
)

// Mount registers the routes for the runtime's scheduled jobs.
func (s *Service) Mount(api *web.API) {
	away := web.Fails(
		link.ErrNotConfigured, link.ErrUnreachable, link.ErrTimeout, link.ErrUnauthorized,
		link.ErrUnpaired, link.ErrUntrusted, link.ErrMissingScope, link.ErrBusy, link.ErrRefused,
	)
	none := web.Fails(gateway.ErrNoJob)
	web.Get(api, "/agentrt/jobs", actor.Read, "List scheduled jobs", s.handleList, away, web.Asks(1, s.Patience),
		web.Fails(page.ErrCursor), web.Quiet(), web.Describe(listText))
	web.Post(api, "/agentrt/jobs", actor.ManageSchedules, "Create a scheduled job", s.handleMake, away,
		web.Asks(3, s.Patience), web.Status(http.StatusCreated), web.Once(),
		web.Fails(fault.ErrInvalid),
		web.Describe("Creates a cron job in the runtime. The agent's answers are not sent anywhere unless delivery is set."))
	web.Get(api, "/agentrt/next-runs", actor.Read, "Preview a cron expression", s.handlePreview, web.Quiet(),
		web.Describe("Returns the next five times of an expression, or why it is invalid. Does not ask the runtime."))
	web.Get(api, "/agentrt/jobs/{id}", actor.Read, "Get a scheduled job", s.handleGet, away, none, web.Asks(1, s.Patience),
		web.Quiet())
	web.Patch(api, "/agentrt/jobs/{id}", actor.ManageSchedules, "Change a scheduled job", s.handleChange, away,
		none, web.Asks(4, s.Patience),
		web.Fails(gateway.ErrJobChanged, ErrKind, fault.ErrInvalid), web.Describe(patchText))
	web.Delete(api, "/agentrt/jobs/{id}", actor.ManageSchedules, "Delete a scheduled job", s.handleRemove, away, none,
		web.Asks(3, s.Patience), web.Fails(gateway.ErrJobChanged),
		web.Describe("A run in progress continues. The runs and slots of the job are kept for the retention period."))
	web.Post(api, "/agentrt/jobs/{id}/run", actor.ManageSchedules, "Run a job now", s.handleRun, away, none,
		web.Asks(2, s.Patience), web.Fails(ErrGoing, hold.ErrHeld),
		web.Status(http.StatusAccepted),
		web.Describe(
			"Also runs disabled jobs. The request does not wait for the run to end, and each request starts a new run.",
		))
	web.Get(api, "/agentrt/jobs/{id}/runs", actor.Read, "List the runs of a job", s.handleRuns, none,
		web.Fails(page.ErrCursor), web.Quiet(),
		web.Describe("Lists ended runs, newest first. Also works for deleted jobs."))
	web.Get(api, "/agentrt/jobs/{id}/slots", actor.Read, "List the slots of a job", s.handleJobSlots, none,
		web.Fails(page.ErrCursor, ErrSpan), web.Quiet(),
		web.Describe(slotsText))
	web.Get(api, "/agentrt/slots", actor.Read, "List the slots of all jobs", s.handleSlots,
		web.Fails(page.ErrCursor, ErrSpan), web.Quiet(),
		web.Describe(slotsText))
}

type listInput struct {
	AgentID string `query:"agent_id" maxLength:"64" doc:"Only jobs of this agent."`
	Kind    string `query:"schedule" enum:"cron,every,at" doc:"Only jobs with this kind of schedule."`
	Enabled string `query:"enabled" enum:"true,false" doc:"Only enabled or only disabled jobs."`
	page.Query
}

type listOutput struct {
	web.List[Job]
	AsOf string `header:"X-As-Of" doc:"When the list was read from the runtime, in RFC 3339 format."`
	Away string `header:"X-Away" doc:"Why the runtime is unreachable; absent if it is reachable."`
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*listOutput, error) {
	f := Filter{AgentID: in.AgentID, Kind: in.Kind}
	if in.Enabled != "" {
		on := in.Enabled == "true"
		f.Enabled = &on
	}
	bound := filterDigest(in.AgentID, in.Kind, in.Enabled)
	parts, err := decode(in.Cursor, bound, 2)
	if err != nil {
		return nil, err
	}
	after := ""
	if parts != nil {
		after = parts[0]
	}
	jobs, known, err := s.List(ctx, f, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	jobs, next := page.Cut(jobs, in.Limit, func(j Job) []string { return []string{bound, j.ID} })
	return &listOutput{List: *web.Page(ctx, jobs, next), AsOf: known.AsOf.Format(clock.Layout), Away: known.Away}, nil
}

// filterDigest returns a short digest of a list's filters. Cursors contain it, so a client that mistakenly changes the
// filters between pages gets an error. It is not a security measure.
func filterDigest(filters ...string) string {
	sum := sha256.Sum256([]byte(page.Encode(filters...)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// decode parses a cursor of n parts. The first part is the digest of the list's filters; decode
// rejects the cursor if that part differs from bound. It returns the other parts, or nil for an
// empty cursor.
func decode(cursor, bound string, n int) ([]string, error) {
	parts, err := page.Decode(cursor, n)
	if err != nil || parts == nil {
		return nil, err
	}
	if parts[0] != bound {
		return nil, page.Refused()
	}
	return parts[1:], nil
}

type previewInput struct {
	Expr string `query:"expr" maxLength:"500" doc:"A cron expression with five fields."`
	Zone string `query:"tz" maxLength:"64" doc:"The IANA time zone of expr. Defaults to the setting TIMEZONE."`
}

// Preview is what a cron expression means.
type Preview struct {
	NextRuns []clock.Time `json:"next_runs" nullable:"false" doc:"The next five times. Empty if the expression is invalid."`
	Expr     string       `json:"expr_invalid" doc:"Why the expression is invalid; empty if it is valid."`
	Zone     string       `json:"tz_invalid" doc:"Why the time zone is invalid; empty if it is valid."`
}

type previewOutput struct{ Body Preview }

func (s *Service) handlePreview(_ context.Context, in *previewInput) (*previewOutput, error) {
	var bad fault.Fields
	sched := Times{Expr: in.Expr, Zone: in.Zone}.check(&bad, s.Zone.String(), s.Now())
	out := Preview{NextRuns: []clock.Time{}}
	for _, f := range bad {
		if f.Pointer == "/schedule/tz" {
			out.Zone = f.Detail
		} else {
			out.Expr = f.Detail
		}
	}
	if len(bad) > 0 {
		return &previewOutput{out}, nil
	}
	j := gateway.Job{Enabled: true, Schedule: sched}
	p, _ := planOf(j)
	for _, at := range p.upcoming(j, s.Now(), previewRuns) {
		out.NextRuns = append(out.NextRuns, clock.At(at))
	}
	return &previewOutput{out}, nil
}

// previewRuns is the number of times in a preview.
const previewRuns = 5

type makeInput struct{ Body Draft }

// jobOutput is the response to a request that creates a job.
type jobOutput struct {
	Location string `header:"Location" doc:"The URL of the new job."`
	Body     Job
}

func (s *Service) handleMake(ctx context.Context, in *makeInput) (*jobOutput, error) {
	j, err := s.Make(ctx, in.Body)
	return &jobOutput{Location: web.Prefix + "/agentrt/jobs/" + j.ID, Body: j}, err
}

// Ref is the path parameter that identifies a job.
type Ref struct {
	ID string `path:"id" maxLength:"512" doc:"The job's ID in the runtime."`
}

type getOutput struct{ Body Job }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	j, err := s.Get(ctx, in.ID)
	return &getOutput{j}, err
}

type changeInput struct {
	Ref
	Body Change
}

func (s *Service) handleChange(ctx context.Context, in *changeInput) (*getOutput, error) {
	j, err := s.Change(ctx, in.ID, in.Body)
	return &getOutput{j}, err
}

type removeInput struct {
	Ref
	Revision string `query:"configRevision" maxLength:"128" doc:"The configRevision that you have read. The request fails if the job now has a different configRevision."`
}

func (s *Service) handleRemove(ctx context.Context, in *removeInput) (*struct{}, error) {
	return nil, s.Remove(ctx, in.ID, in.Revision)
}

type startedOutput struct{ Body Started }

func (s *Service) handleRun(ctx context.Context, in *Ref) (*startedOutput, error) {
	run, err := s.Start(ctx, in.ID)
	return &startedOutput{run}, err
}

type runsInput struct {
	Ref
	page.Query
}

func (s *Service) handleRuns(ctx context.Context, in *runsInput) (*web.List[Run], error) {
	part, err := s.Runs(ctx, in.ID, page.Want{Query: in.Query})
	return web.Part(ctx, part), err
}

// Span holds the query parameters for a time range of the slot ledger.
type Span struct {
	From time.Time `query:"from" doc:"Only slots due at this time or later. Defaults to 2 days before \"to\"; if both are omitted, to 1 day ago."`
	To   time.Time `query:"to" doc:"Only slots due before this time, at most 31 days after \"from\". Defaults to 2 days after \"from\"; if both are omitted, to 1 day from now."`
}

// defaultSpan is the default length of a time range.
const defaultSpan = 48 * time.Hour

func (in Span) filter(id string, now time.Time) SlotFilter {
	f := SlotFilter{JobID: id, From: in.From, To: in.To}
	switch {
	case f.From.IsZero() && f.To.IsZero():
		f.From, f.To = now.Add(-defaultSpan/2), now.Add(defaultSpan/2)
	case f.From.IsZero():
		f.From = f.To.Add(-defaultSpan)
	case f.To.IsZero():
		f.To = f.From.Add(defaultSpan)
	}
	return f
}

type slotsInput struct {
	Span
	page.Query
}

type jobSlotsInput struct {
	Ref
	Span
	page.Query
}

func (s *Service) handleSlots(ctx context.Context, in *slotsInput) (*web.List[Slot], error) {
	return s.slots(ctx, "", in.Span, in.Query)
}

func (s *Service) handleJobSlots(ctx context.Context, in *jobSlotsInput) (*web.List[Slot], error) {
	return s.slots(ctx, in.ID, in.Span, in.Query)
}

// slots returns one page of the slot ledger. The default time range depends on the current time.
// The cursor therefore contains the range, so that all pages use the same one.
func (s *Service) slots(ctx context.Context, id string, in Span, q page.Query) (*web.List[Slot], error) {
	bound := filterDigest(id, in.From.String(), in.To.String())
	parts, err := decode(q.Cursor, bound, 5)
	if err != nil {
		return nil, err
	}
	f := in.filter(id, s.Now())
	var after *slotKey
	if parts != nil {
		var at [3]time.Time
		for i := range at {
			if at[i], err = parseMicros(parts[i]); err != nil {
				return nil, err
			}
		}
		f.From, f.To, after = at[0], at[1], &slotKey{clock.At(at[2]), parts[3]}
	}
	slots, err := s.Slots(ctx, f, after, q.Limit+1)
	if err != nil {
		return nil, err
	}
	slots, next := page.Cut(slots, q.Limit, func(s Slot) []string {
		return []string{bound, micros(f.From), micros(f.To), micros(s.DueAt.Time), s.JobID}
	})
	return web.Page(ctx, slots, next), nil
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// parseMicros parses a time formatted by micros.
func parseMicros(text string) (time.Time, error) {
	const first, last = -62_135_596_800_000_000, 253_402_300_799_999_999 // the years 1 to 9999
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < first || n > last || strconv.FormatInt(n, 10) != text {
		return time.Time{}, page.Refused()
	}
	return time.UnixMicro(n).UTC(), nil
}
