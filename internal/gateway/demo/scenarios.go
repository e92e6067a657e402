package demo

import "slices"

// dayParts returns the demo team's scenarios, grouped by part of the day. If a scenario continues
// an earlier one in the same session, it belongs to a later part of the day.
func dayParts() [][]scenario { return [][]scenario{early(), morning(), afternoon(), evening()} }

// allScenarios returns the scenarios of all parts of the day.
func allScenarios() []scenario { return slices.Concat(dayParts()...) }

func early() []scenario {
	return []scenario{
		{
			agent: "cto", place: "dashboard:search-latency", label: "Why is search slow?",
			ask: "Search takes three seconds on large workspaces. Find out where the time goes.",
			steps: []step{
				{says: "I'll start with the slowest queries.", tool: "exec", args: object{"command": "bin/slow-queries --since 24h --top 5"}, result: "1  search_documents   p95 2911 ms   812 calls\n2  list_members       p95  140 ms  9120 calls", reads: 1400},
				{tool: "exec", args: object{"command": "bin/explain search_documents"}, result: "Seq Scan on documents (rows=1204331)\n  Filter: workspace_id = $1\n  Execution time: 2874 ms", reads: 2100},
				{says: "That's a full table scan. Checking whether there's an index.", tool: "read", args: object{"path": "db/schema.sql"}, result: "CREATE INDEX documents_by_owner ON documents (owner_id);", reads: 2600},
				{tool: "exec", args: object{"command": "bin/try-index documents workspace_id,updated_at"}, result: "p95 2911 ms -> 38 ms, index 84 MB", reads: 900},
			},
			answer: "Search scans the whole documents table because there is no index by workspace. An index on workspace and date cuts p95 from 2.9 s to 38 ms and takes 84 MB. The migration is up for review.",
		},
		{
			agent: "cpo", place: "dashboard:interviews", label: "Onboarding interviews",
			ask: "Summarize the five interviews. Where do people give up in the first ten minutes?",
			steps: []step{
				{tool: "read", args: object{"path": "interviews/01.md"}, result: "… I wasn't sure if I had to invite someone before I could try it …", reads: 3100},
				{tool: "read", args: object{"path": "interviews/04.md"}, result: "… the import asked for a file and I didn't have one handy …", reads: 2900},
				{says: "Two of them mention the same step. Checking the numbers.", tool: "exec", args: object{"command": "bin/funnel onboarding --weeks 4"}, result: "account 100%  workspace 91%  import 54%  first search 49%", reads: 800},
			},
			answer: "They give up at the import: 91% create a workspace, but only 54% finish the import. Three of the five didn't have a file ready. A sample workspace would let them try search right away.",
		},
		{
			agent: "cmo", place: subAgentPlace, label: "Check the prices on the home page",
			ask: "Compare every price on the home page with the price list and tell me which ones differ.",
			steps: []step{
				{tool: "fetch", args: object{"url": "https://www.example.com/pricing"}, result: "Team $12, Business $29, yearly: two months free", reads: 1900},
				{tool: "read", args: object{"path": "finance/prices.csv"}, result: "team,12\nbusiness,32\nyearly,10 of 12", reads: 600},
			},
			answer: "One price differs: Business is $29 on the page and $32 on the price list. The other two match.",
		},
		{
			agent: "coo", place: "dashboard:support-hours", label: "Support hours",
			ask: "Which hours should we book with the support partner?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/tickets --by hour --days 30"}, result: "07-09 12%  09-12 38%  12-17 41%  17-20 8%", reads: 1200},
				{says: "Nine out of ten tickets come in between 7:00 and 17:00. Comparing that with the offer.", tool: "read", args: object{"path": "partners/offer.md"}, result: "Option A 08-18, option B 06-22 at twice the price", reads: 1500},
			},
			answer: "Option A plus one hour in the morning: 07:00 to 18:00 covers 91% of our tickets. Option B costs twice as much for another 8%.",
		},
		{
			agent: "cto", place: subAgentPlace, label: "Check the certificate authority's payment terms",
			ask: "How can we pay the certificate authority other than by card?",
			steps: []step{
				{tool: "fetch", args: object{"url": "https://ca.example.com/terms"}, result: "Payment: card or prepaid account. Invoicing for ten or more certificates.", reads: 5200},
			},
			answer: "A prepaid account works right away. Invoicing starts at ten certificates, and we have three.",
		},
		{
			agent: "cmo", place: "dashboard:newsletter", label: "December newsletter",
			ask: "Which three things should go in the next newsletter?",
			steps: []step{
				{says: "Checking what we've shipped since the last one.", tool: "exec", args: object{"command": "bin/done --since 2026-11-01"}, result: "12 tasks done, 3 of them customer-facing", reads: 900},
				{tool: "read", args: object{"path": "marketing/newsletters/november.md"}, result: "# What's new in November\n\n41% opened, exports link clicked by 9%", reads: 1800},
			},
			answer: "Short-lived tokens, faster search, and the launch date for shared workspaces. Exports got the fewest clicks last time, so I would leave them out.",
		},
	}
}

