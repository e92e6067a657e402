package task

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	monday  = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	tuesday = monday.Add(24 * time.Hour)

	ada = actor.Actor{ID: "ada", Name: "Ada", Role: actor.User}
	coo = actor.Actor{ID: "coo", Name: "Operations", Role: actor.Agent, AgentID: "coo"}
)

// card returns a task that a user created on Monday.
func card(t testing.TB) Task {
	t.Helper()
	made, err := New{Title: "Ship it"}.make("id", monday, ada)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// refused returns the pointers of the fields that err rejects.
func refused(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	f := fault.Of(err)
	if f == nil || !errors.Is(err, fault.ErrInvalid) {
		t.Fatalf("%v is no refusal of input", err)
	}
	var at []string
	for _, field := range f.Fields {
		at = append(at, field.Pointer)
	}
	return at
}

// Omitted fields get their defaults.
func TestMake(t *testing.T) {
	t.Parallel()
	got := card(t)
	want := Task{
		ID: "id", Title: "Ship it", Status: Todo, Priority: Medium, Type: Plain, Tags: []Tag{}, DependsOn: []string{}, Criteria: []Criterion{}, Checks: []string{},
		MovedAt: clock.At(monday), CreatedAt: clock.At(monday), UpdatedAt: clock.At(monday), Version: 1,
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Task{})); d != "" {
		t.Errorf("made (-want +got):\n%s", d)
	}

	due := clock.At(tuesday)
	all, err := New{
		Title: "  Ship it\n", Description: "# Why", Status: Done, Priority: Urgent, Type: Epic,
		Tags: []Tag{"Web", "web", "api"}, DueAt: &due, Origin: "standup:2026-11-16",
	}.make("id", monday, ada)
	want = Task{
		ID: "id", Title: "Ship it", Description: "# Why", Status: Done, Priority: Urgent, Type: Epic, Tags: []Tag{"web", "api"}, DependsOn: []string{}, Criteria: []Criterion{}, Checks: []string{},
		Origin: new("standup:2026-11-16"), DueAt: &due, DoneAt: clock.Ptr(monday), archiveFrom: clock.Ptr(monday),
		MovedAt: clock.At(monday), CreatedAt: clock.At(monday), UpdatedAt: clock.At(monday), Version: 1,
	}
	if d := cmp.Diff(want, all, cmp.AllowUnexported(Task{})); d != "" || err != nil {
		t.Errorf("made with everything: %v (-want +got):\n%s", err, d)
	}
}

