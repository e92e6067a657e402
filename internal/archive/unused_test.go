package archive

import (
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A session that has used nothing costs nothing, as it does while it is live. If the ledger has not read its
// transcript, its cost is unknown.
func TestArchiveOfTheUnused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		b.say("agent:cto:main", plain(1)...)
		b.look(t.Context())
		if a, _ := b.stored("agent:cto:main", 10); a.CostUSD != nil || a.Tokens != nil || a.Complete != nil {
			t.Errorf("before it was read, it has used %+v", a)
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO usage_transcripts (session_id, session_key, agent_id, seq, version)
				SELECT transcript_id, session_key, agent_id, 1, 1 FROM archive_sessions`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		a, _ := b.stored("agent:cto:main", 10)
		if a.CostUSD == nil || *a.CostUSD != 0 || a.Tokens == nil || *a.Tokens != (Tokens{}) || a.Complete == nil || !*a.Complete {
			t.Errorf("it has used %+v", a)
		}
	})
}
