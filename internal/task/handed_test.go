package task

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
)

// What stops an agent's run, or keeps it from being begun, takes the right to stop
// runs: the board must not be a way around it.
func TestOnlyThoseWhoMayStopARunEndADispatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		s.Withdraw = func(context.Context, *db.Tx, Task, bool) (*Dispatch, error) {
			return &Dispatch{State: Failed, Since: clock.At(tuesday), Error: &DispatchError{Code: "withdrawn"}}, nil
		}
		callers := map[string]actor.Actor{}
		for name, role := range map[string]actor.Role{"ada": actor.User, "boss": actor.Admin, "cto": actor.Agent, "cpo": actor.Agent} {
			callers[name] = makeUser(t, d, name, role, true)
		}
		ends := map[string]func(ctx context.Context, key string) error{
			"archive": func(ctx context.Context, key string) error { _, err := s.Archive(ctx, key, nil); return err },
			"give to another": func(ctx context.Context, key string) error {
				_, err := s.Update(ctx, key, Change{Assignee: patch.Set("cpo")}, nil)
				return err
			},
			"give to nobody": func(ctx context.Context, key string) error {
				_, err := s.Update(ctx, key, Change{Assignee: patch.Clear[string]()}, nil)
				return err
			},
			"done": func(ctx context.Context, key string) error {
				_, err := s.Update(ctx, key, Change{Status: new(Done)}, nil)
				return err
			},
			"report done": func(ctx context.Context, key string) error {
				_, err := s.Report(ctx, key, Report{Kind: Finished})
				return err
			},
			"only a rename": func(ctx context.Context, key string) error {
				_, err := s.Update(ctx, key, Change{Title: new("Other")}, nil)
				return err
			},
		}
		n := 0
		for end, do := range ends {
			for who, by := range callers {
				for _, state := range []DispatchState{Queued, Started, Ended, Failed} {
					n++
					ctx := actor.With(t.Context(), callers["boss"])
					made, err := s.Create(ctx, New{Title: fmt.Sprint("Task ", n), Assignee: new("cto")})
					if err == nil {
						err = d.Tx(ctx, func(tx *db.Tx) error { return s.Show(ctx, tx, made.ID, Dispatch{State: state, AgentID: "cto"}) })
					}
					if err != nil {
						t.Fatal(err)
					}
					err = do(actor.With(t.Context(), by), made.Key)
					stops := end == "archive" && (state == Queued || state == Started) ||
						state == Queued && (end == "give to another" || end == "give to nobody" || end == "done" || end == "report done")
					if by.Role == actor.Agent && (end == "done" || end == "report done") {
						stops = false // it becomes review
					}
					if want := stops && (who == "ada" || who == "cpo"); want != errors.Is(err, ErrWithAgent) || !want && err != nil {
						t.Errorf("%s by %s, while it is %s: %v", end, who, state, err)
					}
					if is, again := s.Get(ctx, made.Key); again != nil || err != nil && (is.Version != made.Version || is.ArchivedAt != nil || is.Dispatch.State != state) {
						t.Errorf("%s by %s was refused and made %+v, %v", end, who, is, again)
					}
				}
			}
		}
	})
}
