package archive

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// redacted returns the text that replaces a secret of the given kind.
func redacted(kind string) string { return "[masked:" + kind + "]" }

// pattern recognizes one form of secret. docs/sessions.md lists all forms.
type pattern struct {
	kind  string
	hints []string // every match contains one of them; cheaper to search for
	text  *regexp.Regexp
	group int // submatch that is the secret; 0 means the whole match
	// is, if not nil, reports whether the match really is a secret.
	is func(value string) bool
}

// edge matches where a secret may begin: at a word boundary, after an underscore, or after an
// escape sequence that ends in a letter. Tool output is often raw JSON, in which line breaks appear
// as \n. It can also contain color codes, which the gateway's client shortens to "[31m".
const edge = `(?:\b|_|\\[nrtbf]|\[[0-9;]*m)`

// quote matches an optional quotation mark, escaped any number of times, as in
// JSON within JSON.
const quote = "(?:\\\\{0,7}[\"'\x60])?"

// patterns returns a pattern for each known form of secret. A pattern for a vendor's keys requires
// the documented prefix and at least the length of the vendor's shortest key.
func patterns() []pattern {
	p := func(kind, text string, group int, hints ...string) pattern {
		if rest, ok := strings.CutPrefix(text, `\b`); ok {
			if text = edge + rest; group == 0 {
				text, group = edge+`(`+rest+`)`, 1
			}
		}
		return pattern{kind: kind, hints: hints, text: regexp.MustCompile(text), group: group}
	}
	return append(vendors(p), worded(p)...)
}

// maker compiles a pattern. If the expression begins with \b, maker replaces the \b with edge.
type maker func(kind, text string, group int, hints ...string) pattern

// worded returns the patterns that recognize a secret by a word that precedes it, such as
// "password".
func worded(p maker) []pattern {
	named := p("secret", `(?i)([a-z0-9_.-]*(?:api[_-]?key|apikey|secret|token|credentials?|(?:access|account|auth|encryption|private|signing)[_-]?key|session[_-]?id))`+quote+`\s*(?::=|=>|[:=]|\s+is\s+|\s)\s*`+quote+`([A-Za-z0-9+/_.~$!@#%^&*=-]{16,})`, 2,
		"key", "Key", "KEY", "ecret", "ECRET", "oken", "OKEN", "redential", "REDENTIAL", "ession", "ESSION")
	named.is = random
	password := p("password", `(?i)(?:pass(?:word|wd|phrase)|`+edge+`pwd|`+edge+`pass)`+quote+`\s*(?::=|=>|[:=])\s*`+quote+`((?:[^\s"'\x60<>,;(){}\[\]|\\]|\\[^\snrt"'\x60\\]){6,})`, 1,
		"pass", "Pass", "PASS", "pwd", "Pwd", "PWD")
	password.is = chosen
	variable := p("secret", `\b[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|SECRET_KEY|TOKEN|API_KEY)=`+quote+`((?:[^\s"'\x60<>,;(){}\[\]|&\\]|\\[^\snrt"'\x60\\]){6,})`, 1, "PASS", "SECRET", "TOKEN", "KEY")
	variable.is = func(v string) bool { return !reference(v) && !strings.HasPrefix(v, "=") && entropy(v) >= 2 }
	option := p("password", `(?i)\s--?(?:[a-z]+-)*(?:password|passwd|passphrase|token|secret|api-?key)[=\s]\s*`+quote+`([^\s"'\x60<>,;(){}\[\]|-][^\s"'\x60<>,;(){}\[\]|]{5,})`, 1, "-")
	option.is = func(v string) bool { return chosen(v) && strings.ContainsFunc(v, unicode.IsDigit) }
	login := p("password", `\bcurl\s[^\n|;]*?-(?:u|-user)[=\s]?\s*`+quote+`[^\s:"'\x60\\]+:([^\s"'\x60\\]{3,})`, 1, "curl")
	login.is = func(v string) bool { return !reference(v) }
	cookie := p("cookie", `(?i)`+edge+`(?:set-)?cookie`+quote+`\s*:\s*`+quote+`([^\s"'\x60=]+=[^\r\n"'\x60\\]{8,})`, 1, "ookie", "OOKIE")
	return []pattern{named, password, variable, option, login, cookie}
}

