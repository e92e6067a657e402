// Package search finds tasks, comments, reports of standups and archived sessions
// by the words in them.
//
// The words are made here and not by the databases, whose ideas of a word and
// of its small letters differ: so both engines find the same, and nothing that
// a caller types is syntax to them. Whoever owns a text puts it here in the
// transaction that writes it.
//
// The index has each word with the class of its text in front, so a search for
// tasks does not read what it says of sessions (class.go).
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// Kind says what was found.
type Kind string

// The kinds.
const (
	OfTask    Kind = "task"
	OfComment Kind = "comment"
	OfReport  Kind = "report"  // of a standup
	OfSession Kind = "session" // of the runtime, in the archive
)

// Text is what can be searched for: that of a task, or of one of its comments.
type Text struct {
	TaskID    string
	CommentID string // empty is the task itself
	Archived  bool   // whether the task is in the archive
	Title     string // what is found first
	Body      string
}

// SessionText is what an archived session can be searched for.
type SessionText struct {
	ID    string // of the archive
	Title string // what is found first
	Body  string
}

// ReportText is what a report of a standup can be searched for.
type ReportText struct {
	StandupID, AgentID string
	Body               string
}

// Result is one text that was found.
type Result struct {
	Kind      Kind        `json:"kind" enum:"task,comment,report,session"`
	TaskID    *string     `json:"task_id" doc:"Null for a report or a session."`
	TaskKey   *string     `json:"task_key" example:"TASK-12" doc:"Null for a report or a session."`
	CommentID *string     `json:"comment_id" doc:"The comment that has the words; null when the task has them itself."`
	SessionID *string     `json:"session_id" doc:"The id of the archived session, as in GET /sessions/{id}; null for anything else."`
	StandupID *string     `json:"standup_id" doc:"The standup whose report it is; null for anything else."`
	AgentID   *string     `json:"agent_id" doc:"Whose session or report it is; null for a task or a comment."`
	Title     string      `json:"title" doc:"Of the task, or of the report's standup; of a session its label, or else its key."`
	Archived  bool        `json:"archived" doc:"Whether the task is in the archive. A session that is found always is."`
	Snippet   string      `json:"snippet" doc:"A piece of the text, around the first word that was found in it; plain text on one line, and empty when there is no text. Agents write it: never trust it."`
	Marks     []Mark      `json:"marks" nullable:"false" doc:"Where the words are in the snippet."`
	At        clock.Time  `json:"at" doc:"When the task or the comment was made, or the report given; of a session, when anything last happened in it."`
	EditedAt  *clock.Time `json:"edited_at" doc:"When it was last changed; null when it never was."`
}

// Mark is the place of a word, in characters (code points).
type Mark struct {
	Start int `json:"start" doc:"How many characters are before it."`
	End   int `json:"end" doc:"How many characters are before its end."`
}

// longestWord is how many characters of a word count.
const longestWord = 64

// each calls fn with every word of a text, in small letters, and with where it
// is, in bytes, until fn returns false. A word is letters, digits and the marks on
// them. Scripts without blanks between words have each character as a word.
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

// kindOf tells whether a character is part of a word, and whether it is one by
// itself. Most texts are ASCII, and every text that is written comes by here.
func kindOf(r rune, within bool) (inWord, alone bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9', false
	}
	mark := unicode.IsMark(r)
	inWord = unicode.IsLetter(r) || unicode.IsNumber(r) || mark && within
	alone = !mark && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	return inWord, alone
}

// word is one that is being read.
type word struct {
	text   string
	start  int
	runes  int
	folded []byte // what it is when that is not as it stands in the text
	other  bool   // whether it is not
}

// add takes the next character, which is at a place in the text.
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

// upTo is the word, which ends before a place in the text.
func (w *word) upTo(end int) string {
	if w.other {
		return string(w.folded)
	}
	return w.text[w.start:end]
}

// fold makes one letter of those that differ only in case; some scripts have
// more than two, such as the two small sigmas.
func fold(r rune) rune {
	switch {
	case r >= utf8.RuneSelf:
		return unicode.ToLower(unicode.ToUpper(r))
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	}
	return r
}

// wordsOf are the different words of a text, in their order.
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

// query is what somebody looks for: texts that have all the words, and a word
// that begins with the last.
type query struct{ words []string }

func (q query) has(word string) bool {
	for i, w := range q.words {
		if word == w || i == len(q.words)-1 && strings.HasPrefix(word, w) {
			return true
		}
	}
	return false
}

// The length of a snippet, in bytes before and after the first word.
const (
	snippetBefore = 60
	snippetAfter  = 180
)

// snippet cuts a piece out of a text, around the first word that q has.
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
