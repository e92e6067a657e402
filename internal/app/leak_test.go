package app_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// leakSearch searches everything that the service sends and stores for secrets in all
// common encodings.
type leakSearch struct {
	secrets map[string][]byte // by description
	places  map[string][]byte // searched data by place
}

// forms returns the encodings of a secret. Base64 of a text with the secret differs at
// each of three offsets; its middle part is always the same.
func forms(secret []byte) map[string][]byte {
	out := map[string][]byte{
		"as it is": secret, "in hex": []byte(hex.EncodeToString(secret)), "in HEX": []byte(strings.ToUpper(hex.EncodeToString(secret))),
		"in an address": []byte(url.QueryEscape(string(secret))), "in numbers": bytes.Trim(fmt.Appendf(nil, "%d", secret), "[]"),
	}
	if quoted, err := json.Marshal(string(secret)); err == nil {
		out["in JSON"] = bytes.Trim(quoted, `"`)
	}
	for name, alphabet := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
		for offset := range 3 {
			whole := alphabet.EncodeToString(append(make([]byte, offset), secret...))
			from := (offset*8 + 5) / 6 // the first character that depends only on the secret
			until := len(whole)
			if (offset+len(secret))%3 != 0 {
				until-- // the last character depends on what follows
			}
			out[fmt.Sprintf("in %s at %d", name, offset)] = []byte(whole[from:until])
		}
	}
	return out
}

