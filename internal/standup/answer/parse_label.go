package answer

import (
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

// labelMeaning is the meaning of a phrase that is used as a label.
type labelMeaning struct {
	part part
	// weak is true for phrases that are also ordinary words. They are labels only if they
	// look like the labels around them.
	weak bool
}

// labelWords maps lower-case phrases to their meanings as labels. Besides the labels for a
// report's three parts, it contains labels for other sections, because a part ends where
// another section begins.
var labelWords = vocabulary(map[labelMeaning]string{
	{partYesterday, false}: `yesterday|yesterday's work|yesterday's progress|yesterday's update|yesterday's accomplishments|yesterday's achievements|yesterday's tasks|
		yesterday's wins|yesterday's summary|yesterday i|yesterday, i|yesterday's activity|yesterday's activities|what i did|what i did yesterday|what did i do yesterday|
		what did you do yesterday|what did i accomplish|what did i accomplish yesterday|what did you accomplish yesterday|what was done yesterday|what i accomplished|what i accomplished yesterday|what i completed|what i completed yesterday|what i finished yesterday|
		what i worked on|what i worked on yesterday|what i've done|what i have done|what got done|done yesterday|completed yesterday|accomplished yesterday|accomplishments yesterday|
		finished yesterday|worked on yesterday|work done yesterday|progress yesterday|progress since yesterday|since yesterday|since last standup|since the last standup|
		done since last standup|done since the last standup|last 24 hours|past 24 hours|last 24h|previous day|prior day|last working day|previous working day`,
	{partYesterday, true}: `done|completed|accomplished|accomplishments|achievements|finished|progress|shipped|completed work|work completed|completed tasks|
		tasks completed|wins|y|recent work|previously|what was done|delivered|work done|recently completed|done so far`,
	{partToday, false}: `today|today's plan|today's plans|today's focus|today's priorities|today's goals|today's work|today's tasks|today's agenda|plan for today|plans for today|
		planned for today|planned today|what i will do today|what i'll do today|what i'm doing today|what i am doing today|what i plan to do|what i plan to do today|
		what i'm working on|what i am working on|what i'm working on today|what i am working on today|what i will work on today|what i'll work on today|what i'm planning to do today|focus for today|focus today|goals for today|priorities for today|
		today i|today i will|today i'll|today, i|today, i will|today, i'll|on deck today|doing today|next 24 hours|next 24h|working on today|up next today|what will i do today|what will you do today|
		what will i work on|what will i work on today|what will you work on today|what am i doing today|what are you working on today|what are you going to do today|what i intend to do today|to do today|tasks for today|agenda for today`,
	{partToday, true}: `next|next up|up next|next steps|plan|plans|planned|focus|priorities|goals|in progress|doing|working on|to do|todo|upcoming|what's next|what is next|
		planned work|current focus|t|currently working on`,
	{partBlockers, false}: `blockers|blocker|impediments|impediment|roadblocks|roadblock|obstacles|obstacle|blockages|blocking issues|blocking me|what's blocking me|what is blocking me|
		what's blocking|what blocks me|what is blocking you|what are your blockers|are there any blockers|anything blocking me|are there any blockers in my way|are there any blockers or impediments|are there any impediments|are there any impediments in my way|what obstacles are in my way|
		what is in my way|things in my way|in my way|what's in my way|
		what stands in my way|what's blocking my progress|what is blocking my progress|blockers today|blocked items`,
	{partBlockers, true}: `blocked|blocking|blocked by|blocked on|issues|risks|challenges|concerns|problems|dependencies|help needed|needs help|waiting on|waiting for|
		stuck|stuck on|hurdles|needs|asks|escalations|pain points|b`,
	{partOther, true}: `notes|note|other|misc|miscellaneous|fyi|summary|overall|metrics|kudos|mood|confidence|questions|links|references|ps|p.s|additional notes|
		additional context|other notes|other updates|comments|announcements|tomorrow|tl;dr|tldr|overview|shout-outs|shoutouts|observations|appendix|sources|for the coo|requests|learnings`,
})

// vocabulary maps each phrase to its meaning. It splits the given lists of phrases at each "|".
func vocabulary(lists map[labelMeaning]string) map[string]labelMeaning {
	out := map[string]labelMeaning{}
	for w, list := range lists {
		for phrase := range strings.SplitSeq(list, "|") {
			out[strings.TrimSpace(phrase)] = w
		}
	}
	return out
}

// maxLabel is the number of bytes at the start of a line that are searched for a label.
const maxLabel = 96

// classify returns the meaning of a phrase that is used as a label, and any text in
// parentheses after it, as in "Today (after lunch)". A date counts as part of the label and
// is not returned.
func classify(phrase string) (w labelMeaning, extra string) {
	if len(phrase) > maxLabel {
		return labelMeaning{}, ""
	}
	if open := strings.LastIndexByte(phrase, '('); open > 0 && strings.HasSuffix(strings.TrimSpace(phrase), ")") {
		extra = strings.TrimSpace(phrase[open:])
		phrase = phrase[:open]
		if inner := strings.ToLower(strings.Trim(extra, "()")); isDate(strings.Fields(inner)) || inner == "if any" || inner == "optional" || lookUp(inner).part != partNone && lookUp(inner).part == lookUp(strings.ToLower(strings.Trim(phrase, " *_:#"))).part {
			extra = ""
		}
	}
	p := strings.ReplaceAll(strings.ToLower(phrase), "’", "'")
	p = strings.TrimFunc(p, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words := strings.Fields(p)
	if len(words) == 0 || len(words) > 12 {
		return labelMeaning{}, ""
	}
	p = strings.Join(words, " ")
	if w = lookUp(p); w.part != partNone {
		return w, extra
	}
	for n := len(words) - 1; n > 0 && isDate(words[n:]); n-- {
		if w = lookUp(strings.TrimRight(strings.Join(words[:n], " "), ",-–—")); w.part != partNone {
			return w, extra
		}
	}
	return labelMeaning{}, ""
}

// lookUp returns the meaning of a phrase. The phrase can start with a word such as "my" ("my blockers"), or be joined
// with other phrases for the same part ("blockers / risks").
func lookUp(p string) labelMeaning {
	if w, ok := labelWords[p]; ok {
		return w
	}
	if first, rest, ok := strings.Cut(p, " "); ok && slices.Contains([]string{"my", "the", "our", "current", "any", "key", "main", "open", "active"}, first) {
		return lookUp(rest)
	}
	if !strings.ContainsAny(p, "/&+,") && !strings.Contains(p, " and ") && !strings.Contains(p, " or ") {
		return labelMeaning{}
	}
	p = strings.ReplaceAll(strings.ReplaceAll(p, " and ", "/"), " or ", "/")
	parts := strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune("/&+,", r) })
	if len(parts) < 2 {
		return labelMeaning{}
	}
	first := labelWords[strings.TrimSpace(parts[0])]
	if first.part <= partOther {
		return labelMeaning{}
	}
	for _, s := range parts[1:] {
		w, ok := labelWords[strings.TrimSpace(s)]
		if !ok || w.part != first.part && w.part != partOther {
			return labelMeaning{}
		}
		first.weak = first.weak && w.weak
	}
	return first
}

