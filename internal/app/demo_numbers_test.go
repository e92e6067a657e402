package app_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/app"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/money"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// A number that two pages show differently makes people distrust both, and a past that contradicts
// itself makes them distrust the demo.
func TestDemoAddsUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 60 s")
	}
	d := startDemo(t, t.TempDir())
	s, owner := serveDemo(t, d)
	defer s.stop()
	s.connected()
	owner.awaitLedger(t, d)
	t.Run("the cost of today", func(t *testing.T) { owner.wantOne(t, owner.costsOfToday()) })
	t.Run("open reviews", func(t *testing.T) { owner.wantOne(t, owner.openReviews()) })
	t.Run("blocked tasks", func(t *testing.T) { owner.wantOne(t, owner.blockedTasks()) })
	t.Run("unresolved items", func(t *testing.T) { owner.wantOne(t, owner.unresolvedItems()) })
	t.Run("what needs the owner", func(t *testing.T) { owner.wantOne(t, owner.needs()) })
	t.Run("the standups", owner.wantPastStandups)
}

// awaitLedger waits until the ledger has all that the agents have spent in the demo's past.
func (c caller) awaitLedger(t *testing.T, d *app.Demo) {
	t.Helper()
	from := time.Now().AddDate(0, 0, -15).UTC().Truncate(24 * time.Hour)
	waitAtMost(t, 3*time.Minute, "the ledger of the past", func() bool { // it is written on a busy machine
		total := c.usage("from=" + from.Format(time.DateOnly)).Total
		return total.CostUSD != nil && int64(*total.CostUSD) == d.Runtime.SpentSince(from)
	})
}

// wantOne checks that all places show the same number.
func (c caller) wantOne(t *testing.T, shown map[string]string) {
	t.Helper()
	distinct := map[string]bool{}
	for _, n := range shown {
		distinct[n] = true
	}
	if len(distinct) != 1 {
		t.Errorf("the places show %v", shown)
	}
}

// costsOfToday returns the cost of today as each place shows it.
func (c caller) costsOfToday() map[string]string {
	c.house.t.Helper()
	today := "from=" + time.Now().UTC().Format(time.DateOnly)
	cost := func(n int64) string { return money.Nano(n).String() }
	shown := map[string]string{}
	for _, group := range []string{"agent", "model", "source", "session", "hour"} {
		r := c.usage(today + "&group=" + group)
		var sum int64
		for _, g := range r.Groups {
			sum += nanosOf(g.CostUSD)
		}
		shown["total by "+group], shown["sum by "+group] = cost(nanosOf(r.Total.CostUSD)), cost(sum)
	}
	var bySummaries, byPages, byCSV int64
	for _, a := range c.summaries() {
		bySummaries += nanosOf(a.Summary.Spend.Today.CostUSD)
		byPages += nanosOf(decode[agent.Page](c.get("/api/v1/agents/" + a.AgentID).want(http.StatusOK)).Spend.Today.CostUSD)
	}
	rows, err := csv.NewReader(strings.NewReader(string(c.get("/api/v1/usage.csv?" + today + "&group=agent").want(http.StatusOK).body))).ReadAll()
	if err != nil {
		c.house.t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for i, head := range rows[0] {
			if head == "cost_usd" {
				var n money.Nano
				if err := n.UnmarshalJSON([]byte(strconv.Quote(row[i]))); err != nil {
					c.house.t.Fatal(err)
				}
				byCSV += int64(n)
			}
		}
	}
	shown["summaries of agents"], shown["pages of agents"], shown["CSV"] = cost(bySummaries), cost(byPages), cost(byCSV)
	return shown
}

func nanosOf(n *money.Nano) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

func (c caller) summaries() []agent.Agent {
	c.house.t.Helper()
	return decode[[]agent.Agent](c.get("/api/v1/agents?summary=true").want(http.StatusOK))
}

// total returns the total of a list.
func (c caller) total(path string) string {
	c.house.t.Helper()
	return c.get(path + "&limit=1&total=true").want(http.StatusOK).header.Get("X-Total-Count")
}

func (c caller) openReviews() map[string]string {
	c.house.t.Helper()
	var open int64
	for _, a := range c.summaries() {
		open += a.Summary.Tasks.Open.Review
	}
	return map[string]string{
		"board": c.total("/api/v1/tasks?status=review"), "inbox": c.total("/api/v1/inbox?kind=task_review&state=open,acked,snoozed"),
		"needs you": c.total("/api/v1/inbox?needs_me=true&kind=task_review"), "agents": strconv.FormatInt(open, 10),
	}
}

func (c caller) blockedTasks() map[string]string {
	c.house.t.Helper()
	var blocked int64
	for _, a := range c.summaries() {
		blocked += a.Summary.Tasks.Blocked
	}
	return map[string]string{
		"board": c.total("/api/v1/tasks?blocked=true&status=backlog,todo,in_progress,review"), "agents": strconv.FormatInt(blocked, 10),
	}
}

