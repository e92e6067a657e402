package vault_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"wardroom/internal/platform/vault"
)

const (
	first  = "the first key of this test, which is long enough"
	second = "the second key of this test, which is long enough"
	place  = "pairing/device-key/3f"
)

func open(t *testing.T, text string, others ...string) *vault.Vault {
	t.Helper()
	v, err := vault.New(text, others...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An encrypted secret must be readable only with the key and in its place.
func TestVault(t *testing.T) {
	v := open(t, first)
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "secret")
		where := rapid.String().Draw(t, "place")
		sealed := v.Seal(where, secret)
		if got, err := v.Open(where, sealed); err != nil || !bytes.Equal(got, secret) {
			t.Fatalf("opened %q, %v", got, err)
		}
		if again := v.Seal(where, secret); again == sealed {
			t.Fatal("sealed alike twice: who looks at both learns that they are the same")
		}
		if _, err := v.Open(where+"x", sealed); !errors.Is(err, vault.ErrBroken) {
			t.Fatalf("opened in another place: %v", err)
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		changed := []byte(sealed)
		changed[at] = rapid.SampledFrom([]byte("abcdefghijklmnopqrstuvwxyz0123456789-_.")).Filter(func(b byte) bool { return b != sealed[at] }).Draw(t, "byte")
		if got, err := v.Open(where, string(changed)); err == nil {
			t.Fatalf("opened %q after a change at %d", got, at)
		}
	})
}