// isDate reports whether the words form a date, such as "friday, 20 nov".
func isDate(words []string) bool {
	const months = "|january|february|march|april|may|june|july|august|september|october|november|december|"
	const others = "|monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|sept|of|the|utc|"
	for _, w := range words {
		w = strings.Trim(w, ",.()")
		switch {
		case w == "":
		case w[0] >= '0' && w[0] <= '9' && strings.Trim(w, "0123456789-/.:thndrsTZ") == "":
		case strings.Contains(others, "|"+w+"|"):
		case len(w) >= 3 && strings.Contains(months, "|"+w):
		default:
			return false
		}
	}
	return len(words) > 0
}

// labelSplit is a line that is split into a label and the text after it.
type labelSplit struct {
	labelMeaning
	rest string
	sep  string // ":", "-", or "" if the label is the complete line
}

// splitLabel splits a label off the start of s. The label must be all of s or end with a separator.
func splitLabel(s string) (labelSplit, bool) {
	window := s
	if len(window) > maxLabel {
		window = window[:maxLabel]
	}
	for i := 1; i < len(window); i++ {
		sep, size := separator(s, i)
		if size == 0 {
			continue
		}
		if w, extra := classify(s[:i]); w.part != partNone {
			rest := strings.TrimLeft(s[i+size:], " \t")
			return labelSplit{w, strings.TrimSpace(extra + " " + rest), sep}, true
		}
	}
	if w, extra := classify(s); w.part != partNone {
		return labelSplit{w, extra, ""}, true
	}
	return labelSplit{}, false
}

