package app_test

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
)

// taskDeeds: any user may change tasks; a claim belongs to its holder.
func taskDeeds() map[string][]deed {
	const held = "held by another"
	theirs := map[string]string{held: "409 task_claimed"}
	byToken := map[string]string{"held by them": "200"}
	say := func(fields ...any) func(object) any { return func(o object) any { return fieldsOf(o, fields...) } }
	released := map[string]string{held + " as user": "409 task_claimed", held + " as agent": "409 task_claimed"} // who may delete tasks may also release claims
	in := func(name string) string { return strings.Replace(name, " ", " /api/v1/tasks/{id}", 1) }
	return map[string][]deed{
		in("GET "):         {{"read", nil, "200", nil}},
		in("GET /history"): {{"read", nil, "200", nil}},
		in("GET /receipt"): {{"read", nil, "204", nil}}, // nobody has reported the task as done
		in("PATCH "): {
			{"rename", say("title", "Another"), "200", nil},
			{"give away", say("assignee_id", "coo"), "200", nil},
			{"finish", say("status", "done"), "200", theirs},
			{"start", say("status", "in_progress"), "200", map[string]string{held: "200"}}, // it is started already
			{"rename by token", say("title", "Another", "claim_token", nil), "409 claim_lost", byToken},
		},
		in("POST /claim"):   {{"claim", say(), "200", theirs}, {"by token", say("claim_token", nil), "409 claim_lost", byToken}},
		in("POST /release"): {{"release", say(), "200", released}, {"by token", say("claim_token", nil), "409 claim_lost", byToken}},
		in("POST /reports"): {
			{"report", say("kind", "progress", "text", "Goes well"), "200", theirs},
			{"finish", say("kind", "done"), "200", theirs},
			{"by token", say("kind", "progress", "text", "Goes well", "claim_token", nil), "409 claim_lost", byToken},
		},
		in("POST /decide"):                  {{"decide", say("text", "Go on"), "200", nil}}, // also on a task that another holds
		in("POST /approve"):                 {{"approve", nil, "409 task_not_in_review", nil}},
		in("POST /send-back"):               {{"send back", say("text", "Go on"), "409 task_not_in_review", nil}},
		in("POST /archive"):                 {{"archive", nil, "200", theirs}},
		in("POST /restore"):                 {{"restore", nil, "200", nil}},
		in("DELETE "):                       {{"delete", nil, "204", nil}},
		in("POST /dispatch"):                {{"hand over", nil, "409 task_without_agent", map[string]string{"another's": "202", held: "202"}}}, // another's is an agent's
		in("DELETE /dispatch"):              {{"take back", nil, "409 not_dispatched", nil}},
		in("GET /comments"):                 {{"read", nil, "200", nil}},
		in("POST /comments"):                {{"comment", say("body", "Well done"), "201", nil}},
		in("PATCH /comments/{comment_id}"):  {{"edit", say("body", "Well done"), "403 not_the_author", map[string]string{"their own": "200", "held by them": "200"}}},
		in("DELETE /comments/{comment_id}"): {{"delete", nil, "403 not_the_author", withdrawn()}},
		bulk: {
			{"rename", func(o object) any { return inBulk(o, "title", "Another") }, "200", nil},
			{"finish", func(o object) any { return inBulk(o, "status", "done") }, "200", theirs},
			{"by token", func(o object) any { return inBulk(o, "title", "Another", "claim_token", nil) }, "409 claim_lost", byToken},
		},
	}
}

// withdrawn: the author of a comment may delete it, and so may those who may delete
// tasks.
func withdrawn() map[string]string {
	but := map[string]string{"their own": "204", "held by them": "204"}
	for _, whose := range []string{"nobody's", "another's", "held by another"} {
		for _, role := range []actor.Role{actor.Owner, actor.Admin} {
			but[whose+" as "+string(role)] = "204"
		}
	}
	return but
}

// fieldsOf returns a body of names and values. A nil value becomes the claim token.
func fieldsOf(o object, fields ...any) map[string]any {
	body := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		if name := fmt.Sprint(fields[i]); fields[i+1] != nil {
			body[name] = fields[i+1]
		} else {
			body[name] = o.token
		}
	}
	return body
}

func inBulk(o object, fields ...any) any {
	return map[string]any{"tasks": []string{o.id}, "change": fieldsOf(o, fields...)}
}

