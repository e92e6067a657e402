package demo

import "slices"

// dayParts returns the demo team's scenarios, grouped by part of the day. If a scenario continues
// an earlier one in the same session, it belongs to a later part of the day.
func dayParts() [][]scenario { return append(earlyParts(), lateParts()...) }

func earlyParts() [][]scenario {
	return [][]scenario{
		{
			{agent: "cmo", place: subAgentPlace, label: "Check the prices on the home page", ask: "Compare every price on the home page with the price list and tell me which ones differ.", steps: []Step{
				{Tool: "fetch", Args: object{"url": "https://www.example.com/pricing"}, Result: "Team $12, Business $29, yearly: two months free", Reads: 1900},
				{Tool: "read", Args: object{"path": "finance/prices.csv"}, Result: "team,12\nbusiness,32\nyearly,10 of 12", Reads: 600},
			}, answer: "One price differs: Business is $29 on the page and $32 on the price list. The other two match."},
			{agent: "cto", place: subAgentPlace, label: "Check the certificate authority's payment terms", ask: "How can we pay the certificate authority other than by card?", steps: []Step{
				{Tool: "fetch", Args: object{"url": "https://ca.example.com/terms"}, Result: "Payment: card or prepaid account. Invoicing for ten or more certificates.", Reads: 5200},
			}, answer: "A prepaid account works right away. Invoicing starts at ten certificates, and we have three."},
			{agent: "cmo", place: "dashboard:newsletter", label: "December newsletter", ask: "Which three things should go in the next newsletter?", steps: []Step{
				{Says: "Checking what we've shipped since the last one.", Tool: "exec", Args: object{"command": "bin/done --since 2026-11-01"}, Result: "12 tasks done, 3 of them customer-facing", Reads: 900},
				{Tool: "read", Args: object{"path": "marketing/newsletters/november.md"}, Result: "# What's new in November\n\n41% opened, exports link clicked by 9%", Reads: 1800},
			}, answer: "Short-lived tokens, faster search, and the launch date for shared workspaces. Exports got the fewest clicks last time, so I would leave them out."},
			{agent: "cpo", place: subAgentPlace, label: "Compare competitors' free plans", ask: "Look at five similar products. What do their free plans include?", steps: []Step{
				{Tool: "search", Args: object{"query": "free plan limits, document search for teams"}, Result: "14 results", Reads: 2100},
				{Tool: "fetch", Args: object{"url": "https://one.example.com/pricing"}, Result: "Free: 1 workspace, 3 people, 1 GB", Reads: 1500},
				{Tool: "fetch", Args: object{"url": "https://two.example.com/plans"}, Result: "Free for 14 days, then Team", Reads: 1300},
			}, answer: "Three of the five offer one workspace with three to five people, one has a 14-day trial, and one has nothing. None of them includes shared workspaces."},
		},
		{
			{agent: "coo", place: subAgentPlace, label: "Add up this month's costs", ask: "What have we spent this month so far, by supplier?", steps: []Step{
				{Tool: "read", Args: object{"path": "finance/ledger.csv"}, Result: "hosting 812.40\nstorage 318.77\nemail 49.00", Reads: 4100},
				{Tool: "exec", Args: object{"command": "bin/forecast --month"}, Result: "$1,412 by the end of the month, budget $1,600", Reads: 500},
			}, answer: "$1,180.17 so far: hosting $812.40, storage $318.77, email $49.00. At this rate we end the month at $1,412 of our $1,600 budget."},
			{agent: "cto", place: "dashboard:flaky-import", label: "Flaky import test", ask: "The import test fails about one run in ten. Find out why.", steps: []Step{
				{Says: "I'll run it until it fails.", Tool: "exec", Args: object{"command": "bin/test import --count 50"}, Result: "46 ok, 4 Failed: want 120 rows, got 119", Reads: 1300},
				{Tool: "read", Args: object{"path": "import/reader.go"}, Result: "func (r *reader) next() (row, error) { … }", Reads: 2800},
				{Says: "It's always the last row that goes missing. Running it with the race detector.", Tool: "exec", Args: object{"command": "bin/test import --race --count 20"}, Result: "WARNING: DATA RACE\n  write at reader.go:88 by goroutine 31", Reads: 2200},
			}, answer: "The reader signals that it is done before it hands over the last row: a race between two goroutines at line 88. The bug is in the code, not in the test, so customers can lose the last row of a file."},
			{agent: "cpo", place: "dashboard:sample-workspace", label: "Sample workspace", ask: "Draft the sample workspace: what is in it, and what can people do with it?", steps: []Step{
				{Tool: "read", Args: object{"path": "briefs/onboarding.md"}, Result: "# Onboarding\n\nGoal: the first search within two minutes.", Reads: 2000},
				{Tool: "exec", Args: object{"command": "bin/funnel onboarding --step \"first search\" --weeks 12"}, Result: "49% overall, 91% of those who finish the import", Reads: 900},
				{Tool: "write", Args: object{"path": "briefs/sample-workspace.md"}, Result: "31 lines written", Reads: 300},
			}, answer: "Forty documents from an imaginary bakery, three people, and two suggested searches. It is read-only and disappears with the first import."},
			{agent: "coo", place: "dashboard:invoices", label: "Overdue invoices", ask: "Which invoices have been open for more than 30 days?", steps: []Step{
				{Tool: "exec", Args: object{"command": "bin/invoices --open --older 30"}, Result: "4 invoices, $6,120.00 total, oldest 52 days", Reads: 1100},
				{Says: "One of them is large. Checking the contract terms.", Tool: "read", Args: object{"path": "customers/northwind/contract.md"}, Result: "Payment within 60 days", Reads: 1900},
			}, answer: "Four invoices, $6,120.00 in total. The largest, $4,300.00, is within its agreed 60 days. The other three are overdue, and we haven't sent any reminders."},
		},
	}
}

