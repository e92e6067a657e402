// Package settings stores the settings that people change in the dashboard: the gateway's address and token, after
// how many days old data goes, and whether holds may change the runtime. What the environment sets takes precedence.
//
// The token is stored encrypted (platform/vault), bound to the address for which it was
// entered. It is never sent to another address, so that nobody can obtain it by pointing
// Wardroom at a server of their own.
package settings

import (
	"fmt"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/vault"
)

// Errors that this package returns.
var (
	// ErrFixed means that the environment determines a setting. The problem names the variable.
	ErrFixed = fault.New(fault.Conflict, "setting_in_environment", "This setting is determined by Wardroom's environment.")
	// ErrStale means that the settings changed since the caller read them.
	ErrStale = fault.New(fault.Stale, "settings_changed", "The settings have changed since you read them.")
	// ErrNoKey means that no encryption key is configured, so no token can be stored.
	ErrNoKey = vault.FaultNoKey
	// ErrKeyFile means that the encryption key file is invalid or unreadable.
	ErrKeyFile = vault.FaultKeyFile
)

// Source says where the value of a setting comes from.
type Source string

// Sources of a setting.
const (
	None        Source = "none"        // it has no value
	Environment Source = "environment" // an environment variable, the .env file or a flag
	Stored      Source = "stored"      // the dashboard or the API
	Demo        Source = "demo"        // the demo, with its built-in gateway
	Default     Source = "default"     // Wardroom's own value
)

// Settings are the settings that can be changed while Wardroom runs.
type Settings struct {
	Gateway   Gateway     `json:"gateway"`
	Holds     Holds       `json:"holds"`
	Retention []Days      `json:"retention" doc:"After how many days old data is archived or deleted."`
	UpdatedAt *clock.Time `json:"updated_at" doc:"When a setting was last changed here; null if never."`
	Version   int64       `json:"version" doc:"Increases with each change."`
}

// Holds says what holding an agent may do.
type Holds struct {
	InRuntime bool `json:"in_runtime" doc:"Whether Wardroom may hold agents in the runtime: it changes the agent's model in the gateway's configuration and disables its jobs, and restores both on release."`
}

// HoldsChange is a partial update of what holding an agent may do.
type HoldsChange struct {
	InRuntime *bool `json:"in_runtime,omitempty" doc:"true requires your own password."`
}

// Gateway is the connection to the agent runtime's gateway.
type Gateway struct {
	URL   Address `json:"url"`
	Token Token   `json:"token"`
}

// Address is the gateway's address and its origin.
type Address struct {
	Value    string `json:"value" doc:"Address in use; empty if none is set."`
	Source   Source `json:"source" enum:"none,environment,stored,demo" doc:"environment: AGENTRT_GATEWAY_URL or its flag, which take precedence. stored: set here. demo: the demo's own gateway."`
	Editable bool   `json:"editable" doc:"Whether it can be changed here."`
	Detail   string `json:"detail" doc:"Why it cannot be changed or used; empty if it can."`
}

// Token says whether the gateway's shared token is set. It contains nothing of the token.
type Token struct {
	Set      bool   `json:"set" doc:"Whether a token is set. The token itself is never returned."`
	Source   Source `json:"source" enum:"none,environment,stored,demo" doc:"environment: AGENTRT_GATEWAY_TOKEN or its flag, which take precedence. stored: set here. demo: the demo's own gateway."`
	Editable bool   `json:"editable" doc:"Whether it can be changed here."`
	Detail   string `json:"detail" doc:"Why it cannot be changed or used; empty if it can."`
}

// Change is a partial update of the settings. Omitted fields keep their values.
type Change struct {
	Gateway         GatewayChange   `json:"gateway,omitzero"`
	Retention       RetentionChange `json:"retention,omitzero"`
	Holds           HoldsChange     `json:"holds,omitzero"`
	CurrentPassword *string         `json:"current_password,omitempty" format:"password" doc:"Your own password. Required with each value of the gateway, and to allow holds in the runtime."`
}

// GatewayChange is a partial update of the gateway's address and token.
type GatewayChange struct {
	URL   patch.Field[string] `json:"url,omitzero" maxLength:"2000" example:"ws://127.0.0.1:18789" doc:"Address of the gateway: ws, wss, http or https. null disconnects it and deletes the stored token."`
	Token patch.Field[string] `json:"token,omitzero" format:"password" maxLength:"1000" doc:"The gateway's shared token. Send it with each change of the address, because a stored token is never sent to another address. null means that the gateway requires none."`
}

func (c GatewayChange) empty() bool { return !c.URL.Given && !c.Token.Given }

// The variables that determine the gateway's settings.
const (
	urlVariable         = "AGENTRT_GATEWAY_URL"
	tokenVariable       = "AGENTRT_GATEWAY_TOKEN"
	deviceTokenVariable = "AGENTRT_DEVICE_TOKEN" //nolint:gosec // a name, not a token
)

