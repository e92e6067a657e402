package task

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// Limits on mentions. A comment can mention maxMentions users, and at most maxCalls of its "@" signs are looked up. A
// name has at most maxNameWords words and maxNameRunes characters. In scripts without spaces, a name has at most
// maxRunRunes characters of a word.
const (
	maxMentions  = 20
	maxCalls     = 50
	maxNameWords = 5
	maxNameRunes = 100
	maxRunRunes  = 20
)

// address matches web addresses, which can contain an "@" that mentions no one.
var address = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.|(?:[a-z0-9-]+\.)+[a-z]{2,}/)[!-~]*|\]\([^)\s]*\)`)

// domain matches the part of an email after the "@".
var domain = regexp.MustCompile(`^[\pL\pN-]+(\.[\pL\pN-]+)*\.\pL{2,}`)

// mentionCandidates returns the names that each "@" in the text may refer to,
// longest first. Each name is either an agent ID or one to maxNameWords words. Code
// and web addresses in the text are ignored.
func mentionCandidates(markdown string) [][]string {
	text := address.ReplaceAllString(withoutCode(markdown), "\n")
	var found [][]string
	for at := 0; len(found) < maxCalls; {
		i := strings.IndexAny(text[at:], "@＠")
		if i < 0 {
			break
		}
		i += at
		_, size := utf8.DecodeRuneInString(text[i:])
		at = i + size
		if isMention(text[:i], text[at:]) {
			if names := namesAt(text[at:]); len(names) > 0 {
				found = append(found, names)
			}
		}
	}
	return found
}

// isMention reports whether the "@" between two texts begins a mention. An "@" within a word belongs
// to an email, and a backslash escapes it. In scripts without spaces, a word can end before the "@".
func isMention(text, after string) bool {
	before, _ := utf8.DecodeLastRuneInString(text)
	switch {
	case text == "":
		return true
	case unspaced(before):
		return !domain.MatchString(after)
	}
	return !unicode.In(before, unicode.L, unicode.Nd, unicode.M) && !strings.ContainsRune(`_-+\@＠`, before)
}

// namesAt returns the prefixes of the text that may be names, longest first.
func namesAt(text string) (names []string) {
	runes := 0
	for end, words := 0, 0; words < maxNameWords; words++ {
		start := end
		if words > 0 {
			rest := strings.TrimLeftFunc(text[end:], func(r rune) bool { return plaintext.Blank(r) && !unicode.IsControl(r) })
			if start = len(text) - len(rest); start == end {
				break
			}
		}
		word := text[start:]
		if stop := strings.IndexFunc(word, func(r rune) bool { return !inName(r) }); stop >= 0 {
			word = word[:stop]
		}
		if word == "" {
			break
		}
		names = appendRuns(names, text, start, start+len(word))
		if runes += utf8.RuneCountInString(word); runes > maxNameRunes {
			break
		}
		end = start + len(word)
		names = appendEnds(names, text[:end], start)
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(names)
}

// appendEnds appends the names that a text may be whose last word begins at start: all of it, without trailing
// punctuation, and for "cto's", "cto".
func appendEnds(names []string, text string, start int) []string {
	names = append(names, text)
	for most := 3; most > 0 && len(text) > start+1 && strings.ContainsRune(".-_", rune(text[len(text)-1])); most-- {
		text = text[:len(text)-1]
		names = append(names, text)
	}
	if i := strings.LastIndexAny(text, "'’"); i > start {
		names = append(names, text[:i])
	}
	return names
}

// appendRuns appends the parts of a text, from its beginning, that end within the word from start to end where a
// script without spaces begins, goes on, or ends. For "田中さん", one of them is "田中".
func appendRuns(names []string, text string, start, end int) []string {
	before, n := rune(0), 0
	for i, r := range text[start:end] {
		if i > 0 && !unicode.IsMark(r) && (unspaced(before) || unspaced(r)) {
			if n++; n > maxRunRunes {
				break
			}
			names = append(names, text[:start+i])
		}
		before = r
	}
	return names
}

// unspaced reports whether a character belongs to a script in which a name can be followed by other letters.
func unspaced(r rune) bool {
	return r >= utf8.RuneSelf && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// inName reports whether a character may occur in an agent ID or in a word of a
// name.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_.-'’", r)
}

// markdownParser is safe for concurrent use.
var markdownParser = goldmark.DefaultParser()

// withoutCode returns a Markdown text with a line break in place of its code, because a name in code is not a mention.
func withoutCode(markdown string) string {
	source := []byte(markdown)
	var out strings.Builder
	at := 0
	cut := func(code ...text.Segment) {
		for _, c := range code {
			out.Write(source[at:c.Start])
			out.WriteByte('\n')
			at = c.Stop
		}
	}
	_ = ast.Walk(markdownParser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			if n.Info != nil {
				cut(n.Info.Segment)
			}
			cut(n.Lines().Sliced(0, n.Lines().Len())...)
		case *ast.CodeBlock:
			cut(n.Lines().Sliced(0, n.Lines().Len())...)
		case *ast.Text:
			if n.Parent().Kind() == ast.KindCodeSpan {
				cut(n.Segment)
			}
		}
		return ast.WalkContinue, nil
	})
	out.Write(source[at:])
	return out.String()
}

// mentioned returns the IDs of the active accounts that a text mentions, in
// order of appearance and without duplicates. If several accounts have the same
// name, it returns all of them.
func mentioned(ctx context.Context, q db.Queryer, markdown string) ([]string, error) {
	found := mentionCandidates(markdown)
	if len(found) == 0 {
		return []string{}, nil
	}
	agents, names, err := namedAccounts(ctx, q, slices.Concat(found...))
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, call := range found {
		for _, name := range call {
			name = plaintext.Fold(name)
			meant := names[name]
			if id, ok := agents[name]; ok {
				meant = []string{id}
			}
			for _, id := range meant {
				if !slices.Contains(ids, id) && len(ids) < maxMentions {
					ids = append(ids, id)
				}
			}
			if len(meant) > 0 {
				break
			}
		}
	}
	return ids, nil
}

// namedAccounts finds the active accounts whose agent_id or name is among the
// candidates, in the form of plaintext.Fold. It returns at most maxMentions
// accounts per name.
func namedAccounts(
	ctx context.Context, q db.Queryer, candidates []string,
) (agents map[string]string, names map[string][]string, err error) {
	folded := anys(candidates, func(name string) any { return plaintext.Fold(name) })
	// Pad to a power of two, so that the database prepares few different
	// statements.
	for n := len(folded); n&(n-1) != 0; n++ {
		folded = append(folded, folded[0])
	}
	agents, names = map[string]string{}, map[string][]string{}
	rows, err := q.Query(ctx, `
		SELECT id, agent_id, name_key FROM users WHERE active AND agent_id `+in(folded)+`
		UNION SELECT id, agent_id, name_key FROM users WHERE active AND name_key `+in(folded)+`
		ORDER BY id LIMIT 1000`, slices.Concat(folded, folded)...)
	_, err = db.All(rows, err, func(row db.Row) (id string, err error) {
		var agentID *string
		var name string
		if err = row.Scan(&id, &agentID, &name); err != nil {
			return id, err
		}
		if agentID != nil {
			agents[*agentID] = id
		}
		if len(names[name]) < maxMentions {
			names[name] = append(names[name], id)
		}
		return id, nil
	})
	return agents, names, err
}