func morning() []scenario {
	return []scenario{
		{
			agent: "cpo", place: "dashboard:shared-brief", label: "Shared workspaces brief",
			ask: "Draft the permissions section of the shared workspaces brief.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nPermissions: TBD", reads: 2400},
				{tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "Permissions"}, result: "Permission denied: the file is locked by another run", failed: true, reads: 200},
				{says: "The file is locked. I'll wait a moment and try again.", tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "Permissions"}, result: "42 lines written", reads: 300},
			},
			answer: "The section is done: three permissions (read, write, share), granted by the owner of the workspace. Still open: what happens to a workspace when its owner leaves.",
		},
		{
			agent: "cmo", place: "dashboard:launch-page", label: "Launch page",
			ask: "Give me three headlines for the shared workspaces page, and tell me which one you would pick.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nOne place for work that spans teams.", reads: 2400},
				{tool: "search", args: object{"query": "shared workspace headline, similar products"}, result: "8 results", reads: 1700},
			},
			answer: "1. One place, every team. 2. Share the work, keep control. 3. Your workspace, their workspace. I would pick the first: it says what it is in four words.",
		},
		{
			agent: "coo", place: subAgentPlace, label: "Add up this month's costs",
			ask: "What have we spent this month so far, by supplier?",
			steps: []step{
				{tool: "read", args: object{"path": "finance/ledger.csv"}, result: "hosting 812.40\nmodels 318.77\nemail 49.00", reads: 4100},
				{tool: "exec", args: object{"command": "bin/forecast --month"}, result: "$1,412 by the end of the month, budget $1,600", reads: 500},
			},
			answer: "$1,180.17 so far: hosting $812.40, models $318.77, email $49.00. At this rate we end the month at $1,412 of our $1,600 budget.",
		},
		{
			agent: "cto", place: "dashboard:search-latency", label: "Why is search slow?",
			ask: "Build the index on the staging copy without locking, and measure it under load.",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/copy create-index documents_by_workspace --concurrently"}, result: "built in 4 min 12 s, 84 MB, no lock held", reads: 700},
				{says: "The index is built. Now running a Monday morning load against it.", tool: "exec", args: object{"command": "bin/load --profile monday --minutes 5"}, result: "search p50 21 ms  p95 44 ms  p99 97 ms\nwrites +1.8%", reads: 1600},
				{tool: "write", args: object{"path": "db/migrations/0042_documents_by_workspace.sql"}, result: "3 lines written", reads: 200},
			},
			answer: "Under Monday load, p95 is 44 ms and writes are 1.8% slower. Building the index takes no lock. It ships as migration 42.",
		},
		{
			agent: "cpo", place: subAgentPlace, label: "Compare competitors' free plans",
			ask: "Look at five similar products. What do their free plans include?",
			steps: []step{
				{tool: "search", args: object{"query": "free plan limits, document search for teams"}, result: "14 results", reads: 2100},
				{tool: "fetch", args: object{"url": "https://one.example.com/pricing"}, result: "Free: 1 workspace, 3 people, 1 GB", reads: 1500},
				{tool: "fetch", args: object{"url": "https://two.example.com/plans"}, result: "Free for 14 days, then Team", reads: 1300},
			},
			answer: "Three of the five offer one workspace with three to five people, one has a 14-day trial, and one has nothing. None of them includes shared workspaces.",
		},
		{
			agent: "coo", place: "dashboard:invoices", label: "Overdue invoices",
			ask: "Which invoices have been open for more than 30 days?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/invoices --open --older 30"}, result: "4 invoices, $6,120.00 total, oldest 52 days", reads: 1100},
				{says: "One of them is large. Checking the contract terms.", tool: "read", args: object{"path": "customers/northwind/contract.md"}, result: "Payment within 60 days", reads: 1900},
			},
			answer: "Four invoices, $6,120.00 in total. The largest, $4,300.00, is within its agreed 60 days. The other three are overdue, and we haven't sent any reminders.",
		},
	}
}

