package answer

import (
	"encoding/json"
	"regexp"
	"strings"

	"wardroom/internal/platform/plaintext"
)

// Review is the facilitator's review of the reports.
type Review struct {
	Summary     string       `json:"summary"` // never empty
	Resolutions []Resolution `json:"resolutions"`
	Escalations []Escalation `json:"escalations"`
	ActionItems []ActionItem `json:"action_items"`
}

// Resolution is the facilitator's decision on a blocker.
type Resolution struct {
	Task       *string `json:"task"`    // key of the blocked task, or nil
	Blocker    string  `json:"blocker"` // the number of an open blocker, or a blocker in other words
	Resolution string  `json:"resolution"`
}

// Escalation is an issue that only a human can decide or resolve.
type Escalation struct {
	Title   string  `json:"title"` // never empty
	Detail  string  `json:"detail"`
	Blocker string  `json:"blocker"` // the number of an open blocker, or empty
	Task    *string `json:"task"`    // key of the task it is about, or nil
}

// ActionItem is work that results from the standup.
type ActionItem struct {
	Title    string  `json:"title"`    // never empty
	Assignee *string `json:"assignee"` // agent_id in lower case, or nil
	Task     *string `json:"task"`     // key of its task, or nil
}

// Limits on a review. They keep the standup's record small if an answer is excessively long.
const (
	maxEntries = 50     // resolutions, escalations and action items, each
	maxTitle   = 500    // characters
	maxText    = 10_000 // characters
)

// ParseReview parses the facilitator's answer: a JSON object with a summary, possibly in a
// code block or within other text. It tolerates common mistakes that models make: unknown
// fields, null for a list, a single value or plain strings instead of a list of objects,
// trailing commas and line breaks inside strings. If the text contains several objects
// with a summary, the last one is used. It returns false if no object has a summary.
func ParseReview(text string) (Review, bool) {
	const attempts = 32 // each may read the complete text
	text = strings.ToValidUTF8(text, "\uFFFD")
	var out Review
	found := false
	for range attempts {
		at := objectStart.FindStringIndex(text)
		if at == nil {
			break
		}
		text = text[at[0]:]
		fields, size := readObject(text)
		if r, ok := toReview(fields); ok {
			out, found = r, true
		} else {
			size = 1 // the review may be nested in this object
		}
		text = text[size:]
	}
	return out, found
}

var objectStart = regexp.MustCompile(`\{\s*"`)

// readObject decodes the JSON object at the start of s. It returns the object and its length in s.
func readObject(s string) (map[string]any, int) {
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber() // accept numbers that do not fit into a float
	if d.Decode(&fields) == nil {
		return fields, int(d.InputOffset())
	}
	fixed, length := repairObject(s)
	d = json.NewDecoder(strings.NewReader(fixed))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return nil, 1
	}
	return fields, length
}

// repairObject removes trailing commas from the JSON object at the start of s, and escapes
// or replaces control characters within its strings. It returns the repaired object, and
// the length of the original object in s.
func repairObject(s string) (string, int) {
	var b strings.Builder
	inString, depth := false, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case inString && c == '\\' && i+1 < len(s):
			b.WriteByte(c)
			i++
			c = s[i]
		case c == '"':
			inString = !inString
		case inString && c < ' ':
			if c == '\n' {
				b.WriteString(`\n`)
			} else {
				b.WriteByte(' ')
			}
			continue
		case inString:
		case c == ',' && endsAfter(s[i+1:]):
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		b.WriteByte(c)
		if depth == 0 {
			return b.String(), i + 1
		}
	}
	return b.String(), len(s)
}

// endsAfter reports whether the first non-space character in s closes an object or list.
func endsAfter(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '}' || s[0] == ']')
}

