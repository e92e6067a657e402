package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret   = "jwt-secret-0123456789-0123456789-0123456789-0123456789"
	password = "correct horse battery 9c41"
)

// machine sets an empty working directory and an environment without Wardroom's settings.
func machine(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, s := range config.Settings() {
		t.Setenv(s.Env, "") // restores the value after the test
		if err := os.Unsetenv(s.Env); err != nil {
			t.Fatal(err)
		}
	}
}

// output is the output of a command. It can be read while the command writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// outcome is the result of a command.
type outcome struct {
	t        *testing.T
	what     string
	code     int
	out, err string
}

// command runs a command and waits for its end.
func command(t *testing.T, in string, args ...string) outcome {
	t.Helper()
	var out, errs output
	code := run(t.Context(), args, terminal{strings.NewReader(in), &out, &errs, bcrypt.MinCost, time.Millisecond})
	o := outcome{t, "wardroom " + strings.Join(args, " "), code, out.String(), errs.String()}
	for _, s := range []string{secret, password} {
		if strings.Contains(o.out+o.err, s) {
			t.Errorf("%s prints a secret:\n%s%s", o.what, o.out, o.err)
		}
	}
	return o
}

// ends checks the exit status, and that standard output or standard error contains each
// text.
func (o outcome) ends(code int, said ...string) outcome {
	o.t.Helper()
	if o.code != code {
		o.t.Errorf("%s: exit status %d, want %d\n%s%s", o.what, o.code, code, o.out, o.err)
	}
	for _, s := range said {
		if !strings.Contains(o.out+o.err, s) {
			o.t.Errorf("%s does not print %q:\n%s%s", o.what, s, o.out, o.err)
		}
	}
	return o
}

// process is a running service.
type process struct {
	t        *testing.T
	out, err output
	stop     context.CancelFunc
	done     chan int
	address  string
	once     sync.Once
}

// serve starts a command and waits until it prints its address.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{t: t, stop: cancel, done: make(chan int, 1)}
	go func() { p.done <- run(ctx, args, terminal{strings.NewReader(""), &p.out, &p.err, bcrypt.MinCost, 0}) }()
	t.Cleanup(p.end)
	listening := regexp.MustCompile(`(?:address=|Open +)(http://[][0-9.:]+)`)
	for end := time.Now().Add(30 * time.Second); p.address == ""; time.Sleep(5 * time.Millisecond) {
		if m := listening.FindStringSubmatch(p.out.String() + p.err.String()); m != nil {
			p.address = m[1]
		}
		if time.Now().After(end) || len(p.done) > 0 {
			t.Fatalf("%v does not start to serve:\n%s%s", args, p.out.String(), p.err.String())
		}
	}
	return p
}

// end stops the process as Ctrl-C does.
func (p *process) end() {
	p.once.Do(func() {
		p.stop()
		select {
		case code := <-p.done:
			if code != 0 {
				p.t.Errorf("it stopped with exit status %d:\n%s", code, p.err.String())
			}
		case <-time.After(30 * time.Second):
			p.t.Fatal("the process does not stop")
		}
	})
}

// login logs in over HTTP.
func (p *process) login(email, password string) (status int, role string) {
	p.t.Helper()
	return p.signIn("login", map[string]string{"email": email, "password": password})
}

// signIn sends a login or a setup.
func (p *process) signIn(how string, fields map[string]string) (status int, role string) {
	p.t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.address+"/api/v1/auth/"+how, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	res, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var in struct{ User struct{ Role string } }
	if err := json.NewDecoder(res.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		p.t.Fatal(err)
	}
	return res.StatusCode, in.User.Role
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Help and version print to standard output and exit with 0.
func TestHelpAndVersion(t *testing.T) {
	machine(t)
	command(t, "", "version").ends(0, "wardroom "+app.Version+"\n")
	command(t, "", "--help").ends(0, "serve", "demo", "migrate", "user", "key", "version", "The operations service")
	command(t, "", "serve", "--help").ends(0, "--jwt-secret", "$JWT_SECRET", "STANDUP_DEADLINE")
	command(t, "", "user", "add", "--help").ends(0, "--role", "--agent-id")
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("the commands left files %v, %v", files, err)
	}
}

