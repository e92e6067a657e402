package receipt

import (
	"regexp"
	"slices"
	"strings"
)

// CheckKind is a kind of check.
type CheckKind string

// The kinds of checks. Named is a check of the task that is none of the others.
const (
	Test  CheckKind = "test"
	Build CheckKind = "build"
	Lint  CheckKind = "lint"
	Types CheckKind = "types"
	Named CheckKind = "named"
)

// programs are programs that check. If the value has words, one of them must be the first argument.
var programs = map[CheckKind]map[string][]string{
	Test: {
		"go": {"test"}, "cargo": {"test", "nextest"}, "pytest": nil, "jest": nil, "vitest": nil, "mocha": nil, "ava": nil,
		"playwright": {"test"}, "cypress": {"run"}, "unittest": nil, "tox": nil, "nox": nil, "ctest": nil,
		"mvn": {"test", "verify"}, "gradle": {"test", "check"}, "gradlew": {"test", "check"}, "dotnet": {"test"},
		"rspec": nil, "phpunit": nil, "mix": {"test"}, "swift": {"test"}, "deno": {"test"}, "bun": {"test"}, "bats": nil,
		"bazel": {"test"}, "gotestsum": nil,
	},
	Build: {
		"go": {"build", "install"}, "cargo": {"build", "check"}, "mvn": {"package", "compile", "install"},
		"gradle": {"build", "assemble"}, "gradlew": {"build", "assemble"}, "dotnet": {"build", "publish"},
		"docker": {"build"}, "vite": {"build"}, "next": {"build"}, "webpack": nil, "swift": {"build"}, "bazel": {"build"},
		"ninja": nil, "cmake": {"--build"},
	},
	Lint: {
		"go": {"vet"}, "cargo": {"clippy"}, "golangci-lint": {"run"}, "staticcheck": nil, "eslint": nil, "ruff": {"check"},
		"flake8": nil, "pylint": nil, "stylelint": nil, "shellcheck": nil, "rubocop": nil, "biome": {"check", "lint", "ci"},
		"hadolint": nil, "markdownlint": nil, "oxlint": nil,
	},
	Types: {"tsc": nil, "vue-tsc": nil, "mypy": nil, "pyright": nil, "basedpyright": nil},
}

// runners are programs that run another one, after the given words.
var runners = [][]string{
	{"npx"},
	{"bunx"},
	{"pnpm", "exec"},
	{"pnpm", "dlx"},
	{"npm", "exec"},
	{"yarn", "exec"},
	{"poetry", "run"},
	{"uv", "run"},
	{"pipenv", "run"},
	{"bundle", "exec"},
	{"python", "-m"},
	{"python3", "-m"},
}

// fixes are options with which a check changes files, or only prints something.
var (
	fixes = []string{"--fix", "--write", "-w", "--fix-only"}
	inert = []string{
		"--help", "--version", "--dry-run", "--list", "--listTests", "--collect-only", "--print-config", "--if-present",
	}
)

// program returns the command without wrappers and without programs that run others, such as npx.
func program(words []string) []string {
	words = unwrap(words)
	for _, r := range runners {
		if len(words) > len(r) && base(words[0]) == r[0] && slices.Equal(words[1:len(r)], r[1:]) {
			words = words[len(r):]
			for len(words) > 1 && (words[0] == "--" || words[0] == "--no-install" || words[0] == "-y") {
				words = words[1:]
			}
		}
	}
	return words
}

// classify returns the kind of check that a command is, or an empty string.
func classify(words []string) CheckKind {
	words = program(words)
	if len(words) == 0 || slices.ContainsFunc(words[1:], func(w string) bool { return slices.Contains(inert, w) }) {
		return ""
	}
	name, args := base(words[0]), words[1:]
	for _, kind := range []CheckKind{Test, Build, Lint, Types} {
		first, ok := programs[kind][name]
		if ok && (first == nil || firstArgument(args, first)) {
			return kind
		}
	}
	if name, ok := target(name, args); ok {
		return kindOfTarget(name)
	}
	return ""
}

// firstArgument reports whether the first argument that is not an option is one of the words.
func firstArgument(args, words []string) bool {
	for _, a := range args {
		if slices.Contains(words, a) {
			return true
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") && !isAssignment(a) {
			return false
		}
	}
	return false
}

