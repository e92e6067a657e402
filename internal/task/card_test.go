package task

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// operations generates random operations that change a task's card, on random tasks
// and by random users. Refused operations are fine.
type operations struct {
	*rand.Rand
	on       []*Service // replicas
	at       time.Time
	users    []actor.Actor
	made     int
	project  string
	comments [][2]string // task and comment
}

func (d *operations) ref() string { return keyOf(1 + d.Int64N(int64(d.made+1))) } // sometimes a missing task

func (d *operations) change() Change {
	refs := func(n int) *[]Name {
		names := []Name{}
		for range d.IntN(n) {
			names = append(names, Name(d.ref()))
		}
		return &names
	}
	statuses := []Status{Backlog, Todo, InProgress, Review, Done, Done}
	switch d.IntN(13) {
	case 0:
		return Change{Title: new(fmt.Sprint("Title ", d.IntN(99))), Description: new(strings.Repeat("Text. ", d.IntN(50)))}
	case 1:
		return Change{Priority: new([]Priority{Low, Medium, High, Urgent}[d.IntN(4)]), Type: new([]Type{Plain, Bug}[d.IntN(2)])}
	case 2:
		return Change{Tags: &[]Tag{"one", Tag(fmt.Sprint("tag-", d.IntN(5)))}}
	case 3:
		return Change{Assignee: patch.Set(d.users[d.IntN(len(d.users))].ID), Branch: patch.Set(fmt.Sprint("branch-", d.IntN(9)))}
	case 4:
		return Change{Blocked: patch.Set(BlockedReason{Reason: fmt.Sprint("Reason ", d.IntN(9))})}
	case 5:
		return Change{Blocked: patch.Clear[BlockedReason](), Assignee: patch.Clear[string]()}
	case 6:
		return Change{DueAt: patch.Set(clock.At(d.at.Add(time.Duration(d.IntN(99)) * time.Hour)))}
	case 7:
		return Change{Parent: patch.Set(d.ref()), Project: patch.Set(d.project)}
	case 8:
		return Change{DependsOn: refs(4)}
	case 9, 10: // always beside the same tasks, so that positions get long and are spread
		return Change{Position: &Place{After: new("TASK-1")}}
	default:
		return Change{Status: &statuses[d.IntN(len(statuses))]}
	}
}

// do runs one random operation.
func (d *operations) do(ctx context.Context, t *testing.T) {
	t.Helper()
	s := d.on[d.IntN(len(d.on))]
	ctx = actor.With(ctx, d.users[d.IntN(len(d.users))])
	var err error
	what := d.IntN(18)
	switch what {
	case 0, 1:
		n := New{Title: fmt.Sprint("Task ", d.made), DependsOn: []Name{Name(d.ref())}}
		if d.IntN(2) == 0 {
			n.DependsOn = nil
		}
		if _, err = s.Create(ctx, n); err == nil {
			d.made++
		}
	case 2, 3, 4, 5:
		_, err = s.Update(ctx, d.ref(), d.change(), nil)
	case 6, 7: // also renews
		_, err = s.Claim(ctx, d.ref(), ClaimOptions{Lease: time.Duration(1+d.IntN(600)) * time.Second})
	case 8:
		_, err = s.Release(ctx, d.ref(), ClaimOptions{})
	case 9:
		_, err = s.Report(ctx, d.ref(), Report{Kind: Kind([]string{"ack", "progress", "blocker", "done"}[d.IntN(4)]), Text: fmt.Sprint("Note ", d.IntN(9))})
	case 10:
		var c Comment
		ref := d.ref()
		if c, err = s.Comment(ctx, ref, CommentText{"A word."}); err == nil {
			d.comments = append(d.comments, [2]string{ref, c.ID})
		}
	case 11:
		if len(d.comments) > 0 {
			c := d.comments[d.IntN(len(d.comments))]
			err = s.DeleteComment(ctx, c[0], c[1], nil)
		}
	case 12:
		if d.IntN(2) == 0 {
			_, err = s.Archive(ctx, d.ref(), nil)
		} else {
			_, err = s.Restore(ctx, d.ref(), nil)
		}
	case 13:
		if d.IntN(4) == 0 {
			err = s.Delete(ctx, d.ref(), nil)
		} else {
			_, err = s.Bulk(ctx, []string{d.ref(), d.ref(), d.ref()}, d.change())
		}
	case 14:
		err = s.EndLeases(actor.With(ctx, actor.System))
	case 16:
		err = s.IndexTexts(ctx)
	case 15: // as after a move into a full gap
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
			t, err := find(ctx, tx, "TASK-1")
			if err != nil {
				return err
			}
			return spread(ctx, tx, t.Position[:placeDigits])
		})
	default: // only time passes, and claims expire
		d.at = d.at.Add(time.Duration(d.IntN(200)) * time.Second)
	}
	if err != nil && fault.Of(err) == nil {
		t.Fatalf("deed %d: %v", what, err)
	}
}

