package receipt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/plaintext"
)

// Limits on the parts of a receipt.
const (
	maxCommands  = 30
	maxFiles     = 100
	maxChecks    = 20
	maxArtifacts = 20
	maxCommand   = 300 // characters
	maxClaim     = 10_000
)

// call is a tool call.
type call struct {
	name    string
	args    map[string]any
	cut     bool // the arguments are truncated
	result  string
	exit    *int64
	failed  bool
	pending bool
	at      time.Time
}

// status returns the state of the call as in the API.
func (c *call) status() string {
	switch {
	case c.pending:
		return "pending"
	case c.failed:
		return "failed"
	}
	return "done"
}

// maker collects what the transcripts show. Positions count calls and the steps in them, in
// chronological order.
type maker struct {
	facts    Facts
	seen     Seen
	at       int // position of the current step
	resumed  int // position of the first step after the task was sent back
	acted    bool
	changed  int // position of the last change, or 0
	code     int // position of the last change of a file that is not only text, or 0
	checks   map[string]*checkRun
	files    map[string]int
	inBack   map[string]*call // commands in the background, by their session in the runtime
	named    []script
	anything bool // the transcripts have messages
	since    bool // a check or a change after the task was sent back
	calls    int  // calls after the task was sent back
}

// checkRun is the last run of a check.
type checkRun struct {
	Check

	position int
}

// Make derives a receipt from facts. It sets neither the ID and the like nor the verdict.
func Make(f Facts) Receipt {
	m := &maker{facts: f, checks: map[string]*checkRun{}, files: map[string]int{}, inBack: map[string]*call{}}
	m.seen = Seen{
		Sessions: []string{}, Commands: []Command{}, Files: []File{},
		Artifacts: append([]string{}, f.Artifacts[:min(len(f.Artifacts), maxArtifacts)]...), CostComplete: true,
	}
	for _, n := range f.Named {
		m.named = append(m.named, flatten(n))
	}
	for _, c := range m.collect() {
		m.call(c)
	}
	m.addDiff()
	m.finishFiles()
	passed, admitted := said(f.Text)
	r := Receipt{
		Claim: Claim{Text: plaintext.Cut(f.Text, maxClaim, " …"), Admitted: append([]string{}, admitted...)}, Gaps: []Gap{},
		Checks: m.results(), Earlier: []Outline{}, Grade: NotGradable,
	}
	if !m.anything {
		return r
	}
	r.Seen = &m.seen
	r.Gaps, r.Grade = m.gaps(r.Checks, passed), m.grade(r.Checks)
	return r
}

// call evaluates a tool call.
func (m *maker) call(c *call) {
	m.at++
	back := !m.facts.SentBack.IsZero() && c.at.After(m.facts.SentBack)
	if back && m.resumed == 0 {
		m.resumed = m.at
	}
	if m.facts.PRURL != "" && strings.Contains(c.result, m.facts.PRURL) {
		m.seen.PR = &PR{URL: m.facts.PRURL, Seen: true}
	}
	name := strings.ToLower(c.name)
	if name == "tool_call" { // the runtime's way to call a tool that is not in the list
		name = strings.ToLower(text(c.args, "id", "name"))
		c.args, _ = c.args["args"].(map[string]any)
	}
	if i := strings.LastIndex(name, "__"); i >= 0 && slices.Contains(reporting, name[i+2:]) {
		return
	}
	command := ""
	if slices.Contains([]string{"exec", "bash", "shell", "run_command", "terminal"}, name) {
		command = text(c.args, "command", "cmd")
	}
	s := flatten(command)
	if command != "" && len(s.steps) > 0 && !slices.ContainsFunc(s.steps, func(st step) bool { return !st.toBoard() }) {
		return
	}
	m.seen.Calls++
	if back || m.facts.SentBack.IsZero() {
		m.calls++
	}
	if c.failed || c.exit != nil && *c.exit != 0 {
		m.seen.Failed++
	}
	switch {
	case command != "":
		m.command(command, s, c)
	case name == "process":
		m.poll(c)
	case slices.Contains(editors, name) && !slices.Contains([]string{"view"}, text(c.args, "command")):
		m.edit(c)
	case !slices.Contains(readers, name):
		m.acted = true
	}
}

