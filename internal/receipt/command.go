package receipt

import (
	"slices"
	"strings"
	"unicode"
)

// script is a shell command, split into simple commands.
type script struct {
	steps []step
	// plain is false if the command has constructs with which the exit status says nothing about the
	// single steps, such as loops and functions, or if it could not be parsed.
	plain             bool
	errexit, pipefail bool
}

// step is a simple command.
type step struct {
	op     string   // the operator before it: &&, ||, ;, | or &; empty for the first step
	words  []string // without quotes and redirections
	writes []string // files to which its output is redirected

	background bool // the next step does not wait for it
}

// parser splits a shell command.
type parser struct {
	in    []rune
	at    int
	out   script
	now   step
	word  strings.Builder
	open  bool     // whether word is in progress; an empty quoted word is one, too
	heres []string // delimiters of here-documents that begin after the current line
	file  bool     // whether the next word is the file of a redirection
}

// parse splits a shell command. It handles what agents usually write; anything else makes the script
// not plain.
func parse(command string) script {
	p := &parser{in: []rune(command), out: script{plain: true}}
	for p.at < len(p.in) {
		p.next()
	}
	p.endStep("")
	return p.out
}

func (p *parser) peek(n int) rune {
	if p.at+n < len(p.in) {
		return p.in[p.at+n]
	}
	return 0
}

// next reads one character, or one quoted text or operator.
func (p *parser) next() {
	r := p.in[p.at]
	p.at++
	switch {
	case r == '\\':
		if p.peek(0) != '\n' && p.peek(0) != 0 {
			p.put(p.peek(0))
		}
		p.at++
	case r == '\'':
		p.quoted('\'', false)
	case r == '"':
		p.quoted('"', true)
	case r == '`':
		p.put(r)
		p.quoted('`', true)
	case r == '$' && p.peek(0) == '(':
		p.substitution()
	case r == '#' && !p.open:
		for p.at < len(p.in) && p.in[p.at] != '\n' {
			p.at++
		}
	case r == '\n':
		p.endStep(";")
		p.skipHeres()
	case unicode.IsSpace(r):
		p.endWord()
	case r == '<' || r == '>' || r == '&' && p.peek(0) == '>':
		p.redirect(r)
	case strings.ContainsRune(";|&", r):
		p.operator(r)
	case r == '(' || r == ')':
		p.out.plain = false
		p.endWord()
	default:
		p.put(r)
	}
}

func (p *parser) put(r rune) {
	p.word.WriteRune(r)
	p.open = true
}

// quoted reads the rest of a quoted text.
func (p *parser) quoted(end rune, escapes bool) {
	p.open = true
	for p.at < len(p.in) {
		r := p.in[p.at]
		p.at++
		switch {
		case r == end:
			return
		case r == '\\' && escapes && p.at < len(p.in):
			r = p.in[p.at]
			p.at++
		}
		p.word.WriteRune(r)
	}
	p.out.plain = false
}

// substitution copies a command substitution into the current word.
func (p *parser) substitution() {
	p.put('$')
	for depth := 0; p.at < len(p.in); {
		r := p.in[p.at]
		p.at++
		p.put(r)
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return
		}
	}
	p.out.plain = false
}

func (p *parser) redirect(r rune) {
	if !p.file && strings.Trim(p.word.String(), "0123456789") == "" { // the number of a stream
		p.word.Reset()
		p.open = false
	}
	p.endWord()
	if r == '&' {
		p.at++
		r = '>'
	}
	if r == '<' {
		if p.peek(0) != '<' {
			return // the file that it reads becomes a word, which is harmless
		}
		p.at++
		if p.peek(0) == '<' { // a here-string
			p.at++
			return
		}
		p.here()
		return
	}
	for p.peek(0) == '>' || p.peek(0) == '|' {
		p.at++
	}
	if p.peek(0) == '&' { // to another stream
		for p.at++; unicode.IsDigit(p.peek(0)) || p.peek(0) == '-'; p.at++ {
		}
		return
	}
	p.file = true
}

