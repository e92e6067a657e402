package standup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/search"
	"wardroom/internal/standup"
)

// Search finds the latest text of a report, whether answered or submitted, until the
// standup is deleted.
func TestReportsAreFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		finds := &search.Service{DB: d}
		find := func(words string) (whose []string) {
			t.Helper()
			found, err := finds.Find(signedIn(t), words, search.Filter{Kinds: []search.Kind{search.OfReport}}, 20)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				if r.StandupID == nil || r.AgentID == nil || !strings.HasPrefix(r.Title, "Standup of ") || r.At.IsZero() || r.Archived || r.TaskKey != nil {
					t.Errorf("found %+v", r)
				}
				whose = append(whose, *r.AgentID)
			}
			slices.Sort(whose)
			return whose
		}
		m := o.open(t)
		o.submitReport(t, m.ID, "cpo")
		if _, err := o.SubmitReport(as(t, "cmo"), m.ID, "cmo", standup.Submission{Text: "Today: zeppelins"}); err != nil {
			t.Fatal(err)
		}
		if got := find("zeppelins"); !slices.Equal(got, []string{"cmo"}) {
			t.Errorf("submitted, and found of %v", got)
		}
		if _, err := o.SubmitReport(as(t, "cmo"), m.ID, "cmo", standup.Submission{Text: "Today: airships"}); err != nil {
			t.Fatal(err)
		}
		if got := find("zeppelins"); len(got) > 0 {
			t.Errorf("what was submitted anew is found by what it was, of %v", got)
		}
		work(t, o.Service)
		m = o.hold(t, m.ID)
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		if got := find("today"); !slices.Equal(got, []string{"cmo", "cpo", "cto"}) {
			t.Errorf("answered and submitted, and found of %v", got)
		}
		if got := find("standup"); len(got) > 0 {
			t.Errorf("the word standup finds %v", got)
		}
		o.runtime.Silence("cmo", true)
		o.AgentTimeout = time.Second
		if _, err := o.Run(signedIn(t), m.ID, true); err != nil {
			t.Fatal(err)
		}
		m = o.end(t, m.ID)
		if got := find("airships"); len(got) > 0 {
			t.Errorf("a report that did not come again is found of %v", got)
		}
		if err := o.Delete(signedIn(t), m.ID, nil); err != nil {
			t.Fatal(err)
		}
		if got := find("today"); len(got) > 0 {
			t.Errorf("of a standup that is gone is found %v", got)
		}
	})
}
