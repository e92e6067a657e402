package standup_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
	"wardroom/internal/standup"
)

// BenchmarkList lists two months of standups, as measured in docs/performance.md.
func BenchmarkList(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			d := dbtest.Open(b, dbtest.URL(b, engine))
			s := &standup.Service{
				DB: d, Now: clock.Now, Accounts: &account.Service{DB: d},
				Facilitator: "coo", Participants: []string{"cto", "cpo", "cmo"}, Zone: time.UTC,
			}
			for i := range 60 {
				day := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
				if _, _, err := s.Open(actor.With(b.Context(), owner), standup.New{Date: day}); err != nil {
					b.Fatal(err)
				}
			}
			api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) { return owner, nil }})
			s.Mount(api)
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), "GET", web.Prefix+"/standups", nil)
				r.Header.Set("Authorization", "Bearer x")
				w := httptest.NewRecorder()
				api.Handler().ServeHTTP(w, r)
				if w.Code != 200 || w.Body.Len() < 60*400 {
					b.Fatal(w.Code, w.Body.Len())
				}
			}
		})
	}
}
