package answer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// part is a part of a report.
type part uint8

const (
	partNone  part = iota // not a label
	partOther             // no label, or a label that is none of the three
	partYesterday
	partToday
	partBlockers
)

// partNames are the words that name a part. Besides the three parts, they name other sections,
// because a part ends where another section begins.
var partNames = map[string]part{
	"yesterday": partYesterday, "yesterday's": partYesterday, "today": partToday, "today's": partToday,
	"blockers": partBlockers, "blocker": partBlockers, "blocked": partBlockers, "impediments": partBlockers,
	"impediment": partBlockers, "obstacles": partBlockers, "roadblocks": partBlockers,
	// In other languages, the parts stay unread.
	"gestern": partOther, "heute": partOther, "morgen": partOther, "hier": partOther, "aujourd'hui": partOther,
	"demain": partOther, "ayer": partOther, "hoy": partOther, "mañana": partOther, "ieri": partOther, "oggi": partOther,
	"domani": partOther, "ontem": partOther, "hoje": partOther, "amanhã": partOther, "gisteren": partOther,
	"vandaag": partOther, "igår": partOther, "idag": partOther, "вчера": partOther, "сегодня": partOther,
	"завтра": partOther, "wczoraj": partOther, "dzisiaj": partOther, "dziś": partOther, "jutro": partOther,
	"dün": partOther, "bugün": partOther, "昨日": partOther, "今日": partOther, "本日": partOther, "明日": partOther,
	"昨天": partOther, "今天": partOther, "明天": partOther, "어제": partOther, "오늘": partOther, "내일": partOther,
	"notes": partOther, "note": partOther, "summary": partOther, "metrics": partOther, "questions": partOther,
	"other": partOther, "fyi": partOther, "tomorrow": partOther,
}

// labelWords are the words that a label can have besides a part's name, as in "What I did
// yesterday", "Plan for today" and "Blockers / Risks (if any)".
const labelWords = ` a accomplish accomplished accomplishments achievements active activities agenda and any are completed current did do doing done finished focus ` +
	`for goals have i i'll i'm i've if in is issues key main my next of on open or our plan planned planning plans priorities progress risks summary tasks ` +
	`the there to up update updates was way what what's will work worked working you `

// dateWords are the words of a date, besides its numbers.
const dateWords = ` monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun ` +
	`january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec of the utc `

// maxLabel is the number of bytes at the start of a line that are searched for a label.
const maxLabel = 96

// classify returns the part that a phrase names, or partNone if it is not a label. A label names
// one part, or the blockers of today. Its other words are either labelWords or a date.
func classify(phrase string) part {
	named, others, dated := partNone, 0, false
	for _, w := range phraseWords(phrase) {
		switch p := partNames[w]; {
		case p == partBlockers && named == partToday, p == partToday && named == partBlockers:
			named = partBlockers
		case p != partNone && p != named && named != partNone:
			return partNone
		case p != partNone:
			named = p
		case isDate(w):
			dated = true
		case strings.Contains(labelWords, " "+w+" "):
			others++
		default:
			return partNone
		}
	}
	if dated && others > 0 { // "Blocked on 12 and 13"
		return partNone
	}
	return named
}

// isDate reports whether a word belongs to a date, such as friday, nov and 20th.
func isDate(w string) bool {
	return w[0] >= '0' && w[0] <= '9' && strings.Trim(w, "0123456789thndrs") == "" ||
		strings.Contains(dateWords, " "+w+" ")
}

