package vault

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source is where the keys come from: the setting, or else a file of this
// machine. The zero Source has none.
type Source struct {
	Key string   // ENCRYPTION_KEY; empty when it is not set
	Old []string // ENCRYPTION_KEY_OLD: keys of before, which open and do not seal
	// File is the key file; empty where there must be none, because other
	// machines would have others. A setting goes before it: what the file has then
	// opens and does not seal.
	File string
}

// fileText is how many characters a key file has: 32 random bytes in base64url.
// It is a text that ENCRYPTION_KEY takes, so that the key can move there.
const fileText = 43

// Find returns the vault of the keys that there are. It fails with ErrNoKey when
// there are none, and makes nothing.
func (s Source) Find() (*Vault, error) {
	texts := []string{}
	if s.Key != "" {
		texts = append(texts, s.Key)
	}
	fromFile, err := s.read()
	switch {
	case err == nil:
		texts = append(texts, fromFile)
	case errors.Is(err, fs.ErrNotExist):
	case s.Key == "":
		return nil, err
	}
	if len(texts) == 0 {
		return nil, ErrNoKey
	}
	return New(texts[0], append(texts[1:], s.Old...)...)
}

// Make is Find, and makes the key file where there is no key and one may be
// made. Of several who do it at once one makes it, and all use that.
func (s Source) Make() (*Vault, error) {
	v, err := s.Find()
	if !errors.Is(err, ErrNoKey) || s.File == "" {
		return v, err
	}
	if err := makeFile(s.File); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the key file (or set ENCRYPTION_KEY instead): %w", err)
	}
	return s.Find()
}

// read returns the text in the key file. Somebody else's eyes on it, or a half
// of it, is refused: it would be found out only when it is too late.
func (s Source) read() (string, error) {
	if s.File == "" {
		return "", fs.ErrNotExist
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("the key file %s is no file: put the key there, or set ENCRYPTION_KEY", s.File)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("the key file %s may be read by others (mode %04o): run chmod 600 on it; if others had the machine, replace the key", s.File, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, 4*fileText))
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	text := strings.TrimSuffix(string(data), "\n")
	if key, err := base64.RawURLEncoding.Strict().DecodeString(text); err != nil || len(key) != 32 || len(text) != fileText {
		return "", fmt.Errorf("the key file %s does not hold a key of %d characters: put it back from a backup; "+
			"without one remove it, and make anew what was encrypted with it", s.File, fileText)
	}
	return text, nil
}

// makeFile writes a new key where there is none. The file appears as a whole or
// not at all: a link is made where nothing is, of one that is written already.
func makeFile(name string) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	draft := name + "." + rand.Text()
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft)) }()
	_, err = f.WriteString(base64.RawURLEncoding.EncodeToString(key[:]) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(draft, name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder makes a new name in a folder survive the machine's end: what is
// encrypted is of no use without the key.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
