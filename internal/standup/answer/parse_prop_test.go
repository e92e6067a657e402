package answer

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// reportGen writes reports whose every word is numbered, and notes under which
// part it put which.
type reportGen struct {
	*rapid.T
	n    int
	want map[part][]string
}

func (g *reportGen) words(p part, least, most int) string {
	var out []string
	for range rapid.IntRange(least, most).Draw(g.T, "words") {
		g.n++
		w := fmt.Sprintf("w%d", g.n)
		g.want[p] = append(g.want[p], w)
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// body writes lines for a part, with what could be taken for labels among them.
func (g *reportGen) body(p part, indent string) []string {
	var out []string
	for range rapid.IntRange(1, 4).Draw(g.T, "blocks") {
		switch rapid.SampledFrom([]string{"paragraph", "list", "nested", "sentence", "fence", "quote", "bold"}).Draw(g.T, "block") {
		case "paragraph":
			out = append(out, "", indent+g.words(p, 1, 5)+", today "+g.words(p, 1, 3)+" yesterday: "+g.words(p, 1, 2), "")
		case "list":
			out = append(out, indent+"- "+g.words(p, 1, 3), indent+"- "+g.words(p, 1, 3))
		case "nested":
			out = append(out, indent+"- "+g.words(p, 1, 3), indent+"  - "+g.words(p, 1, 3))
		case "sentence":
			out = append(out, "", indent+rapid.SampledFrom([]string{"Today I", "Yesterday's", "Blocked by", "Done with", "Next we", "Blockers were"}).Draw(g.T, "start")+" "+g.words(p, 1, 4)+".", "")
		case "fence":
			out = append(out, "", indent+"```", indent+"Today: "+g.words(p, 1, 2), indent+"## Blockers", indent+g.words(p, 1, 2), indent+"```", "")
		case "quote":
			out = append(out, "", indent+"> Blockers: "+g.words(p, 1, 3), "")
		case "bold":
			out = append(out, indent+"- **"+g.words(p, 1, 1)+":** "+g.words(p, 1, 2))
		}
	}
	return out
}

// style is one way to write a label; rest says whether text may follow in its line.
type style struct {
	format string
	indent string
	rest   bool
}

var styles = []style{
	{"## %s", "", false},
	{"### ✅ %s:", "", false},
	{"# **%s**", "", false},
	{"**%s**", "", false},
	{"**%s:**", "", true},
	{"**%s**:", "", true},
	{"__%s:__", "", true},
	{"%s:", "", true},
	{"🎯 %s:", "", true},
	{"*%s*", "", false},
	{"- **%s:**", "  ", true},
	{"- %s:", "  ", true},
	{"%s\n===", "", false},
	{"[%s]", "", false},
	{"%s —", "", true},
	{"**1. %s**", "", false},
	{"<h2>%s</h2>", "", false},
}

var synonyms = map[part][]string{
	partYesterday: {"Yesterday", "YESTERDAY", "What I did yesterday", "Yesterday's progress", "Since last standup", "Yesterday (Nov 19)"},
	partToday:     {"Today", "TODAY", "Plan for today", "What I'll do today", "Today’s plan", "Today / Next"},
	partBlockers:  {"Blockers", "BLOCKERS", "Impediments", "Roadblocks", "Blockers & Risks", "My blockers"},
}

func (g *reportGen) report() string {
	s := rapid.SampledFrom(styles).Draw(g.T, "style")
	var lines []string
	if rapid.Bool().Draw(g.T, "greeting") {
		lines = append(lines, "Hello! "+g.words(partOther, 1, 3), "")
	}
	for _, p := range rapid.Permutation([]part{partYesterday, partToday, partBlockers}).Draw(g.T, "order") {
		name := rapid.SampledFrom(synonyms[p]).Draw(g.T, "name")
		l := strings.ReplaceAll(s.format, "%s", name)
		if s.rest && rapid.Bool().Draw(g.T, "inline") {
			l += " " + g.words(p, 1, 3)
		}
		lines = append(lines, l)
		lines = append(lines, g.body(p, s.indent)...)
		lines = append(lines, make([]string, rapid.IntRange(0, 2).Draw(g.T, "blank"))...)
	}
	if rapid.Bool().Draw(g.T, "crlf") {
		return strings.Join(lines, "\r\n")
	}
	return strings.Join(lines, "\n")
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Whatever form a report has, no word may be lost, stand twice, or stand under
// another part than its own, and the words keep their order.
func TestParseReportKeepsEveryWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &reportGen{T: t, want: map[part][]string{}}
		report := g.report()
		p := ParseReport(report)
		for part, got := range map[part]string{partYesterday: text(p.Yesterday), partToday: text(p.Today), partBlockers: text(p.Blockers), partOther: p.Other} {
			var numbered []string
			for _, w := range wordsOf(got) {
				if w[0] == 'w' && strings.Trim(w[1:], "0123456789") == "" && len(w) > 1 {
					numbered = append(numbered, w)
				}
			}
			if strings.Join(numbered, " ") != strings.Join(g.want[part], " ") {
				t.Fatalf("part %d has %q, want %q, in:\n%s", part, numbered, g.want[part], report)
			}
		}
	})
}