// phraseWords returns the words of a text in lower case.
func phraseWords(s string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(s), "’", "'"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

// shape is the formatting of a label. Labels of the same shape belong together. If two
// shapes are equally likely for a part's labels, the shape with the lower number is used.
type shape int

const (
	shapeBold   shape = 8 // 1 to 6 are heading levels
	shapePlain  shape = 9
	shapeBullet shape = 20  // plus twice the indentation, plus one if not bold
	shapeNone   shape = 400 // a line such as "No blockers today."
)

func (s shape) heading() bool { return s >= 1 && s <= 6 }
func (s shape) bullet() bool  { return s >= shapeBullet && s < shapeNone }

// like reports whether s and o are equivalent. Bold and plain labels are equivalent, and so are
// bullets with the same indentation. Any other shape is equivalent only to itself.
func (s shape) like(o shape) bool {
	line := func(x shape) bool { return x == shapeBold || x == shapePlain }
	return s == o || line(s) && line(o) || s.bullet() && o.bullet() && s/2 == o/2
}

// label is a line that may be a label.
type label struct {
	part  part
	shape shape
	rest  string // the text after the label
	ended bool   // a separator follows the label, or it is marked and alone on its line
	upper bool   // starts with a capital letter
}

// readLabel parses a line as a label. It returns false if the line cannot be a label.
func readLabel(line string) (label, bool) {
	text := strings.TrimLeft(line, " \t")
	indent := min(len(strings.ReplaceAll(line[:len(line)-len(text)], "\t", "    ")), 40)
	text, bullet := cutMarker(strings.TrimRight(text, " \t"))
	text, _ = cutMarker(cutSymbols(text)) // - [ ] Yesterday
	l := label{shape: shapePlain}
	level := headingLevel(text)
	if level > 0 {
		text, _ = cutMarker(cutSymbols(strings.Trim(text, "# \t"))) // ## 1. Yesterday
		text = cutSymbols(text)
	}
	inner, after, mark := cutEmphasis(text)
	if !l.split(inner, mark != "" || level > 0) || !l.join(after, mark) {
		return label{}, false
	}
	switch {
	case level > 0:
		l.shape = shape(level)
		if !slices.ContainsFunc(phraseWords(l.rest), func(w string) bool { return !isDate(w) }) {
			l.rest = "" // "## Today – Friday, 20 Nov"
		}
	case mark != "":
		l.shape = shapeBold
	}
	if bullet && level == 0 {
		l.shape += shapeBullet - shapeBold + 2*shape(indent)
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(inner, func(r rune) bool { return !unicode.IsLetter(r) }))
	l.upper = !unicode.IsLower(first)
	return l, true
}

// cutSymbols strips symbols such as emoji from the start of a line, including :shortcodes: and
// keycap digits. Marks of emphasis and headings stay.
func cutSymbols(s string) string { return symbols.ReplaceAllString(s, "") }

var symbols = regexp.MustCompile(`^(\s|:[a-z0-9_+-]+:|\d\x{fe0f}?\x{20e3}|[^\pL\pN*_#|>"'“‘(\[<\x60])+`)

// cutEmphasis splits text that starts with a mark of emphasis, such as **, into the emphasized
// text and the text after it. If there is no such mark, inner is the complete text.
func cutEmphasis(s string) (inner, after, mark string) {
	mark = s[:len(s)-len(strings.TrimLeft(s, "*_"))]
	if mark == "" {
		return s, "", ""
	}
	inner, after, found := strings.Cut(s[len(mark):], mark)
	if !found || len(mark) > 3 {
		return s, "", ""
	}
	inner, _ = cutMarker(cutSymbols(inner)) // **1. Yesterday**
	return cutSymbols(inner), strings.TrimLeft(after, " \t"), mark
}

// separator matches what can separate a label from the text after it. A hyphen must be followed by
// a space, because it can be part of a word.
var separator = regexp.MustCompile(`\s*([:：?]+|[-=]>|→|—|–|--?(\s|$))\s*`)

// split splits a label off the start of s. The label must be all of s or end with a separator. A
// label without marks must be short, because it could be a sentence.
func (l *label) split(s string, marked bool) bool {
	window := s[:min(len(s), maxLabel)]
	most := 4 // words
	if marked {
		most = 10
	}
	for _, m := range separator.FindAllStringIndex(window, -1) {
		if l.name(s[:m[0]], most) {
			l.rest, l.ended = strings.TrimSpace(l.rest+" "+s[m[1]:]), true
			return true
		}
	}
	if !marked {
		most = 1
	}
	return len(s) <= maxLabel && l.name(s, most)
}

// name sets the part that a phrase of at most the given number of words names. What the phrase has
// in parentheses at its end, such as "Blockers (none)", becomes the label's rest.
func (l *label) name(phrase string, most int) bool {
	if first, _ := utf8.DecodeRuneInString(phrase); !unicode.IsLetter(first) || len(phraseWords(phrase)) > most {
		return false
	}
	l.rest = ""
	if l.part = classify(phrase); l.part != partNone {
		return true
	}
	if open := strings.LastIndexByte(phrase, '('); open > 0 && strings.HasSuffix(phrase, ")") {
		l.part, l.rest = classify(phrase[:open]), phrase[open:]
	}
	return l.part != partNone
}

// join adds the text after a label's emphasis. A single mark, as in "*Today* was", can be plain
// emphasis: without a separator between the label and a text after it, join returns false.
func (l *label) join(after, mark string) bool {
	sep := separator.FindStringIndex(after)
	switch {
	case sep != nil && sep[0] == 0:
		after, l.ended = after[sep[1]:], true
	case after == "":
		l.ended = l.ended || mark != ""
	case !l.ended && len(mark) == 1:
		return false
	}
	l.rest = strings.TrimSpace(l.rest + " " + after)
	return true
}

// cutMarker strips a list marker from the start of a line. A list marker is a bullet, a
// number or a check box.
func cutMarker(s string) (string, bool) {
	for _, m := range []string{"-", "*", "+", "•", "‣", "◦", "▪", "●", "–", "—", "·", "[ ]", "[x]", "[X]"} {
		if rest, ok := strings.CutPrefix(s, m); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			return strings.TrimLeft(rest, " \t"), true
		}
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && digits <= 3 && len(s) > digits+1 && (s[digits] == '.' || s[digits] == ')') && s[digits+1] == ' ' {
		return strings.TrimLeft(s[digits+1:], " "), true
	}
	return s, false
}
