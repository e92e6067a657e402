package web_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

func document(t testing.TB, s *toys) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(s.Document(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at follows a path through a document; references are followed too.
func at(t testing.TB, d map[string]any, path ...string) any {
	t.Helper()
	var v any = d
	for _, p := range path {
		m, _ := v.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			m, _ = at(t, d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		}
		if v = m[p]; v == nil {
			t.Errorf("the document has no %s", strings.Join(path, " → "))
			return nil
		}
	}
	return v
}

// The committed document must change only when the API does.
func TestDocumentIsStable(t *testing.T) {
	t.Parallel()
	if a, b := newToys(t).Document(), newToys(t).Document(); !bytes.Equal(a, b) {
		t.Error("two documents of the same routes differ")
	}
}

// Clients and the contract tests are made from the document: what it says of a
// type must be what is sent.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := document(t, newToys(t))
	want := map[string][]string{
		`"delete_tasks"`:     {"paths", "/api/v1/toys/{id}", "delete", "x-permission"},
		`"public"`:           {"paths", "/health", "get", "x-permission"},
		`[{"bearer":[]}]`:    {"paths", "/api/v1/toys", "get", "security"},
		`"patch-toys-by-id"`: {"paths", "/api/v1/toys/{id}", "patch", "operationId"},
		`["toys"]`:           {"paths", "/api/v1/toys/{id}", "get", "tags"},
		`["health"]`:         {"paths", "/health", "get", "tags"},
		`"bearer"`:           {"components", "securitySchemes", "bearer", "scheme"},
		`"Not Found. ` + "`toy_not_found`" + `: There is no such toy."`: {"paths", "/api/v1/toys/{id}", "get", "responses", "404", "description"},
		`"array"`:           {"components", "schemas", "WebToy", "properties", "tags", "type"},
		`["string","null"]`: {"components", "schemas", "WebToy", "properties", "broken", "type"},
		`"string"`:          {"components", "schemas", "WebToy", "properties", "note", "type"},
		`[{"$ref":"#/components/schemas/WebHolder"},{"enum":[null],"type":"null"}]`: {"components", "schemas", "WebToy", "properties", "holder", "anyOf"},
		`["ball","kite",null]`: {"components", "schemas", "WebChange", "properties", "kind", "enum"},
		`false`:                {"components", "schemas", "WebChange", "additionalProperties"},
		`true`:                 {"components", "schemas", "Problem", "additionalProperties"},
	}
	for text, path := range want {
		got, err := json.Marshal(at(t, d, path...))
		if err != nil || string(got) != text {
			t.Errorf("%s is %s, want %s", strings.Join(path, " → "), got, text)
		}
	}
	if typ := at(t, d, "paths", "/api/v1/toys", "get", "responses", "200", "content", "application/json", "schema", "type"); typ != "array" {
		t.Errorf("a list is %v", typ)
	}
	for _, status := range []string{"400", "401", "403", "408", "413", "415", "422", "409", "default"} {
		at(t, d, "paths", "/api/v1/toys", "post", "responses", status, "content", "application/problem+json")
	}
	for _, status := range []string{"200", "201"} {
		at(t, d, "paths", "/api/v1/toys", "post", "responses", status, "content", "application/json")
	}
	if health, ok := at(t, d, "paths", "/health", "get").(map[string]any); !ok || health["security"] != nil {
		t.Errorf("a public route asks for %v", health["security"])
	}
	for _, s := range []string{"ErrorModel", "$schema", "x-finished"} {
		if bytes.Contains(newToys(t).Document(), []byte(s)) {
			t.Errorf("the document has %s", s)
		}
	}
}

var (
	ids   = regexp.MustCompile(` id="([^"]+)"`)
	links = regexp.MustCompile(` href="#([^"]+)"`)
)

// The documentation must work in any browser, without scripts and without
// asking another host, and every problem's type must lead to its place.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	w := s.ask(t, "GET", "/api/docs", "", "Authorization", "")
	page := w.Body.String()
	csp := w.Header().Get("Content-Security-Policy")
	if w.Code != 200 || !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("got %d %v", w.Code, w.Header())
	}
	for _, bad := range []string{"<script", "style=", "onclick", "<link", "src=", "ZgotmplZ", "&lt;no value", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	have := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(page, -1) {
		if have[m[1]] {
			t.Errorf("two places are called %s", m[1])
		}
		have[m[1]] = true
	}
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		if !have[m[1]] {
			t.Errorf("a link leads to #%s, which is nowhere", m[1])
		}
	}
	for _, f := range append(s.Faults(), errNoToy, fault.ErrInvalid) {
		if !have[f.Code] {
			t.Errorf("the problem %s is not explained", f.Code)
		}
	}
	for _, want := range []string{
		"Make a toy", "What children call it.", "The owner and admin", "Everyone, without a token", "1–10 characters", "ball, kite", "100 unless said",
		`list of <a href="#type-WebToy">WebToy</a>`, `<a href="#type-WebHolder">WebHolder</a> or null`, "curl -X PATCH &#34;$URL/api/v1/toys/$ID&#34;",
		"prefers-color-scheme: dark", "toy_not_found: There is no such toy.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The examples of the documentation must be accepted when pasted.
func TestDocsExamples(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	close(s.release)
	page := s.ask(t, "GET", "/api/docs", "").Body.String()
	examples := regexp.MustCompile(`curl -X (\w+) &#34;\$URL(\S+?)&#34; [^<]*?-d &#39;(.*?)&#39;</code>`).FindAllStringSubmatch(page, -1)
	if len(examples) != 4 {
		t.Fatalf("%d examples have a body: %v", len(examples), examples)
	}
	for _, e := range examples {
		body := strings.ReplaceAll(e[3], "&#34;", `"`)
		if w := s.ask(t, e[1], strings.ReplaceAll(e[2], "$ID", "7"), body); w.Code >= 300 {
			t.Errorf("%s %s with %s is %d %s", e[1], e[2], body, w.Code, w.Body)
		}
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for f, want := range map[*fault.Error]int{
		errToken: 401, errNoToy: 404, errTaken: 409, errBusy: 429, errGateway: 503, fault.ErrInvalid: 422,
		fault.New(fault.Stale, "stale", "Stale."): 412, fault.New(fault.Internal, "x", "X."): 500, fault.New(fault.Timeout, "y", "Y."): 504,
	} {
		if got := web.StatusOf(f); got != want {
			t.Errorf("%s is %d, want %d", f.Code, got, want)
		}
	}
}