// separator returns the kind and length of the separator at the start of s[i:]. The length
// is 0 if there is no separator.
func separator(s string, i int) (kind string, size int) {
	if c := s[i]; c != ':' && c != '?' && c != '-' && c != '=' && c < utf8.RuneSelf {
		return "", 0
	}
	rest := s[i:]
	for _, c := range []string{":", "：", "?"} {
		if strings.HasPrefix(rest, c) {
			return ":", len(c)
		}
	}
	for _, dash := range []string{"->", "=>", "→", "—", "–", "--", "-"} {
		if !strings.HasPrefix(rest, dash) {
			continue
		}
		after := rest[len(dash):]
		spaced := after == "" || after[0] == ' ' || after[0] == '\t'
		if dash == "-" && !spaced || dash == "--" && !spaced { // "to-do"
			return "", 0
		}
		return "-", len(dash)
	}
	return "", 0
}

// shape is the formatting of a label. Labels of the same shape belong together. If two
// shapes are equally likely for a part's labels, the shape with the lower number is used.
type shape int

const (
	shapeTag    shape = 7 // 1 to 6 are heading levels
	shapeBold   shape = 8
	shapePlain  shape = 9
	shapeBullet shape = 20 // plus twice the indentation, plus one if not bold
	shapeQuote  shape = 200
	shapeNone   shape = 400 // a line such as "No blockers today."
)

func (s shape) heading() bool { return s >= 1 && s <= 6 }
func (s shape) bullet() bool  { return s >= shapeBullet && s < shapeQuote }
func (s shape) quote() bool   { return s >= shapeQuote && s < shapeNone }

// like reports whether s and o are equivalent. Tags, bold labels and plain labels are
// equivalent to each other, as are bullets with the same indentation. Any other shape is
// equivalent only to itself.
func (s shape) like(o shape) bool {
	line := func(x shape) bool { return x >= shapeTag && x <= shapePlain }
	return s == o || line(s) && line(o) || s.bullet() && o.bullet() && (s-shapeBullet)/2 == (o-shapeBullet)/2
}

// labelLine is a line that may be a label.
type labelLine struct {
	labelMeaning
	shape shape
	rest  string // text after the label on the same line
	sep   string
	upper bool // starts with a capital letter
}

// linePrefix is the markup before the text of a line.
type linePrefix struct {
	quoted, bullet bool
	indent         int
	heading        int
	text           string // the rest of the line
}

// readPrefix separates a line's prefix, consisting of quote marks, list markers, heading
// marks and emoji, from its text.
func readPrefix(line string) linePrefix {
	var l linePrefix
	s := strings.TrimRight(line, " \t")
	for {
		t := strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(t, ">") {
			break
		}
		s, l.quoted = t[1:], true
	}
	t := strings.TrimLeft(s, " \t")
	l.indent = min(len(strings.ReplaceAll(s[:len(s)-len(t)], "\t", "    ")), 40)
	for range 4 { // enough for "- [x] 1. ## Yesterday"
		before := t
		if marks := len(t) - len(strings.TrimLeft(t, "#")); marks > 0 && marks <= 6 && l.heading == 0 {
			t, l.heading = strings.TrimLeft(t[marks:], " \t"), marks
			t = strings.TrimRight(strings.TrimRight(t, "#"), " \t")
		}
		if rest, ok := cutMarker(t); ok {
			t, l.bullet = rest, l.bullet || l.heading == 0
		}
		t = cutEmoji(t)
		if t == before {
			break
		}
	}
	l.text = t
	return l
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

// cutEmoji strips emoji and other symbols from the start of a line, including
// :shortcodes: and keycap digits.
func cutEmoji(s string) string {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r >= '0' && r <= '9' {
			if keycap := strings.TrimPrefix(s[1:], "\ufe0f"); strings.HasPrefix(keycap, "\u20e3") {
				s = strings.TrimPrefix(keycap, "\u20e3")
				continue
			}
			return s
		}
		if end := strings.IndexByte(s[1:min(len(s), 40)], ':'); r == ':' && end > 0 && strings.Trim(s[1:end+1], "abcdefghijklmnopqrstuvwxyz0123456789_+-") == "" {
			s = s[end+2:]
			continue
		}
		if unicode.IsLetter(r) || strings.ContainsRune("*_`<[【(\"'“‘#-+|", r) || r == utf8.RuneError {
			return s
		}
		s = s[size:]
	}
	return s
}

