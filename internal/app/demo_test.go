package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wardroom/internal/app"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
	"wardroom/internal/schedule"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

func startDemo(t *testing.T, dir string) *app.Demo {
	t.Helper()
	return startDemoIn(t, dir, "")
}

func startDemoIn(t *testing.T, dir, zone string) *app.Demo {
	t.Helper()
	d, err := app.NewDemo(context.Background(), app.DemoOptions{Dir: dir, Port: "0", Still: true, Timezone: zone}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // closing twice is harmless
	return d
}

// card is the part of a task on the demo's board that the tests compare.
type card struct {
	Key, Title, Status, Assignee, Blocked string
	AgeDays, MovedHours, BlockedDays      float64
}

// sameBoard tolerates the age that boards gain between two reads.
var sameBoard = cmpopts.EquateApprox(0, 0.4)

// boardOf returns the demo's board, oldest tasks first.
func boardOf(t *testing.T, d *app.Demo) []card {
	t.Helper()
	part, err := d.App.Tasks.Cards(t.Context(), task.Filter{}, page.Want{}, false)
	if err != nil {
		t.Fatal(err)
	}
	whose := map[string]string{}
	users, err := d.App.Accounts.AgentUsers(t.Context(), d.App.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		whose[u.UserID] = u.AgentID
	}
	cards := make([]card, len(part.Rows))
	for i, row := range part.Rows {
		k, err := row.Task()
		if err != nil {
			t.Fatal(err)
		}
		c := card{Key: k.Key, Title: k.Title, Status: string(k.Status)}
		c.AgeDays, c.MovedHours = time.Since(k.CreatedAt.Time).Hours()/24, time.Since(k.MovedAt.Time).Hours()
		if k.AssigneeID != nil {
			c.Assignee = whose[*k.AssigneeID]
		}
		if k.Blocked != nil {
			c.Blocked, c.BlockedDays = k.Blocked.Reason, time.Since(k.Blocked.Since.Time).Hours()/24
		}
		cards[len(part.Rows)-1-i] = c
	}
	return cards
}

// The demo starts with a plausible board, and a restart keeps it and the password.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by-itself")
	d := startDemo(t, dir)
	first, pass := boardOf(t, d), d.Password
	var blocked, old, done int
	columns := map[string]int{}
	for i, c := range first {
		columns[c.Status]++
		// Tasks after the seventeenth are action items of the past standups.
		if c.Assignee == "" || i < 17 && c.AgeDays < 1 {
			t.Errorf("%+v has no assignee or is from today", c)
		}
		if c.Blocked != "" {
			blocked++
			if c.BlockedDays >= 3 {
				old++
			}
		}
		if c.Status == "done" {
			done++
		}
	}
	if len(columns) != 5 {
		t.Errorf("the statuses are %v", columns)
	}
	if len(first) < 12 || blocked < 2 || old == 0 || done < 2 {
		t.Errorf("the board has %d tasks, %d blocked, %d of them for long, %d done", len(first), blocked, old, done)
	}
	if info, err := os.Stat(filepath.Join(dir, "demo.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the secrets is %v, %v", info, err)
	}
	wantEscalation(t, d)
	title, column := "A title that a visitor gave", task.Review
	if _, err := d.App.Tasks.Update(actor.With(t.Context(), actor.System), "TASK-15", task.Change{Title: &title, Status: &column}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	d = startDemo(t, dir)
	if d.Password != pass {
		t.Error("the second start changed the password")
	}
	if _, err := d.App.Accounts.Login(t.Context(), app.DemoOwner, pass, netip.Addr{}); err != nil {
		t.Errorf("the owner cannot log in: %v", err)
	}
	for _, a := range demo.DefaultAgents() {
		if _, err := d.App.Accounts.Login(t.Context(), a.ID+"@wardroom.demo", pass, netip.Addr{}); err != nil {
			t.Errorf("%s cannot log in: %v", a.ID, err)
		}
	}
	first[14].Title, first[14].Status, first[14].MovedHours = title, string(column), 0
	if diff := cmp.Diff(first, boardOf(t, d), sameBoard); diff != "" {
		t.Errorf("the second start changed the board:\n%s", diff)
	}
	wantEscalation(t, d)
}

// wantEscalation checks that the demo's inbox has one open escalation about an existing
// task.
func wantEscalation(t *testing.T, d *app.Demo) {
	t.Helper()
	part, err := d.App.Inbox.List(t.Context(), inbox.Filter{Kinds: []inbox.Kind{inbox.Escalation}}, page.Want{})
	if err != nil || len(part.Rows) != 1 {
		t.Fatalf("the inbox has %+v, %v", part.Rows, err)
	}
	i := part.Rows[0]
	about, err := d.App.Tasks.Get(t.Context(), i.Subject.Name)
	if err != nil || i.Kind != inbox.Escalation || i.Count < 1 || time.Since(i.FirstAt.Time) < 20*time.Hour || about.ID != i.Subject.ID || about.Blocked == nil {
		t.Errorf("the item is %+v, of %+v, %v", i, about, err)
	}
}

// serveDemo runs a demo and logs its owner in.
func serveDemo(t *testing.T, d *app.Demo) (*service, caller) {
	t.Helper()
	ln, err := d.App.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{
		App: d.App, house: &house{t: t}, base: "http://" + ln.Addr().String(), cancel: cancel, ended: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{}, Timeout: 60 * time.Second},
	}
	go func() { s.ended <- d.App.Run(ctx, ln) }()
	signIn := s.anonymous().post("/api/v1/auth/login", map[string]string{"email": app.DemoOwner, "password": d.Password}).want(http.StatusOK)
	return s, caller{s, decode[struct{ Token string }](signIn).Token}
}