// swallowed are the words that a report may lose: those of labels, of what says
// that there is no blocker, and of marks. Every other word has to stand somewhere.
var swallowed = func() map[string]bool {
	all := map[string]bool{}
	add := func(texts ...string) {
		for _, t := range texts {
			for _, w := range wordsOf(strings.ToLower(t)) {
				all[w] = true
			}
		}
	}
	for phrase := range labelWords {
		add(phrase)
	}
	add(nothing...)
	add(padding, "my the our current any key main open active if optional and or", // determiners
		"at this time point moment present now right so far as of today on side end from to report raise flag mention me that i know m aware am",
		"text txt plaintext markdown md yaml yml json jsonc json5 null false x", "strong b u h1 h2 h3 h4 p li ul ol em i br div span",
		"section update item details detail category topic status what summary notes area part field content description question answer value report",
		"monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun sept utc")
	return all
}()

var shortcode = regexp.MustCompile(`:[a-z0-9_+-]+:`)

// mayLose says whether a report may lose a word of the text s.
func mayLose(s, w string) bool {
	low := strings.ToLower(w)
	if swallowed[low] || strings.Trim(low, "0123456789thndrsz") == "" {
		return true
	}
	for _, month := range []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"} {
		if len(low) >= 3 && strings.HasPrefix(month, low) {
			return true
		}
	}
	for _, code := range shortcode.FindAllString(s, -1) { // an emoji before a label
		if slices.Contains(wordsOf(code), w) {
			return true
		}
	}
	return false
}

// An answer is whatever a model wrote: no panic, no word out of nothing, no
// word twice or lost, and what is there is fit to be shown.
func FuzzParseReport(f *testing.F) {
	for _, s := range []string{
		"Yesterday: a\nToday: b\nBlockers: none", "| Yesterday | Today |\n|---|---|\n| a\\|b | c<br>d |", "```\nToday: x\n```", "> - [ ] **Today**: x", "Yesterday: a. Today: b. Blockers: c",
		"<today>x</today>", "1️⃣ Today\n===\n:x: y", "- Today:\n\n  - x\n\n---\nbye", "Today\xff: \x00", "**Yesterday (a) b**", "No blockers.\n## Done\nx", "Blockers: None.\n\nx", "#", "Blockers: None.\n\nSparrow.",
	} {
		f.Add(s)
	}
	reports, err := filepath.Glob("testdata/reports/*.txt")
	if err != nil || len(reports) == 0 {
		f.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, file := range reports {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := ParseReport(s)
		left := map[string]int{}
		for _, w := range wordsOf(s) {
			left[w]++
		}
		_, escaped := readJSON(s)
		escaped = escaped && strings.Contains(s, "\\") // its words are not those of s; TestParseReportJSON holds them
		before := maps.Clone(left)
		for _, out := range []string{text(p.Yesterday), text(p.Today), text(p.Blockers), p.Other} {
			for _, w := range wordsOf(out) {
				if left[w]--; left[w] < 0 && !escaped {
					t.Fatalf("%q stands %d times in %q, and more often in %+v", w, before[w], s, p)
				}
			}
			if out != strings.TrimSpace(out) && strings.TrimSpace(out) != "" && out != p.Other {
				t.Fatalf("%q is not trimmed", out)
			}
		}
		for w, n := range left {
			if n > 0 && !escaped && !mayLose(s, w) {
				t.Fatalf("%q of %q is lost in %+v", w, s, p)
			}
		}
		for _, part := range []*string{p.Yesterday, p.Today, p.Blockers} {
			if part != nil && strings.TrimSpace(*part) == "" {
				t.Fatalf("an empty part in %+v", p)
			}
		}
		if p.Blockers != nil && saysNone(*p.Blockers) {
			t.Fatalf("%q is no blocker", *p.Blockers)
		}
		for _, item := range Items(s) {
			if strings.TrimSpace(item) == "" {
				t.Fatal("an empty item")
			}
		}
		FinishedClaims(s)
		Statements(s)
	})
}

