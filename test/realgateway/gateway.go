//go:build journey

package realgateway

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// config is the gateway's configuration file. The gateway replaces the ${VARIABLES}
// in it.
//
//go:embed openclaw.json
var config []byte

// Time limits for starting and stopping the gateway. It started in 10 s on an idle machine and in
// 29 s on a busy one; slower machines need more. An idle gateway stops within 5 s. If a run were
// waiting for its model, the gateway would need minutes to stop.
const (
	gatewayStart = 3 * time.Minute
	gatewayStop  = time.Minute
)

// Gateway is a real agent gateway with the agents coo, cto, cpo and cmo. It keeps its
// address, its token and its state across restarts.
type Gateway struct {
	URL   string // http(s)://127.0.0.1:port; its WebSocket uses the same port
	Token string // shared token of its operators
	// Vars are additional environment variables for the gateway and for the tools of
	// its agents. A change takes effect at the next Start.
	Vars map[string]string

	owner testing.TB // the test that it ends with
	http  *http.Client
	dir   string // for everything it writes
	home  string // folder of its installation
	model string // base URL of the model server
	port  int
	proc  *process
}

// Install installs the gateway in a cache, unless it is already there, and returns the
// gateway's folder. The first call downloads about 860 MB.
func Install(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./install.sh")
	cmd.Stderr = os.Stderr // shows the progress of the download
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("install the gateway: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Access describes how a gateway can be reached. The zero value describes a gateway
// without TLS whose local clients need no device.
type Access struct {
	TLS         bool // with a self-signed certificate
	BehindProxy bool // a Proxy on this machine may report the addresses of its clients
	Open        bool // enables the chat completions API and all tools of the agents, including those to ask each other
	Listed      bool // agents get each tool by name instead of a tool search
	Asks        bool // the COO asks before it runs a command
	Strict      bool // no device is approved automatically, not even a local one
}

// StartGateway starts a gateway that stores its data in dir and uses the given model. It
// returns when the gateway is ready. The gateway is stopped when the test ends.
func StartGateway(t testing.TB, dir string, model *Model, access Access) *Gateway {
	t.Helper()
	g := NewGateway(t, dir, model, access)
	g.Start(t)
	return g
}

// NewGateway returns a gateway that is not started yet.
func NewGateway(t testing.TB, dir string, model *Model, access Access) *Gateway {
	t.Helper()
	port := freePort(t)
	g := &Gateway{
		URL:   fmt.Sprintf("http://127.0.0.1:%d", port),
		Token: rand.Text(),
		owner: t,
		http:  http.DefaultClient,
		dir:   dir,
		home:  Install(t),
		model: model.URL,
		port:  port,
	}
	if access.TLS {
		g.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
		g.http = g.ownClient()
	}
	for _, folder := range []string{g.path("home"), g.path("state")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatalf("create the gateway's folder: %v", err)
		}
	}
	if err := os.WriteFile(g.path("state", "openclaw.json"), access.settings(t), 0o600); err != nil {
		t.Fatalf("write the gateway's settings: %v", err)
	}
	return g
}

// settings returns the gateway's configuration with the changes that a requires.
func (a Access) settings(t testing.TB) []byte {
	t.Helper()
	base := config
	if a.Asks {
		base = bytes.Replace(config, []byte(`"coo": {`), []byte(`"coo": { "tools": { "exec": { "mode": "ask" } },`), 1)
	}
	var all map[string]any
	if err := json.Unmarshal(base, &all); err != nil {
		t.Fatalf("read openclaw.json: %v", err)
	}
	gateway, ok := all["gateway"].(map[string]any)
	if !ok {
		t.Fatal("openclaw.json has no settings of the gateway")
	}
	if a.TLS {
		gateway["tls"] = map[string]bool{"enabled": true, "autoGenerate": true}
	}
	if a.BehindProxy {
		gateway["trustedProxies"] = []string{"127.0.0.1"}
	}
	if a.Open {
		gateway["http"] = map[string]any{"endpoints": map[string]any{"chatCompletions": map[string]bool{"enabled": true}}}
		all["tools"] = map[string]any{
			"profile": "full", "sessions": map[string]string{"visibility": "all"},
			"agentToAgent": map[string]any{"enabled": true, "allow": agentIDs()},
		}
	}
	if a.Listed {
		all["tools"] = map[string]any{"toolSearch": false}
	}
	if a.Strict {
		gateway["nodes"] = map[string]any{"pairing": map[string]bool{"autoApproveLocal": false}}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatalf("write the gateway's settings: %v", err)
	}
	return data
}

// starting ensures that only one gateway starts at a time. On a busy two-core machine,
// gateways that start at the same time can fail.
var starting sync.Mutex

// Start starts a stopped or killed gateway and waits until it is ready.
func (g *Gateway) Start(t testing.TB) {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	if g.proc != nil && g.proc.running() {
		t.Fatal("the gateway runs already")
	}
	//nolint:noctx // it is stopped by its own means, and must outlive this call
	cmd := exec.Command(filepath.Join(g.home, "bin", "node"),
		filepath.Join(g.home, "node_modules", "openclaw", "openclaw.mjs"),
		"gateway", "run", "--port", strconv.Itoa(g.port))
	cmd.Dir, cmd.Env = g.dir, g.env()
	g.proc = startProcess(t, g.owner, "gateway", cmd)
	g.proc.ready(t, g.http, g.URL+"/startupz", gatewayStart)
}

// env returns the environment variables for the gateway and for the commands of its operator. With
// them, both use the test's files and not those of an installed gateway.
func (g *Gateway) env() []string {
	programs := []string{filepath.Join(g.home, "bin"), filepath.Join(g.home, "node_modules", ".bin"), os.Getenv("PATH")}
	var more []string
	for name, value := range g.Vars {
		more = append(more, name+"="+value)
	}
	return append(append(inherit(), more...),
		"PATH="+strings.Join(programs, string(os.PathListSeparator)),
		"HOME="+g.path("home"),
		"OPENCLAW_STATE_DIR="+g.path("state"),
		"OPENCLAW_CONFIG_PATH="+g.path("state", "openclaw.json"),
		"OPENCLAW_GATEWAY_PORT="+strconv.Itoa(g.port),
		"OPENCLAW_GATEWAY_TOKEN="+g.Token,
		"OPENCLAW_DISABLE_BONJOUR=1",
		"OPENCLAW_NO_RESPAWN=1", // a restart by the gateway itself keeps its process
		"OPENCLAW_SKIP_CHANNELS=1",
		"OPENCLAW_EXEC_SHELL_SNAPSHOT=0",
		"NO_COLOR=1",
		"MODEL_URL="+g.model+"/v1",
	)
}

// Operate runs a shell command on the gateway's host, as the gateway's operator would,
// and returns its output. An example is "openclaw devices list --json".
func (g *Gateway) Operate(t testing.TB, line string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = g.dir, g.env(), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, out, &stderr)
	}
	t.Logf("%s: %s", line, time.Since(begin).Round(100*time.Millisecond))
	return out
}