// The demo has days of usage, scheduled jobs that ran and failed, and standups, all
// created through the regular services and in the zone of the first start.
func TestDemoIsLivedIn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dir, past := t.TempDir(), time.Now().Add(-lastMoment)
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	d := startDemoIn(t, dir, zone.String())
	s, owner := serveDemo(t, d)
	s.connected()
	week := "from=" + time.Now().AddDate(0, 0, -7).In(zone).Format(time.DateOnly)
	var first usage.Report
	waitFor(t, "the usage of the past", func() bool {
		first = owner.usage("group=source&" + week)
		return len(first.Groups) >= 5
	})
	if agents, models := owner.usage("group=agent&"+week), owner.usage("group=model&"+week); len(agents.Groups) != 4 || len(models.Groups) != 2 {
		t.Errorf("%d agents used %d models", len(agents.Groups), len(models.Groups))
	}
	const patience = 3 * time.Minute // two weeks are written on a busy machine
	waitAtMost(t, patience, "what was spent on the same day a week ago", func() bool {
		day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).In(zone).Format(time.DateOnly) }
		return owner.usage("from="+day(7)+"&to="+day(6)).Total.Runs > 10
	})
	states, daily := owner.slotStates(time.Now().AddDate(0, 0, -14), past)
	if states["on_time"] < 150 || states["late"] != 2 || states["missed"] != 2 || states["failed"] != 2 || daily < 13 {
		t.Errorf("the due times of two weeks are %v, %d of the daily job", states, daily)
	}
	wantFailureOfTheNight(t, owner, zone)
	held := decode[[]standup.Brief](owner.get("/api/v1/standups?status=completed"))
	if len(held) != 10 {
		t.Errorf("there are %d standups", len(held))
	}
	for _, b := range held {
		m := decode[meeting](owner.get("/api/v1/standups/" + b.ID))
		if m.StartedAt.In(zone).Format(time.DateOnly+" 15:04") != m.Date+" 08:06" || m.CompletedAt == nil || m.CompletedAt.Sub(m.StartedAt.Time) > 2*time.Minute || time.Since(m.CompletedAt.Time) < 8*time.Hour || len(m.Reports) != 3 && len(m.Reports) != 4 {
			t.Errorf("the standup of %s went from %v to %v, with %d reports", m.Date, m.StartedAt, m.CompletedAt, len(m.Reports))
		}
	}
	s.stop()

	// The second start finds the same past and counts nothing twice.
	d = startDemoIn(t, dir, "America/Los_Angeles")
	s, owner = serveDemo(t, d)
	defer s.stop()
	s.connected()
	waitFor(t, "the sessions of the past", func() bool {
		rows, _, err := d.App.Sessions.List(t.Context(), session.Filter{}, nil, 1000)
		return err == nil && len(rows) > 50
	})
	if again := owner.usage("group=source&" + week); again.Total.Runs < first.Total.Runs || again.Total.Corrections != first.Total.Corrections {
		t.Errorf("the second start counts %+v, the first %+v", again.Total, first.Total)
	}
}

// lastMoment is how long before the start of a demo the outcome of its jobs is not
// checked: jobs due in the last four minutes run as soon as the runtime is there, which may be late.
const lastMoment = 5 * time.Minute

