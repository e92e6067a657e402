package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/web"
)

type orderInput struct {
	Body struct {
		Name string `json:"name" maxLength:"100"`
	}
}

type orderOutput struct {
	Body struct {
		ID string `json:"id"`
	}
}

// newOrders is toys that can be ordered, at most one for each key.
func newOrders(t testing.TB) *toys {
	t.Helper()
	s, d := newToys(t), dbtest.New(t)
	made := 0
	web.Post(s.API, "/orders", actor.ChangeTasks, "Order", func(ctx context.Context, in *orderInput) (*orderOutput, error) {
		out := &orderOutput{}
		if in.Body.Name == "none" {
			return nil, errBusy
		}
		return out, d.Tx(ctx, func(tx *db.Tx) (err error) {
			out.Body.ID, err = once.Do(ctx, tx, time.Now(), func(_ context.Context, _ db.Queryer, id string) (string, error) { return id, nil },
				func(id string) string { return id }, func() (string, error) { made++; return string(rune('a' + made)), nil })
			return err
		})
	}, web.Status(http.StatusCreated), web.Once(), web.Fails(errBusy))
	return s
}

// A repetition is told from a new request by all that was sent, and from a bad
// key by its shape.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := newOrders(t)
	order := func(body string, keys ...string) (status int, id, replayed, code string) {
		t.Helper()
		r := newRequest(t, http.MethodPost, "/api/v1/orders", strings.NewReader(body))
		for _, k := range keys {
			r.Header.Add("Idempotency-Key", k)
		}
		w := s.do(r)
		var got struct{ ID, Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return w.Code, got.ID, w.Header().Get("Idempotency-Replayed"), got.Code
	}
	const body = `{"name":"bear"}`
	_, first, _, _ := order(body, "k")
	for _, tt := range []struct {
		what, body     string
		keys           []string
		status         int
		id, told, code string
	}{
		{"the same again", body, []string{"k"}, 201, first, "true", ""},
		{"with other spaces", "{ \"name\" :\n\"bear\" }", []string{"k"}, 201, first, "true", ""},
		{"another body", `{"name":"doll"}`, []string{"k"}, 409, "", "", "idempotency_conflict"},
		{"no key", body, nil, 201, "c", "", ""},
		{"another key", body, []string{strings.Repeat("~", 255)}, 201, "d", "", ""},
		{"an empty key", body, []string{""}, 422, "", "", "invalid_input"},
		{"a long key", body, []string{strings.Repeat("k", 256)}, 422, "", "", "invalid_input"},
		{"a key with a space", body, []string{"a b"}, 422, "", "", "invalid_input"},
		{"a key that is no ASCII", body, []string{"ä"}, 422, "", "", "invalid_input"},
		{"two keys", body, []string{"k", "k"}, 422, "", "", "invalid_input"},
		{"a failure", `{"name":"none"}`, []string{"n"}, 429, "", "", "toy_busy"},
		{"and its key is free", body, []string{"n"}, 201, "e", "", ""},
	} {
		if status, id, told, code := order(tt.body, tt.keys...); status != tt.status || id != tt.id || told != tt.told || code != tt.code {
			t.Errorf("%s: %d %q %q %q, want %+v", tt.what, status, id, told, code, tt)
		}
	}
	if _, id, _, _ := order(body, "k"); id != first {
		t.Error("the key was lost on the way")
	}
}

// A client reads in the document which requests it may repeat.
func TestOnceIsDocumented(t *testing.T) {
	t.Parallel()
	text := string(newOrders(t).Document())
	for _, want := range []string{`"Idempotency-Key"`, `"Idempotency-Replayed"`, "idempotency_conflict", "idempotency_gone"} {
		if !strings.Contains(text, want) {
			t.Errorf("the document has no %s", want)
		}
	}
	defer func() {
		if v := recover(); v == nil {
			t.Error("nobody's key was taken")
		}
	}()
	web.Post(newToys(t).API, "/open", actor.Public, "x", func(context.Context, *orderInput) (*orderOutput, error) {
		return nil, errors.New("unused")
	}, web.Once())
}
