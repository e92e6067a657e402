package answer

import (
	"strings"
	"testing"
)

// Statements are held against the board, in the record and before the
// facilitator: nobody may be said to have said what they did not.
func TestStatements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "",
		"TASK-1 is blocked": "TASK-1 blocked",
		"- **TASK-1** is still blocked by the vendor.": "TASK-1 blocked",
		"TASK-1: blocked":                                 "TASK-1 blocked",
		"- [ ] TASK-1 (blocked)":                          "TASK-1 blocked",
		"TASK-1 – blocked until legal answers":            "TASK-1 blocked",
		"Blocked: TASK-1":                                 "TASK-1 blocked",
		"TASK-1 remains blocked because of TASK-2":        "TASK-1 blocked",
		"Blocked by TASK-1":                               "",
		"blocked on TASK-1":                               "",
		"TASK-1 was blocked":                              "",
		"TASK-1's rollout is blocked":                     "",
		"TASK-1 rollout is blocked":                       "",
		"TASK-1 would be blocked":                         "",
		"TASK-1 is blocked if legal says no":              "",
		"If TASK-1 is blocked we wait":                    "",
		"Is TASK-1 blocked?":                              "",
		"TASK-1 is blocked?":                              "",
		"TASK-1 blocked yesterday":                        "",
		"TASK-1 is blocked no more":                       "",
		"TASK-1 blocks TASK-2":                            "",
		"TASK-1 is no longer blocked":                     "TASK-1 unblocked",
		"TASK-1 is now unblocked!":                        "TASK-1 unblocked",
		"TASK-1 is not blocked anymore":                   "TASK-1 unblocked",
		"TASK-1 was unblocked":                            "",
		"Unblocked TASK-1":                                "",
		"TASK-1 should be unblocked soon":                 "",
		"TASK-1 is not done yet":                          "TASK-1 not_done",
		"TASK-1 isn’t finished":                           "TASK-1 not_done",
		"TASK-1 is not done right":                        "",
		"TASK-1 is almost done":                           "",
		"TASK-1 in progress":                              "TASK-1 in_progress",
		"`TASK-1`: in progress":                           "TASK-1 in_progress",
		"I'm still working on TASK-1.":                    "TASK-1 in_progress",
		"Still working on TASK-1, and TASK-2 is blocked.": "TASK-1 in_progress TASK-2 blocked",
		"Working on TASK-1":                               "",
		"Will be working on TASK-1":                       "",
		"Continue TASK-1":                                 "",
		"Still working on the docs of TASK-1":             "",
		"TASK-1 in progress since Monday":                 "",
		"> TASK-1 is blocked":                             "",
		"```\nTASK-1 is blocked\n```\nTASK-2 is blocked":  "TASK-2 blocked",
		"TASK-1 is blocked\nTASK-1 is blocked.":           "TASK-1 blocked",
		"MY-TASK-1 is blocked":                            "",
		"TASK-0 is blocked":                               "",
	} {
		var got []string
		for _, s := range Statements(text) {
			got = append(got, s.Task+" "+s.Says)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q says %q, want %q", text, got, want)
		}
	}
}
