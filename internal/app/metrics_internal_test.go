package app

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/limit"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/session"
)

func newTestMetrics(t *testing.T, d *db.DB) *metrics {
	t.Helper()
	c, err := gateway.New(link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newMetrics(measured{
		d, c, func() int64 { return 7 }, func() session.Counts { return session.Counts{} },
		func(context.Context) ([]limit.Limit, error) { return nil, nil },
	})
}

var described = regexp.MustCompile(`fqName: "([^"]*)".* constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

// The table of metrics in docs/operations.md must match the program.
func TestMetricsAreDocumented(t *testing.T) {
	m := newTestMetrics(t, dbtest.New(t))
	found := map[string]string{}
	all := make(chan *prometheus.Desc)
	go func() { m.registry.Describe(all); close(all) }()
	for d := range all {
		p := described.FindStringSubmatch(d.String())
		if p == nil {
			t.Fatalf("the description reads %s", d)
		}
		if strings.HasPrefix(p[1], "go_") || strings.HasPrefix(p[1], "process_") {
			continue
		}
		labels := regexp.MustCompile(`[a-z_]+`).FindAllString(regexp.MustCompile(`="[^"]*"`).ReplaceAllString(p[2]+","+p[3], ""), -1)
		slices.Sort(labels)
		found[p[1]] = strings.Join(labels, " ")
	}
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(wardroom_[a-z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		labels := regexp.MustCompile(`[a-z_]+`).FindAllString(row[2], -1)
		slices.Sort(labels)
		told[row[1]] = strings.Join(labels, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if labels, ok := told[name]; !ok || labels != found[name] {
			t.Errorf("%s has the labels %q, and the table in docs/operations.md has %q (%v)", name, found[name], labels, ok)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if _, ok := found[name]; !ok {
			t.Errorf("%s is in the table but not in the program", name)
		}
	}
	if len(found) < 15 {
		t.Errorf("only %d metrics were found", len(found))
	}
}

// The metrics must work while the database is unavailable.
func TestMetricsWithoutDatabase(t *testing.T) {
	d, err := db.Open(t.Context(), dbtest.URL(t, db.SQLite))
	if err != nil {
		t.Fatal(err)
	}
	m := newTestMetrics(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", metricsPath, nil))
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "\nwardroom_database_up 0\n") || !strings.Contains(body, "\nwardroom_http_requests_in_flight 7\n") ||
		strings.Contains(body, "\nwardroom_jobs{") || strings.Contains(body, "\nwardroom_events_last_id ") {
		t.Errorf("%d %s", w.Code, body)
	}
}