// Fixed holds the settings that the environment determines.
type Fixed struct {
	URL         string // AGENTRT_GATEWAY_URL
	Token       string // AGENTRT_GATEWAY_TOKEN; a secret
	DeviceToken bool   // whether AGENTRT_DEVICE_TOKEN is set
	Demo        bool   // the demo determines them, with its own gateway
}

// all reports whether nothing can be changed here.
func (f Fixed) all() bool { return f.url() != "" && f.token() != "" }

// url returns the variable because of which the address cannot be changed here, or an
// empty string. A token from the environment is sent only to an address from there.
func (f Fixed) url() string {
	switch {
	case f.URL != "":
		return urlVariable
	case f.Token != "":
		return tokenVariable
	case f.DeviceToken:
		return deviceTokenVariable
	}
	return ""
}

// token returns the variable because of which the token cannot be changed here, or an
// empty string.
func (f Fixed) token() string {
	switch {
	case f.Token != "" || f.Demo:
		return tokenVariable
	case f.URL == "" && f.DeviceToken:
		return deviceTokenVariable
	}
	return ""
}

// why explains why a variable prevents a change.
func (f Fixed) why(variable, of string) string {
	switch {
	case f.Demo:
		return "The demo uses its own gateway."
	case f.URL == "":
		return fmt.Sprintf("%s is set in Wardroom's environment, and its token is sent only to an address from there. Set %s too, or remove %s, and restart Wardroom.", variable, urlVariable, variable)
	}
	return fmt.Sprintf("%s in Wardroom's environment, .env file or flags determines the %s. Remove it there and restart Wardroom to change the %s here.", variable, of, of)
}

// refuse returns ErrFixed if the change is about something that the environment determines.
func (f Fixed) refuse(c GatewayChange) error {
	if v := f.url(); c.URL.Given && v != "" {
		return ErrFixed.With("%s", f.why(v, "address")).Fact("variable", v)
	}
	if v := f.token(); c.Token.Given && v != "" {
		return ErrFixed.With("%s", f.why(v, "token")).Fact("variable", v)
	}
	return nil
}

// stored is the row of the database.
type stored struct {
	url       string
	sealed    string // the encrypted token; empty if there is none
	tokenFor  string // the address to which the token may be sent
	holds     bool   // whether holds may change the runtime
	updatedAt *clock.Time
	version   int64
}

// tokenPlace returns the name that binds an encrypted token to its address. A token in a
// row whose address was changed cannot be decrypted.
func tokenPlace(address string) string { return "settings/gateway-token/" + address }

// address returns the gateway's address.
func (f Fixed) address(w stored) string {
	if f.url() != "" {
		return f.URL
	}
	return w.url
}

// hasToken reports whether a token for the gateway's address is stored.
func (f Fixed) hasToken(w stored) bool {
	at := f.address(w)
	return f.token() == "" && at != "" && w.sealed != "" && w.tokenFor == at
}

// endpoint returns the gateway's address and token. If the stored token cannot be
// decrypted, it also returns an error, and the endpoint has no token.
func (f Fixed) endpoint(w stored, keys vault.Source) (link.Endpoint, error) {
	e := link.Endpoint{
		URL: f.address(w), Token: f.Token,
		URLEditable: f.url() == "", TokenEditable: f.token() == "",
	}
	if !f.hasToken(w) {
		return e, nil
	}
	v, err := keys.Find()
	if err == nil {
		var token []byte
		token, err = v.Open(tokenPlace(w.tokenFor), w.sealed)
		e.Token = string(token)
	}
	if err != nil {
		e.Problem = unreadable(err)
	}
	return e, err
}

// target returns the address that a change results in, and an error that names the
// rejected inputs. hasToken says whether a token is in use now.
func (c GatewayChange) target(current string, hasToken bool) (string, error) {
	var bad fault.Fields
	to := current
	if c.URL.Given {
		to = ""
		if c.URL.Value != nil {
			to = strings.TrimSpace(*c.URL.Value)
		}
		if to == "" && c.URL.Value != nil {
			bad.Add("/gateway/url", "Enter the gateway's address, such as ws://127.0.0.1:18789.")
		}
		if to != "" && link.ShownURL(to) == link.ShownURL(current) {
			to = current // the same address in another form, for which the token stays
		}
	}
	switch t := c.Token.Value; {
	case c.Token.Given && t != nil && !isToken(*t):
		bad.Add("/gateway/token",
			"The token must consist of visible ASCII characters. Copy it again, without surrounding text.")
	case c.Token.Given && t != nil && to == "":
		bad.Add("/gateway/token", "Set the address together with the token.")
	case to != current && to != "" && !c.Token.Given && hasToken:
		bad.Add("/gateway/token", "Enter the token again: the stored one is never sent to another address.")
	}
	return to, bad.Err()
}

// isToken reports whether a text can be sent as a token.
func isToken(t string) bool {
	return t != "" && !strings.ContainsFunc(t, func(r rune) bool { return r < '!' || r > '~' })
}
