package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// dotEnvLimit is the maximum size of a .env file in bytes. A larger file is probably
// not a settings file.
const dotEnvLimit = 1 << 20

// LoadDotEnv returns the variables of the .env file at path, except those that the
// function lookup (usually os.LookupEnv) finds. The environment takes precedence,
// even if its value is empty. If the file is missing, LoadDotEnv returns no
// variables. The error lists every mistake with its line number. It never quotes the
// line, because the line may contain a secret.
//
// Each line is KEY=VALUE, a comment (#…) or blank. The key can follow "export ". An
// unquoted value ends at the end of the line or before " #". A value in single quotes
// is taken literally. In double quotes, \n, \r, \t, \", \\ and \$ are escape
// sequences. Variables are not expanded.
func LoadDotEnv(path string, lookup func(string) (string, bool)) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if info, is := os.Stat(path); err != nil && is == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file with settings: remove it; a container engine creates it if the file that it should mount is missing", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	values, err := parseDotEnv(path, data)
	if err != nil {
		return nil, err
	}
	for key := range values {
		if _, ok := lookup(key); ok {
			delete(values, key)
		}
	}
	return values, nil
}

// Resolver makes the result of LoadDotEnv available to the command line. Use it as an
// option for kong.New:
//
//	env, err := config.LoadDotEnv(".env", os.LookupEnv)
//	parser, err := kong.New(&cli, kong.Resolvers(config.Resolver(env)))
//
// kong asks a resolver before it reads the environment, so the result must not contain
// variables that are set in the environment. LoadDotEnv leaves them out.
func Resolver(values map[string]string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, env := range flag.Envs {
			if v, ok := values[env]; ok {
				return v, nil
			}
		}
		return nil, nil
	})
}

func parseDotEnv(path string, data []byte) (map[string]string, error) {
	if len(data) > dotEnvLimit {
		return nil, fmt.Errorf("%s is larger than 1 MiB: it is not a settings file", path)
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return nil, fmt.Errorf("%s is not UTF-8 text", path)
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	values, lines := map[string]string{}, map[string]int{}
	var errs []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		key, value, err := parseDotEnvLine(strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s line %d: %w", path, n, err))
		case key == "":
		case lines[key] != 0:
			errs = append(errs,
				fmt.Errorf("%s line %d: %s is already set on line %d: remove one of them", path, n, key, lines[key]))
		default:
			values[key], lines[key] = value, n
		}
	}
	return values, errors.Join(errs...)
}

// parseDotEnvLine parses one line of a .env file. It returns an empty key for a blank
// line or a comment.
func parseDotEnvLine(line string) (key, value string, err error) {
	line = strings.TrimLeft(line, " \t")
	if strings.TrimSpace(line) == "" || line[0] == '#' {
		return "", "", nil
	}
	if rest, ok := strings.CutPrefix(line, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
		line = strings.TrimLeft(rest, " \t")
	}
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", errors.New("expected NAME=value")
	}
	if !isName(key) {
		return "", "", errors.New("the name before the = must consist of letters, digits and _, without spaces")
	}
	value = strings.TrimLeft(value, " \t")
	if value == "" {
		return key, "", nil
	}
	switch value[0] {
	case '\'', '"':
		value, err = unquote(value)
		return key, value, err
	case '#':
		return key, "", nil
	}
	for i := range len(value) {
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	return key, strings.TrimRight(value, " \t"), nil
}

// unquote parses a quoted value. After the closing quote, only a comment is allowed.
func unquote(s string) (string, error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			rest := strings.TrimLeft(s[i+1:], " \t")
			if rest != "" && rest[0] != '#' {
				return "", errors.New(
					"text follows the closing quote: to include a quote in the value, write \\\" in double quotes",
				)
			}
			return b.String(), nil
		case s[i] == '\\' && quote == '"':
			i++
			c, ok := escaped(s, i)
			if !ok {
				return "", errors.New(`in double quotes a \ must be followed by n, r, t, ", \ or $: write \\ for a backslash`)
			}
			b.WriteByte(c)
		default:
			b.WriteByte(s[i])
		}
	}
	return "", errors.New("the closing quote is missing on this line")
}

func escaped(s string, i int) (byte, bool) {
	if i >= len(s) {
		return 0, false
	}
	switch s[i] {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case '"', '\\', '$':
		return s[i], true
	}
	return 0, false
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
