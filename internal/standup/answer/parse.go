// Package answer parses what agents write in a standup: reports, in the many formats that
// models use, statements about tasks, and the facilitator's review.
//
// Its functions are pure. Models write the input, so the functions never fail, whatever the input,
// and their run time is proportional to its length.
package answer

import (
	"regexp"
	"strings"
	"unicode"
)

// Parsed is an agent's answer, split into the three parts of a report. Each part is
// Markdown as the agent wrote it, without its label. Text that belongs to none of the
// three parts is in Other.
type Parsed struct {
	Yesterday *string `json:"yesterday"` // nil if empty
	Today     *string `json:"today"`     // nil if empty
	Blockers  *string `json:"blockers"`  // nil if empty, or if the agent says that there are none
	Other     string  `json:"other"`
}

// ParseReport parses a report in any common format: headings, bold or plain labels, lists,
// tables, tags or JSON, in any order and case. It never fails: text without a label goes
// to Other, and so does any thinking that the agent wrote before its report.
func ParseReport(text string) Parsed {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if p, ok := readJSON(text); ok {
		return p
	}
	r := newDocument(strings.Split(text, "\n"))
	if len(r.best) == 0 && len(r.tables) == 0 { // the report may be inside a code block
		if lines, ok := unwrapFences(r); ok {
			if inner := newDocument(lines); len(inner.best) > 0 || len(inner.tables) > 0 {
				r = inner
			}
		}
	}
	if lines, ok := r.splitInline(); ok {
		r = newDocument(lines)
	}
	return r.sort()
}

// document is a text that was analyzed line by line.
type document struct {
	lines         []string
	fenced        []bool               // whether the line belongs to a code block or to the agent's thinking
	thinkingLines int                  // number of leading lines with the agent's thinking
	labels        map[int]labelLine    // lines that may be labels, by line number
	best          map[part]shape       // the shape of each part's labels
	leading       shape                // the most common shape of labels
	tables        map[int]*reportTable // by the number of the table's first line
	upper         map[part]bool        // parts with a label that starts with a capital
	ended         map[part]bool        // parts with a label that ends with a separator or is alone on its line
	strong        map[partShape]bool   // parts and shapes with a label that is not also an ordinary word
}

// partShape identifies a group of labels by their shape and the part of the report that they
// introduce.
type partShape struct {
	part  part
	shape shape
}

// newDocument finds the code fences, labels and tables in a text, given as lines.
func newDocument(lines []string) *document {
	r := &document{lines: lines, labels: map[int]labelLine{}, tables: map[int]*reportTable{}}
	r.findFences()
	r.findLabels()
	r.choose()
	r.findTables()
	return r
}

var underline = regexp.MustCompile(`^ {0,3}(=+|-{2,})\s*$`)

// findLabels collects the lines that may be labels.
func (r *document) findLabels() {
	inParagraph := false // the previous line belongs to the same paragraph
	labelled := false    // the paragraph's latest label ends with a dash
	for i, line := range r.lines {
		if r.fenced[i] || strings.TrimSpace(line) == "" {
			inParagraph, labelled = false, false
			continue
		}
		l, ok := readLabel(line)
		if ok && l.shape == shapePlain && inParagraph && !labelled && !l.upper && l.sep != ":" {
			ok = false // within a sentence: "… all of\ntoday - it was hard"
		}
		if !ok && mentionsBlockers(line) && saysNone(line) {
			l, ok = labelLine{labelMeaning: labelMeaning{partBlockers, false}, shape: shapeNone}, true
		}
		if ok && l.shape <= shapePlain && l.rest == "" && i+1 < len(r.lines) && underline.MatchString(r.lines[i+1]) {
			l.shape = 1
			if strings.Contains(r.lines[i+1], "-") {
				l.shape = 2
			}
		}
		if ok {
			r.labels[i] = l
		}
		if !inParagraph || ok {
			labelled = ok && l.sep == "-"
		}
		inParagraph = true
	}
}

