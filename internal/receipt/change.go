package receipt

import (
	"path"
	"slices"
	"strings"
)

// editors are tools that change files.
var editors = []string{
	"write", "edit", "apply_patch", "multi_edit", "multiedit", "str_replace", "str_replace_editor",
	"str_replace_based_edit_tool", "create", "create_file", "write_file", "edit_file", "notebook_edit",
}

// readers are tools that change nothing.
var readers = []string{
	"read", "read_file", "view", "ls", "list", "grep", "glob", "find", "search", "fetch", "web_search", "web_fetch",
	"memory_search", "memory_get", "tool_search", "tool_describe", "process", "sessions_list", "sessions_history",
	"session_status", "image", "think", "todo", "update_plan", "ask_user", "agents_list",
}

// reporting are Wardroom's own tools, without the name of the server.
var reporting = []string{
	"whoami", "next_task", "get_task", "report", "comment", "create_task", "ask_human", "submit_standup_report",
}

// readOnly are programs that change nothing. If the value has words, this holds only if the first argument is one of
// them.
var readOnly = map[string][]string{
	"ls": nil, "cat": nil, "head": nil, "tail": nil, "grep": nil, "rg": nil, "wc": nil, "pwd": nil, "echo": nil,
	"printf": nil, "cd": nil, "which": nil, "type": nil, "stat": nil, "file": nil, "diff": nil, "cmp": nil, "tree": nil,
	"sort": nil, "uniq": nil, "cut": nil, "tr": nil, "awk": nil, "jq": nil, "yq": nil, "date": nil, "whoami": nil,
	"hostname": nil, "uname": nil, "id": nil, "ps": nil, "df": nil, "du": nil, "test": nil, "[": nil, "true": nil,
	":": nil, "sleep": nil, "set": nil, "export": nil, "less": nil, "column": nil, "fd": nil, "basename": nil,
	"dirname": nil, "realpath": nil, "nl": nil, "xxd": nil, "md5sum": nil, "sha256sum": nil, "find": nil, "sed": nil,
	"curl": nil, "env": nil, "man": nil,
	"git": {
		"log", "status", "diff", "show", "branch", "remote", "rev-parse", "blame", "ls-files", "grep", "fetch", "describe",
		"shortlog", "config",
	},
	"go": {"list", "env", "version", "doc", "help"}, "npm": {"ls", "view", "--version", "outdated"},
	"node": {"--version", "-v"}, "gh": {"pr", "issue", "run", "auth"},
}

// writers are programs that change files, with the condition on the arguments.
var writers = map[string]func(args []string) bool{
	"mv": always, "cp": always, "rm": always, "tee": toFile, "truncate": always, "patch": always, "ln": always,
	"touch": always, "black": always, "unzip": always, "sed": has("-i", "-i.bak", "-ni", "--in-place"),
	"perl": has("-i", "-pi", "-i.bak"), "gofmt": has("-w"), "goimports": has("-w"), "gofumpt": has("-w"),
	"prettier": has("--write", "-w"), "eslint": has("--fix"), "stylelint": has("--fix"), "ruff": has("--fix", "format"),
	"biome": has("--write", "--fix"), "tar": has("-x", "-xf", "-xzf", "xf", "xzf"), "dd": always,
	"git":   first("apply", "am", "merge", "rebase", "revert", "cherry-pick", "reset", "restore", "pull", "rm", "mv"),
	"cargo": first("fmt", "add", "fix"), "npm": first("install", "i", "add", "uninstall", "update"),
	"pnpm": first("install", "add", "remove", "update"), "yarn": first("add", "remove", "upgrade"),
	"go": first("get", "generate", "mod", "fmt"),
}

func always([]string) bool { return true }

func toFile(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") && !temporary(a) })
}

func has(options ...string) func([]string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
}

func first(words ...string) func([]string) bool {
	return func(args []string) bool { return firstArgument(args, words) }
}

// temporary reports whether a file does not belong to the work.
func temporary(file string) bool {
	return strings.HasPrefix(file, "/tmp/") || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/var/tmp/") ||
		strings.HasPrefix(file, "$TMPDIR")
}

// isText reports whether a file contains only text for people, so that no check depends on it.
func isText(file string) bool {
	return slices.Contains([]string{".md", ".markdown", ".txt", ".rst", ".adoc"}, strings.ToLower(path.Ext(file)))
}

