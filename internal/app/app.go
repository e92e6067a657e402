// Package app assembles the service from its features. It is the only package that
// imports all of them.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"wardroom/internal/account"
	"wardroom/internal/agent"
	"wardroom/internal/approval"
	"wardroom/internal/archive"
	"wardroom/internal/dispatch"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/mirror"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/redact"
	"wardroom/internal/platform/web"
	"wardroom/internal/receipt"
	"wardroom/internal/retention"
	"wardroom/internal/schedule"
	"wardroom/internal/schema"
	"wardroom/internal/search"
	"wardroom/internal/session"
	"wardroom/internal/settings"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/trouble"
	"wardroom/internal/usage"
)

// Version is the version of Wardroom. A release sets it to its tag (-ldflags="-X wardroom/internal/app.Version=1.2.3").
var Version = "0.1.0"

// Schema returns the database migrations of this version.
func Schema() db.Schema { return db.Schema{Files: schema.FS(), Program: Version} }

// grace is how long open requests may take to finish after Wardroom starts to shut
// down.
const grace = 15 * time.Second

// Options holds the options for New that do not come from Wardroom's settings. The
// command `wardroom serve` needs only OnSetup.
type Options struct {
	Demo bool             // reported in the public configuration
	Cost int              // bcrypt cost; 0 is the default. Tests use the minimum
	Now  func() time.Time // nil is the real clock
	// OnSetup receives every new setup token until there is an owner. If it is nil,
	// no tokens are created.
	OnSetup func(SetupOffer)
	// Backoff sets the delays between connection attempts to the gateway. The zero
	// value is the default.
	Backoff link.Backoff
	// DatabaseWait is how long New tries to connect to PostgreSQL; 0 is the default.
	DatabaseWait time.Duration
}

// App is the assembled service. New builds it and Run runs it.
type App struct {
	Accounts  *account.Service
	Tasks     *task.Service
	Search    *search.Service
	Standups  *standup.Service
	Agents    *agent.Service
	Sessions  *session.Service
	Inbox     *inbox.Service
	Archive   *archive.Service
	Usage     *usage.Service
	Events    *event.Service
	Retention *retention.Service
	Schedules *schedule.Service
	Pairing   *pairing.Service
	Settings  *settings.Service
	Dispatch  *dispatch.Service
	Receipts  *receipt.Service
	Limits    *limit.Service
	Trouble   *trouble.Service
	Checks    *trouble.Checks
	Models    *trouble.Models
	Holds     *hold.Service
	Approvals *approval.Service
	Gateway   *gateway.Client
	Mirror    *mirror.Follower
	Queue     *job.Queue // timers and short jobs
	// StandupQueue, DispatchQueue and StopQueue have their own workers, because their
	// jobs wait for agents.
	StandupQueue  *job.Queue
	DispatchQueue *job.Queue // waits for runs of dispatched tasks, which can take hours
	StopQueue     *job.Queue // stops runs that nobody waits for any more
	HoldQueue     *job.Queue // holds and releases agents in the runtime
	DB            *db.DB
	API           *web.API

	cfg      config.Config
	opts     Options
	log      *slog.Logger
	redact   *redact.Redactor // for what agents write
	metrics  *metrics         // nil when METRICS_ADDR is not set
	scraped  net.Listener     // for the metrics; nil without them
	agentURL *gateway.AgentURL
}

// New opens the database, migrates it and assembles the features. A caller that does
// not call Run must call Close.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, opts Options) (*App, error) {
	if opts.Now == nil {
		opts.Now = clock.Now
	}
	client, err := gateway.New(gatewayOptions(cfg, log, opts.Backoff))
	if err != nil {
		return nil, fmt.Errorf("invalid AGENTRT_GATEWAY_* settings: %w", err)
	}
	d, err := openDatabase(ctx, log, cfg.DatabaseURL.Reveal(), cmp.Or(opts.DatabaseWait, databaseWait), db.Own)
	if err != nil {
		return nil, err
	}
	if c := d.StartCheck(); c.Ran {
		log.InfoContext(ctx, "database checked after an unclean shutdown", "complete", c.Complete, "took", c.Took)
	}
	d.LogOutages(log)
	a := &App{cfg: cfg, opts: opts, log: log, DB: d, Gateway: client}
	if err := a.prepare(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return a, nil
}

