package durable

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// binary is the path of the service, which TestMain builds.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wardroom-durable")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "wardroom")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "wardroom/cmd/wardroom").CombinedOutput(); err != nil { //nolint:noctx // it outlives no test
		fmt.Fprintf(os.Stderr, "build the service: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
