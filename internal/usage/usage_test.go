package usage

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
)

// TestAttribute checks the source of runs, which cannot be corrected later.
func TestAttribute(t *testing.T) {
	t.Parallel()
	const id = "01990000-0000-7000-8000-000000000001"
	tests := map[string]struct {
		key, run string
		trigger  trigger
		want     Run
	}{
		"somebody in the main session":     {"agent:cto:main", "r", trigger{asked: true}, Run{Source: Human}},
		"somebody over HTTP":               {"agent:cto:openai:1", "r", trigger{asked: true}, Run{Source: Human}},
		"the agent's own clock":            {"agent:cto:main", "r", trigger{}, Run{Source: Heartbeat}},
		"another agent":                    {"agent:cto:main", "r", trigger{asked: true, origin: "sessions_send"}, Run{Source: SubAgent}},
		"a sub-agent":                      {"agent:cto:subagent:1", "r", trigger{asked: true}, Run{Source: SubAgent}},
		"a job in a session of its own":    {"agent:cto:cron:j1:run:2", "r", trigger{asked: true}, Run{Source: Schedule, JobID: "j1"}},
		"a job in the main session":        {"agent:cto:main", "r", trigger{asked: true, origin: "cron", job: "j2"}, Run{Source: Schedule, JobID: "j2"}},
		"a standup":                        {"agent:cto:standup:2026-11-20", "standup-" + id + "-cto-1", trigger{asked: true}, Run{Source: Standup, StandupID: id}},
		"a turn of a standup, resumed":     {"agent:cto:standup:2026-11-20", "r", trigger{asked: true, origin: "main_session_restart_recovery"}, Run{Source: Standup}},
		"a task":                           {"agent:cto:task:TASK-7", "r", trigger{asked: true}, Run{Source: Task, TaskKey: "TASK-7"}},
		"a task, as the runtime spells it": {"agent:cto:task:task-7", "r", trigger{asked: true}, Run{Source: Task, TaskKey: "TASK-7"}},
		"the agent's own clock, told":      {"agent:cto:main", "r", trigger{asked: true, origin: "heartbeat"}, Run{Source: Heartbeat}},
		"what a sub-agent has announced":   {"agent:cto:main", "announce:v1:agent:cto:subagent:1:2", trigger{}, Run{Source: SubAgent}},
		"a session that somebody named":    {"agent:cto:plans", "r", trigger{asked: true}, Run{Source: Unknown}},
		"a key of another shape":           {"global", "r", trigger{}, Run{Source: Unknown}},
		"a run id that looks like another": {"agent:cto:main", "standup-x", trigger{asked: true}, Run{Source: Standup}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			r := Run{RunID: c.run, SessionKey: c.key}
			r.attribute(c.trigger)
			c.want.RunID, c.want.SessionKey = c.run, strings.ToLower(c.key)
			if c.key != "global" {
				c.want.AgentID = "cto"
			}
			if diff := cmp.Diff(c.want, r); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func price(provider, model, from string, input money.Nano) Price {
	return Price{Provider: provider, Model: model, From: from, Input: input, Output: 2 * input}
}

// TestEstimate checks which price applies to a model, provider and day.
func TestEstimate(t *testing.T) {
	t.Parallel()
	p := Prices{Prices: []Price{
		price("p", "m", "2026-01-01", 1_000_000_000), price("p", "m", "2026-06-01", 3_000_000_000),
		price("", "m", "2026-09-01", 9_000_000_000), price("", "free", "2026-01-01", 0), price("p", "tiny", "2026-01-01", 1),
		price("", "dear", "2026-01-01", maxPrice),
	}}
	at := func(day string) time.Time {
		t, _ := time.Parse(time.DateOnly, day)
		return t
	}
	tests := map[string]struct {
		provider, model, day string
		tokens               Tokens
		want                 money.Nano
		ok                   bool
	}{
		"the day before the first price":    {"p", "m", "2025-12-31", Tokens{Input: 1}, 0, false},
		"from its first day on":             {"p", "m", "2026-01-01", Tokens{Input: 7, Output: 1}, 9_000, true},
		"the latest that counts":            {"p", "m", "2026-11-20", Tokens{Input: 1}, 3_000, true},
		"one for any provider":              {"q", "m", "2026-11-20", Tokens{Input: 1}, 9_000, true},
		"a model that nobody priced":        {"p", "x", "2026-11-20", Tokens{Input: 1}, 0, false},
		"one that costs nothing":            {"p", "free", "2026-11-20", Tokens{Input: 1}, 0, true},
		"half a nano-dollar is rounded up":  {"p", "tiny", "2026-11-20", Tokens{Input: 500_000}, 1, true},
		"less is rounded down":              {"p", "tiny", "2026-11-20", Tokens{Input: 499_999}, 0, true},
		"what was taken away, the same way": {"p", "tiny", "2026-11-20", Tokens{Input: -500_000}, -1, true},
		"more than can be written down":     {"any", "dear", "2026-11-20", Tokens{Input: 10_000_000_000}, 0, false},
		"more than 64 bits on the way":      {"p", "m", "2026-11-20", Tokens{Input: 2_000_000_000_000}, 6_000_000_000_000_000, true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got, ok := p.estimate(c.provider, c.model, c.tokens, at(c.day)); got != c.want || ok != c.ok {
				t.Errorf("%d, %v; want %d, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

// TestCheckPrices checks the validation of prices.
func TestCheckPrices(t *testing.T) {
	t.Parallel()
	for name, retryAt := range map[string][]Price{
		"a day that is none":   {price("p", "m", "2026-02-30", 1)},
		"below zero":           {price("p", "m", "2026-02-01", -1)},
		"beyond all reason":    {price("p", "m", "2026-02-01", maxPrice+1)},
		"twice for one day":    {price("p", "m", "2026-02-01", 1), price("p", "m", "2026-02-01", 2)},
		"a model without one":  {price("p", "", "2026-02-01", 1)},
		"a model of blanks":    {price("p", "  ", "2026-02-01", 1)},
		"blanks around it":     {price("p", "m ", "2026-02-01", 1)},
		"a provider of blanks": {price(" ", "m", "2026-02-01", 1)},
		"twice without a name": {price("", "m", "2026-02-01", 1), price("", "m", "2026-02-01", 1)},
	} {
		if checkPrices(retryAt) == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := checkPrices([]Price{price("p", "m", "2026-02-01", 1), price("p", "m", "2026-02-02", 1), price("q", "m", "2026-02-01", 1)}); err != nil {
		t.Error(err)
	}
}

func period(t testing.TB, from, to, zone string) Period {
	t.Helper()
	p, err := readPeriod(from, to, zone, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSlots checks days with 23 and 25 hours and repeated hours.
func TestSlots(t *testing.T) {
	t.Parallel()
	type slot struct {
		Label string
		Long  time.Duration
	}
	tests := map[string]struct {
		from, to, zone string
		hours          bool
		want           []slot
	}{
		"days with a short one":   {"2026-03-28", "2026-03-31", "Europe/Berlin", false, []slot{{"2026-03-28", 24 * time.Hour}, {"2026-03-29", 23 * time.Hour}, {"2026-03-30", 24 * time.Hour}}},
		"a long one":              {"2026-10-25", "2026-10-26", "Europe/Berlin", false, []slot{{"2026-10-25", 25 * time.Hour}}},
		"the day that Samoa lost": {"2011-12-29", "2012-01-01", "Pacific/Apia", false, []slot{{"2011-12-29", 24 * time.Hour}, {"2011-12-31", 24 * time.Hour}}},
		"clocks that change at midnight": {
			"2024-10-05", "2024-10-08", "America/Asuncion", false,
			[]slot{{"2024-10-05", 24 * time.Hour}, {"2024-10-06", 23 * time.Hour}, {"2024-10-07", 24 * time.Hour}},
		},
		"and back over it": {
			"2024-03-23", "2024-03-25", "America/Asuncion", false, []slot{{"2024-03-23", 25 * time.Hour}, {"2024-03-24", 24 * time.Hour}},
		},
		"an hour that comes twice": {
			"2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "Europe/Berlin", true,
			[]slot{{"2026-10-25T02:00:00+02:00", time.Hour}, {"2026-10-25T02:00:00+01:00", time.Hour}, {"2026-10-25T03:00:00+01:00", time.Hour}},
		},
		"half an hour that comes twice": {
			"2026-04-04T14:00:00Z", "2026-04-04T16:30:00Z", "Australia/Lord_Howe", true,
			[]slot{{"2026-04-05T01:00:00+11:00", time.Hour}, {"2026-04-05T01:30:00+10:30", 30 * time.Minute}, {"2026-04-05T02:00:00+10:30", time.Hour}},
		},
		"parts at both ends": {
			"2026-11-20T08:30:00Z", "2026-11-20T10:15:00Z", "UTC", true,
			[]slot{{"2026-11-20T08:30:00Z", 30 * time.Minute}, {"2026-11-20T09:00:00Z", time.Hour}, {"2026-11-20T10:00:00Z", 15 * time.Minute}},
		},
		"a zone of a quarter": {"2026-11-20", "2026-11-21", "Asia/Kathmandu", false, []slot{{"2026-11-20", 24 * time.Hour}}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			list := period(t, c.from, c.to, c.zone).slots(c.hours)
			var got []slot
			for _, s := range list {
				got = append(got, slot{s.Label, s.End.Sub(s.Start.Time)})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadPeriod checks the default of 30 days including today.
func TestReadPeriod(t *testing.T) {
	t.Parallel()
	p := period(t, "", "", "Europe/Berlin")
	if got := p.From.Format(time.RFC3339); got != "2026-10-21T22:00:00Z" {
		t.Errorf("from %s", got)
	}
	if now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC); !p.To.After(now) {
		t.Errorf("to %s, so that what was this moment is not in it", p.To)
	}
	for _, retryAt := range [][3]string{{"x", "", "UTC"}, {"", "2026-13-01", "UTC"}, {"", "", "Mars"}, {"", "", "Local"}} {
		if _, err := readPeriod(retryAt[0], retryAt[1], retryAt[2], clock.Now()); err == nil {
			t.Errorf("%q passes", retryAt)
		}
	}
	for _, retryAt := range [][2]string{{"2026-01-02", "2026-01-02"}, {"2026-01-02", "2026-01-01"}, {"2020-01-01", "2026-01-01"}, {"1999-12-31", "2000-01-02"}} {
		if period(t, retryAt[0], retryAt[1], "UTC").check(false) == nil {
			t.Errorf("%q passes", retryAt)
		}
	}
	// Samoa skipped 30 December 2011 when it crossed the date line.
	if p := period(t, "2011-12-30", "2011-12-31", "Pacific/Apia"); p.check(false) == nil {
		t.Errorf("a day that never was goes from %s to %s", p.From, p.To)
	}
	long := period(t, "2026-01-01", "2026-04-01", "UTC")
	if long.check(false) != nil || long.check(true) == nil {
		t.Error("ninety days are right by day and too long by hour")
	}
}

// TestSums checks that an unknown cost is null and not zero.
func TestSums(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		of   amounts
		want string
	}{
		"nothing happened":      {amounts{}, `"0"`},
		"nobody knows":          {amounts{runs: 2, unpriced: 2}, `null`},
		"half of it":            {amounts{runs: 2, unpriced: 1, priced: 1, cost: 5}, `"0.000000005"`},
		"it cost nothing":       {amounts{runs: 1, priced: 1}, `"0"`},
		"a price came too late": {amounts{runs: 1, corrections: 1, priced: 1, cost: 7}, `"0.000000007"`},
	}
	for name, c := range tests {
		if got, err := json.Marshal(c.of.sums().CostUSD); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}
