package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// invisible has a character of each class that must not be stored or shown.
const invisible = "\u202e\u2066\u200e\u061c\u200b\u200d\ufeff\u2060\u00ad\u2028\u2029\u0085\u009b\x1b\ufff9\U000e0041\u3164\ufe0f"

// hostile returns a text with all of them, each between two letters.
func hostile() string {
	var b strings.Builder
	for i, r := range []rune(invisible) {
		fmt.Fprintf(&b, "%c%c", 'a'+i, r)
	}
	return b.String() + "z"
}

// wayIn is a field of a request body that takes text.
type wayIn struct {
	target func(n int) string         // path of the n-th request
	body   func(n int) map[string]any // other fields that the request needs
	before string                     // required prefix of the text
	// taken means that the text is accepted and stored without the invisible characters.
	// Otherwise each of them is refused.
	taken bool
	// quiet means that any text is accepted but not stored.
	quiet bool
	// echo means that the answer contains the text of the request.
	echo bool
}

// TestInvisibleCharacters sends every kind of invisible character in every text field,
// raw and as a JSON escape, and then checks everything that the service stored and shows.
func TestInvisibleCharacters(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) {
			r.RegistrationEnabled, r.GatewayScopes, r.PublicURL = "true", "operator.admin", "https://wardroom.test"
		})
		v := &invisibles{house: h}
		v.whisper()
		s := h.start().connected()
		v.owner = s.login(ownerEmail)
		v.owner.hire("coo", "cto", "cpo")
		ways := v.ways()
		v.wantComplete(ways)
		for _, name := range slices.Sorted(maps.Keys(ways)) {
			v.try(name, ways[name])
		}
		v.meet()
		v.look()
		s.stop() // so that nothing writes any longer
		stored := h.build().DB
		for _, table := range tables(t, stored) {
			// SQLite's own indexes are not text.
			if !strings.HasPrefix(table, "search_index_") && !strings.HasPrefix(table, "task_grams_") {
				v.lookAt(stored, table)
			}
		}
	})
}

// invisibles is a house whose agents and clients put invisible characters into every
// text.
type invisibles struct {
	*house
	owner caller
	sent  int
}

// whisper makes the runtime send invisible characters.
func (v *invisibles) whisper() {
	secret := hostile()
	v.runtime.Answer("cto", func(demo.Question) string {
		return "## Yesterday\n" + secret + "\n## Today\n- " + secret + "\n## Blockers\nWaiting " + secret + "\n## No\u202ete\nx"
	})
	v.runtime.Answer("cpo", func(demo.Question) string { return "Yesterday: " + secret + "\nToday: " + secret + "\nBlockers: none" })
	v.runtime.Answer("coo", func(q demo.Question) string {
		if strings.Contains(q.Message, "You lead") {
			return `{"summary":"S` + escaped(secret) + `","resolutions":[{"task":"TASK-1","blocker":"B` + escaped(secret) + `","resolution":"R` + escaped(secret) + `"}],` +
				`"escalations":[{"title":"T` + escaped(secret) + `","detail":"D` + escaped(secret) + `"}],"action_items":[{"title":"A` + escaped(secret) + `","assignee":"cto"}]}`
		}
		return "Yesterday: a\nToday: b\nBlockers: none"
	})
	v.recite("agent:cto:whispers", demo.Line{Role: "user", Text: secret},
		demo.Line{Role: "assistant", Thinking: secret, Text: secret, Call: "call-1", Tool: "exec", Args: map[string]any{"command": secret, secret: []any{secret}}},
		demo.Line{Role: "toolResult", Call: "call-1", Tool: "exec", Text: secret},
		demo.Line{Role: "assistant", Text: secret})
	if err := v.runtime.Label("agent:cto:whispers", secret); err != nil {
		v.t.Fatal(err)
	}
}

