package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"wardroom/internal/platform/plaintext"
)

const (
	// longestWord limits how many characters of a word are indexed.
	longestWord = 64
	// gramRunes is the maximum length of the sequences of characters that are indexed in scripts
	// without spaces between words. SQLite's prefix index covers shorter ones.
	gramRunes = 3
)

// group is a sequence of characters without spaces or punctuation, in the form of plaintext.Fold. It is
// either a word, or a run: a sequence of characters of a script without spaces between words.
type group struct {
	run        bool
	text       []byte
	start, end int    // range of bytes in the original text
	chars      []char // of a run
}

// char is a character of a run.
type char struct {
	at         int // offset in the run's text
	start, end int // range of bytes in the original text
}

// each calls fn with each group of a text. It stops when fn returns false. The group is valid only
// during the call.
func each(text string, fn func(*group) bool) {
	var g group
	normal := 0 // the text up to here is in NFKC, so that each character can be folded by itself
	for i := 0; i < len(text); {
		if i >= normal {
			normal = i + norm.NFKC.QuickSpanString(text[i:])
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if i < normal && !joins(text[i+size:]) {
			if f, ok := foldRune(r); ok {
				if !g.add(f, i, i+size, fn) {
					return
				}
				i += size
				continue
			}
		}
		for size = segment(text[i:]); joins(text[i+size:]); {
			size += segment(text[i+size:])
		}
		for _, f := range plaintext.FoldPart(text[i : i+size]) {
			if !g.add(f, i, i+size, fn) {
				return
			}
		}
		i += size
	}
	if len(g.text) > 0 {
		fn(&g)
	}
}

// joins reports whether the first character of text can change the form of the one before it.
func joins(text string) bool {
	if text == "" || ' ' <= text[0] && text[0] <= '~' { // in most cases
		return false
	}
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsMark(r) || invisible(r)
}

// segment returns the length of the first character of text with its marks, and with what an invisible
// character separates from it.
func segment(text string) int {
	size := max(norm.NFKC.NextBoundaryInString(text, true), 1)
	for size < len(text) {
		if r, _ := utf8.DecodeLastRuneInString(text[:size]); !invisible(r) {
			break
		}
		size += max(norm.NFKC.NextBoundaryInString(text[size:], true), 1)
	}
	return size
}

func invisible(r rune) bool { return plaintext.Hidden(r) && !plaintext.Blank(r) }

// add appends a character to the group, or, if it does not belong to the group, calls fn and begins another group.
// It returns false if fn does.
func (g *group) add(r rune, start, end int, fn func(*group) bool) bool {
	in, run := kindOf(r)
	if r < utf8.RuneSelf && in && !g.run && len(g.text) > 0 { // in most cases
		g.text, g.end = append(g.text, byte(r)), end
		return true
	}
	if r >= utf8.RuneSelf && unicode.IsMark(r) {
		in, run = len(g.text) > 0, g.run
	}
	if len(g.text) > 0 && (!in || run != g.run) {
		if !fn(g) {
			return false
		}
		g.text, g.chars = g.text[:0], g.chars[:0]
	}
	if !in {
		return true
	}
	if len(g.text) == 0 {
		g.run, g.start = run, start
	}
	if g.end = end; run {
		g.chars = append(g.chars, char{len(g.text), start, end})
	}
	g.text = utf8.AppendRune(g.text, r)
	return true
}

// foldRune returns the form of a character in a text in NFKC, if it is one of those that most texts consist of.
func foldRune(r rune) (rune, bool) {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A', true
	case r < utf8.RuneSelf:
		return r, r >= ' ' && r != '\u007f' || plaintext.Blank(r)
	case r == 'ß' || r == 'İ' || r == 'ı' || r == 'ǰ' || r == 'ΐ' || r == 'ΰ': // become several, or another letter
		return 0, false
	case r < 0x530: // Latin, Greek, and Cyrillic
		return unicode.ToLower(unicode.ToUpper(r)), unicode.IsLetter(r)
	}
	const first, last, filler = 'ぁ', '\uFEFF', '\u3164' // of Chinese, Japanese, and Korean; the filler is invisible
	return r, first <= r && r <= last && r != filler && unicode.Is(unicode.Lo, r)
}

