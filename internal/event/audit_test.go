package event

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

// auditOf records one event of the audit, from somewhere.
func auditOf(t testing.TB, d *db.DB, at time.Time, kind string, about Subject, from actor.Origin, by actor.Actor) {
	t.Helper()
	ctx := actor.With(actor.Through(t.Context(), from), by)
	err := d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, at, Audit, kind, about, map[string]string{"n": kind}) })
	if err != nil {
		t.Fatal(err)
	}
}

func fillAudit(t testing.TB, d *db.DB) {
	t.Helper()
	u := Subject{Kind: "user", ID: "u", Name: "Ada"}
	home := actor.Origin{Via: actor.ViaAPI, Address: netip.MustParseAddr("192.0.2.7")}
	auditOf(t, d, monday, "user.created", u, actor.Origin{Via: actor.ViaCommand}, actor.System)
	record(t, d, monday, Activity, "task.created", task1, nil)
	auditOf(t, d, monday.Add(time.Hour), "login.succeeded", u, home, ada)
	auditOf(t, d, monday.Add(2*time.Hour), "login.failed", Subject{Kind: "address", ID: "192.0.2.7", Name: "192.0.2.7"}, home, actor.Anonymous)
	auditOf(t, d, monday.Add(3*time.Hour), "service.started", Subject{Kind: "service", ID: "wardroom", Name: "Wardroom"}, actor.Origin{}, actor.System)
}

// Who looks for a break-in asks by person, thing, kind and time; whoever may
// not look learns nothing.
func TestAuditOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fillAudit(t, d)
		site := newSite(t, d)
		for query, want := range map[string]string{
			"": "5 4 3 1", "sort=id": "1 3 4 5", "actor=anonymous": "4", "actor=system": "5 1", "actor=me": "",
			"kind=login.*": "4 3", "kind=login.failed,user.created": "4 1", "kind=task.*": "",
			"subject_kind=user": "3 1", "subject_kind=address&subject_id=192.0.2.7": "4", "subject_id=u&sort=id": "1 3",
			"since=2026-11-16T10:00:00Z": "5 4", "until=2026-11-16T09:00:00Z": "1", "since=2026-11-16T09:00:00Z&until=2026-11-16T11:00:00Z&sort=id": "3 4",
		} {
			for _, size := range []int{1, 100} {
				if got := turn(t, site, fmt.Sprintf("/audit?total=true&limit=%d&%s", size, query), len(strings.Fields(want))); got != want {
					t.Errorf("%s by %d: %q, want %q", query, size, got, want)
				}
			}
		}
		_, _, body := ask(t, site, "admin", "/audit?kind=login.succeeded")
		want := []any{map[string]any{
			"id": 3.0, "at": "2026-11-16T09:00:00.000Z", "kind": "login.succeeded", "actor": map[string]any{"id": "ada", "name": "Ada"},
			"subject": map[string]any{"kind": "user", "id": "u", "name": "Ada"}, "from": map[string]any{"via": "api", "address": "192.0.2.7"},
			"data": map[string]any{"n": "login.succeeded"},
		}}
		if d := cmp.Diff(want, body); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		for role, status := range map[string]int{"owner": 200, "admin": 200, "user": 403, "agent": 403, "": 401} {
			if got, _, _ := ask(t, site, role, "/audit"); got != status {
				t.Errorf("%q gets the list with %d", role, got)
			}
			if got := table(t, site, role, ""); got.Code != status {
				t.Errorf("%q gets the table with %d", role, got.Code)
			}
		}
		for query, code := range map[string]string{"actor=nobody": "actor_unknown", "sort=at": "invalid_input", "subject=u": "invalid_input"} {
			status, _, body := ask(t, site, "owner", "/audit?"+query)
			problem, _ := body.(map[string]any)
			if w := table(t, site, "owner", query); status != 422 || problem["code"] != code || w.Code != 422 || !strings.Contains(w.Body.String(), code) {
				t.Errorf("%s: %d %v and %d %s, want %s", query, status, problem["code"], w.Code, w.Body, code)
			}
		}
	})
}

// turn turns the pages and returns the ids; each page says the true total.
func turn(t testing.TB, site http.Handler, path string, total int) string {
	t.Helper()
	var got []string
	for path != "" && len(got) < 20 {
		status, header, body := ask(t, site, "owner", path)
		rows, _ := body.([]any)
		if status != 200 || header.Get("X-Total-Count") != fmt.Sprint(total) {
			t.Fatalf("%s: %d %v, total %s of %d", path, status, body, header.Get("X-Total-Count"), total)
		}
		for _, row := range rows {
			event, _ := row.(map[string]any)
			got = append(got, fmt.Sprint(event["id"]))
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
	}
	return strings.Join(got, " ")
}

func table(t testing.TB, site http.Handler, role, query string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, web.Prefix+"/audit.csv?"+query, nil)
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+role)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

// The table that an auditor takes home has every row, once, and does nothing
// when a spreadsheet opens it.
func TestAuditTable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fillAudit(t, d)
		auditOf(t, d, monday.Add(4*time.Hour), "user.changed", Subject{Kind: "user", ID: "e", Name: `=HYPERLINK("http://evil"), "x"` + "\n"}, actor.Origin{}, actor.Actor{ID: "x", Name: "@SUM(A1)"})
		for range exportPage { // more than a page
			auditOf(t, d, monday.Add(5*time.Hour), "many", task1, actor.Origin{}, ada)
		}
		w := table(t, newSite(t, d), "owner", "sort=id")
		rows, err := csv.NewReader(w.Body).ReadAll()
		if err != nil || len(rows) != 1+4+1+exportPage {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		want := [][]string{
			{"id", "at", "kind", "actor_id", "actor_name", "subject_kind", "subject_id", "subject_name", "via", "address", "data"},
			{"1", "2026-11-16T08:00:00.000Z", "user.created", "system", "Wardroom", "user", "u", "Ada", "command", "", `{"n":"user.created"}`},
			{"3", "2026-11-16T09:00:00.000Z", "login.succeeded", "ada", "Ada", "user", "u", "Ada", "api", "192.0.2.7", `{"n":"login.succeeded"}`},
		}
		if d := cmp.Diff(want, rows[:3]); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if got := rows[5]; got[4] != "'@SUM(A1)" || got[7] != `'=HYPERLINK("http://evil"), "x"`+"\n" {
			t.Errorf("a formula comes as %q", got)
		}
		seen := map[string]bool{}
		for _, row := range rows {
			seen[row[0]] = true
		}
		if len(seen) != len(rows) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") || w.Header().Get("Content-Disposition") != `attachment; filename="audit.csv"` {
			t.Errorf("%d of %d rows differ; %v", len(seen), len(rows), w.Header())
		}
	})
}
