package usage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/task"
)

// zones returns common time zones and ones with unusual clock changes.
func zones() []string {
	return []string{
		"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "America/Asuncion", "Africa/Casablanca", "Pacific/Chatham",
	}
}

// randomLedger returns rows of every kind over two years with clock changes. Many have equal times
// or are at the start of days.
func randomLedger(rnd *rand.Rand, n int) []row {
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	rows := make([]row, n)
	sources := []Source{Human, Schedule, Heartbeat, SubAgent, Standup, Task, Unknown}
	for i := range rows {
		at := begin.Add(time.Duration(rnd.Int64N(int64(730*24*time.Hour)/int64(time.Hour))) * time.Hour)
		if rnd.IntN(3) > 0 {
			at = at.Add(time.Duration(rnd.Int64N(int64(time.Hour/time.Millisecond))) * time.Millisecond)
		}
		pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
		r := row{kind: OfRun, at: at.UnixMilli(), price: byRuntime, runs: 1}
		r.Run = Run{
			RunID: fmt.Sprint("r", i), AgentID: pick("cto", "cpo", "=cmd"), SessionKey: fmt.Sprint("agent:cto:", rnd.IntN(700)),
			Source: sources[rnd.IntN(len(sources))], JobID: pick("", "j1"), TaskKey: pick("", "TASK-1", "TASK-2"), StandupID: pick("", "s1"),
		}
		r.Part = Part{
			Provider: pick("", "p", "q"), Model: pick("m", "n"), Tokens: Tokens{rnd.Int64N(1e9), rnd.Int64N(1e6), rnd.Int64N(1e9), rnd.Int64N(1e6), rnd.Int64N(10)}, Cost: costOf(rnd.Int64N(1e12)),
			Calls: rnd.Int64N(200), Took: time.Duration(rnd.IntN(1e7)) * time.Millisecond,
		}
		switch rnd.IntN(6) {
		case 0:
			r.Cost, r.price, r.unpriced = nil, unpriced, 1
		case 1:
			r.price = estimated
		case 2:
			r.kind, r.runs, r.Cost, r.Tokens = Reconciled, 0, costOf(rnd.Int64N(1e12)-5e11), Tokens{Input: rnd.Int64N(1e6) - 5e5}
		}
		rows[i] = r
	}
	return rows
}

func write(t testing.TB, d *db.DB, rows []row) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for _, table := range []string{"usage_ledger", "usage_rollup"} {
			if _, err := tx.Exec(t.Context(), `DELETE FROM `+table); err != nil {
				return err
			}
		}
		for _, r := range rows {
			if err := insert(t.Context(), tx, r, noon); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (r row) amounts() amounts {
	a := amounts{runs: r.runs, unpriced: r.unpriced, corrections: 1 - r.runs, tokens: r.Tokens, calls: r.Calls, took: r.Took.Milliseconds()}
	if r.Cost != nil {
		a.priced, a.cost = 1, int64(*r.Cost)
		if r.price == estimated {
			a.estimated = a.cost
		}
	}
	return a
}

// back converts Sums to amounts. Whether anything has a price, and the length of the runs, are lost.
func (s Sums) back() amounts {
	a := amounts{runs: s.Runs, unpriced: s.Unpriced, corrections: s.Corrections, tokens: s.Tokens, estimated: int64(s.Estimated)}
	if s.CostUSD != nil {
		a.cost = int64(*s.CostUSD)
	}
	return a
}

// TestOfAgents checks that the days of the agents' pages begin at midnight in Wardroom's time zone and
// agree with the ledger.
func TestOfAgents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		all := randomLedger(rand.New(rand.NewPCG(1, 1)), 400)
		write(t, d, all)
		ids := []string{"nobody"}
		for _, r := range all {
			ids = append(ids, r.AgentID)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		now := time.UnixMilli(all[len(all)/2].at)
		for _, zone := range zones() {
			place, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			s := &Service{DB: d, Zone: place}
			got, err := s.OfAgents(t.Context(), ids, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				var week amounts
				days := map[string]amounts{}
				for _, r := range all {
					if r.AgentID == id {
						day := min(time.UnixMilli(r.at).In(place).Format(time.DateOnly), now.In(place).Format(time.DateOnly))
						days[day] = days[day].plus(r.amounts())
					}
				}
				if len(got[id].Days) != 7 || got[id].Days[6].Day != now.In(place).Format(time.DateOnly) {
					t.Fatalf("%s in %s: the days are %+v", id, zone, got[id].Days)
				}
				for _, day := range got[id].Days {
					week = week.plus(days[day.Day])
					if diff := cmp.Diff(days[day.Day].sums(), day.Sums); diff != "" {
						t.Errorf("%s on %s in %s (-want +got):\n%s", id, day.Day, zone, diff)
					}
				}
				if diff := cmp.Diff(week.sums(), got[id].Last7Days); diff != "" {
					t.Errorf("7 days of %s in %s (-want +got):\n%s", id, zone, diff)
				}
			}
		}
	})
}