// Values outside the limits are refused.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat
	tags := func(n int) []Tag {
		var list []Tag
		for i := range n {
			list = append(list, Tag(long("x", i+1)))
		}
		return list
	}
	far := clock.Time{Time: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*3600))}
	tests := []struct {
		name   string
		change Change
		want   []string
	}{
		{"takes nothing", Change{}, nil},
		{"takes 500 characters of title", Change{Title: new(long("ж", 500))}, nil},
		{"refuses 501", Change{Title: new(long("ж", 501))}, []string{"/title"}},
		{"counts the title without blanks around it", Change{Title: new("  " + long("x", 500) + "\n")}, nil},
		{"refuses no title", Change{Title: new("")}, []string{"/title"}},
		{"refuses a blank title", Change{Title: new(" \t\n")}, []string{"/title"}},
		{"refuses a title of two lines", Change{Title: new("one\ntwo")}, []string{"/title"}},
		{"refuses a title that commands a terminal", Change{Title: new("a\x1b[2Jb")}, []string{"/title"}},
		{"refuses a title that runs backwards", Change{Title: new("a\u202eb")}, []string{"/title"}},
		{"takes 64 KiB of description", Change{Description: new(long("x", 64<<10))}, nil},
		{"counts its bytes", Change{Description: new(long("ж", 32<<10) + "x")}, []string{"/description"}},
		{"takes an empty description", Change{Description: new("")}, nil},
		{"refuses another status", Change{Status: new(Status("blocked"))}, []string{"/status"}},
		{"refuses an empty status", Change{Status: new(Status(""))}, []string{"/status"}},
		{"refuses another priority", Change{Priority: new(Priority("Urgent"))}, []string{"/priority"}},
		{"refuses another type", Change{Type: new(Type("chore"))}, []string{"/type"}},
		{"takes 20 tags", Change{Tags: new(tags(20))}, nil},
		{"refuses 21", Change{Tags: new(tags(21))}, []string{"/tags"}},
		{"counts repeats once", Change{Tags: new(append(tags(20), "X"))}, nil},
		{"takes 40 characters of tag", Change{Tags: &[]Tag{Tag(long("ж", 40))}}, nil},
		{"refuses 41", Change{Tags: &[]Tag{"ok", Tag(long("x", 41))}}, []string{"/tags/1"}},
		{"takes words of other scripts", Change{Tags: &[]Tag{"サーバー", "हिन्दी", "безопасность", "v1.2_rc-3", "2026"}}, nil},
		{"refuses two words", Change{Tags: &[]Tag{"two words"}}, []string{"/tags/0"}},
		{"refuses an empty tag", Change{Tags: &[]Tag{" "}}, []string{"/tags/0"}},
		{"refuses a comma", Change{Tags: &[]Tag{"a,b"}}, []string{"/tags/0"}},
		{"refuses a tag that begins with a dash", Change{Tags: &[]Tag{"-x"}}, []string{"/tags/0"}},
		{"refuses two lines", Change{Tags: &[]Tag{"a\nb"}}, []string{"/tags/0"}},
		{"takes the longest session key", Change{SessionKey: patch.Set(long("ж", 512))}, nil},
		{"refuses a longer one", Change{SessionKey: patch.Set(long("x", 513))}, []string{"/session_key"}},
		{"takes the longest branch", Change{Branch: patch.Set(long("x", 255))}, nil},
		{"refuses a longer branch", Change{Branch: patch.Set(long("x", 256))}, []string{"/branch"}},
		{"takes the longest address", Change{PRURL: patch.Set("https://x.example/" + long("x", 1982))}, nil},
		{"refuses a longer address", Change{PRURL: patch.Set("https://x.example/" + long("x", 1983))}, []string{"/pr_url"}},
		{"takes http", Change{PRURL: patch.Set("http://x.example/1")}, nil},
		{"refuses a script for an address", Change{PRURL: patch.Set("javascript:alert(1)")}, []string{"/pr_url"}},
		{"refuses an address without host", Change{PRURL: patch.Set("https:///1")}, []string{"/pr_url"}},
		{"refuses no address", Change{PRURL: patch.Set("")}, []string{"/pr_url"}},
		{"takes an address away", Change{PRURL: patch.Clear[string]()}, nil},
		{"takes 2000 characters of reason", Change{Blocked: patch.Set(BlockedReason{Reason: long("ж", 2000)})}, nil},
		{"refuses 2001", Change{Blocked: patch.Set(BlockedReason{Reason: long("x", 2001)})}, []string{"/blocked/reason"}},
		{"refuses a blank reason", Change{Blocked: patch.Set(BlockedReason{Reason: " \n"})}, []string{"/blocked/reason"}},
		{"refuses to block what is done", Change{Status: new(Done), Blocked: patch.Set(BlockedReason{Reason: "why"})}, []string{"/blocked"}},
		{"refuses a due time that JSON cannot say", Change{DueAt: patch.Set(far)}, []string{"/due_at"}},
		{"says everything at once", Change{
			Title: new(""), Description: new(long("x", 64<<10+1)), Status: new(Status("?")), Priority: new(Priority("?")),
			Type: new(Type("?")), Tags: &[]Tag{"?", "!"}, PRURL: patch.Set("?"), Blocked: patch.Set(BlockedReason{}),
		}, []string{"/title", "/description", "/pr_url", "/tags/0", "/tags/1", "/priority", "/type", "/status", "/blocked/reason"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := card(t)
			got := refused(t, is.apply(tt.change, tuesday, ada))
			if !slices.Equal(got, tt.want) {
				t.Errorf("refused %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("holds for new tasks too", func(t *testing.T) {
		_, err := New{Title: " ", Status: "?", Priority: "?", Type: "?", Tags: []Tag{"?"}, DueAt: &far}.make("id", monday, ada)
		want := []string{"/title", "/tags/0", "/priority", "/type", "/status", "/due_at"}
		if got := refused(t, err); !slices.Equal(got, want) {
			t.Errorf("refused %q, want %q", got, want)
		}
	})
}

// Tags are normalized, so that one word has one spelling.
func TestTags(t *testing.T) {
	t.Parallel()
	is := card(t)
	if err := is.apply(Change{Tags: &[]Tag{" Security ", "API", "security", "Ärger", "api"}}, monday, ada); err != nil {
		t.Fatal(err)
	}
	if want := []Tag{"security", "api", "ärger"}; !slices.Equal(is.Tags, want) {
		t.Errorf("tags are %q, want %q", is.Tags, want)
	}
	if err := is.apply(Change{Tags: &[]Tag{}}, monday, ada); err != nil || is.Tags == nil || len(is.Tags) > 0 {
		t.Errorf("no tags became %#v, %v; want an empty list", is.Tags, err)
	}
}

// Tags accept words of all scripts and nothing else.
func TestTagShape(t *testing.T) {
	t.Parallel()
	for tag, want := range map[Tag]bool{
		"a": true, "7": true, "release-2.1_b": true, "日本": true, "हिन्दी": true, "ʻokina": true, "ärger": true, "٣": true,
		Tag(strings.Repeat("ä", maxTag)): true, Tag(strings.Repeat("a", maxTag+1)): false,
		"": false, "-a": false, ".": false, "_a": false, "a b": false, "A": false, "a/b": false, "a,b": false, "ि": false, "a\xff": false, "a🙂": false,
	} {
		if tag.wellFormed() != want {
			t.Errorf("%q: %t", tag, !want)
		}
	}
}

// Changing the blocked reason keeps the time at which the task was blocked.
func TestBlocked(t *testing.T) {
	t.Parallel()
	is := card(t)
	block := func(reason string, at time.Time, by actor.Actor) {
		t.Helper()
		if err := is.apply(Change{Blocked: patch.Set(BlockedReason{Reason: reason})}, at, by); err != nil {
			t.Fatal(err)
		}
	}
	want := func(w *Blocked) {
		t.Helper()
		if d := cmp.Diff(w, is.Blocked); d != "" {
			t.Errorf("blocked (-want +got):\n%s", d)
		}
	}
	block(" No key ", monday, ada)
	want(&Blocked{Reason: "No key", Since: clock.At(monday), By: "Ada"})
	block("No key", tuesday, coo)
	want(&Blocked{Reason: "No key", Since: clock.At(monday), By: "Ada"})
	block("No key and no lock", tuesday, coo)
	want(&Blocked{Reason: "No key and no lock", Since: clock.At(monday), By: "Operations"})

	if err := is.apply(Change{Blocked: patch.Clear[BlockedReason]()}, tuesday, coo); err != nil {
		t.Fatal(err)
	}
	want(nil)
	block("Again", tuesday, coo)
	want(&Blocked{Reason: "Again", Since: clock.At(tuesday), By: "Operations"})

	// An undone unblocking must not make an old blocker look new.
	was := &Blocked{Reason: "No key", Since: clock.At(monday), By: "Operations"}
	back := func(since time.Time, by actor.Actor) error {
		is = card(t)
		return is.apply(Change{Blocked: patch.Set(BlockedReason{Reason: was.Reason, Since: clock.Ptr(since), By: was.By})}, tuesday, by)
	}
	for name, err := range map[string]error{
		"by an agent": back(monday, coo), "in the future": back(tuesday.Add(time.Second), ada), "before its creation": back(monday.Add(-time.Second), ada),
	} {
		if fault.Of(err) == nil {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if err := back(monday, ada); err != nil {
		t.Error(err)
	}
	want(was)
}

func TestMove(t *testing.T) {
	t.Parallel()
	columns := []Status{Backlog, Todo, InProgress, Review, Done}
	t.Run("any column to any other", func(t *testing.T) {
		for _, from := range columns {
			for _, to := range columns {
				is := card(t)
				is.move(from, monday, ada)
				is.MovedAt = clock.At(monday)
				was := is
				is.move(to, tuesday, ada)
				moved := monday
				if from != to {
					moved = tuesday
				}
				if is.Status != to || !is.MovedAt.Equal(moved) {
					t.Errorf("from %s to %s: %s, moved %v", from, to, is.Status, is.MovedAt)
				}
				if done := is.DoneAt != nil; done != (to == Done) {
					t.Errorf("from %s to %s: done at %v", from, to, is.DoneAt)
				}
				if from == to && !same(was.DoneAt, is.DoneAt) {
					t.Errorf("%s again: done at %v, was %v", from, is.DoneAt, was.DoneAt)
				}
			}
		}
	})
	// An undone move must not make a task look new in its column.
	t.Run("back to when it came", func(t *testing.T) {
		is := card(t)
		is.move(InProgress, tuesday, ada)
		back := func(at time.Time, by actor.Actor) error {
			return is.apply(Change{Status: new(Todo), MovedAt: clock.Ptr(at)}, tuesday, by)
		}
		for name, err := range map[string]error{
			"by an agent": back(monday, coo), "in the future": back(tuesday.Add(time.Second), ada), "before its creation": back(monday.Add(-time.Second), ada),
		} {
			if fault.Of(err) == nil {
				t.Errorf("%s: %v, want it refused", name, err)
			}
		}
		is.move(InProgress, tuesday, ada)
		if err := back(monday, ada); err != nil || is.Status != Todo || !is.MovedAt.Equal(monday) {
			t.Errorf("%v, %s since %v; want todo since Monday", err, is.Status, is.MovedAt)
		}
	})
	t.Run("starts when it leaves todo", func(t *testing.T) {
		is := card(t)
		for i, step := range []struct {
			to   Status
			want *time.Time
		}{{Backlog, nil}, {InProgress, &monday}, {Review, &monday}, {InProgress, &monday}, {Done, &monday}, {Todo, &monday}, {InProgress, &tuesday}} {
			at := monday
			if i > 1 {
				at = tuesday
			}
			if is.move(step.to, at, ada); (is.StartedAt == nil) != (step.want == nil) || step.want != nil && !is.StartedAt.Equal(*step.want) {
				t.Errorf("in %s after %d moves: started at %v, want %v", step.to, i+1, is.StartedAt, step.want)
			}
		}
	})
	// An agent's done needs a review.
	t.Run("an agent's done is a review", func(t *testing.T) {
		for _, from := range []Status{Backlog, Todo, InProgress, Review} {
			is := card(t)
			is.move(from, monday, ada)
			is.move(Done, tuesday, coo)
			if is.Status != Review || is.DoneAt != nil {
				t.Errorf("from %s: %s, done at %v; want review", from, is.Status, is.DoneAt)
			}
		}
		made, err := New{Title: "Did it", Status: Done}.make("id", monday, coo)
		if err != nil || made.Status != Review || made.DoneAt != nil {
			t.Errorf("made as done: %s, %v, %v; want review", made.Status, made.DoneAt, err)
		}
	})
	t.Run("an agent that says done again changes nothing", func(t *testing.T) {
		is := card(t)
		is.move(Done, monday, ada)
		is.move(Done, tuesday, coo)
		if is.Status != Done || !is.DoneAt.Equal(monday) {
			t.Errorf("%s, done at %v; want done on Monday", is.Status, is.DoneAt)
		}
	})
	// A done task must not count as blocked.
	t.Run("done clears blocked", func(t *testing.T) {
		is := card(t)
		is.Blocked = &Blocked{Reason: "No key", Since: clock.At(monday), By: "Ada"}
		is.move(Review, tuesday, ada)
		if is.Blocked == nil {
			t.Error("a review cleared it too")
		}
		is.move(Done, tuesday, ada)
		if is.Blocked != nil {
			t.Errorf("still blocked by %q", is.Blocked.Reason)
		}
	})
}

// diff reports every field that differs.
func TestDiff(t *testing.T) {
	t.Parallel()
	was := card(t)
	if got := diff(was, card(t)); len(got) > 0 {
		t.Errorf("two equal tasks differ in %v", got)
	}
	is := was
	change := Change{
		Title: new("Ship it now"), Description: new("soon"), Status: new(Review), Priority: new(High), Type: new(Bug),
		Tags: &[]Tag{"web"}, Blocked: patch.Set(BlockedReason{Reason: "No key"}), SessionKey: patch.Set("agent:cto:main"),
		Branch: patch.Set("main"), PRURL: patch.Set("https://x.example/1"), DueAt: patch.Set(clock.At(tuesday)),
	}
	if err := is.apply(change, tuesday, ada); err != nil {
		t.Fatal(err)
	}
	is.AssigneeID = new("ada")
	want := map[string][2]any{
		"title":       {"Ship it", "Ship it now"},
		"description": {0, 4},
		"status":      {Todo, Review},
		"priority":    {Medium, High},
		"type":        {Plain, Bug},
		"tags":        {[]Tag{}, []Tag{"web"}},
		"assignee_id": {(*string)(nil), new("ada")},
		"blocked":     {(*Blocked)(nil), &Blocked{Reason: "No key", Since: clock.At(tuesday), By: "Ada"}},
		"session_key": {(*string)(nil), new("agent:cto:main")},
		"branch":      {(*string)(nil), new("main")},
		"pr_url":      {(*string)(nil), new("https://x.example/1")},
		"due_at":      {(*clock.Time)(nil), clock.Ptr(tuesday)},
	}
	if d := cmp.Diff(want, diff(was, is)); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	again := is
	again.AssigneeID, again.Blocked, again.DueAt = new("ada"), new(*is.Blocked), new(*is.DueAt)
	if got := diff(is, again); len(got) > 0 {
		t.Errorf("equal values at other addresses differ in %v", got)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ref  string
		want int64
	}{
		{"TASK-1", 1},
		{"task-12", 12},
		{"Task-9223372036854775807", 1<<63 - 1},
		{"TASK-9223372036854775808", 0},
		{"TASK-0", 0},
		{"TASK-01", 0},
		{"TASK-+1", 0},
		{"TASK--1", 0},
		{"TASK-1 ", 0},
		{"TASK-1_0", 0},
		{"TASK-", 0},
		{"TASK", 0},
		{"TASK 1", 0},
		{"1", 0},
		{"", 0},
		{"019a0000-0000-7000-8000-000000000000", 0},
	}
	for _, tt := range tests {
		if got, ok := parseKey(tt.ref); ok != (tt.want > 0) || ok && got != tt.want {
			t.Errorf("parseKey(%q) = %d, %v; want %d", tt.ref, got, ok, tt.want)
		}
	}
}

// parseKey accepts only correctly spelled keys.
func FuzzParseKey(f *testing.F) {
	for _, ref := range []string{"TASK-1", "task-12", "TASK-01", "TASK-+1", "TASK-9223372036854775808", "ТASK-1", "TAſK-1", "TASK-１"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		n, ok := parseKey(ref)
		if ok && (n < 1 || !strings.EqualFold(keyOf(n), ref) || len(keyOf(n)) != len(ref)) {
			t.Errorf("%q was read as %s", ref, keyOf(n))
		}
		if n < 1 {
			return
		}
		if back, ok := parseKey(strings.ToLower(keyOf(n))); !ok || back != n {
			t.Errorf("%s was read as %d, %v", keyOf(n), back, ok)
		}
	})
}
