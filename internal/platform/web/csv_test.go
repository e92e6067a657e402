package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// newTables returns the toy API with tables.
func newTables(t testing.TB) *toys {
	t.Helper()
	s := newToys(t)
	type input struct {
		Full   bool `query:"full" doc:"Refuses."`
		Breaks bool `query:"breaks" doc:"Fails after a row."`
	}
	web.CSV(s.API, "/toys.csv", actor.DeleteTasks, "All toys", func(_ context.Context, in *input) (*web.Table, error) {
		if in.Full {
			return nil, errBusy
		}
		return &web.Table{Name: "toys.csv", Columns: []string{"id", "name"}, Rows: func(row func(...string) error) error {
			for i, name := range []string{
				"bear", "=1+1", "+1", "-1+1", "@x", "\tx", "\rx", "\nx", "＝1", "a=1", "", `say "hi", twice`, "'quoted'", "-0.5", "a;=1+1", `a;"=1+1;b`, "a\n-1; @x", " =1+1", "\ufeff@x",
			} {
				if err := row(string(rune('a'+i)), name); err != nil {
					return err
				}
			}
			if in.Breaks {
				return errors.New("the database went away, which nobody is told")
			}
			return nil
		}}, nil
	}, web.Fails(errBusy))
	return s
}

// A name chosen by one user must not run as a formula in another user's
// spreadsheet.
func TestCSV(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	w := s.ask(t, "GET", "/api/v1/toys.csv", "")
	want := "id,name\r\na,bear\r\nb,'=1+1\r\nc,'+1\r\nd,'-1+1\r\ne,'@x\r\nf,'\tx\r\ng,\"'x\"\r\nh,\"'\r\nx\"\r\ni,'＝1\r\nj,a=1\r\nk,\r\nl,\"say \"\"hi\"\", twice\"\r\nm,'quoted'\r\nn,-0.5\r\no,a;'=1+1\r\np,\"a;\"\"'=1+1;b\"\r\nq,\"a\r\n'-1; @x\"\r\nr,' =1+1\r\ns,'\ufeff@x\r\n"
	if got := w.Body.String(); w.Code != http.StatusOK || got != want {
		t.Errorf("%d\n%q\nwant\n%q", w.Code, got, want)
	}
	if got := s.ask(t, "GET", "/api/v1/toys.csv?bom=true", ""); got.Body.String() != "\ufeff"+want || got.Header().Get("Content-Type") != w.Header().Get("Content-Type") {
		t.Errorf("with a byte order mark, which Excel needs: %q", got.Body)
	}
	if got := s.ask(t, "GET", "/api/v1/toys.csv?bom=maybe", ""); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("with a wrong value: %d", got.Code)
	}
	if h := w.Header(); h.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || h.Get("Content-Disposition") != `attachment; filename="toys.csv"` {
		t.Errorf("headers %v", h)
	}
	if w := s.ask(t, "HEAD", "/api/v1/toys.csv", ""); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d %q", w.Code, w.Body)
	}
	if w := s.ask(t, "GET", "/api/v1/toys.csv?full=true", ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("a failure before the first row: %d %s", w.Code, w.Body)
	}
	if w := s.ask(t, "GET", "/api/v1/toys.csv", "", "Authorization", "Bearer user"); w.Code != http.StatusForbidden {
		t.Errorf("without the right: %d", w.Code)
	}
}

// A partial table must not look complete.
func TestCSVBreaksOff(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // what net/http compares
			t.Errorf("it ended with %v", v)
		}
		if log := s.log.String(); !strings.Contains(log, "went away") || !strings.Contains(log, `"status":500`) {
			t.Errorf("the log says %s", log)
		}
	}()
	s.ask(t, "GET", "/api/v1/toys.csv?breaks=true", "")
	t.Error("it ended as if it were whole")
}
