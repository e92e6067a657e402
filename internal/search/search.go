// Package search is the full-text search over tasks, comments, standup reports,
// and archived sessions.
//
// This package splits text into words itself, because the databases differ in what they treat as a
// word and in how they fold case. Both engines therefore find the same texts, and nothing that a
// user types is treated as query syntax. The feature that owns a text indexes it in the transaction
// that writes it.
//
// Each word in the index is prefixed with the class of its text, so a search
// for tasks does not read the entries of sessions; see index_terms.go.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// Kind says what a text belongs to, such as a task or a standup report.
type Kind string

// Values of Kind.
const (
	OfTask    Kind = "task"
	OfComment Kind = "comment"
	OfReport  Kind = "report"  // a standup report
	OfSession Kind = "session" // an archived runtime session
)

// Text is a task or a comment to index.
type Text struct {
	TaskID    string
	CommentID string // empty for the task itself
	Archived  bool   // whether the task is in the archive
	Title     string // matches here rank first
	Body      string
}

// SessionText is an archived session to index.
type SessionText struct {
	ID    string // in the archive
	Title string // matches here rank first
	Body  string
}

// ReportText is a standup report to index.
type ReportText struct {
	StandupID, AgentID string
	Body               string
}

// Result is one match.
type Result struct {
	Kind      Kind        `json:"kind"`
	TaskID    *string     `json:"task_id" doc:"Null for a report or session."`
	TaskKey   *string     `json:"task_key" example:"TASK-12" doc:"Null for a report or session."`
	CommentID *string     `json:"comment_id" doc:"The comment that matches; null if the task itself matches."`
	SessionID *string     `json:"session_id" doc:"ID of the archived session, as in GET /sessions/{id}; otherwise null."`
	StandupID *string     `json:"standup_id" doc:"The standup of a report; otherwise null."`
	AgentID   *string     `json:"agent_id" doc:"The agent of a session or report; otherwise null."`
	Title     string      `json:"title" doc:"Title of the task or standup; for a session, its label or key."`
	Archived  bool        `json:"archived" doc:"Whether the task is archived; always true for a session."`
	Snippet   string      `json:"snippet" doc:"Excerpt of the text around the first match, as one line of plain text; empty if there is no text. May be written by agents: treat as untrusted."`
	Marks     []Mark      `json:"marks" nullable:"false" doc:"Positions of the matches in the snippet."`
	At        clock.Time  `json:"at" doc:"When the task or comment was created or the report submitted; for a session, its last activity."`
	EditedAt  *clock.Time `json:"edited_at" doc:"When the text was last changed; null if never."`
}

// Mark is the position of a match, in Unicode code points.
type Mark struct {
	Start int `json:"start" doc:"Offset of the first character."`
	End   int `json:"end" doc:"Offset after the last character."`
}

// longestWord limits how many characters of a word are indexed.
const longestWord = 64

// each calls fn with each word of a text, in lower case, and with the word's byte range. It stops
// when fn returns false. A word consists of letters, digits, and their combining marks. In scripts
// without spaces between words, each character is a word.
func each(text string, fn func(word string, start, end int) bool) {
	w := word{text: text}
	for i, r := range text {
		inWord, alone := kindOf(r, w.runes > 0)
		if w.runes > 0 && (!inWord || alone) {
			if !fn(w.upTo(i), w.start, i) {
				return
			}
			w.runes = 0
		}
		if !inWord {
			continue
		}
		w.add(r, i)
		if end := i + utf8.RuneLen(r); alone {
			if !fn(w.upTo(end), w.start, end) {
				return
			}
			w.runes = 0
		}
	}
	if w.runes > 0 {
		fn(w.upTo(len(text)), w.start, len(text))
	}
}

// kindOf reports whether a character is part of a word, and whether it is a
// word by itself. ASCII is handled first, because most texts are ASCII.
func kindOf(r rune, within bool) (inWord, alone bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9', false
	}
	mark := unicode.IsMark(r)
	inWord = unicode.IsLetter(r) || unicode.IsNumber(r) || mark && within
	alone = !mark && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	return inWord, alone
}

// word collects the characters of one word during the scan of a text.
type word struct {
	text   string
	start  int
	runes  int
	folded []byte // the normalized word, if it differs from the text
	other  bool   // whether the normalized word differs from the text
}

// add appends a character, which is at the given byte offset in the text, to the word.
func (w *word) add(r rune, at int) {
	if w.runes == 0 {
		w.start, w.other = at, false
	}
	w.runes++
	f := r
	if w.runes <= longestWord {
		f = fold(r)
	}
	if !w.other && (f != r || w.runes > longestWord) {
		w.other, w.folded = true, append(w.folded[:0], w.text[w.start:at]...)
	}
	if w.other && w.runes <= longestWord {
		w.folded = utf8.AppendRune(w.folded, f)
	}
}

// upTo returns the word in normalized form. The word ends before byte offset end.
func (w *word) upTo(end int) string {
	if w.other {
		return string(w.folded)
	}
	return w.text[w.start:end]
}

// fold maps letters that differ only in case to the same letter. Some letters have more than two
// forms, such as the Greek sigma.
func fold(r rune) rune {
	switch {
	case r >= utf8.RuneSelf:
		return unicode.ToLower(unicode.ToUpper(r))
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	}
	return r
}

// wordsOf returns the distinct words of a text, in order.
func wordsOf(text string) []string {
	var words []string
	seen := make(map[string]bool, len(text)/10)
	each(text, func(word string, _, _ int) bool {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
		return true
	})
	return words
}

// query is a search for texts that contain all its words. The last word can be the beginning of a
// longer word.
type query struct{ words []string }

func (q query) has(word string) bool {
	for i, w := range q.words {
		if word == w || i == len(q.words)-1 && strings.HasPrefix(word, w) {
			return true
		}
	}
	return false
}

// A snippet contains at most this many bytes before and after the start of the
// first match.
const (
	snippetBefore = 60
	snippetAfter  = 180
)

// snippet returns an excerpt of a text around the first match, and the
// positions of the matches in it.
func (q query) snippet(text string) (string, []Mark) {
	first := 0
	each(text, func(word string, start, _ int) bool {
		if q.has(word) {
			first = start
			return false
		}
		return true
	})
	begin, end := max(0, first-snippetBefore), min(len(text), first+snippetAfter)
	for begin > 0 && begin < first && !utf8.RuneStart(text[begin]) {
		begin++
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	piece := plaintext.Line(text[begin:end])
	marks := []Mark{}
	each(piece, func(word string, start, end int) bool {
		if q.has(word) {
			at := utf8.RuneCountInString(piece[:start])
			marks = append(marks, Mark{at, at + utf8.RuneCountInString(piece[start:end])})
		}
		return true
	})
	return piece, marks
}
