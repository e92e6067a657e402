package app_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/test/year"
)

// Every statement of every route must cost about the same in a database with ten times
// the rows. Otherwise it is fast in a new installation and slow after a year.
func TestGrowth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	both(t, func(t *testing.T, engine db.Engine) {
		const few, many = 10_000, 100_000
		address := map[int]string{}
		fillTwice(t, engine, few, many, address)
		for _, a := range address { // otherwise the service works without the statistics that it would have by now
			change(t, a, func(d *db.DB) error { return settle(t.Context(), d) })
		}
		filled(t, engine, address[few], func(string, []any) {}).stop()
		var asked questions
		s := filled(t, engine, address[many], asked.note)
		askEverything(t, s)
		s.stop()
		if len(asked.args) < 400 {
			t.Errorf("only %d statements were seen", len(asked.args))
		}
		for _, a := range address {
			change(t, a, func(d *db.DB) error { return settle(t.Context(), d) })
		}
		compare(t, engine, &asked, newMeter(t, engine, address[few]), newMeter(t, engine, address[many]))
	})
}

// filled starts the service on a database and waits until it has derived its data from
// the existing rows.
func filled(t *testing.T, engine db.Engine, address string, note func(query string, args []any)) *service {
	t.Helper()
	h := newHouse(t, engine, func(r *config.Raw) {
		r.GatewayScopes = "operator.admin"                                                                                           // for schedules
		r.ArchiveAfterDays, r.ActivityLogRetentionDays, r.HistoryRetentionDays, r.SubagentRetentionDays = "364", "364", "364", "364" // so that little is due
		r.DatabaseURL = config.Secret(address)
		if engine == db.SQLite {
			r.DatabaseURL = "sqlite:" + r.DatabaseURL
		}
	})
	a := h.build()
	a.DB.Observe(note)
	s := h.run(a).connected()
	for last := int64(-1); ; { // waits as long as it makes progress, however slow the machine is
		var upto, all int64
		waitAtMost(t, 5*time.Minute, "the next part of the index of texts", func() bool {
			err := a.DB.QueryRow(t.Context(), `SELECT upto, (SELECT last FROM task_counter WHERE one = 1) FROM task_grams_state WHERE one = 1`).Scan(&upto, &all)
			return err == nil && upto > last
		})
		if last = upto; upto >= all {
			break
		}
	}
	return s
}

// fillTwice creates a database of each size.
func fillTwice(t *testing.T, engine db.Engine, few, many int, address map[int]string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	plan := year.Plan{Now: time.Now().UTC().Truncate(time.Second), Full: year.Of(many), PasswordHash: string(hash)}
	address[many] = dbtest.Untouched(t, engine)
	change(t, address[many], func(d *db.DB) error {
		if _, err := d.Migrate(t.Context(), app.Schema()); err != nil {
			return err
		}
		return plan.Grow(t.Context(), d, year.Size{}, year.Of(few))
	})
	address[few] = copyOf(t, address[many])
	change(t, address[many], func(d *db.DB) error { return plan.Grow(t.Context(), d, year.Of(few), year.Of(many)) })
}

