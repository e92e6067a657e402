package usage

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount registers the routes for the ledger.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/usage", actor.Read, "Get a usage report", s.handleReport,
		web.Fails(ErrPeriod), web.Describe(reportText))
	web.CSV(api, "/usage.csv", actor.Read, "Get a usage report as CSV", s.handleTable, web.Fails(ErrPeriod),
		web.Describe("Returns one line for each group in the report that GET /usage returns for the same parameters, or for each group in each of its bars. The lines add up to the total of that report."))
	web.Get(api, "/usage/going", actor.Read, "Get the usage of runs in progress", s.handleGoing,
		web.Describe("GET /usage includes only runs that have ended. Runs in progress are listed here, as last read. No usage is counted in both."))
	web.Get(api, "/usage/idle", actor.Read, "Get the usage of idle runs", s.handleIdle,
		web.Describe(
			"Sums the runs of heartbeats and scheduled jobs in the last 7 days during which no agent changed a task.",
		))
	web.Get(api, "/prices", actor.Read, "Get the prices for cost estimates", s.handlePrices,
		web.Describe("The prices apply only to runs whose cost the runtime does not report."))
	web.Put(api, "/prices", actor.ManagePrices, "Set the prices for cost estimates",
		s.handleSetPrices, web.Fails(ErrStale),
		web.Describe("Replaces the whole table. The prices apply to new usage and to usage without a price; earlier estimates do not change. Send the ETag of GET /prices as If-Match to avoid overwriting a concurrent change."))
	web.Get(api, "/agentrt/models", actor.Read, "List the models of the runtime", s.handleModels,
		web.Asks(1, s.Patience), web.Quiet(),
		web.Fails(link.ErrNotConfigured, link.ErrUnreachable, link.ErrTimeout, link.ErrUnauthorized,
			link.ErrUnpaired, link.ErrUntrusted, link.ErrMissingScope, link.ErrBusy, link.ErrRefused))
}

const reportText = `The report is computed from Wardroom's own ledger, which records each run of the runtime once and is kept even after the runtime deletes its own data. Each run is counted at the time it ended.

The series and the groups each add up exactly to the total. If the runtime reports no cost for a run, Wardroom estimates the cost with the prices in /prices. If there is no price either, the cost is unknown: unpriced_runs is the number of such runs, and cost_usd does not include them. Usage before ledger_begins_at is unknown, even if a sum is 0; usage before followed_since may be incomplete. The series is grouped by hour if the group is hour, or if the period is at most 48 hours long and the group is not day; otherwise it is grouped by day. Groups after the first 500 are combined into one.`

// ReportInput holds the query parameters of a report.
type ReportInput struct {
	From  string `query:"from" maxLength:"40" example:"2026-11-01" doc:"Start of the period: a day in the time zone, or a time. If omitted, the report covers the 30 days up to its end."`
	To    string `query:"to" maxLength:"40" example:"2026-12-01" doc:"End of the period (exclusive): a day in the time zone, or a time. Defaults to now. At most 800 days after the start, or 62 days if grouped by hour."`
	Zone  string `query:"zone" maxLength:"64" example:"Europe/Berlin" doc:"Time zone of the days and hours, an IANA name. Defaults to Wardroom's time zone."`
	Group Group  `query:"group" enum:"agent,model,source,session,job,task,project,standup,day,hour" default:"day" doc:"How to group the usage."`
}

type tableInput struct {
	ReportInput
	Bars bool `query:"bars" doc:"Return one line for each bar of a chart and each of its groups, with the bar's start and end in front. There are no bars if the group is day or hour."`
}

type extrasInput struct {
	ReportInput
	Bars    bool `query:"bars" doc:"Also return the groups for each bar of a chart. The period is split into at most 48 bars, each an hour, day, week, or month."`
	Compare bool `query:"compare" doc:"Also return the usage in the period before and a forecast for the current month."`
}

func (s *Service) readReport(ctx context.Context, in *ReportInput, with Extras) (Report, error) {
	p, err := readPeriod(in.From, in.To, cmp.Or(in.Zone, s.Zone.String()), s.Now())
	if err != nil {
		return Report{}, err
	}
	return s.Report(ctx, p, in.Group, with)
}

func (s *Service) handleReport(ctx context.Context, in *extrasInput) (*struct{ Body Report }, error) {
	r, err := s.readReport(ctx, &in.ReportInput, Extras{Bars: in.Bars, Compare: in.Compare})
	return &struct{ Body Report }{r}, err
}

func (s *Service) handleGoing(ctx context.Context, _ *struct{}) (*struct{ Body Going }, error) {
	g, err := s.Going(ctx)
	return &struct{ Body Going }{g}, err
}

func (s *Service) handleIdle(ctx context.Context, _ *struct{}) (*struct{ Body Idle }, error) {
	i, err := s.Idle(ctx)
	return &struct{ Body Idle }{i}, err
}

func (s *Service) handleTable(ctx context.Context, in *tableInput) (*web.Table, error) {
	r, err := s.readReport(ctx, &in.ReportInput, Extras{Bars: in.Bars})
	if err != nil {
		return nil, err
	}
	columns := []string{
		string(r.Group), "runs", "unpriced_runs", "corrections", "input", "output", "cache_read", "cache_write", "other",
		"cost_usd", "estimated_usd",
	}
	if len(r.Bars) > 0 {
		columns = append([]string{"from", "to"}, columns...)
	}
	return &web.Table{Name: "usage.csv", Columns: columns, Rows: func(write func(cells ...string) error) error {
		for _, b := range r.Bars {
			for _, g := range b.Groups {
				times := []string{b.Start.Format(time.RFC3339), b.End.Format(time.RFC3339)}
				if err := write(append(times, g.cells()...)...); err != nil {
					return err
				}
			}
		}
		if len(r.Bars) > 0 {
			return nil
		}
		for _, g := range r.Groups {
			if err := write(g.cells()...); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// cells returns a group's line in the CSV file. If the cost is unknown, its cell is empty.
func (g Share) cells() []string {
	name, cost := "", ""
	switch {
	case g.Rest:
		name = "(all others)"
	case g.Key != nil:
		name = *g.Key
	}
	if g.CostUSD != nil {
		cost = g.CostUSD.String()
	}
	cells := []string{name}
	t := g.Tokens
	for _, n := range []int64{g.Runs, g.Unpriced, g.Corrections, t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return append(cells, cost, g.Estimated.String())
}

func (s *Service) handlePrices(ctx context.Context, _ *struct{}) (*web.Tagged[Prices], error) {
	p, err := s.CurrentPrices(ctx)
	return web.Tag(p, p.Version), err
}

type pricesInput struct {
	web.IfMatch
	Body struct {
		Prices []Price `json:"prices" maxItems:"300" nullable:"false" doc:"At most one price per model and start day."`
	}
}

func (s *Service) handleSetPrices(ctx context.Context, in *pricesInput) (*web.Tagged[Prices], error) {
	p, err := s.SetPrices(ctx, in.Body.Prices, in.Version())
	return web.Tag(p, p.Version), err
}

func (s *Service) handleModels(ctx context.Context, _ *struct{}) (*struct{ Body []Model }, error) {
	list, err := s.Models(ctx)
	return &struct{ Body []Model }{list}, err
}
