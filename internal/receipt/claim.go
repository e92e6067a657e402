package receipt

import (
	"regexp"
	"strings"
)

var (
	codeSpan  = regexp.MustCompile("```[a-z]*\n?([\\s\\S]*?)```|`([^`]+)`")
	sentences = regexp.MustCompile(`[^.!?;]+(?:[.!?;](?:\S[^.!?;]*)*)*`)
	// not finds sentences that say what was not done, or what is still to be done.
	not = regexp.MustCompile(`(?i)\b(not|never|no|without|cannot|unable|skipp?ed|skip|instead of|untested|unverified|unchecked|should|would|will|todo|still to|to do|left to|pending|remain(s|ing)?|needs?|please|if|once|before merging|yet|except|failed|fails|failing|broken|red)\b|n['’]t\b`)
	// clean finds negations that mean success.
	clean   = regexp.MustCompile(`(?i)\b(?:no|without(?: any)?|zero|0) (?:(?:new|lint|type|test|build|compile|compiler|linter) )*(?:errors?|failures?|warnings?|issues?|problems?|regressions?|complaints?)\b|\bnothing failed\b|\bno longer (?:fails?|failing|broken|red)\b|\b0 failed\b|\bnot only\b`)
	success = regexp.MustCompile(`(?i)\b(pass(es|ed|ing)?|green|ok|okay|clean(ly)?|succeed(s|ed)?|success(ful|fully)?|ran|rerun|verified|verif(y|ies)|checked|confirm(s|ed)?|work(s|ed)?|fine|happy|done|compiles?|compiled|builds|built|lints|type-?checks)\b|✅|✓|💚|\b100 ?%`)
	kinds   = []struct {
		kind CheckKind
		word *regexp.Regexp
	}{
		{Test, regexp.MustCompile(`(?i)\b((unit|smoke|regression|integration|e2e|end-to-end|acceptance)[ -]?)?(tests?|test[ -]suites?|suites?|specs?|e2e)\b`)},
		{Lint, regexp.MustCompile(`(?i)\b(lint(s|er|ers|ing)?|golangci-lint|eslint|go vet|vet|clippy|ruff|flake8)\b`)},
		{Types, regexp.MustCompile(`(?i)\b(type[ -]?check(s|er|ed|ing)?|tsc|mypy|pyright)\b`)},
		{Build, regexp.MustCompile(`(?i)\b((the |whole |full |production |release )?build (is|was|pass|succe|works|green|ran|ok)|builds? (pass(es|ed)?|succeed(s|ed)?)|(it|everything|project|code|app|binary|all) (builds|compiles)|compil(es|ed) (clean|without|fine|ok|success)|go build|cargo build|build:)`)},
	}
)

// Labels at the start of a line, as in the report tool: all of the line was checked, or none of it.
var (
	labelChecked = regexp.MustCompile(`(?i)^\W*(checked|verified|tested|checks)\s*:`)
	labelNot     = regexp.MustCompile(`(?i)^\W*(not|un)[ -]?(checked|tested|verified|run|done)\b`)
	clauses      = regexp.MustCompile(`, (?:but |so |and )?| but | so |[()–—]`)
)

// said returns the kinds of checks that a report says have passed, and the sentences in which it says
// what was not checked.
func said(report string) (passed []CheckKind, admitted []string) {
	seen := map[CheckKind]bool{}
	for line := range strings.SplitSeq(hideDots(report), "\n") {
		ok, none := labelChecked.MatchString(line), labelNot.MatchString(line)
		for _, s := range sentences.FindAllString(line, -1) {
			denied := false
			for _, c := range clauses.Split(s, -1) {
				is := kindsIn(c)
				plain := clean.ReplaceAllString(c, " ok ")
				switch {
				case len(is) == 0:
				case none || not.MatchString(plain):
					denied = true
				case ok || success.MatchString(plain):
					for _, k := range is {
						if !seen[k] {
							seen[k] = true
							passed = append(passed, k)
						}
					}
				}
			}
			if denied && len(admitted) < maxAdmitted {
				admitted = append(admitted, showDots(strings.TrimSpace(s)))
			}
		}
	}
	return passed, admitted
}

// maxAdmitted is the maximum number of sentences that a receipt keeps of a report.
const maxAdmitted = 5

// hideDots replaces the punctuation in code by characters that no text contains, so that a command is not split.
func hideDots(s string) string {
	hide := strings.NewReplacer(".", "\x01", ",", "\x02", ";", "\x03", "(", "\x04", ")", "\x05", "!", "\x06", "?", "\x07")
	return codeSpan.ReplaceAllStringFunc(s, func(code string) string {
		if strings.HasPrefix(code, "```") {
			return code
		}
		return hide.Replace(code)
	})
}

func showDots(s string) string {
	return strings.NewReplacer("\x01", ".", "\x02", ",", "\x03", ";", "\x04", "(", "\x05", ")", "\x06", "!",
		"\x07", "?").Replace(s)
}

// kindsIn returns the kinds of checks that a sentence names, in words or as commands.
func kindsIn(sentence string) (is []CheckKind) {
	words := codeSpan.ReplaceAllStringFunc(sentence, func(code string) string {
		command := strings.TrimSpace(showDots(strings.Trim(code, "`")))
		for _, st := range parse(command).steps {
			if k := classify(st.words); k != "" {
				is = append(is, k)
			}
		}
		return " "
	})
	for _, k := range kinds {
		if k.word.MatchString(words) {
			is = append(is, k.kind)
		}
	}
	return is
}