// change opens a database for fn and closes it.
func change(t *testing.T, address string, fn func(d *db.DB) error) {
	t.Helper()
	d, err := db.Own(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fn(d), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// copyOf returns the address of a copy of an unused database.
func copyOf(t *testing.T, address string) string {
	t.Helper()
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return dbtest.Copy(t, strings.Trim(u.Path, "/"))
	}
	whole, err := os.ReadFile(address)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(to, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// settle does what the engine does by itself over time. PostgreSQL collects statistics;
// SQLite has none, because the service never collects them.
func settle(ctx context.Context, d *db.DB) error {
	return d.Tx(ctx, func(tx *db.Tx) error {
		if d.Engine() == db.SQLite {
			return nil
		}
		_, err := tx.Exec(ctx, `ANALYZE`)
		return err
	})
}

// unnoticed is a cost that is not compared: a few thousand rows may be read and sorted,
// such as where few match a filter. most is the highest cost allowed.
func unnoticed(engine db.Engine) (unnoticed, most cost) {
	if engine == db.Postgres {
		return cost{4_000, 4_000}, cost{8_000, 10_000}
	}
	return cost{20_000, 4_000}, cost{60_000, 10_000}
}

// exception is a kind of statement that may cost more than others.
type exception struct {
	pattern string // of its text
	most    cost
	reason  string
}

// exceptions returns the statements that may cost more, with the reasons.
func exceptions() []exception {
	return []exception{
		{
			`^SELECT COUNT\(\*\) FROM \w+( LEFT JOIN usage_rollup ON [^?]*)?( INDEXED BY \w+)? WHERE (archived_at IS (NOT )?NULL|class = \?|state = 'resolved')$`,
			cost{2_000_000, 500_000},
			"the total of a whole list, which only a caller who asks for it gets, reads what it counts",
		},
		{
			`^WITH pieces `,
			cost{1_000_000, 20_000},
			"a report on spending reads a row for each group in each day or hour of its period, which has at most a year of days",
		},
		{
			`^WITH own AS `,
			cost{300_000, 20_000},
			"an agent's page counts, and its standup reads, all that it has to do, and passes over what is done and not yet archived",
		},
		{
			`^SELECT r.today, r.text, r.evidence, r.answered_at FROM standup_reports r `,
			cost{300_000, 100_000},
			"the first standup of a new team looks for an earlier report of each participant among all that it has given elsewhere",
		},
		{
			` FROM events( INDEXED BY events_of_actor)? WHERE class = \? AND subject_kind = \? AND actor_id = \?`,
			cost{500_000, 4_000},
			"an actor's events about a rare kind of subject are found by reading the index of the actor's events, not the events",
		},
		{
			` i\.kind = \? AND i\.state <> 'resolved' AND \(t\.id IS NULL | WHERE t\.status = 'review' AND t\.archived_at IS NULL AND \(`,
			cost{60_000, 20_000},
			"a timer passes over all tasks in review, which wait for a person",
		},
		{
			`^SELECT at FROM events WHERE at >= \? AND CASE `,
			cost{100_000, 2_000},
			"the times of a week's activity are read from all of that week's events",
		},
		{
			` FROM events .* LIMIT 501$`,
			cost{60_000, 4_000},
			"a page of an export has 500 events",
		},
		{
			` FROM archive_sessions .* AND kind = \? AND CAST\(\? AS TEXT\) <> '' AND `,
			cost{400_000, 2_000},
			"SQLite reads the index of the sessions of a kind, and not those rows, to find the few that have a word",
		},
	}
}

// measured is a statement with its highest costs.
type measured struct {
	query     string
	args      []any
	few, many cost
}

// compare measures each statement in both databases.
func compare(t *testing.T, engine db.Engine, asked *questions, few, many meter) {
	t.Helper()
	asks := map[string]bool{} // patterns of exceptions that match a statement
	for _, query := range slices.Sorted(maps.Keys(asked.args)) {
		if !measurable(query) {
			continue
		}
		m := measureBoth(t, query, asked.args[query], few, many)
		low, most := unnoticed(engine)
		for _, e := range exceptions() {
			if regexp.MustCompile(e.pattern).MatchString(strings.Join(strings.Fields(query), " ")) {
				asks[e.pattern], low = true, e.most
			}
		}
		if m.many.within(low) || m.many.within(most) && m.many.within(cost{2 * m.few.rows, 2 * m.few.pages}) {
			continue
		}
		t.Errorf("With ten times the rows the cost grows from %s to %s:\n%s\nwith %v\n%s", m.few, m.many, query, m.args, many.plan(t.Context(), query, m.args))
	}
	for _, e := range exceptions() {
		if !asks[e.pattern] {
			t.Errorf("No statement matches %q: remove the exception.", e.pattern)
		}
	}
}

// measureBoth returns the highest costs of a statement over several arguments.
func measureBoth(t *testing.T, query string, all [][]any, few, many meter) measured {
	t.Helper()
	m := measured{query: query}
	for _, args := range all {
		inFew, err := patiently(t.Context(), few, query, args)
		inMany, err2 := patiently(t.Context(), many, query, args)
		if err := cmp.Or(err, err2); err != nil {
			if !isConstraint(err) { // the row exists already, or a row that it refers to does not
				t.Errorf("%s\n%v\n%v", query, args, err)
			}
			continue
		}
		if inMany.rows >= m.many.rows {
			m.args = args
		}
		m.few, m.many = m.few.most(inFew), m.many.most(inMany)
		if m.many == endless {
			break
		}
	}
	return m
}

// endless is the cost of a statement that exceeds the limit of patiently.
var endless = cost{1 << 40, 1 << 40}

// patiently measures a statement with a time limit.
func patiently(ctx context.Context, m meter, query string, args []any) (cost, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := m.measure(ctx, query, slices.Clone(args))
	if err != nil && ctx.Err() != nil {
		return endless, nil
	}
	return c, err
}

// measurable reports whether a statement reads or writes rows.
func measurable(query string) bool {
	word, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(query)), " ")
	return slices.Contains([]string{"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}, word)
}

// questions are the recorded statements, each with a few of its arguments.
type questions struct {
	mu   sync.Mutex
	args map[string][][]any
}

func (q *questions) note(query string, args []any) {
	const times = 5
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.args == nil {
		q.args = map[string][][]any{}
	}
	if len(q.args[query]) < times {
		q.args[query] = append(q.args[query], slices.Clone(args))
	}
}
