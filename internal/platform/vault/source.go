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

	"wardroom/internal/platform/disk"
)

// Source describes where the encryption keys come from: the settings or a key file.
// The zero Source has no keys.
type Source struct {
	Key string   // ENCRYPTION_KEY; empty if not set
	Old []string // ENCRYPTION_KEY_OLD: previous keys, only used to decrypt
	// File is the path of the key file. It is empty if there may be replicas on other
	// machines, which would not have the file. If Key is also set, the key in the
	// file is only used to decrypt.
	File string
}

// fileText is the length of the text in a key file: 32 random bytes in base64url.
// Such a text is a valid value for ENCRYPTION_KEY, so the key can be moved there.
const fileText = 43

// ErrFile means that the key file exists but can't be used. The error says what to do.
var ErrFile = errors.New("the key file can't be used")

// fileError is an ErrFile with its own text.
type fileError struct{ error }

func (fileError) Is(target error) bool { return target == ErrFile }
func (e fileError) Unwrap() error      { return e.error }

// Find returns a vault with the configured keys, or ErrNoKey. It never creates a key
// file.
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

// Make is like Find, but creates the key file if there is no key and File is set. If
// several calls run at the same time, one creates the file and all use it.
func (s Source) Make() (*Vault, error) {
	v, err := s.Find()
	if !errors.Is(err, ErrNoKey) || s.File == "" {
		return v, err
	}
	if err := makeFile(s.File); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the key file (or set ENCRYPTION_KEY instead): %w", err)
	}
	return s.Find()
}

// Warning returns what the operator should know about the key file, or an empty text. Orchestrators make files
// readable by a group, such as Kubernetes with fsGroup, so that Find accepts such a file.
func (s Source) Warning() string {
	info, err := os.Stat(s.File)
	if s.File == "" || err != nil || disk.Mode(info)&0o070 == 0 {
		return ""
	}
	return fmt.Sprintf("its group may read the key file %s (mode %04o). Run chmod 600 on it. If an orchestrator changes the mode again, as fsGroup in Kubernetes does, "+
		"give no other user that group, or set ENCRYPTION_KEY to the file's content and delete the file", s.File, disk.Mode(info))
}

// read returns the text of the key file. It rejects a file that all users can
// read or that is incomplete.
func (s Source) read() (string, error) {
	if s.File == "" {
		return "", fs.ErrNotExist
	}
	f, err := os.Open(s.File)
	if errors.Is(err, fs.ErrPermission) {
		return "", fileError{
			fmt.Errorf(
				"the user that runs Wardroom (%d) may not read the key file %s: make that user its owner (chown), with mode 600",
				os.Getuid(), s.File,
			),
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fileError{
			fmt.Errorf(
				"the key file %s is not a regular file: replace it with a file that contains the key, or set ENCRYPTION_KEY",
				s.File,
			),
		}
	}
	if mode := disk.Mode(info); mode&0o007 != 0 {
		return "", fileError{fmt.Errorf("every user of this machine may read the key file %s (mode %04o): run chmod 600 on it, and replace the key if someone may have read it", s.File, mode)}
	}
	data, err := io.ReadAll(io.LimitReader(f, 4*fileText))
	if err != nil {
		return "", fmt.Errorf("read the key file: %w", err)
	}
	// an editor may have added line ends or a byte order mark
	text := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	if key, err := base64.RawURLEncoding.Strict().DecodeString(text); err != nil || len(key) != 32 ||
		len(text) != fileText {
		return "", fileError{fmt.Errorf("the key file %s does not contain a key of %d characters: restore it from a backup; "+
			"without a backup, delete it and create the encrypted secrets again", s.File, fileText)}
	}
	return text, nil
}

// makeFile creates the key file if it does not exist. It writes a temporary file and
// links it to the final name, so that other processes never see an incomplete file.
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
	return disk.SyncFolder(filepath.Dir(name)) // encrypted secrets are lost without the key
}
