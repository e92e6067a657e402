package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

const (
	listText = `In the runtime's own words, by their ids. The runtime is not asked for it: the list is what it said last, and X-As-Of says when. While it is away the list is what was last seen, live is false, and X-Away says why; only before the runtime was ever seen it fails with that reason.

What the runtime adds to its jobs and this service does not know is not shown, and not touched by changes.`
	patchText = `Send configRevision as you read it: the change is then refused when the job is another one by now. The problem has both versions: expected_revision, and current_revision with the job as it is in current. The same happens to one that is changed meanwhile.

A job may be sent as GET answers it: what is as it was changes nothing. Send only a part, such as schedule.tz, and only that is changed. What cannot be changed here is refused when it differs.

Of jobs that are not of the kind cron only enabled is changed.`
	slotsText = `A slot is one time at which a job is to run. Those that have come are in the ledger, with what became of them; those that are to come are reckoned, and pending. Where only the runtime can reckon, there is the next one, and what follows it at an interval.

Nothing is said of times at which a job was disabled, was another one, or was not there.`
)

// Mount adds the routes of the runtime's timed jobs.
func (s *Service) Mount(api *web.API) {
	away := web.Fails(
		gateway.ErrNotConfigured, gateway.ErrUnreachable, gateway.ErrTimeout, gateway.ErrUnauthorized,
		gateway.ErrUnpaired, gateway.ErrUntrusted, gateway.ErrMissingScope, gateway.ErrBusy, gateway.ErrRefused,
	)
	none := web.Fails(gateway.ErrNoJob)
	web.Get(api, "/agentrt/jobs", actor.Read, "The runtime's timed jobs", s.handleList, away, web.Asks(1, s.Patience), web.Fails(page.ErrCursor), web.Quiet(), web.Describe(listText))
	web.Post(api, "/agentrt/jobs", actor.ManageSchedules, "Have the runtime make a timed job", s.handleMake, away, web.Asks(3, s.Patience), web.Status(http.StatusCreated), web.Once(),
		web.Fails(fault.ErrInvalid), web.Describe("Of the kind cron. Its answers are sent to nobody, unless delivery asks for it. What cannot be is refused before anything is sent."))
	web.Get(api, "/agentrt/jobs/{id}", actor.Read, "One of the runtime's timed jobs", s.handleGet, away, none, web.Asks(1, s.Patience), web.Quiet())
	web.Patch(api, "/agentrt/jobs/{id}", actor.ManageSchedules, "Have the runtime change a job", s.handleChange, away, none, web.Asks(4, s.Patience),
		web.Fails(gateway.ErrJobChanged, ErrKind, fault.ErrInvalid), web.Describe(patchText))
	web.Delete(api, "/agentrt/jobs/{id}", actor.ManageSchedules, "Have the runtime remove a job", s.handleRemove, away, none, web.Asks(3, s.Patience), web.Fails(gateway.ErrJobChanged),
		web.Describe("A run that is going goes on. What is known of its runs and slots stays for a while."))
	web.Post(api, "/agentrt/jobs/{id}/run", actor.ManageSchedules, "Have the runtime run a job now", s.handleRun, away, none, web.Asks(2, s.Patience), web.Fails(ErrGoing),
		web.Status(http.StatusAccepted), web.Describe("Also a disabled one. It does not wait for the end; each time is another run."))
	web.Get(api, "/agentrt/jobs/{id}/runs", actor.Read, "The runs of a job, the newest first", s.handleRuns, none, web.Fails(page.ErrCursor), web.Quiet(),
		web.Describe("Those that have ended, as the runtime told them; also of a job that it has no more."))
	web.Get(api, "/agentrt/jobs/{id}/slots", actor.Read, "The slots of a job, by their times", s.handleJobSlots, none, web.Fails(page.ErrCursor, ErrSpan), web.Quiet(),
		web.Describe(slotsText))
	web.Get(api, "/agentrt/slots", actor.Read, "The slots of all jobs, by their times", s.handleSlots, web.Fails(page.ErrCursor, ErrSpan), web.Quiet(),
		web.Describe(slotsText))
}