// slotStates counts the outcomes of the due times in a period, and those of the nightly
// backup check.
func (c caller) slotStates(from, to time.Time) (states map[schedule.State]int, daily int) {
	c.house.t.Helper()
	states = map[schedule.State]int{}
	path := "/api/v1/agentrt/slots?limit=500&from=" + url.QueryEscape(from.UTC().Format(time.RFC3339)) + "&to=" + url.QueryEscape(to.UTC().Format(time.RFC3339))
	for _, slot := range decode[[]schedule.Slot](c.get(path).want(http.StatusOK)) {
		states[slot.State]++
		if slot.Name == "Check the backup" {
			daily++
		}
	}
	return states, daily
}

// wantFailureOfTheNight checks that the inbox has the failed backup check with the time
// of its run.
func wantFailureOfTheNight(t *testing.T, owner caller, zone *time.Location) {
	t.Helper()
	items := decode[[]inbox.Item](owner.get("/api/v1/inbox?kind=job_failed").want(http.StatusOK))
	if len(items) != 1 || items[0].Count != 2 {
		t.Fatalf("the inbox items of failed jobs are %+v", items)
	}
	if at := items[0].LastAt.In(zone); at.Format("15:04") < "02:15" || at.Format("15:04") > "02:17" || time.Since(at) > 25*time.Hour {
		t.Errorf("it failed at %s", at)
	}
}

