package receipt_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/clock"
	"wardroom/internal/receipt"
	"wardroom/internal/transcript"
)

func toolCall(name, args, result string, exit *int64) transcript.ToolCall {
	return transcript.ToolCall{Name: name, Status: "done", Arguments: &args, Result: &result, ExitCode: exit}
}

func message(at time.Time, calls ...transcript.ToolCall) transcript.Message {
	m := transcript.Message{Role: "assistant", At: clock.Ptr(at), RunID: new("run-1")}
	for i := range calls {
		m.Blocks = append(m.Blocks, transcript.Block{Type: "tool_call", Tool: &calls[i]})
	}
	return m
}

var began = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// ran returns facts in which the agent edits a file and then runs the given commands, a minute apart. All succeed.
func ran(commands ...string) receipt.Facts {
	s := receipt.Session{Key: "agent:cto:task:task-7"}
	s.Messages = append(s.Messages, message(began, toolCall("edit", `{"path":"a.go","oldText":"a","newText":"b\nc"}`, "ok", nil)))
	for i, c := range commands {
		s.Messages = append(s.Messages, message(began.Add(time.Duration(i+1)*time.Minute), shellCall(c, "", 0)))
	}
	return receipt.Facts{Sessions: []receipt.Session{s}}
}

func shellCall(command, result string, code int64) transcript.ToolCall {
	return toolCall("exec", string(jsonOf(map[string]string{"command": command})), result, &code)
}

// If the exit status of another command counted as that of the test, a failed test would look passed.
func TestExitStatus(t *testing.T) {
	for command, want := range map[string]receipt.Grade{
		"go test ./...":                        receipt.SelfChecked,
		"cd sub && go test ./... && echo ok":   receipt.SelfChecked,
		"cd sub; go test ./...":                receipt.SelfChecked,
		"go test ./... 2>&1 > /tmp/out":        receipt.SelfChecked,
		"set -e; go test ./...; echo done":     receipt.SelfChecked,
		"sh -c 'go vet ./... && go test ./x'":  receipt.SelfChecked,
		"env A=b timeout -k 5 60 go test ./x":  receipt.SelfChecked,
		"npx --no-install vitest run":          receipt.SelfChecked,
		"npm --prefix web run test:unit":       receipt.SelfChecked,
		"go test ./... \\\n  -count=1":         receipt.SelfChecked,
		"go test ./... | tail -3":              receipt.Claimed,
		"go test ./... || true":                receipt.Claimed,
		"go test ./...; echo done":             receipt.Claimed,
		"go test ./... &":                      receipt.Claimed,
		"true || go test ./...":                receipt.Claimed,
		"if false; then go test ./...; fi":     receipt.Claimed,
		"go() { true; }; go test ./...":        receipt.Claimed,
		"exit 0; go test ./...":                receipt.Claimed,
		"echo 'go test ./...'":                 receipt.Claimed,
		"echo go test ./...":                   receipt.Claimed,
		"git commit -m \"go test ./... && x\"": receipt.Claimed,
		"cat <<EOF\ngo test ./...\nEOF":        receipt.Claimed,
		"ls # && go test ./...":                receipt.Claimed,
		"make -n test":                         receipt.Claimed,
		"npm run lint:fix":                     receipt.Claimed,
		"go test --help":                       receipt.Claimed,
		"go test 'unfinished":                  receipt.Claimed,
	} {
		if r := receipt.Make(ran(command)); r.Grade != want {
			t.Errorf("%q: %s, want %s; checks %+v", command, r.Grade, want, r.Checks)
		}
	}
}

