package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
)

type doctorCmd struct {
	config.Raw `embed:""`

	JSON bool `help:"Print the result as one JSON object, as GET /api/v1/agentrt/doctor returns it."`
}

// errUnhealthy means that a check failed. The doctor command has already printed the check, and
// exits with status 1.
var errUnhealthy = errors.New("the agent runtime is not usable")

// Run checks the connection to the agent runtime layer by layer and prints the
// results.
func (c doctorCmd) Run(ctx context.Context, t terminal) error {
	cfg, warnings, err := c.CheckGateway()
	if err != nil {
		return usage(fmt.Errorf("invalid settings:\n%w", err))
	}
	report := func(link.Step) {}
	if !c.JSON {
		for _, w := range warnings {
			fmt.Fprintf(t.err, "Note: %s.\n", w)
		}
		report = stepPrinter(t)
	}
	found, err := app.Examine(ctx, cfg, report)
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(t.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(found)
	} else {
		printFindings(t.out, found)
	}
	if err == nil && !found.Healthy {
		err = errUnhealthy
	}
	return err
}

// stepPrinter returns a function that prints the result of checking one layer of the
// connection. printFindings prints the layers that were not reached, after the cause.
func stepPrinter(t terminal) func(link.Step) {
	return func(s link.Step) {
		if s.State == link.StepNotReached {
			return
		}
		took := ""
		if s.TookMS != nil {
			took = time.Duration(*s.TookMS * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
		}
		fmt.Fprintln(t.out, strings.TrimRight(fmt.Sprintf("%-10s %-12s %9s  %s", s.Layer, s.State, took, s.Saw), " "))
		if s.Layer == link.LayerMethods && s.State == link.StepOK {
			fmt.Fprintln(t.err, "Waiting for the next event from the gateway. This can take 30 s.")
		}
	}
}

// printFindings prints the connection problems that were found and how to fix them, and the layers
// that were not reached.
func printFindings(w io.Writer, found link.Examination) {
	if found.Configured {
		fmt.Fprintln(w)
	}
	for _, f := range found.Warnings {
		fmt.Fprintf(w, "Warning (%s): %s\n  Fix: %s\n\n", f.Layer, f.Cause, f.Fix)
	}
	switch {
	case !found.Configured:
		fmt.Fprintln(w, "No gateway is configured. Wardroom runs without one, but cannot reach any agents.\n  Fix: Connect one in the dashboard under Settings → Gateway, or set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN.")
	case found.Failure != nil:
		fmt.Fprintf(w, "Failed at %s: %s\n  Fix: %s\n", found.Failure.Layer, found.Failure.Cause, found.Failure.Fix)
		var rest []string
		for _, s := range found.Steps {
			if s.State == link.StepNotReached {
				rest = append(rest, string(s.Layer))
			}
		}
		if len(rest) > 0 {
			fmt.Fprintf(w, "Not reached: %s.\n", strings.Join(rest, ", "))
		}
	default:
		fmt.Fprintf(w, "All checks passed for %s.\n", found.URL)
	}
}
