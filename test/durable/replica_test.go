package durable

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
)

// replicas starts two processes on the same PostgreSQL database, at the address that at returns for the trial's. They
// have different application names. The first one is the trial's own.
func replicas(t *testing.T, at func(address string) string) (x *trial, both map[string]*process) {
	t.Helper()
	x = newTrial(t, plant(t, db.Postgres), nil)
	both = map[string]*process{}
	for _, name := range []string{"second", "first"} {
		env := maps.Clone(x.env)
		env["DATABASE_URL"] = at(x.address) + "&application_name=" + name
		both[name] = launch(t, env)
		x.live(both[name])
		x.connected()
	}
	x.open()
	return x, both
}

// Twenty concurrent requests to run the standup on two replicas start it once; the others
// answer that it is running.
func TestRunAtTwoReplicas(t *testing.T) {
	t.Parallel()
	x, both := replicas(t, strings.Clone)
	speak := x.think("cto") // so that no request comes after the end
	type answer struct {
		status int
		code   string
		err    error
	}
	answers, begin := make(chan answer), make(chan struct{})
	for i := range 20 {
		at := both["first"]
		if i%2 == 1 {
			at = both["second"]
		}
		go func() {
			<-begin
			status, body, err := request(t.Context(), at.url, x.token, http.MethodPost, x.path()+"/run", nil)
			var problem struct{ Code string }
			_ = json.Unmarshal(body, &problem) // a record has no code
			answers <- answer{status, problem.Code, err}
		}()
	}
	close(begin)
	got := map[answer]int{}
	for range 20 {
		got[<-answers]++
	}
	want := map[answer]int{{status: http.StatusAccepted}: 1, {status: http.StatusConflict, code: "already_running"}: 19}
	if !maps.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	speak()
	x.whole(x.end(), outcome{})
	if n := x.count(`SELECT COUNT(*) FROM jobs WHERE kind = 'standup'`); n != 1 {
		t.Errorf("one standup has %d jobs", n)
	}
}

// If the replica that runs the standup crashes and is not restarted, the other one
// completes the standup.
func TestReplicaFinishesTheMeeting(t *testing.T) {
	t.Parallel()
	x, both := replicas(t, strings.Clone)
	between := step("keep %-cto-1", "ask %-cpo-1")
	sprung, unset := between.set(x)
	x.mustRun()
	until(t, "the meeting to get to its second participant", 60*time.Second, sprung)
	holder := x.holder(both)
	x.live(both[holder])
	x.kill()
	delete(both, holder)
	unset()
	for _, other := range both {
		x.live(other)
	}
	r := x.end()
	x.inTime(r)
	x.whole(r, outcome{})
}

// holder returns the name of the replica that runs the standup and has come to the trap.
func (x *trial) holder(both map[string]*process) string {
	x.Helper()
	holders := x.names(`
		SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)
		WHERE locktype = 'advisory' AND NOT granted AND classid = ? AND objid = ? AND datname = current_database()`, lockOne, lockTwo)
	if len(holders) != 1 || both[holders[0]] == nil {
		x.Fatalf("the standup is run by %v", holders)
	}
	return holders[0]
}
