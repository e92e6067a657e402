package app

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/web"
)

// Health says that the service lives. It does not depend on the gateway.
type Health struct {
	Status    string     `json:"status" enum:"ok" doc:"ok while the service answers."`
	Timestamp clock.Time `json:"timestamp"`
	Version   string     `json:"version"`
}

// PublicConfig is what anyone may know of the settings.
type PublicConfig struct {
	Version             string `json:"version"`
	Timezone            string `json:"timezone" doc:"In which days begin and end."`
	RegistrationEnabled bool   `json:"registration_enabled" doc:"Whether people may make accounts for themselves."`
	SetupRequired       bool   `json:"setup_required" doc:"Whether there is no owner yet."`
	Demo                bool   `json:"demo" doc:"Whether the agents are the built-in demo."`
}

// mountPublic adds the routes that belong to no feature.
func (a *App) mountPublic() {
	web.Get(a.API, "/health", actor.Public, "Whether the service lives", a.handleHealth, web.Root(), web.Quiet())
	web.Get(a.API, "/config", actor.Public, "What anyone may know of the settings", a.handleConfig, web.Quiet())
	a.mountProbes()
	a.API.Raw("GET /{$}", actor.Public, http.HandlerFunc(a.serveWelcome))
}

func (a *App) handleHealth(context.Context, *struct{}) (*struct{ Body Health }, error) {
	return &struct{ Body Health }{Health{Status: "ok", Timestamp: clock.At(a.opts.Now()), Version: Version}}, nil
}

func (a *App) handleConfig(ctx context.Context, _ *struct{}) (*struct{ Body PublicConfig }, error) {
	owned, err := a.Accounts.HasOwner(ctx)
	return &struct{ Body PublicConfig }{PublicConfig{
		Version: Version, Timezone: a.cfg.Timezone.String(), RegistrationEnabled: a.cfg.RegistrationEnabled, SetupRequired: !owned, Demo: a.opts.Demo,
	}}, err
}

//go:embed welcome.html
var welcomeText string

// serveWelcome is the page at / until there is a dashboard.
func (a *App) serveWelcome(w http.ResponseWriter, r *http.Request) {
	owned, unknown := a.Accounts.HasOwner(r.Context()) // without a database the page is still of use
	page, err := template.New("welcome").Parse(welcomeText)
	var body bytes.Buffer
	if err == nil {
		err = page.Execute(&body, map[string]any{"Version": Version, "Demo": a.opts.Demo, "Setup": unknown == nil && !owned})
	}
	if err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(body.Bytes()) // the caller may have left
}
