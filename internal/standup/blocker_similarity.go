package standup

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/standup/answer"
)

// This file decides whether two texts describe the same thing, because agents word a blocker
// differently every day. The measure is the Dice coefficient (L. R. Dice, "Measures of the amount
// of ecologic association between species", Ecology 26, 1945) over the character trigrams of the
// words, padded as in PostgreSQL's pg_trgm. It tolerates different endings, spelling and word
// order, and needs no dictionary.
//
// The thresholds are chosen so that this file's tests classify their pairs of texts correctly.
const (
	// similarEnough is the minimum score of two texts that describe the same thing.
	similarEnough = 0.6
	// similarIfReplaced is the threshold if each text has a word that the other lacks,
	// as in "the design is not approved" and "the copy is not approved". It also
	// applies to single words.
	similarIfReplaced = 0.8
	// containedShare is the minimum share of the shorter text that the longer text must
	// contain. The longer text is then treated as a longer version of the shorter one.
	containedShare = 0.85
	// sameWord is the minimum score of two words that are forms of the same word, such as
	// sign and signed.
	sameWord = 0.4
	// maxWording is the maximum number of characters that are compared, to save time with
	// long texts. The beginning of a text usually names its subject.
	maxWording = 600
)

// wording is a text prepared for comparison.
type wording struct {
	plain    string // all words, lower case, without punctuation
	words    []word // without stop words
	trigrams map[string]struct{}
}

// word is a word in a blocker's text that is not a stop word. A name, such as Stripe or 412, matches
// only the same name.
type word struct {
	text   string
	isName bool
}

var (
	taskName = regexp.MustCompile(`(?i)\btask[-‐‑–]\d{1,10}\b`)
	duration = regexp.MustCompile(`(?i)\b\d+(\.\d+)?\s?(%|percent\b|minutes?\b|mins?\b|hours?\b|hrs?\b|h\b|days?\b|d\b|weeks?\b|wks?\b|months?\b)`)
)

// smallWords are common words, which say little about what a blocker is.
const smallWords = ` a an the this that these those it its it's i i'm we we're our my me us you your they their he she his her who which what there here ` +
	`is are was were be been being am has have had having do does did doing will would can could cannot can't should shall may might must not don't doesn't isn't ` +
	`of for from to on onto in into at by with about as and or but so if then than because due since until till before after while when out up over per via also ` +
	`still again yet now currently today yesterday tomorrow already just only really very some any more monday tuesday wednesday thursday friday saturday sunday ` +
	`wait waiting waits awaiting blocked blocker blockers blocking blocks pending need needs needed needing stuck hold holding held unable able get getting got go going no none please `

func isSmall(s string) bool { return strings.Contains(smallWords, " "+s+" ") }

// wordingOf prepares a text for comparison. It drops task keys, which are compared
// separately, and durations, which change every day.
func wordingOf(text string) wording {
	if most := utf8.UTFMax * maxWording; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	text = strings.ReplaceAll(answer.Clean(text, maxWording), "’", "'")
	text = duration.ReplaceAllString(taskName.ReplaceAllString(text, " "), " ")
	w := wording{trigrams: map[string]struct{}{}}
	var all []string
	before := ""
	for _, s := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '.'
	}) {
		s = strings.Trim(s, "'.")
		low := strings.ToLower(s)
		if low == "" {
			continue
		}
		all = append(all, low)
		if name := isName(s, before); !isSmall(low) || name && low == "a" {
			w.add(word{low, name}, before)
		}
		before = low
	}
	w.plain = strings.Join(all, " ")
	return w
}

// isName reports whether a word is a name, such as Stripe, B or the number in "PR 412".
// The first word of a text is never treated as a name, because it is always capitalized.
func isName(s, before string) bool {
	first, size := utf8.DecodeRuneInString(s)
	switch {
	case before == "":
		return false
	case unicode.IsDigit(first):
		return !isSmall(before)
	}
	return unicode.IsUpper(first) || size == len(s) && first < 0x80
}

// add adds the word x to w, unless x is a number that is only a count, as in "12 tests
// fail". The word that precedes x in the text is passed as before.
func (w *wording) add(x word, before string) {
	if unicode.IsDigit([]rune(x.text)[0]) && (before == "" || isSmall(before)) {
		return
	}
	w.words = append(w.words, x)
	for _, t := range trigramsOf(x.text) {
		w.trigrams[t] = struct{}{}
	}
}

func trigramsOf(s string) []string {
	padded := []rune("  " + s + " ")
	list := make([]string, 0, len(padded))
	for i := range len(padded) - 2 {
		list = append(list, string(padded[i:i+3]))
	}
	return list
}

// similarity returns the similarity of two texts, from 0 to 1, and whether they describe
// the same thing. The order of the texts makes no difference.
func (w wording) similarity(o wording) (float64, bool) {
	if w.plain == o.plain {
		return 1, w.plain != ""
	}
	common := 0
	for t := range w.trigrams {
		if _, ok := o.trigrams[t]; ok {
			common++
		}
	}
	if common == 0 {
		return 0, false
	}
	least := min(len(w.trigrams), len(o.trigrams))
	dice := 2 * float64(common) / float64(len(w.trigrams)+len(o.trigrams))
	short := w.single() || o.single()
	contained := !short && float64(common)/float64(least) >= containedShare
	if dice < similarEnough && !contained {
		return dice, false
	}
	mine, myName := w.missing(o)
	theirs, theirName := o.missing(w)
	switch {
	case myName && theirName:
		return dice, false
	case mine && theirs || short:
		return dice, dice >= similarIfReplaced
	}
	return max(dice, similarEnough), true
}

// single reports whether the text is a single word. In a script that does not put spaces
// between words, no text is treated as a single word.
func (w wording) single() bool {
	return len(w.words) == 1 && !strings.ContainsFunc(w.words[0].text, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// missing reports whether o lacks some of w's words, and whether one of those is a name. Different
// forms of a word count as the same word.
func (w wording) missing(o wording) (some, name bool) {
	for _, x := range w.words {
		if slices.ContainsFunc(o.words, x.formOf) {
			continue
		}
		some, name = true, name || x.isName
	}
	return some, name
}

// formOf reports whether x and y may be forms of the same word. An abbreviation, such as db for
// database, counts as a form of the word. Words with digits match only themselves.
func (x word) formOf(y word) bool {
	if x.text == y.text {
		return true
	}
	digits := func(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }
	if digits(x.text) || digits(y.text) {
		return false
	}
	if shortFor(x.text, y.text) || shortFor(y.text, x.text) {
		return true
	}
	a, b := trigramsOf(x.text), trigramsOf(y.text)
	common := 0
	for _, t := range a {
		if slices.Contains(b, t) {
			common++
		}
	}
	return 2*float64(common)/float64(len(a)+len(b)) >= sameWord
}

// shortFor reports whether s is an abbreviation of long: two to four letters that occur in long in
// the same order, beginning with the first letter of long.
func shortFor(s, long string) bool {
	if len(s) < 2 || len(s) > 4 || len(long) <= len(s)+1 || s[0] != long[0] {
		return false
	}
	for _, r := range long {
		if first, size := utf8.DecodeRuneInString(s); size > 0 && r == first {
			s = s[size:]
		}
	}
	return s == ""
}
