package task

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/db"
)

// Limits on mentions. A comment can mention maxMentions users, and at most maxCalls of its "@" signs are looked up. A
// name has at most maxNameWords words and maxNameRunes characters.
const (
	maxMentions  = 20
	maxCalls     = 50
	maxNameWords = 3
	maxNameRunes = 100
)

// mentionCandidates returns the names that each "@" in the text may refer to,
// longest first. Each name is either an agent ID or one to three words. Code in
// the text is ignored.
func mentionCandidates(markdown string) [][]string {
	text := withoutCode(markdown)
	var found [][]string
	for at := 0; len(found) < maxCalls; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		// An @ within a word belongs to an email, and a backslash escapes it.
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); i > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before) || unicode.IsMark(before) || strings.ContainsRune(`_-+\@`, before)) {
			continue
		}
		if names := namesAt(text[at:]); len(names) > 0 {
			found = append(found, names)
		}
	}
	return found
}

// namesAt returns the prefixes of the text that may be names, longest first.
func namesAt(text string) (names []string) {
	runes := 0
	for end, words := 0, 0; words < maxNameWords; words++ {
		start := end
		if words > 0 {
			if !strings.HasPrefix(text[end:], " ") {
				break
			}
			start++
		}
		word := text[start:]
		if stop := strings.IndexFunc(word, func(r rune) bool { return !inName(r) }); stop >= 0 {
			word = word[:stop]
		}
		if runes += utf8.RuneCountInString(word); word == "" || runes > maxNameRunes {
			break
		}
		end = start + len(word)
		// Try the name without trailing punctuation, too.
		for name := text[:end]; ; name = name[:len(name)-1] {
			names = append([]string{name}, names...)
			if last := name[len(name)-1]; last != '.' && last != '-' && last != '_' || len(name) == 1 || len(names) > 2*maxNameWords {
				break
			}
		}
		// For "cto's", try "cto", too.
		if i := strings.LastIndexAny(text[:end], "'’"); i > start {
			names = append(names, text[:i])
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}

// inName reports whether a character may occur in an agent ID or in a word of a
// name.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_.-'’", r)
}

// withoutCode removes the code from a Markdown text, because a name in code is
// not a mention. It recognizes the kinds of code in CommonMark: fenced blocks,
// indented blocks, and code spans. A code span cannot extend beyond its
// paragraph.
func withoutCode(markdown string) string {
	var out, paragraph strings.Builder
	fence, listed, blank := "", false, true
	flush := func() {
		out.WriteString(withoutSpans(paragraph.String()))
		paragraph.Reset()
	}
	for line := range strings.Lines(markdown) {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		mark := fenceOf(trimmed)
		switch {
		case fence != "":
			if mark != "" && strings.HasPrefix(mark, fence) && mark == trimmed {
				fence = ""
			}
			continue
		case mark != "" && (indent < 4 || listed):
			flush()
			out.WriteByte('\n')
			fence, blank = mark, true
			continue
		case trimmed == "":
			flush()
			blank = true
		case blank && !listed && (indent >= 4 || line[0] == '\t'):
			continue // an indented block, which may contain blank lines
		default:
			if blank && indent == 0 {
				listed = false
			}
			listed = listed || isItem(trimmed)
			blank = false
		}
		paragraph.WriteString(line)
	}
	flush()
	return out.String()
}

// fenceOf returns the backticks or tildes with which a line opens or closes a fenced block. It
// returns "" for other lines.
func fenceOf(line string) string {
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, sign)
		if n := len(line) - len(rest); n >= 3 && (sign == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// isItem reports whether a line begins a list item. Indented lines within an
// item are text, not code.
func isItem(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if len(rest) < len(line) {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}

// withoutSpans removes code spans from a paragraph. A code span is the text
// between two runs of backticks of the same length. A run of backticks without
// a matching run is ordinary text.
func withoutSpans(text string) string {
	var out strings.Builder
	unclosed := map[int]bool{} // lengths of runs that do not occur again
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '`':
			out.WriteByte('\n') // ends a name
			i += 2
		case text[i] != '`':
			out.WriteByte(text[i])
			i++
		default:
			n := runOf(text[i:])
			end := -1
			if !unclosed[n] {
				end = closing(text[i+n:], n)
			}
			if end < 0 {
				unclosed[n] = true
				end = 0
			}
			out.WriteByte('\n') // ends a name
			i += n + end
		}
	}
	return out.String()
}

func runOf(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// closing returns the offset just after the next run of exactly n backticks, or
// -1 if there is no such run.
func closing(text string, n int) int {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		run := runOf(text[at+i:])
		if at += i + run; run == n {
			return at
		}
	}
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
			meant := names[strings.ToLower(name)]
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
// candidates. It ignores the case of names, and returns at most maxMentions
// accounts per name.
func namedAccounts(ctx context.Context, q db.Queryer, candidates []string) (agents map[string]string, names map[string][]string, err error) {
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	// Pad to a power of two, so that the database prepares few different
	// statements.
	for n := len(candidates); n&(n-1) != 0; n++ {
		candidates = append(candidates, candidates[0])
	}
	agents, names = map[string]string{}, map[string][]string{}
	var exact, lower []any
	for _, c := range candidates {
		exact, lower = append(exact, c), append(lower, strings.ToLower(c))
	}
	marks := `?` + strings.Repeat(`, ?`, len(exact)-1)
	rows, err := q.Query(ctx, `
		SELECT id, agent_id, name_key FROM users WHERE active AND agent_id IN (`+marks+`)
		UNION SELECT id, agent_id, name_key FROM users WHERE active AND name_key IN (`+marks+`)
		ORDER BY id LIMIT 1000`, append(exact, lower...)...)
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
