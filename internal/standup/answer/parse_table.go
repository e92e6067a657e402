package answer

import (
	"regexp"
	"slices"
	"strings"
)

// reportTable is a Markdown table that contains a report, with one column or one row for each part.
type reportTable struct {
	rows    [][]string // without the delimiter row; the first row is the header
	end     int        // first line after the table
	columns bool       // the columns are the parts
}

// tableCell is the text of a table cell and the part of the report that it belongs to.
type tableCell struct {
	part part
	text string
}

var delimiter = regexp.MustCompile(`^[>\s]*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)

// findTables finds the tables that contain the report. If several parts have labels
// outside of tables, all tables are treated as plain text.
func (r *document) findTables() {
	if len(r.best) > 1 {
		return
	}
	for i := 0; i+1 < len(r.lines); i++ {
		if r.fenced[i] || !strings.Contains(r.lines[i], "|") || !strings.Contains(r.lines[i+1], "|") || !delimiter.MatchString(r.lines[i+1]) {
			continue
		}
		t := &reportTable{rows: [][]string{splitRow(r.lines[i])}, end: i + 2}
		for ; t.end < len(r.lines) && strings.Contains(r.lines[t.end], "|") && !r.fenced[t.end]; t.end++ {
			t.rows = append(t.rows, splitRow(r.lines[t.end]))
		}
		if t.columns = distinct(t.rows[0]) > 1; t.columns || t.labelledRows() > 1 {
			r.tables[i] = t
		}
		i = t.end - 1
	}
}

func splitRow(line string) []string {
	line = strings.TrimSpace(strings.TrimLeft(line, "> \t"))
	line = strings.TrimPrefix(line, "|")
	if !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}
	const escaped = "\x00"
	cells := strings.Split(strings.ReplaceAll(line, `\|`, escaped), "|")
	for i, c := range cells {
		c = breaks.ReplaceAllString(strings.ReplaceAll(c, escaped, "|"), "\n")
		var lines []string
		for l := range strings.SplitSeq(c, "\n") {
			lines = append(lines, strings.TrimSpace(l))
		}
		cells[i] = strings.TrimSpace(strings.Join(lines, "\n"))
	}
	return cells
}

var breaks = regexp.MustCompile(`(?i)<br\s*/?>`)

// cellPart returns the part of a report that is named in a cell.
func cellPart(s string) part {
	w, extra := classify(strings.Trim(cutEmoji(s), "*_`: "))
	if w.part == partOther || extra != "" {
		return partNone
	}
	return w.part
}

// distinct returns how many different parts of a report the cells name.
func distinct(cells []string) int {
	seen := map[part]bool{}
	for _, c := range cells {
		if p := cellPart(c); p != partNone {
			seen[p] = true
		}
	}
	return len(seen)
}

// labelledRows returns the number of different parts of a report that are named in the table's
// first column.
func (t *reportTable) labelledRows() int {
	var first []string
	for _, row := range t.rows {
		first = append(first, row[0])
	}
	return distinct(first)
}

// cells splits the table into texts, each belonging to one part of the report.
func (t *reportTable) cells() []tableCell {
	if t.columns {
		return t.byColumn()
	}
	var out []tableCell
	for i, row := range t.rows {
		var texts []string
		for _, c := range row[1:] {
			if c != "" {
				texts = append(texts, c)
			}
		}
		text := strings.Join(texts, "\n")
		switch p := cellPart(row[0]); {
		case p != partNone:
			out = append(out, tableCell{p, text})
		case i == 0 && plainHeader(row):
		default:
			out = append(out, tableCell{partOther, strings.TrimSpace(row[0] + "\n" + text)})
		}
	}
	return notEmpty(out)
}

// plainHeader reports whether a row contains only generic header words.
func plainHeader(row []string) bool {
	const words = "||section|update|item|details|detail|category|topic|status|what|summary|notes|area|part|field|content|description|question|answer|value|report|"
	for _, c := range row {
		if !strings.Contains(words, "|"+strings.ToLower(strings.Trim(c, "*_ "))+"|") {
			return false
		}
	}
	return true
}

func (t *reportTable) byColumn() []tableCell {
	var out []tableCell
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	for col := range width {
		var texts []string
		for _, row := range t.rows[1:] {
			if col < len(row) && row[col] != "" {
				texts = append(texts, row[col])
			}
		}
		head := ""
		if col < len(t.rows[0]) {
			head = t.rows[0][col]
		}
		p := cellPart(head)
		if p == partNone {
			out = append(out, tableCell{partOther, strings.Trim(head+": "+strings.Join(texts, ", "), ": ")})
			continue
		}
		if p == partBlockers {
			texts = slices.DeleteFunc(texts, saysNone)
		}
		for i, s := range texts {
			if _, list := cutMarker(s); len(texts) > 1 && !list {
				texts[i] = "- " + s
			}
		}
		out = append(out, tableCell{p, strings.Join(texts, "\n")})
	}
	return notEmpty(out)
}

func notEmpty(cells []tableCell) []tableCell {
	var out []tableCell
	for _, c := range cells {
		if strings.TrimSpace(c.text) != "" {
			out = append(out, c)
		}
	}
	return out
}
