package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wardroom/internal/platform/plaintext"
)

const form = `{"summary":"All on track.","resolutions":[{"task":"TASK-3","blocker":"no keys","resolution":"sent"}],
"escalations":[{"title":"Sign the contract","detail":"Only the owner can.","blocker":2,"task":"TASK-7"}],"action_items":[{"title":"Rotate keys","assignee":"cto","task":null}]}`

var formRead = Review{
	Summary:     "All on track.",
	Resolutions: []Resolution{{new("TASK-3"), "no keys", "sent"}},
	Escalations: []Escalation{{"Sign the contract", "Only the owner can.", "2", new("TASK-7")}},
	ActionItems: []ActionItem{{"Rotate keys", new("cto"), nil}},
}

// ParseReview accepts every review whose meaning is clear.
func TestParseReview(t *testing.T) {
	t.Parallel()
	only := func(summary string) Review {
		return Review{Summary: summary, Resolutions: []Resolution{}, Escalations: []Escalation{}, ActionItems: []ActionItem{}}
	}
	with := func(change func(*Review)) Review {
		r := only("s")
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		text string
		want Review
	}{
		"bare":                  {form, formRead},
		"in a code block":       {"```json\n" + form + "\n```", formRead},
		"among prose":           {"Here {is} what \"I\" think:\n\n" + form + "\n\nLet me know { about it }.", formRead},
		"with a byte order":     {"\ufeff" + form, formRead},
		"only a summary":        {`{"summary":" fine\n"}`, only("fine")},
		"null for lists":        {`{"summary":"s","resolutions":null,"escalations":null,"action_items":null}`, only("s")},
		"unknown fields":        {`{"mood":{"x":[1,2]},"summary":"s","n":1e999999}`, only("s")},
		"trailing commas":       {"{\"summary\":\"s, ]\",\"escalations\":[{\"title\":\"t\",},],\n}", with(func(r *Review) { r.Summary = "s, ]"; r.Escalations = []Escalation{{Title: "t"}} })},
		"line breaks in a text": {"{\"summary\":\"one\ntwo\t\\\"three\\\"\"}", only("one\ntwo \"three\"")},
		"a summary in lines":    {`{"summary":["one","two"]}`, only("one\ntwo")},
		"a title that breaks lines": {
			`{"summary":"s","escalations":[{"title":"a\u001b[2J\nb \u202ec","detail":"x\ny"}],"action_items":[{"title":"\u202e"},{"title":"d\u2028e"}]}`,
			with(func(r *Review) {
				r.Escalations = []Escalation{{Title: "a[2J b c", Detail: "x\ny"}}
				r.ActionItems = []ActionItem{{Title: "d e"}}
			}),
		},
		"strings for objects": {
			`{"summary":"s","resolutions":["keys were sent"],"escalations":["Sign it","none"],"action_items":["Rotate"]}`,
			with(func(r *Review) {
				r.Resolutions = []Resolution{{Resolution: "keys were sent"}}
				r.Escalations, r.ActionItems = []Escalation{{Title: "Sign it"}}, []ActionItem{{Title: "Rotate"}}
			}),
		},
		"blockers cited by number": {
			`{"summary":"s","resolutions":[{"blocker":1,"resolution":"r"},{"blocker":"#2","resolution":"r"}],"escalations":[{"title":"t","blocker":3},{"title":"t","blocker":null}]}`,
			with(func(r *Review) {
				r.Resolutions = []Resolution{{Blocker: "1", Resolution: "r"}, {Blocker: "#2", Resolution: "r"}}
				r.Escalations = []Escalation{{Title: "t", Blocker: "3"}, {Title: "t"}}
			}),
		},
		"one object for a list":   {`{"summary":"s","escalations":{"title":"t"}}`, with(func(r *Review) { r.Escalations = []Escalation{{Title: "t"}} })},
		"none for a list":         {`{"summary":"s","escalations":"None","action_items":""}`, only("s")},
		"other spellings":         {`{"Summary":"s","actionItems":[{"Title":"t","Assignee":"@CTO"}]}`, with(func(r *Review) { r.ActionItems = []ActionItem{{Title: "t", Assignee: new("cto")}} })},
		"nobody":                  {`{"summary":"s","action_items":[{"title":"t","assignee":"unassigned"}]}`, with(func(r *Review) { r.ActionItems = []ActionItem{{Title: "t"}} })},
		"a task in words":         {`{"summary":"s","escalations":[{"title":"t","task":"see task-9 (login)"}]}`, with(func(r *Review) { r.Escalations = []Escalation{{Title: "t", Task: new("TASK-9")}} })},
		"a detail without title":  {`{"summary":"s","escalations":[{"detail":"first\nsecond"}]}`, with(func(r *Review) { r.Escalations = []Escalation{{Title: "first", Detail: "first\nsecond"}} })},
		"empty entries":           {`{"summary":"s","resolutions":[{}],"escalations":[{},null,7],"action_items":[{"assignee":"cto"}]}`, only("s")},
		"an object in an object":  {`{"review":{"summary":"inner"}}`, only("inner")},
		"a draft, then the final": {`{"summary":"draft"} and now {"summary":"final"}`, only("final")},
		"an empty example first":  {`{"summary":""} then {"summary":"s"}`, only("s")},
		"braces before":           {strings.Repeat("{", 1000) + `{"summary":"s"}`, only("s")},
		"in a block in a block":   {"````markdown\n```json\n" + form + "\n```\n````", formRead},
		"a code block in a text":  {"```json\n{\"summary\":\"Run ```make``` {then} wait\"}\n```", only("Run ```make``` {then} wait")},
		"two blocks":              {"```json\n{\"summary\":\"draft\"}\n```\nOn reflection:\n```json\n" + form + "\n```", formRead},
		"the form first":          {"The form: {\"summary\": \"two to five sentences\", \"resolutions\": [{\"task\": \"TASK-3 or null\"}]}\n" + form, formRead},
		"wrong types":             {`{"summary":"s","resolutions":7,"escalations":[true,[{"title":"t"}],{"title":{"x":1}}],"action_items":{"title":["a","b"],"assignee":3,"task":4}}`, with(func(r *Review) { r.ActionItems = []ActionItem{{Title: "a b"}} })},
		"thoughts before":         {"<think>{\"summary\": \"no\"}</think>\n" + form, formRead},
		"control characters":      {`{"summary":"a\u0000b\u001b[31mc` + "\xff" + `"}`, only("ab[31mc\uFFFD")},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseReview(c.text)
			if !ok {
				t.Fatal("not understood")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer without a review is not parsed as an empty review.
func TestParseReviewRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "All on track, nothing to escalate.", "{}", `{"summary":""}`, `{"summary":" \n "}`, `{"summary":null}`, `{"summary":7}`, `["summary"]`,
		`{"summary":"cut off in the mid`, `{"escalations":["x"]}`, "{'summary': 'python'}", `"summary":"s"`,
	} {
		if r, ok := ParseReview(text); ok {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

// A review of 2 MB is parsed in linear time and cut, wherever the object is.
func TestParseReviewOfTwoMegabytes(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	long := strings.Repeat(`{"x": [1, 2]} and so on. `, size/25)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"before prose":  {form + strings.Repeat("words ", size/6), true},
		"after prose":   {strings.Repeat("words ", size/6) + form, true},
		"after objects": {long + form, false}, // too many objects before it; the facilitator is asked again
		"a huge list":   {`{"summary":"s","action_items":[` + strings.Repeat(`{"title":"t"},`, size/14) + `]}`, true},
		"a huge text":   {`{"summary":"` + strings.Repeat("x", size) + `"}`, true},
		"cut off":       {`{"summary":"` + strings.Repeat("x", size), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := ParseReview(c.text)
			if ok != c.ok || len(r.ActionItems) > maxEntries || utf8.RuneCountInString(r.Summary) > maxText {
				t.Errorf("%v, want %v, with %d action items and %d bytes", ok, c.ok, len(r.ActionItems), len(r.Summary))
			}
		})
	}
}

// The number and length of entries are limited.
func TestParseReviewBounds(t *testing.T) {
	t.Parallel()
	list := make([]map[string]string, 60)
	for i := range list {
		long := strings.Repeat("ü", 10_001)
		list[i] = map[string]string{"title": long, "detail": long, "blocker": long, "resolution": long}
	}
	data, err := json.Marshal(map[string]any{"summary": strings.Repeat("x", 20_000), "resolutions": list, "escalations": list, "action_items": list})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := ParseReview(string(data))
	if !ok || len(r.Resolutions) != 50 || len(r.Escalations) != 50 || len(r.ActionItems) != 50 {
		t.Fatalf("%v, %d, %d, %d entries, want 50 each", ok, len(r.Resolutions), len(r.Escalations), len(r.ActionItems))
	}
	for most, s := range map[int]string{500: r.Escalations[49].Title, 10_000: r.Escalations[49].Detail} {
		if n := utf8.RuneCountInString(s); n != most || !strings.HasSuffix(s, "… [cut]") {
			t.Errorf("%d runes, want %d that end with a mark", n, most)
		}
	}
	if n := utf8.RuneCountInString(r.Summary); n != 10_000 {
		t.Errorf("the summary has %d runes", n)
	}
}

// A well-formed review is parsed without loss.
func TestParseReviewRoundTrip(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[A-Za-z{}"\\,:\[\] é]{0,20}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		r := Review{Summary: strings.TrimSpace(text.Draw(t, "summary")), Resolutions: []Resolution{}, Escalations: []Escalation{}, ActionItems: []ActionItem{}}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			task := rapid.SampledFrom([]*string{nil, new("TASK-1"), new("TASK-22")}).Draw(t, "task")
			a, b := strings.TrimSpace(text.Draw(t, "a")), strings.TrimSpace(text.Draw(t, "b"))
			r.Resolutions = append(r.Resolutions, Resolution{task, a, b})
			title := strings.Join(strings.Fields(a), " ") // one line with single spaces
			r.Escalations = append(r.Escalations, Escalation{title, b, strings.TrimSpace(text.Draw(t, "blocker")), task})
			r.ActionItems = append(r.ActionItems, ActionItem{title, rapid.SampledFrom([]*string{nil, new("cmo")}).Draw(t, "who"), task})
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ParseReview("So:\n```json\n" + string(data) + "\n```\nBye.")
		if diff := cmp.Diff(r, got); !ok || diff != "" {
			t.Fatalf("%v, %s", ok, diff)
		}
	})
}

// A review contains no NUL and no invalid UTF-8, which PostgreSQL rejects.
func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"plain\ttext\n", 100, "plain\ttext\n"},
		{"a\x00b\x1b[0m\x7f\u0085c", 100, "ab[0m\nc"},
		{"a\xffb\xc3", 100, "a\uFFFDb\uFFFD"},
		{"one\r\ntwo\rthree", 100, "one\ntwo\nthree"},
		{"exactly-20-characters", 21, "exactly-20-characters"},
		{"more than twenty characters", 20, "more than twe… [cut]"},
		{strings.Repeat("é", 30), 20, strings.Repeat("é", 13) + "… [cut]"},
		{"short", 3, "sho"},
		{"none", 0, ""},
		{"👩‍🚀 astronaut", 100, "👩‍🚀 astronaut"},
	} {
		if got := Clean(c.in, c.most); got != c.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func fit(s string, most int) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("%q is not UTF-8", s)
	case utf8.RuneCountInString(s) > most:
		return fmt.Errorf("%d runes, more than %d", utf8.RuneCountInString(s), most)
	case plaintext.Lines(s) != s:
		return fmt.Errorf("%+q has a character that cannot be seen", s)
	}
	return nil
}

