package durable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// settings returns the settings of all processes. They share the secret, so that a token
// stays valid after a restart.
func settings() map[string]string {
	return map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", "LOG_LEVEL": "debug",
		"JWT_SECRET":            "durable-secret-0123456789-0123456789-0123456789-0123456789",
		"BOOTSTRAP_OWNER_EMAIL": ownerEmail, "BOOTSTRAP_OWNER_PASSWORD": password,
		"STANDUP_AGENT_TIMEOUT": "40s", "STANDUP_DEADLINE": "120s", "STANDUP_GATEWAY_GRACE": "20s",
	}
}

// process is one process of the service.
type process struct {
	url    string // set when up is closed
	cmd    *exec.Cmd
	up     chan struct{}
	exited chan struct{}
	once   sync.Once
	died   time.Time

	unguard func()

	mu  sync.Mutex
	log []string
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

// launch starts the service and waits until it prints its address.
func launch(t *testing.T, env map[string]string) *process {
	t.Helper()
	p := begin(t, env)
	p.ready(t)
	return p
}

// begin starts the service.
func begin(t *testing.T, env map[string]string) *process {
	t.Helper()
	p := &process{exited: make(chan struct{}), up: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve")
	p.cmd.Dir = t.TempDir() // so that no .env file is read
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	all := settings()
	maps.Copy(all, env)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.cmd.Env = append(p.cmd.Env, name+"="+all[name])
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	p.unguard = guard(t, p.cmd.Process.Pid)
	go p.read(out)
	t.Cleanup(p.kill)
	return p
}

// ready waits until the service prints its address.
func (p *process) ready(t *testing.T) {
	t.Helper()
	select {
	case <-p.up:
	case <-p.exited:
	case <-time.After(60 * time.Second):
	}
	select {
	case <-p.up: // it may have been up before it exited
	default:
		p.kill()
		t.Fatalf("the service did not start:\n%s", p.tail(30))
	}
}

// read stores the output of the process until it ends.
func (p *process) read(out io.ReadCloser) {
	defer close(p.exited)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			p.url = m[1]
			close(p.up)
		}
	}
	_ = out.Close()
	_ = p.cmd.Wait() // always an error after a kill
}

// kill sends SIGKILL and returns when the process has ended and its resources are free.
func (p *process) kill() {
	p.once.Do(func() {
		p.died = time.Now()
		_ = p.cmd.Process.Kill()
	})
	<-p.exited
	p.unguard()
}

// tail returns the last n lines of the output.
func (p *process) tail(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log[max(0, len(p.log)-n):], "\n")
}

// until waits for a condition, long enough for a busy machine.
func until(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited for %s for %s", what, limit)
		}
	}
}

// guard starts a small process that kills the process pid if the test program ends
// without its cleanups, such as after a timeout or Ctrl-C. unguard ends it.
func guard(t *testing.T, pid int) (unguard func()) {
	t.Helper()
	// The guard reads from a pipe that only the test program holds. If the pipe closes
	// without a line, the test program has died.
	watcher := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", "-c", fmt.Sprintf("read -r line || kill -9 %d 2>/dev/null", pid))
	pipe, err := watcher.StdinPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		_, _ = io.WriteString(pipe, "\n")
		_ = pipe.Close()
		_ = watcher.Wait()
	})
}

// stop stops the process as a supervisor does, so that its database file is closed
// cleanly.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		t.Errorf("still running 30 s after it was asked to stop:\n%s", p.tail(20))
	}
	p.kill()
}
