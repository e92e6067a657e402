package answer

import (
	"encoding/json"
	"errors"
	"strings"
)

// This file parses reports in JSON, either bare or in a code block with text around it.

// readJSON parses a report written as a JSON object with a field for each part. The object
// may be nested in other objects. It returns false for a report in any other form, such as
// a report with headings that happens to contain JSON.
func readJSON(text string) (Parsed, bool) {
	before, object, after, ok := cutJSON(text)
	if !ok || len(newDocument(strings.Split(before+"\n\n"+after, "\n")).best) > 0 {
		return Parsed{}, false
	}
	fields, err := decodeOrdered(object)
	if err != nil {
		if fixed, n := repairObject(object); strings.TrimSpace(object[n:]) == "" {
			fields, err = decodeOrdered(fixed)
		}
	}
	if err != nil {
		return Parsed{}, false
	}
	w := jsonReport{texts: map[part][]string{}}
	w.other(before)
	if !w.take(fields, 0) {
		return Parsed{}, false
	}
	w.other(after)
	return Parsed{
		Yesterday: joined(w.texts[partYesterday]), Today: joined(w.texts[partToday]), Blockers: joined(w.texts[partBlockers]),
		Other: strings.Join(w.texts[partOther], "\n\n"),
	}, true
}

// cutJSON finds a JSON object that is the whole text or the content of the first code
// block. It returns the object and the text before and after the object.
func cutJSON(text string) (before, object, after string, ok bool) {
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") {
		return "", t, "", true
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		mark, info := fence(line)
		if mark == "" {
			continue
		}
		if info != "" && info != "json" && info != "jsonc" && info != "json5" {
			return "", "", "", false
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), mark) {
			end++
		}
		object = strings.TrimSpace(strings.Join(lines[i+1:end], "\n"))
		return strings.Join(lines[:i], "\n"), object, strings.Join(lines[min(end+1, len(lines)):], "\n"), strings.HasPrefix(object, "{")
	}
	return "", "", "", false
}

// field is a field of a JSON object. Objects are decoded into []field to keep the order of the fields.
type field struct {
	name  string
	value any // string, json.Number, bool, nil, []any or []field
}

// maxDepth is the maximum nesting depth of values in a JSON report.
const maxDepth = 12

var errJSON = errors.New("not a supported JSON object")

// decodeOrdered decodes a JSON object into its fields, in order. It fails if s contains anything
// else.
func decodeOrdered(s string) ([]field, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	fields, ok := v.([]field)
	if !ok || strings.TrimSpace(s[d.InputOffset():]) != "" {
		return nil, errJSON
	}
	return fields, nil
}

// decodeValue decodes the next JSON value. An object is decoded into []field.
func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errJSON
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		fields := []field{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			text, _ := name.(string) // object keys are always strings
			fields = append(fields, field{text, v})
		}
		_, err = d.Token()
		return fields, err
	}
	return token, nil
}

// jsonReport collects the texts for each part of a JSON report.
type jsonReport struct{ texts map[part][]string }

// other adds text to the report's Other part.
func (w jsonReport) other(text string) {
	if text = trimBlock(strings.Split(text, "\n"), false); text != "" {
		w.texts[partOther] = append(w.texts[partOther], text)
	}
}

// take adds the fields of an object to the report if they name at least two parts of a
// report. Otherwise it searches the nested objects for one whose fields do. If it finds
// none, it adds nothing and returns false.
func (w jsonReport) take(fields []field, depth int) bool {
	named, strong := map[part]bool{}, false
	for _, f := range fields {
		if m := fieldPart(f.name); m.part > partOther {
			named[m.part], strong = true, strong || !m.weak
		}
	}
	if len(named) >= 2 && strong {
		for _, f := range fields {
			w.put(fieldPart(f.name).part, f)
		}
		return true
	}
	const outer = 2 // maximum number of enclosing objects
	for i, f := range fields {
		inner, ok := f.value.([]field)
		if !ok || depth == outer || !w.take(inner, depth+1) {
			continue
		}
		for j, beside := range fields {
			if j != i {
				w.put(partOther, beside)
			}
		}
		return true
	}
	return false
}

// fieldPart returns the part of a report that a field contains, judging by the field's
// name, such as today, what_i_did or "Blockers".
func fieldPart(name string) labelMeaning {
	w, extra := classify(strings.NewReplacer("_", " ", "-", " ").Replace(name))
	if extra != "" {
		return labelMeaning{}
	}
	return w
}

// put adds a field's value to a part. In the part Other, the value is preceded by the field's name.
func (w jsonReport) put(p part, f field) {
	text := markdown(f.value)
	switch {
	case p == partBlockers:
		text = blockersOf(f.value)
	case p <= partOther:
		p = partOther
		if text = strings.TrimSpace(text); strings.Contains(text, "\n") || strings.HasPrefix(text, "- ") {
			text = Clean(f.name, maxText) + ":\n" + text
		} else {
			text = Clean(f.name, maxText) + ": " + text
		}
	}
	if text != "" {
		w.texts[p] = append(w.texts[p], text)
	}
}

// blockersOf returns the blockers in a JSON value. It omits entries such as "none".
func blockersOf(v any) string {
	if list, ok := v.([]any); ok {
		kept := []any{}
		for _, e := range list {
			if !saysNone(markdown(e)) {
				kept = append(kept, e)
			}
		}
		v = kept
	}
	text := markdown(v)
	if v == false || saysNone(text) {
		return ""
	}
	return text
}

// markdown formats a JSON value as Markdown.
func markdown(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(Clean(v, len(v)))
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case []any:
		var lines []string
		for _, e := range v {
			if text := markdown(e); text != "" {
				lines = append(lines, "- "+strings.ReplaceAll(text, "\n", "\n  "))
			}
		}
		return strings.Join(lines, "\n")
	case []field:
		return markdownObject(v)
	}
	return ""
}

// markdownObject formats a JSON object as Markdown, on a single line if its values are short.
func markdownObject(fields []field) string {
	var parts []string
	long := false
	for _, f := range fields {
		text := markdown(f.value)
		name := Clean(f.name, maxText)
		switch {
		case strings.Contains(text, "\n") || strings.HasPrefix(text, "- "):
			text, long = name+":\n  "+strings.ReplaceAll(text, "\n", "\n  "), true
		default:
			text = strings.TrimSpace(name + ": " + text)
		}
		parts = append(parts, text)
	}
	if long {
		return strings.Join(parts, "\n")
	}
	return strings.Join(parts, "; ")
}