// edited returns the files that a call of an editor changes.
func edited(args map[string]any) []File {
	if list, ok := args["edits"].([]any); ok {
		sum := File{Path: text(args, "path", "file_path", "filePath", "file")}
		for _, e := range list {
			one, _ := e.(map[string]any)
			sum = sum.add(replaced(sum.Path, one))
		}
		return []File{sum}
	}
	if p := text(args, "input", "patch"); strings.Contains(p, "*** ") {
		return patched(p)
	}
	return []File{replaced(text(args, "path", "file_path", "filePath", "file", "notebook_path"), args)}
}

// replaced returns the change of a file by one replacement, or by writing the whole file.
func replaced(file string, args map[string]any) File {
	added := lines(text(args, "content", "newText", "new_string", "new_str", "file_text", "insert_text"))
	removed := lines(text(args, "oldText", "old_string", "old_str"))
	return File{Path: file, Added: &added, Removed: &removed}
}

// patched returns the files that a patch in the format of apply_patch changes.
func patched(patch string) []File {
	var files []File
	for line := range strings.SplitSeq(patch, "\n") {
		if rest, ok := strings.CutPrefix(line, "*** "); ok {
			kind, file, ok := strings.Cut(rest, " File: ")
			if ok && slices.Contains([]string{"Add", "Update", "Delete"}, kind) {
				files = append(files, File{Path: strings.TrimSpace(file), Added: new(int64), Removed: new(int64)})
			}
			continue
		}
		if len(files) == 0 || line == "" {
			continue
		}
		switch f := files[len(files)-1]; line[0] {
		case '+':
			*f.Added++
		case '-':
			*f.Removed++
		}
	}
	return files
}

// add returns the sum of two changes of a file. Lines are unknown if they are in either change.
func (f File) add(g File) File {
	sum := func(a, b *int64) *int64 {
		if a == nil || b == nil {
			return nil
		}
		n := *a + *b
		return &n
	}
	if f.Added == nil && f.Removed == nil {
		zero := int64(0)
		f.Added, f.Removed = &zero, &zero
	}
	f.Added, f.Removed = sum(f.Added, g.Added), sum(f.Removed, g.Removed)
	return f
}

func lines(s string) int64 {
	if s == "" {
		return 0
	}
	return int64(strings.Count(strings.TrimSuffix(s, "\n"), "\n")) + 1
}

// text returns the first of the arguments that is a non-empty text.
func text(args map[string]any, names ...string) string {
	for _, n := range names {
		if s, ok := args[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// effect is what a step of a command does to files.
type effect int

const (
	reads   effect = iota // nothing
	acts                  // possibly something, for example outside of the workspace
	changes               // it changes files
)

// effect returns what the step does, and the files that it changes as far as known.
func (s step) effect() (effect, []string) {
	files := slices.DeleteFunc(slices.Clone(s.writes), temporary)
	w := program(s.words)
	if classify(w) != "" && !has(fixes...)(w) {
		return reads, nil // a check, whose output may go to a file
	}
	if len(files) > 0 {
		return changes, files
	}
	if len(w) == 0 {
		return reads, nil
	}
	name, args := base(w[0]), w[1:]
	if writes := writers[name]; writes != nil && writes(args) {
		files = paths(name, args)
		if kept := slices.DeleteFunc(slices.Clone(files), temporary); len(kept) > 0 || len(files) == 0 {
			return changes, kept
		}
		return reads, nil
	}
	if name == "curl" && has("-X", "-d", "--data", "-F", "-T", "--request", "--json", "--data-binary")(args) {
		return acts, nil
	}
	if first, ok := readOnly[name]; ok && (first == nil || firstArgument(args, first)) {
		if name == "gh" && !has("list", "view", "status", "checks", "diff")(args) {
			return acts, nil
		}
		return reads, nil
	}
	return acts, nil
}

// paths returns the arguments of a program that are files, as far as that is known.
func paths(name string, args []string) []string {
	files := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	switch name {
	case "sed", "perl": // the first one is the program that they run
		return files[min(1, len(files)):]
	case "mv", "cp", "rm", "tee", "touch", "truncate":
		return files
	}
	return nil
}

// toBoard reports whether the step only reports to Wardroom.
func (s step) toBoard() bool {
	w := unwrap(s.words)
	if len(w) == 0 {
		return false
	}
	switch base(w[0]) {
	case "curl":
		return slices.ContainsFunc(w, func(a string) bool {
			return strings.Contains(a, "/api/v1/tasks/") || strings.Contains(a, "/api/v1/standups")
		})
	case "wardroom":
		return true
	}
	return false
}
