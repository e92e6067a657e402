package standup_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
	"wardroom/internal/standup"
)

// reply is an answer whose body may still be growing.
type reply struct {
	status int
	header http.Header
	body   io.Reader
}

// door is the API of an office, where a token is the id of an account.
func (o *office) door(t *testing.T) (ask func(ctx context.Context, who, method, path string, header ...string) reply) {
	t.Helper()
	api := web.New(web.Options{Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
		return actor.Actor{ID: token, Name: token, Role: actor.Admin}, nil
	}})
	o.Mount(api)
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(srv.Close)
	return func(ctx context.Context, who, method, path string, header ...string) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, srv.URL+web.Prefix+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+who)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Body.Close() }) // it may be read to its end
		return reply{w.StatusCode, w.Header, w.Body}
	}
}

// One account could hold any number of requests open, each of which asks the
// database again and again.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.Limits = standup.Limits{Waiting: 3, Each: 2}
		ask := o.door(t)
		m := o.open(t)
		transcript, run := "/standups/"+m.ID+"/transcript", "/standups/"+m.ID+"/run"
		for range 4 {
			// Of a meeting that nobody runs there is nothing to wait for.
			if w := ask(t.Context(), "ada", "GET", transcript); w.status != 200 {
				t.Fatalf("the transcript before: %d", w.status)
			}
		}
		other, _, err := o.Open(signedIn(t), standup.New{Date: "2026-01-05"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil { // and no worker holds it
			t.Fatal(err)
		}
		follow := func(who string) (leave context.CancelFunc) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			if w := ask(ctx, who, "GET", transcript); w.status != 200 {
				t.Fatalf("%s: %d", who, w.status)
			}
			return cancel
		}
		refused := func(who, method, path string) {
			t.Helper()
			w := ask(t.Context(), who, method, path, "Prefer", "wait=600")
			body, err := io.ReadAll(w.body)
			if w.status != http.StatusTooManyRequests || w.header.Get("Retry-After") != "15" || !strings.Contains(string(body), `"too_many_waiting"`) || err != nil {
				t.Errorf("%s: %d, Retry-After %q: %s, %v", who, w.status, w.header.Get("Retry-After"), body, err)
			}
		}
		follow("ada")
		leave := follow("ada")
		refused("ada", "GET", transcript)
		refused("ada", "POST", "/standups/"+other.ID+"/run")
		if now, err := o.Get(t.Context(), other.ID); err != nil || now.Phase != standup.Opened {
			t.Errorf("what was refused has begun: %s, %v", now.Phase, err)
		}
		if w := ask(t.Context(), "ada", "POST", run); w.status != 409 { // going on, and no wait was asked for
			t.Errorf("without a wait: %d", w.status)
		}
		follow("bob")
		refused("cy", "GET", transcript)
		leave()
		wait(t, "the place to be given back", func() bool {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			return ask(ctx, "cy", "GET", transcript).status == 200
		})
	})
}

// Who waits with Prefer must be counted too, for as long as the wait takes.
func TestPreferTakesAPlace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.Limits = standup.Limits{Each: 1}
		ask := o.door(t)
		m := o.open(t)
		done := make(chan int)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { done <- ask(ctx, "ada", "POST", "/standups/"+m.ID+"/run", "Prefer", "wait=600").status }()
		wait(t, "the meeting to begin", func() bool {
			now, err := o.Get(t.Context(), m.ID)
			return err == nil && now.Phase != standup.Opened
		})
		if w := ask(t.Context(), "ada", "GET", "/standups/"+m.ID+"/transcript"); w.status != 429 {
			t.Errorf("beside a wait: %d", w.status)
		}
		if _, err := o.Cancel(signedIn(t), m.ID); err != nil {
			t.Fatal(err)
		}
		if status := <-done; status != 200 {
			t.Errorf("the wait ends with %d, want 200", status)
		}
		if w := ask(t.Context(), "ada", "GET", "/standups/"+m.ID+"/transcript"); w.status != 200 {
			t.Errorf("after the wait: %d", w.status)
		}
	})
}

// Those who follow one meeting share its readings, and each must still get
// every line once.
func TestFollowersReadTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		ask := o.door(t)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		var readers []*bufio.Reader
		for range 5 {
			readers = append(readers, bufio.NewReader(ask(t.Context(), "ada", "GET", "/standups/"+m.ID+"/transcript").body))
		}
		work(t, o.Service)
		o.end(t, m.ID)
		want, err := io.ReadAll(ask(t.Context(), "bob", "GET", "/standups/"+m.ID+"/transcript").body)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range readers {
			if got, err := io.ReadAll(r); string(got) != string(want) || err != nil {
				t.Errorf("reader %d, %v:\n%s\nwant:\n%s", i, err, got, want)
			}
		}
	})
}