func (c caller) unresolvedItems() map[string]string {
	c.house.t.Helper()
	listed := decode[[]inbox.Item](c.get("/api/v1/inbox?state=open,acked,snoozed&limit=500").want(http.StatusOK))
	sum := 0
	for _, state := range []string{"open", "acked", "snoozed"} {
		n, err := strconv.Atoi(c.total("/api/v1/inbox?state=" + state))
		if err != nil {
			c.house.t.Fatal(err)
		}
		sum += n
	}
	return map[string]string{"total": c.total("/api/v1/inbox?state=open,acked,snoozed"), "list": strconv.Itoa(len(listed)), "by state": strconv.Itoa(sum)}
}

func (c caller) needs() map[string]string {
	c.house.t.Helper()
	rows := decode[[]inbox.Item](c.get("/api/v1/inbox?needs_me=true&limit=500").want(http.StatusOK))
	kinds := map[inbox.Kind]bool{}
	sum := 0
	for _, i := range rows {
		kinds[i.Kind] = true
	}
	for kind := range kinds {
		n, err := strconv.Atoi(c.total("/api/v1/inbox?needs_me=true&kind=" + string(kind)))
		if err != nil {
			c.house.t.Fatal(err)
		}
		sum += n
	}
	return map[string]string{"badge": c.total("/api/v1/inbox?needs_me=true"), "rows": strconv.Itoa(len(rows)), "headline": strconv.Itoa(sum)}
}

var (
	saidFinished = regexp.MustCompile(`Finished (TASK-\d+)`)       // in an agent's report
	inSummary    = regexp.MustCompile(`the team finished [^.]*\.`) // in a review
	taskKeys     = regexp.MustCompile(`TASK-\d+`)
)

// wantPastStandups checks that each weekday of two weeks has a standup, that what it says of the agents'
// runs is what Spend says, and that no task was finished twice.
func (c caller) wantPastStandups(t *testing.T) {
	held := decode[[]standup.Brief](c.get("/api/v1/standups?status=completed&limit=50").want(http.StatusOK))
	if len(held) != 10 {
		t.Errorf("there are %d standups", len(held))
	}
	onBoard, said, reviewed := map[string]string{}, map[string]string{}, map[string]string{}
	once := func(seen map[string]string, key, date string) {
		if was := seen[key]; was != "" && was != date {
			t.Errorf("%s was finished before the standups of %s and %s", key, was, date)
		}
		seen[key] = date
	}
	for _, b := range held {
		m := decode[meeting](c.get("/api/v1/standups/" + b.ID).want(http.StatusOK))
		if found := inSummary.FindString(deref(m.Summary)); found != "" {
			for _, key := range taskKeys.FindAllString(found, -1) {
				once(reviewed, key, b.Date)
			}
		}
		for _, r := range m.Reports {
			e := r.Evidence
			if e == nil || e.Runs == nil {
				t.Errorf("the evidence of %s on %s is %+v", r.AgentID, b.Date, e)
				continue
			}
			for _, f := range e.Finished {
				once(onBoard, f.Key, b.Date)
			}
			for _, m := range saidFinished.FindAllStringSubmatch(deref(r.Text), -1) {
				once(said, m[1], b.Date)
			}
			period := "from=" + url.QueryEscape(e.Since.Format(time.RFC3339Nano)) + "&to=" + url.QueryEscape(e.AsOf.Add(time.Millisecond).Format(time.RFC3339Nano))
			var ledger usage.Sums
			for _, g := range c.usage("group=agent&" + period).Groups {
				if g.Key != nil && *g.Key == r.AgentID {
					ledger = g.Sums
				}
			}
			if got, want := fmt.Sprint(e.Runs.Count, " ", nanosOf(e.Runs.CostUSD)), fmt.Sprint(ledger.Runs, " ", nanosOf(ledger.CostUSD)); got != want {
				t.Errorf("runs and cost of %s before the standup of %s are %s, in the ledger %s", r.AgentID, b.Date, got, want)
			}
		}
	}
	// The COO leads the standups and gives no report, so that its tasks are only in the reviews.
	led := 0
	for _, k := range decode[[]task.Task](c.get("/api/v1/tasks?status=done&assignee=coo").want(http.StatusOK)) {
		if _, told := reviewed[k.Key]; told {
			led++
			delete(reviewed, k.Key)
		}
	}
	if len(onBoard) == 0 || !maps.Equal(onBoard, said) || !maps.Equal(onBoard, reviewed) || led != 1 {
		t.Errorf("finished are %v on the board, %v in the reports, and %v in the reviews, with %d of the COO", onBoard, said, reviewed, led)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
