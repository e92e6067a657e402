package session

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"wardroom/internal/gateway"
)

// transcriptOf is a transcript with one call per turn.
type transcriptOf struct {
	random *rand.Rand
	turns  []gateway.Turn
}

func (o *transcriptOf) call(tool, arguments, result string) {
	o.add(tool, arguments, result, gateway.ToolDone)
}

func (o *transcriptOf) fail(tool, arguments, result string) {
	o.add(tool, arguments, result, gateway.ToolFailed)
}

func (o *transcriptOf) add(tool, arguments, result string, status gateway.ToolStatus) {
	call := gateway.ToolCall{ID: fmt.Sprint(len(o.turns)), Name: tool, Status: status, Arguments: arguments, Result: result}
	o.turns = append(o.turns, gateway.Turn{Role: "assistant", RunID: "run", Blocks: []gateway.Block{{Kind: gateway.ToolBlock, Tool: &call}}})
}

// exec returns the arguments of a command.
func exec(command string) string { return fmt.Sprintf(`{"command":%q}`, command) }

// times returns a random number of repetitions.
func (o *transcriptOf) times(least, most int) int { return least + o.random.IntN(most-least+1) }

// duration returns a time that a tool took.
func (o *transcriptOf) duration() string { return fmt.Sprintf("%.2fs", 0.1+o.random.Float64()) }

// healthy returns what agents do that make progress, in the shapes that are closest to loops.
func healthy() []func(o *transcriptOf) {
	return []func(o *transcriptOf){
		func(o *transcriptOf) { // reads many files, some of which are empty or missing
			for i := range o.times(5, 30) {
				path := fmt.Sprintf(`{"path":"src/part%d.go"}`, i)
				switch o.random.IntN(6) {
				case 0:
					o.call("read", path, "")
				case 1:
					o.fail("read", path, fmt.Sprintf("ENOENT: no such file or directory, open 'src/part%d.go'", i))
				default:
					o.call("read", path, fmt.Sprintf("package part%d\n", i))
				}
			}
		},
		func(o *transcriptOf) { // polls a build
			for range o.times(1, 5) {
				o.call("process", `{"action":"poll","id":"build"}`, "Process still running.")
			}
			o.call("process", `{"action":"poll","id":"build"}`, "Process exited with code 0.")
		},
		func(o *transcriptOf) { // polls a build that says how far it is
			for i := range o.times(5, 20) {
				o.call("process", `{"action":"poll","id":"build"}`, fmt.Sprintf("[%d/40] compiling, %s", i, o.duration()))
			}
		},
		func(o *transcriptOf) { // waits, and looks
			for range o.times(1, 3) {
				o.call("exec", exec("sleep 30"), "")
				o.call("exec", exec("gh run view 17"), "in_progress")
			}
			o.call("exec", exec("gh run view 17"), "completed success")
		},
		func(o *transcriptOf) { // retries until a service is up
			for range o.times(1, 5) {
				o.fail("exec", exec("curl localhost:8080"), "curl: (7) Failed to connect to localhost port 8080: Connection refused")
			}
			o.call("exec", exec("curl localhost:8080"), "ok")
		},
		func(o *transcriptOf) { // edits in turn with tests, whose failures become fewer or stay the same
			left := o.times(3, 12)
			for i := 0; left > 0; i++ {
				o.call("edit", fmt.Sprintf(`{"path":"a.go","from":"v%d","to":"v%d"}`, i, i+1), "Edited a.go.")
				o.fail("exec", exec("go test ./..."), fmt.Sprintf("FAIL: %d tests failed\nFAIL wardroom/a %s", left, o.duration()))
				left -= o.random.IntN(2)
			}
			o.call("exec", exec("go test ./..."), "ok wardroom/a "+o.duration())
		},
		func(o *transcriptOf) { // fixes the arguments of a call
			for i := range o.times(1, 5) {
				o.fail("write", fmt.Sprintf(`{"path":"/etc/%d"}`, i), fmt.Sprintf("EACCES: permission denied, open '/etc/%d'", i))
			}
			o.call("write", `{"path":"notes.md"}`, "Wrote notes.md.")
		},
		func(o *transcriptOf) { // guesses the name of a tool
			for i := range o.times(1, 3) {
				tool := fmt.Sprintf("list_tasks_%d", i)
				o.fail(tool, `{}`, "Tool "+tool+" not found")
			}
			o.call("wardroom__next_task", `{}`, "TASK-7")
		},
		func(o *transcriptOf) { // works through pages
			for i := range o.times(5, 20) {
				o.call("fetch", fmt.Sprintf(`{"url":"https://example.com/?page=%d"}`, i), fmt.Sprintf("Page %d, loaded in %s", i, o.duration()))
			}
		},
	}
}

