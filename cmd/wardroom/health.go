package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthCmd asks the Wardroom on this machine. Its settings are those of serve, so that the same environment finds it.
type healthCmd struct {
	Host string `name:"host" env:"HOST" default:"127.0.0.1" help:"Address that Wardroom listens on."`
	Port string `name:"port" env:"PORT" default:"3000" help:"Port that Wardroom listens on."`
}

// healthTimeout is below the time limits that supervisors usually set for a check.
const healthTimeout = 4 * time.Second

// Run prints whether Wardroom is ready for requests. It fails if not.
func (c healthCmd) Run(ctx context.Context, t terminal) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	host := c.Host
	switch host { // all addresses of the machine
	case "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, c.Port)+"/readyz", nil)
	if err != nil {
		return usage(errors.New("HOST or PORT is not valid: use the same values as for wardroom serve"))
	}
	res, err := local().Do(req)
	if err != nil {
		return fmt.Errorf("not running, or not reachable: %w", err)
	}
	defer res.Body.Close()
	// a page of another program may have either, of any type
	var said struct{ Status, Detail any }
	_ = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 64<<10)).Decode(&said) // empty for another program
	detail, failed := said.Detail.(string)
	switch {
	case res.StatusCode == http.StatusOK && said.Status == "ok":
		_, err := fmt.Fprintln(t.out, "Wardroom is ready.")
		return err
	case res.StatusCode == http.StatusServiceUnavailable && failed:
		return fmt.Errorf("not ready: %s", detail)
	default:
		return fmt.Errorf("%s answers, but is not Wardroom (HTTP %d)", req.URL.Host, res.StatusCode)
	}
}

// local returns a client for this machine. It uses no proxy, and keeps no connections open.
func local() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }
