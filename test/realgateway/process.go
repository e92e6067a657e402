//go:build journey

package realgateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that a test started. It has its own process group, so that its
// child processes end with it.
type process struct {
	name   string
	cmd    *exec.Cmd
	log    *output
	exited chan struct{} // closed when the program has ended
}

// startProcess starts cmd for the test t. The program is killed if it is still running when owner ends. If t is a
// subtest, owner can be its parent, so that the program keeps running for later subtests.
func startProcess(t, owner testing.TB, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{name: name, cmd: cmd, log: &output{}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Child processes may keep the output open, which must not block Wait.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	unguard := guard(t, cmd.Process.Pid)
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // ProcessState has the result
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		unguard()
	}()
	owner.Cleanup(func() {
		p.kill()
		if owner.Failed() {
			owner.Logf("the last lines of %s:\n%s", name, p.log.tail(40))
		}
	})
	return p
}

// kill kills the process group immediately, to simulate a power failure.
func (p *process) kill() {
	if p.running() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // an error means that the group is gone already
	}
	<-p.exited
}

// stop asks the process to end and kills it if it still runs after the time limit. It
// returns the exit status, or -1 if the process was killed.
func (p *process) stop(t testing.TB, limit time.Duration) int {
	t.Helper()
	if p.running() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-p.exited:
	case <-time.After(limit):
		t.Logf("%s did not end within %s of SIGTERM and is killed", p.name, limit)
		p.kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ready waits until a GET request to url returns 200. It fails the test if the
// process ends first or the time limit passes.
func (p *process) ready(t testing.TB, client *http.Client, url string, limit time.Duration) {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !answers(ctx, client, url) {
		select {
		case <-p.exited:
			t.Fatalf("%s ended while it started: %v\n%s", p.name, p.cmd.ProcessState, p.log.tail(40))
		case <-ctx.Done():
			t.Fatalf("%s was not ready after %s\n%s", p.name, limit, p.log.tail(40))
		case <-tick.C:
		}
	}
	t.Logf("%s is ready after %s", p.name, time.Since(begin).Round(time.Millisecond))
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// guard starts a small process that kills the process group pid when the test program
// ends for any reason. It is needed because no cleanups run after a timeout or Ctrl-C.
// The returned function stops the small process.
func guard(t testing.TB, pid int) (unguard func()) {
	t.Helper()
	// The guard reads from a pipe that only the test program holds. If the pipe closes
	// without a line, the test program has died.
	//nolint:noctx // it has to outlive every context
	watcher := exec.Command("/bin/sh", "-c", fmt.Sprintf("read -r line || kill -9 -- -%d 2>/dev/null", pid))
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := watcher.StdinPipe()
	if err != nil {
		t.Fatalf("guard process %d: %v", pid, err)
	}
	if err := watcher.Start(); err != nil {
		t.Fatalf("guard process %d: %v", pid, err)
	}
	return func() {
		_, _ = io.WriteString(pipe, "done\n")
		_ = watcher.Wait()
	}
}

// freePort returns a loopback port that is not in use. It does not reserve the port,
// because a restarted program must be able to use the port again.
func freePort(t testing.TB) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("find a free port: %v is no TCP address", l.Addr())
	}
	return addr.Port
}

// inherit returns the environment variables that programs need to run. Programs must not
// get the user's other settings.
func inherit() []string {
	var env []string
	for _, name := range []string{"PATH", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// output collects the output of a program.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns the whole output.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail returns the last n lines of the output.
func (o *output) tail(n int) string {
	lines := strings.Split(strings.TrimRight(o.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
