// Package redact replaces secrets in texts: keys, passwords and tokens in the forms that
// docs/sessions.md lists.
package redact

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// redacted returns the text that replaces a secret of the given kind.
func redacted(kind string) string { return "[masked:" + kind + "]" }

// truncatedSecret matches an incomplete secret at the end of truncated text.
const truncatedSecret = edge + `(?:sk-|sk_|rk_|wrk_|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]-|AKIA|ASIA|AIza|eyJ|npm_|hf_|SG\.|ya29\.)[A-Za-z0-9._-]*\z`

// Redactor replaces secrets in text. Create one with New. It is safe for concurrent use.
type Redactor struct {
	patterns  []pattern
	truncated *regexp.Regexp
	name      *regexp.Regexp // names of JSON members whose values are always secrets
	tools     map[string]tool
	option    *regexp.Regexp // names of options whose values are secrets
}

// New returns a Redactor for all known forms of secrets.
func New() *Redactor { return compiled() }

// compiled compiles the expressions once, which takes about 10 ms.
var compiled = sync.OnceValue(func() *Redactor {
	return &Redactor{
		patterns: patterns(), truncated: regexp.MustCompile(truncatedSecret),
		name:  regexp.MustCompile(`(?i)^(?:.*[_.-])?(?:pass(?:word|wd|phrase)?|pwd|secret(?:[_-]?key)?|client[_-]?secret|api[_-]?key|apikey|x-api-key|access[_-]?token|refresh[_-]?token|auth[_-]?token|private[_-]?key|client-key-data|dockerconfigjson|dockercfg|identitytoken|registrytoken|session[_-]?token|bearer[_-]?token|authorization|cookie|set-cookie|[A-Z_]*(?-i:PASSWORD|PGPASSWORD|SSHPASS|MYSQL_PWD))$`),
		tools: tools(), option: regexp.MustCompile(`^--?(?:[a-z0-9]+-)*(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|secret-key|access-key|auth|creds|credentials|storepass|keypass)$`),
	}
})

// Text redacts the recognized secrets in a text.
func (m *Redactor) Text(text string) string { return m.text(text, false) }

// Truncated is like Text for a truncated text, which may end with part of a secret.
func (m *Redactor) Truncated(text string) string { return m.text(text, true) }

// text redacts the recognized secrets in a text. If the text was truncated, it may end
// with part of a secret, which is redacted too.
func (m *Redactor) text(text string, truncated bool) string {
	text = m.commands(text)
	for _, p := range m.patterns {
		text = p.redact(text)
	}
	if truncated {
		text = m.truncated.ReplaceAllString(text, redacted("cut_off"))
	}
	return text
}

// redact replaces the secrets in text that the pattern matches.
func (p pattern) redact(text string) string {
	if !p.near(text) {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range p.text.FindAllStringSubmatchIndex(text, -1) {
		var from, to int
		if p.group == after {
			if at[1] < done {
				continue
			}
			from, to = valueAt(text, at[1])
		} else {
			if from, to = at[2*p.group], at[2*p.group+1]; to < len(text) && text[to] == '(' &&
				identifier.MatchString(text[from:to]) {
				continue // a call
			}
		}
		for to > from && text[to-1] == '\\' { // it escapes the quotation mark after the secret
			to--
		}
		value := text[from:to]
		if from < done || from == to || strings.Contains(value, "[masked:") || strings.HasPrefix(text[from:], "[masked:") ||
			p.is != nil && !p.is(value) {
			continue
		}
		b.WriteString(text[done:from])
		b.WriteString(redacted(p.kind))
		done = to
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func (p pattern) near(text string) bool {
	for _, h := range p.hints {
		if strings.Contains(text, h) {
			return true
		}
	}
	return false
}

// JSON redacts a JSON document. It redacts string values like other text, but replaces the whole
// value of a member whose name indicates a secret. Input that is not JSON is redacted as text.
func (m *Redactor) JSON(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return m.text(text, false)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(m.value(v)) != nil {
		return m.text(text, false)
	}
	return strings.TrimSpace(b.String())
}

func (m *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v, false)
	case []any:
		m.arguments("", v)
		for i := range v {
			v[i] = m.value(v[i])
		}
		return v
	case map[string]any:
		m.command(v)
		out := make(map[string]any, len(v))
		for name, e := range v {
			if m.name.MatchString(name) || ambiguous(name, e) {
				e = redactValue(e)
			}
			out[m.text(name, false)] = m.value(e)
		}
		return out
	default:
		return v
	}
}

// command redacts the arguments in an object that holds a program and its arguments, and the value in an object that
// holds the name and the value of a variable.
func (m *Redactor) command(v map[string]any) {
	for _, name := range []string{"command", "cmd", "program", "executable", "file"} {
		program, _ := v[name].(string)
		for _, list := range []string{"args", "arguments", "argv"} {
			if args, ok := v[list].([]any); ok {
				m.arguments(program, args)
			}
		}
	}
	for _, name := range []string{"name", "key"} {
		if s, ok := v[name].(string); ok && v["value"] != nil && m.name.MatchString(s) {
			v["value"] = redactValue(v["value"])
		}
	}
}

// ambiguous reports whether a member is a secret by its name and its value together: its name is auth or token, which
// can also mean other things.
func ambiguous(name string, v any) bool {
	s, _ := v.(string)
	switch strings.ToLower(strings.TrimLeft(name, "_-")) {
	case "auth":
		return pair(s) || random(s)
	case "token", "id-token", "id_token":
		return len(s) >= 8 && chosen(s) && !strings.ContainsAny(s, " \n")
	}
	return false
}

// redactValue redacts the value of a JSON member whose name indicates a secret.
func redactValue(v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && !strings.HasPrefix(v, "[masked:") && !reference(v) {
			return redacted("secret")
		}
	case json.Number:
		return redacted("secret")
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	}
	return v
}

