package search

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/plaintext"
)

// The marks cover what was found, in each Unicode form and in scripts without spaces.
func TestMarks(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"café", "Un cafe\u0301, deux CAFÉS", "café|CAFÉS"},
		{"cafe\u0301", "le café noir", "café"},
		{"cafe\u0301 noir", "le café noir", "café|noir"},
		{"각", "\u1100\u1161\u11a8 x", "각"},
		{"日本", "本日、日本語の本 日本日本", "日本|日本日本"},
		{"日本 日本語", "日本語", "日本語"},
		{"東京都庁", "東京都と京都庁、東京都庁", "東京都庁"},
		{"ガイド", "ｶﾞｲﾄﾞ表", "ｶﾞｲﾄﾞ"},
		{"サーバー", "サーバーの設定", "サーバー"},
		{"fi", "ﬁnance", "ﬁnance"},
		{"株", "㈱山田", "㈱"},
		{"ก่อน", "มาก่อนเวลา", "ก่อน"},
		{"strasse", "Die Straße", "Straße"},
		{"istanbul", "İSTANBUL", "İSTANBUL"},
		{"خواهم", "می\u200cخواهم، خواهم", "خواهم"},
	} {
		piece, marks := parse(c[0]).snippet(c[1])
		var got []string
		for _, m := range marks {
			got = append(got, string([]rune(piece)[m.Start:m.End]))
		}
		if strings.Join(got, "|") != c[2] {
			t.Errorf("%+q marks %q in %q, want %q", c[0], got, piece, c[2])
		}
	}
}

// The index has the same form of each character as everything else that is compared.
func TestFoldRune(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		f, ok := foldRune(r)
		if ok && norm.NFKC.IsNormalString(string(r)) && plaintext.FoldPart(string(r)) != string(f) && !unicode.IsSpace(r) && !unicode.IsControl(r) {
			t.Errorf("%U becomes %U, want %+q", r, f, plaintext.FoldPart(string(r)))
		}
	}
	for _, text := range []string{"a\x00b", "a\x7fb\x1bc", "a\nb\tc\rd\x0be"} {
		if got, want := wordsOf(text), wordsOf(plaintext.Fold(text)); !slices.Equal(got, want) {
			t.Errorf("%q is indexed by %q, and folded by %q", text, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("aİIiı\u0307é\u0301ßΣς日ｶﾞ\u1100\u1161가-\u200cة")))).Draw(rt, "text")
		if got, want := wordsOf(text), wordsOf(plaintext.Fold(text)); !slices.Equal(got, want) {
			rt.Fatalf("%+q is indexed by %+q, and folded by %+q", text, got, want)
		}
	})
}

// Texts are found in each Unicode form, and in scripts without spaces only if the characters are adjacent
// and in order.
func TestFindInAnyScript(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d}
		add(t, d, 1, "日本の予算", "東京都庁へ")
		add(t, d, 2, "cafe\u0301 au lait", "\u1109\u1165\u110b\u116e\u11af 회의")
		add(t, d, 3, "Café noir", "서울 회의, Ｗｅｂ １２")
		for i := range 25 {
			add(t, d, 10+i, "本日の会議", "会議は本日。東京都と京都庁")
		}
		for text, want := range map[string]string{
			"日本": "1", "日 本": "34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15", "日本の": "1", "本の予算": "1", "予算": "1", "の予": "1", "日本 予算": "1", "日本会議": "",
			"東京都庁": "1", "東京都庁へ 日本": "1", "京都": "34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15", "庁へ": "1", "都庁 東京": "34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15",
			"café": "3 2", "cafe\u0301": "3 2", "CAFÉ": "3 2", "café lait": "2", "caf": "3 2",
			"서울": "3 2", "\u1109\u1165\u110b\u116e\u11af": "3 2", "서울 회의": "3 2", "web": "3", "12": "12 3", "ｗｅｂ": "3",
		} {
			if got := found4(t, s, text); got != want {
				t.Errorf("%+q (%s) finds %q, want %q", text, text, got, want)
			}
		}
		// A session is found by all of its key, although its label is its title, and a comment not by its task's title.
		addSession(t, d, 9, "Budget", "")
		comment := db.NewID()
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			const key, body = "agent:cto:年度末予算", "日本の、本の予、の予算"
			var id, task string
			err := tx.QueryRow(t.Context(), `SELECT s.id, t.id FROM archive_sessions s, tasks t WHERE t.number = 1`).Scan(&id, &task)
			if err == nil {
				_, err = tx.Exec(t.Context(), `UPDATE archive_sessions SET session_key = ?`, key)
			}
			if err == nil {
				_, err = tx.Exec(t.Context(), `INSERT INTO comments (id, task_id, author_name, body, mentions, created_at, version) VALUES (?, ?, 'U', ?, '[]', ?, 1)`, comment, task, body, monday)
			}
			if err == nil {
				err = Add(t.Context(), tx, Text{TaskID: task, CommentID: comment, Body: body})
			}
			if err == nil {
				err = PutSession(t.Context(), tx, SessionText{ID: id, Title: "Budget " + key})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := s.Find(t.Context(), "年度末予算", Filter{}, 10); err != nil || len(list) != 1 || list[0].Kind != OfSession {
			t.Errorf("by its key: %+v, %v", list, err)
		}
		if list, err := s.Find(t.Context(), "日本の予算", Filter{Kinds: []Kind{OfComment}}, 10); err != nil || len(list) != 0 {
			t.Errorf("by its task's title: %+v, %v", list, err)
		}
	})
}
