package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each item becomes a blocker with an age of its own: two in one, or half of
// one, would be counted wrongly.
func TestItems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":               {"", nil},
		"a sentence":            {"waiting for keys", []string{"waiting for keys"}},
		"bullets":               {"- one\n- two\n* three\n• four", []string{"one", "two", "three", "four"}},
		"numbers":               {"1. one\n2) two\n10. three", []string{"one", "two", "three"}},
		"paragraphs":            {"one\ngoes on\n\ntwo", []string{"one\ngoes on", "two"}},
		"nested":                {"- one\n  - detail\n  - more\n- two", []string{"one\n- detail\n- more", "two"}},
		"continued":             {"- one\n  goes on\n\n  and on\n- two", []string{"one\ngoes on\n\nand on", "two"}},
		"boxes":                 {"- [ ] one\n- [x] two", []string{"one", "two"}},
		"an introduction":       {"Two things:\n- one\n- two", []string{"one", "two"}},
		"headings":              {"### Outside\n- one\n\n### Inside\n- two", []string{"one", "two"}},
		"a heading and text":    {"### Outside\none", []string{"Outside\none"}},
		"a list and a sentence": {"- one\n- two\n\nand three", []string{"one", "two", "and three"}},
		"code":                  {"- one\n\n```\n- not an item\n\n- nor this\n```\n- two", []string{"one\n\n```\n- not an item\n\n- nor this\n```", "two"}},
		"indented":              {"  - one\n  - two", []string{"one", "two"}},
		"a dash in a sentence":  {"one - and a half", []string{"one - and a half"}},
		"line ends of Windows":  {"- one\r\n- two", []string{"one", "two"}},
		"a bold word":           {"**TASK-4** waits\n\n*really*", []string{"**TASK-4** waits", "*really*"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Items(c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A key that is not one would put a remark on somebody else's task.
func TestTaskKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		"TASK-12 and task-3, TASK-12 again":  "TASK-12 TASK-3",
		"(Task-7).":                          "TASK-7",
		"https://x.example/tasks/TASK-8?y=1": "TASK-8",
		"the branch task-9-fix-login":        "TASK-9",
		"**TASK-10**, `TASK-11`, _TASK-1_":   "TASK-10 TASK-11",
		"SUBTASK-1 MY-TASK-2 TASK-3a TASK-":  "",
		"TASK-0 TASK-00 TASK-007":            "TASK-7",
		"TASK‑5 with a hyphen that never breaks, TASK–6 with a dash": "TASK-5 TASK-6",
		"TASK-99999999999":      "",
		"multitask-4, task - 5": "",
	} {
		if got := strings.Join(TaskKeys(text), " "); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

// Claims are held against the board and shown to people: nobody may be said to
// have called a task finished who did not.
func TestFinishedClaims(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                     "",
		"Finished TASK-1":                                      "TASK-1",
		"- Completed TASK-1 and TASK-2":                        "TASK-1 TASK-2",
		"Shipped TASK-1, TASK-2, and TASK-3.":                  "TASK-1 TASK-2 TASK-3",
		"TASK-1, TASK-2 and TASK-3 are done":                   "TASK-1 TASK-2 TASK-3",
		"TASK-1: the login page. Done!":                        "TASK-1",
		"TASK-1 – the login page – merged":                     "TASK-1",
		"TASK-1 the login page, closed":                        "TASK-1",
		"TASK-1 (done), TASK-2 (in progress)":                  "TASK-1",
		"✅ TASK-1 login\n- ✅TASK-2":                            "TASK-1 TASK-2",
		"- [x] TASK-1 login page\n- [ ] TASK-2 done?":          "TASK-1",
		"TASK-1 is 100% done":                                  "TASK-1",
		"TASK-1 is 90% done, TASK-2 is 90 % complete":          "",
		"TASK-1 is not done":                                   "",
		"TASK-1 isn't finished, TASK-2 isn’t either":           "",
		"TASK-1 is almost done and TASK-2 is nearly finished":  "",
		"TASK-1 will be done tomorrow":                         "",
		"I'll have TASK-1 finished by noon":                    "",
		"TASK-1 should be merged soon":                         "",
		"TASK-1 is ready to be merged":                         "",
		"TASK-1 is still to be closed":                         "",
		"Blocked until TASK-1 is merged":                       "",
		"Once TASK-1 is done I start TASK-2":                   "",
		"Half of TASK-1 is done":                               "",
		"Finished most of TASK-1":                              "",
		"Finished the first draft for TASK-1":                  "",
		"Work done on TASK-1":                                  "",
		"Finished TASK-1 but TASK-2 is not done":               "TASK-1",
		"Finished TASK-1, started TASK-2":                      "TASK-1",
		"Finished TASK-1. Next is TASK-2.":                     "TASK-1",
		"Reviewed TASK-1 and closed TASK-2":                    "TASK-2",
		"Reviewed TASK-1. Finished TASK-1.":                    "TASK-1",
		"Finished TASK-1 in the morning.\nTASK-1 is not done.": "",
		"Worked on TASK-1. Finished the docs.":                 "",
		"TASK-1: wrote the parser. Then I finished lunch":      "",
		"Looked at TASK-1":                                     "",
		"TASK-1":                                               "",
		"Finished everything, see the board":                   "",
		"task-1 has been resolved; task-2 deployed & released": "TASK-1 TASK-2",
		"Fixed the bug of TASK-1 (v1.2.3)":                     "TASK-1",
		"Done: TASK-1, TASK-2":                                 "TASK-1 TASK-2",
		"The unfinished TASK-1 is incomplete":                  "",
		"Closed TASK-1 after TASK-2 was merged":                "",
		"| TASK-1 | done |":                                    "TASK-1",
		"Wrapped up TASK-1":                                    "TASK-1",
	} {
		if got := strings.Join(FinishedClaims(text), " "); got != want {
			t.Errorf("%q claims %q, want %q", text, got, want)
		}
	}
}