// Errors in the settings exit with 2, which tells supervisors not to restart, and are
// reported all at once.
func TestMistakes(t *testing.T) {
	machine(t)
	command(t, "").ends(2, "serve", "wardroom --help")
	command(t, "", "nonsense").ends(2, "nonsense", "wardroom --help")
	command(t, "", "serve", "--jwt-secre", "x").ends(2, "jwt-secre")
	command(t, "", "user", "add").ends(2, "<email>")
	command(t, "", "user", "add", "a@example.com", "--role", "king").ends(2, "admin", "user", "agent")
	command(t, "", "demo", "--port", "99999").ends(2, "PORT", "65535")
	command(t, "", "migrate", "--database-url", "mysql://x").ends(2, "DATABASE_URL", "postgres://")
	command(t, "", "serve", "--port", "x", "--timezone", "Mars", "--jwt-expires-in", "soon", "--agentrt-gateway-url", "gopher://x").
		ends(2, "PORT", "TIMEZONE", "Mars", "JWT_EXPIRES_IN", "AGENTRT_GATEWAY_URL", "JWT_SECRET is missing", "openssl rand -hex 48")
	t.Setenv("JWT_SECRET", "short-secret-77e1")
	if o := command(t, "", "serve").ends(2, "JWT_SECRET has 17 characters"); strings.Contains(o.err, "77e1") {
		t.Errorf("the output contains the secret:\n%s", o.err)
	}
	if _, err := os.Stat("data"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an invalid command left a data folder: %v", err)
	}
}

func TestMigrate(t *testing.T) {
	machine(t)
	command(t, "", "migrate").ends(0, "applied 0206_account.sql")
	if o := command(t, "", "migrate").ends(0, "up to date"); strings.Contains(o.out, "applied") {
		t.Errorf("the second run prints:\n%s", o.out)
	}
}

// The environment takes precedence over the .env file.
func TestDotEnv(t *testing.T) {
	machine(t)
	write(t, ".env", "JWT_SECRET="+secret+"\nPORT=0\nDATA_DIR=from-the-file\nTIMEZONE=Mars\n")
	command(t, "", "serve").ends(2, "TIMEZONE")
	t.Setenv("TIMEZONE", "Europe/Lisbon")
	serve(t, "serve").end()
	if _, err := os.Stat(filepath.Join("from-the-file", "wardroom.db")); err != nil {
		t.Error(err)
	}
	write(t, ".env", "JWT_SECRET="+secret+"\nthis is "+password+"\n")
	command(t, "", "serve").ends(2, ".env", "line 2")
}

// The error for a failed start must say how to fix it.
func TestServeFails(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	p := serve(t, "serve")
	command(t, "", "serve").ends(1, "another Wardroom process", "stop it first", "DATA_DIR")
	command(t, "", "migrate").ends(1, "another Wardroom process", "stop it first", "DATA_DIR")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	command(t, "", "serve", "--data-dir", "other", "--port", port).ends(1, "address already in use", "set another HOST or PORT")
	// A shell's own HOST, or a platform's PORT, must be found where it is set.
	t.Setenv("PORT", port)
	command(t, "", "serve", "--data-dir", "other").ends(1, "address already in use", "PORT comes from the environment of this process: unset it there, or use --port.")
	t.Setenv("HOST", "my mac")
	command(t, "", "demo", "--no-open", "--port", "0").ends(2, "HOST is", "HOST comes from the environment of this process: unset it there, or use --host.")
	write(t, ".env", "TIMEZONE=Mars\n")
	o := command(t, "", "serve", "--data-dir", "other", "--host", "my mac").ends(2, "TIMEZONE comes from the .env file")
	if strings.Contains(o.err, "HOST comes from") {
		t.Errorf("an option is taken for the environment:\n%s", o.err)
	}
	write(t, ".env", "")
	t.Setenv("HOST", "127.0.0.1")
	t.Setenv("PORT", "0")
	p.end()
	command(t, "", "migrate").ends(0, "up to date") // the process has released the lock
	const other = "database-password-52be"
	for _, args := range [][]string{{"serve"}, {"migrate"}, {"user", "list"}} {
		o := command(t, "", append(args, "--database-url", "postgres://wardroom:"+other+"@127.0.0.1:9/wardroom")...).
			ends(1, "connect to the database on 127.0.0.1")
		if strings.Contains(o.out+o.err, other) {
			t.Errorf("the output contains the database's password:\n%s%s", o.out, o.err)
		}
		if n := strings.Count(o.err, "connection refused"); n != 1 {
			t.Errorf("the output has %d times that the connection was refused:\n%s", n, o.err)
		}
	}
}