// here notes the delimiter of a here-document.
func (p *parser) here() {
	for p.peek(0) == '-' || p.peek(0) == ' ' {
		p.at++
	}
	start := p.at
	for p.at < len(p.in) && !unicode.IsSpace(p.in[p.at]) && !strings.ContainsRune(";|&>", p.in[p.at]) {
		p.at++
	}
	p.heres = append(p.heres, strings.Trim(string(p.in[start:p.at]), `'"\`))
}

// skipHeres skips the here-documents that begin here.
func (p *parser) skipHeres() {
	for _, end := range p.heres {
		for done := false; !done; {
			start := p.at
			for p.at < len(p.in) && p.in[p.at] != '\n' {
				p.at++
			}
			done = strings.TrimSpace(string(p.in[start:p.at])) == end || p.at >= len(p.in)
			p.at = min(p.at+1, len(p.in))
		}
	}
	p.heres = nil
}

func (p *parser) operator(r rune) {
	op := string(r)
	if p.peek(0) == r {
		op += op
		p.at++
	} else if r == '|' && p.peek(0) == '&' {
		p.at++
	}
	if op == ";;" {
		p.out.plain = false
	}
	p.endStep(op)
}

func (p *parser) endWord() {
	if !p.open {
		return
	}
	w := p.word.String()
	p.word.Reset()
	p.open = false
	if p.file {
		p.now.writes, p.file = append(p.now.writes, w), false
		return
	}
	p.now.words = append(p.now.words, w)
}

// control are words that begin a construct other than a simple command, or that end the script early.
var control = []string{
	"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
	"alias", "eval", "trap", "exit", "return", "exec", "source", ".", "!", "{", "}",
}

// endStep ends the current step. The operator belongs to the next one.
func (p *parser) endStep(op string) {
	p.endWord()
	w := p.now.words
	if len(w) == 0 && len(p.now.writes) == 0 {
		continued := slices.Contains([]string{"&&", "||", "|"}, p.now.op) // on the next line
		if len(p.out.steps) > 0 && op != "" && (op != ";" || !continued) {
			p.now.op = op
		}
		return
	}
	if len(w) > 0 && slices.Contains(control, w[0]) {
		p.out.plain = false
	}
	if len(w) > 0 && w[0] == "set" {
		p.options(w[1:])
	}
	p.now.background = op == "&"
	p.out.steps = append(p.out.steps, p.now)
	p.now = step{op: op}
}

func (p *parser) options(words []string) {
	for _, w := range words {
		switch {
		case w == "pipefail":
			p.out.pipefail = true
		case strings.HasPrefix(w, "-") && strings.Contains(w, "e"):
			p.out.errexit = true
		case strings.HasPrefix(w, "+"):
			p.out.plain = false
		}
	}
}

// wrappers are programs that run the command in their arguments. The values are the number of
// arguments before it, without options.
var wrappers = map[string]int{
	"env": 0, "time": 0, "nice": 0, "nohup": 0, "sudo": 0, "command": 0, "stdbuf": 0, "xvfb-run": 0,
	"timeout": 1, "ionice": 0,
}

// withValue are options of wrappers that take a value.
var withValue = []string{"-n", "-u", "-k", "-s", "-c"}

// unwrap returns the command without variable assignments and wrappers, such as env and timeout.
func unwrap(words []string) []string {
	for len(words) > 0 {
		if isAssignment(words[0]) {
			words = words[1:]
			continue
		}
		skip, ok := wrappers[base(words[0])]
		if !ok || len(words) == 1 {
			return words
		}
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || skip > 0) {
			if !strings.HasPrefix(words[0], "-") {
				skip--
			} else if slices.Contains(withValue, words[0]) && len(words) > 1 {
				words = words[1:]
			}
			words = words[1:]
		}
	}
	return words
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(strings.ToUpper(name), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// base returns the name of a program without its folder.
func base(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }

// inner returns the script that a step passes to a shell, as in sh -c '…'.
func (s step) inner() (string, bool) {
	w := unwrap(s.words)
	if len(w) < 3 || !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, base(w[0])) {
		return "", false
	}
	for i, o := range w[1 : len(w)-1] {
		if !strings.HasPrefix(o, "-") {
			return "", false
		}
		if strings.HasSuffix(o, "c") {
			return w[i+2], true
		}
	}
	return "", false
}

// flatten parses a command. If it only passes a script to a shell, flatten parses that script.
func flatten(command string) script {
	s := parse(command)
	for range 3 {
		if len(s.steps) != 1 {
			break
		}
		within, ok := s.steps[0].inner()
		if !ok {
			break
		}
		s = parse(within)
	}
	return s
}