// A false alarm costs the trust in all others, so healthy work must raise at most 1 in 200 transcripts.
func TestHealthyRunsAreNoLoops(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	random := rand.New(rand.NewPCG(23, 2))
	alarms, calls := 0, 0
	for range 200 {
		o := transcriptOf{random: random}
		parts := healthy()
		for range 10 {
			parts[random.IntN(len(parts))](&o)
		}
		calls += len(o.turns)
		if found := loopsIn(o.turns); len(found) > 0 {
			alarms++
			t.Logf("%+v", found)
		}
	}
	if alarms > 1 || calls < 5000 {
		t.Errorf("%d false alarms in 200 transcripts with %d calls", alarms, calls)
	}
}

// A loop must be named by its shape while it is cheap: within 8 calls, whatever came before.
func TestLoopsAreNamed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	random := rand.New(rand.NewPCG(23, 3))
	for want, step := range map[shape]func(o *transcriptOf, i int){
		sameCall: func(o *transcriptOf, _ int) { o.call("exec", exec("git status"), "nothing to commit") },
		sameFailure: func(o *transcriptOf, i int) {
			o.fail("exec", exec(fmt.Sprint("deploy --try ", i)), fmt.Sprintf("deploy --try %d: access denied for user 'ci'", i))
		},
		twoCalls: func(o *transcriptOf, i int) {
			if i%2 == 0 {
				o.call("read", `{"path":"a.go"}`, "package a")
			} else {
				o.fail("exec", exec("go build"), "a.go:1: expected 'package' after "+o.duration())
			}
		},
		unknownTool: func(o *transcriptOf, i int) {
			o.fail("wardroom__board_claim", fmt.Sprintf(`{"n":%d}`, i), "Tool wardroom__board_claim not found")
		},
		changingResult: func(o *transcriptOf, i int) {
			o.call("fetch", `{"url":"https://example.com"}`, fmt.Sprintf("request %08x-0000-4000-8000-%012x at 2026-11-27T10:%02d:00.000Z: queued", random.Uint32(), i, i))
		},
	} {
		for range 50 {
			o := transcriptOf{random: random}
			parts := healthy()
			parts[random.IntN(len(parts))](&o)
			before := len(o.turns)
			for i := 0; ; i++ {
				step(&o, i)
				found := loopsIn(o.turns)
				if len(found) == 1 && found[0].shape == want && found[0].runID == "run" {
					break
				}
				if n := len(o.turns) - before; n == 8 || len(found) > 0 {
					t.Fatalf("%s: after %d calls %+v", want, n, found)
				}
			}
			o.turns = append(o.turns, gateway.Turn{Role: "user"})
			if found := loopsIn(o.turns); len(found) > 0 {
				t.Fatalf("%s: after a message to the agent it is still %+v", want, found)
			}
		}
	}
}

// The text of an item quotes the names of tools, which agents choose, and must not become markup.
func TestLoopIsSaid(t *testing.T) {
	t.Parallel()
	got := loop{shape: twoCalls, tool: "read`\n# x", other: "exec", count: 8}.say()
	if want := "It has called `read' # x` and `exec` in turn at least 8 times, each with the same result."; got != want {
		t.Errorf("%s", got)
	}
}
