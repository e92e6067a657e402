package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAgentsDocument runs the commands of docs/agents.md in order, because they must work
// as written.
func TestAgentsDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	page, err := filepath.Abs("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, "wardroom"), "wardroom/cmd/wardroom").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	machine(t)
	dir := t.TempDir()
	p := serve(t, "demo", "--dir", dir, "--port", "0", "--pace", "1ms")
	said := regexp.MustCompile(`Password +(\S+)`).FindStringSubmatch(p.out.String())
	if said == nil {
		t.Fatalf("the demo prints no password:\n%s", p.out.String())
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 15 {
		t.Fatalf("the document has only %d blocks of commands", len(blocks))
	}
	// A refused request ends the script, except where the document prints the status
	// itself.
	script := `set -eu -o pipefail
curl() { case " $* " in *" -w "*) command curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac }
`
	for _, b := range blocks[1:] { // the first block sets the variables that are set below
		script += "echo '+' >&2\n" + strings.ReplaceAll(b[1], "wardroom user add", "printf '%s' \"$PASSWORD\" | wardroom user add")
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", script+"echo ran to the end\n")
	shell.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"WARDROOM="+p.address, "EMAIL=coo@wardroom.demo", "PASSWORD="+said[1], "DATA_DIR="+dir)
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ran to the end\n") {
		t.Fatalf("%v after %d of %d blocks\n%s", err, strings.Count(string(out), "+\n"), len(blocks)-1, out)
	}
	for _, want := range []string{
		`"status": "completed"`,                 // the standup has run
		"Hold today's standup through the oper", // the prompt of the job for the COO
		"Hold today's standup of the team design through the oper",
		"\n409\n", // the second run is refused
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