// gatewayOptions returns the options for the gateway client.
func gatewayOptions(cfg config.Config, log *slog.Logger, backoff link.Backoff) link.Options {
	opt := link.Options{
		URL: cfg.GatewayURL, Token: cfg.GatewayToken.Reveal(), Scopes: cfg.GatewayScopes, Timeout: cfg.GatewayTimeout,
		DeviceKey: cfg.DeviceKey.Reveal(), DeviceToken: cfg.DeviceToken.Reveal(), InsecureTLS: cfg.GatewayInsecureTLS,
		Version: Version, Log: log, Backoff: backoff,
	}
	if cfg.GatewayCA != nil {
		opt.Roots = cfg.GatewayCA.Pool
	}
	for _, pin := range cfg.GatewayPins {
		opt.Pins = append(opt.Pins, pin)
	}
	return opt
}

// prepare migrates the database, assembles the features and declares the routes. If
// the settings name an owner, it also creates the owner account.
func (a *App) prepare(ctx context.Context) error {
	done, err := a.DB.Migrate(ctx, Schema())
	if err != nil {
		return err
	}
	if len(done) > 0 {
		a.log.InfoContext(ctx, "database migrated", "files", done)
	}
	if err := a.wire(); err != nil {
		return err
	}
	// The gateway client needs the stored settings before it connects for the first time.
	if err := a.Settings.Load(ctx); err != nil {
		return err
	}
	if err := a.wirePairing(ctx); err != nil {
		return err
	}
	if err := a.mount(); err != nil {
		return err
	}
	created, warnings, err := a.Accounts.Bootstrap(ctx, a.cfg.BootstrapOwnerEmail, a.cfg.BootstrapOwnerPassword.Reveal())
	for _, w := range warnings {
		a.log.WarnContext(ctx, w) //nolint:sloglint // the messages come from the account service
	}
	if err != nil {
		return err
	}
	if created {
		a.log.InfoContext(ctx, "owner created", "email", a.cfg.BootstrapOwnerEmail)
		return nil
	}
	owned, err := a.Accounts.HasOwner(ctx)
	if err == nil && !owned {
		a.log.WarnContext(ctx, "no owner account yet", "fix",
			"open the setup link in the terminal; or set BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD and restart; "+
				"or run `wardroom user add EMAIL --role admin` and `wardroom user owner EMAIL`")
	}
	return err
}

// wire creates the services, connects them to each other and registers their
// background work.
func (a *App) wire() error {
	cfg, now := a.cfg, a.opts.Now
	a.Queue = job.New(a.DB, a.log, now)
	var logins func(string)
	if cfg.MetricsAddr != "" {
		a.metrics = newMetrics(a.measured())
		a.Queue.Observe, logins = a.metrics.job, a.metrics.login
	}
	a.Accounts = &account.Service{
		DB: a.DB, Now: now, Secret: []byte(cfg.JWTSecret.Reveal()), TokenLife: cfg.JWTExpiresIn, Cost: a.opts.Cost,
		Log: a.log, RegistrationOpen: cfg.RegistrationEnabled, Observe: logins,
	}
	a.redact = redact.New()
	a.Inbox = &inbox.Service{DB: a.DB, Now: now}
	a.Tasks = &task.Service{DB: a.DB, Now: now, Inbox: a.Inbox, Zone: cfg.Timezone, Redact: a.redact}
	a.Search = &search.Service{DB: a.DB}
	a.Events = &event.Service{
		DB: a.DB, Now: now, Log: a.log, Current: a.currentStates, Tasks: a.Tasks.CardsByID,
	}
	a.wireRuntime()
	if err := checkFields(a.Agents); err != nil {
		return err
	}
	return a.plan()
}

// checkFields returns an error unless every exported field of a service is set. A service that was created before one
// that it uses would otherwise fail only when it is called.
func checkFields(service any) error {
	v := reflect.ValueOf(service).Elem()
	for f, value := range v.Fields() {
		if f.IsExported() && value.IsZero() {
			return fmt.Errorf("%s has no %s", v.Type(), f.Name)
		}
	}
	return nil
}

