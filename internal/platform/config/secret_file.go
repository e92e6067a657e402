package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// secretFileLimit is the maximum size of a file with a secret in bytes.
const secretFileLimit = 64 << 10

// ReadSecretFiles reads the files that variables such as JWT_SECRET_FILE name, one for each setting that is a secret.
// Container engines and systemd give secrets to programs in such files. The functions given (usually os.LookupEnv) and
// values (the result of LoadDotEnv) are where the variables are looked up. ReadSecretFiles adds the secrets to values
// under the names of their settings. A line break at the end of a file is not part of the secret.
//
// The error lists every mistake: a file that cannot be read, that is empty or that is not text, and a setting that
// is given both ways. It never quotes a secret.
func ReadSecretFiles(values map[string]string, lookup func(string) (string, bool)) error {
	var errs []error
	find := func(name string) string {
		if v, ok := lookup(name); ok {
			return v
		}
		return values[name]
	}
	for _, s := range Settings() {
		path := find(s.Env + "_FILE")
		if !s.Secret || path == "" {
			continue
		}
		if find(s.Env) != "" {
			errs = append(errs, fmt.Errorf("%s and %s_FILE are both set: remove one of them", s.Env, s.Env))
			continue
		}
		secret, err := readSecret(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s_FILE cannot be used: %w", s.Env, err))
			continue
		}
		values[s.Env] = secret
	}
	return errors.Join(errs...)
}

func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, secretFileLimit+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(data), "\r\n")
	switch {
	case len(data) > secretFileLimit:
		return "", fmt.Errorf("%s is larger than 64 KiB", path)
	case secret == "":
		return "", fmt.Errorf("%s is empty", path)
	case !utf8.ValidString(secret) || strings.ContainsRune(secret, 0):
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	return secret, nil
}
