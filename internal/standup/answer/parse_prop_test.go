package answer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// reportGen generates reports with numbered words and records the part of each word.
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

// body generates lines for a part, including some that look like labels.
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

// style is a way to write a label; rest says whether text may follow on its line.
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
	{"%s —", "", true},
	{"**1. %s**", "", false},
	{"## 1. %s", "", false},
	{"- [ ] %s:", "  ", true},
}

var synonyms = map[part][]string{
	partYesterday: {"Yesterday", "YESTERDAY", "What I did yesterday", "Yesterday's progress", "Done yesterday", "Yesterday (Nov 19)"},
	partToday:     {"Today", "TODAY", "Plan for today", "What I'll do today", "Today’s plan", "Today / Next"},
	partBlockers:  {"Blockers", "BLOCKERS", "Impediments", "Blockers in my way", "Blockers & Risks", "My blockers"},
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

// In every format, ParseReport keeps each word once, in its part and in order.
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

// swallowed are the words that a report may lose: labels, "none" phrases and marks.
var swallowed = func() map[string]bool {
	all := map[string]bool{}
	add := func(texts ...string) {
		for _, t := range texts {
			for _, w := range wordsOf(strings.ToLower(t)) {
				all[w] = true
			}
		}
	}
	for name := range partNames {
		add(name)
	}
	add(labelWords, dateWords, noneForm.String(), fillerPhrases.String(), fillerWords, "blocks blocker blockers blocked blocking blockages text txt plaintext markdown md yaml yml x p li ul ol em strong b i br div span")
	return all
}()

// inNoneLanguages reports whether a word can be part of "none" in a language but English.
func inNoneLanguages(w string) bool {
	for _, known := range noneLanguages {
		if !slices.ContainsFunc(spacedWords(w), func(w string) bool { _, ok := known[w]; return !ok }) {
			return true
		}
	}
	return strings.ContainsFunc(w, func(r rune) bool { return r >= 0x0E00 }) // a language without spaces
}

var shortcode = regexp.MustCompile(`:[a-z0-9_+-]+:`)

// mayLose reports whether a report may lose a word of s.
func mayLose(s, w string) bool {
	low := strings.ToLower(w)
	if swallowed[low] || saysNoneInAnother(w) || inNoneLanguages(w) || strings.Trim(low, "0123456789thndrsz") == "" {
		return true
	}
	for _, code := range shortcode.FindAllString(s, -1) { // an emoji before a label
		if slices.Contains(wordsOf(code), w) {
			return true
		}
	}
	return false
}

// For any input, ParseReport does not panic, neither invents, repeats nor loses words, and
// returns valid text.
func FuzzParseReport(f *testing.F) {
	for _, s := range []string{
		"Yesterday: a\nToday: b\nBlockers: none", "| Yesterday | Today |\n|---|---|\n| a\\|b | c<br>d |", "```\nToday: x\n```", "> - [ ] **Today**: x", "Yesterday: a. Today: b. Blockers: c",
		"<today>x</today>", "1️⃣ Today\n===\n:x: y", "- Today:\n\n  - x\n\n---\nbye", "Today\xff: \x00", "**Yesterday (a) b**", "No blockers.\n## Done\nx", "Blockers: None.\n\nx", "#", "Blockers: None.\n\nSparrow.",
	} {
		f.Add(s)
	}
	reports, err := filepath.Glob("testdata/*/*.txt")
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
		before := maps.Clone(left)
		for _, out := range []string{text(p.Yesterday), text(p.Today), text(p.Blockers), p.Other} {
			for _, w := range wordsOf(out) {
				if left[w]--; left[w] < 0 {
					t.Fatalf("%q stands %d times in %q, and more often in %+v", w, before[w], s, p)
				}
			}
			if out != strings.TrimSpace(out) && strings.TrimSpace(out) != "" && out != p.Other {
				t.Fatalf("%q is not trimmed", out)
			}
		}
		for w, n := range left {
			if n > 0 && !mayLose(s, w) {
				t.Fatalf("%q of %q is lost in %+v", w, s, p)
			}
		}
		for _, part := range []*string{p.Yesterday, p.Today, p.Blockers} {
			if part != nil && strings.TrimSpace(*part) == "" {
				t.Fatalf("an empty part in %+v", p)
			}
		}
		if p.Blockers != nil && SaysNone(*p.Blockers) {
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

// A report of 100 kB is parsed in full and quickly.
func TestParseReportLong(t *testing.T) {
	t.Parallel()
	line := "- TASK-7 went on, and today this line is one of very many\n"
	body := strings.Repeat(line, 33_000/len(line))
	p := ParseReport("## Yesterday\n" + body + "\n**not a label**\n## Today\n" + body + "## Blockers\n" + body)
	want := strings.TrimSpace(body)
	if text(p.Yesterday) != want+"\n\n**not a label**" || text(p.Today) != want || text(p.Blockers) != want || p.Other != "" {
		t.Errorf("%d, %d, %d and %d bytes", len(text(p.Yesterday)), len(text(p.Today)), len(text(p.Blockers)), len(p.Other))
	}
}

// hostile returns answers of n bytes that are slow for a parser of quadratic time.
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

// The parser takes linear time on hostile input: quadratic time would exceed the time limit of the test run.
func TestParseReportIsLinear(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	for name, s := range hostile(1 << 19) {
		t.Run(name, func(*testing.T) {
			ParseReport(s)
			Items(s)
			FinishedClaims(s)
			ParseReview(s)
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