// toReview builds a review from decoded fields. It returns false if there is no summary.
func toReview(fields map[string]any) (Review, bool) {
	r := Review{
		Summary:     textField(fields, maxText, "summary"),
		Resolutions: []Resolution{}, Escalations: []Escalation{}, ActionItems: []ActionItem{},
	}
	if r.Summary == "" {
		return Review{}, false
	}
	for _, e := range entryList(fields, "resolutions") {
		x := Resolution{
			Task:    taskField(e),
			Blocker: blockerField(e, "blocker", "title"), Resolution: textField(e, maxText, "resolution", "text", "detail"),
		}
		if x.Blocker != "" || x.Resolution != "" {
			r.Resolutions = append(r.Resolutions, x)
		}
	}
	for _, e := range entryList(fields, "escalations") {
		x := Escalation{
			Title: titleField(e, "title", "text"), Detail: textField(e, maxText, "detail", "details", "description"),
			Blocker: blockerField(e, "blocker"), Task: taskField(e),
		}
		if x.Title == "" {
			first, _, _ := strings.Cut(x.Detail, "\n")
			x.Title = plaintext.Cut(plaintext.Line(first), maxTitle, cutMark)
		}
		if x.Title != "" {
			r.Escalations = append(r.Escalations, x)
		}
	}
	for _, e := range entryList(fields, "action_items") {
		if x := (ActionItem{
			Title: titleField(e, "title", "text", "action", "item"), Assignee: assigneeField(e), Task: taskField(e),
		}); x.Title != "" {
			r.ActionItems = append(r.ActionItems, x)
		}
	}
	return r, true
}

// rawField returns the field with the given name. It also accepts other spellings of the
// name, such as actionItems or Action Items for action_items.
func rawField(fields map[string]any, name string) any {
	if v, ok := fields[name]; ok {
		return v
	}
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	best := "" // take the first by name, because map order is random
	for k := range fields {
		if strings.EqualFold(fold.Replace(k), fold.Replace(name)) && (best == "" || k < best) {
			best = k
		}
	}
	return fields[best]
}

// entryList returns the objects in the list with the given name. A plain string in the
// list becomes an object with the field "text".
func entryList(fields map[string]any, name string) []map[string]any {
	list, ok := rawField(fields, name).([]any)
	if !ok {
		list = []any{rawField(fields, name)}
	}
	var out []map[string]any
	for _, v := range list {
		switch v := v.(type) {
		case map[string]any:
			out = append(out, v)
		case string:
			if !SaysNone(v) {
				out = append(out, map[string]any{"text": v})
			}
		}
		if len(out) == maxEntries {
			break
		}
	}
	return out
}

// textField returns the first non-empty field among those with the given names, truncated
// to the given number of characters.
func textField(fields map[string]any, most int, names ...string) string {
	for _, name := range names {
		var s string
		switch v := rawField(fields, name).(type) {
		case string:
			s = v
		case []any: // a list of sentences
			var lines []string
			for _, e := range v {
				if e, ok := e.(string); ok {
					lines = append(lines, e)
				}
			}
			s = strings.Join(lines, "\n")
		}
		if s = strings.TrimSpace(Clean(s, most)); s != "" {
			return s
		}
	}
	return ""
}

// blockerField returns the blocker that an entry cites, by its number or in words.
func blockerField(fields map[string]any, names ...string) string {
	if n, ok := rawField(fields, "blocker").(json.Number); ok {
		return Clean(n.String(), maxTitle)
	}
	return textField(fields, maxText, names...)
}

// titleField is like textField, but returns a single line that is short enough for a title.
func titleField(fields map[string]any, names ...string) string {
	return plaintext.Line(textField(fields, maxTitle, names...))
}

func taskField(fields map[string]any) *string {
	if keys := TaskKeys(textField(fields, maxTitle, "task", "task_key")); len(keys) > 0 {
		return &keys[0]
	}
	return nil
}

func assigneeField(fields map[string]any) *string {
	s := strings.TrimPrefix(plaintext.Fold(textField(fields, maxTitle, "assignee", "owner")), "@")
	switch s {
	case "", "null", "none", "nobody", "n/a", "unassigned", "tbd", "-":
		return nil
	}
	return &s
}

// cutMark is appended to a text that was truncated.
const cutMark = "… [cut]"

// Clean returns s as plain text of at most the given number of characters. A truncated text ends with cutMark.
func Clean(s string, most int) string { return plaintext.Cut(plaintext.Lines(s), most, cutMark) }
