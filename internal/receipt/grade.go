package receipt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// results returns the last run of each check, the latest first, and after them the checks of the task that did not run.
func (m *maker) results() []Check {
	runs := make([]*checkRun, 0, len(m.checks))
	for _, r := range m.checks {
		r.Fresh = r.position > m.code
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *checkRun) int {
		return cmp.Or(cmp.Compare(b.position, a.position), strings.Compare(a.Command, b.Command))
	})
	out := []Check{}
	for _, r := range runs {
		if len(out) < maxChecks || r.Named {
			out = append(out, r.Check)
		}
	}
	for n, command := range m.facts.Named {
		if !slices.ContainsFunc(runs, func(r *checkRun) bool {
			return r.Named && r.Command == command
		}) && len(m.named[n].steps) > 0 {
			out = append(out, Check{
				Command: command, Kind: cmp.Or(classify(m.named[n].steps[0].words), Named), Named: true, Status: NotRun,
			})
		}
	}
	return out
}

// decisive returns the checks that the grade depends on, of those that ran: tests if there are any,
// because a build or a linter says less, and otherwise all. The checks must be sorted with the latest first.
func decisive(checks []Check) []Check {
	var ran, tests []Check
	for _, c := range checks {
		if c.Status == NotRun {
			continue
		}
		ran = append(ran, c)
		if c.Kind == Test {
			tests = append(tests, c)
		}
	}
	if len(tests) > 0 {
		return tests
	}
	return ran
}

// outdated returns the named checks after whose last run files changed. If there are none, it returns the
// latest check that the grade depends on, unless one of those is up to date.
func outdated(checks []Check) []Check {
	var out []Check
	for _, c := range checks {
		if c.Named && c.Status != NotRun && !c.Fresh {
			out = append(out, c)
		}
	}
	d := decisive(checks)
	if len(out) == 0 && len(d) > 0 && !slices.ContainsFunc(d, func(c Check) bool { return c.Fresh }) {
		out = d[:1]
	}
	return out
}

// failedLast returns the kinds of checks whose last run failed, each with that run.
func failedLast(checks []Check) []Check {
	var out []Check
	seen := map[CheckKind]bool{}
	for _, c := range checks {
		if c.Status == NotRun || seen[c.Kind] && !c.Named {
			continue
		}
		seen[c.Kind] = true
		if c.Status == Failed {
			out = append(out, c)
		}
	}
	return out
}

// grade returns the grade. It depends on nothing that the agent says.
func (m *maker) grade(checks []Check) Grade {
	if m.calls == 0 || m.changed == 0 && !m.acted && len(m.checks) == 0 {
		return None
	}
	if len(failedLast(checks)) > 0 {
		return Claimed
	}
	named, held := 0, 0
	for _, c := range checks {
		if c.Named {
			named++
			if c.Status == Passed && c.Fresh {
				held++
			}
		}
	}
	if named > 0 && named == held {
		return Checked
	}
	if slices.ContainsFunc(decisive(checks), func(c Check) bool { return c.Status == Passed && c.Fresh }) {
		return SelfChecked
	}
	return Claimed
}

// gaps returns the differences between what the agent says and what the records show.
func (m *maker) gaps(checks []Check, passed []CheckKind) []Gap {
	gaps := []Gap{}
	add := func(kind GapKind, format string, args ...any) {
		gaps = append(gaps, Gap{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	after := ""
	if !m.facts.SentBack.IsZero() {
		after = " after the task was sent back"
	}
	switch {
	case m.calls == 0:
		add(NoToolCall, "The agent called no tool%s, except to report.", after)
	case m.changed == 0 && !m.acted, after != "" && !m.since && !m.acted:
		add(NothingChanged, "Nothing was changed%s.", after)
	}
	for _, c := range failedLast(checks) {
		add(CheckFailed, "The last run of %s failed%s.", quote(c.Command), exitText(c))
	}
	for _, c := range outdated(checks) {
		add(ChangedAfterCheck, "Files changed after %s last ran.", quote(c.Command))
	}
	for _, k := range passed {
		if !slices.ContainsFunc(checks, func(c Check) bool {
			return c.Status != NotRun && (c.Kind == k || k == Build && c.Kind != Lint || k == Types && c.Kind == Build)
		}) {
			add(ClaimedCheckNotRun, "The report says that %s, but none ran.", kindTexts[k])
		}
	}
	for _, c := range checks {
		if c.Status == NotRun {
			add(NamedCheckNotRun, "The task's check %s did not run.", quote(c.Command))
		}
	}
	return gaps
}

var kindTexts = map[CheckKind]string{
	Test: "tests pass", Build: "a build succeeds", Lint: "a linter passes", Types: "a type check passes",
}

func quote(command string) string { return "`" + strings.ReplaceAll(command, "`", "'") + "`" }

func exitText(c Check) string {
	if c.Exit == nil || *c.Exit == 0 {
		return ""
	}
	return fmt.Sprintf(" with exit code %d", *c.Exit)
}