// reference reports whether a value only refers to a secret, as a variable or a path does.
func reference(v string) bool {
	if len(v) > 2 && v[0] == '%' && (v[len(v)-1] == '%' || v[1] == '{') || strings.Trim(v, "*") == "" || v == "%s" ||
		v == "%v" {
		return v != ""
	}
	for _, start := range []string{
		"$", "{", "<", "/", "./", "~/", "http://", "https://", "process.env", "os.", "env.", "var.", "file:", "vault:",
		"secretKeyRef",
	} {
		if strings.HasPrefix(v, start) {
			return true
		}
	}
	return false
}

// random reports whether a value looks machine-generated, which means that it has digits, several
// character classes, and high entropy.
func random(v string) bool {
	return !reference(v) && classes(v) >= 2 && strings.ContainsFunc(v, unicode.IsDigit) && entropy(v) >= 3.2
}

// chosen reports whether a value may be a password rather than an ordinary word, also at the beginning of a sentence.
func chosen(v string) bool {
	if rest := v[min(1, len(v)):]; rest == strings.ToLower(rest) {
		v = strings.ToLower(v)
	}
	return !reference(v) && classes(v) >= 2 && entropy(v) >= 2
}

// valueAt returns where the value that begins at i begins and ends. A value in quotation marks, which may be escaped
// any number of times, ends at the closing one; another ends at white space, or before the next member or the end of
// a list.
func valueAt(text string, i int) (from, to int) {
	if from, to, _ = quotedAt(text, i); to >= 0 {
		return from, to
	}
	for to = i; to < len(text) && to-i < maxValue; to++ {
		switch c := text[to]; {
		case c <= ' ' || strings.IndexByte("\"'`<>", c) >= 0:
			return i, to
		case c == '\\' && to+1 < len(text) && strings.IndexByte("nrt\"'`\\", text[to+1]) >= 0:
			return i, to
		case strings.IndexByte(")]}|", c) >= 0:
			return i, to
		case (c == '(' || c == '[' || c == '{') && (to == i || identifier.MatchString(text[i:to])):
			return i, i // a call or an expression, not a value
		case (c == ',' || c == ';' || c == '&') && nextMember.MatchString(text[to+1:min(len(text), to+1+maxName)]):
			return i, to
		}
	}
	for to > i && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return i, to
}

const (
	maxValue = 2 << 10 // so that the search for many values without an end takes linear time
	maxName  = 40
)

var (
	identifier = regexp.MustCompile(`^[A-Za-z_$][\w$.]*$`)
	// nextMember matches what follows the separator after a value: nothing, white space, or the name of the next member.
	nextMember = regexp.MustCompile(`^(?:$|[\s"'\\)\]}]|[\w .-]{1,30}[=:])`)
)

// quotedAt returns the inside of the text in quotation marks that begins at i, and the position after it. The quotation
// marks may be escaped any number of times. If there is no closing one, to is negative.
func quotedAt(text string, i int) (from, to, next int) {
	open := i
	for open < len(text) && open-i < 7 && text[open] == '\\' {
		open++
	}
	if open == len(text) || strings.IndexByte("\"'`", text[open]) < 0 {
		return i, -1, i
	}
	depth, slashes := open-i, 0
	for to = open + 1; to < len(text) && to-i < maxValue && text[to] != '\n'; to++ {
		switch {
		case text[to] == '\\':
			slashes++
			continue
		case text[to] == text[open] && slashes <= depth:
			return open + 1, to - slashes, to + 1
		}
		slashes = 0
	}
	return i, -1, i
}

// classes returns how many of these classes of characters a text contains: lowercase letters,
// uppercase letters, digits, and all others.
func classes(v string) int {
	var has [4]bool
	for _, r := range v {
		switch {
		case unicode.IsLower(r):
			has[0] = true
		case unicode.IsUpper(r):
			has[1] = true
		case unicode.IsDigit(r):
			has[2] = true
		default:
			has[3] = true
		}
	}
	n := 0
	for _, h := range has {
		if h {
			n++
		}
	}
	return n
}

// entropy returns the Shannon entropy of a text in bits per character.
func entropy(v string) float64 {
	counts := map[rune]float64{}
	total := 0.0
	for _, r := range v {
		counts[r]++
		total++
	}
	bits := 0.0
	for _, n := range counts {
		bits -= n / total * math.Log2(n/total)
	}
	return bits
}