// readLabel parses a line as a label. It returns false if the line cannot be a label.
func readLabel(line string) (labelLine, bool) {
	l := readPrefix(line)
	if l.text == "" || l.text[0] == '|' { // a table row
		return labelLine{}, false
	}
	out := labelLine{shape: shapePlain}
	split, bold, ok := cutEmphasis(l.text)
	switch {
	case ok && bold:
		out.shape = shapeBold
	case ok:
		out.shape = shapeTag
	default:
		split, ok = splitLabel(l.text)
	}
	if !ok {
		return labelLine{}, false
	}
	switch {
	case l.heading > 0:
		out.shape = shape(l.heading)
		if isDate(strings.Fields(strings.ToLower(split.rest))) { // "## Today – Friday, 20 Nov"
			split.rest = ""
		}
	case l.bullet:
		plain := shape(0)
		if out.shape == shapePlain {
			plain = 1
		}
		out.shape = shapeBullet + 2*shape(l.indent) + plain
	}
	if l.quoted {
		out.shape += shapeQuote
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(l.text, func(r rune) bool { return !unicode.IsLetter(r) }))
	out.labelMeaning, out.rest, out.sep, out.upper = split.labelMeaning, split.rest, split.sep, !unicode.IsLower(r)
	return out, true
}

// cutEmphasis parses a label enclosed in markup, such as **Yesterday:**, __Today__ or <today>. Weak
// markup such as * may be plain emphasis, so its label must be separated from any text that
// follows, for example by a colon.
func cutEmphasis(s string) (split labelSplit, bold, ok bool) {
	marks := [][2]string{
		{"***", "***"},
		{"**", "**"},
		{"*", "*"},
		{"___", "___"},
		{"__", "__"},
		{"_", "_"},
		{"`", "`"},
		{"<strong>", "</strong>"},
		{"<b>", "</b>"},
		{"<u>", "</u>"},
		{"<h1>", "</h1>"},
		{"<h2>", "</h2>"},
		{"<h3>", "</h3>"},
		{"<h4>", "</h4>"},
		{"<", ">"},
		{"[", "]"},
		{"【", "】"},
	}
	for i, m := range marks {
		inner, found := strings.CutPrefix(s, m[0])
		if !found {
			continue
		}
		end := strings.Index(inner[:min(len(inner), 3*maxLabel)], m[1])
		if end < 1 {
			return labelSplit{}, false, false
		}
		after := strings.TrimLeft(inner[end+len(m[1]):], " \t")
		inner = cutEmoji(inner[:end])
		if rest, ok := cutMarker(inner); ok { // **1. Yesterday**
			inner = cutEmoji(rest)
		}
		split, ok = splitLabel(inner)
		if !ok {
			return labelSplit{}, false, false
		}
		tag := i >= len(marks)-3
		if m[0] == "<" {
			after = strings.TrimSuffix(after, "</"+inner+">")
		}
		if split.sep == "" && after != "" {
			sep, size := separator(after, 0)
			strong := !split.weak && (tag || len(m[0]) > 1)
			if size == 0 && !strong {
				return labelSplit{}, false, false
			}
			split.sep = sep
			after = strings.TrimLeft(after[size:], " \t")
		} else if split.sep == "" && !tag {
			split.sep = ":" // a marked label alone on its line needs no separator
		}
		split.rest = strings.TrimSpace(split.rest + " " + after)
		return split, !tag, true
	}
	return labelSplit{}, false, false
}
