package standup_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/standup"
)

// Filters and pages return every matching standup exactly once.
func TestListOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		for _, day := range []string{"2026-11-18", "2026-11-20", "0001-01-01", "2026-11-19", "9999-12-31"} {
			if _, _, err := o.Open(actor.With(t.Context(), actor.System), standup.New{Date: day}); err != nil {
				t.Fatal(err)
			}
		}
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE standups SET status = CASE date WHEN '2026-11-19' THEN 'error' ELSE 'completed' END WHERE date IN ('2026-11-18', '2026-11-19')`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) {
			return actor.Actor{ID: "u", Name: "U", Role: actor.User}, nil
		}})
		o.Mount(api)
		ask := func(path string) (*httptest.ResponseRecorder, []string) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			api.Handler().ServeHTTP(w, r)
			var rows []struct{ Date string }
			_ = json.Unmarshal(w.Body.Bytes(), &rows) // an error body has no rows
			var days []string
			for _, row := range rows {
				days = append(days, row.Date[2:4]+row.Date[8:])
			}
			return w, days
		}
		for query, want := range map[string]string{
			"": "9931 2620 2619 2618 0101", "sort=date": "0101 2618 2619 2620 9931",
			"status=running": "9931 2620 0101", "status=error,completed": "2619 2618", "status=completed&status=error&sort=date": "2618 2619",
			"from=2026-11-19": "9931 2620 2619", "to=2026-11-19": "2619 2618 0101", "from=2026-11-19&to=2026-11-19": "2619", "from=2026-11-20&to=2026-11-18": "",
		} {
			var seen []string
			for path := web.Prefix + "/standups?limit=1&total=true&" + query; path != ""; {
				w, days := ask(path)
				if total := w.Header().Get("X-Total-Count"); w.Code != 200 || total != string('0'+rune(len(strings.Fields(want)))) {
					t.Fatalf("%s: %d, total %s: %s", query, w.Code, total, w.Body)
				}
				seen = append(seen, days...)
				path, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
			}
			if got := strings.Join(seen, " "); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		for _, query := range []string{"from=2026-02-30", "to=2026-1-1", "from=0000-01-01", "to=today", "status=held", "day=2026-11-20", "cursor=2026-11-20"} {
			if w, _ := ask(web.Prefix + "/standups?" + query); w.Code != 422 {
				t.Errorf("%s: %d, want 422", query, w.Code)
			}
		}
	})
}

// A client that lists standups continuously cannot take all connections: listing standups
// is throttled like other lists.
func TestListWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.open(t)
		list := func(who string) error {
			ctx, cancel := context.WithTimeout(actor.With(t.Context(), actor.Actor{ID: who, Name: who, Role: actor.User}), 200*time.Millisecond)
			defer cancel()
			_, err := o.List(ctx, standup.Filter{}, page.Want{})
			return err
		}
		var leaves []func()
		for range 2 { // the limit per client
			leave, err := d.LimitReads(t.Context(), "hog")
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		if err := list("hog"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside the caller's other lists: %v, want a wait", err)
		}
		for _, leave := range leaves {
			leave()
		}
		wait(t, "the list once they are through", func() bool { return list("hog") == nil })
	})
}