// wireRuntime creates the services that use the agent runtime.
func (a *App) wireRuntime() {
	cfg, now := a.cfg, a.opts.Now
	a.Mirror, a.Settings = &mirror.Follower{Runtime: a.Gateway}, a.newSettings()
	a.agentURL = &gateway.AgentURL{Public: cfg.PublicURL, Client: a.Gateway}
	a.wireHolds()
	a.Usage = &usage.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: now, Zone: cfg.Timezone, Patience: cfg.GatewayTimeout,
		Lists: &a.Mirror.Sessions, Events: a.Events, Tasks: a.Tasks,
	}
	a.Sessions = &session.Service{
		DB: a.DB, Runtime: a.Gateway, Controls: a.Gateway, Log: a.log, Now: now, Patience: cfg.GatewayTimeout,
		StalledAfter: cfg.StalledAfter, Lists: &a.Mirror.Sessions, Events: a.Events, Inbox: a.Inbox,
		Usage: a.Usage, Holds: a.Holds,
	}
	a.Usage.Changed, a.Usage.Read = a.Sessions.LedgerGrown, a.Sessions.WatchLoops
	a.Archive = &archive.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: now, Lists: &a.Mirror.Sessions,
	}
	a.wireSchedules()
	a.wireApprovals()
	a.wireTrouble()
	a.Mirror.Readers = []func(mirror.Event){
		a.Sessions.Receive, a.Schedules.Receive, a.Usage.Receive, a.Approvals.Receive, a.Models.Receive,
	}
	stops := a.newStopper()
	a.wireDispatch(stops)
	a.wireReceipts()
	a.StandupQueue = a.newQueue(standupWorkers)
	a.Standups = &standup.Service{
		DB: a.DB, Jobs: a.StandupQueue, Stops: stops, Runtime: a.Gateway, Log: a.log, Now: now, Redact: a.redact,
		Accounts: a.Accounts, Holds: a.Holds, Tasks: a.Tasks, Usage: a.Usage, Sessions: a.Sessions, Schedules: a.Schedules,
		Archive: a.Archive, Receipts: a.Receipts, Dispatches: a.Dispatch, Inbox: a.Inbox,
		Facilitator: cfg.StandupFacilitator, Participants: cfg.StandupParticipants, Zone: cfg.Timezone,
		AgentTimeout: cfg.StandupAgentTimeout, Deadline: cfg.StandupDeadline,
		Grace: cfg.StandupGatewayGrace, Patience: cfg.GatewayTimeout,
		Timetable: a.Gateway, URL: a.agentURL,
		StartGrace: cfg.StandupStartGrace, Fallback: cfg.StandupFallback,
	}
	a.Tasks.EndBlockers, a.Schedules.StartsStandup = a.Standups.EndDecidedBlockers, a.Standups.StartsStandup
	a.StandupQueue.Kinds[standup.JobKind] = a.Standups.Kind()
	a.StandupQueue.Kinds[standup.FallbackKind] = a.Standups.Fallbacks()
	a.wireLimits()
	a.Agents = &agent.Service{
		DB: a.DB, Log: a.log, Runtime: a.Gateway, Now: now,
		Accounts: a.Accounts, Holds: a.Holds, Tasks: a.Tasks, Usage: a.Usage, Sessions: a.Sessions, Schedules: a.Schedules,
		Receipts: a.Receipts, Dispatch: a.Dispatch, Standups: a.Standups,
	}
}