// edit notes the files that a call of an editor changed.
func (m *maker) edit(c *call) {
	if c.failed || c.pending {
		return
	}
	if c.cut { // the arguments are incomplete JSON
		m.change([]File{{Path: firstPath(c)}})
		return
	}
	m.change(edited(c.args))
}

var pathInJSON = regexp.MustCompile(`"(?:path|file_path|filePath|file)":\s*"([^"]+)"`)

// firstPath returns the file that a call with truncated arguments names, or an empty string.
func firstPath(c *call) string {
	if m := pathInJSON.FindStringSubmatch(text(c.args, "")); m != nil {
		return m[1]
	}
	return ""
}

// command evaluates the steps of a command.
func (m *maker) command(command string, s script, c *call) {
	m.seen.Commands = append(m.seen.Commands, Command{
		Text: plaintext.Cut(plaintext.Line(command), maxCommand, " …"), Status: c.status(), Exit: c.exit, At: clock.At(c.at),
	})
	if over := len(m.seen.Commands) - maxCommands; over > 0 {
		m.seen.Commands = m.seen.Commands[over:]
	}
	if strings.Contains(c.result, "Command still running") {
		if id := backgroundSession.FindStringSubmatch(c.result); id != nil {
			c.pending, m.inBack[id[1]] = true, c
		}
	}
	if strings.HasPrefix(c.result, "Exec denied") {
		return // it never ran
	}
	start := m.at
	matched := m.namedChecks(s, c)
	for i, st := range s.steps {
		m.at++
		kind := classify(st.words)
		if kind != "" && !matched[i] && !slices.ContainsFunc(st.words, func(w string) bool {
			return slices.Contains(fixes, w)
		}) {
			m.check(strings.Join(unwrap(st.words), " "), kind, false, s.outcome(i, c), c, m.at)
			continue
		}
		switch is, files := st.effect(); is {
		case changes:
			list := []File{{}}
			if len(files) > 0 {
				list = nil
			}
			for _, f := range files {
				list = append(list, File{Path: f})
			}
			m.change(list)
		case acts:
			m.acted = true
		}
	}
	if command != "" && len(s.steps) == 0 {
		m.at = start
	}
}

// backgroundSession finds the name of the runtime's session in which a command goes on running.
var backgroundSession = regexp.MustCompile(`Command still running \(session ([\w-]+)`)

// namedChecks notes the checks of the task that a script runs. It returns the steps that they are.
func (m *maker) namedChecks(s script, c *call) map[int]bool {
	matched := map[int]bool{}
	for n, named := range m.named {
		i, ok := s.matches(named)
		if !ok {
			continue
		}
		kind := cmp.Or(classify(s.steps[i].words), Named)
		m.check(m.facts.Named[n], kind, true, s.outcome(i, c), c, m.at+i+1)
		for j := range s.steps {
			matched[j] = matched[j] || j == i || len(named.steps) > 1
		}
	}
	return matched
}

// check notes a run of a check.
func (m *maker) check(command string, kind CheckKind, named bool, is Status, c *call, position int) {
	key := string(kind) + "\n" + command
	if named {
		key = "named\n" + command
	}
	m.checks[key] = &checkRun{position: position, Check: Check{
		Command: plaintext.Cut(plaintext.Line(command), maxCommand, " …"), Kind: kind, Named: named, Status: is, Exit: c.exit,
		At: clock.Ptr(c.at),
	}}
	if m.resumed > 0 || m.facts.SentBack.IsZero() {
		m.since = true
	}
}

// polled finds how a command in the background ended.
var polled = regexp.MustCompile(`Process exited with code (\d+)\.`)

// poll evaluates a call that asks for the result of a command in the background.
func (m *maker) poll(c *call) {
	id := text(c.args, "sessionId", "session_id", "id")
	was, ok := m.inBack[id]
	end := polled.FindStringSubmatch(c.result)
	if !ok || end == nil {
		return
	}
	delete(m.inBack, id)
	var code int64
	_, _ = fmt.Sscan(end[1], &code) // it consists of digits
	was.pending, was.exit, was.result = false, &code, c.result
	s := flatten(text(was.args, "command", "cmd"))
	// The check began when the command did, so later changes are not in it.
	for _, run := range m.checks {
		if run.At != nil && run.At.Equal(clock.At(was.at).Time) && run.Status == Unclear {
			for i, st := range s.steps {
				if strings.Join(unwrap(st.words), " ") == run.Command || run.Named {
					run.Status, run.Exit = s.outcome(i, was), &code
				}
			}
		}
	}
}

