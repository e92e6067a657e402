//go:build journey

package realgateway

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// spoken is the part of a message to an agent that the test checks.
type spoken struct {
	Role    string  `json:"role"`
	RunID   *string `json:"run_id"`
	Sender  *string `json:"sender"`
	Waiting *string `json:"waiting"`
	Blocks  []struct {
		Text string `json:"text"`
	} `json:"blocks"`
}

// talks sends messages to an agent that has no session, the second while the agent works.
func (j *journey) talks(t *testing.T) {
	const key = "agent:cmo:main"
	j.owner.Get(t, sessionPath(key)).Want(t, http.StatusNotFound)
	j.model.Script("cmo", Reply{Delay: 8 * time.Second, Text: "Counted."})
	defer j.model.Script("cmo", Reply{})
	send := func(text string) (id string) {
		var sent struct {
			RunID string `json:"run_id"`
			Key   string `json:"session_key"`
		}
		j.owner.Post(t, "/api/v1/agents/cmo/messages", map[string]string{"text": text}).Into(t, http.StatusAccepted, &sent)
		if sent.Key != key {
			t.Errorf("%q went to %s", text, sent.Key)
		}
		return sent.RunID
	}
	first := send("Count the cats.")
	WaitFor(t, time.Minute, "the agent to begin", func() bool { return len(j.model.Ever("cmo", "Count the cats.")) > 0 })
	second := send("And the dogs.")
	find := func(id string) (spoken, bool) {
		var list []spoken
		res := j.owner.Get(t, sessionPath(key)+"/messages")
		if res.Status != http.StatusOK { // on a busy machine
			return spoken{}, false
		}
		res.Into(t, http.StatusOK, &list)
		i := slices.IndexFunc(list, func(s spoken) bool { return s.Role == "user" && s.RunID != nil && *s.RunID == id })
		if i < 0 {
			return spoken{}, false
		}
		return list[i], list[i].Sender != nil
	}
	var waits spoken
	WaitFor(t, time.Minute, "the message that waits", func() (ok bool) { waits, ok = find(second); return ok })
	if waits.Blocks[0].Text != "And the dogs." || waits.Waiting == nil || *waits.Waiting != "queued" {
		t.Errorf("while the agent works, the message is %+v", waits)
	}
	for _, id := range []string{first, second} {
		WaitFor(t, time.Minute, "the message to be read", func() bool { s, ok := find(id); return ok && s.Waiting == nil })
	}
	WaitFor(t, time.Minute, "the end of the runs", func() bool { return !j.session(t, key).Active })
	if n := len(j.model.Ever("cmo", "And the dogs.")); n == 0 {
		t.Error("the agent never got the second message")
	}
}