// The setup token is shown on the terminal and must not be logged, because other people
// can read the log.
func TestSetupToken(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	t.Setenv("LOG_LEVEL", "debug")
	shown := func(p *process) (line, body, token string) {
		t.Helper()
		lines := regexp.MustCompile(`(?m)^ *(curl (\S+)/api/v1/auth/setup .*)$[^{}]*^( *\{"token":"([A-Z2-7]{26})".*\})$`)
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if m := lines.FindStringSubmatch(p.err.String()); m != nil && m[2] == p.address {
				return m[1], m[3], m[4]
			}
		}
		t.Fatalf("the output has no lines to paste:\n%s", p.err.String())
		return "", "", ""
	}
	p := serve(t, "serve")
	_, _, first := shown(p)
	p.end()
	p = serve(t, "serve")
	line, body, token := shown(p)
	if token == first {
		t.Error("the token is the same after a restart")
	}
	if strings.Contains(line, token) || strings.Contains(line, "password") {
		t.Errorf("the command line contains a secret: %s", line)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", line)
	shell.Stdin = strings.NewReader(strings.NewReplacer("you@example.com", "ada@example.com", "…", password).Replace(body) + "\n")
	if made, err := shell.Output(); err != nil || !strings.Contains(string(made), `"role":"owner"`) {
		t.Errorf("the printed command: %s, %v", made, err)
	}
	if status, role := p.login("ada@example.com", password); status != http.StatusOK || role != "owner" {
		t.Errorf("the login: %d, %s", status, role)
	}
	p.end()
	for line := range strings.Lines(p.err.String()) {
		if strings.Contains(line, "level=") && strings.Contains(line, token) {
			t.Errorf("the log contains the token: %s", line)
		}
	}
	p = serve(t, "serve")
	p.end()
	t.Setenv("DATA_DIR", "other")
	t.Setenv("BOOTSTRAP_OWNER_EMAIL", "owner@example.com")
	t.Setenv("BOOTSTRAP_OWNER_PASSWORD", password)
	q := serve(t, "serve")
	q.end()
	if said := p.err.String() + q.err.String(); strings.Contains(said, "auth/setup") {
		t.Errorf("it offers a setup token although there is an owner:\n%s", said)
	}
}

// Changes to accounts take effect at once in a running service.
func TestUser(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	t.Setenv("BOOTSTRAP_OWNER_EMAIL", "owner@example.com")
	t.Setenv("BOOTSTRAP_OWNER_PASSWORD", password)
	p := serve(t, "serve")
	const other = "another pass phrase 61f0"

	command(t, password+"\n", "user", "add", "coo@example.com", "--role", "agent", "--agent-id", "coo", "--name", "COO").
		ends(0, "Created coo@example.com with role agent.")
	command(t, password+"\n", "user", "add", "Ada@example.com", "--role", "admin").ends(0, "Created Ada@example.com with role admin.")
	if status, role := p.login("ada@example.com", password); status != http.StatusOK || role != "admin" {
		t.Errorf("the new admin's login: %d, %s", status, role)
	}

	command(t, other, "user", "password", "ada@example.com").ends(0, "Set the password of ada@example.com")
	if status, _ := p.login("ada@example.com", password); status != http.StatusUnauthorized {
		t.Errorf("the old password: %d", status)
	}
	if status, _ := p.login("ada@example.com", other); status != http.StatusOK {
		t.Errorf("the new password: %d", status)
	}

	command(t, "", "user", "owner", "ada@example.com").ends(0, "Ada@example.com is now the owner.")
	list := command(t, "", "user", "list").ends(0)
	for _, want := range []string{
		`Ada@example\.com +Ada +owner +- +true`, `owner@example\.com +owner +admin +- +true`, `coo@example\.com +COO +agent +coo +true`,
	} {
		if !regexp.MustCompile(want).MatchString(list.out) {
			t.Errorf("the list does not match %q:\n%s", want, list.out)
		}
	}
	if strings.Contains(list.out, "$2") {
		t.Errorf("the list contains a password hash:\n%s", list.out)
	}
	if log := p.err.String(); strings.Contains(log, password) || strings.Contains(log, other) || strings.Contains(log, secret) {
		t.Errorf("the log contains a secret:\n%s", log)
	}
}