func lateParts() [][]scenario {
	return [][]scenario{
		{
			{agent: "cmo", place: subAgentPlace, label: "Collect press coverage", ask: "Which articles mentioned us in the last month, and what was the tone?", steps: []Step{
				{Tool: "search", Args: object{"query": "product name, last 30 days, excluding our own site"}, Result: "9 results", Reads: 2400},
				{Tool: "fetch", Args: object{"url": "https://news.example.com/tools-for-small-teams"}, Result: "… fast, simple, and cheaper than it looks …", Reads: 2600},
			}, answer: "Nine articles, seven of them positive. Two ask for a free plan, and one quotes last year's price."},
			{agent: "cto", place: subAgentPlace, label: "Audit our dependencies", ask: "Which of our dependencies have known vulnerabilities, and do we call the affected code?", steps: []Step{
				{Tool: "exec", Args: object{"command": "bin/vulncheck --called"}, Result: "2 known, 0 called", Reads: 1200},
				{Tool: "read", Args: object{"path": "go.mod"}, Result: "41 modules", Reads: 1700},
				{Tool: "exec", Args: object{"command": "bin/outdated --minor"}, Result: "6 have a newer minor version", Reads: 800},
			}, answer: "Two have known vulnerabilities, in code that we never call. Six have newer minor versions, none of them urgent."},
			{agent: "cpo", place: "dashboard:free-plan", label: "What would a free plan cost us?", ask: "What would a free plan with three people, one workspace and 1 GB cost us per month?", steps: []Step{
				{Tool: "exec", Args: object{"command": "bin/cost --per workspace --people 3 --gb 1"}, Result: "storage $0.03, search $0.11, email $0.02, agents unknown", Reads: 1400},
				{Tool: "read", Args: object{"path": "finance/forecast.csv"}, Result: "new workspaces per month: 310", Reads: 1700},
			}, answer: "$0.16 per workspace without agents, or about $50 a month for 310 new workspaces. We don't know the cost of agents yet, so I can't decide until the CTO has that number."},
			{agent: "coo", place: subAgentPlace, label: "Compare the audit quotes", ask: "Compare the three quotes for the annual audit: price, date, and what's excluded.", steps: []Step{
				{Tool: "read", Args: object{"path": "finance/audit/quote-a.md"}, Result: "$4,800, March, subsidiaries excluded", Reads: 2200},
				{Tool: "read", Args: object{"path": "finance/audit/quote-b.md"}, Result: "$5,350, February, everything included", Reads: 2300},
				{Tool: "read", Args: object{"path": "finance/audit/quote-c.md"}, Result: "$4,100, May", Reads: 1600},
			}, answer: "B costs $550 more than A and includes the subsidiaries that A leaves out. C is too late for the bank. I recommend B."},
		},
		{
			{agent: "cto", place: "dashboard:flaky-import", label: "Flaky import test", ask: "Fix it, and show that the fix holds.", steps: []Step{
				{Tool: "edit", Args: object{"path": "import/reader.go", "lines": "80-96"}, Result: "9 lines changed", Reads: 600},
				{Tool: "exec", Args: object{"command": "bin/test import --race --count 200"}, Result: "198 ok, 2 Failed: timeout after 30 s", Failed: true, Reads: 1500},
				{Says: "Those two failures are timeouts, because the race detector is slow. Raising the limit to a minute.", Tool: "exec", Args: object{"command": "bin/test import --race --count 200 --timeout 60s"}, Result: "200 ok", Reads: 1200},
			}, answer: "The reader now hands over the last row before it signals the end. 200 runs with the race detector are clean. It is up for review, and the changelog needs a line because some imports lost data."},
			{agent: "cmo", place: "dashboard:newsletter", label: "December newsletter", ask: "Write three subject lines, 40 characters at most.", steps: []Step{
				{Tool: "read", Args: object{"path": "marketing/newsletters/opened.csv"}, Result: "up to 40 characters: 44% opened; longer: 36%", Reads: 1300},
			}, answer: "1. Search just got fast. 2. Safer sign-in with short-lived tokens. 3. Coming soon: shared workspaces. I would pick the first: it is the shortest, and it is true."},
			{agent: "coo", place: "dashboard:invoices", label: "Overdue invoices", ask: "Write a friendly reminder for the three overdue ones.", steps: []Step{
				{Tool: "read", Args: object{"path": "templates/reminder.md"}, Result: "Hi …, just a quick reminder …", Reads: 500},
				{Tool: "write", Args: object{"path": "drafts/reminders.md"}, Result: "3 emails written", Reads: 300},
			}, answer: "Three emails, each with the invoice number, the amount and a due date two weeks out. They are in drafts/reminders.md, ready for you to send."},
		},
	}
}

// allScenarios returns the scenarios of all parts of the day.
func allScenarios() []scenario { return slices.Concat(dayParts()...) }
