package answer

import (
	"encoding/json"
	"regexp"
	"strings"

	"wardroom/internal/platform/plaintext"
)

// Review is what the facilitator made of the reports.
type Review struct {
	Summary     string       `json:"summary"` // never empty
	Resolutions []Resolution `json:"resolutions"`
	Escalations []Escalation `json:"escalations"`
	ActionItems []ActionItem `json:"action_items"`
}

// Resolution is a blocker that needs no human any more.
type Resolution struct {
	Task       *string `json:"task"` // the key of the task that was blocked, if any
	Blocker    string  `json:"blocker"`
	Resolution string  `json:"resolution"`
}

// Escalation is what only a human can decide or do.
type Escalation struct {
	Title  string  `json:"title"` // never empty
	Detail string  `json:"detail"`
	Task   *string `json:"task"` // the key of the task that it is about, if any
}

// ActionItem is work that came out of the meeting.
type ActionItem struct {
	Title    string  `json:"title"`    // never empty
	Assignee *string `json:"assignee"` // an agent_id in lower case, or nil for nobody
	Task     *string `json:"task"`     // the key of the task that it belongs to, if any
}

// What is kept of a review. An agent that writes more than this has run wild.
const (
	maxEntries = 50     // resolutions, escalations, action items, each
	maxTitle   = 500    // runes
	maxText    = 10_000 // runes
)

// ParseReview reads the facilitator's answer: a JSON object with a summary,
// in a code block or among prose. It forgives what models get wrong: unknown
// fields, null for a list, one thing or plain strings where a list of objects
// belongs, trailing commas, line breaks inside strings. Of several objects the
// last counts. It is false when none has a summary.
func ParseReview(text string) (Review, bool) {
	const attempts = 32 // each may read the whole text once
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
			size = 1 // the object may be inside this one
		}
		text = text[size:]
	}
	return out, found
}

var objectStart = regexp.MustCompile(`\{\s*"`)

// readObject reads the object that s begins with, and returns how long it is.
func readObject(s string) (map[string]any, int) {
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber() // a number that is too large for us is no reason to refuse the rest
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

// repairObject takes out of the object that s begins with what makes it no JSON:
// trailing commas, and control characters within strings. It returns the
// object, and how much of s it was.
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

func endsAfter(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '}' || s[0] == ']')
}

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
			Blocker: textField(e, maxText, "blocker", "title"), Resolution: textField(e, maxText, "resolution", "text", "detail"),
		}
		if x.Blocker != "" || x.Resolution != "" {
			r.Resolutions = append(r.Resolutions, x)
		}
	}
	for _, e := range entryList(fields, "escalations") {
		x := Escalation{Title: titleField(e, "title", "text"), Detail: textField(e, maxText, "detail", "details", "description"), Task: taskField(e)}
		if x.Title == "" {
			first, _, _ := strings.Cut(x.Detail, "\n")
			x.Title = plaintext.Cut(plaintext.Line(first), maxTitle, cutMark)
		}
		if x.Title != "" {
			r.Escalations = append(r.Escalations, x)
		}
	}
	for _, e := range entryList(fields, "action_items") {
		if x := (ActionItem{Title: titleField(e, "title", "text", "action", "item"), Assignee: assigneeField(e), Task: taskField(e)}); x.Title != "" {
			r.ActionItems = append(r.ActionItems, x)
		}
	}
	return r, true
}

// rawField finds a field whatever its spelling: action_items, actionItems, Action Items.
func rawField(fields map[string]any, name string) any {
	if v, ok := fields[name]; ok {
		return v
	}
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	best := "" // the order of a map is not one: take the first by name
	for k := range fields {
		if strings.EqualFold(fold.Replace(k), fold.Replace(name)) && (best == "" || k < best) {
			best = k
		}
	}
	return fields[best]
}

// entryList returns the objects of a list; a bare string becomes the "text" of one.
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
			if !saysNone(v) {
				out = append(out, map[string]any{"text": v})
			}
		}
		if len(out) == maxEntries {
			break
		}
	}
	return out
}

// textField returns the first of the named fields that has a text.
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

// titleField is textField on one line.
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
	s := strings.ToLower(strings.TrimPrefix(textField(fields, maxTitle, "assignee", "owner"), "@"))
	switch s {
	case "", "null", "none", "nobody", "n/a", "unassigned", "tbd", "-":
		return nil
	}
	return &s
}

// cutMark stands at the end of a text that was cut.
const cutMark = "… [cut]"

// Clean returns a text from outside as plain text of at most most characters, with
// a mark where it was cut.
func Clean(s string, most int) string { return plaintext.Cut(plaintext.Lines(s), most, cutMark) }
