package standup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/web"
	"wardroom/internal/standup"
)

// team makes one that is led by the COO.
func (o *office) team(t *testing.T, key string, participants ...standup.AgentID) standup.Team {
	t.Helper()
	made, err := o.CreateTeam(signedIn(t), standup.NewTeam{Key: key, Name: strings.ToUpper(key), Facilitator: "coo", Participants: participants})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// openOf opens a team's standup.
func (o *office) openOf(t *testing.T, team, date string) standup.Standup {
	t.Helper()
	m, _, err := o.Open(signedIn(t), standup.New{Team: team, Date: date})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// asked are who is asked in a standup, in their order.
func asked(m standup.Standup) string {
	var ids []string
	for _, r := range m.Reports {
		ids = append(ids, r.AgentID)
	}
	return strings.Join(ids, " ")
}

// Whoever sets a service up by its settings alone must find that they count, also
// after a change and a restart, and not those that somebody gave by hand.
func TestExecutiveFollowsSettings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		look := func(want, from string) standup.Team {
			t.Helper()
			e, err := o.Team(t.Context(), "EXECUTIVE")
			got := fmt.Sprintln(e.Facilitator, e.Participants, e.Timezone, e.AgentTimeout, e.Deadline)
			if err != nil || got != want+"\n" || strings.Join(e.FromSettings, " ") != from {
				t.Errorf("it is %sfrom the settings: %v, %v; want %s from %s", got, e.FromSettings, err, want, from)
			}
			return e
		}
		e := look("coo [cto cpo cmo] UTC 20s 1m", "facilitator participants timezone agent_timeout deadline")
		made := e.CreatedAt.Time // with the database that this one is a copy of
		if e.Name != "Executive team" || e.Version != 1 || e.ArchivedAt != nil || made.Year() < 2026 || made.After(time.Now().Add(time.Minute)) {
			t.Errorf("it was made as %+v", e)
		}
		berlin, err := clock.Zone("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		o.Participants, o.Facilitator, o.Zone, o.AgentTimeout, o.Deadline = []string{"cfo", "cmo"}, "ceo", berlin, time.Minute, time.Hour
		look("ceo [cfo cmo] Europe/Berlin 1m 1h", "facilitator participants timezone agent_timeout deadline")

		_, err = o.UpdateTeam(signedIn(t), e.ID, standup.TeamChange{
			Participants: patch.Set([]standup.AgentID{"cto", "cfo"}), Timezone: patch.Set("Asia/Tokyo"), AgentTimeout: patch.Set("90"),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		look("ceo [cto cfo] Asia/Tokyo 90s 1h", "facilitator deadline")
		o.Facilitator = "cto" // who is asked, too
		look("cto [cfo] Asia/Tokyo 90s 1h", "facilitator deadline")
		if m := o.openOf(t, "", ""); m.Facilitator != "cto" || asked(m) != "cfo" || m.Timezone != "Asia/Tokyo" || m.Team != standup.Executive {
			t.Errorf("%s is led by %s in %s with %s", m.Team, m.Facilitator, m.Timezone, asked(m))
		}
		_, err = o.UpdateTeam(signedIn(t), "executive", standup.TeamChange{
			Participants: patch.Clear[[]standup.AgentID](), Timezone: patch.Clear[string](), AgentTimeout: patch.Clear[string](),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e = look("cto [cfo cmo] Europe/Berlin 1m 1h", "facilitator participants timezone agent_timeout deadline")
		_, err = o.UpdateTeam(signedIn(t), "executive", standup.TeamChange{Archived: new(true)}, nil)
		if now, _ := o.Team(t.Context(), e.ID); !errors.Is(err, standup.ErrTeamKept) || now.Version != e.Version {
			t.Errorf("archived: %v", err)
		}
	})
}

// A team that is wrong would only be found out at its first standup.
func TestTeamRules(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	o := newOffice(t, d)
	good := standup.NewTeam{Key: "design", Name: "Design", Facilitator: "coo", Participants: []standup.AgentID{"cto", "cpo"}}
	many := func(n int) (ids []standup.AgentID) {
		for i := range n {
			ids = append(ids, standup.AgentID(fmt.Sprint("a", i)))
		}
		return ids
	}
	for name, c := range map[string]struct {
		change func(*standup.NewTeam)
		at     string // empty: it is good
	}{
		"as it should be":                    {func(*standup.NewTeam) {}, ""},
		"a key with a capital":               {func(n *standup.NewTeam) { n.Key = "Design" }, "/key"},
		"a key with a colon":                 {func(n *standup.NewTeam) { n.Key = "a:thread:b" }, "/key"},
		"a key of one letter":                {func(n *standup.NewTeam) { n.Key = "d" }, "/key"},
		"a key that is long":                 {func(n *standup.NewTeam) { n.Key = strings.Repeat("d", 31) }, "/key"},
		"a key that ends in a hyphen":        {func(n *standup.NewTeam) { n.Key = "design-" }, "/key"},
		"the key that stands for all":        {func(n *standup.NewTeam) { n.Key = "all" }, "/key"},
		"no name":                            {func(n *standup.NewTeam) { n.Name = "  " }, "/name"},
		"a name of two lines":                {func(n *standup.NewTeam) { n.Name = "a\nb" }, "/name"},
		"a name that turns the text":         {func(n *standup.NewTeam) { n.Name = "a\u202eb" }, "/name"},
		"a long name":                        {func(n *standup.NewTeam) { n.Name = strings.Repeat("ä", 101) }, "/name"},
		"nobody who leads":                   {func(n *standup.NewTeam) { n.Facilitator = "" }, "/facilitator"},
		"a leader who is no agent":           {func(n *standup.NewTeam) { n.Facilitator = "the boss" }, "/facilitator"},
		"a leader who is asked":              {func(n *standup.NewTeam) { n.Facilitator = "cpo" }, "/participants"},
		"nobody to ask":                      {func(n *standup.NewTeam) { n.Participants = nil }, "/participants"},
		"as many as may be":                  {func(n *standup.NewTeam) { n.Key, n.Participants = "twenty", many(20) }, ""},
		"more than may be":                   {func(n *standup.NewTeam) { n.Participants = many(21) }, "/participants"},
		"one twice":                          {func(n *standup.NewTeam) { n.Participants = []standup.AgentID{"cto", "cpo", "cto"} }, "/participants/2"},
		"one that is no agent":               {func(n *standup.NewTeam) { n.Participants = []standup.AgentID{"CTO"} }, "/participants/0"},
		"a zone that is none":                {func(n *standup.NewTeam) { n.Timezone = "Local" }, "/timezone"},
		"a zone":                             {func(n *standup.NewTeam) { n.Key, n.Timezone = "tokyo", "Asia/Tokyo" }, ""},
		"no time to answer":                  {func(n *standup.NewTeam) { n.AgentTimeout = "0" }, "/agent_timeout"},
		"a time that is none":                {func(n *standup.NewTeam) { n.AgentTimeout = "1h30m" }, "/agent_timeout"},
		"more than a day to answer":          {func(n *standup.NewTeam) { n.AgentTimeout, n.Deadline = "25h", "2d" }, "/agent_timeout"},
		"a day to answer":                    {func(n *standup.NewTeam) { n.Key, n.AgentTimeout, n.Deadline = "slow", "1d", "1w" }, ""},
		"more than a week":                   {func(n *standup.NewTeam) { n.Deadline = "8d" }, "/deadline"},
		"less for all than for one":          {func(n *standup.NewTeam) { n.Deadline = "19s" }, "/deadline"}, // one has 20s by the settings
		"more for one than for all":          {func(n *standup.NewTeam) { n.AgentTimeout = "61s" }, "/deadline"},
		"the key of the team of the start":   {func(n *standup.NewTeam) { n.Key = "executive" }, "team_key_taken"},
		"an id that is a key of eight or so": {func(n *standup.NewTeam) { n.Key = "00000000" }, "/key"},
	} {
		t.Run(name, func(t *testing.T) {
			n := good
			c.change(&n)
			made, err := o.CreateTeam(signedIn(t), n)
			got := ""
			if f := fault.Of(err); f != nil {
				if got = f.Code; len(f.Fields) > 0 {
					got = f.Fields[0].Pointer
				}
			}
			if got != c.at || err == nil && made.Version != 1 {
				t.Errorf("refused at %q with %v, want at %q", got, err, c.at)
			}
		})
	}
	for name, c := range map[string]standup.TeamChange{
		"without a leader":                 {Facilitator: patch.Clear[string]()},
		"without anybody to ask":           {Participants: patch.Clear[[]standup.AgentID]()},
		"led by one who is asked":          {Facilitator: patch.Set("cto")},
		"asking who leads it":              {Participants: patch.Set([]standup.AgentID{"coo"})},
		"shorter for all than for one":     {Deadline: patch.Set("10s")},
		"longer for one than for all":      {AgentTimeout: patch.Set("2h")},
		"with a name that cannot be shown": {Name: new("\u0000")},
	} {
		if _, err := o.UpdateTeam(signedIn(t), "design", c, nil); fault.Of(err) == nil || fault.Of(err).Kind != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := o.Team(t.Context(), "design"); err != nil || now.Version != 1 {
		t.Errorf("after what was refused it is at version %d, %v", now.Version, err)
	}
}

// desk is the API of an office, for whoever has a role.
func (o *office) desk(t *testing.T, role actor.Role) func(method, path, body string, header ...string) *httptest.ResponseRecorder {
	api := web.New(web.Options{Now: clock.Now, Authenticate: func(context.Context, string) (actor.Actor, error) {
		return actor.Actor{ID: "u1", Name: "U", Role: role, AgentID: "coo"}, nil
	}})
	o.Mount(api)
	return func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		var text io.Reader
		if body != "" {
			text = strings.NewReader(body)
		}
		r := httptest.NewRequestWithContext(t.Context(), method, web.Prefix+path, text)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		api.Handler().ServeHTTP(w, r)
		return w
	}
}

// What somebody reads of a team must be what the next one changes, and a request
// that is sent twice makes one.
func TestTeamsOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		ask := o.desk(t, actor.Admin)
		const body = `{"key":"design","name":"Design","facilitator":"coo","participants":["cpo","cto"],"deadline":"3600"}`
		made := ask("POST", "/teams", body, "Idempotency-Key", "k")
		again := ask("POST", "/teams", body, "Idempotency-Key", "k")
		if made.Code != 201 || made.Header().Get("Location") != web.Prefix+"/teams/design" || again.Body.String() != made.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Fatalf("%d %s, again %d %s", made.Code, made.Body, again.Code, again.Body)
		}
		var design standup.Team
		if err := json.Unmarshal(made.Body.Bytes(), &design); err != nil {
			t.Fatal(err)
		}
		want := standup.Team{
			ID: design.ID, Key: "design", Name: "Design", Facilitator: "coo", Participants: []string{"cpo", "cto"}, Timezone: "UTC",
			AgentTimeout: clock.Span(20 * time.Second), Deadline: clock.Span(time.Hour), FromSettings: []string{"timezone", "agent_timeout"},
			CreatedAt: design.CreatedAt, UpdatedAt: design.CreatedAt, Version: 1,
		}
		if diff := cmp.Diff(want, design, cmpopts.IgnoreUnexported(standup.Team{})); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(made.Body.String(), `"agent_timeout":"20s","deadline":"1h"`) {
			t.Errorf("limits are not written as in the settings: %s", made.Body)
		}
		for _, ref := range []string{"design", "Design", design.ID, strings.ToUpper(design.ID)} {
			if got := ask("GET", "/teams/"+ref, ""); got.Body.String() != made.Body.String() {
				t.Errorf("%s: %d %s", ref, got.Code, got.Body)
			}
		}
		tag := ask("GET", "/teams/design", "").Header().Get("ETag")
		changed := ask("PATCH", "/teams/design", `{"name":"Looks","deadline":null,"participants":["cmo"]}`, "If-Match", tag)
		if changed.Code != 200 || !strings.Contains(changed.Body.String(), `"from_settings":["timezone","agent_timeout","deadline"]`) {
			t.Errorf("changed: %d %s", changed.Code, changed.Body)
		}
		if late := ask("PATCH", "/teams/design", `{"name":"Late"}`, "If-Match", tag); late.Code != 412 || !strings.Contains(late.Body.String(), "team_changed") {
			t.Errorf("too late: %d %s", late.Code, late.Body)
		}
		if same := ask("PATCH", "/teams/design", `{"name":"Looks"}`); same.Body.String() != changed.Body.String() {
			t.Errorf("changed nothing: %s", same.Body)
		}
		if got := events(t, d); got != `team.created design {"facilitator":"coo","name":"Design","participants":["cpo","cto"]}
team.changed design {"changes":{"deadline":["1h",null],"name":["Design","Looks"],"participants":[["cpo","cto"],["cmo"]]}}` {
			t.Errorf("the log says\n%s", got)
		}
		for path, code := range map[string]int{
			"GET /teams/none": 404, "PATCH /teams/none": 404, "GET /teams?archived=perhaps": 422, "GET /standups?team=none": 422,
			"GET /standups/latest?team=none": 422, "GET /standups/latest?team=design": 404, "GET /standups/latest": 404,
		} {
			method, path, _ := strings.Cut(path, " ")
			body := ""
			if method == "PATCH" {
				body = "{}"
			}
			if got := ask(method, path, body); got.Code != code {
				t.Errorf("%s %s: %d %s", method, path, got.Code, got.Body)
			}
		}
		if got := o.desk(t, actor.Agent)("PATCH", "/teams/design", `{}`); got.Code != 403 {
			t.Errorf("an agent changes a team: %d", got.Code)
		}
	})
}

// events are what the log has of teams, a line for each.
func events(t *testing.T, d *db.DB) string {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT kind, subject_name, data FROM events WHERE subject_kind = 'team' ORDER BY id`)
	lines, err := db.All(rows, err, func(r db.Row) (string, error) {
		var kind, name, data string
		err := r.Scan(&kind, &name, &data)
		return kind + " " + name + " " + data, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
