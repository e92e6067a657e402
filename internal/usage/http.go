package usage

import (
	"cmp"
	"context"
	"strconv"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the ledger.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/usage", actor.Read, "What the agents' runs used and cost", s.handleReport, web.Fails(ErrPeriod), web.Describe(reportText))
	web.CSV(api, "/usage.csv", actor.Read, "The same as a table", s.handleTable, web.Fails(ErrPeriod),
		web.Describe("A line for each group of GET /usage with the same parameters; the amounts of all lines add up to its total."))
	web.Get(api, "/usage/going", actor.Read, "What the runs that are going have used so far", s.handleGoing,
		web.Describe("A run is counted by GET /usage when it has ended. Until then it is here, as it was last read: no amount is in both."))
	web.Get(api, "/prices", actor.Read, "The prices that costs are estimated with", s.handlePrices,
		web.Describe("They count only for runs of which the runtime does not say what they cost."))
	web.Put(api, "/prices", actor.ManagePrices, "Set the prices that costs are estimated with", s.handleSetPrices, web.Fails(ErrStale),
		web.Describe("The whole table. It counts for what is noted from now on, and for what is in the ledger without a price; what was estimated with an earlier version stays as it is. Send the ETag of GET /prices as If-Match, so that nobody's change is lost."))
	web.Get(api, "/agentrt/models", actor.Read, "The models that the runtime can use", s.handleModels, web.Asks(1, s.Patience), web.Quiet(),
		web.Fails(gateway.ErrNotConfigured, gateway.ErrUnreachable, gateway.ErrTimeout, gateway.ErrUnauthorized,
			gateway.ErrUnpaired, gateway.ErrUntrusted, gateway.ErrMissingScope, gateway.ErrBusy, gateway.ErrRefused))
}

const reportText = `Counted from the service's own ledger, which has each run of the runtime once and keeps it when the runtime forgets. A run counts when it ended.

The total is the sum of the series and the sum of the groups, to the last digit. Without a price from the runtime a cost is estimated with the prices of /prices; without either it is unknown: unpriced_runs says of how many, and cost_usd is without them. A sum of 0 before ledger_begins_at does not say that nothing was used: of then nothing is known; and what was before followed_since may have been more. The series has days, or hours where the period has at most 48 of them or the group is hour. At most 500 groups are told apart; the others are one, the last.`

// ReportInput says of which period a report is, and by what it adds up.
type ReportInput struct {
	From  string `query:"from" maxLength:"40" example:"2026-11-01" doc:"Where it begins: a day of the zone, or a moment. Without it thirty days that end with to."`
	To    string `query:"to" maxLength:"40" example:"2026-12-01" doc:"The first day, or moment, that is not in it. Without it until now. At most 800 days, and 62 by hour."`
	Zone  string `query:"zone" maxLength:"64" example:"Europe/Berlin" doc:"Whose days and hours these are, an IANA name. Without it the service's own."`
	Group Group  `query:"group" enum:"agent,model,source,session,job,task,standup,day,hour" default:"day" doc:"By what it is added up."`
}

type barsInput struct {
	ReportInput
	Bars bool `query:"bars" doc:"Also what each part of the period is made of: hours, days, weeks or months, at most 48 of them."`
}

func (s *Service) asked(ctx context.Context, in *ReportInput, bars bool) (Report, error) {
	p, err := readPeriod(in.From, in.To, cmp.Or(in.Zone, s.Zone.String()), s.Now())
	if err != nil {
		return Report{}, err
	}
	return s.Report(ctx, p, in.Group, bars)
}

func (s *Service) handleReport(ctx context.Context, in *barsInput) (*struct{ Body Report }, error) {
	r, err := s.asked(ctx, &in.ReportInput, in.Bars)
	return &struct{ Body Report }{r}, err
}

func (s *Service) handleGoing(ctx context.Context, _ *struct{}) (*struct{ Body Going }, error) {
	g, err := s.Going(ctx)
	return &struct{ Body Going }{g}, err
}

func (s *Service) handleTable(ctx context.Context, in *ReportInput) (*web.Table, error) {
	r, err := s.asked(ctx, in, false)
	if err != nil {
		return nil, err
	}
	return &web.Table{
		Name: "usage.csv",
		Columns: []string{
			string(r.Group), "runs", "unpriced_runs", "corrections", "input", "output", "cache_read", "cache_write", "other", "cost_usd", "estimated_usd",
		},
		Rows: func(write func(cells ...string) error) error {
			for _, g := range r.Groups {
				if err := write(g.cells()...); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// cells are a group as a line of the table. A cost that is not known is empty.
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
		Prices []Price `json:"prices" maxItems:"300" nullable:"false" doc:"Of one model from one day there is one price."`
	}
}

func (s *Service) handleSetPrices(ctx context.Context, in *pricesInput) (*web.Tagged[Prices], error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	p, err := s.SetPrices(ctx, in.Body.Prices, version)
	return web.Tag(p, p.Version), err
}

func (s *Service) handleModels(ctx context.Context, _ *struct{}) (*struct{ Body []Model }, error) {
	list, err := s.Models(ctx)
	return &struct{ Body []Model }{list}, err
}
