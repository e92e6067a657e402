package app

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"

	"wardroom/internal/gateway/demo"
)

// demoJobs returns the scheduled jobs of the sample team. What they report must not contradict what Wardroom
// shows: it knows the agents' cost, their failures, and the board.
func demoJobs() []demo.Job {
	return []demo.Job{
		{AgentID: "coo", Name: "Morning numbers", What: "Suppliers' costs and signups of the previous day.", Expr: "0 6 * * *", Ask: "Summarize yesterday: what did our suppliers cost, and how many signed up?", Missed: []int{1}, Run: jobRun("Yesterday was within budget: $27.08 for hosting and $1.63 for email, of $38.00. {9-14} people signed up.",
			shell("bin/suppliers --yesterday", "hosting $27.08  email $1.63  budget $38.00"), shell("bin/signups --yesterday", "{9-14} people"),
		)},
		{AgentID: "cto", Name: "Check the error rate", What: "Compares the error rate with its usual level.", Expr: "10 */4 * * *", Ask: "Is the error rate normal?", Late: []int{4, 39}, Run: jobRun("Yes, 0.0{3-6}%.",
			shell("bin/errors --hours 4 --compare 14d", "0.0{3-6}%, usually 0.03% to 0.06%"),
		)},
		{
			AgentID: "cto", Name: "Check the backup", What: "Restores the latest backup to a clean machine.", Expr: "15 2 * * *", Ask: "Restore the latest backup and check the row counts.", Failed: []int{1, 10},
			Error:  "The backup was not checked: no clean machine available.",
			Output: "error: no clean machine available (0 of 2 free, both in use for more than 3 h)",
			Run: jobRun("Restored in {52-71} s. The row counts match.",
				shell("bin/machines take --clean", "restore-2"), shell("bin/restore latest --to restore-2", "6.2 GB in {52-71} s"), shell("bin/compare-counts production restore-2", "41 tables, 0 differ"),
			),
		},
		{AgentID: "cpo", Name: "Triage support email", What: "Sorts new customer messages by urgency.", Expr: "30 5-19/3 * * *", Ask: "Triage the new support emails and tell me what's urgent.", Missed: []int{47}, Run: jobRun("{9-16} new emails, none of them urgent. {2-5} ask for shared workspaces.",
			shell("bin/mail --unread --support", "{9-16} emails"), shell("bin/mail tag --by topic", "workspaces {2-5}  invoices, how-to: the rest"),
		)},
		{AgentID: "cmo", Name: "Brand mentions", What: "Searches public forums for our name.", Expr: "45 */6 * * *", Ask: "Who has mentioned us since your last check?", Run: jobRun("{2-6} mentions, all positive. One asks what Business costs.",
			shell("bin/mentions --since-last", "{2-6} mentions in 2 forums"),
		)},
	}
}

// numberRange matches a part of a job's texts that stands for a number, such as {2-5}.
var numberRange = regexp.MustCompile(`\{(\d+)-(\d+)\}`)

// jobRun returns the function for demo.Job.Run. In each run, a range has another number; equal ranges
// have equal numbers, so that the answer fits what the tools returned.
func jobRun(answer string, steps ...demo.Step) func(id string) demo.Script {
	return func(id string) demo.Script {
		fill := func(text string) string {
			return numberRange.ReplaceAllStringFunc(text, func(found string) string {
				m := numberRange.FindStringSubmatch(found)
				from, _ := strconv.ParseUint(m[1], 10, 32) // the pattern matches only digits
				to, _ := strconv.ParseUint(m[2], 10, 32)
				h := fnv.New64a()
				_, _ = h.Write([]byte(id + found)) // never fails
				return strconv.FormatUint(from+h.Sum64()%(to-from+1), 10)
			})
		}
		did := demo.Script{Steps: slices.Clone(steps), Answer: fill(answer)}
		for i := range did.Steps {
			did.Steps[i].Result = fill(did.Steps[i].Result)
		}
		return did
	}
}
