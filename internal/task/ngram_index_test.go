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
	"wardroom/internal/platform/plaintext"
)

// The index never hides a task whose title contains the text.
func TestTextIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := asService(t)
		random := rand.New(rand.NewPCG(1, 2))
		titles := []string{
			`Order "paper" & ink`, `100% (of_all) \o/`, `ÜBERSICHT für Ärzte`, `日本語のタスク`, `a`, `ab`, `x  y`, `İstanbul ŐŰ`, "cafe\u0301 ｱｲｽ", "\u1109\u1165\u110b\u116e\u11af", `🙂 ok`, "task-1 again", `- -- ---`,
		}
		for i := range 60 {
			makeTask(t, s, titles[i%len(titles)]+fmt.Sprint(" ", i))
			switch i {
			case 20, 40:
				if err := s.IndexTexts(ctx); err != nil {
					t.Fatal(err)
				}
			case 25, 45: // one indexed, one not
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
		for _, text := range []string{"zz", "nowhere", "%", "_", `\`, `"`, `""`, "ordér", "TASK-3", "😀", "a b", " ", "Ü", "ü", "U\u0308", "istanbul", "Café", "cafe\u0301 アイス", "서울"} {
			holdFound(ctx, t, s, all.Rows, text)
		}
	})
}

// holdFound compares the result with the tasks that contain the text.
func holdFound(ctx context.Context, t *testing.T, s *Service, all []Task, text string) {
	t.Helper()
	var want, got []string
	for _, one := range all {
		if strings.Contains(one.searched(), plaintext.Fold(text)) {
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

// An idle board causes no writes.
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

// Tags and titles are found in each form.
func TestForms(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := asService(t)
		found := func(f Filter) (keys string) {
			t.Helper()
			part, err := s.List(ctx, f, page.Want{})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range part.Rows {
				keys += one.Key + " "
			}
			return keys
		}
		made, err := s.Create(ctx, New{Title: "Cafe\u0301 Straße", Tags: []Tag{"GRO\u0308SSE", "größe", "ｗｅｂ"}})
		if err != nil || made.Title != "Café Straße" || !slices.Equal(made.Tags, []Tag{"grösse", "ｗｅｂ"}) {
			t.Fatalf("%+q %+q, %v", made.Title, made.Tags, err)
		}
		makeTask(t, s, "Old")
		if _, err := s.Update(ctx, "TASK-2", Change{Title: new("Cafe\u0301 alt"), Tags: &[]Tag{"gro\u0308ße"}}, nil); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []Tag{"Größe", "grösse", "GRO\u0308SSE"} {
			if got := found(Filter{Tags: []Tag{tag}}); got != "TASK-2 TASK-1 " {
				t.Errorf("the tag %+q is found at %s", tag, got)
			}
		}
		for text, want := range map[string]string{"café": "TASK-2 TASK-1 ", "CAFE\u0301": "TASK-2 TASK-1 ", "strasse": "TASK-1 ", "é alt": "TASK-2 "} {
			if got := found(Filter{Text: text}); got != want {
				t.Errorf("%+q is found at %s, want %s", text, got, want)
			}
		}
	})
}
