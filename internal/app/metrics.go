package app

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/limit"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/web"
	"wardroom/internal/session"
)

// The metrics are for the operator's Prometheus. Labels never contain text from a
// request, so that clients cannot create series without limit, and never identify a
// person. docs/operations.md lists the metrics; a test compares the list.

// metricsPath is the only path that is served at METRICS_ADDR.
const metricsPath = "/metrics"

// measured holds the sources of the metrics that are read at each scrape.
type measured struct {
	db       *db.DB
	gateway  *gateway.Client
	inFlight func() int64
	sessions func() session.Counts
	limits   func(context.Context) ([]limit.Limit, error)
}

// measured returns the sources of the metrics. It passes functions rather than
// values, because some services are created later.
func (a *App) measured() measured {
	return measured{
		a.DB, a.Gateway, func() int64 { return a.API.InFlight() }, func() session.Counts { return a.Sessions.Counts() },
		func(ctx context.Context) ([]limit.Limit, error) { return a.Limits.List(ctx) },
	}
}

// metrics holds the metrics of requests, jobs and logins. They have their own registry, because
// libraries add metrics to the global one.
type metrics struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	answered *prometheus.HistogramVec
	jobs     *prometheus.CounterVec
	jobTimes *prometheus.HistogramVec
	logins   *prometheus.CounterVec
}

func newMetrics(from measured) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardroom_http_requests_total", Help: "Requests answered, by method, route and status.",
		}, []string{"method", "route", "status"}),
		answered: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wardroom_http_request_duration_seconds", Help: "Duration of requests.",
			// A read takes 1 ms, a login 250 ms, and a handler is stopped after 30 s.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardroom_job_runs_total", Help: "Job attempts of this process, by outcome.",
		}, []string{"kind", "outcome"}),
		jobTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wardroom_job_run_duration_seconds", Help: "Duration of job attempts.",
			// The buckets range from an empty purge to a standup with slow agents.
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 15, 60, 180, 600, 1800},
		}, []string{"kind"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardroom_logins_total", Help: "Logins, by outcome.",
		}, []string{"outcome"}),
	}
	for _, o := range account.LoginOutcomes() {
		m.logins.WithLabelValues(o) // starts each series at 0, so that rates count the first login
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wardroom_build_info", Help: "Always 1. The labels contain the versions and the database.",
		ConstLabels: prometheus.Labels{
			"version": Version, "go_version": runtime.Version(), "database": from.db.Engine().String(),
		},
	})
	build.Set(1)
	m.registry.MustRegister(m.ours()...)
	m.registry.MustRegister(build, newReadings(from),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// ours returns the collectors of Wardroom's own request, job and login metrics.
func (m *metrics) ours() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.answered, m.jobs, m.jobTimes, m.logins}
}

// request counts a completed request and records its duration.
func (m *metrics) request(o web.Observed) {
	m.requests.WithLabelValues(o.Method, o.Route, strconv.Itoa(o.Status)).Inc()
	m.answered.WithLabelValues(o.Method, o.Route).Observe(o.Took.Seconds())
}

// job records an attempt to run a job.
func (m *metrics) job(kind, outcome string, took time.Duration) {
	if outcome == "ready" {
		outcome = "again" // it failed and is retried, or it was returned to the queue
	}
	m.jobs.WithLabelValues(kind, outcome).Inc()
	m.jobTimes.WithLabelValues(kind).Observe(took.Seconds())
}

// login records a login attempt.
func (m *metrics) login(outcome string) { m.logins.WithLabelValues(outcome).Inc() }

// handler returns the HTTP handler for METRICS_ADDR, which serves only the metrics.
func (m *metrics) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // one failed collector must not hide the others
		MaxRequestsInFlight: 4,
	}))
	return mux
}

// readings holds the metrics that are read at each scrape.
type readings struct {
	from   measured
	stored *watched // reads the database with a time limit, and not at every scrape

	mu      sync.Mutex
	jobs    []job.Count
	lastID  int64
	limits  []limit.Limit
	inAPI   *prometheus.Desc
	up      *prometheus.Desc
	queued  *prometheus.Desc
	used    *prometheus.Desc
	events  *prometheus.Desc
	pool    map[string]*prometheus.Desc
	state   *prometheus.Desc
	made    *prometheus.Desc
	linked  *prometheus.Desc
	latency *prometheus.Desc
	lists   *prometheus.Desc
	rows    *prometheus.Desc
}