// TestEverythingAddsUp checks that the total, the series, the groups and the CSV of a report
// agree.
func TestEverythingAddsUp(t *testing.T) {
	t.Parallel()
	const ledgers, entries = 4, 400
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d, Now: func() time.Time { return noon }, Zone: time.UTC}
		board, ctx := &task.Service{DB: d, Now: s.Now}, actor.With(t.Context(), actor.System)
		if _, err := board.CreateProject(ctx, task.NewProject{Key: "WEB", Name: "Project"}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []task.New{{Title: "One", Project: new("WEB")}, {Title: "Two"}} {
			if _, err := board.Create(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		for seed := range uint64(ledgers) {
			all := randomLedger(rand.New(rand.NewPCG(seed, 1)), entries)
			write(t, d, all)
			rapid.Check(t, func(rt *rapid.T) {
				zone := rapid.SampledFrom(zones()).Draw(rt, "zone")
				group := rapid.SampledFrom([]Group{ByAgent, ByModel, BySource, BySession, ByJob, ByTask, ByProject, ByStandup, ByDay, ByHour}).Draw(rt, "group")
				first := rapid.Int64Range(0, 720*24).Draw(rt, "hour")
				length := rapid.Int64Range(1, 60*24*3600*1000).Draw(rt, "length")
				if rapid.Bool().Draw(rt, "long") && group != ByHour {
					length *= 13
				}
				from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(first) * time.Hour)
				to := from.Add(time.Duration(length) * time.Millisecond)
				if rapid.Bool().Draw(rt, "ends at a row") { // the start is inclusive and the end is exclusive
					from = time.UnixMilli(rapid.SampledFrom(all).Draw(rt, "row").at).UTC()
					for _, r := range all {
						if at := time.UnixMilli(r.at).UTC(); at.After(from) && at.Sub(from) < 60*24*time.Hour {
							to = at
							break
						}
					}
					if !to.After(from) || to.Sub(from) > 60*24*time.Hour {
						to = from.Add(time.Hour)
					}
				}
				wantAddsUp(rt, s, all, from, to, zone, group)
			})
		}
	})
}