// A check that a person named must be told apart from one that the agent chose, or a weaker command
// would count in its place.
func TestNamedChecks(t *testing.T) {
	for _, c := range []struct {
		named, ran []string
		want       receipt.Grade
		gaps       int
	}{
		{[]string{"make test"}, []string{"make test"}, receipt.Checked, 0},
		{[]string{"make test"}, []string{"cd /work && CI=1 make test 2>&1"}, receipt.Checked, 0},
		{[]string{"make test"}, []string{"make test V=1 ONLY=none"}, receipt.SelfChecked, 1},
		{[]string{"make test", "make lint"}, []string{"make test"}, receipt.SelfChecked, 1},
		{[]string{"make test", "make lint"}, []string{"make test && make lint"}, receipt.Checked, 0},
		{[]string{"make test", "make lint"}, []string{"make test; make lint"}, receipt.Claimed, 0},
		{[]string{"make test", "make lint"}, []string{"make test", "make lint"}, receipt.Checked, 0},
		{[]string{"bin/verify --all"}, []string{"bin/verify --all"}, receipt.Checked, 0},
		{[]string{"cd web && npm test"}, []string{"cd web && npm test"}, receipt.Checked, 0},
		{[]string{"cd web && npm test"}, []string{"npm test"}, receipt.SelfChecked, 1},
		{[]string{"make test"}, []string{"make test", "sed -i s/a/b/ main.go"}, receipt.Claimed, 1},
		{[]string{"make test"}, []string{"make test", "touch docs/notes.md"}, receipt.Checked, 0},
		{[]string{"make test"}, nil, receipt.Claimed, 1},
	} {
		f := ran(c.ran...)
		f.Named = c.named
		if r := receipt.Make(f); r.Grade != c.want || len(r.Gaps) != c.gaps {
			t.Errorf("named %q, ran %q: %s with %v, want %s with %d gaps", c.named, c.ran, r.Grade, r.Gaps, c.want, c.gaps)
		}
	}
}

// A reviewer must see that the last check failed, whatever the report says.
func TestFailedCheck(t *testing.T) {
	f := ran("go test ./...")
	f.Text = "All tests pass."
	f.Sessions[0].Messages = append(f.Sessions[0].Messages, message(began.Add(2*time.Minute), shellCall("go test ./...", "FAIL", 1)))
	want := []receipt.Gap{{Kind: receipt.CheckFailed, Text: "The last run of `go test ./...` failed with exit code 1."}}
	if r := receipt.Make(f); r.Grade != receipt.Claimed || !slices.Equal(r.Gaps, want) {
		t.Errorf("the receipt is %s with %+v", r.Grade, r.Gaps)
	}
}

// An agent that is sent back and does nothing must not get the receipt of its first attempt.
func TestSentBack(t *testing.T) {
	f := ran("go test ./...")
	f.SentBack = began.Add(time.Hour)
	first := f.Sessions[0].Messages
	for want, more := range map[receipt.GapKind][]transcript.ToolCall{
		receipt.NoToolCall:     nil,
		receipt.NothingChanged: {toolCall("read", `{"path":"a.go"}`, "text", nil)},
		"":                     {shellCall("go test ./...", "", 0)},
	} {
		f.Sessions[0].Messages = first
		if len(more) > 0 {
			f.Sessions[0].Messages = slices.Concat(first, []transcript.Message{message(began.Add(2*time.Hour), more...)})
		}
		r := receipt.Make(f)
		var kinds []receipt.GapKind
		for _, g := range r.Gaps {
			kinds = append(kinds, g.Kind)
		}
		if want == "" && (len(kinds) > 0 || r.Grade != receipt.SelfChecked) || want != "" && (len(kinds) != 1 || kinds[0] != want) {
			t.Errorf("gaps %v with grade %s, want %q", r.Gaps, r.Grade, want)
		}
	}
}