// choose decides which label shape to accept for each part of the report. For example, if all
// three parts have headings of the same level, a line "Done: …" between them is text, not a
// label.
func (r *document) choose() {
	r.best, r.strong = map[part]shape{}, map[partShape]bool{}
	seen := map[partShape]bool{}
	unquoted := false
	for _, l := range r.labels {
		if l.part == partOther || l.shape == shapeNone {
			continue
		}
		k := partShape{l.part, l.shape}
		seen[k] = true
		r.strong[k] = r.strong[k] || !l.weak
		unquoted = unquoted || !l.shape.quote()
	}
	score := map[shape]int{}
	for k := range seen {
		score[k.shape]++
		if r.strong[k] {
			score[k.shape]++
		}
	}
	better := func(a, b shape) bool { return score[a] > score[b] || score[a] == score[b] && a < b }
	for s := range score {
		if s.quote() && unquoted {
			continue // a quotation within a report
		}
		if r.leading == 0 || better(s, r.leading) {
			r.leading = s
		}
	}
	for k := range seen {
		weak := !r.strong[k] && (!k.shape.like(r.leading) || !k.shape.heading() && score[r.leading] < 2)
		if weak || k.shape.quote() && unquoted {
			continue
		}
		if b, ok := r.best[k.part]; !ok || better(k.shape, b) {
			r.best[k.part] = k.shape
		}
	}
	r.upper, r.ended = map[part]bool{}, map[part]bool{}
	for _, l := range r.labels {
		if l.shape == r.best[l.part] && !l.shape.heading() {
			r.upper[l.part] = r.upper[l.part] || l.upper
			r.ended[l.part] = r.ended[l.part] || l.sep != ""
		}
	}
}

// isLabel reports whether line i is a label of the report.
func (r *document) isLabel(i int) bool {
	l, ok := r.labels[i]
	switch {
	case !ok:
		return false
	case l.part == partOther:
		return r.leading != 0 && l.shape.like(r.leading) && !l.shape.bullet()
	case l.shape == shapeNone:
		_, named := r.best[partBlockers]
		return !named && len(r.best) > 0
	case l.shape != r.best[l.part], !l.upper && r.upper[l.part], l.sep == "" && r.ended[l.part]:
		return false
	}
	return !l.weak || l.shape.heading() || !r.strong[partShape{l.part, l.shape}]
}

// inline finds labels in the middle of a line: "Yesterday: … Today: …".
var inline = regexp.MustCompile(`(?:^|[\s.;,|/(])((?:\*\*|__|\*|_)?(Yesterday|Today|Blockers?|Impediments?|YESTERDAY|TODAY|BLOCKERS?)(?:\*\*|__|\*|_)?(?:\s?[:：]|\s[-–—]+)(?:\*\*|__|\*|_)?)(?:\s|$)`)

// splitInline splits lines that contain labels in the middle, so that each label starts a
// line. It ignores labels of parts that already have an accepted label. If there is nothing
// to split, it returns false.
func (r *document) splitInline() ([]string, bool) {
	var out []string
	found := false
	taken := map[part]bool{}
	for p := range r.best {
		taken[p] = true
	}
	for i, line := range r.lines {
		at := r.inlineLabels(i, taken)
		start := 0
		for _, pos := range at {
			head := strings.TrimRight(line[start:pos], " \t")
			head = strings.TrimRight(strings.TrimRight(head, "|;/"), " \t")
			if strings.TrimSpace(head) != "" {
				out = append(out, head)
			}
			start, found = pos, true
		}
		out = append(out, line[start:])
	}
	return out, found
}