// ways returns all body fields that take free text, by "METHOD path pointer".
func (v *invisibles) ways() map[string]wayIn {
	o := v.owner
	task := func(n int) string { return o.handed("cto", fmt.Sprint("Task ", n)).Key }
	taskAt := func(more string) func(int) string {
		return func(n int) string { return "/api/v1/tasks/" + task(n) + more }
	}
	at := func(path string) func(int) string { return func(int) string { return path } }
	with := func(body map[string]any) func(int) map[string]any { return func(int) map[string]any { return body } }
	none := with(map[string]any{})
	user := func(n int) map[string]any {
		return map[string]any{"email": fmt.Sprintf("u%d@example.com", n), "name": fmt.Sprint("U ", n), "password": password, "role": "user"}
	}
	newcomer := func(n int) map[string]any {
		u := user(n)
		delete(u, "role")
		return u
	}
	job := func(n int) map[string]any { return jobBody(fmt.Sprint("Job ", n), "cto") }
	made := decode[struct{ ID string }](o.post("/api/v1/agentrt/jobs", jobBody("Job", "cto")).want(http.StatusCreated)).ID
	item := func(more string) func(int) string {
		return func(n int) string { return "/api/v1/inbox/" + v.raise(o.App, fmt.Sprint("hidden/", n)).ID + more }
	}
	standup := func(n int) string {
		return decode[meeting](o.post("/api/v1/standups", map[string]any{"date": fmt.Sprintf("2026-%02d-%02d", 1+n/28%12, 1+n%28), "title": "x"})).ID
	}
	project := func(n int) string {
		return decode[struct{ ID string }](o.post("/api/v1/projects", map[string]any{"key": fmt.Sprintf("P%d", n), "name": "P"}).want(http.StatusCreated)).ID
	}
	comment := func(n int) string {
		key := task(n)
		return "/api/v1/tasks/" + key + "/comments/" + decode[struct{ ID string }](o.post("/api/v1/tasks/"+key+"/comments", map[string]any{"body": "x"}).want(http.StatusCreated)).ID
	}
	reviewed := func(n int) string {
		at := taskAt("/")(n)
		o.patch(strings.TrimSuffix(at, "/"), map[string]any{"status": "review"}).want(http.StatusOK)
		return at + "send-back"
	}
	session := "/api/v1/agentrt/sessions/agent:cto:whispers"
	limit := map[string]any{"scope": "agent", "measure": "usd", "amount": "1", "window": "day", "action": "tell"}
	price := map[string]any{"version": 1, "prices": []any{map[string]any{"provider": "p", "model": "m", "from": "2026-01-01", "input": "1", "output": "1", "cache_read": "1", "cache_write": "1", "other": "1"}}}
	team := func(n int) map[string]any {
		return map[string]any{"key": fmt.Sprintf("t%d", n), "name": fmt.Sprint("T ", n), "facilitator": "coo", "participants": []any{"cto"}}
	}
	squad := "/api/v1/teams/" + decode[struct{ ID string }](o.post("/api/v1/teams", map[string]any{"key": "squad", "name": "Squad", "facilitator": "coo", "participants": []any{"cto"}}).want(http.StatusCreated)).ID
	person := "/api/v1/users/" + decode[struct{ ID string }](o.post("/api/v1/users", user(0)).want(http.StatusCreated)).ID

	ways := map[string]wayIn{
		"POST /api/v1/agentrt/jobs /description":               {target: at("/api/v1/agentrt/jobs"), body: job, taken: true},
		"POST /api/v1/agentrt/jobs /payload/message":           {target: at("/api/v1/agentrt/jobs"), body: job, taken: true},
		"POST /api/v1/agentrt/sessions/{key}/messages /text":   {target: at(session + "/messages"), body: none, taken: true},
		"POST /api/v1/agents/{agent_id}/hold /reason":          {target: at("/api/v1/agents/cmo/hold"), body: none, taken: true}, // an agent that nothing else here needs
		"POST /api/v1/agents/{agent_id}/messages /text":        {target: at("/api/v1/agents/cto/messages"), body: none, taken: true},
		"POST /api/v1/agentrt/sessions/{key}/stop /run_id":     {target: at(session + "/stop"), body: none, quiet: true},
		"PATCH /api/v1/auth/me /avatar_url":                    {target: at("/api/v1/auth/me"), body: none, before: "https://example.com/"},
		"POST /api/v1/inbox/{id}/assign /assignee":             {target: item("/assign"), body: none},
		"POST /api/v1/inbox/{id}/resolve /note":                {target: item("/resolve"), body: none, taken: true},
		"POST /api/v1/projects /description":                   {target: at("/api/v1/projects"), body: func(n int) map[string]any { return map[string]any{"key": fmt.Sprintf("N%d", n), "name": "N"} }, taken: true},
		"POST /api/v1/projects /name":                          {target: at("/api/v1/projects"), body: func(n int) map[string]any { return map[string]any{"key": fmt.Sprintf("N%d", n)} }},
		"PATCH /api/v1/projects/{id} /description":             {target: func(n int) string { return "/api/v1/projects/" + project(n) }, body: none, taken: true},
		"PATCH /api/v1/projects/{id} /name":                    {target: func(n int) string { return "/api/v1/projects/" + project(n) }, body: none},
		"POST /api/v1/standups /title":                         {target: at("/api/v1/standups"), body: func(n int) map[string]any { return map[string]any{"date": fmt.Sprintf("2025-03-%02d", n%28+1)} }, taken: true},
		"POST /api/v1/tasks /description":                      {target: at("/api/v1/tasks"), body: with(map[string]any{"title": "x"}), taken: true},
		"POST /api/v1/tasks/{id}/comments /body":               {target: taskAt("/comments"), body: none, taken: true},
		"PATCH /api/v1/tasks/{id}/comments/{comment_id} /body": {target: comment, body: none, taken: true},
		"POST /api/v1/tasks/{id}/decide /text":                 {target: taskAt("/decide"), body: with(map[string]any{"dispatch": true}), taken: true},
		"POST /api/v1/tasks/{id}/send-back /text":              {target: reviewed, body: none, taken: true},
		"POST /api/v1/tasks/{id}/dispatch /note":               {target: taskAt("/dispatch"), body: none, taken: true},
		"POST /api/v1/users/{id}/keys /name":                   {target: at("/api/v1/users/cto@example.com/keys"), body: none},
		"POST /api/v1/auth/login /email":                       {target: at("/api/v1/auth/login"), body: with(map[string]any{"password": "x"}), before: "x@"},
		"POST /api/v1/standups/schedule /service_url":          {target: at("/api/v1/standups/schedule"), body: none, before: "https://example.com/"},
		"PATCH /api/v1/agentrt/jobs/{id} /description":         {target: at("/api/v1/agentrt/jobs/" + made), body: none, taken: true},
		"PATCH /api/v1/agentrt/jobs/{id} /payload/message":     {target: at("/api/v1/agentrt/jobs/" + made), body: none, taken: true},
		"PATCH /api/v1/users/{id} /avatar_url":                 {target: at(person), body: none, before: "https://example.com/"},
		"POST /api/v1/users /avatar_url":                       {target: at("/api/v1/users"), body: user, before: "https://example.com/"},
		"POST /api/v1/limits /scope_id":                        {target: at("/api/v1/limits"), body: with(limit)},
		"POST /api/v1/limits/preview /scope_id":                {target: at("/api/v1/limits/preview"), body: with(limit)},
		"PUT /api/v1/prices /prices/[]/model":                  {target: at("/api/v1/prices"), body: with(price)},
		"PUT /api/v1/prices /prices/[]/provider":               {target: at("/api/v1/prices"), body: with(price)},
		"POST /api/v1/tasks/{id}/reports /text":                {target: taskAt("/reports"), body: with(map[string]any{"kind": "blocker"}), taken: true},
		"POST /api/v1/tasks/bulk /tasks/[]":                    {target: at("/api/v1/tasks/bulk"), body: with(map[string]any{"change": map[string]any{"title": "x"}}), quiet: true, echo: true},
	}
	ways["POST /api/v1/approvals/{id}/answer /shown"] = wayIn{target: at("/api/v1/approvals/none/answer"), body: with(map[string]any{"decision": "deny"})} // there are none
	ways["POST /api/v1/questions/{id}/answer /shown"] = wayIn{target: at("/api/v1/questions/none/answer"), body: none}
	for _, f := range []string{"question", "options/[]", "task", "session_key"} { // only agents may ask; see approval.TestAskRefusals
		ways["POST /api/v1/questions /"+f] = wayIn{target: at("/api/v1/questions"), body: with(map[string]any{"question": "x"})}
	}
	for _, f := range []string{"branch", "session_key", "pr_url"} {
		w := wayIn{target: taskAt("/reports"), body: with(map[string]any{"kind": "ack"}), taken: true}
		if f == "pr_url" {
			w.before = "https://example.com/"
		}
		ways["POST /api/v1/tasks/{id}/reports /"+f] = w
		w.target, w.body = taskAt(""), none
		ways["PATCH /api/v1/tasks/{id} /"+f] = w
		w.target, w.body = at("/api/v1/tasks/bulk"), func(n int) map[string]any { return map[string]any{"tasks": []any{task(n)}} }
		ways["POST /api/v1/tasks/bulk /change/"+f] = w
	}
	for _, f := range []string{"description", "blocked/reason"} {
		ways["PATCH /api/v1/tasks/{id} /"+f] = wayIn{target: taskAt(""), body: none, taken: true}
		ways["POST /api/v1/tasks/bulk /change/"+f] = wayIn{target: at("/api/v1/tasks/bulk"), body: func(n int) map[string]any { return map[string]any{"tasks": []any{task(n)}} }, taken: true}
	}
	for _, f := range []string{"checks/[]", "criteria/[]/text", "criteria/[]/check"} {
		criteria := map[string]any{"title": "x", "criteria": []any{map[string]any{"text": "x"}}}
		ways["POST /api/v1/tasks /"+f] = wayIn{target: at("/api/v1/tasks"), body: with(criteria), taken: true}
		ways["PATCH /api/v1/tasks/{id} /"+f] = wayIn{target: taskAt(""), body: with(criteria), taken: true}
		ways["POST /api/v1/tasks/bulk /change/"+f] = wayIn{target: at("/api/v1/tasks/bulk"), body: func(n int) map[string]any {
			return map[string]any{"tasks": []any{task(n)}, "change": criteria}
		}, taken: true}
	}
	ways["PATCH /api/v1/tasks/{id} /blocked/by"] = wayIn{target: taskAt(""), body: with(map[string]any{"blocked": map[string]any{"reason": "x"}}), taken: true}
	ways["POST /api/v1/tasks/bulk /change/blocked/by"] = wayIn{target: at("/api/v1/tasks/bulk"), body: func(n int) map[string]any {
		return map[string]any{"tasks": []any{task(n)}, "change": map[string]any{"blocked": map[string]any{"reason": "x"}}}
	}, taken: true}
	for _, f := range []string{"text", "yesterday", "today", "blockers"} {
		ways["PUT /api/v1/standups/{id}/reports/{agent_id} /"+f] = wayIn{target: func(n int) string { return "/api/v1/standups/" + standup(n) + "/reports/cto" }, body: none, taken: true}
	}
	refused := func(target func(int) string, body func(int) map[string]any, route string, fields ...string) {
		for _, f := range fields {
			ways[route+" /"+f] = wayIn{target: target, body: body}
		}
	}
	refused(at("/api/v1/agentrt/jobs"), job, "POST /api/v1/agentrt/jobs", "name", "agentId", "schedule/expr", "schedule/tz", "schedule/at")
	refused(at("/api/v1/agentrt/jobs/"+made), none, "PATCH /api/v1/agentrt/jobs/{id}", "name", "agentId", "configRevision")
	refused(at("/api/v1/agentrt/jobs/"+made), with(map[string]any{"schedule": map[string]any{"expr": "0 9 * * *"}}), "PATCH /api/v1/agentrt/jobs/{id}", "schedule/expr", "schedule/tz")
	for _, f := range []string{"id", "wakeMode", "unwatched_because", "state/lastStatus", "state/lastError", "next_runs/[]/local"} { // fields of a job as it is read
		ways["POST /api/v1/agentrt/jobs /"+f] = wayIn{target: at("/api/v1/agentrt/jobs"), body: job, quiet: true}
		ways["PATCH /api/v1/agentrt/jobs/{id} /"+f] = wayIn{target: at("/api/v1/agentrt/jobs/" + made), body: none, quiet: true}
	}
	titled := map[string]any{"task": map[string]any{"title": "x"}}
	ways["POST /api/v1/agentrt/jobs /task/description"] = wayIn{target: at("/api/v1/agentrt/jobs"), body: func(n int) map[string]any {
		j := job(n)
		j["task"] = titled["task"]
		return j
	}, taken: true}
	ways["PATCH /api/v1/agentrt/jobs/{id} /task/description"] = wayIn{target: at("/api/v1/agentrt/jobs/" + made), body: with(titled), taken: true}
	refused(at("/api/v1/agentrt/jobs"), job, "POST /api/v1/agentrt/jobs", "task/title")
	refused(at("/api/v1/agentrt/jobs/"+made), none, "PATCH /api/v1/agentrt/jobs/{id}", "task/title")
	ways["POST /api/v1/agentrt/jobs /configRevision"] = wayIn{target: at("/api/v1/agentrt/jobs"), body: job, quiet: true}
	refused(at("/api/v1/agentrt/jobs/"+made), none, "PATCH /api/v1/agentrt/jobs/{id}", "sessionTarget", "schedule/kind", "schedule/at", "payload/kind", "delivery/mode")
	refused(at("/api/v1/auth/me"), none, "PATCH /api/v1/auth/me", "name")
	refused(at("/api/v1/auth/register"), newcomer, "POST /api/v1/auth/register", "email", "name")
	refused(at("/api/v1/auth/setup"), func(n int) map[string]any { u := newcomer(n); u["token"] = "x"; return u }, "POST /api/v1/auth/setup", "email", "name")
	refused(at("/api/v1/settings"), with(map[string]any{"current_password": password}), "PATCH /api/v1/settings", "gateway/url")
	refused(at("/api/v1/settings/test"), with(map[string]any{"current_password": password}), "POST /api/v1/settings/test", "gateway/url")
	refused(at("/api/v1/standups"), none, "POST /api/v1/standups", "date", "team", "timezone")
	refused(at("/api/v1/standups/schedule"), none, "POST /api/v1/standups/schedule", "expr", "revision", "team", "timezone")
	refused(at("/api/v1/tasks"), with(map[string]any{"title": "x"}), "POST /api/v1/tasks", "assignee_id", "depends_on/[]", "parent_id", "project_id", "tags/[]", "title")
	refused(taskAt(""), none, "PATCH /api/v1/tasks/{id}", "assignee_id", "depends_on/[]", "parent_id", "project_id", "tags/[]", "title", "position/after", "position/before")
	for _, f := range []string{"assignee_id", "depends_on/[]", "parent_id", "project_id", "tags/[]", "title", "position/after", "position/before"} {
		ways["POST /api/v1/tasks/bulk /change/"+f] = wayIn{target: at("/api/v1/tasks/bulk"), body: func(n int) map[string]any { return map[string]any{"tasks": []any{task(n)}} }, quiet: true}
	}
	refused(at("/api/v1/teams"), team, "POST /api/v1/teams", "agent_timeout", "deadline", "facilitator", "name", "timezone")
	refused(at(squad), none, "PATCH /api/v1/teams/{id}", "agent_timeout", "deadline", "facilitator", "name", "timezone")
	refused(at("/api/v1/users"), user, "POST /api/v1/users", "agent_id", "email", "name")
	refused(at(person), none, "PATCH /api/v1/users/{id}", "agent_id", "email", "name")
	return ways
}