func FuzzClean(f *testing.F) {
	f.Add("a\x00\xff\r\nb", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(0, min(most, 1000))
		got := Clean(s, most)
		if err := fit(got, most); err != nil {
			t.Fatal(err)
		}
		if again := Clean(got, most); again != got {
			t.Fatalf("%q, cleaned again, is %q", got, again)
		}
	})
}

// Any parsed review can be stored.
func FuzzParseReview(f *testing.F) {
	for _, s := range []string{form, "x {\"summary\":\"s\",}", `{"a":{"summary":["\u0000"]}}`, `{"summary":"s","escalations":["` + "\xff" + `"]}`, "{\"", `{"summary":"\ud800"}`, `{"":"","summary":"x","escalations":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := ParseReview(s)
		if !ok {
			return
		}
		if strings.TrimSpace(r.Summary) == "" || r.Resolutions == nil || r.Escalations == nil || r.ActionItems == nil {
			t.Fatalf("%+v", r)
		}
		check := func(most int, texts ...string) {
			for _, s := range texts {
				if err := fit(s, most); err != nil {
					t.Fatal(err)
				}
			}
		}
		check(maxText, r.Summary)
		for _, x := range r.Resolutions {
			check(maxText, x.Blocker, x.Resolution, text(x.Task))
		}
		for _, x := range r.Escalations {
			check(maxTitle, x.Title, text(x.Task))
			check(maxText, x.Detail, x.Blocker)
		}
		for _, x := range r.ActionItems {
			check(maxTitle, x.Title, text(x.Task), text(x.Assignee))
		}
	})
}
