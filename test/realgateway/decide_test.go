//go:build journey

package realgateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// decides follows a blocked task from the escalation of a standup to the next standup. A
// person decides, the agent reports on the task from its run, and the person approves.
func (j *journey) decides(t *testing.T) {
	const reason, decision = "The card on file has expired", "Use the prepaid account."
	var made handedTask
	j.owner.Post(t, "/api/v1/tasks", map[string]string{"title": "Renew the certificate", "assignee_id": "cto"}).Into(t, http.StatusCreated, &made)
	key, at := made.Key, "/api/v1/tasks/"+made.Key
	j.owner.Do(t, http.MethodPatch, at, map[string]any{"blocked": map[string]string{"reason": reason}}, nil).Want(t, http.StatusOK)
	j.model.Script("cto", Reply{Text: "## Yesterday\n- The order\n\n## Today\n- The rest\n\n## Blockers\n- " + key + ": " + reason})
	j.model.Script("coo", Reply{Text: strings.Replace(review, `"task": null}],`, `"task": "`+key+`"}],`, 1)})
	before := j.meets(t, "21")
	j.model.Script("cto", Reply{})
	j.model.Script("coo", Reply{})
	if got := before.blockers(); !slices.Contains(got, key) {
		t.Fatalf("the first standup has the blockers %v, want %s", got, key)
	}
	if got := j.escalations(t, "open"); !slices.Equal(got, []string{key}) {
		t.Errorf("the inbox has escalations of %v", got)
	}

	j.owner.Post(t, at+"/decide", map[string]any{"text": decision, "unblock": true, "dispatch": true}).Want(t, http.StatusOK)
	if got := j.escalations(t, "resolved"); !slices.Equal(got, []string{key}) {
		t.Errorf("after the decision, escalations of %v are resolved", got)
	}
	got := j.endsInReview(t, key, "", decision)
	if kinds := j.reported(t, key, "CTO"); !slices.Equal(kinds, []string{"done", "ack"}) {
		t.Errorf("the CTO reported %v", kinds)
	}

	// The agent goes on in the session that knows what it did.
	const correction = "Renew the intermediate certificate, too."
	j.owner.Post(t, at+"/send-back", map[string]string{"text": correction}).Want(t, http.StatusOK)
	first := got.Dispatch
	got = j.endsInReview(t, key, first.RunID, correction)
	if got.Dispatch.SessionKey != first.SessionKey {
		t.Errorf("sent back, the task is in the session %s, was in %s", got.Dispatch.SessionKey, first.SessionKey)
	}
	j.owner.Post(t, at+"/approve", nil).Into(t, http.StatusOK, &got)
	if got.Status != "done" {
		t.Errorf("approved, the task is %s", got.Status)
	}

	after := j.meets(t, "22")
	if tasks := after.blockers(); slices.Contains(tasks, key) {
		t.Errorf("the next standup has the blockers %v", tasks)
	}
	if d := after.Decisions; len(d) != 1 || d[0].Task == nil || *d[0].Task != key || d[0].Text != decision || !d[0].Unblock {
		t.Errorf("the next standup has the decisions %+v", d)
	}
	reviews := j.model.reviews()
	if evidence := reviews[len(reviews)-1].Prompt; !strings.Contains(evidence, "about "+key) || !strings.Contains(evidence, "which is unblocked: "+decision) {
		t.Errorf("the facilitator was asked %s", evidence)
	}
}

// endsInReview waits until another run of the CTO than the given one has ended. The CTO must have
// been told the words, and have moved the task to review.
func (j *journey) endsInReview(t *testing.T, key, before, words string) (got handedTask) {
	t.Helper()
	WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.RunID != before && (got.Dispatch.State == "ended" || got.Dispatch.State == "failed")
	})
	if calls := j.model.Ever("cto", words); got.Status != "review" || len(calls) == 0 {
		t.Fatalf("the task is %s, dispatch %+v %+v; with %q the model was asked %+v", got.Status, got.Dispatch, got.Dispatch.Error, words, calls)
	}
	return got
}

// meets runs the standup of a day to its end.
func (j *journey) meets(t *testing.T, day string) standup {
	t.Helper()
	id := j.open(t, day)
	j.run(t, id)
	return j.end(t, id, "completed", "answered", "answered", "answered")
}

// escalations returns the tasks of the escalations in the inbox.
func (j *journey) escalations(t *testing.T, state string) (tasks []string) {
	t.Helper()
	var items []struct{ Subject struct{ Kind, Name string } }
	j.owner.Get(t, "/api/v1/inbox?kind=escalation&state="+state).Into(t, http.StatusOK, &items)
	for _, i := range items {
		tasks = append(tasks, i.Subject.Name)
	}
	return tasks
}

// reported returns the kinds of an agent's reports on a task, newest first.
func (j *journey) reported(t *testing.T, key, name string) (kinds []string) {
	t.Helper()
	var history []struct {
		Kind  string
		Actor struct{ Name string }
		Data  struct{ Report string }
	}
	j.owner.Get(t, "/api/v1/tasks/"+key+"/history").Into(t, http.StatusOK, &history)
	for _, e := range history {
		if e.Kind == "task.reported" && e.Actor.Name == name {
			kinds = append(kinds, e.Data.Report)
		}
	}
	return kinds
}