// wantComplete checks that ways has every text field of the API.
func (v *invisibles) wantComplete(ways map[string]wayIn) {
	v.t.Helper()
	d := readDocument(v.t, v.owner.API.Document())
	open := map[string]bool{}
	var walk func(s *schema, at string)
	walk = func(s *schema, at string) {
		s = d.resolve(s)
		if s == nil {
			return
		}
		for _, one := range s.AnyOf {
			walk(one, at)
		}
		for name, p := range s.Properties {
			walk(p, at+"/"+name)
		}
		walk(s.Items, at+"/[]")
		if slices.Contains(s.Type, "string") && len(s.Enum) == 0 && s.Pattern == "" && !slices.Contains([]string{"password", "date", "date-time"}, s.Format) {
			open[at] = true
		}
	}
	for path, operations := range d.Paths {
		for method, op := range operations {
			if op.RequestBody != nil {
				for _, m := range op.RequestBody.Content {
					walk(m.Schema, strings.ToUpper(method)+" "+path+" ")
				}
			}
		}
	}
	for name := range open {
		if _, ok := ways[name]; !ok {
			v.t.Errorf("%s is not tested", name)
		}
	}
	for name := range ways {
		if !open[name] {
			v.t.Errorf("%s is not a text field of the API", name)
		}
	}
}

