package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/vault"
)

const key = "a-key-of-this-test-which-is-long-enough-A"

// sealedFor returns a row with a token for an address.
func sealedFor(t *testing.T, url, tokenFor string) stored {
	t.Helper()
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return stored{url: url, sealed: v.Seal(tokenPlace(tokenFor), []byte("stored-token")), tokenFor: tokenFor, version: 2}
}

// The environment wins, and no token reaches an address for which it was not meant.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	const here, there = "ws://here:18789", "ws://there:18789"
	for name, c := range map[string]struct {
		fixed      Fixed
		row        stored
		url, token string
		editable   string // which of "url" and "token" people may change
	}{
		"nothing":                        {Fixed{}, stored{}, "", "", "url token"},
		"stored":                         {Fixed{}, sealedFor(t, here, here), here, "stored-token", "url token"},
		"the environment":                {Fixed{URL: there, Token: "t"}, sealedFor(t, here, here), there, "t", ""},
		"its address, a stored token":    {Fixed{URL: here}, sealedFor(t, "", here), here, "stored-token", "token"},
		"its address, a token for other": {Fixed{URL: there}, sealedFor(t, "", here), there, "", "token"},
		"its token without an address":   {Fixed{Token: "t"}, sealedFor(t, here, here), "", "t", ""},
		"its device token alone":         {Fixed{DeviceToken: true}, sealedFor(t, here, here), "", "", ""},
		"its address and device token":   {Fixed{URL: here, DeviceToken: true}, sealedFor(t, "", here), here, "stored-token", "token"},
		"the demo":                       {Fixed{URL: there, Token: "t", Demo: true}, stored{}, there, "t", ""},
	} {
		e, err := c.fixed.endpoint(c.row, vault.Source{Key: key})
		if err != nil || e.URL != c.url || e.Token != c.token {
			t.Errorf("%s: %q, %q, %v", name, e.URL, e.Token, err)
		}
		if e.URLEditable != strings.Contains(c.editable, "url") || e.TokenEditable != strings.Contains(c.editable, "token") {
			t.Errorf("%s: editable %t, %t", name, e.URLEditable, e.TokenEditable)
		}
		for field, change := range map[string]GatewayChange{"url": {URL: patch.Set(here)}, "token": {Token: patch.Set("x")}} {
			err := c.fixed.refuse(change)
			if may := strings.Contains(c.editable, field); may != (err == nil) || !may && !strings.Contains(fault.Of(err).Facts["variable"].(string), "AGENTRT_") { //nolint:errcheck // a wrong type fails the test
				t.Errorf("%s: a change of the %s says %v", name, field, err)
			}
		}
	}
}

// Whoever changes the address in the database must not get the token.
func TestTokenIsBoundToItsAddress(t *testing.T) {
	t.Parallel()
	row := sealedFor(t, "ws://here:18789", "ws://here:18789")
	row.url, row.tokenFor = "ws://evil:18789", "ws://evil:18789"
	e, err := Fixed{}.endpoint(row, vault.Source{Key: key})
	if !errors.Is(err, vault.ErrBroken) || e.Token != "" {
		t.Errorf("token %q, %v", e.Token, err)
	}
}

// A change of the address must not take the stored token along.
func TestTarget(t *testing.T) {
	t.Parallel()
	const here, there = "ws://here:18789", "ws://there:18789"
	for name, c := range map[string]struct {
		change  GatewayChange
		current string
		has     bool
		to, bad string
	}{
		"nothing":                    {GatewayChange{}, here, true, here, ""},
		"another address alone":      {GatewayChange{URL: patch.Set(there)}, here, true, there, "/gateway/token"},
		"and without a stored token": {GatewayChange{URL: patch.Set(there)}, here, false, there, ""},
		"with its token":             {GatewayChange{URL: patch.Set(" " + there), Token: patch.Set("t")}, here, true, there, ""},
		"with no token":              {GatewayChange{URL: patch.Set(there), Token: patch.Clear[string]()}, here, true, there, ""},
		"the same address":           {GatewayChange{URL: patch.Set(here)}, here, true, here, ""},
		"removed":                    {GatewayChange{URL: patch.Clear[string]()}, here, true, "", ""},
		"empty":                      {GatewayChange{URL: patch.Set(" ")}, here, true, "", "/gateway/url"},
		"a token without an address": {GatewayChange{Token: patch.Set("t")}, "", false, "", "/gateway/token"},
		"a token with a line break":  {GatewayChange{Token: patch.Set("t\n")}, here, false, here, "/gateway/token"},
	} {
		to, err := c.change.target(c.current, c.has)
		bad := ""
		if f := fault.Of(err); f != nil {
			bad = f.Fields[0].Pointer
		}
		if to != c.to || bad != c.bad {
			t.Errorf("%s: to %q, rejected %q", name, to, bad)
		}
	}
}

// A token that can't be read must not look like one that was never set.
func TestUnreadableTokenIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.key")
	if err := os.WriteFile(file, []byte(strings.Repeat("a", 43)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	const here = "ws://here:18789"
	e, err := Fixed{}.endpoint(sealedFor(t, here, here), vault.Source{File: file})
	if err == nil || e.Token != "" || !strings.Contains(e.Problem, "could not decrypt the stored token: every user of this machine may read the key file "+file) || !strings.Contains(e.Problem, "mode 0644") {
		t.Errorf("%+v, %v", e, err)
	}
	if strings.Contains(e.Problem, "enter the token again") {
		t.Errorf("it advises to enter the token, which can't be stored: %s", e.Problem)
	}
}
