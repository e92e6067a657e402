package archive

import (
	"errors"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// The runtime forgets a run of a job when the next one begins. Links to the run lead to its transcript in the archive.
func TestArchivedRunOfAJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b, ctx := newBench(t, d), t.Context()
		const job = "agent:cto:cron:j"
		b.runtime.ids[job] = "t1"
		b.say(job, plain(3)...)
		b.look(ctx)
		delete(b.runtime.rows, job)
		b.runtime.ids[job] = "t2"
		b.say(job, plain(1)...)
		b.look(ctx)
		for run, messages := range map[string]int64{"t1": 3, "t2": 1} {
			a, err := b.s.Get(ctx, job+":run:"+run)
			if err != nil || a.Key != job || a.Messages != messages || a.Present != (run == "t2") {
				t.Errorf("%s is %+v, %v", run, a, err)
			}
			newest, older, err := b.s.Messages(ctx, job+":run:"+run, "", 1)
			if err != nil || len(newest) != 1 || (older != "") != (run == "t1") {
				t.Errorf("%s has %+v, %q, %v", run, newest, older, err)
			}
			if older == "" {
				continue
			}
			if rest, _, err := b.s.Messages(ctx, job+":run:"+run, older, 5); err != nil || len(rest) != 2 {
				t.Errorf("before that, %s has %+v, %v", run, rest, err)
			}
		}
		if _, err := b.s.Get(ctx, job+":run:t3"); !errors.Is(err, ErrNotFound) {
			t.Errorf("another run: %v", err)
		}
	})
}
