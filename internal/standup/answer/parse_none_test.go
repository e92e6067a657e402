package answer

import "testing"

// A blocker that is read as "none" is one that nobody hears of; "none" that is
// read as a blocker grows older every day.
func TestSaysNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "-", "—", "none", "None.", "**None**", "- none", "N/A", "n/a", "No", "Nope!", "nil", "0", "✅", "🎉 None 🎉", "No blockers", "No blockers today.", "No blockers at this time!",
		"No current blockers.", "None at the moment", "None currently", "None right now, thanks!", "Nothing", "Nothing blocking me", "Nothing is blocking me right now.", "Not blocked",
		"I'm not blocked.", "I have no blockers", "There are no blockers at present.", "I don't have any blockers", "I don’t have any blockers right now", "No impediments", "No known issues",
		"None identified", "None that I'm aware of", "Nothing to report", "All clear", "No blockers – all clear! 🎉", "- None\n- n/a", "Blockers: none", "No major blockers so far", "Unblocked", "(none)",
	} {
		if !saysNone(s) {
			t.Errorf("%q is taken for a blocker", s)
		}
	}
	for _, s := range []string{
		"No access to staging", "No time today", "No progress on the keys", "No one answers", "Nothing works", "none of the tests pass", "Not clear who owns it", "None, but the CI is slow",
		"no response from legal yet", "No blockers except TASK-4", "keys", "TASK-3", "Waiting", "Blocked", "Blockers", "not sure", "No work", "I am blocked", "the moment of truth", "None\n- TASK-3",
	} {
		if saysNone(s) {
			t.Errorf("%q is taken for none", s)
		}
	}
}
