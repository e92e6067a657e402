package task

import (
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A claim from a time when the clock was wrong must not keep a task from everyone for years.
func TestClaimOfAWrongClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		cto := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true))
		made := makeTask(t, s, "Ship it")
		if _, err := s.Claim(cto, made.Key, ClaimOptions{}); err != nil {
			t.Fatal(err)
		}
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE tasks SET claim_until = ?`, time.Now().UTC().AddDate(10, 0, 0))
			if err != nil {
				return err
			}
			return rewriteCards(t.Context(), tx, made.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := s.Card(asService(t), made.Key)
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := c.Task(); err != nil || shown.Claim != nil {
			t.Errorf("it shows the claim %+v, %v", shown.Claim, err)
		}
		if err := s.EndLeases(asService(t)); err != nil {
			t.Fatal(err)
		}
		if is, err := find(t.Context(), d, made.Key); err != nil || is.Claim != nil || is.Status != Todo {
			t.Errorf("then it is %s with the claim %+v, %v", is.Status, is.Claim, err)
		}
	})
}