// target returns the name of the script or target that a command such as npm run or make runs.
func target(program string, args []string) (name string, ok bool) {
	plain := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.HasPrefix(a, "-") || isAssignment(a)
	})
	switch program {
	case "npm", "pnpm", "yarn", "bun":
		for i, a := range args { // the value of --prefix and the like is not the name of a script
			if (a == "--prefix" || a == "-C" || a == "--filter" || a == "--workspace") && i+1 < len(args) {
				value := args[i+1]
				plain = slices.DeleteFunc(plain, func(p string) bool { return p == value })
			}
		}
		if len(plain) > 0 && (plain[0] == "run" || plain[0] == "run-script") {
			plain = plain[1:]
		} else if len(plain) > 0 && program == "npm" && plain[0] != "test" && plain[0] != "t" {
			return "", false
		}
		if len(plain) > 0 && plain[0] == "t" {
			return "test", true
		}
	case "make", "gmake":
		if slices.Contains(args, "-n") || slices.Contains(args, "-q") {
			return "", false
		}
		if i := slices.Index(args, "-C"); i >= 0 && i+1 < len(args) {
			folder := args[i+1]
			plain = slices.DeleteFunc(plain, func(p string) bool { return p == folder })
		}
		if len(plain) == 0 {
			return "build", true
		}
	case "just", "task", "rake", "composer":
	default:
		return "", false
	}
	if len(plain) == 0 {
		return "", false
	}
	return plain[0], true
}

var targetKinds = []struct {
	kind CheckKind
	name *regexp.Regexp
}{
	{"", regexp.MustCompile(`(?i)\b(fix|watch|update|write|clean|install|deploy|publish|release|start|dev|serve)\b`)},
	{Lint, regexp.MustCompile(`(?i)\b(lint|eslint|stylelint|format[:-]check|fmt[:-]check|vet)`)},
	{Types, regexp.MustCompile(`(?i)\b(type-?check|types?|tsc)\b`)},
	{Test, regexp.MustCompile(`(?i)\b(tests?|e2e|unit|spec|specs|check|verify|ci|integration)\b`)},
	{Build, regexp.MustCompile(`(?i)\b(build|all|compile|bundle)\b`)},
}

func kindOfTarget(name string) CheckKind {
	for _, t := range targetKinds {
		if t.name.MatchString(name) {
			return t.kind
		}
	}
	return ""
}

// trivial are programs after which the exit status of the step before can be told from that of the whole script.
var trivial = []string{"echo", "printf", "date", "true", ":"}

// failing finds messages of failed checks.
var failing = regexp.MustCompile(`(?m)^(?:--- FAIL|FAIL\b|FAILED\b|error(?:\[\w+\])?:)|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?|problems?)\b`)

// outcome returns the result of step i, given how the whole script ended. It returns Unclear if the
// exit status of the script says nothing about the step, unless the output tells of a failure.
func (s script) outcome(i int, c *call) Status {
	is := s.exited(i, c)
	if is == Unclear && !c.pending && failing.MatchString(c.result) {
		return Failed
	}
	return is
}

// exited returns the result of step i according to the exit status.
func (s script) exited(i int, c *call) Status {
	if !s.plain || s.steps[i].background || c.pending {
		return Unclear
	}
	for n, st := range s.steps {
		switch {
		case st.op == "||", st.op == ";" && n > i && !s.errexit, st.op == "|" && n == i+1 && !s.pipefail:
			return Unclear
		}
	}
	switch {
	case c.exit == nil && !c.failed:
		return Unclear
	case c.exit != nil && *c.exit == 0 && !c.failed:
		return Passed
	}
	for _, st := range s.steps[i+1:] {
		if st.op != "|" && len(st.words) > 0 && !slices.Contains(trivial, base(st.words[0])) {
			return Unclear
		}
	}
	return Failed
}

// matches reports whether the script runs the named command, and returns the step. If the named
// command has several steps, the script must consist of exactly these, and the step is the last one.
func (s script) matches(named script) (i int, ok bool) {
	switch len(named.steps) {
	case 0:
		return 0, false
	case 1:
		want := unwrap(named.steps[0].words)
		i = slices.IndexFunc(s.steps, func(st step) bool { return slices.Equal(unwrap(st.words), want) })
		return i, i >= 0
	}
	same := func(a, b step) bool { return a.op == b.op && slices.Equal(a.words, b.words) }
	return len(s.steps) - 1, slices.EqualFunc(s.steps, named.steps, same)
}
