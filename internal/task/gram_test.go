package task

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// A task whose title holds the text and that the index hides is not found at all.
func TestTextIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := asService(t)
		random := rand.New(rand.NewPCG(1, 2))
		titles := []string{
			`Order "paper" & ink`, `100% (of_all) \o/`, `ÜBERSICHT für Ärzte`, `日本語のタスク`, `a`, `ab`, `x  y`, `İstanbul ŐŰ`, `🙂 ok`, "task-1 again", `- -- ---`,
		}
		for i := range 60 {
			makeTask(t, s, titles[i%len(titles)]+fmt.Sprint(" ", i))
			switch i {
			case 20, 40:
				if err := s.IndexTexts(ctx); err != nil {
					t.Fatal(err)
				}
			case 25, 45: // one with grams, one without
				for _, key := range []string{"TASK-3", keyOf(int64(i))} {
					if _, err := s.Update(ctx, key, Change{Title: new("Renamed" + key)}, nil); err != nil {
						t.Fatal(err)
					}
				}
			case 50:
				if err := s.Delete(ctx, "TASK-5", nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		all, err := s.List(ctx, Filter{}, page.Want{})
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			in := []rune(all.Rows[random.IntN(len(all.Rows))].searched())
			from := random.IntN(len(in))
			text := string(in[from:min(len(in), from+1+random.IntN(6))])
			holdFound(ctx, t, s, all.Rows, text)
		}
		for _, text := range []string{"zz", "nowhere", "%", "_", `\`, `"`, `""`, "ordér", "TASK-3", "😀", "a b", " ", "Ü", "ü"} {
			holdFound(ctx, t, s, all.Rows, text)
		}
	})
}

// holdFound compares what is found with what has the text.
func holdFound(ctx context.Context, t *testing.T, s *Service, all []Task, text string) {
	t.Helper()
	var want, got []string
	for _, one := range all {
		if strings.Contains(one.searched(), strings.ToLower(text)) {
			want = append(want, one.Key)
		}
	}
	part, err := s.List(ctx, Filter{Text: text}, page.Want{})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, one := range part.Rows {
		got = append(got, one.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q finds %v, want %v", text, got, want)
	}
}

// An idle board must not be written to every few seconds.
func TestIndexTextsRests(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeTask(t, s, "Order paper")
		if err := s.IndexTexts(asService(t)); err != nil {
			t.Fatal(err)
		}
		d.Observe(func(query string, _ []any) {
			if !strings.HasPrefix(query, "SELECT") {
				t.Errorf("it runs %s", query)
			}
		})
		if err := s.IndexTexts(asService(t)); err != nil {
			t.Fatal(err)
		}
	})
}
