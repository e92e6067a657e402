package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern recognizes one form of secret. docs/sessions.md lists all forms.
type pattern struct {
	kind  string
	hints []string // every match contains one of them; cheaper to search for
	text  *regexp.Regexp
	group int // submatch that is the secret; 0 means the whole match, and after the value that follows the match
	// is, if not nil, reports whether the match really is a secret.
	is func(value string) bool
}

// after as a group means that the secret is the value that follows the match.
const after = -1

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
	return slices.Concat(vendors(p), worded(p), filed(p))
}

// maker compiles a pattern. If the expression begins with \b, maker replaces the \b with edge.
type maker func(kind, text string, group int, hints ...string) pattern

// vendors returns the patterns that recognize a secret by its format, such as a vendor's prefix.
func vendors(p maker) []pattern {
	further := p("vendor_key", `\b(?:`+strings.ReplaceAll(strings.Join(vendorPrefixes, "|"), ".", `\.`)+`)[A-Za-z0-9_.=-]{16,}`, 0, vendorPrefixes...)
	further.is = random
	plain := p("basic", `\bBasic\s+([A-Za-z0-9+/_-]{6,}={0,2})`, 1, "Basic")
	plain.is = pair
	pem := p("private_key", `\bLS0tLS1CRUdJTi[A-Za-z0-9+/]{16,}(?:(?:\s|\\{1,7}[nr])*[A-Za-z0-9+/]{32,})*[A-Za-z0-9+/=]*`, 0, "LS0tLS1CRUdJTi")
	pem.is = privatePEM
	alone := p("url_password", `\b[A-Za-z][A-Za-z0-9+.-]{1,30}://([^\s/:@"'<>]{20,200})@`, 1, "://")
	alone.is = random
	return []pattern{
		p("private_key", `-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`, 0, "PRIVATE KEY"),
		// PuTTY's lines have 64 characters, except for the last one.
		p("private_key", `Private-Lines:[ \t]*[0-9]+(?:\s|\\{1,7}[nr])+((?:[A-Za-z0-9+/=]{64}(?:\s|\\{1,7}[nr])+)*[A-Za-z0-9+/=]{8,64})`, 1, "Private-Lines"),
		p("jwt", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, 0, "eyJ"),
		p("url_password", `\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'<>]{0,200}:([^\s/"'<>]{1,200})@`, 1, "://"),
		p("wardroom_key", `\bwrk_[A-Za-z0-9_-]{8,}`, 0, "wrk_"),
		p("anthropic_key", `\bsk-ant-[A-Za-z0-9_-]{16,}`, 0, "sk-ant-"),
		p("openai_key", `\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`, 0, "sk-"),
		p("stripe_key", `\b(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,})`, 0, "_live_", "_test_", "whsec_"),
		p("github_token", `\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`, 0, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		p("gitlab_token", `\bgl(?:pat|dt|ptt|soat|rt|rtr|ft|imt|agent|oas|cbt|ffct|wt)-[A-Za-z0-9_=.-]{16,}`, 0,
			"glpat-", "gldt-", "glptt-", "glsoat-", "glrt-", "glrtr-", "glft-", "glimt-", "glagent-", "gloas-", "glcbt-", "glffct-", "glwt-"),
		p("slack_token", `\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})|hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}`, 0, "xox", "xapp-", "hooks.slack.com"),
		p("aws_key", `\b(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}\b`, 0, "AKIA", "ASIA", "AROA", "AIDA", "AGPA", "ANPA", "ANVA", "ABIA", "ACCA"),
		p("google_key", `\b(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})`, 0, "AIza", "ya29.", "GOCSPX-"),
		p("npm_token", `\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,})`, 0, "npm_", "pypi-"),
		p("sendgrid_key", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, 0, "SG."),
		p("huggingface_token", `\bhf_[A-Za-z0-9]{20,}`, 0, "hf_"),
		p("digitalocean_token", `\bdo[opr]_v1_[a-f0-9]{32,}`, 0, "_v1_"),
		p("telegram_token", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33,35}\b`, 0, ":AA"),
		p("bearer", `(?i)`+edge+`bearer\s+([A-Za-z0-9._~+/-]{8,}=*)`, 1, "earer", "EARER"),
		p("basic", `(?i)authorization`+quote+`\s*[:=]\s*`+quote+`basic\s+([A-Za-z0-9+/]{6,}=*)`, 1, "uthorization", "UTHORIZATION"),
		p("secret", `(?i)authorization`+quote+`\s*[:=]\s*`+quote+`(?:token|bot|key|digest|negotiate|ntlm|hawk|splunk|api-?key|sso-key|aws4-hmac-sha256)\s+([^\r\n"'\x60\\]{6,})`, 1, "uthorization", "UTHORIZATION"),
		p("vendor_key", `(?:discord(?:app)?\.com/api/webhooks/[0-9]+|webhook\.office\.com/webhookb2)/([A-Za-z0-9@/_-]{20,})`, 1, "webhook"),
		p("secret", `(?:[?&]|\\u0026)sig=([A-Za-z0-9%+/=]{20,})`, 1, "sig="),
		further, plain, pem, alone,
	}
}

// vendorPrefixes begin the keys of further vendors; a key has at least 16 more characters, which look random.
var vendorPrefixes = []string{
	"gsk_", "xai-", "pplx-", "r8_", "csk-", "lin_api_", "lin_oauth_", "ntn_", "shpat_", "shpss_", "shpca_", "shppa_", "figd_", "tskey-",
	"sntrys_", "sntryu_", "hvs.", "hvb.", "hvr.", "ATATT3", "ATCTT3", "ATBB", "PMAK-", "dckr_pat_", "dckr_oat_", "AGE-SECRET-KEY-1", "dapi",
	"glsa_", "glc_", "dp.pt.", "dp.st.", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sbp_", "nfp_", "rubygems_", "EZAK", "EZTK", "FLWSECK", "fo1_",
	"shippo_live_", "sq0csp-", "sq0atp-", "ops_eyJ", "pul-", "LTAI", "xkeysib-", "NRAK-", "phx_", "AKCp", "tfp_", "duffel_live_", "FlyV1",
}

// worded returns the patterns that recognize a secret by a word that precedes it, such as "password".
func worded(p maker) []pattern {
	const is = `\s*(?::=|=>|[:=])\s*`
	named := p("secret", `(?i)(?:[a-z0-9_.-]*(?:api[_-]?key|apikey|secret(?:[_-]?key)?|token|credentials?|authorization|(?:access|account|auth|encryption|private|signing|shared)[_-]?(?:access)?key|session[_-]?id))`+quote+`\s*(?::=|=>|[:=]|\s+is\s+|\s)\s*`+quote+`([A-Za-z0-9+/_.~$!@#%^&*=-]{16,})`, 1,
		"key", "Key", "KEY", "ecret", "ECRET", "oken", "OKEN", "redential", "REDENTIAL", "ession", "ESSION", "uthorization")
	named.is = random
	header := p("secret", `(?i)`+edge+`(?:x-[a-z0-9-]{0,40}(?:key|token|secret|auth)|private-token|api-?key)`+quote+`\s*:\s*`, after, "x-", "X-", "rivate-", "RIVATE-", "pi-", "PI-", "pikey", "PIKEY")
	header.is = func(v string) bool { return len(v) >= 6 && chosen(v) }
	password := p("password", `(?i)(?:pass(?:word|wd|phrase)|`+edge+`pwd|`+edge+`pass)`+quote+is, after,
		"pass", "Pass", "PASS", "pwd", "Pwd", "PWD")
	password.is = func(v string) bool { return len(v) >= 6 && chosen(v) && !names(v) }
	variable := p("secret", `\b[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|SECRET|SECRET_KEY|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)=`, after, "PASS", "PWD", "SECRET", "TOKEN", "KEY")
	variable.is = func(v string) bool {
		return len(v) >= 6 && !reference(v) && !strings.HasPrefix(v, "=") && entropy(v) >= 2
	}
	// These names mean a password of one tool and nothing else.
	tool := p("password", `\b(?:PGPASSWORD|MYSQL_PWD|MYSQL_ROOT_PASSWORD|POSTGRES_PASSWORD|SSHPASS|REDISCLI_AUTH|REDIS_PASSWORD|RSYNC_PASSWORD|LDAPPASSWD|SMBPASS|SQLCMDPASSWORD|RESTIC_PASSWORD|BORG_PASSPHRASE|(?i:ansible_(?:ssh_|become_|sudo_)?pass(?:word)?))`+quote+is, after, "PASS", "PWD", "AUTH", "nsible_")
	tool.is = given
	option := p("password", `(?i)(?:^|[\s"'])--?(?:[a-z]+-)*(?:password|passwd|passphrase|token|secret|api-?key)\s+`, after, "-")
	option.is = func(v string) bool { return len(v) >= 6 && chosen(v) && strings.ContainsFunc(v, unicode.IsDigit) }
	assigned := p("password", `(?i)(?:^|[\s"'])--?(?:[a-z]+-)*(?:password|passwd|passphrase|token|secret|api-?key|pass|auth-?token|access-?token)=`, after, "-")
	assigned.is = func(v string) bool { return len(v) >= 4 && given(v) }
	cookie := p("cookie", `(?i)`+edge+`(?:set-)?cookie`+quote+`\s*:\s*`+quote+`([^\s"'\x60=]+=[^\r\n"'\x60\\]{8,})`, 1, "ookie", "OOKIE")
	return []pattern{named, header, password, variable, tool, option, assigned, cookie}
}

// gap matches the white space between two words, also in a string of JSON.
const gap = `(?:\s|\\{1,7}[nrt])+`

// comment matches a comment at the end of a line, also in a string of JSON.
const comment = `(?:[ \t]+#[^\n\\]*)?`

// filed returns the patterns for the files and command lines in which tools keep or get passwords, whatever the password
// looks like.
func filed(p maker) []pattern {
	is := func(test func(string) bool, one pattern) pattern {
		one.is = test
		return one
	}
	const colon = quote + `\s*[:=]\s*`
	return []pattern{
		// kubeconfig, and the registry credentials in a Kubernetes secret
		p("secret", `(?:client-key-data|\.dockerconfigjson|\.dockercfg)`+quote+`\s*:\s*(?:[|>][+-]?\s+)?`+quote+`([A-Za-z0-9+/=_-]{4,})`, 1, "client-key-data", "dockerc"),
		is(func(v string) bool { return len(v) >= 8 && chosen(v) && strings.ContainsFunc(v, unicode.IsDigit) },
			p("secret", `(?m)(?:^[ \t-]*|\\n[ \t-]*|[{,]\s*)`+quote+`(?:token|id-token|refresh-token|access-token)`+colon, after, "token")),
		// docker's config.json and npm's and yarn's files
		is(pair, p("secret", `(?i)`+edge+`auth`+colon, after, "auth", "AUTH")),
		is(func(v string) bool { return len(v) >= 8 && given(v) }, p("secret", `(?i)(?:identitytoken|registrytoken|npmAuthToken|npmAuthIdent)`+colon, after, "oken", "npmAuth")),
		is(given, p("secret", `(?:^|[\s:"'])_(?:authToken|auth|password)`+quote+`\s*[=: ]\s*`, after, "_auth", "_password")),
		// .netrc
		is(given, p("password", `(?:machine`+gap+`[^\s\\]+|default)`+comment+gap+`(?:(?:login|user|account)`+gap+`[^\s\\]+`+gap+`)+passw(?:or)?d`+gap, after, "machine", "default")),
		is(func(v string) bool { return given(v) && classes(v) >= 2 },
			p("password", `machine`+gap+`[^\s\\]+\.[^\s\\]+`+gap+`passw(?:or)?d`+gap, after, "machine")),
		is(func(v string) bool { return len(v) >= 6 && chosen(v) && strings.ContainsFunc(v, unicode.IsDigit) },
			p("password", `(?m)(?:^|\\n|["'])[ \t]*password[ \t]+([^\s"'\\]+)[ \t]*(?:$|\\|["'])`, 1, "password")),
		// .pgpass
		is(given, p("password", `(?m)(?:^|\\n|["'])[^\s:"'\\/]+:(?:[0-9]{4,5}|\*):[^\s:"']+:[^\s:"']+:([^\s"'\\]+)`, 1, ":54", ":64", ":26257:", ":*:")),
		// a user and a password, one after the other, as in .pypirc, .my.cnf, YAML, and connection strings
		is(given, p("password", `(?i)`+edge+`(?:user(?:[_-]?name|[ _]id)?|uid|login)`+quote+`\s*[:=]\s*`+quote+`[^\s"',;\\]{1,100}`+quote+`[,;]?(?:\s|\\{1,7}[nrt]){0,20}`+quote+`(?:password|passwd|pass|pwd)`+colon, after, "pass", "Pass", "PASS", "pwd", "Pwd", "PWD")),
		is(given, p("password", `(?i)(?:[;?&]|\\u0026|\s(?:-[dF]|--data(?:-[a-z]+)?|--form(?:-string)?)[\s=]*["']?)(?:password|pwd|passwd)=`, after, "pass", "Pass", "PASS", "pwd", "Pwd", "PWD")),
		is(given, p("password", `(?i)`+edge+`(?:host|hostaddr|dbname|user|sslmode|port)=[^\s"']{1,100}\s+(?:[a-z_]{1,30}=[^\s"']{1,100}\s+){0,6}password=`, after, "password=")),
		// an environment variable in a list of names and values
		is(given, p("secret", `\bname`+colon+quote+`[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|_PWD|ACCESS_KEY)`+quote+`\s*,?(?:\s|\\{1,7}[nrt]){0,20}`+quote+`value`+colon, after, "name", "NAME")),
		// a password that is piped into a command
		is(given, p("password", `\b(?:echo|printf)\s+(?:-[neE]+\s+)*(?:["']%s(?:\\{1,2}n)?["']\s+)?`+quote+`([^\s"'|;&\\]{1,200})(?:\\{1,2}n)?`+quote+`\s*\|[^|;\n]{0,200}(?:--password-stdin|--with-token|--stdin\b|sudo\s+(?:-[A-Za-z-]+\s+){0,4}-[A-Za-z]*S\b|chpasswd)`, 1, "echo", "printf")),
		is(given, p("password", `(?:--password-stdin|--with-token|sudo[^\n|;]{0,40}\s-[A-Za-z]*S\b)[^\n|;]{0,100}(?:<<<|(?:\\{1,7}u003c){3})\s*`, after, "<<<", "u003c")),
		is(given, p("password", `expect(?:\s+-re)?\s+[\\"'{]{1,8}[^"'\n]{0,60}assw[^"'\n]{0,60}["'}](?:\s|\\{1,7}[nrt]|[{;]){0,20}send\s+(?:--\s+)?`, after, "expect")),
	}
}

// given reports whether a value is there at all: it neither refers to a secret nor stands for one, as in documentation.
func given(v string) bool {
	l := strings.ToLower(v)
	return v != "" && !reference(v) && strings.Trim(v, "*.xX•-") != "" && !strings.HasPrefix(v, "-") && !names(v) && !slices.Contains(placeholders, l)
}

// names reports whether a value names a password rather than being one: as a variable or a field, or in words.
func names(v string) bool {
	v = strings.TrimLeft(v, "&*")
	l := strings.ToLower(v)
	about := strings.Contains(l, "password") || strings.Contains(l, "passwd")
	return identifier.MatchString(v) && !strings.ContainsFunc(v, unicode.IsDigit) && (about || strings.Contains(v, ".")) ||
		about && strings.Contains(v, " ") || strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// placeholders are values in documentation, types, and code that are no passwords.
var placeholders = []string{
	"string", "str", "text", "required", "optional", "null", "nil", "none", "undefined", "true", "false", "hidden", "secret", "token", "value", "any", "env",
	"redacted", "masked", "example", "key", "pass", "pwd", "must", "is", "has", "protected", "=",
}

// pair reports whether a value is a user and a password in base64.
func pair(v string) bool {
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		text, err := e.DecodeString(strings.TrimRight(v, "="))
		user, _, ok := strings.Cut(string(text), ":")
		if err == nil && ok && user != "" && utf8.Valid(text) && !strings.ContainsFunc(string(text), unicode.IsControl) {
			return true
		}
	}
	return false
}

// privatePEM reports whether a value is a private key in PEM form in base64, as in a kubeconfig. Certificates are public.
func privatePEM(v string) bool {
	end := strings.IndexFunc(v, func(r rune) bool { return !isWord(byte(r)) && r != '+' && r != '/' })
	if end < 0 {
		end = len(v)
	}
	v = v[:end/4*4]
	text, err := base64.StdEncoding.DecodeString(v)
	return err == nil && strings.Contains(string(text), "PRIVATE KEY")
}