// found returns which secrets are where.
func (l leakSearch) found() []string {
	var out []string
	for what, secret := range l.secrets {
		for form, text := range forms(secret) {
			for place, seen := range l.places {
				if i := bytes.Index(seen, text); i >= 0 {
					out = append(out, fmt.Sprintf("%s, %s, is in %s: …%q…", what, form, place, seen[max(0, i-60):min(len(seen), i+20)]))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// look adds everything that the service of a house has sent and stored. It leaves out the
// key file, which must contain a secret.
func (l *leakSearch) look(h *house, d *db.DB, when string) {
	h.t.Helper()
	if l.places == nil {
		l.places = map[string][]byte{}
	}
	l.places["answers and logs"] = []byte(h.seen.String())
	for _, table := range tables(h.t, d) {
		l.places[when+", the table "+table] = dump(h.t, d, table)
	}
	if d.Engine() == db.Postgres {
		return
	}
	path := strings.TrimPrefix(h.raw.DatabaseURL.Reveal(), "sqlite:")
	for _, pattern := range []string{path + "*", filepath.Join(h.raw.DataDir, "*")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, name := range files {
			if filepath.Base(name) == "encryption.key" {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				h.t.Fatal(err)
			}
			l.places[when+", the file "+filepath.Base(name)] = data
		}
	}
}

// dump returns the rows of a table as text.
func dump(t *testing.T, d *db.DB, table string) []byte {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT * FROM `+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			value := *v.(*any) //nolint:errcheck,forcetypeassert // cannot fail
			if data, ok := value.([]byte); ok {
				// Compression hides text from a search, so it is undone.
				if text, err := io.ReadAll(flate.NewReader(bytes.NewReader(data))); table == "archive_parts" && err == nil {
					data = text
				}
				value = string(data)
			}
			fmt.Fprintf(&out, "%s=%v\t", names[i], value)
		}
		out.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// leakingHouse returns a house with everything enabled that produces output.
func leakingHouse(t *testing.T, engine db.Engine) (*house, *leakSearch) {
	t.Helper()
	h := newHouse(t, engine, func(r *config.Raw) { r.MetricsAddr = "127.0.0.1:0" })
	h.backoff = link.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
	h.runtime.RequirePairing(true)
	h.ticking()
	l := &leakSearch{secrets: map[string][]byte{
		"the gateway's token": []byte(gatewayToken), "JWT_SECRET": []byte(jwtSecret), "a password": []byte(password),
	}}
	if h.raw.EncryptionKey != "" {
		l.secrets["ENCRYPTION_KEY"] = []byte(encryptionKey)
	}
	return h, l
}

// learn adds the stored device and the key file to the secrets.
func (l *leakSearch) learn(h *house, d *db.DB, which string) {
	h.t.Helper()
	cfg := h.config()
	keys := vault.Source{Key: cfg.EncryptionKey.Reveal()}
	if d.Engine() == db.SQLite {
		keys.File = filepath.Join(cfg.DataDir, "encryption.key")
		text, err := os.ReadFile(keys.File)
		if err != nil {
			h.t.Fatal(err)
		}
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			h.t.Fatal(err)
		}
		l.secrets["the key file"], l.secrets["the key in the key file"] = bytes.TrimSpace(text), raw
	}
	id, err := pairing.Stored(h.t.Context(), d, keys, cfg.GatewayURL)
	if err != nil || id.Key == nil || id.Token == "" {
		h.t.Fatalf("there are no secrets to search for: %v", err)
	}
	l.secrets["the key of "+which], l.secrets["the token of "+which] = id.Key.Seed(), []byte(id.Token)
}

// tempt makes the service show everything about its device.
func (h *house) tempt(s *service, owner caller) {
	h.t.Helper()
	for _, path := range []string{
		"/api/v1/agentrt/status", pairingPath, settingsPath, "/api/v1/agentrt/doctor", "/api/v1/agents", "/api/v1/audit?limit=500", "/api/v1/audit.csv",
		"/api/v1/activity", "/api/v1/agentrt/sessions", "/api/v1/users", "/api/v1/config", "/api/v1/openapi.json", "/api/docs", "/readyz", "/api/v1/retention",
	} {
		owner.get(path)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.MetricsAddress(), http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(&h.seen, res.Body); err != nil {
		h.t.Fatal(err)
	}
	found, err := app.Examine(h.t.Context(), h.config(), func(step link.Step) { fmt.Fprintf(&h.seen, "%+v\n", step) })
	fmt.Fprintf(&h.seen, "%+v %v %+v\n", found, err, h.config())
}

// A device goes through its whole life, and then everything sent and stored is searched.
// Backups, logs and answers must not contain what is needed to act as the service at the
// gateway.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h, l := leakingHouse(t, engine)
		s := h.start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		owner.follow("/api/v1/events") // the stream is searched too
		is := h.pairs(owner)
		l.learn(h, s.DB, "the first device")
		h.tempt(s, owner)
		// An agent repeats the secrets that it has found.
		token := string(l.secrets["the token of the first device"])
		h.runtime.Answer("cto", func(demo.Question) string { return "I found " + token + " and " + gatewayToken })
		s.ask("tell", cto, "What did you find?")
		s.answered("tell")
		owner.get("/api/v1/agentrt/sessions/" + cto + "/messages").want(http.StatusOK)
		h.runtime.Answer("cto", nil)
		a := owner.archived(cto, isWhole)
		owner.get("/api/v1/sessions/" + a.ID + "/messages").want(http.StatusOK)
		owner.get("/api/v1/search?q=found").want(http.StatusOK)
		if text := dump(t, s.DB, "archive_parts"); !bytes.Contains(text, []byte("I found ")) {
			t.Errorf("the archive cannot be searched: %s", text)
		}
		l.look(h, s.DB, "paired")

		h.runtime.RotateToken(is.Device.ID)
		h.runtime.Drop()
		fresh := h.runtime.DeviceToken(is.Device.ID)
		l.secrets["the token that the gateway gave instead"] = []byte(fresh)
		owner.pairingIs("the new token", func(p pairing.Pairing) bool { return p.TokenSince != nil && p.TokenSince.After(is.TokenSince.Time) })
		l.look(h, s.DB, "with another token")

		owner.post(pairingPath+"/rotate", nil).want(http.StatusAccepted)
		then := owner.pairingIs("the next one", func(p pairing.Pairing) bool { return p.Next != nil && p.Next.Request != nil })
		l.look(h, s.DB, "with two devices")
		h.approve(then.Next.Request)
		h.isPaired(owner, then.Next.Device.ID)
		l.learn(h, s.DB, "the second device")
		h.tempt(s, owner)
		l.look(h, s.DB, "rotated")
		s.stop()

		right := h.raw.EncryptionKey
		h.raw.EncryptionKey = "a-wrong-encryption-key-0123456789-abcdef"
		l.secrets["the wrong key"] = []byte(h.raw.EncryptionKey.Reveal())
		if engine == db.SQLite { // the file's companions
			if err := os.Rename(filepath.Join(h.raw.DataDir, "encryption.key"), filepath.Join(t.TempDir(), "away")); err != nil {
				t.Fatal(err)
			}
		}
		s = h.start()
		owner = owner.at(s)
		owner.pairingIs("unreadable", func(p pairing.Pairing) bool { return p.State == pairing.Unreadable })
		owner.post(pairingPath, nil).wantProblem(http.StatusServiceUnavailable, "encryption_key_wrong")
		h.tempt(s, owner)
		owner.send(http.MethodDelete, pairingPath, nil).want(http.StatusOK)
		h.raw.EncryptionKey = right
		h.tempt(s, owner)
		l.look(h, s.DB, "forgotten")
		if len(l.secrets) < 9 || len(l.places) < 100 {
			t.Errorf("searched for only %d secrets in %d places", len(l.secrets), len(l.places))
		}
		for _, leak := range l.found() {
			t.Error(leak)
		}
	})
}

// The search must find a secret in an answer, a log line, a table and a file, in every
// encoding.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h, l := leakingHouse(t, engine)
		s := h.start()
		owner := s.login(ownerEmail)
		planted := []byte("a planted secret \xc3\xa4 of this test")
		l.secrets = map[string][]byte{"what was planted": planted}
		l.look(h, s.DB, "before")
		if leaks := l.found(); len(leaks) > 0 {
			t.Fatalf("found before it was there: %v", leaks)
		}
		for form, text := range forms(planted) {
			l.places = nil
			made := decode[struct{ ID string }](owner.post("/api/v1/tasks", map[string]any{"title": "it is x" + string(text) + "x"}).want(http.StatusCreated))
			l.look(h, s.DB, "planted")
			leaks := strings.Join(l.found(), "\n")
			for _, place := range []string{"answers and logs", "the table tasks"} {
				if !strings.Contains(leaks, place) {
					t.Errorf("%s it is not found in %s: %s", form, place, leaks)
				}
			}
			if engine == db.SQLite && !strings.Contains(leaks, "-wal:") && !strings.Contains(leaks, ".db:") {
				t.Errorf("%s it is not found in the files: %s", form, leaks)
			}
			owner.send(http.MethodDelete, "/api/v1/tasks/"+made.ID, nil).want(http.StatusNoContent)
			h.seen.Reset()
		}
		t.Run("inside of other base64", func(t *testing.T) {
			for n := range 4 {
				for what, alphabet := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64url": base64.URLEncoding} {
					inside := alphabet.EncodeToString(slices.Concat([]byte("abcd")[:n], planted, []byte("and more")))
					search := leakSearch{secrets: l.secrets, places: map[string][]byte{"a text": []byte(inside)}}
					if len(search.found()) == 0 {
						t.Errorf("%s at %d: not found in %s", what, n, inside)
					}
				}
			}
		})
	})
}

// tables returns the names of all tables, including those of later migrations.
func tables(t *testing.T, d *db.DB) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`
	if d.Engine() == db.Postgres {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	}
	rows, err := d.Query(t.Context(), query)
	names, err := db.All(rows, err, func(r db.Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		t.Fatal(err)
	}
	return names
}