func wantAddsUp(t *rapid.T, s *Service, all []row, from, to time.Time, zone string, group Group) {
	in := &ReportInput{From: from.Format(clock.Layout), To: to.Format(clock.Layout), Zone: zone, Group: group}
	r, err := s.readReport(t.Context(), in, Extras{Bars: true, Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var due, before amounts
	days := map[string]amounts{}
	for _, entry := range all {
		if at := time.UnixMilli(entry.at); !at.Before(from) && at.Before(to) {
			due = due.plus(entry.amounts())
			day := at.In(place).Format(time.DateOnly)
			days[day] = days[day].plus(entry.amounts())
		}
		if r.Previous != nil && entry.at >= r.Previous.From.UnixMilli() && entry.at < r.Previous.To.UnixMilli() {
			before = before.plus(entry.amounts())
		}
	}
	if r.Previous != nil {
		if diff := cmp.Diff(before.sums(), r.Previous.Sums); diff != "" {
			t.Fatalf("the previous period (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(due.sums(), r.Total); diff != "" {
		t.Fatalf("the total (-want +got):\n%s", diff)
	}
	if spent, err := s.SpentIn(t.Context(), s.DB, Scope{}, []Period{{From: from, To: to}}); err != nil || !cmp.Equal([]Spent{due.spent()}, spent) {
		t.Fatalf("limits count %+v, want %+v, %v", spent, due.spent(), err)
	}
	var series, groups amounts
	for i, slot := range r.Series {
		series = series.plus(slot.back())
		if i > 0 && !slot.Start.Equal(r.Series[i-1].End.Time) {
			t.Fatalf("%s begins at %s, and the one before ends at %s", slot.Label, slot.Start, r.Series[i-1].End)
		}
		if r.Unit == "day" {
			if diff := cmp.Diff(days[slot.Label].sums(), slot.Sums); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", slot.Label, diff)
			}
		}
	}
	if !r.Series[0].Start.Equal(from) || !r.Series[len(r.Series)-1].End.Equal(to) {
		t.Fatalf("the series goes from %s to %s", r.Series[0].Start, r.Series[len(r.Series)-1].End)
	}
	for _, g := range r.Groups {
		groups = groups.plus(g.back())
	}
	if len(r.Groups) > maxGroups+1 && group != ByDay && group != ByHour {
		t.Fatalf("%d groups", len(r.Groups))
	}
	wantBars(t, r)
	for name, got := range map[string]amounts{"the series": series, "the groups": groups, "the table": tableOf(t, s, in, false), "the table of bars": tableOf(t, s, in, true)} {
		if diff := cmp.Diff(r.Total.back(), got, cmp.AllowUnexported(amounts{})); diff != "" {
			t.Fatalf("%s against the total (-want +got):\n%s", name, diff)
		}
	}
}

// wantBars checks that the bars cover the period, and that their sums agree with the series and
// the groups.
func wantBars(t *rapid.T, r Report) {
	if r.Group == ByDay || r.Group == ByHour {
		if len(r.Bars) != 0 {
			t.Fatalf("%d bars of a report by %s", len(r.Bars), r.Group)
		}
		return
	}
	if n := len(r.Bars); n == 0 || n > maxBars || !r.Bars[0].Start.Equal(r.From.Time) || !r.Bars[n-1].End.Equal(r.To.Time) {
		t.Fatalf("%d bars are not the period", n)
	}
	type name struct {
		key  string
		rest bool
	}
	nameOf := func(s Share) name {
		if s.Key == nil {
			return name{rest: s.Rest}
		}
		return name{key: *s.Key}
	}
	byName := map[name]amounts{}
	for i, b := range r.Bars {
		if i > 0 && !b.Start.Equal(r.Bars[i-1].End.Time) {
			t.Fatalf("bar %d begins at %s", i, b.Start)
		}
		var of, within amounts
		for _, g := range b.Groups {
			of = of.plus(g.back())
			byName[nameOf(g)] = byName[nameOf(g)].plus(g.back())
		}
		for _, s := range r.Series {
			if !s.Start.Before(b.Start.Time) && s.Start.Before(b.End.Time) {
				within = within.plus(s.back())
			}
		}
		if diff := cmp.Diff(within, of, cmp.AllowUnexported(amounts{})); diff != "" {
			t.Fatalf("the groups of the bar at %s (-series +bar):\n%s", b.Start, diff)
		}
	}
	for _, g := range r.Groups {
		if diff := cmp.Diff(g.back(), byName[nameOf(g)], cmp.AllowUnexported(amounts{})); diff != "" {
			t.Fatalf("the bars of %v (-group +bars):\n%s", nameOf(g), diff)
		}
	}
}

// tableOf returns the sum of the lines of the CSV.
func tableOf(t *rapid.T, s *Service, in *ReportInput, bars bool) (sum amounts) {
	table, err := s.handleTable(t.Context(), &tableInput{*in, bars})
	if err != nil {
		t.Fatal(err)
	}
	err = table.Rows(func(cells ...string) error {
		if len(cells) != len(table.Columns) {
			t.Fatalf("%d cells for %d columns", len(cells), len(table.Columns))
		}
		if table.Columns[0] == "from" {
			cells = cells[2:]
		}
		var n [8]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(cells[1+i], 10, 64); err != nil {
				return err
			}
		}
		line := amounts{runs: n[0], unpriced: n[1], corrections: n[2], tokens: Tokens{n[3], n[4], n[5], n[6], n[7]}}
		for i, to := range []*int64{&line.cost, &line.estimated} {
			var amount money.Nano
			if cell := cells[9+i]; cell != "" {
				if err := amount.UnmarshalJSON([]byte(strconv.Quote(cell))); err != nil {
					return err
				}
			}
			*to = int64(amount)
		}
		sum = sum.plus(line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// BenchmarkReport measures reports of a month and a year with a million rows in a year.
func BenchmarkReport(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			d := dbtest.Open(b, dbtest.URL(b, engine))
			fill(b, d, 1_000_000)
			s := &Service{DB: d, Now: func() time.Time { return noon }, Zone: time.UTC}
			for _, group := range []Group{ByDay, ByAgent, BySession} {
				for _, ask := range []ReportInput{
					{From: "2026-06-01", To: "2026-07-01", Zone: "Europe/Berlin", Group: group},
					{From: "2026-01-01", To: "2027-01-01", Zone: "Europe/Berlin", Group: group},
					{From: "2026-01-01", To: "2027-01-01", Zone: "Asia/Kolkata", Group: group},
				} {
					b.Run(fmt.Sprint(group, " ", ask.From, " ", ask.To, " ", ask.Zone), func(b *testing.B) {
						for b.Loop() {
							r, err := s.readReport(b.Context(), &ask, Extras{Bars: group == ByAgent})
							if err != nil || r.Total.Runs == 0 {
								b.Fatal(r.Total, err)
							}
						}
					})
				}
			}
		})
	}
}

// fill writes n rows over a year, in chronological order.
func fill(b *testing.B, d *db.DB, n int) {
	b.Helper()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	step := int64(365*24*time.Hour/time.Millisecond) / int64(n)
	const atOnce = 20_000
	for from := 0; from < n; from += atOnce {
		err := d.Tx(b.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(b.Context(), `
				WITH RECURSIVE i(n) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT n + 1 FROM i WHERE n + 1 < ?)
				INSERT INTO usage_ledger (`+ledgerColumns+`)
				SELECT 'run-' || n, 'p', 'model-' || (n % 4), 'run', ? + n * ?, NULL, ?, ?, 'agent-' || (n % 8), 'agent:x:session-' || (n / 20), 't-' || (n / 20),
					'human', '', '', '', 1000, 100, 10, 5, 0, 28314000, 'runtime', NULL, 1, 0, 1, 1 FROM i`,
				from, min(from+atOnce, n), begin, step, clock.At(noon), clock.At(noon))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	refill(b, d)
}

// In a zone that is not a whole number of hours from UTC, two days can have 49 hours with usage.
func TestBarsOfTwoDays(t *testing.T) {
	zone, err := clock.Zone("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	p := Period{From: from, To: from.Add(hourly), Zone: zone}
	bars := barsOf(p.slots(true), "hour")
	if len(bars) != 3 || bars[0].Unit != "day" || !bars[0].Start.Equal(from) || !bars[2].End.Equal(p.To) {
		t.Errorf("%d bars: %+v", len(bars), bars)
	}
}