func afternoon() []scenario {
	return []scenario{
		{
			agent: "cto", place: "dashboard:flaky-import", label: "Flaky import test",
			ask: "The import test fails about one run in ten. Find out why.",
			steps: []step{
				{says: "I'll run it until it fails.", tool: "exec", args: object{"command": "bin/test import --count 50"}, result: "46 ok, 4 failed: want 120 rows, got 119", reads: 1300},
				{tool: "read", args: object{"path": "import/reader.go"}, result: "func (r *reader) next() (row, error) { … }", reads: 2800},
				{says: "It's always the last row that goes missing. Running it with the race detector.", tool: "exec", args: object{"command": "bin/test import --race --count 20"}, result: "WARNING: DATA RACE\n  write at reader.go:88 by goroutine 31", reads: 2200},
			},
			answer: "The reader signals that it is done before it hands over the last row: a race between two goroutines at line 88. The bug is in the code, not in the test, so customers can lose the last row of a file.",
		},
		{
			agent: "cpo", place: "dashboard:interviews", label: "Onboarding interviews",
			ask: "Draft the sample workspace: what is in it, and what can people do with it?",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/onboarding.md"}, result: "# Onboarding\n\nGoal: the first search within two minutes.", reads: 2000},
				{tool: "exec", args: object{"command": "bin/funnel onboarding --step \"first search\" --weeks 12"}, result: "49% overall, 91% of those who finish the import", reads: 900},
				{tool: "write", args: object{"path": "briefs/sample-workspace.md"}, result: "31 lines written", reads: 300},
			},
			answer: "Forty documents from an imaginary bakery, three people, and two suggested searches. It is read-only and disappears with the first import.",
		},
		{
			agent: "cmo", place: subAgentPlace, label: "Collect press coverage",
			ask: "Which articles mentioned us in the last month, and what was the tone?",
			steps: []step{
				{tool: "search", args: object{"query": "product name, last 30 days, excluding our own site"}, result: "9 results", reads: 2400},
				{tool: "fetch", args: object{"url": "https://news.example.com/tools-for-small-teams"}, result: "… fast, simple, and cheaper than it looks …", reads: 2600},
			},
			answer: "Nine articles, seven of them positive. Two ask for a free plan, and one quotes last year's price.",
		},
		{
			agent: "coo", place: "dashboard:support-hours", label: "Support hours",
			ask: "Tell the partner that we want option A plus one hour in the morning.",
			steps: []step{
				{tool: "read", args: object{"path": "partners/contact.md"}, result: "Two contacts, prefer short emails", reads: 700},
				{tool: "write", args: object{"path": "partners/drafts/hours.md"}, result: "14 lines written", reads: 300},
			},
			answer: "The draft is in partners/drafts/hours.md: option A, 07:00 to 18:00, starting December 1, for three months. It is ready for you to send.",
		},
		{
			agent: "cto", place: subAgentPlace, label: "Audit our dependencies",
			ask: "Which of our dependencies have known vulnerabilities, and do we call the affected code?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/vulncheck --called"}, result: "2 known, 0 called", reads: 1200},
				{tool: "read", args: object{"path": "go.mod"}, result: "41 modules", reads: 1700},
				{tool: "exec", args: object{"command": "bin/outdated --minor"}, result: "6 have a newer minor version", reads: 800},
			},
			answer: "Two have known vulnerabilities, in code that we never call. Six have newer minor versions, none of them urgent.",
		},
		{
			agent: "cmo", place: "dashboard:launch-page", label: "Launch page",
			ask: "Let's go with the first one. Write the paragraph below it, 40 words at most.",
			steps: []step{
				{tool: "read", args: object{"path": "marketing/voice.md"}, result: "Short sentences. No adjectives that a customer wouldn't use.", reads: 1100},
				{tool: "write", args: object{"path": "site/shared-workspaces.md"}, result: "5 lines written", reads: 300},
			},
			answer: "“Bring every team into one place. Share a workspace with anyone you like, and take access back whenever you want. Everything in it is searchable right away.” That's 27 words.",
		},
	}
}

