package schedule

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

func connected(when, boot string) mirror.Event {
	return mirror.Event{Event: link.Event{Name: link.EventConnected, At: at(when), BootID: boot}}
}

func lost(when string) mirror.Event {
	return mirror.Event{Event: link.Event{Name: link.EventDisconnected, At: at(when)}}
}

// A missed slot says what Wardroom knows of the reason.
func TestWhyMissed(t *testing.T) {
	t.Parallel()
	const away = "The gateway was offline from 2026-11-20 08:50 UTC to 2026-11-20 09:10 UTC, and the runtime restarted."
	for _, tt := range []struct {
		name  string
		known string // end of the last reading, at which the process was a; empty for none
		told  []mirror.Event
		want  string // of the slot at 09:00, whose grace ends at 09:05
	}{
		{"nothing happened", "08:59:00", nil, "The runtime did not start it by 09:05 UTC."},
		{"connected before", "08:59:00", []mirror.Event{connected("08:00:00", "a")}, "The runtime did not start it by 09:05 UTC."},
		{"restarted", "08:48:00", []mirror.Event{connected("08:00:00", "a"), lost("08:50:00"), connected("09:10:00", "b")}, away},
		{"restarted quickly", "08:59:00", []mirror.Event{connected("08:00:00", "a"), lost("09:03:10"), connected("09:03:12", "b")}, "The runtime restarted at 2026-11-20 09:03 UTC."},
		{"restarted too early", "08:40:00", []mirror.Event{connected("08:00:00", "a"), lost("08:41:00"), connected("08:42:00", "b")}, "The runtime did not start it by 09:05 UTC."},
		{"restarted too late", "09:01:00", []mirror.Event{connected("08:00:00", "a"), lost("09:06:00"), connected("09:07:00", "b")}, "The runtime did not start it by 09:05 UTC."},
		{"unreachable", "08:48:00", []mirror.Event{connected("08:00:00", "a"), lost("08:50:00"), connected("09:10:00", "a")}, "Wardroom had no connection to the gateway from 2026-11-20 08:50 UTC to 2026-11-20 09:10 UTC."},
		{"Wardroom was down", "08:50:00", []mirror.Event{connected("09:10:00", "a")}, "Wardroom had no connection to the gateway from 2026-11-20 08:50 UTC to 2026-11-20 09:10 UTC."},
		{"Wardroom restarted", "08:59:30", []mirror.Event{connected("09:00:30", "a")}, "The runtime did not start it by 09:05 UTC."},
		{"both restarted", "08:50:00", []mirror.Event{connected("09:10:00", "b")}, away},
		{"read since by another replica", "09:04:00", []mirror.Event{connected("09:02:00", "b")}, "The runtime did not start it by 09:05 UTC."},
		{"the first start", "", []mirror.Event{connected("09:10:00", "b")}, "The runtime did not start it by 09:05 UTC."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c connection
			for _, e := range tt.told {
				c.note(e)
			}
			var last reading
			if tt.known != "" {
				last = reading{to: at(tt.known), bootID: "a"}
			}
			r := c.next(last, time.Time{}, at("09:20:00"))
			f := facts{now: at("09:20:00"), knownTo: r.to, since: at("07:00:00"), away: r.away}
			if got := f.judge(slotOf(gateway.Job{ID: "j"}, at("09:00:00"), 5*time.Minute), at("10:00:00")); got.State != Missed || got.Reason != tt.want {
				t.Errorf("%s: %s", got.State, got.Reason)
			}
		})
	}
}

// An interruption is still known after a restart of Wardroom, and to its inbox items. The item of a
// failed run names the run.
func TestItemsNameTheirCause(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.Receive(connected("08:00:00", "a"))
		h.at("08:30:00")
		h.Receive(lost("08:58:00"))
		h.Receive(connected("09:01:00", "b"))
		h.at("09:01:00")
		h.Service = h.replica(d)
		h.Receive(connected("09:04:00", "b"))
		h.at("09:06:00")
		m := h.items(inbox.JobMissed)[0]
		if m.Run != nil || !strings.Contains(m.Detail, "offline from 2026-11-20 08:58 UTC to 2026-11-20 09:01 UTC, and the runtime restarted.") || strings.Contains(m.Detail, "automations") {
			t.Errorf("the item of the missed slot is %+v", m)
		}
		h.at("10:06:00")
		if m = h.items(inbox.JobMissed)[0]; !strings.HasPrefix(m.Detail, "The runtime did not start it by 10:05 UTC.\n\n") || !strings.Contains(m.Detail, "automations are on") {
			t.Errorf("the item of a slot without a reason is %+v", m)
		}
		h.r.ended("j", "11:00:01", "11:00:09", "error", "run-11")
		h.r.change(func() { h.r.runs[0].SessionKey = "agent:cto:cron:j:run:run-11" })
		h.at("11:01:00")
		if m = h.items(inbox.JobFailed)[0]; strings.HasPrefix(m.Detail, "The run at") || m.Run == nil || *m.Run != (inbox.Run{SessionKey: "agent:cto:cron:j:run:run-11", RunID: "run-11"}) {
			t.Errorf("the item of the failed slot is %+v, its run %+v", m, m.Run)
		}
		h.r.ended("j", "12:00:01", "12:00:09", "error", "run-12")
		h.r.change(func() { h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.Enabled = false }) }) // as the runtime does after ten failures
		h.at("12:01:00")
		if m = h.items(inbox.JobFailed)[0]; !strings.HasSuffix(m.Detail, "The job is now disabled, so this item is resolved only when a manual run succeeds.") {
			t.Errorf("the item of the last failed slot is %+v", m)
		}
	})
}

// A skipped slot says whether its job was changed, disabled or removed, and when.
func TestWhySkipped(t *testing.T) {
	t.Parallel()
	for word, w := range map[string]mirroredJob{
		"removed": {}, "disabled": {present: true}, "changed": {present: true, job: gateway.Job{Enabled: true}},
	} {
		f := facts{now: at("09:20:00"), knownTo: at("09:20:00"), since: at("09:02:00"), change: w.change()}
		got := f.judge(slotOf(gateway.Job{ID: "j"}, at("09:00:00"), 5*time.Minute), at("10:00:00"))
		if want := "The job was " + word + " before it ran. Wardroom noticed at 2026-11-20 09:02 UTC."; got.State != Skipped || got.Reason != want {
			t.Errorf("%s: %s, want %s", got.State, got.Reason, want)
		}
	}
}
