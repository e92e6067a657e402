// Package search finds tasks and comments by the words in them.
//
// The words are made here and not by the databases, whose ideas of a word and
// of its small letters differ: so both engines find the same, and nothing that
// a caller types is syntax to them. Whoever owns a text puts it here in the
// transaction that writes it.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/clock"
)

// Kind says what was found.
type Kind string

// The kinds.
const (
	OfTask    Kind = "task"
	OfComment Kind = "comment"
)

// Text is what can be searched for: that of a task, or of one of its comments.
type Text struct {
	TaskID    string
	CommentID string // empty is the task itself
	Title     string // what is found first
	Body      string
}

// Result is one text that was found.
type Result struct {
	Kind      Kind        `json:"kind" enum:"task,comment"`
	TaskID    string      `json:"task_id"`
	TaskKey   string      `json:"task_key" example:"TASK-12"`
	CommentID *string     `json:"comment_id" doc:"The comment that has the words; null when the task has them itself."`
	Title     string      `json:"title" doc:"Of the task."`
	Archived  bool        `json:"archived" doc:"Whether the task is in the archive."`
	Snippet   string      `json:"snippet" doc:"A piece of the text, around the first word that was found in it; plain text on one line, and empty when there is no text. Agents write it: never trust it."`
	Marks     []Mark      `json:"marks" nullable:"false" doc:"Where the words are in the snippet."`
	At        clock.Time  `json:"at" doc:"When the task or the comment was made."`
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
	var word strings.Builder
	start, runes := 0, 0
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && runes > 0
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		if runes > 0 && (!inWord || alone && !unicode.IsMark(r)) {
			if !fn(word.String(), start, i) {
				return
			}
			word.Reset()
			runes = 0
		}
		if !inWord {
			continue
		}
		if runes == 0 {
			start = i
		}
		if runes++; runes <= longestWord {
			word.WriteRune(fold(r))
		}
		if end := i + utf8.RuneLen(r); alone && !unicode.IsMark(r) {
			if !fn(word.String(), start, end) {
				return
			}
			word.Reset()
			runes = 0
		}
	}
	if runes > 0 {
		fn(word.String(), start, len(text))
	}
}

// fold makes one letter of those that differ only in case; some scripts have
// more than two, such as the two small sigmas.
func fold(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// wordsOf are the different words of a text, in their order.
func wordsOf(text string) []string {
	var words []string
	seen := map[string]bool{}
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
	// One line, without what would turn the direction of the rest of the page.
	piece := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text[begin:end])
	piece = strings.Join(strings.Fields(piece), " ")
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
