package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a server under test.
type process struct {
	cmd     *exec.Cmd
	address string
	started time.Duration // time until the first answer
}

// start starts a server and waits until it answers.
func start(ctx context.Context, log, address string, env []string, name string, args ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{cmd: exec.CommandContext(ctx, name, args...), address: address}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), env...), file, file
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < 30*time.Second {
		if status, _, err := get(ctx, "http://"+address+"/health", ""); err == nil && status == http.StatusOK {
			p.started = time.Since(began)
			return p, nil
		}
		<-tick.C
	}
	text, _ := os.ReadFile(log)
	return nil, fmt.Errorf("%s %v does not answer:\n%s", name, args, text)
}

// rests waits until the server has used almost no CPU time for 10 s. After a migration, a service writes indexes in the
// background first.
func (p *process) rests(ctx context.Context) error {
	for before := -time.Hour; ; {
		used := cpu(p.cmd.Process.Pid)
		if used-before < 200*time.Millisecond {
			return nil
		}
		before = used
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Second):
		}
	}
}

// end interrupts the server, as an operator would, and waits until it has stopped.
func (p *process) end() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

func get(ctx context.Context, address, token string) (status int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // a compressed response has another ETag
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	return res.StatusCode, res.Header, res.Body.Close()
}

// freeAddress returns a local TCP address with a free port.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// login logs in with the given email and returns a token.
func login(ctx context.Context, address, email string) (string, error) {
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/api/v1/auth/login", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Token == "" {
		return "", fmt.Errorf("the login answers %d: %w", res.StatusCode, err)
	}
	return answer.Token, nil
}

// send runs the load in another process and returns the results.
func (l load) send(ctx context.Context) (d done, err error) {
	self, err := os.Executable()
	if err != nil {
		return d, err
	}
	what, err := json.Marshal(l)
	if err != nil {
		return d, err
	}
	cmd := exec.CommandContext(ctx, self, "load")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(what), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return d, fmt.Errorf("send %s %s: %w", l.Method, l.Path, err)
	}
	return d, json.Unmarshal(out, &d)
}

// cpu returns the CPU time of the given processes and of their child processes that
// have ended.
func cpu(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended and is included in its parent's sum
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		f := strings.Fields(rest)
		for _, i := range []int{11, 12, 13, 14} { // utime, stime and those of children; see proc_pid_stat(5)
			n, _ := strconv.Atoi(f[i])
			sum += time.Duration(n) * 10 * time.Millisecond // Linux counts hundredths of a second
		}
	}
	return sum
}

// memory returns a process's private memory in MB. Of this, written is the part that
// the process has modified; the rest came from files, so the system can drop it.
func memory(pid int) (held, written float64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "Private_Dirty:" && f[0] != "Private_Clean:" {
			continue
		}
		kB, _ := strconv.ParseFloat(f[1], 64)
		held += kB / 1024
		if f[0] == "Private_Dirty:" {
			written = kB / 1024
		}
	}
	return held, written
}

func loadAverage() string {
	data, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(data))
	return strings.Join(f[:min(3, len(f))], " ")
}

func machine() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	model, cores := "", 0
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "processor":
			cores++
		case "model name":
			model = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%d cores, %s", cores, model)
}
