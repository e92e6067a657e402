package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wardroom/internal/platform/config"
)

func nothing(string) (string, bool) { return "", false }

func load(t interface {
	Helper()
	Fatal(...any)
}, dir, text string,
) (map[string]string, error) {
	t.Helper()
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env, err := config.LoadDotEnv(path, nothing)
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), path, ".env"))
	}
	return env, err
}

// .env files copied from other tools must be read with the intended meaning.
func TestLoadDotEnv(t *testing.T) {
	text := strings.Join([]string{
		"\ufeff# comment", "", "   # indented comment", "PLAIN=a b  ", "EMPTY=", "EMPTY2=   # nothing", "COMMENT=a#b # c", "URL=postgres://u:p@h/d?x=y#z",
		"export EXPORTED=1", "exported=2", "SINGLE='a \\n \"b\" # c' # d", `DOUBLE="a\n\t\"b\" \\ \$c 'd' # e"`, "QUOTE=it's", "DOLLAR=$HOME ${HOME}", "INDENT= x",
		"CRLF=1\r", "LAST=end",
	}, "\n")
	got, err := load(t, t.TempDir(), text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"PLAIN": "a b", "EMPTY": "", "EMPTY2": "", "COMMENT": "a#b", "URL": "postgres://u:p@h/d?x=y#z",
		"EXPORTED": "1", "exported": "2", "SINGLE": `a \n "b" # c`, "DOUBLE": "a\n\t\"b\" \\ $c 'd' # e", "QUOTE": "it's",
		"DOLLAR": "$HOME ${HOME}", "INDENT": "x", "CRLF": "1", "LAST": "end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Mistakes must be reported with their line, and the line never quoted, because it
// may be a secret.
func TestLoadDotEnvRefuses(t *testing.T) {
	text := "A=1\nno equals sign hunter2\nB C=hunter2\nD='hunter2\nE=\"hunter2\" x\nF=\"\\hunter2\"\nA=hunter2\nKEY =hunter2\n=hunter2\nG=\"hunter2\\"
	_, err := load(t, t.TempDir(), text)
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		".env line 2: expected NAME=value",
		".env line 3: the name before the = must consist of letters, digits and _, without spaces",
		".env line 4: the closing quote is missing on this line",
		".env line 5: text follows the closing quote: to include a quote in the value, write \\\" in double quotes",
		".env line 6: in double quotes a \\ must be followed by n, r, t, \", \\ or $: write \\\\ for a backslash",
		".env line 7: A is already set on line 1: remove one of them",
		".env line 8: the name before the = must consist of letters, digits and _, without spaces",
		".env line 9: the name before the = must consist of letters, digits and _, without spaces",
		".env line 10: in double quotes a \\ must be followed by n, r, t, \", \\ or $: write \\\\ for a backslash",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"A=\x00", "A=\xff", strings.Repeat("#\n", 1<<20)} {
		if _, err := load(t, t.TempDir(), bad); err == nil {
			t.Errorf("accepted %.20q", bad)
		}
	}
}

// Without a .env file, the program starts with the environment only.
func TestLoadDotEnvMissing(t *testing.T) {
	got, err := config.LoadDotEnv(filepath.Join(t.TempDir(), ".env"), nothing)
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := config.LoadDotEnv(t.TempDir(), nothing); err == nil {
		t.Error("read a folder")
	}
}

// Every correctly quoted value must be read unchanged.
func TestLoadDotEnvRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }).Draw(t, "value")
		quoted := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\r", "\\r").Replace(value)
		got, err := load(t, dir, "A=1\nKEY=\""+quoted+"\" # comment\nB=2")
		if err != nil || got["KEY"] != value || len(got) != 3 {
			t.Fatalf("%q became %q, %v", value, got["KEY"], err)
		}
	})
}

// Arbitrary files must not cause a panic, and the result must only contain valid
// names.
func FuzzLoadDotEnv(f *testing.F) {
	f.Add("A=1\nexport B='x' # y\nC=\"\\n\"")
	f.Add("export")
	f.Add("A=\"\\")
	f.Add("=\n'\n\"")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		env, err := load(t, dir, text)
		if err != nil {
			return
		}
		for key := range env {
			if key == "" || strings.ContainsAny(key, " =#'\"\n") {
				t.Errorf("%q has the name %q", text, key)
			}
		}
	})
}