// plan registers the timers of the main queue. The names of the timers are keys in
// the database and must not change.
func (a *App) plan() error {
	now := a.opts.Now
	a.Retention = &retention.Service{
		DB: a.DB, Jobs: a.Queue, Log: a.log, Now: now, Zone: a.cfg.Timezone, Policies: a.policies(), Days: a.Settings.Days,
	}
	a.Settings.Configured = a.configuredDays()
	nightly, err := a.Retention.Timer()
	if err != nil {
		return fmt.Errorf("TIMEZONE: %w", err)
	}
	a.Queue.Kinds[retention.JobKind] = a.Retention.Kind()
	a.Queue.Timers = []job.Timer{
		{Name: "close standups that nobody ran", Every: time.Minute, Do: a.Standups.CloseUnrun},
		{Name: "end blockers whose tasks continue", Every: 10 * time.Second, Do: a.Standups.EndClearedBlockers},
		{Name: "resolve items of tasks that are done", Every: 10 * time.Second, Do: a.Dispatch.ResolveStale},
		{Name: "report missed standups", Every: time.Minute, Do: a.Standups.CheckMissed},
		{Name: "update slots of scheduled jobs", Every: 5 * time.Second, Do: a.Schedules.Judge},
		{Name: "report tasks that stay blocked", Every: time.Minute, Do: a.Tasks.WatchBlocked},
		{Name: "make receipts of tasks", Every: 5 * time.Second, Do: a.Receipts.Refresh},
		{Name: "report tasks that stay in review", Every: 10 * time.Second, Do: a.Tasks.WatchReviews},
		{Name: "index texts of new tasks", Every: 5 * time.Second, Do: a.Tasks.IndexTexts},
		{Name: "end periods of limits", Every: 10 * time.Second, Do: a.Limits.EndPeriods},
		{Name: "end leases of tasks", Every: 5 * time.Second, Do: a.Tasks.EndLeases},
		{Name: "end snoozes of the inbox", Every: 5 * time.Second, Do: a.Inbox.EndSnoozes},
		{Name: "end questions of agents and deliver answers", Every: 5 * time.Second, Do: a.Approvals.Tend},
		{Name: "continue holds of agents", Every: 5 * time.Second, Do: a.Holds.Continue},
		{Name: "report what will soon keep agents from working", Every: 5 * time.Minute, Do: a.Checks.Run},
		{Name: "purge failed logins", Every: 10 * time.Minute, Do: a.Accounts.PurgeLoginFailures},
		{
			Name: "purge idempotency keys", Every: 10 * time.Minute,
			Do: func(ctx context.Context) error { return once.Purge(ctx, a.DB, now()) },
		},
		{Name: "purge set-up tokens", Every: 10 * time.Minute, Do: a.Accounts.PurgeExpired},
		nightly,
	}
	return nil
}

// wireSchedules creates the service for scheduled jobs.
func (a *App) wireSchedules() {
	cfg, now := a.cfg, a.opts.Now
	a.Schedules = &schedule.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: now, Redact: a.redact, Zone: cfg.Timezone, Grace: cfg.ScheduleGrace,
		Patience: cfg.GatewayTimeout, Inbox: a.Inbox, Events: a.Events, Holds: a.Holds, Tasks: a.Tasks,
		Usage: a.Usage,
	}
}

// mount declares every route.
func (a *App) mount() error {
	var observe func(web.Observed)
	if a.metrics != nil {
		observe = a.metrics.request
	}
	a.API = web.New(web.Options{
		Title: "Wardroom", Version: Version, DB: a.DB, Log: a.log, Authenticate: a.Accounts.Authenticate, Now: a.opts.Now,
		CORSOrigin: a.cfg.CORSOrigin, TrustedProxies: a.cfg.TrustedProxies, BasePath: a.cfg.BasePath(), Observe: observe,
		Description: "The operations service for a team of AI agents: a task board, daily standups, and the agents, sessions and spend of the agent runtime.",
	})
	a.mountPublic()
	a.Accounts.Mount(a.API)
	a.Tasks.Mount(a.API)
	a.Search.Mount(a.API)
	a.Standups.Mount(a.API)
	a.Agents.Mount(a.API)
	a.Holds.Mount(a.API)
	a.Pairing.Mount(a.API)
	a.Settings.Mount(a.API)
	a.Sessions.Mount(a.API)
	a.Archive.Mount(a.API)
	a.Schedules.Mount(a.API)
	a.Dispatch.Mount(a.API)
	a.Receipts.Mount(a.API)
	a.Approvals.Mount(a.API)
	a.Inbox.Mount(a.API)
	a.Usage.Mount(a.API)
	a.Limits.Mount(a.API)
	a.Events.Mount(a.API)
	a.Retention.Mount(a.API)
	a.newTools().Mount(a.API)
	return a.mountDashboard()
}