// After a day off, the demo has data until a moment ago, and the ledgers have nothing
// twice.
func TestDemoGoesOnWorking(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dir, past := t.TempDir(), time.Now().Add(-lastMoment)
	began := time.Now().Add(-26 * time.Hour).UTC().Truncate(time.Millisecond)
	state, err := json.Marshal(map[string]any{
		"jwt_secret": strings.Repeat("00", 48), "gateway_token": "a-token", "password": "a password of the demo", "began": began,
		"past": []demo.Span{{From: began.AddDate(0, 0, -14), Until: began}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "demo.json"), state, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The demo was closed as soon as it was filled, and is started again only now.
	if err := startDemo(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	before := "from=" + began.AddDate(0, 0, -13).Format(time.DateOnly) + "&to=" + began.Format(time.DateOnly)
	var first usage.Report
	for _, again := range []bool{false, true} {
		d := startDemo(t, dir)
		s, owner := serveDemo(t, d)
		s.connected()
		waitFor(t, "the newest sessions", func() bool {
			rows, _, err := d.App.Sessions.List(t.Context(), session.Filter{}, nil, 1000)
			if err != nil || len(rows) < 100 {
				return false
			}
			if age := time.Since(rows[0].UpdatedAt.Time); age > 12*time.Minute {
				t.Fatalf("the newest session is %s old", age)
			}
			return true
		})
		waitAtMost(t, 3*time.Minute, "the ledger", func() bool { // the past is written on a busy machine
			seen := owner.usage(before)
			same := seen.Total.Runs > 0 && seen.Total.Runs == first.Total.Runs
			if !same {
				first = seen
				time.Sleep(time.Second)
			}
			return same
		})
		total := owner.usage(before).Total
		if again && total.Runs != first.Total.Runs || total.Corrections != 0 {
			t.Errorf("there are %d earlier runs, want %d, and %d corrections", total.Runs, first.Total.Runs, total.Corrections)
		}
		states, _ := owner.slotStates(began, past)
		if states["on_time"] < 15 || states["missed"]+states["late"]+states["failed"]+states["unknown"] > 0 {
			t.Errorf("the due times since the first start are %v", states)
		}
		s.stop()
	}
}

// A standup in the demo refers to the tasks on its board.
func TestDemoStandup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	dir := t.TempDir()
	d := startDemo(t, dir)
	s, owner := serveDemo(t, d)
	defer func() { s.stop() }()
	if c := decode[app.PublicConfig](owner.get("/api/v1/config")); !c.Demo || c.SetupRequired {
		t.Errorf("the configuration is %+v", c)
	}
	s.connected()
	// The job of the demo's runtime really runs, and its COO has a key.
	made := decode[standup.Schedule](owner.post("/api/v1/standups/schedule", nil).want(http.StatusOK))
	if _, _, err := d.App.Gateway.RunJob(t.Context(), made.Job.ID); err != nil {
		t.Fatal(err)
	}
	var m meeting
	waitFor(t, "the COO's standup", func() bool {
		a := owner.get("/api/v1/standups/latest")
		if a.status == http.StatusOK {
			m = decode[meeting](a)
		}
		return m.Status == standup.Completed && m.Trigger != "system" // a past standup
	})
	if m.Trigger != "agent" {
		t.Errorf("it was started by %q", m.Trigger)
	}
	if m.Status != standup.Completed || len(m.Escalations) == 0 || len(m.Blockers) < 2 {
		t.Fatalf("the standup is %s, %+v, with %d escalations and %d blockers", m.Status, m.Failure, len(m.Escalations), len(m.Blockers))
	}
	for _, b := range m.Blockers {
		if b.Task == nil || b.AgeDays < 1 {
			t.Errorf("%+v has no task or no age", b)
		}
	}
	for _, r := range m.Reports {
		if len(r.Claims) > 0 {
			t.Errorf("%s has claims that contradict the board: %+v", r.AgentID, r.Claims)
		}
	}

	// The next standup does not repeat it, not even after a restart.
	if m.Summary == nil || !strings.HasPrefix(*m.Summary, "Since the last standup the team finished TASK-") {
		t.Errorf("the headline is %v", m.Summary)
	}
	s.stop()
	d = startDemo(t, dir)
	s, owner = serveDemo(t, d)
	s.connected()
	owner.patch("/api/v1/tasks/TASK-15", map[string]any{"status": "done"}).want(http.StatusOK)
	next := decode[meeting](owner.post("/api/v1/standups", map[string]any{"date": "2030-01-02"}).want(http.StatusCreated))
	owner.post("/api/v1/standups/"+next.ID+"/run", nil)
	waitFor(t, "the next standup", func() bool {
		next = decode[meeting](owner.get("/api/v1/standups/" + next.ID))
		return next.Status == standup.Completed
	})
	if next.Summary == nil || !strings.HasPrefix(*next.Summary, "Since the last standup the team finished TASK-15. ") {
		t.Errorf("the headline of the next standup is %q", *next.Summary)
	}
	for _, r := range next.Reports {
		if r.Yesterday != nil && strings.Contains(*r.Yesterday, "Finished") && !strings.Contains(*r.Yesterday, "TASK-15") {
			t.Errorf("%s repeats: %s", r.AgentID, *r.Yesterday)
		}
	}
}

// A demo that was killed while it filled its board is complete after the next start.
func TestDemoGoesOnFilling(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	for name, undo := range map[string]string{
		"before the accounts":        `DELETE FROM standups; DELETE FROM standup_blockers; DELETE FROM api_keys; DELETE FROM task_dependencies; DELETE FROM tasks; UPDATE task_counter SET last = 0; DELETE FROM users WHERE role = 'agent'`,
		"between the accounts":       `DELETE FROM standups; DELETE FROM standup_blockers; DELETE FROM api_keys; DELETE FROM task_dependencies; DELETE FROM tasks; UPDATE task_counter SET last = 0; DELETE FROM users WHERE agent_id IN ('cpo', 'cmo')`,
		"before the tasks":           `DELETE FROM standups; DELETE FROM standup_blockers; DELETE FROM task_dependencies; DELETE FROM tasks; UPDATE task_counter SET last = 0`,
		"between the tasks":          `DELETE FROM standups; DELETE FROM standup_blockers; DELETE FROM task_dependencies; DELETE FROM tasks WHERE number > 7; UPDATE task_counter SET last = 7`,
		"before a task was blocked":  `DELETE FROM standups; DELETE FROM standup_blockers; DELETE FROM task_dependencies; DELETE FROM tasks WHERE number > 4; UPDATE task_counter SET last = 4; UPDATE tasks SET status = 'backlog', moved_at = created_at, blocked_reason = NULL, blocked_since = NULL, blocked_by = NULL WHERE number = 4`,
		"before the last task moved": `UPDATE tasks SET status = 'backlog', moved_at = created_at WHERE number = 15`,
		"at the very end":            `SELECT 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := startDemo(t, dir)
			pass, whole := d.Password, boardOf(t, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(undo, "DELETE FROM tasks") {
				undo += `; DELETE FROM task_tags WHERE number NOT IN (SELECT number FROM tasks)`
			}
			if strings.Contains(undo, "standups") { // deletes the inbox items of the standups too
				undo += `; DELETE FROM inbox_items`
			}
			unfill(t, dir, undo)
			d = startDemo(t, dir)
			wantEscalation(t, d)
			if diff := cmp.Diff(whole, boardOf(t, d), sameBoard); diff != "" {
				t.Errorf("the board differs:\n%s", diff)
			}
			for _, who := range []string{app.DemoOwner, "cpo@wardroom.demo", "coo@wardroom.demo"} {
				if _, err := d.App.Accounts.Login(t.Context(), who, pass, netip.Addr{}); err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
}

// unfill returns a demo to a moment during its first start.
func unfill(t *testing.T, dir, statements string) {
	t.Helper()
	d, err := db.Own(t.Context(), filepath.Join(dir, "wardroom.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), statements)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "demo.json")
	var state map[string]any
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err == nil {
		delete(state, "filled")
		delete(state, "keys")
		data, err = json.Marshal(state)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
