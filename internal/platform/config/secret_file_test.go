package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/platform/config"
)

// Secrets in files are read for every secret setting and for no other, with the spaces that belong to them.
func TestReadSecretFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o440); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, s := range config.Settings() {
		given := map[string]string{s.Env + "_FILE": file(s.Env, " two words, ünd mehr \r\n")}
		err := config.ReadSecretFiles(given, nothing)
		if want := map[bool]string{true: " two words, ünd mehr "}[s.Secret]; err != nil || given[s.Env] != want {
			t.Errorf("%s is %q, want %q: %v", s.Env, given[s.Env], want, err)
		}
	}
	env := func(name string) (string, bool) {
		return map[string]string{"JWT_SECRET_FILE": file("jwt", "hunter2")}[name], name == "JWT_SECRET_FILE"
	}
	values := map[string]string{}
	if err := config.ReadSecretFiles(values, env); err != nil || values["JWT_SECRET"] != "hunter2" {
		t.Errorf("from the environment: %q, %v", values, err)
	}
	values = map[string]string{
		"JWT_SECRET": "hunter2", "JWT_SECRET_FILE": file("both", "hunter2"), "DB_PASSWORD_FILE": file("empty", "\n"), "DATABASE_URL_FILE": filepath.Join(dir, "missing"),
		"ENCRYPTION_KEY_FILE": file("binary", "\xffhunter2"), "AGENTRT_GATEWAY_TOKEN_FILE": dir, "AGENTRT_DEVICE_TOKEN_FILE": "/dev/zero",
	}
	err := config.ReadSecretFiles(values, nothing)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("invalid files: %v", err)
	}
	for _, want := range []string{
		"JWT_SECRET and JWT_SECRET_FILE are both set", "DB_PASSWORD_FILE cannot be used: " + filepath.Join(dir, "empty") + " is empty", "DATABASE_URL_FILE cannot be used: open",
		"binary is not UTF-8 text", "AGENTRT_GATEWAY_TOKEN_FILE cannot be used: read", "/dev/zero is larger than 64 KiB",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}