// try sends the characters in one field.
func (v *invisibles) try(name string, w wayIn) {
	v.t.Helper()
	method, rest, _ := strings.Cut(name, " ")
	_, pointer, _ := strings.Cut(rest, " /")
	for form, write := range map[string]func(string) string{"escaped": escaped, "plain": plain} {
		if w.taken || w.quiet {
			if a := v.send(method, pointer, w, write(w.before+hostile())); !w.quiet && a.status >= 300 {
				v.t.Errorf("%s, %s: %d %s", name, form, a.status, a.body)
			}
			continue
		}
		for _, r := range invisible {
			if a := v.send(method, pointer, w, write(w.before+"a"+string(r)+"b")); a.status < 400 || a.status >= 500 {
				v.t.Errorf("%s, %s: %U is answered with %d %s", name, form, r, a.status, a.body)
			}
		}
	}
}

// send sends a text, already encoded as JSON, in the field that the pointer names.
func (v *invisibles) send(method, pointer string, w wayIn, text string) answer {
	v.t.Helper()
	v.sent++
	parts := strings.Split(pointer, "/")
	var set func(at any, parts []string) any
	set = func(at any, parts []string) any {
		switch {
		case len(parts) == 0:
			return json.RawMessage(`"@"`)
		case parts[0] == "[]":
			var first any
			if list, ok := at.([]any); ok && len(list) > 0 {
				first = list[0]
			}
			return []any{set(first, parts[1:])}
		}
		is, _ := at.(map[string]any)
		out := maps.Clone(is)
		if out == nil {
			out = map[string]any{}
		}
		out[parts[0]] = set(out[parts[0]], parts[1:])
		return out
	}
	body, err := json.Marshal(set(w.body(v.sent), parts))
	if err != nil {
		v.t.Fatal(err)
	}
	content := strings.Replace(string(body), `"@"`, `"`+text+`"`, 1)
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.owner.base+w.target(v.sent), strings.NewReader(content))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+v.owner.token)
	res, err := v.owner.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if !w.echo {
		v.wantVisible(method+" "+r.URL.Path, data)
	}
	return answer{v.t, method + " " + r.URL.Path, res.StatusCode, res.Header, data}
}

