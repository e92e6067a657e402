package event

import (
	"fmt"
	"slices"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Events of the inbox reach agents neither in a list nor on a stream.
func TestInboxIsForPeople(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		item := Subject{Kind: TopicInbox, ID: "i", Name: "The card has expired"}
		record(t, d, monday, Activity, "inbox.raised", item, nil)
		record(t, d, monday, Activity, "task.created", task1, nil)
		site := newSite(t, d)
		r := start(t, &Service{DB: d})
		for _, role := range actor.Roles() {
			seen := map[string]int{}
			for _, query := range []string{"", "?subject_kind=inbox", "?subject_id=i", "?kind=inbox.*", "?actor=system"} {
				_, _, body := ask(t, site, string(role), "/activity"+query)
				list, _ := body.([]any)
				for _, e := range list {
					fields, _ := e.(map[string]any)
					seen[fmt.Sprint(fields["kind"])]++
				}
			}
			stream := r.open(t, string(role), "/events", "0")
			if role == actor.Agent {
				if seen["inbox.raised"] != 0 || seen["task.created"] == 0 {
					t.Errorf("%s reads %v", role, seen)
				}
				stream.want("0 hello", "2 task.created")
				continue
			}
			if seen["inbox.raised"] < 4 {
				t.Errorf("%s reads %v", role, seen)
			}
			stream.want("0 hello", "1 inbox.raised", "2 task.created")
			r.open(t, string(role), "/events?topics=inbox", "0").want("0 hello", "1 inbox.raised")
		}
		live := r.open(t, "agent", "/events?topics=inbox,task", "")
		live.want("2 hello")
		record(t, d, monday, Activity, "inbox.acked", item, nil)
		r.Publish(State{Kind: "secret", Topics: []string{TopicInbox, TopicTask}, Data: struct{}{}})
		record(t, d, monday, Activity, "task.changed", task1, nil)
		live.want("4 task.changed") // and nothing before it
		if !slices.Equal(hiddenFrom(""), []string{TopicInbox}) {
			t.Error("somebody without a role sees the inbox")
		}
	})
}
