//go:build journey

package realgateway

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// burnt is the usage as both the ledger and the gateway report it.
type burnt struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other"`
}

// sums is a part of the ledger.
type sums struct {
	Key         *string `json:"key"`
	Runs        int64   `json:"runs"`
	Unpriced    int64   `json:"unpriced_runs"`
	Corrections int64   `json:"corrections"`
	Tokens      burnt   `json:"tokens"`
	CostUSD     *string `json:"cost_usd"`
}

func (s sums) cost() *big.Rat {
	if s.CostUSD == nil {
		return new(big.Rat)
	}
	r, _ := new(big.Rat).SetString(*s.CostUSD)
	return r
}

// spending is a report of the ledger.
type spending struct {
	Total  sums
	Series []sums
	Groups []sums
}

// totals is the gateway's own usage of its sessions.
type totals struct {
	Cost  float64
	Burnt burnt
}

// trial is a service under test with one of the databases.
type trial struct {
	*journey
	name string
	op   *operator
}

// rounds is how often every agent does everything that starts a run.
const rounds = 2

// After more than 200 runs of every kind, with crashes of both sides, the ledger equals
// the gateway's totals. It does not change when the gateway deletes its sessions.
func TestLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten minutes")
	}
	bin, model := Build(t), StartModel(t)
	model.Cache(true)
	gateway := StartGateway(t, t.TempDir(), model, Access{Open: true})
	trials := []*trial{
		{name: "SQLite", journey: startJourney(t, bin, model, gateway, "2026-11", nil)},
		{name: "PostgreSQL", journey: startJourney(t, bin, model, gateway, "2026-11", map[string]string{"DATABASE_URL": PostgresDatabase(t)})},
	}
	for _, j := range trials {
		j.connected(t)
	}
	trials[0].end(t, trials[0].hold(t), "completed", "answered", "answered", "answered")
	for n := range rounds {
		model.Forget()
		if !t.Run(fmt.Sprint("round ", n), func(t *testing.T) { round(t, n, trials) }) {
			return
		}
		gatewayDies(t, n, gateway, trials)
	}
	for _, j := range trials {
		t.Run(j.name, func(t *testing.T) {
			j.connected(t)
			j.op = j.administrator(t)
			j.equals(t)
			j.once(t)
			j.sources(t)
			j.addsUp(t)
			j.loopsNever(t)
		})
	}
	t.Run("the gateway has deleted it all", func(t *testing.T) { outlive(t, gateway, trials) })
}

// round makes all agents work at once while the services are killed. They are not
// parallel tests, because only as many of those run at once as there are cores.
func round(t *testing.T, n int, trials []*trial) {
	var all sync.WaitGroup
	for _, agent := range agentIDs() {
		all.Go(func() { t.Run(agent, (&worker{trials[0], agent, n}).work) })
	}
	for i, j := range trials {
		all.Go(func() {
			t.Run(j.name+" dies meanwhile", func(t *testing.T) {
				WaitFor(t, 5*time.Minute, "some runs", func() bool { return len(j.model.Calls("cto")) > 4+8*i })
				j.server.Kill9(t)
				j.server.Start(t)
			})
		})
	}
	all.Wait()
}

// loopsNever checks that none of all these runs was taken for one that repeats itself.
func (j *trial) loopsNever(t *testing.T) {
	t.Helper()
	var items []struct{ Title string }
	j.owner.Get(t, "/api/v1/inbox?kind=loop&state=open,acked,snoozed,resolved").Into(t, http.StatusOK, &items)
	if len(items) > 0 {
		t.Errorf("of healthy runs, these are said to be loops: %+v", items)
	}
}

func (j *trial) hold(t *testing.T) string {
	t.Helper()
	id := j.open(t, "05")
	j.run(t, id)
	return id
}

// gatewayDies kills the gateway during runs, sometimes together with a service, and
// restarts it.
func gatewayDies(t *testing.T, n int, gateway *Gateway, trials []*trial) {
	t.Helper()
	op, model := trials[0].administrator(t), trials[0].model
	model.Forget()
	for _, agent := range agentIDs() {
		op.call(t, "agent", map[string]any{
			"message": `[[use exec {"command":"echo '[[wait 4s]]'"}]]`, "agentId": agent, "sessionKey": "agent:" + agent + ":main",
			"idempotencyKey": fmt.Sprint("dies-", agent, n), "deliver": false, "timeout": 60,
		})
	}
	WaitFor(t, 2*time.Minute, "a run in its second call", func() bool { return len(model.Calls("cto")) > 1 })
	dead := trials[n%len(trials)].server
	dead.Kill9(t)
	gateway.Kill(t)
	gateway.Start(t)
	dead.Start(t)
}