// escaped encodes a text as JSON with only ASCII characters.
func escaped(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if u >= ' ' && u < 0x7F && u != '"' && u != '\\' {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// plain encodes a text as JSON with as few escapes as possible.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			b.WriteString(escaped(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// meet runs a standup with the agents and archives a session.
func (v *invisibles) meet() {
	v.t.Helper()
	m := v.owner.hold(v.owner.open().ID)
	if m.Summary == nil || !strings.HasPrefix(*m.Summary, "Sab") || len(m.Escalations) != 1 || len(m.ActionItems) != 1 {
		v.t.Fatalf("the review is %+v", m.Standup)
	}
	v.owner.archived("agent:cto:whispers", isWhole)
}

// look reads every list of the API and one item of each.
func (v *invisibles) look() {
	v.t.Helper()
	d := readDocument(v.t, v.owner.API.Document())
	read := 0
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		if _, ok := d.Paths[path]["get"]; !ok || strings.Contains(path, "{") || path == "/api/v1/events" || path == "/api/v1/search" || path == "/api/v1/standups/schedule" {
			continue
		}
		if path == "/api/v1/usage" || path == "/api/v1/usage.csv" {
			path += "?from=2026-01-01&to=2026-01-31"
		}
		if path == "/api/v1/retention/preview" {
			path += "?setting=ARCHIVE_AFTER_DAYS&days=1"
		}
		a := v.owner.get(path).want(http.StatusOK)
		v.wantVisible(path, a.body)
		var rows []struct{ ID, Key string }
		if json.Unmarshal(a.body, &rows) != nil {
			continue
		}
		for _, row := range rows {
			for _, more := range []string{"", "/messages", "/comments", "/history", "/transcript"} {
				for _, name := range []string{row.ID, row.Key} {
					if a := v.owner.get(path + "/" + name + more); name != "" && a.status == http.StatusOK {
						v.wantVisible(path+"/"+name+more, a.body)
						read++
					}
				}
			}
		}
	}
	v.wantVisible("search", v.owner.get("/api/v1/search?q=Sab").want(http.StatusOK).body)
	if read < 100 {
		v.t.Errorf("only %d answers were read", read)
	}
}

// lookAt reads all rows of a table.
func (v *invisibles) lookAt(d *db.DB, table string) {
	v.t.Helper()
	for line := range strings.SplitSeq(string(dump(v.t, d, table)), "\n") {
		for field := range strings.SplitSeq(line, "\t") {
			name, value, _ := strings.Cut(field, "=")
			if name != "text" { // such as a whole answer, which is stored and shown unchanged
				v.wantVisible("table "+table+", column "+name, []byte(value))
			} else if plaintext.Lines(value) != value {
				v.t.Errorf("table %s, column %s has %+q", table, name, value)
			}
		}
	}
}

// wantVisible checks a text, or all strings in it if it is JSON.
func (v *invisibles) wantVisible(where string, data []byte) {
	v.t.Helper()
	var value any
	if json.Unmarshal(data, &value) != nil {
		value = strings.ReplaceAll(string(data), "\r\n", "\n") // CSV ends lines like this
	}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			if plaintext.Lines(value) != value {
				v.t.Errorf("%s has %+q", where, value)
			}
		case []any:
			for _, e := range value {
				walk(e)
			}
		case map[string]any:
			for name, e := range value {
				walk(name)
				walk(e)
			}
		}
	}
	walk(value)
}
