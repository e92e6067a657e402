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
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/web"
	"wardroom/internal/session"
)

// Metrics are for the operator's Prometheus. No label has a text that a caller
// chose, so that nobody can fill the memory with series, and none tells of a
// person. docs/operations.md lists them; a test holds the list.

// metricsPath is all that is served at METRICS_ADDR.
const metricsPath = "/metrics"

// measured is what the metrics are read from, beside what is told to them.
type measured struct {
	db       *db.DB
	gateway  *gateway.Client
	inFlight func() int64
	sessions func() session.Counts
}

func (a *App) measured() measured {
	// These are made later than those who report to the metrics.
	return measured{a.DB, a.Gateway, func() int64 { return a.API.InFlight() }, func() session.Counts { return a.Sessions.Counts() }}
}

// metrics has its own registry: the global one would also carry what any
// library puts there.
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
			Name: "wardroom_http_requests_total", Help: "Requests answered.",
		}, []string{"method", "route", "status"}),
		answered: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wardroom_http_request_duration_seconds", Help: "How long requests took.",
			// A read takes a millisecond, a login a quarter of a second, and a handler
			// gets half a minute.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardroom_job_runs_total", Help: "Attempts at jobs by this process, by how they ended.",
		}, []string{"kind", "outcome"}),
		jobTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wardroom_job_run_duration_seconds", Help: "How long attempts at jobs took.",
			// From a purge of nothing to a standup with slow agents.
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 15, 60, 180, 600, 1800},
		}, []string{"kind"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardroom_logins_total", Help: "Logins, by how they ended.",
		}, []string{"outcome"}),
	}
	for _, o := range account.LoginOutcomes() {
		m.logins.WithLabelValues(o) // a rate needs the zero before the first
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wardroom_build_info", Help: "Always 1; what runs is in its labels.",
		ConstLabels: prometheus.Labels{"version": Version, "go_version": runtime.Version(), "database": from.db.Engine().String()},
	})
	build.Set(1)
	m.registry.MustRegister(m.ours()...)
	m.registry.MustRegister(build, newReadings(from),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) ours() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.answered, m.jobs, m.jobTimes, m.logins}
}

func (m *metrics) request(o web.Observed) {
	m.requests.WithLabelValues(o.Method, o.Route, strconv.Itoa(o.Status)).Inc()
	m.answered.WithLabelValues(o.Method, o.Route).Observe(o.Took.Seconds())
}

func (m *metrics) job(kind, outcome string, took time.Duration) {
	if outcome == "ready" {
		outcome = "again" // it failed and is tried again, or was handed back
	}
	m.jobs.WithLabelValues(kind, outcome).Inc()
	m.jobTimes.WithLabelValues(kind).Observe(took.Seconds())
}

func (m *metrics) login(outcome string) { m.logins.WithLabelValues(outcome).Inc() }

// handler serves the metrics and nothing else.
func (m *metrics) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // the rest is still of use
		MaxRequestsInFlight: 4,
	}))
	return mux
}

// readings are the metrics that are looked up when somebody asks.
type readings struct {
	from   measured
	stored *watched // never waits for the database for long, nor asks it often

	mu      sync.Mutex
	jobs    []job.Count
	lastID  int64
	inAPI   *prometheus.Desc
	up      *prometheus.Desc
	queued  *prometheus.Desc
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
		from:   from,
		inAPI:  one("wardroom_http_requests_in_flight", "Requests that are being answered."),
		up:     one("wardroom_database_up", "1 when the database answered within a second, else 0."),
		queued: one("wardroom_jobs", "Jobs of all processes that wait, run, or have failed for good. Missing while the database is away.", "kind", "state"),
		events: one("wardroom_events_last_id", "Id of the newest event, which is how many there ever were. Missing while the database is away."),
		pool: map[string]*prometheus.Desc{
			"max":    one("wardroom_database_connections_max", "Connections to the database that there can be.", "pool"),
			"open":   one("wardroom_database_connections_open", "Connections to the database that there are.", "pool"),
			"in_use": one("wardroom_database_connections_in_use", "Connections to the database that are used.", "pool"),
			"waits":  one("wardroom_database_waits_total", "How often somebody had to wait for a connection.", "pool"),
			"waited": one("wardroom_database_wait_seconds_total", "How long they waited, together.", "pool"),
		},
		state:   one("wardroom_gateway_state", "1 for the state that the connection to the gateway is in, 0 for the others.", "state"),
		made:    one("wardroom_gateway_connections_total", "Connections to the gateway that were made. All but the first are reconnects; with operator.admin all but the first two."),
		linked:  one("wardroom_gateway_connected", "1 while this connection to the gateway is up, else 0. With operator.admin there is one that starts runs and one that manages, else one for everything.", "purpose"),
		latency: one("wardroom_gateway_latency_seconds", "The last round trip to the gateway. Missing before the first."),
		lists:   one("wardroom_sessions_readings_total", "How often the gateway was asked for the list of its sessions."),
		rows:    one("wardroom_sessions_rows_total", "Sessions that the gateway's events brought up to date (event), events that were older than what was known (late), and sessions of which a reading knew what no event had told (corrected): a fault of ours or of the gateway's.", "outcome"),
	}
	r.stored = &watched{check: r.read}
	return r
}

// read asks the database.
func (r *readings) read(ctx context.Context) error {
	jobs, err := job.Counts(ctx, r.from.db)
	if err != nil {
		return err
	}
	var last int64
	if err := r.from.db.QueryRow(ctx, `SELECT last FROM event_counter WHERE one = 1`).Scan(&last); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs, r.lastID = jobs, last
	return nil
}

// Describe is for the registry.
func (r *readings) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.inAPI, r.up, r.queued, r.events, r.state, r.made, r.linked, r.latency, r.lists, r.rows} {
		to <- d
	}
	for _, d := range r.pool {
		to <- d
	}
}

// Collect is for the registry, at each scrape.
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
	for _, s := range gateway.States() {
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
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
