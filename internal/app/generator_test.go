package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// generator generates the parts of one request.
type generator struct {
	*rapid.T
	c      *contract
	op     route
	broken bool
}

// often is true in three of four cases.
func (g generator) often(label string) bool {
	return rapid.IntRange(0, 3).Draw(g.T, label+" given") > 0
}

// seldom is true in one of three cases: requests have few of the many filters.
func (g generator) seldom(label string) bool {
	return rapid.IntRange(0, 2).Draw(g.T, label+" given") == 0
}

// spoil is true in one of n cases, in requests that should be invalid.
func (g generator) spoil(label string, n int) bool {
	return g.broken && rapid.IntRange(1, n).Draw(g.T, label+" spoiled") == 1
}

func (g generator) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

// name returns a name for a path, usually an existing one.
func (g generator) name() string {
	known := g.c.names[kindOf(g.op.path)]
	if len(known) > 0 && !g.spoil("name", 3) {
		return rapid.SampledFrom(known).Draw(g.T, "name")
	}
	return g.pick("no name", "01990000-0000-7000-8000-000000000000", "TASK-999999", "TASK-99999999999999999999", "task-1", "nobody@example.com",
		"latest", "x", "a/b", "%", "ä", "\x00", "\xff", "' OR 1=1", strings.Repeat("y", 300))
}

// headers generates headers that the operation has and, in invalid requests, others that
// must have no effect.
func (g generator) headers(h http.Header, path string) {
	for _, p := range g.op.Parameters {
		if p.In == "header" && g.often(p.Name) {
			h.Set(p.Name, g.headerValue(p.Name, path))
		}
	}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "Prefer", "Range", "Accept", "X-Request-Id", "X-HTTP-Method-Override"} {
		if h.Get(name) == "" && g.spoil(name+" too", 12) {
			h.Set(name, g.headerValue(name, path))
		}
	}
}

// headerValue returns a value for a header. Prefer never asks to wait.
func (g generator) headerValue(name, path string) string {
	if name == "Prefer" {
		return g.pick(name, "respond-async", "wait=0", "wait=", "wait=-1", "wait=x", "wait=99999999999999999999, return=minimal", strings.Repeat("p", 250))
	}
	if name == "Idempotency-Key" {
		if g.spoil(name, 3) {
			return g.pick(name, "a b", "\xff", "ä", strings.Repeat("e", 256))
		}
		return fmt.Sprint("key-", rapid.IntRange(0, 400).Draw(g.T, name)) // some are used already
	}
	if name == "Last-Event-ID" && !g.broken {
		return g.pick(name, "0", "3", "007", "999999999999999999")
	}
	known := "*"
	if tag := g.c.tags[path]; tag != "" {
		known = tag
	}
	if name == "If-None-Match" && !g.broken {
		return g.pick(name, "*", known, `"1-000000000000"`, `W/"1-x", "2-y"`) // some match
	}
	if g.broken {
		return g.pick(name, known, "W/"+known, known+","+known, `"1-abc"`, `"999-abc"`, `"18446744073709551616-x"`, "5", `W/"1-x"`, `"1-a", "2-b"`, `"`, "\xff", strings.Repeat("e", 250))
	}
	return g.pick(name, "*", known)
}