// inlineLabels returns the positions of the labels in line i, except for one at its start. It skips
// parts that are already in taken and adds the new ones to it. If there is only one such label, it
// counts only if the line also starts with a label.
func (r *document) inlineLabels(i int, taken map[part]bool) []int {
	if r.fenced[i] || len(taken) == 3 || !strings.ContainsAny(r.lines[i], ":-–—：") {
		return nil
	}
	line := r.lines[i]
	var at []int
	parts := map[part]bool{}
	last := 0
	code := 0
	for _, m := range inline.FindAllStringSubmatchIndex(line, -1) {
		code += strings.Count(line[last:m[2]], "`")
		last = m[2]
		w, _ := classify(line[m[4]:m[5]])
		if m[2] > 0 && code%2 == 0 && !taken[w.part] && !parts[w.part] {
			at = append(at, m[2])
			parts[w.part] = true
		}
	}
	if !r.isLabel(i) && len(at) < 2 || len(r.tables) > 0 {
		return nil
	}
	for p := range parts {
		taken[p] = true
	}
	return at
}

// sort assigns every line to a part.
func (r *document) sort() Parsed {
	b := assembler{document: r, texts: map[part][]string{}, now: partOther}
	for i := range r.lines {
		if r.isLabel(i) && r.labels[i].part != partOther {
			b.last = i
		}
	}
	for i := 0; i < len(r.lines); i++ {
		if t, ok := r.tables[i]; ok {
			b.finish(partOther)
			for _, c := range t.cells() {
				b.texts[c.part] = append(b.texts[c.part], c.text)
			}
			i = t.end - 1
			continue
		}
		i = b.line(i)
	}
	b.finish(partOther)
	return b.parsed()
}

// assembler collects the lines of each part of a report.
type assembler struct {
	*document
	texts map[part][]string
	now   part  // the current part
	shape shape // the shape of the current part's label
	chunk []string
	first bool // the chunk's first line was on the label's line
	item  int  // if positive, the current part is one list item, indented by item-1
	back  part // the part that continues after that list item
	last  int  // line number of the last label
	blank bool // the previous line was blank
}

// finish completes the text of the current part and makes next the current part.
func (b *assembler) finish(next part) {
	if text := trimBlock(b.chunk, b.first); text != "" {
		b.texts[b.now] = append(b.texts[b.now], text)
	}
	b.now, b.chunk, b.first, b.item, b.shape = next, nil, false, 0, 0
}

// line processes line i and returns the number of the last line that it consumed.
func (b *assembler) line(i int) int {
	line := b.lines[i]
	if b.isLabel(i) {
		return b.label(i)
	}
	if b.fenced[i] {
		b.chunk, b.blank = append(b.chunk, line), false
		return i
	}
	l := readPrefix(line)
	switch text := strings.TrimSpace(line); {
	case text == "":
		b.blank = true
	case l.heading > 0 && b.now != partOther && (!b.shape.heading() || l.heading <= int(b.shape)) && strings.HasPrefix(text, "#") && isHeading(text):
		b.finish(partOther)
	case b.shape == shapeTag && closingTag.MatchString(text): // closes a tag around the report
		b.finish(partOther)
	case b.item > 0 && l.indent < b.item:
		shape := b.shape
		b.finish(b.back)
		b.shape = shape
	case i > b.last && b.now != partOther && b.afterReport(i, l):
		b.finish(partOther)
	}
	if b.shape.quote() {
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(line, " "), ">"), " ")
	}
	b.chunk = append(b.chunk, line)
	b.blank = strings.TrimSpace(line) == ""
	return i
}

var closingTag = regexp.MustCompile(`^</[A-Za-z][\w.-]*>$`)

// isHeading reports whether a line that starts with # is a Markdown heading. It does not
// check for the # itself.
func isHeading(s string) bool {
	marks := len(s) - len(strings.TrimLeft(s, "#"))
	return marks <= 6 && (marks == len(s) || s[marks] == ' ' || s[marks] == '\t')
}

var farewell = regexp.MustCompile(`(?i)^(please )?(let me know|happy to|feel free|have a |thanks|thank you|cheers|that's (all|it)|that is all|end of (report|standup)|if you (need|have)|is there anything|anything else|best( regards)?,|regards|looking forward|see you|hope this)`)