// A wrong key must be distinguished from a damaged text: the first can be fixed in
// the settings, the second is lost.
func TestOtherKey(t *testing.T) {
	sealed := open(t, first).Seal(place, []byte("secret"))
	_, err := open(t, second).Open(place, sealed)
	if !errors.Is(err, vault.ErrOtherKey) || errors.Is(err, vault.ErrBroken) || !strings.Contains(err.Error(), vault.KeyOf(sealed)) {
		t.Errorf("with another key: %v", err)
	}
	for name, text := range map[string]string{
		"nothing": "", "a word": "secret", "no body": "v1." + vault.KeyOf(sealed) + ".", "a short body": "v1." + vault.KeyOf(sealed) + ".AAAA",
		"another version": "v2" + strings.TrimPrefix(sealed, "v1"), "padding": sealed + "=", "a line": sealed + "\n",
	} {
		if _, err := open(t, first).Open(place, text); !errors.Is(err, vault.ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if vault.KeyOf("v1.x.y") != "" || vault.KeyOf(sealed) != open(t, first).KeyID() {
		t.Error("the key of a text is told wrongly")
	}
}

// Replacing the key must not lose secrets.
func TestRenew(t *testing.T) {
	sealed := open(t, first).Seal(place, []byte("secret"))
	both := open(t, second, first)
	renewed, changed, err := both.Renew(place, sealed)
	if err != nil || !changed || vault.KeyOf(renewed) != both.KeyID() {
		t.Fatalf("renewed %q, %t, %v", renewed, changed, err)
	}
	if got, err := open(t, second).Open(place, renewed); err != nil || string(got) != "secret" {
		t.Errorf("with the new key alone: %q, %v", got, err)
	}
	if again, changed, err := both.Renew(place, renewed); err != nil || changed || again != renewed {
		t.Errorf("once more: %q, %t, %v", again, changed, err)
	}
	if _, _, err := open(t, second).Renew(place, sealed); !errors.Is(err, vault.ErrOtherKey) {
		t.Errorf("without the old key: %v", err)
	}
}

// Short keys must be rejected, and keys must never be printed.
func TestKeys(t *testing.T) {
	if _, err := vault.New(first[:31]); err == nil || strings.Contains(err.Error(), first[:20]) {
		t.Errorf("a short key: %v", err)
	}
	v := open(t, first)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("it", "vault", v)
	if said := fmt.Sprintf("%v %+v %#v %s %q %x %s", v, v, v, v, v, v, &log); strings.Contains(said, first) || strings.Contains(said, "aead") {
		t.Errorf("it prints %s", said)
	}
}

// On a single machine the key file must be created without settings and be readable
// by its owner only.
func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "encryption.key")
	s := vault.Source{File: file}
	if _, err := s.Find(); !errors.Is(err, vault.ErrNoKey) {
		t.Fatalf("before it is made: %v", err)
	}
	v, err := s.Make()
	if err != nil {
		t.Fatal(err)
	}
	sealed := v.Seal(place, []byte("secret"))
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, err := s.Make()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Open(place, sealed); err != nil || string(got) != "secret" {
		t.Errorf("opened anew: %q, %v", got, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("its text can become the setting", func(t *testing.T) {
		v, err := vault.Source{Key: strings.TrimSpace(string(text))}.Find()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Open(place, sealed); err != nil || string(got) != "secret" {
			t.Errorf("opened %q, %v", got, err)
		}
	})
	t.Run("beside a setting it opens and does not seal", func(t *testing.T) {
		v, err := vault.Source{Key: first, File: file}.Make()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Open(place, sealed); err != nil || string(got) != "secret" || v.KeyID() != open(t, first).KeyID() {
			t.Errorf("opened %q, %v, seals with %s", got, err, v.KeyID())
		}
	})
	t.Run("an editor's byte order mark and line ends do not matter", func(t *testing.T) {
		if err := os.WriteFile(file, []byte("\ufeff"+strings.TrimSpace(string(text))+"\r\n\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := s.Find()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Open(place, sealed); err != nil || string(got) != "secret" {
			t.Errorf("opened %q, %v", got, err)
		}
	})
	t.Run("a group may read it, with a warning", func(t *testing.T) {
		if said := s.Warning(); said != "" {
			t.Errorf("mode 0600: %s", said)
		}
		for _, mode := range []os.FileMode{0o640, 0o660} {
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
			v, err := s.Find()
			if err != nil || !strings.Contains(s.Warning(), fmt.Sprintf("(mode %04o)", mode)) {
				t.Fatalf("%04o: %q, %v", mode, s.Warning(), err)
			}
			if got, err := v.Open(place, sealed); err != nil || string(got) != "secret" {
				t.Errorf("opened %q, %v", got, err)
			}
		}
	})
	for name, spoil := range map[string]func() error{
		"mode 0604":     func() error { return os.Chmod(file, 0o604) },
		"43 charact":    func() error { return os.WriteFile(file, text[:20], 0o600) },
		"contain a key": func() error { return os.WriteFile(file, append(text, text...), 0o600) },
		"43":            func() error { return os.WriteFile(file, nil, 0o600) },
		"regular file":  func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		t.Run("is refused where it says "+name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, text, 0o600), os.Chmod(file, 0o600), spoil()); err != nil {
				t.Fatal(err)
			}
			_, err := s.Make()
			if !errors.Is(err, vault.ErrFile) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), string(text[:20])) {
				t.Errorf("said %v", err)
			}
		})
	}
}

// Two processes that start at the same time must use the same key, or one would
// encrypt with a key that is lost.
func TestKeyFileRace(t *testing.T) {
	s := vault.Source{File: filepath.Join(t.TempDir(), "encryption.key")}
	ids := make([]string, 16)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			v, err := s.Make()
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = v.KeyID()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("they have %v", ids)
		}
	}
	if left, err := filepath.Glob(s.File + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

// Replicas share no file, so there is no key without the setting.
func TestNoFile(t *testing.T) {
	if _, err := (vault.Source{}).Make(); !errors.Is(err, vault.ErrNoKey) {
		t.Errorf("without anything: %v", err)
	}
	v, err := vault.Source{Key: second, Old: []string{first}}.Make()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Open(place, open(t, first).Seal(place, []byte("secret"))); err != nil || string(got) != "secret" {
		t.Errorf("with an old key: %q, %v", got, err)
	}
}

// FuzzOpen decrypts arbitrary text, as someone could have written it into the
// database.
func FuzzOpen(f *testing.F) {
	v, err := vault.New(first)
	if err != nil {
		f.Fatal(err)
	}
	sealed := v.Seal(place, []byte("secret"))
	f.Add(sealed)
	f.Add("v1." + v.KeyID() + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 40)))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := v.Open(place, text)
		if (err == nil) != (text == sealed) || err != nil && got != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	})
}