// gatewayTotals returns the gateway's own totals, overall and by session key. ok is true
// if they are up to date.
func (j *trial) gatewayTotals(t *testing.T) (all totals, by map[string]totals, ok bool) {
	t.Helper()
	var out struct {
		Sessions []struct {
			Key   string
			Usage *struct {
				Input, Output, CacheRead, CacheWrite, TotalTokens int64
				TotalCost                                         float64
				MissingCostEntries                                int64
			}
		}
		CacheStatus struct{ Status string }
	}
	answer := j.op.call(t, "sessions.usage", map[string]any{"agentScope": "all", "range": "all", "mode": "utc", "limit": 5000})
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatal(err)
	}
	by = map[string]totals{}
	for _, s := range out.Sessions {
		if s.Usage == nil {
			return all, nil, false
		}
		u := s.Usage
		one := burnt{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.TotalTokens - u.Input - u.Output - u.CacheRead - u.CacheWrite}
		was := by[s.Key]
		by[s.Key] = totals{was.Cost + u.TotalCost, was.Burnt.plus(one)}
		all = totals{all.Cost + u.TotalCost, all.Burnt.plus(one)}
	}
	return all, by, out.CacheStatus.Status == "fresh"
}

func (b burnt) plus(o burnt) burnt {
	return burnt{b.Input + o.Input, b.Output + o.Output, b.CacheRead + o.CacheRead, b.CacheWrite + o.CacheWrite, b.Other + o.Other}
}

func (j *trial) report(t *testing.T, query string) (r spending) {
	t.Helper()
	j.owner.Get(t, "/api/v1/usage?"+query).Into(t, http.StatusOK, &r)
	return r
}

// near reports whether two costs differ by less than a micro-dollar.
func near(ours *big.Rat, theirs float64) bool {
	d := new(big.Rat).Sub(ours, new(big.Rat).SetFloat64(theirs))
	return d.Abs(d).Cmp(big.NewRat(1, 1_000_000)) < 0
}

// equals waits until the ledger equals the gateway. The usage of a deleted transcript is
// final after two minutes without activity, and the totals are read at least every two
// minutes.
func (j *trial) equals(t *testing.T) {
	t.Helper()
	var all totals
	var by map[string]totals
	begin := time.Now()
	var said string
	end := begin.Add(6 * time.Minute)
	for {
		var ok bool
		all, by, ok = j.gatewayTotals(t)
		total := j.report(t, "group=agent").Total
		if said = fmt.Sprintf("the gateway, fresh %t: %+v; the ledger: %+v, %s", ok, all, total, total.cost().FloatString(9)); ok && total.Tokens == all.Burnt && near(total.cost(), all.Cost) {
			break
		}
		if time.Now().After(end) {
			for _, g := range j.report(t, "group=session").Groups {
				t.Logf("of %s the ledger has %+v, the gateway %+v", *g.Key, g.Tokens, by[*g.Key].Burnt)
			}
			t.Fatalf("they differ: %s\n%s", said, j.server.Log())
		}
		time.Sleep(time.Second)
	}
	t.Logf("equal after %s: %s", time.Since(begin).Round(time.Second), said)
	for _, g := range j.report(t, "group=session").Groups {
		if g.Key == nil {
			t.Errorf("usage without a session: %+v", g)
			continue
		}
		theirs, ok := by[*g.Key]
		if ok && (g.Tokens != theirs.Burnt || !near(g.cost(), theirs.Cost)) {
			t.Errorf("%s: ours %+v %s, theirs %+v", *g.Key, g.Tokens, g.cost().FloatString(9), theirs)
		}
		if g.Corrections != 0 {
			t.Logf("%s: %d corrections, %d runs, there %t", *g.Key, g.Corrections, g.Runs, ok)
		}
	}
}

// once checks that each run of the gateway's sessions is in the ledger exactly once.
func (j *trial) once(t *testing.T) {
	t.Helper()
	ours := map[string]int64{}
	for _, g := range j.report(t, "group=session").Groups {
		if g.Key != nil {
			ours[*g.Key] = g.Runs
		}
	}
	for _, key := range j.keys(t) {
		var out struct {
			Messages []struct {
				Model string
				Usage struct{ TotalTokens int64 }
				Meta  struct{ RunID string } `json:"__openclaw"`
			}
		}
		if err := json.Unmarshal(j.op.call(t, "sessions.get", map[string]any{"key": key, "limit": 1000}), &out); err != nil {
			t.Fatal(err)
		}
		runs := map[string]bool{}
		for _, m := range out.Messages {
			if m.Usage.TotalTokens > 0 {
				runs[m.Meta.RunID+" "+m.Model] = true
			}
		}
		if got := ours[key]; got != int64(len(runs)) && !strings.HasSuffix(key, ":anew") {
			t.Errorf("%s: the ledger has %d runs, the gateway %d", key, got, len(runs))
		}
	}
}

