package tree_test

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const retiredFile = "testdata/retired_phrases.txt"

// retired is one line of testdata/retired_phrases.txt.
type retired struct {
	phrase, instead string
	part            string // what a text must contain, in lower case: found much faster than match
	match           *regexp.Regexp
}

// text is a string that a user may read, with its place in the sources.
type text struct {
	place string // path:line
	words string
}

// notTexts are files and folders without texts of Wardroom: what the demo's agents say,
// words to compare reports with, and generated files.
func notTexts() []string {
	return []string{
		"internal/gateway/demo", "internal/app/demo_fill.go", "internal/app/demo_jobs.go", "internal/app/demo_plans.go", "internal/app/demo_script.go", "internal/app/demo_work.go",
		"internal/standup/answer", "internal/schema",
		"web/node_modules", "web/dist", "web/e2e", "web/openapi",
	}
}

// keptTexts are texts that must not change, because databases store them as keys.
func keptTexts() []string { return []string{"close standups that nobody ran"} }

// A retired phrase must not return to a screen, an error or a help text.
func TestRetiredPhrases(t *testing.T) {
	t.Parallel()
	list := readRetired(t)
	texts := append(goTexts(t), screenTexts(t)...)
	if len(list) < 50 || len(texts) < 4000 {
		t.Fatalf("read %d phrases and %d texts; the test no longer finds them all", len(list), len(texts))
	}
	for _, text := range texts {
		words := normalized(text.words)
		if slices.Contains(keptTexts(), words) {
			continue
		}
		lower := strings.ToLower(words)
		for _, r := range list {
			if strings.Contains(lower, r.part) && r.match.MatchString(words) {
				t.Errorf("%s: %.160q contains %q; write instead: %s", text.place, words, r.phrase, r.instead)
			}
		}
	}
}

// readRetired reads the list of retired phrases.
func readRetired(t *testing.T) []retired {
	t.Helper()
	file, err := os.Open(retiredFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []retired
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		phrase, instead, found := strings.Cut(line, "=>")
		phrase, instead = strings.TrimSpace(phrase), strings.TrimSpace(instead)
		if !found || phrase == "" || instead == "" || seen[phrase] {
			t.Fatalf("%s:%d is a duplicate, or not of the form: phrase => what to write instead", retiredFile, n)
		}
		seen[phrase] = true
		list = append(list, retired{phrase, instead, strings.ToLower(strings.Trim(phrase, `"`)), matcher(phrase)})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// matcher returns the expression that finds a phrase in a text.
func matcher(phrase string) *regexp.Regexp {
	if whole, err := strconv.Unquote(phrase); err == nil {
		return regexp.MustCompile("^" + regexp.QuoteMeta(whole) + `\.?$`)
	}
	return regexp.MustCompile(`(?i)(^|[^\pL\pN_])` + regexp.QuoteMeta(phrase) + `($|[^\pL\pN_])`)
}

// normalized returns a text with single spaces and straight apostrophes.
func normalized(words string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(words), " "), "’", "'")
}

// sources calls read with each file below the folders that ends in one of the suffixes.
func sources(t *testing.T, folders []string, read func(path, name string)) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
			switch skip := slices.Contains(notTexts(), name); {
			case e.IsDir() && skip:
				return filepath.SkipDir
			case !e.IsDir() && !skip:
				read(path, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// goTexts returns the string literals of all Go files except tests: errors, help texts,
// log messages, API descriptions and prompts.
func goTexts(t *testing.T) []text {
	t.Helper()
	var texts []text
	sources(t, []string{"cmd", "internal", "web"}, func(path, name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "test/") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		joined := map[ast.Node]bool{} // parts of a sum that was read as one text
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok || joined[n] {
				return true
			}
			if words, ok := literal(e, joined); ok && strings.Contains(words, " ") { // else it is a code
				texts = append(texts, text{fmt.Sprintf("%s:%d", name, files.Position(n.Pos()).Line), words})
			}
			return true
		})
	})
	return texts
}

// literal returns the value of a string literal, or of a sum with one, whose other
// operands become an ellipsis. It adds the parts of a sum to joined.
func literal(e ast.Expr, joined map[ast.Node]bool) (words string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		words, err := strconv.Unquote(e.Value)
		return words, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		for _, part := range []ast.Expr{e.X, e.Y} {
			w, isText := literal(part, joined)
			if !isText {
				w = "…"
			}
			joined[part] = isText
			words, ok = words+w, ok || isText
		}
		return words, ok
	}
	return "", false
}

