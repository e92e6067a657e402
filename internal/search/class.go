package search

import (
	"slices"
	"strings"

	"wardroom/internal/platform/db"
)

// class says what kind of text a word is in. Its letters are in front of the word
// in the index, so they are part of the stored data and must not change.
type class struct {
	kind     Kind
	archived bool
	anywhere string // in front of every word of the text
	title    string // in front of the words of the title once more; empty for texts without one
}

// classes are all classes.
var classes = []class{
	{OfTask, false, "a", "b"},
	{OfTask, true, "c", "d"},
	{OfComment, false, "e", ""},
	{OfComment, true, "f", ""},
	{OfReport, false, "g", ""},
	{OfSession, true, "h", "i"},
}

func classOf(kind Kind, archived bool) class {
	return classes[slices.IndexFunc(classes, func(c class) bool { return c.kind == kind && c.archived == archived })]
}

// tokens are the words of a text as the index has them, with a space between them.
func (c class) tokens(title, body string) []string {
	heads := wordsOf(title)
	all := make([]string, 0, 3*len(heads)+len(body)/10)
	for _, w := range heads {
		all = append(all, c.title+w)
	}
	for _, w := range wordsOf(title + "\n" + body) {
		all = append(all, c.anywhere+w)
	}
	return all
}

// prefixes are what is in front of the words of those texts that o takes: of their
// titles, or of everything in them.
func (o Only) prefixes(titles bool) (all []string) {
	for _, c := range classes {
		if o.Archived != nil && *o.Archived != c.archived || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, c.kind) {
			continue
		}
		if !titles {
			all = append(all, c.anywhere)
		} else if c.title != "" {
			all = append(all, c.title)
		}
	}
	return all
}

// match is a search in the language of an engine: texts of any of the classes that
// have all the words, of which endings are the possible last ones by class. Without
// an entry there, the last word is matched as the beginning of a word.
func (q query) match(engine db.Engine, prefixes []string, endings map[string][]string) string {
	quote, and, or, begins := `"`, ` AND `, ` OR `, `*`
	if engine == db.Postgres {
		quote, and, or, begins = `'`, ` & `, ` | `, `:*`
	}
	alternatives := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		parts := make([]string, len(q.words))
		for i, w := range q.words {
			parts[i] = quote + prefix + w + quote
		}
		last := &parts[len(parts)-1]
		terms, known := endings[prefix]
		switch {
		case known && len(terms) == 0: // no text of this class has it
			continue
		case known:
			*last = `(` + quote + strings.Join(terms, quote+or+quote) + quote + `)`
		default:
			*last += begins
		}
		alternatives = append(alternatives, `(`+strings.Join(parts, and)+`)`)
	}
	return strings.Join(alternatives, or)
}