// keys returns the keys of the gateway's sessions.
func (j *trial) keys(t *testing.T) (keys []string) {
	t.Helper()
	var out struct{ Sessions []struct{ Key string } }
	if err := json.Unmarshal(j.op.call(t, "sessions.list", map[string]any{"limit": 1000}), &out); err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Sessions {
		keys = append(keys, s.Key)
	}
	return keys
}

// sources checks the number of runs of every source.
func (j *trial) sources(t *testing.T) {
	t.Helper()
	got := map[string]int64{}
	r := j.report(t, "group=source")
	if r.Total.Runs < 200 {
		t.Errorf("%d runs, want two hundred", r.Total.Runs)
	}
	for _, g := range r.Groups {
		got[*g.Key] = g.Runs
		t.Logf("%s: %d runs, %d corrections, %s", *g.Key, g.Runs, g.Corrections, g.cost().FloatString(6))
	}
	for _, source := range []string{"human", "schedule", "heartbeat", "sub_agent", "standup", "task"} {
		if got[source] == 0 {
			t.Errorf("no run is of the source %s: %v", source, got)
		}
	}
	for _, g := range j.report(t, "group=task").Groups {
		if g.Key != nil && *g.Key != "TRI-1" {
			t.Errorf("runs for the task %s", *g.Key)
		}
	}
}

// addsUp checks that all reports of the same period have the same total.
func (j *trial) addsUp(t *testing.T) {
	t.Helper()
	for _, zone := range []string{"UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"} {
		day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
		until := time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
		for _, group := range []string{"agent", "model", "source", "session", "job", "task", "standup", "day", "hour"} {
			query := "from=" + day + "&to=" + until + "&zone=" + zone + "&group=" + group
			r := j.report(t, query)
			var series, groups sums
			series.add(r.Series)
			groups.add(r.Groups)
			table := j.table(t, query)
			for name, part := range map[string]sums{"series": series, "groups": groups, "table": table} {
				if part.Runs != r.Total.Runs || part.Tokens != r.Total.Tokens || part.cost().Cmp(r.Total.cost()) != 0 {
					t.Errorf("%s: the %s is %+v %s, the total %+v %s", query, name, part, *part.CostUSD, r.Total, *r.Total.CostUSD)
				}
			}
		}
	}
}

func (s *sums) add(list []sums) {
	cost := new(big.Rat)
	for _, one := range list {
		s.Runs, s.Tokens = s.Runs+one.Runs, s.Tokens.plus(one.Tokens)
		cost.Add(cost, one.cost())
	}
	s.CostUSD = new(cost.FloatString(9))
}

// table returns the sum of the rows of the CSV table.
func (j *trial) table(t *testing.T, query string) (s sums) {
	t.Helper()
	res := j.owner.Get(t, "/api/v1/usage.csv?"+query)
	res.Want(t, http.StatusOK)
	lines, err := csv.NewReader(bytes.NewReader(res.Body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []sums
	for _, cells := range lines[1:] {
		var n [8]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(cells[i+1], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, sums{Runs: n[0], Tokens: burnt{n[3], n[4], n[5], n[6], n[7]}, CostUSD: new(cmpOr(cells[9], "0"))})
	}
	s.add(list)
	return s
}

func cmpOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// everything returns all reports of a service as text.
func (j *trial) everything(t *testing.T) (all []string) {
	t.Helper()
	day, until := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	for _, g := range []string{"agent", "model", "source", "session", "task", "hour"} {
		all = append(all, string(j.owner.Get(t, "/api/v1/usage?from="+day+"&to="+until+"&group="+g).Body))
	}
	return all
}

// outlive deletes every session of the gateway and checks that the ledger does not
// change.
func outlive(t *testing.T, gateway *Gateway, trials []*trial) {
	before := map[*trial][]string{}
	for _, j := range trials {
		before[j] = j.everything(t)
	}
	first := trials[0]
	first.op = first.administrator(t)
	for _, key := range first.keys(t) {
		// The main session of an agent cannot be deleted, but it is reset.
		if f := first.op.exchange(t, "sessions.delete", map[string]any{"key": key}); !f.OK {
			first.op.call(t, "sessions.reset", map[string]any{"key": key})
		}
	}
	t.Logf("the gateway has %v left", first.keys(t))
	gateway.Restart(t)
	for _, j := range trials {
		j.server.Kill9(t)
		j.server.Start(t)
		j.connected(t)
		j.op = j.administrator(t)
		WaitFor(t, 2*time.Minute, "the gateway's totals of what is left", func() bool {
			_, _, fresh := j.gatewayTotals(t)
			return fresh
		})
		WaitFor(t, time.Minute, "the list of what is left", func() bool { return len(j.sessions(t, "")) == len(j.keys(t)) })
		if after := j.everything(t); !slices.Equal(before[j], after) {
			t.Errorf("%s: before\n%s\nafter\n%s", j.name, strings.Join(before[j], "\n"), strings.Join(after, "\n"))
		}
	}
}
