package search

import (
	"slices"
	"strings"

	"wardroom/internal/platform/db"
)

// class is a group of texts that have the same kind and are either all archived or all not
// archived. Each word in the index is prefixed with the letters of its class, so the letters are
// part of the stored data and must not change.
type class struct {
	kind     Kind
	archived bool
	anywhere string // prefix of every word of the text
	title    string // second prefix for the words of the title; empty for texts without one
}

// classes lists all classes of texts in the index.
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

// tokens returns the terms of a text as stored in the index.
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

// prefixes returns the index prefixes of the classes that the filter selects. If titles is true,
// they are the prefixes for words in titles; otherwise, those for words anywhere in a text.
func (f Filter) prefixes(titles bool) (all []string) {
	for _, c := range classes {
		if f.Archived != nil && *f.Archived != c.archived || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, c.kind) {
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

// match returns a search expression in the engine's syntax. It finds the texts that
// have all terms of q and belong to a class with one of the given prefixes. If endings has an
// entry for a class, the last term matches only the terms listed there.
func (q query) match(engine db.Engine, prefixes []string, endings map[string][]string) string {
	quote, and, or, begins := `"`, ` AND `, ` OR `, `*`
	if engine == db.Postgres {
		quote, and, or, begins = `'`, ` & `, ` | `, `:*`
	}
	alternatives := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		parts := make([]string, len(q.terms))
		for i, t := range q.terms {
			parts[i] = quote + prefix + t.text + quote
			if t.begins {
				parts[i] += begins
			}
		}
		terms, known := endings[prefix]
		switch {
		case known && len(terms) == 0: // no text of this class matches
			continue
		case known:
			parts[len(parts)-1] = `(` + quote + strings.Join(terms, quote+or+quote) + quote + `)`
		}
		alternatives = append(alternatives, `(`+strings.Join(parts, and)+`)`)
	}
	return strings.Join(alternatives, or)
}