// userDeeds: admins manage all accounts but the owner's.
func userDeeds() map[string][]deed {
	say := func(fields ...any) func(object) any { return func(o object) any { return fieldsOf(o, fields...) } }
	owners := map[string]string{"the owner's as admin": "403 owner_only"}
	and := func(more map[string]string) map[string]string {
		all := maps.Clone(owners)
		maps.Copy(all, more)
		return all
	}
	noKeys := map[string]string{}
	for _, whose := range []string{"their own", "a user's", "an admin's", "the owner's"} {
		noKeys[whose] = "409 keys_for_agents"
	}
	noKey := map[string]string{"another's key": "404 key_not_found"}
	for whose := range noKeys {
		noKey[whose] = "404 key_not_found" // the other account is an agent's
	}
	const user = " /api/v1/users/{id}"
	sure := func(name string, value any) func(object) any {
		return func(object) any { return map[string]any{name: value, "current_password": password} }
	}
	return map[string][]deed{
		"GET" + user: {{"read", nil, "200", nil}},
		"PATCH" + user: {
			{"rename", func(o object) any { return map[string]string{"name": "Another " + o.id} }, "200", owners},
			{"take over", sure("password", password), "200", and(map[string]string{"their own": "403 own_password", "the owner's as owner": "403 own_password"})},
			{"take the mail", func(o object) any {
				return map[string]string{"email": o.id + "@example.org", "current_password": password}
			}, "200", owners},
			{"become the owner", say("role", "owner"), "409 one_owner", and(map[string]string{
				"their own as owner": "200", "the owner's as owner": "200", // they are
				"an agent's": "422 invalid_input", "another's key": "422 invalid_input",
			})},
			{"promote", sure("role", "admin"), "200", and(map[string]string{
				"their own as owner": "409 one_owner", "the owner's as owner": "409 one_owner", "an agent's": "422 invalid_input", "another's key": "422 invalid_input",
			})},
			{"lock out", sure("active", false), "200", and(map[string]string{"their own as owner": "409 one_owner", "the owner's as owner": "409 one_owner"})},
		},
		"GET" + user + "/keys":             {{"read", nil, "200", nil}},
		"POST" + user + "/keys":            {{"make", say("name", "Mine"), "201", noKeys}},
		"DELETE" + user + "/keys/{key_id}": {{"revoke", nil, "204", noKey}},
	}
}

// standupDeeds: any user may change any standup. A report belongs to its agent, also in
// standups opened by others.
func standupDeeds() map[string][]deed {
	const in = " /api/v1/standups/{id}"
	say := func(o object) any { return fieldsOf(o, "text", "Today: nothing") }
	return map[string][]deed{
		"PUT" + in + "/reports/{agent_id}": {{"file", say, "200", map[string]string{
			"another's as agent": "403 not_your_report",
		}}},
		"GET" + in: {{"read", nil, "200", nil}}, "GET" + in + "/transcript": {{"read", nil, "200", nil}},
		"POST" + in + "/run": {{"hold", nil, "202", nil}}, "POST" + in + "/cancel": {{"cancel", nil, "200", nil}},
		"DELETE" + in: {{"delete", nil, "204", nil}},
	}
}

// inboxDeeds: any person may handle any inbox item.
func inboxDeeds() map[string][]deed {
	const in = " /api/v1/inbox/{id}"
	body := func(name string, value any) func(object) any {
		return func(object) any { return map[string]any{name: value} }
	}
	return map[string][]deed{
		"GET" + in: {{"read", nil, "200", nil}}, "POST" + in + "/ack": {{"acknowledge", nil, "200", nil}},
		"POST" + in + "/snooze":  {{"put off", body("until", time.Now().Add(time.Hour)), "200", nil}},
		"POST" + in + "/assign":  {{"take away", body("assignee", nil), "200", nil}, {"give an agent", body("assignee", "coo@example.com"), "422 inbox_assignee_unknown", nil}},
		"POST" + in + "/resolve": {{"resolve", body("note", "Done"), "200", nil}}, "POST" + in + "/reopen": {{"reopen", nil, "200", nil}},
	}
}

// jobDeeds: admins may change all scheduled jobs, whichever agent runs them.
func jobDeeds() map[string][]deed {
	const in = " /api/v1/agentrt/jobs/{id}"
	say := func(o object) any { return fieldsOf(o, "name", "Another") }
	return map[string][]deed{
		"GET" + in: {{"read", nil, "200", nil}}, "PATCH" + in: {{"rename", say, "200", nil}}, "DELETE" + in: {{"remove", nil, "204", nil}},
		"POST" + in + "/run": {{"run", nil, "202", nil}}, "GET" + in + "/runs": {{"read", nil, "200", nil}}, "GET" + in + "/slots": {{"read", nil, "200", nil}},
	}
}

// sessionDeeds: admins may send messages to all sessions, whichever agent has them.
func sessionDeeds() map[string][]deed {
	const in = " /api/v1/agentrt/sessions/{key}"
	say := func(o object) any { return fieldsOf(o, "text", "Go on.") }
	return map[string][]deed{
		"GET" + in: {{"read", nil, "200", nil}}, "GET" + in + "/messages": {{"read", nil, "200", nil}},
		"POST" + in + "/messages": {{"send", say, "202", nil}}, "POST" + in + "/stop": {{"stop", nil, "200", nil}},
	}
}

func agentDeeds() map[string][]deed {
	return map[string][]deed{
		"GET /api/v1/agents/{agent_id}":           {{"read", nil, "200", nil}},
		"POST /api/v1/agents/{agent_id}/messages": sessionDeeds()["POST /api/v1/agentrt/sessions/{key}/messages"],
	}
}