// change notes changed files.
func (m *maker) change(files []File) {
	m.changed = m.at
	if m.resumed > 0 || m.facts.SentBack.IsZero() {
		m.since = true
	}
	for _, f := range files {
		if !isText(f.Path) {
			m.code = m.at
		}
		if f.Path == "" {
			continue
		}
		f.Path = plaintext.Cut(plaintext.Line(f.Path), maxCommand, " …")
		i, ok := m.files[f.Path]
		if !ok {
			m.files[f.Path] = len(m.seen.Files)
			m.seen.Files = append(m.seen.Files, f)
			continue
		}
		m.seen.Files[i] = m.seen.Files[i].add(f)
	}
}

// addDiff takes the numbers of lines from the runtime's version control. The workspace may contain
// changes of others, so a diff says nothing if the agent only read.
func (m *maker) addDiff() {
	if m.changed == 0 && !m.acted {
		return
	}
	for _, f := range m.facts.Diff {
		i := slices.IndexFunc(m.seen.Files, func(g File) bool {
			return g.Path == f.Path || strings.HasSuffix(g.Path, "/"+f.Path)
		})
		if i < 0 {
			m.seen.Files = append(m.seen.Files, f)
			continue
		}
		m.seen.Files[i].Added, m.seen.Files[i].Removed = f.Added, f.Removed
	}
}

func (m *maker) finishFiles() {
	if over := len(m.seen.Files) - maxFiles; over > 0 {
		m.seen.Files, m.seen.FilesOmitted = m.seen.Files[:maxFiles], over
	}
	if m.seen.PR == nil && m.facts.PRURL != "" {
		m.seen.PR = &PR{URL: m.facts.PRURL}
	}
}

// collect returns the tool calls of all sessions in chronological order. It also counts the runs and
// what they cost.
func (m *maker) collect() []*call {
	var calls []*call
	runs := map[string][2]time.Time{}
	for _, s := range m.facts.Sessions {
		last, found := s.From, false
		for i := range s.Messages {
			msg := &s.Messages[i]
			at := last
			if msg.At != nil {
				at = msg.At.Time
			}
			last = at
			if at.Before(s.From) || !m.facts.Until.IsZero() && at.After(m.facts.Until) {
				continue
			}
			found = true
			if msg.RunID != nil && msg.Role != "user" {
				span, ok := runs[*msg.RunID]
				if !ok {
					span = [2]time.Time{at, at}
				}
				runs[*msg.RunID] = [2]time.Time{earlier(span[0], at), later(span[1], at)}
			}
			if msg.Tokens != nil {
				m.spend(msg.CostUSD)
			}
			for _, b := range msg.Blocks {
				if b.Tool != nil {
					calls = append(calls,
						callOf(b.Tool.Name, b.Tool.Arguments, b.Tool.ArgumentsCut > 0, b.Tool.Result, b.Tool.ExitCode, b.Tool.Status,
							at, b.Tool.EndedAt))
				}
			}
		}
		if found {
			m.anything = true
			m.seen.Sessions = append(m.seen.Sessions, s.Key)
		}
	}
	m.seen.Runs = len(runs)
	for _, r := range runs {
		m.seen.Seconds += int64(r[1].Sub(r[0]) / time.Second)
	}
	slices.SortStableFunc(calls, func(a, b *call) int { return a.at.Compare(b.at) })
	return calls
}

func callOf(
	name string, args *string, cut bool, result *string, exit *int64, status string, at time.Time, ended *clock.Time,
) *call {
	c := &call{name: name, cut: cut, exit: exit, failed: status == "failed", pending: status == "pending", at: at}
	if result != nil {
		c.result = *result
	}
	if ended != nil {
		c.at = ended.Time
	}
	if args == nil {
		return c
	}
	if cut || json.Unmarshal([]byte(*args), &c.args) != nil {
		c.cut, c.args = true, map[string]any{"": *args}
	}
	return c
}

func (m *maker) spend(cost *money.Nano) {
	if cost == nil {
		m.seen.CostComplete = false
		return
	}
	sum := *cost
	if m.seen.CostUSD != nil {
		sum += *m.seen.CostUSD
	}
	m.seen.CostUSD = &sum
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
