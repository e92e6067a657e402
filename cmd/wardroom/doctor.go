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
	"wardroom/internal/gateway"
	"wardroom/internal/platform/config"
)

type doctorCmd struct {
	config.Raw `embed:""`

	JSON bool `help:"Print the examination as one JSON object, as GET /api/v1/agentrt/doctor answers it."`
}

// errUnwell is the exit status of an examination that found something. What it
// found has been printed.
var errUnwell = errors.New("the agent runtime cannot be used as it is")

// Run examines the way to the agent runtime and prints what it finds.
func (c doctorCmd) Run(ctx context.Context, t terminal) error {
	cfg, warnings, err := c.CheckGateway()
	if err != nil {
		return usage(fmt.Errorf("these settings need a change:\n%w", err))
	}
	tell := func(gateway.Step) {}
	if !c.JSON {
		for _, w := range warnings {
			fmt.Fprintf(t.err, "Note: %s.\n", w)
		}
		tell = tellStep(t)
	}
	found, err := app.Examine(ctx, cfg, tell)
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
		err = errUnwell
	}
	return err
}

// tellStep prints each layer as it is known.
func tellStep(t terminal) func(gateway.Step) {
	return func(s gateway.Step) {
		took := ""
		if s.TookMS != nil {
			took = time.Duration(*s.TookMS * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
		}
		state := strings.ReplaceAll(string(s.State), "_", " ")
		fmt.Fprintln(t.out, strings.TrimRight(fmt.Sprintf("%-10s %-12s %9s  %s", s.Layer, state, took, s.Saw), " "))
		if s.Layer == gateway.LayerMethods && s.State == gateway.StepOK {
			fmt.Fprintln(t.err, "Listening for the gateway's next event, which may take half a minute.")
		}
	}
}

// printFindings says what is wrong and what to do, below the layers.
func printFindings(w io.Writer, found gateway.Examination) {
	fmt.Fprintln(w)
	for _, f := range found.Warnings {
		fmt.Fprintf(w, "Warning (%s): %s\n  Do: %s\n\n", f.Layer, f.Cause, f.Fix)
	}
	switch {
	case !found.Configured:
		fmt.Fprintln(w, "No gateway is configured. Everything but the agents works without one.\n  Do: set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN.")
	case found.Failure != nil:
		fmt.Fprintf(w, "It fails at %s: %s\n  Do: %s\n", found.Failure.Layer, found.Failure.Cause, found.Failure.Fix)
	default:
		fmt.Fprintf(w, "All is well with %s.\n", found.URL)
	}
}