func evening() []scenario {
	return []scenario{
		{
			agent: "cpo", place: "dashboard:shared-brief", label: "Shared workspaces brief",
			ask: "What should happen to a workspace when its owner leaves? List the options and pick one.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nPermissions: read, write, share.", reads: 2500},
				{tool: "exec", args: object{"command": "bin/count \"workspaces whose owner is inactive\""}, result: "212 of 9,140, most with one member", reads: 600},
				{tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "When the owner leaves"}, result: "18 lines written", reads: 300},
			},
			answer: "I listed three options and picked this one: the longest-standing member who can share becomes the owner and gets a notification. Empty workspaces are deleted after 90 days. The section is in the brief.",
		},
		{
			agent: "cto", place: "dashboard:flaky-import", label: "Flaky import test",
			ask: "Fix it, and show that the fix holds.",
			steps: []step{
				{tool: "edit", args: object{"path": "import/reader.go", "lines": "80-96"}, result: "9 lines changed", reads: 600},
				{tool: "exec", args: object{"command": "bin/test import --race --count 200"}, result: "198 ok, 2 failed: timeout after 30 s", failed: true, reads: 1500},
				{says: "Those two failures are timeouts, because the race detector is slow. Raising the limit to a minute.", tool: "exec", args: object{"command": "bin/test import --race --count 200 --timeout 60s"}, result: "200 ok", reads: 1200},
			},
			answer: "The reader now hands over the last row before it signals the end. 200 runs with the race detector are clean. It is up for review, and the changelog needs a line because some imports lost data.",
		},
		{
			agent: "coo", place: subAgentPlace, label: "Compare the audit quotes",
			ask: "Compare the three quotes for the annual audit: price, date, and what's excluded.",
			steps: []step{
				{tool: "read", args: object{"path": "finance/audit/quote-a.md"}, result: "$4,800, March, subsidiaries excluded", reads: 2200},
				{tool: "read", args: object{"path": "finance/audit/quote-b.md"}, result: "$5,350, February, everything included", reads: 2300},
				{tool: "read", args: object{"path": "finance/audit/quote-c.md"}, result: "$4,100, May", reads: 1600},
			},
			answer: "B costs $550 more than A and includes the subsidiaries that A leaves out. C is too late for the bank. I recommend B.",
		},
		{
			agent: "cmo", place: "dashboard:newsletter", label: "December newsletter",
			ask: "Write three subject lines, 40 characters at most.",
			steps: []step{
				{tool: "read", args: object{"path": "marketing/newsletters/opened.csv"}, result: "up to 40 characters: 44% opened; longer: 36%", reads: 1300},
			},
			answer: "1. Search just got fast. 2. Safer sign-in with short-lived tokens. 3. Coming soon: shared workspaces. I would pick the first: it is the shortest, and it is true.",
		},
		{
			agent: "cpo", place: "dashboard:free-plan", label: "What would a free plan cost us?",
			ask: "What would a free plan with three people, one workspace and 1 GB cost us per month?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/cost --per workspace --people 3 --gb 1"}, result: "storage $0.03, search $0.11, email $0.02, agents unknown", reads: 1400},
				{tool: "read", args: object{"path": "finance/forecast.csv"}, result: "new workspaces per month: 310", reads: 1700},
			},
			answer: "$0.16 per workspace without agents, or about $50 a month for 310 new workspaces. We don't know the cost of agents yet, so I can't decide until the CTO has that number.",
		},
		{
			agent: "coo", place: "dashboard:invoices", label: "Overdue invoices",
			ask: "Write a friendly reminder for the three overdue ones.",
			steps: []step{
				{tool: "read", args: object{"path": "templates/reminder.md"}, result: "Hi …, just a quick reminder …", reads: 500},
				{tool: "write", args: object{"path": "drafts/reminders.md"}, result: "3 emails written", reads: 300},
			},
			answer: "Three emails, each with the invoice number, the amount and a due date two weeks out. They are in drafts/reminders.md, ready for you to send.",
		},
	}
}
