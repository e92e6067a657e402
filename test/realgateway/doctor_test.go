//go:build journey

package realgateway

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// examination is the result of the doctor.
type examination struct {
	Healthy bool `json:"healthy"`
	Failure *struct {
		Layer string `json:"layer"`
		Cause string `json:"cause"`
		Fix   string `json:"fix"`
	} `json:"failure"`
	Warnings []struct {
		Cause string `json:"cause"`
	} `json:"warnings"`
	Layers []struct {
		Layer string `json:"layer"`
		State string `json:"state"`
		Saw   string `json:"saw"`
	} `json:"layers"`
}

// doctor checks that the API and the command report the same: a failure at the layer with
// the text in its fix, or no failure.
func (j *journey) doctor(t *testing.T, layer, fix string) {
	t.Helper()
	var served, printed examination
	j.owner.Get(t, "/api/v1/agentrt/doctor").Into(t, http.StatusOK, &served)
	cmd := exec.CommandContext(t.Context(), j.server.bin, "doctor", "--json")
	cmd.Dir, cmd.Env = t.TempDir(), inherit()
	for _, name := range slices.Sorted(maps.Keys(j.server.Env)) {
		cmd.Env = append(cmd.Env, name+"="+j.server.Env[name])
	}
	out, err := cmd.Output()
	if jsonErr := json.Unmarshal(out, &printed); jsonErr != nil {
		t.Fatalf("wardroom doctor: %v, %v\n%s", err, jsonErr, out)
	}
	status := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	}
	if (layer == "") != (status == 0) {
		t.Errorf("wardroom doctor ended with %d", status)
	}
	for who, is := range map[string]examination{"the service": served, "the command": printed} {
		for _, l := range is.Layers {
			t.Logf("%s: %-10s %-12s %s", who, l.Layer, l.State, l.Saw)
		}
		switch f := is.Failure; {
		case layer == "" && (!is.Healthy || f != nil || len(is.Warnings) > 0):
			t.Errorf("%s finds %+v and warns %+v, but the gateway works", who, f, is.Warnings)
		case layer != "" && (is.Healthy || f == nil || f.Layer != layer || !strings.Contains(f.Fix, fix)):
			t.Errorf("%s finds %+v, want a failure at %s with %q", who, f, layer, fix)
		}
	}
}