// cardOf returns the card that a task must have.
func cardOf(t *testing.T, v Task, slim bool) *Card {
	t.Helper()
	c, err := v.card()
	if err != nil {
		t.Fatal(err)
	}
	if slim {
		c.rest = ""
	}
	return &c
}

// check compares the stored cards with the tasks.
func (d *operations) check(ctx context.Context, t *testing.T) {
	t.Helper()
	s := d.on[d.IntN(len(d.on))]
	f := []Filter{
		{},
		{Statuses: []Status{Todo, InProgress}},
		{Statuses: []Status{Done}, Priorities: []Priority{High, Low}},
		{Archived: true},
		{Tags: []Tag{"one"}},
		{Text: "title"},
		{Text: "le"},
		{Holder: Anybody},
		{Blocked: new(true)},
		{Assignee: Nobody, Statuses: []Status{Todo}},
	}[d.IntN(10)]
	slim := d.IntN(3) == 0
	want := page.Want{Total: d.IntN(3) == 0, Sort: []string{"", "-key", "key", "created", "-updated", "due", "-priority", "position"}[d.IntN(8)]}
	want.Limit = []int{3, 20, 100}[d.IntN(3)]
	for shown := int64(0); ; {
		is, err := s.Cards(ctx, f, want, slim)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range is.Rows {
			var key struct{ Key string }
			if err := json.Unmarshal(row.AppendJSON(nil), &key); err != nil {
				t.Fatal(err)
			}
			one, err := s.Get(ctx, key.Key)
			if card := cardOf(t, one, slim); err != nil || row != *card {
				t.Fatalf("%+v, %+v shows\n%+v\nwhere there is\n%+v, %v", f, want, row, card, err)
			}
		}
		if shown += int64(len(is.Rows)); is.Next == "" && is.Total != nil && *is.Total != shown {
			t.Fatalf("%+v, %+v: %d rows, want %d", f, want, shown, *is.Total)
		}
		if want.Cursor = is.Next; want.Cursor == "" {
			break
		}
	}
	ref := d.ref()
	c, version, err := s.Card(ctx, ref)
	one, wrong := s.Get(ctx, ref)
	card := cardOf(t, one, false)
	if (err == nil) != (wrong == nil) || version != one.Version || err == nil && c != *card {
		t.Fatalf("%s is shown as\n%+v, %v\nand is\n%+v, %v", ref, c, err, card, wrong)
	}
}

// After any sequence of operations on any replica, the stored cards match the
// tasks.
func TestCardsAreTrue(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := dbtest.URL(t, engine)
			one := dbtest.Open(t, url)
			two, err := db.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := two.Close(); err != nil {
					t.Error(err)
				}
			})
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			d := &operations{Rand: rand.New(rand.NewPCG(seed, 1)), at: time.Now().UTC().Truncate(time.Second)}
			now := func() time.Time { return d.at }
			d.on = []*Service{serviceAt(one, now), serviceAt(two, now), serviceAt(one, now)}
			for _, name := range []string{"ada", "coo"} {
				d.users = append(d.users, makeUser(t, one, name, map[string]actor.Role{"ada": actor.Admin, "coo": actor.Agent}[name], true))
			}
			ctx := actor.With(t.Context(), d.users[0])
			p, err := d.on[0].CreateProject(ctx, NewProject{Key: "WEB", Name: "Web"})
			if err != nil {
				t.Fatal(err)
			}
			d.project = p.ID
			for range 20 {
				if _, err := d.on[0].Create(ctx, New{Title: "One of the first"}); err != nil {
					t.Fatal(err)
				}
				d.made++
			}
			for range 800 {
				d.do(t.Context(), t)
				d.check(ctx, t)
			}
		})
	}
}

// A list that is read while tasks move contains only matching cards.
func TestCardsOfOnePage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := asService(t)
		for range 12 {
			makeTask(t, s, "Order paper")
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 300 {
				to := []Status{Backlog, Todo}[i%2]
				if _, err := s.Update(ctx, "TASK-1", Change{Status: &to}, nil); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		for working := true; working; {
			select {
			case <-done:
				working = false
			default:
			}
			part, err := s.Cards(ctx, Filter{Statuses: []Status{Todo}}, page.Want{}, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range part.Rows {
				if !strings.Contains(c.board, `"status":"todo"`) {
					t.Fatalf("among what is to do is %s", c.board)
				}
			}
		}
	})
}