// Stop stops the gateway as its operator would. The gateway closes its connections
// and drops queued work.
func (g *Gateway) Stop(t testing.TB) {
	t.Helper()
	g.proc.stop(t, gatewayStop)
}

// Kill kills the gateway immediately, so it cannot close its clients' connections first.
func (g *Gateway) Kill(testing.TB) { g.proc.kill() }

// Restart stops the gateway and starts it again with the same state. The gateway
// keeps its sessions and transcripts but loses the runs in progress.
func (g *Gateway) Restart(t testing.TB) {
	t.Helper()
	g.Stop(t)
	g.Start(t)
}

// Set changes a top-level setting of the gateway. Call it while the gateway is
// stopped.
func (g *Gateway) Set(t testing.TB, part string, value any) {
	t.Helper()
	g.edit(t, func(all map[string]any) { all[part] = value })
}

// Merge adds settings to the gateway's. Objects are merged, and other values are replaced. Call it while
// the gateway is stopped.
func (g *Gateway) Merge(t testing.TB, more map[string]any) {
	t.Helper()
	g.edit(t, func(all map[string]any) { merge(all, more) })
}

func merge(into, more map[string]any) {
	for k, v := range more {
		from, object := v.(map[string]any)
		if is, also := into[k].(map[string]any); object && also {
			merge(is, from)
			continue
		}
		into[k] = v
	}
}

// edit changes the gateway's configuration file.
func (g *Gateway) edit(t testing.TB, change func(all map[string]any)) {
	t.Helper()
	var all map[string]any
	file := g.path("state", "openclaw.json")
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err == nil {
		change(all)
		data, err = json.Marshal(all)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatalf("change the gateway's settings: %v", err)
	}
}

// Log returns the output of the gateway's latest process.
func (g *Gateway) Log() string { return g.proc.log.String() }

func (g *Gateway) path(parts ...string) string {
	return filepath.Join(append([]string{g.dir}, parts...)...)
}
