package task

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Mentions are found where intended and nowhere else.
func TestMentioned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		cto, coo := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "coo", actor.Agent, true)
		// The agent's ID is found although the account has another name.
		err := d.Tx(asService(t), func(tx *db.Tx) error {
			_, err := tx.Exec(asService(t), `UPDATE users SET name = 'Chief', name_key = 'chief' WHERE id = ?`, cto.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		people := map[string]string{cto.ID: "cto", coo.ID: "coo"}
		makeUser(t, d, "gone", actor.Agent, false)
		for _, name := range []string{"ada", "Ada Lovelace", "zoë", "Bob", "o'brien", "田中", "田中 太郎", "田中太郎丸", "김철수", "สมชาย", "J. R. R. Tolkien"} {
			people[makeUser(t, d, name, actor.User, true).ID] = strings.ToLower(name)
		}
		for text, want := range map[string]string{
			"":                                     "",
			"@cto, look":                           "cto",
			"Ask @cto. And @coo: now; (@ada)":      "cto,coo,ada",
			"@ADA and @ada":                        "ada",
			"@ada lovelace did it":                 "ada lovelace",
			"@ada likes it":                        "ada",
			"@cto's and @o'brien's":                "cto,o'brien",
			"@Zoë!":                                "zoë",
			"ada@cto.example and x@cto":            "",
			`\@cto, @@cto, @`:                      "",
			"@gone and @nobody":                    "",
			"@ cto":                                "",
			"`@cto` but @coo":                      "coo",
			"``a ` @cto`` @coo":                    "coo",
			"a ` @cto":                             "cto",
			"\\`@cto\\` `x` @coo":                  "cto,coo",
			"`open\n\n@cto`":                       "cto",
			"`open\n@cto`":                         "",
			"```\n@cto\n```\n@coo":                 "coo",
			"```sh\n@cto\n``\n@cto\n````\n@coo":    "coo",
			"~~~\n@cto\n```\n@cto":                 "",
			"text\n\n    @cto\n\n    @cto\n\n@coo": "coo",
			"\t@cto\n":                             "",
			"text\n    @cto":                       "cto",
			"- item\n\n    @cto\n":                 "cto",
			"@CTO please":                          "cto",
			"@Cto, @COO: look":                     "cto,coo",
			"Ｃｃ @ＣＴＯ":                              "cto",
			"＠cto":                                 "cto",
			"@田中さん":                                "田中",
			"@田中さん、@CTOさん。":                        "田中,cto",
			"確認お願いします@田中さん":                        "田中",
			"@田中太郎丸さん":                             "田中太郎丸",
			"@田中\u3000太郎さん":                        "田中 太郎",
			"@김철수님께, @coo에게":                       "김철수,coo",
			"@สมชายครับ":                           "สมชาย",
			"＠田中さんの件ですがこちらで確認しましたところ問題は見つかりませんでしたのでご連絡いたしますよろしくお願いいたします": "田中",
			"@Ada\u00a0 Lovelace":           "ada lovelace",
			"@zoe\u0308,":                   "zoë",
			"@j. r. r. tolkien's":           "j. r. r. tolkien",
			"田中@example.com 田中@cto.example": "",
			"https://social.example/@cto www.x.example/@cto medium.com/@cto [a](/u/@cto) <https://cto@coo.example>": "",
			"https://x.example/a @cto, and/@coo":        "cto,coo",
			"1. item\n\n    @cto\n\nText\n\n    @coo\n": "cto",
		} {
			ids, err := mentioned(t.Context(), d, text)
			names := []string{}
			for _, id := range ids {
				names = append(names, people[id])
			}
			if got := strings.Join(names, ","); err != nil || ids == nil || got != want {
				t.Errorf("%q mentions %q, %v; want %q", text, got, err, want)
			}
		}
		// A long text causes only a few queries.
		for _, text := range []string{strings.Repeat("@cto", 2500), strings.Repeat("@ada b c ", 1100), strings.Repeat("@x-.", 2500)} {
			if ids, err := mentioned(t.Context(), d, text); err != nil || len(ids) > 1 {
				t.Errorf("%.20q…: %q, %v", text, ids, err)
			}
		}
	})
}

// No text makes the parser hang or return names that it does not contain.
func FuzzCalls(f *testing.F) {
	for _, text := range []string{"@cto", "`@a`", "```\n@b", "\\@c", "@ä.-_ b c d", strings.Repeat("`", 100) + "@x", "@'’'", "    @c\n- x\n\n    @d", "＠田中さん@x.y/@z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := mentionCandidates(text)
		if len(found) > maxCalls {
			t.Fatalf("%d calls", len(found))
		}
		for _, names := range found {
			if len(names) == 0 || !slices.IsSortedFunc(names, func(a, b string) int { return len(b) - len(a) }) {
				t.Fatalf("names are %q", names)
			}
			for _, name := range names {
				if name == "" || !strings.Contains(text, "@"+name) && !strings.Contains(text, "＠"+name) || utf8.ValidString(text) && !utf8.ValidString(name) {
					t.Fatalf("%q is not in %q", name, text)
				}
			}
		}
	})
}

// Unclosed backticks do not make the scan quadratic.
func TestWithoutCodeIsFast(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := 1; b.Len() < 1<<20; n++ {
		b.WriteString(strings.Repeat("`", n%150+1) + "x")
	}
	begin := time.Now()
	mentionCandidates(b.String())
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("a text of 1 MiB took %s", took)
	}
}