// screenTexts returns the string literals of the dashboard's TypeScript files, which
// include all texts on screens (web/src/texts).
func screenTexts(t *testing.T) []text {
	t.Helper()
	var texts []text
	sources(t, []string{"web/src"}, func(path, name string) {
		if !strings.HasSuffix(name, ".ts") || strings.HasSuffix(name, ".test.ts") || strings.HasSuffix(name, ".d.ts") {
			return
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scriptStrings(string(source)) {
			if !strings.HasPrefix(name, "web/src/texts/") && !strings.Contains(s.words, " ") {
				continue // a code, not a text
			}
			texts = append(texts, text{fmt.Sprintf("%s:%d", name, s.line), s.words})
		}
	})
	return texts
}

type scriptString struct {
	line  int
	words string
}

// script matches the tokens of TypeScript that matter to scriptStrings: comments, regular
// expressions after an operator, and strings. Templates are handled by scriptStrings.
var script = regexp.MustCompile(`(?s)^(?://[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")`)

var scriptPattern = regexp.MustCompile(`^/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*`)

// scriptStrings returns the strings and templates of a TypeScript source. In a template,
// each expression becomes an ellipsis; strings inside the expression follow separately.
func scriptStrings(source string) []scriptString {
	var found []scriptString
	line, before := 1, byte('(')
	for i := 0; i < len(source); {
		rest := source[i:]
		length := 1
		switch token := script.FindString(rest); {
		case token != "":
			length = len(token)
			if token[0] != '/' {
				found = append(found, scriptString{line, unescape(token[1 : len(token)-1])})
				before = 'a'
			}
		case rest[0] == '`':
			words, inner, n := template(rest)
			found = append(found, scriptString{line, unescape(words)})
			for _, s := range inner {
				found = append(found, scriptString{line + s.line - 1, s.words})
			}
			length, before = n, 'a'
		case rest[0] == '/' && strings.IndexByte("(,=:[!&|?{};\n>", before) >= 0:
			length = max(1, len(scriptPattern.FindString(rest)))
			before = 'a'
		case strings.IndexByte(" \t\n", rest[0]) < 0:
			before = rest[0]
		}
		line += strings.Count(rest[:length], "\n")
		i += length
	}
	return found
}

// template reads a template at the start of source. It returns its text, the strings of
// its expressions and its length.
func template(source string) (words string, inner []scriptString, length int) {
	var b strings.Builder
	for i := 1; i < len(source); i++ {
		switch {
		case source[i] == '`':
			return b.String(), inner, i + 1
		case source[i] == '\\' && i+1 < len(source):
			b.WriteString(source[i : i+2])
			i++
		case strings.HasPrefix(source[i:], "${"):
			end := i + 2
			for depth := 1; end < len(source) && depth > 0; end++ {
				switch source[end] {
				case '{':
					depth++
				case '}':
					depth--
				case '`':
					_, _, n := template(source[end:])
					end += n - 1
				case '\'', '"':
					end += max(1, len(script.FindString(source[end:]))) - 1
				}
			}
			line := strings.Count(source[:i], "\n")
			for _, s := range scriptStrings(source[i+2 : max(i+2, end-1)]) {
				inner = append(inner, scriptString{line + s.line, s.words})
			}
			b.WriteString("…")
			i = end - 1
		default:
			b.WriteByte(source[i])
		}
	}
	return b.String(), inner, len(source)
}

// unescape removes the backslashes of a TypeScript string.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\'`, `'`, `\"`, `"`, "\\`", "`").Replace(s)
}

func TestRetiredPhrasesMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phrase, words string
		want          bool
	}{
		{"nobody", "Nobody knows.", true},
		{"nobody", "nobody@example.com", true},
		{"nobody", "nobodys", false},
		{"went well", "It went\n  well.", true},
		{`"Course"`, "Course", true},
		{`"Course"`, "Of course", false},
		{"gateway's", "the gateway’s log", true},
	} {
		if got := matcher(c.phrase).MatchString(normalized(c.words)); got != c.want {
			t.Errorf("%q in %q: %t, want %t", c.phrase, c.words, got, c.want)
		}
	}
	const source = "import { a } from './a' // it's\n/* don't\n*/ export const t = { x: 'one', y: `two ${n === 1 ? 'three' : `four ${m}`} five`,\n  z: s.replace(/['\"]/g, \"six\"), w: 6 / 2 + 'it\\'s' }"
	var got []string
	for _, s := range scriptStrings(source) {
		got = append(got, fmt.Sprint(s.line, " ", s.words))
	}
	want := []string{"1 ./a", "3 one", "3 two … five", "3 three", "3 four …", "4 six", "4 it's"}
	if !slices.Equal(got, want) {
		t.Errorf("strings are %q, want %q", got, want)
	}
}