// Close closes the database and the metrics listener. Run calls Close before it
// returns.
func (a *App) Close() error {
	err := a.DB.Close()
	if a.scraped != nil {
		_ = a.scraped.Close() // Run may have closed it already
	}
	return err
}

// Handler returns the HTTP handler for all routes.
func (a *App) Handler() http.Handler { return a.API.Handler() }

// ErrListen means that HOST and PORT name an address on which Wardroom can't listen.
var ErrListen = errors.New("can't serve")

// Listen opens and returns the listener for the API. If METRICS_ADDR is set, it also
// opens the listener for the metrics.
func (a *App) Listen(ctx context.Context) (net.Listener, error) {
	address := net.JoinHostPort(a.cfg.Host, fmt.Sprint(a.cfg.Port))
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: listen on %s: %w (set another HOST or PORT)", ErrListen, address, err)
	}
	a.agentURL.Listen(addressOn(ln))
	if a.cfg.MetricsAddr != "" {
		if a.scraped, err = new(net.ListenConfig).Listen(ctx, "tcp", a.cfg.MetricsAddr); err != nil {
			return nil, errors.Join(
				fmt.Errorf("listen on %s for metrics: %w (set another METRICS_ADDR)", a.cfg.MetricsAddr, err), ln.Close(),
			)
		}
		a.log.InfoContext(ctx, "metrics", "address", a.MetricsAddress())
	}
	return ln, nil
}

// MetricsAddress returns the URL at which the metrics are served. It is empty if
// METRICS_ADDR is not set or Listen has not been called.
func (a *App) MetricsAddress() string {
	if a.scraped == nil {
		return ""
	}
	return "http://" + a.scraped.Addr().String() + metricsPath
}

// Run serves requests and does background work until ctx ends. Then it waits for open
// requests, returns unfinished jobs to their queues and closes the database.
func (a *App) Run(ctx context.Context, ln net.Listener) error {
	if err := a.auditStart(ctx); err != nil {
		a.log.WarnContext(ctx, "could not record the start in the audit log", "err", err)
	}
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Gateway.Run(inner) })
	g.Go(func() error { return a.Mirror.Run(inner) })
	g.Go(func() error { return a.Sessions.Run(inner) })
	g.Go(func() error { return a.Agents.Run(inner) })
	g.Go(func() error { return a.Usage.Run(inner) })
	g.Go(func() error { return a.Archive.Run(inner) })
	g.Go(func() error { return a.Schedules.Run(inner) })
	g.Go(func() error { return a.Settings.Run(inner) })
	g.Go(func() error { return a.Pairing.Run(inner) })
	g.Go(func() error { return a.Trouble.Run(inner) })
	g.Go(func() error { return a.Approvals.Run(inner) })
	g.Go(func() error { return a.Holds.Run(inner) })
	g.Go(func() error { return a.Models.Run(inner) })
	g.Go(func() error { return a.Queue.Run(inner) })
	g.Go(func() error { return a.StandupQueue.Run(inner) })
	g.Go(func() error { return a.DispatchQueue.Run(inner) })
	g.Go(func() error { return a.StopQueue.Run(inner) })
	g.Go(func() error { return a.HoldQueue.Run(inner) })
	g.Go(func() error { return a.Events.Run(inner) })
	g.Go(func() error { return a.Accounts.Run(inner) })
	g.Go(func() error { a.publishGatewayState(inner); return nil })
	g.Go(func() error { a.DB.WatchOutages(inner, a.askDatabase, a.wakeWork); return nil })
	if a.opts.OnSetup != nil {
		g.Go(func() error {
			offerSetup(inner, a.Accounts.OfferSetup, a.opts.Now, a.log, func(token string, until time.Time) {
				a.opts.OnSetup(SetupOffer{
					Address: addressOn(ln), Page: cmp.Or(a.cfg.PublicURL, addressOn(ln)), Token: token, Until: until,
				})
			})
			return nil
		})
	}
	if a.scraped != nil {
		g.Go(func() error { return web.Serve(inner, a.scraped, a.metrics.handler(a.log), a.log, grace) })
	}
	g.Go(func() error { return web.Serve(inner, ln, a.Handler(), a.log, grace) })
	err := g.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, a.Close())
}
