package standup_test

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// A run that nobody waits for any more is stopped, even if the process dies right after
// that decision.
func TestOrphansSurviveTheProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin  func(o *office)
		during func(t *testing.T, o *office, id string)
	}{
		"the standup is canceled": {during: func(t *testing.T, o *office, id string) {
			if _, err := o.Cancel(signedIn(t), id); err != nil {
				t.Fatal(err)
			}
		}},
		"the report is submitted":            {during: func(t *testing.T, o *office, id string) { o.submitReport(t, id, "cto") }},
		"the deadline of the standup passes": {begin: func(o *office) { o.Deadline = shortTime }},
		"the agent does not answer in time, and the stop is refused": {begin: func(o *office) {
			o.AgentTimeout = shortTime
			o.Runtime = &flaky{Runtime: o.client, stop: func(context.Context, string, string) (bool, error) {
				return false, link.ErrRefused.With("not yours")
			}}
		}},
		"the standup is deleted while its question is open": {begin: func(o *office) { o.Grace = 0 }, during: func(t *testing.T, o *office, id string) {
			o.runtime.Starting(true)
			o.runtime.Drop()
			wantEnd(t, o.end(t, id), standup.Error, standup.GatewayUnreachable)
			if err := o.Delete(signedIn(t), id, nil); err != nil {
				t.Fatal(err)
			}
			o.runtime.Starting(false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly waits
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				o := newOffice(t, d)
				o.runtime.Silence("cto", true)
				if c.begin != nil {
					c.begin(o)
				}
				delete(o.Jobs.Kinds, "stop run") // the process dies before it begins this job
				stop := work(t, o.Service)
				m := o.open(t)
				if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
					t.Fatal(err)
				}
				o.asked(t, "cto")
				if c.during != nil {
					c.during(t, o, m.ID)
				}
				wait(t, "the decision", func() bool {
					var n int
					err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs WHERE kind = 'stop run' AND state = 'ready'`).Scan(&n)
					return err == nil && n == 1
				})
				stop()
				wait(t, "the silent run to be the only one", func() bool { return o.runtime.Busy() == 1 })
				began := time.Now()
				work(t, o.service(d))
				wait(t, "the run to be stopped", func() bool { return o.runtime.Busy() == 0 })
				t.Logf("stopped after %s", time.Since(began))
			})
		})
	}
}
