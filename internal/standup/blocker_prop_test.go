package standup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/clock"
)

// things are possible blockers, each in several forms. A key stands for a task, which is one blocker
// whichever agent reports it and in which words. Others keep their words.
var things = [][]string{
	{"TASK-3 waits for the figures", "Still no figures for TASK-3", "TASK-3: nobody sends anything"},
	{"TASK-4 waits for TASK-3", "TASK-4 cannot begin before TASK-3"},
	{"waiting for the legal review", "Waiting for the legal  review.", "**Waiting** for the legal review!"},
	{"waiting for the design review"},
	{"PR #412 needs a review", "PR 412: needs a review"},
	{"PR #415 needs a review", "“PR #415” needs a review…"},
}

// week is a random sequence of standups that uses the matching rules without a database.
type week struct {
	*rapid.T
	blockers []*trackedBlocker
	real     map[string]string // id of the open blocker, by thing
	since    map[string]string // first day, by thing
	board    map[int64]string
}

func (w *week) report(agentID string) (Report, []string) {
	r := Report{AgentID: agentID, Status: rapid.SampledFrom([]ReportStatus{Answered, Answered, Answered, TimedOut, Failed, Missing}).Draw(w.T, agentID)}
	if r.Status != Answered {
		return r, nil
	}
	var lines, named []string
	for i, words := range things {
		if rapid.IntRange(0, 2).Draw(w.T, "names it") == 0 {
			lines = append(lines, "- "+rapid.SampledFrom(words).Draw(w.T, "words"))
			what := fmt.Sprint(i)
			if i > 1 {
				what += " of " + agentID
			}
			named = append(named, what)
		}
	}
	if len(lines) > 0 {
		r.Blockers = new(strings.Join(rapid.Permutation(lines).Draw(w.T, "order"), "\n"))
	}
	return r, named
}

// hold runs one standup; completed says whether it reaches its end.
func (w *week) hold(row *Standup, completed bool) {
	row.Reports = nil
	named := map[string]bool{}
	for _, agentID := range []string{"cto", "cpo"} {
		r, things := w.report(agentID)
		row.Reports = append(row.Reports, r)
		for _, what := range things {
			named[what] = true
		}
	}
	var took []*trackedBlocker // as loaded from the store: open ones and those that this standup ended
	for _, l := range w.blockers {
		l.entry = nil
		if l.Status == BlockerOpen || equalPtr(l.EndedIn, &row.ID) {
			took = append(took, l)
		}
	}
	b := &blockerTracker{row: *row, now: time.Unix(0, 0), team: "executive", blockers: took, board: w.board}
	reports := mentions(*row)
	b.match(reports)
	b.endByBoard()
	row.Blockers = b.recordEntries()
	for _, l := range b.blockers {
		if !slices.Contains(w.blockers, l) {
			w.blockers = append(w.blockers, l)
		}
		l.words = fold(l.Text)
	}
	w.check(row, named)
	if completed {
		b.endUnmentioned(row.Blockers)
	}
}

// check compares the tracked blockers with the ones actually mentioned.
func (w *week) check(row *Standup, named map[string]bool) {
	seen := map[string]bool{}
	for _, x := range row.Blockers {
		if seen[*x.ID] {
			w.Fatalf("%s stands twice in the record", *x.ID)
		}
		seen[*x.ID] = true
		if len(x.NamedBy) > 0 && !slices.Contains(x.Days, row.Date) || len(x.NamedBy) == 0 && x.Status != BlockerOpen {
			w.Fatalf("%+v on %s", x, row.Date)
		}
	}
	open := map[int64]string{}
	for _, l := range w.blockers {
		if l.Status != BlockerOpen {
			continue
		}
		if l.Task != nil && open[*l.Task] != "" {
			w.Fatalf("TASK-%d is in two lives: %s and %s", *l.Task, open[*l.Task], l.ID)
		} else if l.Task != nil {
			open[*l.Task] = l.ID
		}
		if !slices.IsSorted(l.Days) || l.FirstSeen > l.Days[0] || len(l.Agents) == 0 {
			w.Fatalf("%+v", l)
		}
	}
	for _, x := range row.Blockers {
		if len(x.NamedBy) == 0 {
			continue
		}
		what := w.what(x)
		if !named[what] {
			w.Fatalf("%q was taken for %s, which nobody named", x.Text, what)
		}
		named[what] = false
		if id, since := w.real[what], w.since[what]; id != "" && w.isOpen(id) && (id != *x.ID || x.FirstSeen > since) {
			w.Fatalf("%s was %s since %s, and is %s since %s", what, id, since, *x.ID, x.FirstSeen)
		}
		w.real[what], w.since[what] = *x.ID, x.FirstSeen
	}
	for what := range maps.Keys(named) {
		if named[what] {
			w.Fatalf("%s was named and is not in the record: %+v", what, row.Blockers)
		}
	}
}

func (w *week) isOpen(id string) bool {
	i := slices.IndexFunc(w.blockers, func(l *trackedBlocker) bool { return l.ID == id })
	return w.blockers[i].Status == BlockerOpen
}

// what returns the thing that a blocker stands for.
func (w *week) what(x Blocker) string {
	first, _, _ := strings.Cut(x.Text, "\n")
	for i, words := range things {
		if !slices.Contains(words, first) {
			continue
		}
		if i > 1 {
			return fmt.Sprint(i, " of ", x.AgentID)
		}
		return fmt.Sprint(i)
	}
	w.Fatalf("nobody said %q", x.Text)
	return ""
}

// Each thing has at most one open blocker, and a blocker keeps its first day.
func TestBlockerLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &week{T: t, real: map[string]string{}, since: map[string]string{}, board: map[int64]string{3: boardOpen, 4: boardOpen}}
		day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		for i := range rapid.IntRange(1, 8).Draw(t, "days") {
			row := &Standup{ID: fmt.Sprint("s", i), Date: day.AddDate(0, 0, i).Format(time.DateOnly), Timezone: "UTC", StartedAt: clock.Ptr(day)}
			if rapid.IntRange(0, 3).Draw(t, "the board moves") == 0 {
				w.board[3] = rapid.SampledFrom([]string{boardBlocked, boardOpen, boardDone, boardGone}).Draw(t, "TASK-3")
			}
			for range rapid.IntRange(1, 3).Draw(t, "times") { // a retry, or another run
				w.hold(row, rapid.IntRange(0, 3).Draw(t, "completed") > 0)
			}
		}
	})
}