// afterReport reports whether line i, which follows the last label, no longer belongs to
// the report. This is the case if the line follows a horizontal rule, follows the list that
// contains the report, or is a farewell.
func (b *assembler) afterReport(i int, l linePrefix) bool {
	j := i - 1
	for j > b.last && strings.TrimSpace(b.lines[j]) == "" {
		j--
	}
	if j > b.last && thematicBreak.MatchString(strings.TrimSpace(b.lines[j])) {
		return trimBlock(b.chunk, b.first) != ""
	}
	if !b.blank || l.bullet || l.indent > 0 {
		return false
	}
	return b.shape.bullet() && b.first || farewell.MatchString(l.text)
}

// label processes the label at line i and returns the number of the last line that it
// consumed.
func (b *assembler) label(i int) int {
	l := b.labels[i]
	if l.part == partOther { // keep the label's text in Other
		if b.now != partOther {
			b.finish(partOther)
		}
		b.chunk, b.blank = append(b.chunk, b.lines[i]), false
		return i
	}
	back, was := b.now, b.shape
	b.finish(l.part)
	b.shape, b.blank = l.shape, false
	switch {
	case l.shape == shapeNone:
		b.finish(back)
		b.shape = was
		return i
	case l.shape.bullet() && !l.shape.like(b.leading) && l.rest != "":
		b.item, b.back, b.shape = (int(l.shape)-int(shapeBullet))/2+1, back, was
	}
	if l.rest != "" {
		b.chunk, b.first = []string{l.rest}, true
	}
	if l.shape.heading() && l.rest == "" && i+1 < len(b.lines) && underline.MatchString(b.lines[i+1]) && !strings.Contains(b.lines[i], "#") {
		b.last = max(b.last, i+1) // the underline is not a rule
		return i + 1
	}
	return i
}

// parsed returns the parts of the report, built from the collected lines.
func (b *assembler) parsed() Parsed {
	var blockers []string
	for _, t := range b.texts[partBlockers] { // per text, so that "None" next to a blocker is dropped too
		text, after := cutNone(t)
		if text != "" {
			blockers = append(blockers, text)
		}
		if after != "" {
			b.texts[partOther] = append(b.texts[partOther], after)
		}
	}
	return Parsed{
		Yesterday: joined(b.texts[partYesterday]),
		Today:     joined(b.texts[partToday]),
		Blockers:  joined(blockers),
		Other:     strings.Join(b.texts[partOther], "\n\n"),
	}
}

// joined joins texts into a single text. It returns nil if the result consists only of
// spaces and punctuation, such as "-".
func joined(texts []string) *string {
	var b strings.Builder
	before := ""
	for i, t := range texts {
		if i > 0 {
			b.WriteString("\n")
			if !isItem(t) || !isItem(before[strings.LastIndexByte(before, '\n')+1:]) { // not items of the same list
				b.WriteString("\n")
			}
		}
		b.WriteString(t)
		before = t
	}
	s := b.String()
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsPunct(r) }) {
		return nil
	}
	return &s
}

func isItem(line string) bool {
	_, ok := cutMarker(strings.TrimSpace(line))
	return ok
}

var thematicBreak = regexp.MustCompile(`^((-\s*){3,}|(\*\s*){3,}|(_\s*){3,}|(=\s*){3,})$`)

// trimBlock removes blank lines and horizontal rules at the start and end, then joins the
// remaining lines without their common indentation. If first is true, the first line's text
// followed a label or marker, so its indentation is ignored.
func trimBlock(lines []string, first bool) string {
	drop := func(s string) bool { s = strings.TrimSpace(s); return s == "" || thematicBreak.MatchString(s) }
	for len(lines) > 0 && drop(lines[0]) {
		lines, first = lines[1:], false
	}
	for len(lines) > 0 && drop(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return ""
	}
	var out []string
	if first {
		out, lines = append(out, lines[0]), lines[1:]
	}
	common := -1
	for _, s := range lines {
		if indent := len(s) - len(strings.TrimLeft(s, " \t")); strings.TrimSpace(s) != "" && (common < 0 || indent < common) {
			common = indent
		}
	}
	for _, s := range lines {
		out = append(out, strings.TrimRight(s[min(max(common, 0), len(s)-len(strings.TrimLeft(s, " \t"))):], " \t"))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
