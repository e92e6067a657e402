package app_test

import (
	"net/http"
	"testing"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// No read answers an approval or a question, whatever its parameters: browsers and messengers follow links by themselves.
func TestReadsAnswerNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	h.runtime.AskApproval(demo.Command{AgentID: "cto", SessionKey: "agent:cto:main", RunID: "r", Text: "git push", Directory: "/srv"})
	h.runtime.AskQuestion("cto", "agent:cto:main", "", 0, map[string]any{
		"questionId": "q", "header": "Q", "question": "Which?", "options": []map[string]any{{"label": "A"}},
	})
	type asked struct{ ID, State string }
	pending := func(kind string) string {
		t.Helper()
		var all []asked
		waitFor(t, kind, func() bool {
			all = decode[[]asked](owner.get("/api/v1/" + kind).want(http.StatusOK))
			return len(all) == 1
		})
		if all[0].State != "pending" {
			t.Errorf("%s are %+v", kind, all)
		}
		return "/api/v1/" + kind + "/" + all[0].ID
	}
	reads := []string{pending("approvals"), pending("questions"), "/api/v1/inbox", "/api/v1/now"}
	waitFor(t, "the inbox items", func() bool {
		return len(decode[[]inbox.Item](owner.get("/api/v1/inbox").want(http.StatusOK))) == 2
	})
	for _, i := range decode[[]inbox.Item](owner.get("/api/v1/inbox").want(http.StatusOK)) {
		reads = append(reads, "/api/v1/inbox/"+i.ID)
	}
	for _, at := range reads {
		for _, more := range []string{"", "/answer", "?decision=allow-once", "/answer?decision=deny&skip=true&answers=A", "/resolve"} {
			owner.get(at + more)
		}
	}
	pending("approvals")
	pending("questions")
	for _, i := range decode[[]inbox.Item](owner.get("/api/v1/inbox").want(http.StatusOK)) {
		if i.State != inbox.Open {
			t.Errorf("the item %s is %s", i.Title, i.State)
		}
	}
	if n := h.runtime.Calls("exec.approval.resolve") + h.runtime.Calls("question.resolve"); n > 0 {
		t.Errorf("the runtime was answered %d times", n)
	}
}