// Reports in JSON go another way than the others: there, too, each text stands
// under its own part, once, whatever characters it has.
func TestParseReportJSON(t *testing.T) {
	t.Parallel()
	texts := rapid.StringMatching(`[A-Za-z0-9 {}"\\,:#*|é✅-]{0,20}w[a-z]{3}`)
	rapid.Check(t, func(t *rapid.T) {
		fields := map[string]any{}
		want := map[part]string{}
		for p, names := range map[part][]string{
			partYesterday: {"yesterday", "Yesterday", "what_i_did"}, partToday: {"today", "plan_for_today"}, partBlockers: {"blockers", "Blockers", "impediments"}, partOther: {"agent", "mood_now"},
		} {
			name := rapid.SampledFrom(names).Draw(t, "name")
			if rapid.Bool().Draw(t, "list") {
				list := rapid.SliceOfN(texts, 1, 3).Draw(t, "texts")
				fields[name] = list
				for _, s := range list {
					want[p] += "- " + strings.TrimSpace(s) + "\n"
				}
				want[p] = strings.TrimSpace(want[p])
			} else {
				s := texts.Draw(t, "text")
				fields[name], want[p] = s, strings.TrimSpace(s)
			}
			if p == partOther && strings.HasPrefix(want[p], "- ") {
				want[p] = name + ":\n" + want[p]
			} else if p == partOther {
				want[p] = name + ": " + want[p]
			}
		}
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		report := rapid.SampledFrom([]string{"%s", "```json\n%s\n```", "```\n%s\n```\n"}).Draw(t, "frame")
		p := ParseReport(strings.ReplaceAll(report, "%s", string(data)))
		for part, got := range map[part]string{partYesterday: text(p.Yesterday), partToday: text(p.Today), partBlockers: text(p.Blockers), partOther: p.Other} {
			if got != want[part] {
				t.Fatalf("part %d is %q, want %q, of %s", part, got, want[part], data)
			}
		}
	})
}

// A report of 100 kB is read whole, in no more than a moment.
func TestParseReportLong(t *testing.T) {
	t.Parallel()
	line := "- TASK-7 went on, and today this line is one of very many\n"
	body := strings.Repeat(line, 33_000/len(line))
	start := time.Now()
	p := ParseReport("## Yesterday\n" + body + "\n**not a label**\n## Today\n" + body + "## Blockers\n" + body)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	want := strings.TrimSpace(body)
	if text(p.Yesterday) != want+"\n\n**not a label**" || text(p.Today) != want || text(p.Blockers) != want || p.Other != "" {
		t.Errorf("%d, %d, %d and %d bytes", len(text(p.Yesterday)), len(text(p.Today)), len(text(p.Blockers)), len(p.Other))
	}
}

// hostile are answers of n bytes that would be slow to read for a parser that
// looks at a line twice for every line.
func hostile(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	return map[string]string{
		"report":   fill("**Yesterday:** a\n- b\n**Today:** c\n**Blockers:** none\n\ntext text text\n"),
		"one line": fill("Yesterday: a Today: b ** __ `"),
		"stars":    fill("*"), "marks": fill("> "), "hashes": fill("#"), "pipes": fill("|"), "backticks": fill("`"), "brackets": fill("<["),
		"blank":  "Blockers: x" + fill("\n") + "y",
		"rules":  "- Blockers: x\n" + fill("---\n") + "y",
		"fences": fill("```\nToday: x\n"), "table": fill("| Yesterday | Today |\n|---|---|\n"), "colons": fill(":"), "dashes": fill("- "),
		"quotes": fill("> > > Today: x\n"), "emoji": fill("1️⃣"), "lists": fill("- - - - x\n"), "none": fill("No blockers.\n"),
	}
}

// A hostile answer must not hold the service up: work grows with length, not
// with its square. The bound is loose enough for a busy machine
// and the race detector; a square would take minutes.
func TestParseReportIsLinear(t *testing.T) {
	t.Parallel()
	for name, s := range hostile(30_000) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ParseReport(s)
			Items(s)
			FinishedClaims(s)
			ParseReview(s)
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func BenchmarkParseReport(b *testing.B) {
	for name, s := range hostile(100_000) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				ParseReport(s)
			}
		})
	}
}