type listInput struct {
	AgentID string `query:"agent_id" maxLength:"64" doc:"Only of this agent."`
	Kind    string `query:"schedule" enum:"cron,every,at" doc:"Only with a schedule of this kind."`
	Enabled string `query:"enabled" enum:"true,false" doc:"Only those that are, or are not, enabled."`
	page.Query
}

type listOutput struct {
	web.List[Job]
	AsOf string `header:"X-As-Of" doc:"When the runtime said so, in RFC 3339."`
	Away string `header:"X-Away" doc:"Why the runtime is not there; absent when it is."`
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*listOutput, error) {
	f := Filter{AgentID: in.AgentID, Kind: in.Kind}
	if in.Enabled != "" {
		on := in.Enabled == "true"
		f.Enabled = &on
	}
	bound := bind(in.AgentID, in.Kind, in.Enabled)
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

// bind is a short digest of the filters of a list, for its cursors. It keeps
// people from errors; it is no secret and guards nothing.
func bind(filters ...string) string {
	sum := sha256.Sum256([]byte(page.Encode(filters...)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// decode reads a cursor of n parts that belongs to these filters; nil is the
// beginning. The parts are those behind the filters.
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

type makeInput struct{ Body Draft }

// jobOutput is a job, and where it is.
type jobOutput struct {
	Location string `header:"Location" doc:"Where the job is; only of one that was made."`
	Body     Job
}

func (s *Service) handleMake(ctx context.Context, in *makeInput) (*jobOutput, error) {
	j, err := s.Make(ctx, in.Body)
	return &jobOutput{Location: web.Prefix + "/agentrt/jobs/" + j.ID, Body: j}, err
}

// Ref names a job in a path.
type Ref struct {
	ID string `path:"id" maxLength:"512" doc:"The runtime's id of the job."`
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
	Revision string `query:"configRevision" maxLength:"128" doc:"The job's configRevision as you read it: then nothing is removed when the job is another one by now."`
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

// Span is the part of the ledger that is wanted.
type Span struct {
	From time.Time `query:"from" doc:"Only what is due at this time or later. Default: two days before to, or a day before now."`
	To   time.Time `query:"to" doc:"Only what is due before this time, 31 days after from at most. Default: two days after from, or a day after now."`
}

// usualSpan is how much of the ledger is read when nobody says.
const usualSpan = 48 * time.Hour

func (in Span) filter(id string, now time.Time) SlotFilter {
	f := SlotFilter{JobID: id, From: in.From, To: in.To}
	switch {
	case f.From.IsZero() && f.To.IsZero():
		f.From, f.To = now.Add(-usualSpan/2), now.Add(usualSpan/2)
	case f.From.IsZero():
		f.From = f.To.Add(-usualSpan)
	case f.To.IsZero():
		f.To = f.From.Add(usualSpan)
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

// slots reads one page of the ledger. Where the caller did not say from when to
// when, the cursor does: on the next page now is later.
func (s *Service) slots(ctx context.Context, id string, in Span, q page.Query) (*web.List[Slot], error) {
	bound := bind(id, in.From.String(), in.To.String())
	parts, err := decode(q.Cursor, bound, 5)
	if err != nil {
		return nil, err
	}
	f := in.filter(id, s.Now())
	var after *place
	if parts != nil {
		var at [3]time.Time
		for i := range at {
			if at[i], err = moment(parts[i]); err != nil {
				return nil, err
			}
		}
		f.From, f.To, after = at[0], at[1], &place{clock.At(at[2]), parts[3]}
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

// moment reads what micros wrote, and nothing else.
func moment(text string) (time.Time, error) {
	const first, last = -62_135_596_800_000_000, 253_402_300_799_999_999 // the years 1 to 9999
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < first || n > last || strconv.FormatInt(n, 10) != text {
		return time.Time{}, page.Refused()
	}
	return time.UnixMicro(n).UTC(), nil
}