func newReadings(from measured) *readings {
	one := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	r := &readings{
		from:  from,
		inAPI: one("wardroom_http_requests_in_flight", "Requests in progress."),
		up:    one("wardroom_database_up", "1 if the database answered within 1 s, otherwise 0."),
		queued: one("wardroom_jobs", "Jobs of all processes, by state. Missing while the database is unavailable.",
			"kind", "state"),
		used:   one("wardroom_limit_used_ratio", "Usage in the current period of a limit as a part of what it allows, 1 if the limit is reached. Limits on each run are omitted.", "limit", "scope", "measure", "window"),
		events: one("wardroom_events_last_id", "ID of the newest event, which equals the number of events ever recorded. Missing while the database is unavailable."),
		pool: map[string]*prometheus.Desc{
			"max":    one("wardroom_database_connections_max", "Maximum number of database connections.", "pool"),
			"open":   one("wardroom_database_connections_open", "Open database connections.", "pool"),
			"in_use": one("wardroom_database_connections_in_use", "Database connections in use.", "pool"),
			"waits":  one("wardroom_database_waits_total", "Number of waits for a database connection.", "pool"),
			"waited": one("wardroom_database_wait_seconds_total", "Total time spent waiting for database connections.", "pool"),
		},
		state: one("wardroom_gateway_state", "1 for the current state of the gateway connection, 0 for the others.",
			"state"),
		made: one("wardroom_gateway_connections_total",
			"Connections made to the gateway. All but the first are reconnects; with operator.admin, all but the first two."),
		linked: one("wardroom_gateway_connected", "1 while this gateway connection is up, otherwise 0. With operator.admin there are two connections, one for runs and one for management; otherwise one.", "purpose"),
		latency: one("wardroom_gateway_latency_seconds",
			"Duration of the last round trip to the gateway. Missing before the first round trip."),
		lists: one("wardroom_sessions_readings_total", "Number of times the session list was read from the gateway."),
		rows:  one("wardroom_sessions_rows_total", "Session updates: applied from gateway events (event), ignored as outdated (late), and found only by reading the list (corrected), which indicates a bug in Wardroom or the gateway.", "outcome"),
	}
	r.stored = &watched{check: r.read}
	return r
}

// read reads the metrics that come from the database.
func (r *readings) read(ctx context.Context) error {
	jobs, err := job.Counts(ctx, r.from.db)
	if err != nil {
		return err
	}
	var last int64
	if err := r.from.db.QueryRow(ctx, `SELECT last FROM event_counter WHERE one = 1`).Scan(&last); err != nil {
		return err
	}
	limits, err := r.from.limits(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs, r.lastID, r.limits = jobs, last, limits
	return nil
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		r.inAPI, r.up, r.queued, r.used, r.events, r.state, r.made, r.linked, r.latency, r.lists, r.rows,
	} {
		to <- d
	}
	for _, d := range r.pool {
		to <- d
	}
}

// Collect implements prometheus.Collector. The registry calls it for each scrape.
func (r *readings) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(r.inAPI, float64(r.from.inFlight()))
	for _, p := range r.from.db.Pools() {
		gauge(r.pool["max"], float64(p.Max), p.Name)
		gauge(r.pool["open"], float64(p.Open), p.Name)
		gauge(r.pool["in_use"], float64(p.InUse), p.Name)
		counter(r.pool["waits"], float64(p.Waits), p.Name)
		counter(r.pool["waited"], p.Waited.Seconds(), p.Name)
	}
	status := r.from.gateway.Status()
	for _, s := range link.States() {
		gauge(r.state, truth(s == status.State), string(s))
	}
	counter(r.made, float64(r.from.gateway.Connections()))
	for _, one := range status.Connections {
		gauge(r.linked, truth(one.ConnectedAt != nil), string(one.Purpose))
	}
	if status.LatencyMS != nil {
		gauge(r.latency, *status.LatencyMS/1000)
	}
	sessions := r.from.sessions()
	counter(r.lists, float64(sessions.Readings))
	counter(r.rows, float64(sessions.Rows-sessions.Late), "event")
	counter(r.rows, float64(sessions.Late), "late")
	counter(r.rows, float64(sessions.Corrected), "corrected")
	err := r.stored.ask(context.Background())
	gauge(r.up, truth(err == nil))
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	gauge(r.events, float64(r.lastID))
	for _, c := range r.jobs {
		gauge(r.queued, float64(c.Jobs), c.Kind, c.State)
	}
	for i := range r.limits {
		if l := &r.limits[i]; l.Used != nil {
			gauge(r.used, l.UsedRatio(), l.ID, string(l.Scope), string(l.Measure), string(l.Window))
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
