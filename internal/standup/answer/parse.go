// Package answer parses what agents write in a standup: reports, statements about tasks, and the
// facilitator's review.
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

// ParseReport parses a report whose parts have Markdown headings, bold labels or plain labels
// such as "Yesterday:", also as list items, in any order and case. The report can be in a code
// block or a quotation. ParseReport never fails: text without a label goes to Other, and so does
// any thinking that the agent wrote before its report.
func ParseReport(text string) Parsed {
	d := newDocument(strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n"))
	for _, unwrap := range []func(*document) []string{unwrapFence, unwrapQuote} {
		if len(d.best) > 0 {
			break
		}
		if inner := newDocument(unwrap(d)); len(inner.best) > 0 {
			d = inner
		}
	}
	if lines := d.splitInline(); len(lines) > len(d.lines) {
		d = newDocument(lines)
	}
	return d.sort()
}

// document is a text that was analyzed line by line.
type document struct {
	lines   []string
	fenced  []bool         // whether the line belongs to a code block or to the agent's thinking
	labels  map[int]label  // lines that may be labels, by line number
	best    map[part]shape // the shape of each part's labels
	leading shape          // the most common shape of labels
	upper   bool           // labels without a heading start with a capital letter
	ended   map[part]bool  // parts with a label that ends with a separator or is alone on its line
}

// underline matches the line that makes a heading of the line before it.
var underline = regexp.MustCompile(`^ {0,3}(=+|-{2,})\s*$`)

// newDocument finds the code blocks and labels in a text, given as lines.
func newDocument(lines []string) *document {
	d := &document{lines: lines, labels: map[int]label{}, best: map[part]shape{}, ended: map[part]bool{}}
	d.findFences()
	for i, line := range lines {
		if d.fenced[i] {
			continue
		}
		if l, ok := readLabel("# " + line); ok && l.rest == "" && i+1 < len(lines) && underline.MatchString(lines[i+1]) {
			d.labels[i] = l
		} else if l, ok := readLabel(line); ok {
			d.labels[i] = l
		} else if mentionsBlockers(line) && !strings.ContainsAny(cutSymbols(line), ":：") && SaysNone(line) {
			d.labels[i] = label{part: partBlockers, shape: shapeNone}
		}
	}
	d.choose()
	return d
}

// choose decides which label shape to accept for each part of the report. For example, if all
// three parts have headings of the same level, a line "Today: …" between them is text, not a
// label.
func (d *document) choose() {
	seen, score := map[part]map[shape]bool{}, map[shape]int{}
	for _, l := range d.labels {
		if l.part == partOther || l.shape == shapeNone {
			continue
		}
		if seen[l.part] == nil {
			seen[l.part] = map[shape]bool{}
		}
		if !seen[l.part][l.shape] {
			score[l.shape]++
		}
		seen[l.part][l.shape] = true
	}
	better := func(a, b shape) bool { return b == 0 || score[a] > score[b] || score[a] == score[b] && a < b }
	for s := range score {
		if better(s, d.leading) {
			d.leading = s
		}
	}
	if score[d.leading] < 2 && !d.leading.heading() && d.headings() > 1 {
		return // a single line within sections that have other headings
	}
	for p, shapes := range seen {
		for s := range shapes {
			if better(s, d.best[p]) {
				d.best[p] = s
			}
		}
	}
	for _, l := range d.labels {
		if l.shape == d.best[l.part] && !l.shape.heading() {
			d.upper = d.upper || l.upper
			d.ended[l.part] = d.ended[l.part] || l.ended
		}
	}
}

// headings returns the number of Markdown headings.
func (d *document) headings() (n int) {
	for i, line := range d.lines {
		if !d.fenced[i] && headingLevel(strings.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// isLabel reports whether line i is a label of the report.
func (d *document) isLabel(i int) bool {
	l, ok := d.labels[i]
	switch {
	case !ok:
		return false
	case l.part == partOther:
		return l.shape.like(d.leading) && !l.shape.bullet()
	case l.shape == shapeNone:
		return d.best[partBlockers] == 0 && len(d.best) > 0
	case l.shape != d.best[l.part], d.isItem(l) && l.rest == "":
		return false
	}
	return l.shape.heading() || (l.upper || !d.upper) && (l.ended || !d.ended[l.part])
}

// isItem reports whether a label is only an item of a list in another part, such as "- Blockers: none"
// below a heading.
func (d *document) isItem(l label) bool { return l.shape.bullet() && !l.shape.like(d.leading) }

// inline finds labels in the middle of a line: "Yesterday: … Today: …".
var inline = regexp.MustCompile(`[\s.;,|/]([*_]{0,2}(Yesterday|Today|Blockers?)[*_]{0,2}:)`)

// splitInline splits lines that contain labels in the middle, so that each label starts a line. It
// ignores labels of parts that have a label already, and a single one in a line without a label at
// its start.
func (d *document) splitInline() []string {
	var out []string
	for i, line := range d.lines {
		var at []int
		taken := map[part]bool{}
		for _, m := range inline.FindAllStringSubmatchIndex(line, -1) {
			p := classify(line[m[4]:m[5]])
			if d.best[p] == 0 && !taken[p] && strings.Count(line[:m[2]], "`")%2 == 0 {
				taken[p], at = true, append(at, m[2])
			}
		}
		if d.fenced[i] || len(at) == 1 && !d.isLabel(i) {
			at = nil
		}
		start := 0
		for _, pos := range at {
			if head := strings.TrimRight(line[start:pos], " \t|;/"); strings.TrimSpace(head) != "" {
				out = append(out, head)
			}
			start = pos
		}
		out = append(out, line[start:])
	}
	return out
}

// sort assigns every line to a part.
func (d *document) sort() Parsed {
	b := assembler{document: d, texts: map[part][]string{}, now: partOther}
	for i := range d.lines {
		if d.isLabel(i) && d.labels[i].part != partOther {
			b.last = i
		}
	}
	for i := range d.lines {
		if d.isLabel(i) && (!b.unread || d.labels[i].shape.heading()) {
			b.label(i)
			b.unread = d.labels[i].part == partOther && d.labels[i].shape.heading()
			b.said = i
		} else {
			b.line(i)
		}
	}
	b.finish(partOther, 0)
	return b.parsed()
}

// assembler collects the lines of each part of a report.
type assembler struct {
	*document
	texts map[part][]string
	now   part // the current part
	// unread is true below a heading of another section, if labels are headings. All text below it belongs to Other.
	unread bool
	shape  shape // the shape of the current part's label
	chunk  []string
	first  bool // the chunk's first line was on the label's line
	last   int  // line number of the last label
	said   int  // line number of the last line that was not blank
	blank  bool // the previous line was blank
}

// finish completes the text of the current part and makes next the current part.
func (b *assembler) finish(next part, s shape) {
	if text := trimBlock(b.chunk, b.first); text != "" {
		b.texts[b.now] = append(b.texts[b.now], text)
	}
	b.now, b.shape, b.chunk, b.first, b.blank = next, s, nil, false, false
}

// line processes a line that is not a label.
func (b *assembler) line(i int) {
	line := b.lines[i]
	if !b.fenced[i] {
		ends := b.now != partOther && b.otherHeading(line)
		b.unread = b.unread || b.leading.heading() && (ends || headingLevel(strings.TrimSpace(line)) == int(b.leading))
		if ends || b.now != partOther && i > b.last && b.afterReport(i) {
			b.finish(partOther, 0)
		}
	}
	b.chunk = append(b.chunk, line)
	b.blank = strings.TrimSpace(line) == ""
	if !b.blank {
		b.said = i
	}
}

// otherHeading reports whether a line is a heading that ends the current part.
func (b *assembler) otherHeading(line string) bool {
	level := headingLevel(strings.TrimSpace(line))
	return level > 0 && (!b.shape.heading() || level <= int(b.shape))
}

// headingLevel returns the level of the Markdown heading s, or 0 if s is not a heading.
func headingLevel(s string) int {
	level := len(s) - len(strings.TrimLeft(s, "#"))
	if level > 6 || level < len(s) && s[level] != ' ' && s[level] != '\t' {
		return 0
	}
	return level
}

var farewell = regexp.MustCompile(`(?i)^(please )?(let me know|happy to|feel free|have a |thanks|thank you|cheers|that's (all|it)|that is all|end of (report|standup)|if you (need|have)|is there anything|anything else|best( regards)?,|regards|looking forward|see you|hope this)`)

// afterReport reports whether line i, which follows the last label, no longer belongs to
// the report. This is the case if the line follows a horizontal rule, follows the list that
// contains the report, or is a farewell.
func (b *assembler) afterReport(i int) bool {
	if b.said > b.last && thematicBreak.MatchString(strings.TrimSpace(b.lines[b.said])) &&
		trimBlock(b.chunk, b.first) != "" {
		return true
	}
	text := strings.TrimLeft(b.lines[i], " \t")
	if !b.blank || text == "" || isItem(text) || len(text) < len(b.lines[i]) {
		return false
	}
	return b.shape.bullet() && b.first || farewell.MatchString(text)
}

// label processes the label at line i.
func (b *assembler) label(i int) {
	l := b.labels[i]
	switch {
	case l.shape == shapeNone: // says that there are no blockers
		b.finish(b.now, b.shape)
	case b.isItem(l):
		b.finish(b.now, b.shape)
		b.texts[l.part] = append(b.texts[l.part], l.rest)
	case l.part == partOther: // keep the label's text in Other
		b.finish(partOther, 0)
		b.chunk = []string{b.lines[i]}
	default:
		b.finish(l.part, l.shape)
		if l.rest != "" {
			b.chunk, b.first = []string{l.rest}, true
		}
	}
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