// kindOf reports whether a character can be part of a group, and whether it belongs to a script without
// spaces between words. ASCII is handled first, because most texts are ASCII.
func kindOf(r rune) (in, run bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9', false
	}
	const prolonged = 'ー' // belongs to two scripts
	run = r == prolonged ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
			unicode.Khmer, unicode.Myanmar)
	return unicode.In(r, unicode.L, unicode.N, unicode.M), run
}

// word returns the characters of a word that are indexed.
func (g *group) word() []byte {
	if len(g.text) <= longestWord {
		return g.text
	}
	end := 0
	for range longestWord {
		_, size := utf8.DecodeRune(g.text[end:])
		end += size
	}
	return g.text[:end]
}

// part returns up to n characters of a run, from number i on.
func (g *group) part(i, n int) []byte {
	if i+n >= len(g.chars) {
		return g.text[g.chars[i].at:]
	}
	return g.text[g.chars[i].at:g.chars[i+n].at]
}

// wordsOf returns the distinct terms by which a text is indexed, in order: its words, and of a run, the
// up to gramRunes characters that begin at each of its characters.
func wordsOf(text string) []string {
	var words []string
	seen := make(map[string]bool, len(text)/10)
	add := func(term []byte) {
		if !seen[string(term)] {
			word := string(term)
			seen[word] = true
			words = append(words, word)
		}
	}
	each(text, func(g *group) bool {
		if !g.run {
			add(g.word())
		}
		for i := range g.chars {
			add(g.part(i, gramRunes))
		}
		return true
	})
	return words
}

// query is a search for texts that contain all its words and runs. If its last part is a word, that can
// be the beginning of a longer one.
type query struct {
	terms []term   // what a text in the index must have; the last word of the query is the last term
	words []term   // what is marked in texts, like runs
	runs  []string // distinct
	loose bool     // the terms also match texts that have a run only in pieces
}

// term is a term in the index. If begins is true, longer terms that begin with it match as well.
type term struct {
	text   string
	begins bool
}

// parse returns the query for what a user has typed.
func parse(text string) (q query) {
	ends := false // with a word
	each(plaintext.Fold(text), func(g *group) bool {
		if ends = !g.run; ends {
			word := term{string(g.word()), false}
			q.words = append(slices.DeleteFunc(q.words, func(w term) bool { return w == word }), word)
			return true
		}
		q.runs = append(q.runs, string(g.text))
		q.loose = q.loose || len(g.chars) > gramRunes
		for i := 0; i == 0 || i+gramRunes <= len(g.chars); i++ {
			if t := (term{string(g.part(i, gramRunes)), len(g.chars) < gramRunes}); !slices.Contains(q.terms, t) {
				q.terms = append(q.terms, t)
			}
		}
		return true
	})
	if ends {
		q.words[len(q.words)-1].begins = true
	}
	q.terms = append(q.terms, q.words...)
	return q
}

// matches returns the places in a group that match q, as ranges of bytes in the original text.
func (q query) matches(g *group) (places []char) {
	if !g.run {
		for _, w := range q.words {
			if word := string(g.word()); word == w.text || w.begins && strings.HasPrefix(word, w.text) {
				return []char{{0, g.start, g.end}}
			}
		}
		return nil
	}
	for i, c := range g.chars {
		for _, run := range q.runs {
			if !bytes.HasPrefix(g.text[c.at:], []byte(run)) {
				continue
			}
			end := g.chars[i+utf8.RuneCountInString(run)-1].end
			if n := len(places); n > 0 && c.start <= places[n-1].end { // adjacent places are one
				places[n-1].end = max(places[n-1].end, end)
			} else {
				places = append(places, char{0, c.start, end})
			}
		}
	}
	return places
}

// hasRuns reports whether a text contains all runs of q.
func (q query) hasRuns(text string) bool {
	missing := slices.Clone(q.runs)
	each(text, func(g *group) bool {
		if g.run {
			missing = slices.DeleteFunc(missing, func(run string) bool { return strings.Contains(string(g.text), run) })
		}
		return len(missing) > 0
	})
	return len(missing) == 0
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
	each(text, func(g *group) bool {
		places := q.matches(g)
		if len(places) > 0 {
			first = places[0].start
		}
		return len(places) == 0
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
	each(piece, func(g *group) bool {
		for _, p := range q.matches(g) {
			at := utf8.RuneCountInString(piece[:p.start])
			marks = append(marks, Mark{at, at + utf8.RuneCountInString(piece[p.start:p.end])})
		}
		return true
	})
	return piece, marks
}
