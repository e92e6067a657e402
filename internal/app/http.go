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

// Health is the response of GET /health. The response is the same whether or not a
// gateway is connected.
type Health struct {
	Status    string     `json:"status" enum:"ok" doc:"Always ok."`
	Timestamp clock.Time `json:"timestamp"`
	Version   string     `json:"version"`
}

// PublicConfig holds the settings that everyone may read.
type PublicConfig struct {
	Version             string `json:"version"`
	Timezone            string `json:"timezone" doc:"Time zone in which days begin and end."`
	RegistrationEnabled bool   `json:"registration_enabled" doc:"Whether people can register their own accounts."`
	SetupRequired       bool   `json:"setup_required" doc:"Whether the owner account must still be created."`
	Demo                bool   `json:"demo" doc:"Whether this is the demo, with built-in agents."`
}

// Warning is something in Wardroom's surroundings that people should change.
type Warning struct {
	Kind     string     `json:"kind" enum:"unlisted_proxy" doc:"unlisted_proxy: an address forwards requests like a proxy, but its X-Forwarded-For header is not used."`
	Address  string     `json:"address" example:"10.0.0.7"`
	Text     string     `json:"text" doc:"What is wrong and what to do, in sentences."`
	FirstAt  clock.Time `json:"first_at" doc:"When this process first noticed it."`
	LastAt   clock.Time `json:"last_at"`
	Requests int64      `json:"requests" doc:"Number of requests that showed it."`
}

// Warnings is the response of GET /warnings.
type Warnings struct {
	Warnings []Warning `json:"warnings" nullable:"false" doc:"The latest first."`
}

// mountPublic adds the public routes that do not belong to a feature, and the list of warnings.
func (a *App) mountPublic() {
	web.Get(a.API, "/health", actor.Public, "Check that Wardroom answers", a.handleHealth, web.Root(), web.Quiet())
	web.Get(a.API, "/warnings", actor.ManageSettings, "List the warnings about Wardroom's surroundings",
		a.handleWarnings, web.Quiet(),
		web.Describe("Lists what this process noticed since its start and what to change: addresses that forward requests like a proxy, but are not in TRUSTED_PROXIES. Anyone can send such requests, so the list has at most 16 addresses."))
	web.Get(a.API, "/config", actor.Public, "Get the public settings", a.handleConfig, web.Quiet())
	a.mountProbes()
}

func (a *App) handleHealth(context.Context, *struct{}) (*struct{ Body Health }, error) {
	return &struct{ Body Health }{Health{Status: "ok", Timestamp: clock.At(a.opts.Now()), Version: Version}}, nil
}

func (a *App) handleConfig(ctx context.Context, _ *struct{}) (*struct{ Body PublicConfig }, error) {
	owned, err := a.Accounts.HasOwner(ctx)
	return &struct{ Body PublicConfig }{PublicConfig{
		Version: Version, Timezone: a.cfg.Timezone.String(), RegistrationEnabled: a.cfg.RegistrationEnabled,
		SetupRequired: !owned, Demo: a.opts.Demo,
	}}, err
}

func (a *App) handleWarnings(context.Context, *struct{}) (*struct{ Body Warnings }, error) {
	list := []Warning{}
	for _, u := range a.API.Unlisted() {
		list = append(list, Warning{
			"unlisted_proxy", u.Address.String(), u.Text(), clock.At(u.First), clock.At(u.Last), u.Requests,
		})
	}
	return &struct{ Body Warnings }{Warnings{list}}, nil
}

// mountDashboard adds the routes for the dashboard. Its page is served at / and at
// every path that has no other route; its files have routes of their own.
func (a *App) mountDashboard() error {
	d, err := dashboard.New(a.cfg.BasePath())
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

// errNoFile is the response to a request for a dashboard file that this version does
// not have. Such requests come from pages that were opened before an update.
var errNoFile = fault.New(fault.NotFound, "file_unknown", "This dashboard file does not exist. Reload the page.")