// A refused change explains why and does not print the password.
func TestUserRefusals(t *testing.T) {
	machine(t)
	command(t, "", "migrate").ends(0)
	add := func(in string, args ...string) outcome {
		t.Helper()
		return command(t, in, append([]string{"user", "add"}, args...)...)
	}
	add(password+"\n", "coo@example.com", "--role", "agent", "--agent-id", "coo").ends(0)
	add(password+"\n", "COO@example.com").ends(1, "Another account already uses this email.", "The email belongs to the account of coo.")
	add(password+"\n", "coo2@example.com", "--role", "agent", "--agent-id", "coo").ends(1, "This agent already has an active account.", "coo@example.com")
	add(password+"\n", "cto@example.com", "--role", "agent").ends(1, "agent_id: Required for the role agent.")
	add(password+"\n", "nonsense").ends(1, "email: Must look like name@example.com.")
	add("", "a@example.com").ends(2, "no password")
	if o := add("short7b3\n", "a@example.com").ends(1, "password: Must have at least 12 characters."); strings.Contains(o.out+o.err, "short7b3") {
		t.Errorf("the output contains the password:\n%s", o.err)
	}
	command(t, password, "user", "password", "nobody@example.com").ends(1, "User not found.")
	command(t, "", "user", "owner", "coo@example.com").ends(1, "An agent cannot be the owner.")
	if o := command(t, "", "user", "list").ends(0); strings.Count(o.out, "\n") != 2 {
		t.Errorf("the list does not have one account:\n%s", o.out)
	}
}

// A key is printed only to standard output, where a script can read it, and stops working
// as soon as it is revoked.
func TestKey(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	p := serve(t, "serve")
	command(t, password+"\n", "user", "add", "coo@example.com", "--role", "agent", "--agent-id", "coo").ends(0)
	command(t, password+"\n", "user", "add", "ada@example.com").ends(0)
	command(t, "", "key", "add", "ada@example.com", "--name", "x").ends(1, "Only agent accounts can have API keys.")
	command(t, "", "key", "add", "nobody@example.com", "--name", "x").ends(1, "User not found.")
	command(t, "", "key", "add", "coo@example.com").ends(2, "--name")
	command(t, "", "key", "add", "coo@example.com", "--name", "x", "--expires", "soon").ends(2, "--expires")
	command(t, "", "key", "add", "coo@example.com", "--name", "x", "--expires", "0d").ends(1, "expires_at: Must be in the future.")
	made := command(t, "", "key", "add", "coo@example.com", "--name", "build server", "--expires", "90d").ends(0, "build server")
	if !regexp.MustCompile(`^wrk_[a-z2-7]{40}\n$`).MatchString(made.out) || strings.Contains(made.err, "wrk_") {
		t.Fatalf("it printed %q and %q", made.out, made.err)
	}
	key := strings.TrimSpace(made.out)
	if status := p.me(key); status != http.StatusOK {
		t.Errorf("with the key: %d", status)
	}
	list := command(t, "", "key", "list", "coo@example.com").ends(0, "build server", "wrk_…"+key[len(key)-4:])
	row := strings.Fields(strings.Split(list.out, "\n")[1])
	if strings.Contains(list.out, key) || row[len(row)-1] != "-" || row[len(row)-2] == "-" {
		t.Errorf("the list contains the key or lacks its expiry:\n%s", list.out)
	}
	command(t, "", "key", "revoke", "ada@example.com", row[0]).ends(1, "API key not found.")
	command(t, "", "key", "revoke", "coo@example.com", row[0]).ends(0, "Revoked key")
	if status := p.me(key); status != http.StatusUnauthorized {
		t.Errorf("with the revoked key: %d", status)
	}
	p.end()
	if log := p.err.String(); strings.Contains(log, key) {
		t.Errorf("the log contains the key:\n%s", log)
	}
}

// me returns the status of a request with the token.
func (p *process) me(token string) (status int) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.address+"/api/v1/auth/me", http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	res, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// In the wrong folder, `user` must not create a database: the account would be lost.
func TestUserWithoutDatabase(t *testing.T) {
	machine(t)
	for _, args := range [][]string{{"add", "a@example.com"}, {"password", "a@example.com"}, {"list"}, {"owner", "a@example.com"}} {
		command(t, password+"\n", append([]string{"user"}, args...)...).
			ends(1, "no database at "+filepath.Join("data", "wardroom.db"), "wardroom migrate", "DATA_DIR")
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("the commands left files %v, %v", files, err)
	}
	write(t, "empty.db", "")
	command(t, password+"\n", "user", "--database-url", "sqlite:empty.db", "list").ends(1, "not up to date", "wardroom migrate")
}