// A card equals the JSON of its task, and a slim card the fields before the
// description.
func TestCardAsJSON(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var v Task
		randomize(random, reflect.ValueOf(&v).Elem())
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if got := append(cardOf(t, v, false).AppendJSON(nil), '\n'); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("the card is\n%s\nencoding/json makes\n%s", got, want.Bytes())
		}
		if text := cardOf(t, v, true).AppendJSON(nil); !json.Valid(text) || !bytes.HasPrefix(want.Bytes(), text[:len(text)-1]) || bytes.Contains(text, []byte(`,"description":`)) {
			t.Fatalf("slim it is\n%s\nwhole\n%s", text, want.Bytes())
		}
	}
}

// The card shows changes of the dispatch and the cost, which keep the version.
func TestCardShowsDispatchAndCost(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := asService(t)
		made := makeTask(t, s, "Ship it")
		see := func() Task {
			t.Helper()
			c, _, err := s.Card(ctx, made.Key)
			if err != nil {
				t.Fatal(err)
			}
			part, err := s.Cards(ctx, Filter{}, page.Want{}, false)
			if err != nil || part.Rows[0] != c {
				t.Errorf("the list has %+v, %v, the card %+v", part.Rows[0], err, c)
			}
			var got Task
			if err := json.Unmarshal(c.AppendJSON(nil), &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := see(); got.Dispatch != nil || got.CostUSD != nil || got.Tokens != nil || got.CostComplete != nil {
			t.Errorf("of one that nobody worked on: %+v", got)
		}
		write := func(fn func(tx *db.Tx) error) {
			t.Helper()
			if err := d.Tx(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *db.Tx) error { return s.SetDispatch(ctx, tx, made.ID, Dispatch{State: Started, RunID: "r"}) })
		write(func(tx *db.Tx) error {
			_, ok, err := s.SetSpend(ctx, tx, strings.ToLower(made.Key), Spend{Tokens: Tokens{Input: 7}, Unpriced: 1})
			if !ok {
				t.Error("the task is not found by its key")
			}
			return err
		})
		if got := see(); got.Dispatch.State != Started || got.CostUSD != nil || got.Tokens.Input != 7 || *got.CostComplete || got.Version != made.Version {
			t.Errorf("while it goes on: %+v %v %+v", got.Dispatch, got.CostUSD, got.Tokens)
		}
		cost := money.Nano(28_314_000)
		write(func(tx *db.Tx) error {
			_, _, err := s.SetSpend(ctx, tx, made.Key, Spend{CostUSD: &cost, Tokens: Tokens{Input: 9}})
			return err
		})
		if _, err := s.Update(ctx, made.ID, Change{Title: new("Shipped")}, nil); err != nil {
			t.Fatal(err)
		}
		if got := see(); *got.CostUSD != cost || !*got.CostComplete || got.Dispatch.RunID != "r" || got.Title != "Shipped" {
			t.Errorf("at the end: %+v", got)
		}
		write(func(tx *db.Tx) error {
			_, ok, err := s.SetSpend(ctx, tx, "TASK-99", Spend{})
			if ok {
				t.Error("a task that is not there was found")
			}
			return err
		})
	})
}

// randomize gives each field a random value and leaves some optional ones
// empty.
func randomize(random *rand.Rand, v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.Type() == reflect.TypeFor[clock.Time]():
		v.Set(reflect.ValueOf(clock.Time{Time: time.Unix(random.Int64N(4e9), random.Int64N(1e9)).In(time.FixedZone("", 3600*random.IntN(5)))}))
	case v.Kind() == reflect.Pointer:
		if random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomize(random, v.Elem())
		}
	case v.Kind() == reflect.Struct:
		for _, f := range v.Fields() {
			randomize(random, f)
		}
	case v.Kind() == reflect.Slice:
		if random.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		}
		for i := range v.Len() {
			randomize(random, v.Index(i))
		}
	case v.Kind() == reflect.String:
		texts := []string{"", "plain", "a \"quote\" \\ <b>", "line\nline\t\x01", "漢字 \u2028 🙂", "broken \xff"}
		v.SetString(texts[random.IntN(len(texts))])
	case v.Kind() == reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case v.Kind() == reflect.Int64:
		v.SetInt(random.Int64N(3) * random.Int64())
	default:
		panic("a kind that the test does not know: " + v.Kind().String())
	}
}
