package durable

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	streamers = 25 // accounts
	streams   = 20 // of each account, as many as it may have
)

// Behind the documented proxies, two replicas serve 500 live streams and sign people in. When the replica that runs a
// standup is killed, the other one completes it, and every stream tells its end.
func TestReplicasBehindProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute, and needs nginx and Caddy")
	}
	for _, program := range []string{"nginx", "caddy"} {
		t.Run(program, func(t *testing.T) {
			x, both := replicas(t, strings.Clone)
			front := proxy(t, program, both["first"].url, both["second"].url)
			told := follow(t, x, front)

			between := step("keep %-cto-1", "ask %-cpo-1")
			sprung, unset := between.set(x)
			x.mustRun()
			until(t, "the meeting to get to its second participant", 60*time.Second, sprung)
			holder := x.holder(both)
			x.live(both[holder])
			x.kill()
			delete(both, holder)
			unset()
			for _, other := range both {
				x.live(other)
			}
			r := x.end()
			x.inTime(r)
			x.whole(r, outcome{})
			until(t, "every stream to tell the end", 60*time.Second, func() bool { return told.Load() == streamers*streams })
			if status, body, err := request(t.Context(), front, x.token, http.MethodGet, x.path(), nil); err != nil || status != http.StatusOK {
				t.Errorf("through the proxy: %d %v\n%s", status, err, body)
			}
		})
	}
}

// follow signs accounts in through the proxy, opens their streams, and waits until all are open. The returned number is
// that of the streams that have told the end of a standup.
func follow(t *testing.T, x *trial, front string) *atomic.Int32 {
	t.Helper()
	var open, told atomic.Int32
	for i := range streamers {
		email := fmt.Sprintf("reader%d@example.com", i)
		x.want(http.MethodPost, "/api/v1/users", map[string]string{"email": email, "name": "Reader " + email, "password": password, "role": "user"}, http.StatusCreated, nil)
		status, body, err := request(t.Context(), front, "", http.MethodPost, "/api/v1/auth/login", map[string]string{"email": email, "password": password})
		var in struct{ Token string }
		if err != nil || status != http.StatusOK || json.Unmarshal(body, &in) != nil {
			t.Fatalf("sign in through the proxy: %d %v\n%s", status, err, body)
		}
		for range streams {
			go func() {
				for last := ""; t.Context().Err() == nil; time.Sleep(100 * time.Millisecond) { // as a browser does
					if last = read(t.Context(), front, in.Token, last, func() { open.Add(1) }); last == "" {
						continue
					}
					if strings.HasSuffix(last, " end") {
						told.Add(1)
						return
					}
				}
			}()
		}
	}
	until(t, "the streams to open", 60*time.Second, func() bool { return open.Load() >= streamers*streams })
	return &told
}

// read follows a stream after an event until the stream ends, or tells the end of a standup. It returns the ID of the last
// event, followed by " end" in the latter case.
func read(ctx context.Context, front, token, last string, opened func()) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, front+"/api/v1/events?topics=standup", nil)
	if err != nil {
		return last
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Last-Event-ID", last)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return last
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return last
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if last == "" {
				opened()
			}
			last = id
		}
		if lines.Text() == "event: standup.completed" {
			return last + " end"
		}
	}
	return last
}

// proxy runs a program with its documented configuration in front of two replicas, and returns its address.
func proxy(t *testing.T, program string, first, second string) (front string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	_ = listener.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	config, args := "", []string{}
	switch program {
	case "nginx":
		// One process, as any user, with its temporary files in the folder.
		config = fmt.Sprintf("daemon off; master_process off; pid %[1]s/pid; error_log stderr; events { worker_connections 2048; }\n"+
			"http { access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;\n%[2]s}",
			dir, strings.Replace(content(t, "../../packaging/nginx.conf"), "listen 80;", "listen "+at+";", 1))
		args = []string{"-p", dir, "-c", file, "-e", "stderr"}
	case "caddy":
		site := regexp.MustCompile("(?s)```caddy\n([^`]*wardroom-1[^`]*)```").FindStringSubmatch(content(t, "../../docs/proxy.md"))
		if site == nil {
			t.Fatal("docs/proxy.md has no configuration of Caddy for two replicas")
		}
		config = "{\n\tadmin off\n}\n" + strings.Replace(site[1], "ops.example.com", "http://"+at, 1)
		args = []string{"run", "--adapter", "caddyfile", "--config", file}
	}
	for name, replica := range map[string]string{"wardroom-1:3000": first, "wardroom-2:3000": second} {
		u, err := url.Parse(replica)
		if err != nil {
			t.Fatal(err)
		}
		config = strings.ReplaceAll(config, name, u.Host)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin", "HOME=" + dir}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program, said.String())
		}
	})
	until(t, program, 60*time.Second, func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + at
}

// content returns the text of a file.
func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
