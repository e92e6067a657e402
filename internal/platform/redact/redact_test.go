package redact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Known forms of secrets are redacted.
func TestMaskFinds(t *testing.T) {
	t.Parallel()
	m := New()
	rand := "a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8"
	for text, secret := range map[string]string{
		"the key is sk-ant-api03-" + rand + " ok": "sk-ant-api03-" + rand,
		"OPENAI=sk-proj-" + rand:                  rand,
		"sk-" + rand:                              rand,
		"push with ghp_" + rand + ".":             rand,
		"github_pat_11ABCDEFG_" + rand:            rand,
		"glpat-" + rand:                           rand,
		"xoxb-123456789012-" + rand:               rand,
		"https://hooks.slack.com/services/T00000000/B00000000/" + rand: rand,
		"AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY":                          "AIzaSyD",
		"sk_live_" + rand:                           rand,
		"npm_" + rand + rand:                        rand,
		"hf_" + rand:                                rand,
		"SG." + rand + "." + rand:                   rand,
		"wrk_0123456789abcdef":                      "0123456789abcdef",
		"Authorization: Bearer " + rand:             rand,
		"authorization: basic dXNlcjpwYXNzd29yZA==": "dXNlcjpwYXNzd29yZA",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U": "dozjgNryP4J3",
		"postgres://app:hunter2@db/prod": "hunter2",
		"redis://:s3cr3t@cache:6379":     "s3cr3t",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + rand + "\n-----END RSA PRIVATE KEY-----": rand,
		"-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Blbn" + rand:                                rand,
		`{"password":"Hunter22"}`:                       "Hunter22",
		"DB_PASSWORD=correct-horse-9":                   "correct-horse-9",
		"export API_TOKEN='" + rand + "'":               rand,
		"the secret is " + rand:                         rand,
		"12345678:AAFdL2k1jhdg7Vx1Zb6Nc3Hd5Jg0Sw8abcde": "AAFdL2k1",
	} {
		if got := m.text(text, false); strings.Contains(got, secret) || !strings.Contains(got, "[masked:") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := m.text("it begins sk-ant-a8F", true); strings.Contains(got, "a8F") {
		t.Errorf("a secret that is cut off: %q", got)
	}
}

// Secrets in escaped JSON, configuration files, and terminal output are
// redacted, too.
func TestMaskFindsTheWrapped(t *testing.T) {
	t.Parallel()
	m := New()
	rand := "a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8"
	for text, secret := range map[string]string{
		`{"stdout":"x\nghp_` + rand + `"}`:            rand,
		`{"stdout":"x\tsk-ant-` + rand + `"}`:         rand,
		`{"out":"a\nBearer ` + rand + `"}`:            rand,
		`{"out":"{\"api_key\":\"` + rand + `\"}"}`:    rand,
		`"{\"password\":\"Hunter22\"}"`:               "Hunter22",
		`{"a":"{\\\"password\\\":\\\"Hunter22\\\"}"`:  "Hunter22",
		`{"file":"pwd: Hunter22\npass: Hunter33"}`:    "Hunter33",
		"[31mghp_" + rand + "[0m":                     rand,
		"OLD_ghp_" + rand:                             rand,
		"DB_PASSWORD=swordfish":                       "swordfish",
		`{"env":"A=1\nDB_PASSWORD=swordfish\nB=2"}`:   "swordfish",
		"mysql --password hunter22":                   "hunter22",
		"curl -s -u bob:hunter22 https://example.com": "hunter22",
		"ENCRYPTION_KEY=" + rand:                      rand,
		"AccountKey=" + rand + ";EndpointSuffix=":     rand,
		"Set-Cookie: sid=" + rand + "; Path=/":        rand,
		"gsk_" + rand:                                 rand,
		"postgres://app:p@ss@db/prod":                 "ss@db",
	} {
		if got := m.text(text, false); strings.Contains(got, secret) || !strings.Contains(got, "[masked:") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := m.text(`{"out":"it begins\nghp_a8Fk`, true); strings.Contains(got, "a8Fk") {
		t.Errorf("a secret that is cut off: %q", got)
	}
	if got := m.text(`{\"password\":\"Hunter22\",\"b\":1}`, false); got != `{\"password\":\"[masked:password]\",\"b\":1}` {
		t.Errorf("what is around it became %s", got)
	}
	if got := m.JSON(`{"password":12345678,"secret":["kitten",{"a":1}],"pwd":null}`); got != `{"password":"[masked:secret]","pwd":null,"secret":["[masked:secret]",{"a":1}]}` {
		t.Errorf("members became %s", got)
	}
}

// Hashes, identifiers, and ordinary words are kept.
func TestMaskLeaves(t *testing.T) {
	t.Parallel()
	m := New()
	for _, text := range []string{
		"The password must have twelve characters; a token is a JWT.",
		"commit 4f1c2d3e5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d",
		"id 01990000-0000-7000-8000-000000000000",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"password: required", "token: string", "secret: ${DB_SECRET}", "apiKey: process.env.OPENAI_API_KEY",
		"tokens: 14000 in, 320 out", "max_tokens=4096", "the secretary of state", "https://example.com/a?b=c", "see http://localhost:3000/x@y",
		"func (t Token) String() string", "session_key: agent:cto:main", "skip-ci and sk-learn", "AKIA is how they begin", "eyJ is base64 of {\"",
		"bearer of bad news", "TOKEN_EXPIRED", "password=os.Getenv(\"X\")",
		"mytask-0123456789012345678901234567", "C:\\temp\\notes.txt", "PASSWORD=$1", "TOKEN=${X}", "MAX_TOKENS=4096", "--token is an option", "docker run -u 1000:1000 x",
		"docker login --password-stdin", "cookie: a small text", "if TOKEN==x", "npm run build -- --token=", "dapi is an API",
	} {
		if got := m.text(text, false); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Redacted tool arguments stay valid JSON.
func TestMaskJSON(t *testing.T) {
	t.Parallel()
	m := New()
	got := m.JSON(`{"n":1.50,"url":"https://u:geheim@h/","env":{"DB_PASSWORD":"kitten","PATH":"/bin","api_key":"$KEY"},"list":["Bearer abcdefgh1234",true,null]}`)
	want := `{"env":{"DB_PASSWORD":"[masked:secret]","PATH":"/bin","api_key":"$KEY"},"list":["Bearer [masked:bearer]",true,null],"n":1.50,"url":"https://u:[masked:url_password]@h/"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := m.JSON(`{"a": not JSON, password=Kitten99`); strings.Contains(got, "Kitten99") {
		t.Error(got)
	}
}

// Redacting terminates, keeps JSON valid, and finds a secret anywhere in a
// text.
func FuzzMask(f *testing.F) {
	for _, s := range []string{"", "sk-", "password=", `{"token":"x"}`, "-----BEGIN PRIVATE KEY-----", "://:@", "\xff", "[masked:jwt]"} {
		f.Add(s, s)
	}
	m := New()
	const key = "ghp_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8"
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 4000 {
			return
		}
		text := before + " " + key + " " + after
		got := m.text(text, false)
		if strings.Contains(got, key) {
			t.Errorf("%q keeps the key", got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
		if doc, err := json.Marshal(map[string]string{before: after}); err == nil && !json.Valid([]byte(m.JSON(string(doc)))) {
			t.Errorf("%s became %s", doc, m.JSON(string(doc)))
		}
	})
}