// vendors returns the patterns that recognize a secret by its format, such as a vendor's prefix.
func vendors(p maker) []pattern {
	further := p("vendor_key", `\b(?:gsk_|xai-|pplx-|r8_|lin_api_|ntn_|shp(?:at|ss|ca|pa)_|figd_|tskey-|sntrys_|hv[sb]\.|ATATT3|PMAK-|dckr_pat_|AGE-SECRET-KEY-1|dapi)[A-Za-z0-9_.=-]{16,}`, 0,
		"gsk_", "xai-", "pplx-", "r8_", "lin_api_", "ntn_", "shp", "figd_", "tskey-", "sntrys_", "hvs.", "hvb.", "ATATT3", "PMAK-", "dckr_pat_", "AGE-SECRET", "dapi")
	further.is = random
	return []pattern{
		p("private_key", `-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`, 0, "PRIVATE KEY"),
		p("jwt", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, 0, "eyJ"),
		p("url_password", `\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'<>]{0,200}:([^\s/"'<>]{1,200})@`, 1, "://"),
		p("wardroom_key", `\bwrk_[A-Za-z0-9_-]{8,}`, 0, "wrk_"),
		p("anthropic_key", `\bsk-ant-[A-Za-z0-9_-]{16,}`, 0, "sk-ant-"),
		p("openai_key", `\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`, 0, "sk-"),
		p("stripe_key", `\b(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,})`, 0, "_live_", "_test_", "whsec_"),
		p("github_token", `\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`, 0, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		p("gitlab_token", `\bgl(?:pat|dt|ptt|soat|rt|ft|imt|agent|oas)-[A-Za-z0-9_=.-]{16,}`, 0, "glpat-", "gldt-", "glptt-", "glsoat-", "glrt-", "glft-", "glimt-", "glagent-", "gloas-"),
		p("slack_token", `\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})|hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}`, 0, "xox", "xapp-", "hooks.slack.com"),
		p("aws_key", `\b(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}\b`, 0, "AKIA", "ASIA", "AROA", "AIDA", "AGPA", "ANPA", "ANVA", "ABIA", "ACCA"),
		p("google_key", `\b(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})`, 0, "AIza", "ya29.", "GOCSPX-"),
		p("npm_token", `\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,})`, 0, "npm_", "pypi-"),
		p("sendgrid_key", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, 0, "SG."),
		p("huggingface_token", `\bhf_[A-Za-z0-9]{20,}`, 0, "hf_"),
		p("digitalocean_token", `\bdo[opr]_v1_[a-f0-9]{32,}`, 0, "_v1_"),
		p("telegram_token", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33,35}\b`, 0, ":AA"),
		p("bearer", `(?i)`+edge+`bearer\s+([A-Za-z0-9._~+/-]{8,}=*)`, 1, "earer", "EARER"),
		p("basic", `(?i)authorization`+quote+`\s*[:=]\s*`+quote+`basic\s+([A-Za-z0-9+/]{8,}=*)`, 1, "asic", "ASIC"),
		further,
	}
}

// truncatedSecret matches an incomplete secret at the end of truncated text.
const truncatedSecret = edge + `(?:sk-|sk_|rk_|wrk_|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]-|AKIA|ASIA|AIza|eyJ|npm_|hf_|SG\.|ya29\.)[A-Za-z0-9._-]*\z`

// redactor replaces secrets in text. Create one with newRedactor. It is safe for concurrent use.
type redactor struct {
	patterns  []pattern
	truncated *regexp.Regexp
	name      *regexp.Regexp // names of JSON members whose values are always secrets
}

func newRedactor() *redactor {
	return &redactor{
		patterns: patterns(), truncated: regexp.MustCompile(truncatedSecret),
		name: regexp.MustCompile(`(?i)^(?:.*[_.-])?(?:pass(?:word|wd|phrase)?|pwd|secret|client[_-]?secret|api[_-]?key|apikey|x-api-key|access[_-]?token|refresh[_-]?token|auth[_-]?token|private[_-]?key|authorization|cookie|set-cookie)$`),
	}
}

// Redactor returns a function that replaces the recognized secrets in a text.
func Redactor() func(text string) string {
	m := newRedactor()
	return func(text string) string { return m.text(text, false) }
}

// text redacts the recognized secrets in a text. If the text was truncated, it may end
// with part of a secret, which is redacted too.
func (m *redactor) text(text string, truncated bool) string {
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
		from, to := at[2*p.group], at[2*p.group+1]
		for to > from && text[to-1] == '\\' { // it escapes the quotation mark after the secret
			to--
		}
		value := text[from:to]
		if from < done || strings.Contains(value, "[masked:") || strings.HasPrefix(text[from:], "[masked:") || p.is != nil && !p.is(value) {
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

// json redacts a JSON document. It redacts string values like other text, but replaces the whole
// value of a member whose name indicates a secret. Input that is not JSON is redacted as text.
func (m *redactor) json(text string) string {
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

func (m *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v, false)
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if m.name.MatchString(name) {
				e = redactValue(e)
			}
			out[m.text(name, false)] = m.value(e)
		}
		return out
	default:
		return v
	}
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
	for _, start := range []string{"$", "{", "<", "%", "*", "/", "./", "~/", "http://", "https://", "process.env", "os.", "env.", "var.", "file:", "vault:", "secretKeyRef"} {
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

// chosen reports whether a value may be a password rather than an ordinary
// word.
func chosen(v string) bool {
	return !reference(v) && classes(v) >= 2 && entropy(v) >= 2
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
