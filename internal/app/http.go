package app

import (
	"context"
	"net/http"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
	dashboard "wardroom/web"
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

// mountDashboard adds what the binary carries for browsers: the page at / and
// wherever no route is, and the files that it loads.
func (a *App) mountDashboard() error {
	d, err := dashboard.New()
	if err != nil {
		return err
	}
	a.API.Raw("GET /{$}", actor.Public, http.HandlerFunc(d.ServePage), web.Quiet())
	file := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.ServeFile(w, r) {
			web.Fail(w, r, errNoFile)
		}
	})
	a.API.Raw("GET /assets/{name}", actor.Public, file, web.Quiet())
	for _, p := range d.Paths() {
		if !strings.HasPrefix(p, "/assets/") {
			a.API.Raw("GET "+p, actor.Public, file, web.Quiet())
		}
	}
	a.API.Pages(d.ServePage)
	return nil
}

// errNoFile is for whoever has the page of another build open: what it loads
// later is gone.
var errNoFile = fault.New(fault.NotFound, "file_unknown", "There is no such file of the dashboard; reload the page.")