// What a receipt shows must be what happened: commands with their exit codes, files with their lines, runs and cost.
func TestSeen(t *testing.T) {
	f := ran("go test ./...")
	m := f.Sessions[0].Messages
	m = append(m, message(began.Add(2*time.Minute), shellCall("go vet ./...", "a.go:3: unused", 1), toolCall("edit", `{"path":"a.go","oldText":"x","newText":"y"}`, "ok", nil)))
	m[0].Tokens, m[0].CostUSD = &transcript.Tokens{Input: 10}, nil
	f.Sessions[0].Messages, f.PRURL = m, "https://code.example.com/pull/1"
	f.Diff = []receipt.File{{Path: "b.go", Added: new(int64(7)), Removed: new(int64(0))}}
	r := receipt.Make(f)
	if r.Seen == nil {
		t.Fatal("nothing seen")
	}
	got := *r.Seen
	want := receipt.Seen{
		Sessions: []string{"agent:cto:task:task-7"}, Runs: 1, Seconds: 120, Calls: 4, Failed: 1, CostComplete: false, Artifacts: []string{},
		Files: []receipt.File{{Path: "a.go", Added: new(int64(3)), Removed: new(int64(2))}, {Path: "b.go", Added: new(int64(7)), Removed: new(int64(0))}},
		PR:    &receipt.PR{URL: "https://code.example.com/pull/1"},
		Commands: []receipt.Command{
			{Text: "go test ./...", Status: "done", Exit: new(int64(0)), At: clock.At(began.Add(time.Minute))},
			{Text: "go vet ./...", Status: "done", Exit: new(int64(1)), At: clock.At(began.Add(2 * time.Minute))},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Where the runtime recorded nothing, a receipt must say so instead of accusing the agent.
func TestNotGradable(t *testing.T) {
	r := receipt.Make(receipt.Facts{Text: "All tests pass.", Named: []string{"make test"}})
	if r.Grade != receipt.NotGradable || len(r.Gaps) != 0 || r.Seen != nil {
		t.Errorf("%s with gaps %v", r.Grade, r.Gaps)
	}
}

// An agent that says what it did not check must not be accused of claiming it.
func TestAdmitted(t *testing.T) {
	f := ran()
	f.Text = "Fixed. I did not run the tests. Lint is still to do, and `npm run build` wasn't tried."
	r := receipt.Make(f)
	want := []string{"I did not run the tests.", "Lint is still to do, and `npm run build` wasn't tried."}
	if d := cmp.Diff(want, r.Claim.Admitted); d != "" || len(r.Gaps) > 0 {
		t.Error(d, r.Gaps)
	}
}

// A transcript or a report from a hostile agent must not stop the service.
func FuzzMake(f *testing.F) {
	f.Add("cat <<'E\n", "All `tests pass", "*** Update File: a\n+b")
	f.Fuzz(func(t *testing.T, command, report, patch string) {
		facts := ran(command, "bash -c '"+command+"'")
		facts.Text, facts.Named = report, []string{command, report}
		facts.Sessions[0].Messages = append(facts.Sessions[0].Messages, message(began, toolCall("apply_patch", string(jsonOf(map[string]string{"input": patch})), patch, nil)))
		if r := receipt.Make(facts); r.Grade == receipt.NotGradable || r.Grade == receipt.Approved {
			t.Errorf("grade %s", r.Grade)
		}
	})
}

func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts always encode
	}
	return b
}

// A check that people named says nothing about what changed after it, even if another check passes then.
func TestOutdatedNamedCheck(t *testing.T) {
	f := ran("bin/check", "true", "go test ./...")
	f.Named = []string{"bin/check"}
	edit := message(began.Add(90*time.Second), toolCall("edit", `{"path":"a.go","oldText":"b","newText":"c"}`, "ok", nil))
	f.Sessions[0].Messages = slices.Insert(f.Sessions[0].Messages, 2, edit)
	want := []receipt.Gap{{Kind: receipt.ChangedAfterCheck, Text: "Files changed after `bin/check` last ran."}}
	if r := receipt.Make(f); r.Grade != receipt.SelfChecked || !slices.Equal(r.Gaps, want) {
		t.Errorf("the receipt is %s with %+v", r.Grade, r.Gaps)
	}
}