// parameter returns the values of a query parameter. A list may come in several parts.
func (g generator) parameter(name string, s *schema) []string {
	if g.spoil(name, 3) {
		return []string{g.pick(
			name, "", "0", "-1", "99999999999999999999", "1e3", "x", "ä", strings.Repeat("z", 300), strings.Repeat("l", 100_000), "a\x00b", "null", "true,false",
			",", "\xff", "' OR 1=1 --", "%", `\`, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "2026-02-30", "0000-00-00",
		)}
	}
	switch name {
	case "cursor":
		return []string{""} // a cursor comes from the link of a page; see draw
	case "assignee", "reporter":
		return []string{g.pick(name, "cto", ownerEmail, "me", "none")}
	case "parent":
		return []string{g.pick(name, "TASK-1", "none")}
	case "depends_on":
		return []string{"TASK-1"}
	case "team":
		return []string{g.pick(name, "executive", "Executive", "00000000-0000-7000-8000-000000000001")}
	case "project":
		return []string{"none"}
	case "actor":
		return []string{g.pick(name, "cto", ownerEmail, "me", "system")}
	case "kind":
		if strings.HasSuffix(g.op.path, "/inbox") {
			return []string{g.pick(name, "escalation", "old_blocker", "escalation,standup_failed")}
		}
		return rapid.SliceOfN(rapid.SampledFrom([]string{"task.created", "task.*", "standup.opened", "no.such", "ä"}), 1, 3).Draw(g.T, name)
	case "limit":
		return []string{g.pick(name, "1", "2", "500")}
	case "last_event_id":
		return []string{g.pick(name, "0", "1", "9223372036854775807")}
	}
	v := g.value(s, name)
	list, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	if len(texts) > 0 && g.often("one by one") {
		return []string{strings.Join(texts, ",")}
	}
	return texts
}

// body returns the body of a request. An invalid one may not be JSON.
func (g generator) body(s *schema) string {
	if g.spoil("JSON", 8) {
		return g.pick("no JSON", "", "{", "null", "[]", `"x"`, "5", `{"title":"a","title":"b"}`, "{}{}", `{"title":"\ud800"}`, `{"title":"\u0000"}`,
			"\xff", "{\"title\":\"\xff\"}", strings.Repeat("[", 100_000), `{"title":"`+strings.Repeat("x", 1<<20)+`"}`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(g.value(s, "body")); err != nil {
		g.Fatalf("%v", err)
	}
	return b.String()
}

// value returns a value that s accepts or, in invalid requests, maybe one that it does
// not.
func (g generator) value(s *schema, name string) any {
	s = g.c.resolve(s)
	if g.spoil(name, 8) {
		return rapid.SampledFrom([]any{
			nil, 5, -1.5, 1e300, "", " ", strings.Repeat("x", 70_000), "\u202e", true, []any{}, []any{nil}, map[string]any{"a": 1}, map[string]any{},
		}).Draw(g.T, name+" wrong")
	}
	if len(s.AnyOf) > 0 {
		return g.value(rapid.SampledFrom(s.AnyOf).Draw(g.T, name+" as"), name)
	}
	if len(s.Enum) > 0 {
		return rapid.SampledFrom(s.Enum).Draw(g.T, name)
	}
	kind := "object"
	if len(s.Type) > 0 {
		kind = g.pick(name+" as", s.Type...)
	}
	switch kind {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(g.T, name)
	case "integer", "number":
		low, high := 0.0, 100.0
		if s.Minimum != nil {
			low = *s.Minimum
		}
		if s.Maximum != nil {
			high = *s.Maximum
		}
		return rapid.IntRange(int(low), int(high)).Draw(g.T, name)
	case "array":
		list := []any{}
		for i := range rapid.IntRange(0, 3).Draw(g.T, name+" length") {
			list = append(list, g.value(s.Items, fmt.Sprint(name, "/", i)))
		}
		return list
	case "string":
		return g.text(s, name)
	}
	return g.object(s)
}

func (g generator) object(s *schema) map[string]any {
	o := map[string]any{}
	rare := 2 // optional fields are present in one of three cases
	if len(s.Properties) > 8 && rapid.Bool().Draw(g.T, "few") {
		rare = 11 // with many fields, one would nearly always be invalid
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		if required && !g.spoil(name+" there", 8) || !required && rapid.IntRange(0, rare).Draw(g.T, name+" there") == 0 {
			o[name] = g.value(s.Properties[name], name)
		}
	}
	if g.spoil("member", 10) {
		o[g.pick("member", "unknown", "Title", "", "a\nb", "id", "version")] = 1
	}
	if !g.broken {
		g.fit(s, o)
	}
	// The schema cannot express that a role and its agent_id belong together.
	if _, ok := s.Properties["role"]; ok && !g.broken {
		delete(o, "agent_id")
		if o["role"] == "agent" {
			o["agent_id"] = fmt.Sprint("a", rapid.IntRange(0, 1000).Draw(g.T, "agent"))
		}
	}
	return o
}

// fit corrects what the schema cannot express: no projects exist, no claim token is
// known, a limit on everything has no ID, and a report or a position on the board takes one of
// several forms.
func (g generator) fit(s *schema, o map[string]any) {
	delete(o, "project_id")
	delete(o, "claim_token")
	if s.Properties["scope_id"] != nil {
		if delete(o, "scope_id"); o["scope"] != "all" {
			o["scope_id"] = "cto"
		}
	}
	if s.Properties["text"] != nil && s.Properties["yesterday"] != nil { // a report is one text or has parts
		clear(o)
		name := g.pick("report", "text", "yesterday", "today")
		o[name] = "TASK-1 is done. " + g.pick(name, "Today: ärger", "{}", "")
	}
	if s.Properties["before"] != nil && s.Properties["after"] != nil {
		clear(o)
		name := g.pick("place", "before", "after", "at", "at")
		o[name] = g.value(s.Properties[name], name)
	}
}

// text returns a string that the field accepts.
func (g generator) text(s *schema, name string) string {
	switch name {
	case "email":
		if strings.HasSuffix(g.op.path, "/login") {
			return g.pick(name, ownerEmail, "CTO@Example.com", "nobody@example.com")
		}
		return fmt.Sprintf("u%d@example.com", rapid.IntRange(0, 400).Draw(g.T, name))
	case "password":
		if strings.HasSuffix(g.op.path, "/login") {
			return g.pick(name, password, "wrong", "")
		}
		return password
	case "current_password":
		return g.pick(name, password, password, "wrong")
	case "new_password":
		return password // another password would lock out all later requests
	case "key":
		if strings.HasSuffix(g.op.path, "/teams") {
			return fmt.Sprint("t-", rapid.IntRange(0, 400).Draw(g.T, name))
		}
		return fmt.Sprint("P", rapid.IntRange(0, 400).Draw(g.T, name)) // of a project
	case "name", "body":
		return g.pick(name, "Ada", "@cto `x`", "ärger 出荷", "'; --", strings.Repeat("x", 100))
	case "agent_id":
		return "nobody"
	case "team":
		return g.pick(name, "executive", "EXECUTIVE")
	case "facilitator":
		return g.pick(name, "coo", "nobody")
	case "agent_timeout":
		return g.pick(name, "1", "90s", "1d")
	case "deadline":
		return g.pick(name, "1d", "48h", "1w")
	case "parent_id", "before", "after":
		return g.name()
	case "assignee_id":
		return g.pick(name, "cto", ownerEmail)
	case "assignee": // of an inbox item
		return ownerEmail
	case "amount": // of a limit
		return g.pick(name, "1", "25")
	case "until":
		return time.Now().Add(time.Duration(rapid.IntRange(1, 2000).Draw(g.T, name)) * time.Hour).Format(time.RFC3339)
	case "timezone", "zone":
		return g.pick(name, "UTC", "Europe/Lisbon", "Pacific/Kiritimati")
	case "pr_url", "avatar_url":
		return g.pick(name, "https://example.com/a?b=c#d", "http://localhost/ä")
	case "agentId":
		return g.pick(name, "cto", "coo")
	case "tz":
		return g.pick(name, "UTC", "Europe/Lisbon", "Pacific/Kiritimati")
	case "expr":
		return g.pick(name, "0 9 * * 1-5", "*/15 22 * * *", "30 2 29 2 *")
	case "date":
		return fmt.Sprintf("%04d-%02d-%02d", rapid.SampledFrom([]int{1, 1969, 2026, 9999}).Draw(g.T, "year"),
			rapid.IntRange(1, 12).Draw(g.T, "month"), rapid.IntRange(1, 28).Draw(g.T, "day"))
	}
	if name == "from" || name == "to" {
		if s.Format == "date-time" {
			return map[string]string{"from": "2026-11-20T08:00:00Z", "to": "2026-11-23T08:00:00+08:00"}[name]
		}
		return "2026-11-20"
	}
	if strings.HasPrefix(name, "depends_on/") || strings.HasPrefix(name, "tasks/") {
		return g.name()
	}
	if strings.HasPrefix(name, "participants/") {
		return fmt.Sprint("a", rapid.IntRange(0, 1000).Draw(g.T, name))
	}
	if strings.HasPrefix(name, "tags/") {
		return g.pick(name, "security", "Ops", "2026", "a.b-c", "ärger")
	}
	if s.Format == "date-time" {
		return g.pick(name, "2026-11-20T08:00:00Z", "2026-11-20T08:00:00.123456789+08:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:00:00-12:00")
	}
	low, high := 0, 40
	if s.MinLength != nil {
		low = *s.MinLength
	}
	if s.MaxLength != nil {
		high = min(high, *s.MaxLength)
		if rapid.IntRange(0, 9).Draw(g.T, name+" full") == 0 {
			return strings.Repeat("x", *s.MaxLength)
		}
	}
	if text := rapid.StringN(low, high, -1).Draw(g.T, name); text != "" || low == 0 {
		return text
	}
	return "x"
}
