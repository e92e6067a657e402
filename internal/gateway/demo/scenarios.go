package demo

import "slices"

// parts are what the default team does all day, in the parts of a day. What goes
// on with an earlier episode of its place is in a later part.
func parts() [][]episode { return [][]episode{early(), morning(), afternoon(), evening()} }

// episodes are all of them.
func episodes() []episode { return slices.Concat(parts()...) }

func early() []episode {
	return []episode{
		{
			agent: "cto", place: "dashboard:search-latency", label: "Why is search slow?",
			ask: "Search takes three seconds on large workspaces. Find out where the time goes.",
			steps: []step{
				{says: "I look at the slowest queries first.", tool: "exec", args: object{"command": "bin/slow-queries --since 24h --top 5"}, result: "1  search_documents   p95 2911 ms   812 calls\n2  list_members       p95  140 ms  9120 calls", reads: 1400},
				{tool: "exec", args: object{"command": "bin/explain search_documents"}, result: "Seq Scan on documents (rows=1204331)\n  Filter: workspace_id = $1\n  Execution time: 2874 ms", reads: 2100},
				{says: "It reads the whole table. I see whether an index is there.", tool: "read", args: object{"path": "db/schema.sql"}, result: "CREATE INDEX documents_by_owner ON documents (owner_id);", reads: 2600},
				{tool: "exec", args: object{"command": "bin/try-index documents workspace_id,updated_at"}, result: "p95 2911 ms -> 38 ms, index 84 MB", reads: 900},
			},
			answer: "The time goes into a scan of the whole table: there is no index by workspace. With one over workspace and date the 95th percentile falls from 2.9 s to 38 ms; it takes 84 MB. I put the migration up for review.",
		},
		{
			agent: "cpo", place: "dashboard:interviews", label: "Interviews about onboarding",
			ask: "Sum up the five interviews: where do people give up in the first ten minutes?",
			steps: []step{
				{tool: "read", args: object{"path": "interviews/01.md"}, result: "… I did not know whether I had to invite somebody before I could try it …", reads: 3100},
				{tool: "read", args: object{"path": "interviews/04.md"}, result: "… the import asked for a file and I did not have one at hand …", reads: 2900},
				{says: "Two of them name the same moment. I look at the figures.", tool: "exec", args: object{"command": "bin/funnel onboarding --weeks 4"}, result: "account 100 %  workspace 91 %  import 54 %  first search 49 %", reads: 800},
			},
			answer: "They give up at the import: 91 % make a workspace and 54 % get past it. Three of five did not have a file at hand. A sample workspace would let them search at once.",
		},
		{
			agent: "cmo", place: sub, label: "Check the prices on the home page",
			ask: "Compare every price on the home page with the price list and name what differs.",
			steps: []step{
				{tool: "fetch", args: object{"url": "https://www.example.com/pricing"}, result: "Team 12, Business 29, yearly two months free", reads: 1900},
				{tool: "read", args: object{"path": "finance/prices.csv"}, result: "team,12\nbusiness,32\nyearly,10 of 12", reads: 600},
			},
			answer: "One price differs: Business is 29 on the page and 32 on the invoice. The other two are right.",
		},
		{
			agent: "coo", place: "dashboard:support-hours", label: "Service hours",
			ask: "Which hours should we ask of the support partner?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/tickets --by hour --days 30"}, result: "07-09 12 %  09-12 38 %  12-17 41 %  17-20 8 %", reads: 1200},
				{says: "Nine in ten come between seven and five. I compare that with the offer.", tool: "read", args: object{"path": "partners/offer.md"}, result: "Option A 08-18, option B 06-22 at twice the price", reads: 1500},
			},
			answer: "Option A, with an hour more in the morning: 07–18 covers 91 % of what comes in. Option B costs twice as much for 8 %.",
		},
		{
			agent: "cto", place: sub, label: "Read the certificate authority's terms",
			ask: "What does the certificate authority accept besides a card?",
			steps: []step{
				{tool: "fetch", args: object{"url": "https://ca.example.com/terms"}, result: "Payment: card or prepaid account. Invoices from ten certificates on.", reads: 5200},
			},
			answer: "A prepaid account works at once; an invoice only from ten certificates on. We have three.",
		},
		{
			agent: "cmo", place: "dashboard:newsletter", label: "Newsletter of December",
			ask: "Which three things belong into the next newsletter?",
			steps: []step{
				{says: "I look at what was finished since the last one.", tool: "exec", args: object{"command": "bin/done --since 2026-11-01"}, result: "12 tasks, 3 of them seen by customers", reads: 900},
				{tool: "read", args: object{"path": "marketing/newsletters/november.md"}, result: "# What is new in November\n\nopened by 41 %, the link on exports by 9 %", reads: 1800},
			},
			answer: "Short-lived tokens, the faster search and the date of shared workspaces. Exports drew the fewest clicks; I would leave them out.",
		},
	}
}

func morning() []episode {
	return []episode{
		{
			agent: "cpo", place: "dashboard:shared-brief", label: "Brief for shared workspaces",
			ask: "Draft the part about rights for the brief on shared workspaces.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nRights: to be written.", reads: 2400},
				{tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "Rights"}, result: "Permission denied: the file is locked by another run", failed: true, reads: 200},
				{says: "It is locked. I wait a moment and try again.", tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "Rights"}, result: "42 lines written", reads: 300},
			},
			answer: "The part is written: three rights (read, write, share), and who makes a workspace may give them. Open: what becomes of a workspace whose owner leaves.",
		},
		{
			agent: "cmo", place: "dashboard:launch-page", label: "Launch page",
			ask: "Give me three headlines for the page about shared workspaces, and say which you would take.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nOne place for what several teams work at.", reads: 2400},
				{tool: "search", args: object{"query": "shared workspace headline, similar products"}, result: "8 results", reads: 1700},
			},
			answer: "1. One place, several teams. 2. Share the work, keep the rights. 3. Your workspace, and theirs. I would take the first: it says what it is in four words.",
		},
		{
			agent: "coo", place: sub, label: "Count what the month cost",
			ask: "Add up what the month has cost so far, by supplier.",
			steps: []step{
				{tool: "read", args: object{"path": "finance/ledger.csv"}, result: "hosting 812.40\nmodels 318.77\nmail 49.00", reads: 4100},
				{tool: "exec", args: object{"command": "bin/forecast --month"}, result: "1,412 until the end of the month, of 1,600", reads: 500},
			},
			answer: "1,180.17 so far: hosting 812.40, models 318.77, mail 49.00. At this pace the month ends at 1,412 of 1,600.",
		},
		{
			agent: "cto", place: "dashboard:search-latency", label: "Why is search slow?",
			ask: "Build the index on the copy, without a lock, and measure under load.",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/copy create-index documents_by_workspace --concurrently"}, result: "built in 4 min 12 s, 84 MB, no lock held", reads: 700},
				{says: "Built. Now the load of a Monday morning against it.", tool: "exec", args: object{"command": "bin/load --profile monday --minutes 5"}, result: "search p50 21 ms  p95 44 ms  p99 97 ms\nwrites +1.8 %", reads: 1600},
				{tool: "write", args: object{"path": "db/migrations/0042_documents_by_workspace.sql"}, result: "3 lines written", reads: 200},
			},
			answer: "Under the load of a Monday the 95th percentile is 44 ms; writes take 1.8 % longer. Building it locks nothing. The migration is number 42.",
		},
		{
			agent: "cpo", place: sub, label: "Read what others give away",
			ask: "Look at five similar products: what does their free plan include?",
			steps: []step{
				{tool: "search", args: object{"query": "free plan limits, document search for teams"}, result: "14 results", reads: 2100},
				{tool: "fetch", args: object{"url": "https://one.example.com/pricing"}, result: "Free: 1 workspace, 3 people, 1 GB", reads: 1500},
				{tool: "fetch", args: object{"url": "https://two.example.com/plans"}, result: "Free for 14 days, then Team", reads: 1300},
			},
			answer: "Three of five give one workspace with three to five people away, one gives fourteen days, one nothing. None gives shared workspaces away.",
		},
		{
			agent: "coo", place: "dashboard:invoices", label: "Open invoices",
			ask: "Which invoices have been open for more than thirty days?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/invoices --open --older 30"}, result: "4 invoices, 6,120.00 in all; the oldest 52 days", reads: 1100},
				{says: "One of them is large. I see what was agreed.", tool: "read", args: object{"path": "customers/northwind/contract.md"}, result: "Payment within 60 days", reads: 1900},
			},
			answer: "Four, of 6,120.00 in all. The largest, 4,300.00, is within what was agreed: sixty days. The other three are late, and none has had a reminder.",
		},
	}
}

func afternoon() []episode {
	return []episode{
		{
			agent: "cto", place: "dashboard:flaky-import", label: "The import test fails sometimes",
			ask: "The test of the import fails one time in ten. Find out why.",
			steps: []step{
				{says: "I let it run until it fails.", tool: "exec", args: object{"command": "bin/test import --count 50"}, result: "46 ok, 4 failed: want 120 rows, got 119", reads: 1300},
				{tool: "read", args: object{"path": "import/reader.go"}, result: "func (r *reader) next() (row, error) { … }", reads: 2800},
				{says: "A row is missing, always the last. I run it with the detector.", tool: "exec", args: object{"command": "bin/test import --race --count 20"}, result: "WARNING: DATA RACE\n  write at reader.go:88 by goroutine 31", reads: 2200},
			},
			answer: "The last row is handed over after the reader has said that it is done: two goroutines, line 88. It is a real fault, not the test: a customer may lose the last row of a file.",
		},
		{
			agent: "cpo", place: "dashboard:interviews", label: "Interviews about onboarding",
			ask: "Draft the sample workspace: what is in it, and what may one do with it?",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/onboarding.md"}, result: "# Onboarding\n\nGoal: the first search within two minutes.", reads: 2000},
				{tool: "exec", args: object{"command": "bin/funnel onboarding --step \"first search\" --weeks 12"}, result: "49 %, of those who get past the import 91 %", reads: 900},
				{tool: "write", args: object{"path": "briefs/sample-workspace.md"}, result: "31 lines written", reads: 300},
			},
			answer: "Forty documents of an invented bakery, three people, two questions to try. It can be searched and not be changed, and goes away with the first import of one’s own.",
		},
		{
			agent: "cmo", place: sub, label: "Collect what was written about us",
			ask: "Which articles of the last month name us, and in what tone?",
			steps: []step{
				{tool: "search", args: object{"query": "product name, last 30 days, without our own pages"}, result: "9 results", reads: 2400},
				{tool: "fetch", args: object{"url": "https://news.example.com/tools-for-small-teams"}, result: "… quick, plain, and cheaper than it looks …", reads: 2600},
			},
			answer: "Nine, seven of them friendly. Two ask for a plan that costs nothing; one has last year’s price.",
		},
		{
			agent: "coo", place: "dashboard:support-hours", label: "Service hours",
			ask: "Write to the partner that we take option A with an hour more in the morning.",
			steps: []step{
				{tool: "read", args: object{"path": "partners/contact.md"}, result: "Two names, and that they like short letters", reads: 700},
				{tool: "write", args: object{"path": "partners/letters/hours.md"}, result: "14 lines written", reads: 300},
			},
			answer: "The letter is in partners/letters/hours.md: option A from 07 to 18, from the first of December, for three months. It waits for somebody to send it.",
		},
		{
			agent: "cto", place: sub, label: "Look through the dependencies",
			ask: "Which of our dependencies have known holes, and do we call what has them?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/holes --called"}, result: "2 known, 0 called", reads: 1200},
				{tool: "read", args: object{"path": "go.mod"}, result: "41 modules", reads: 1700},
				{tool: "exec", args: object{"command": "bin/outdated --minor"}, result: "6 have a newer minor version", reads: 800},
			},
			answer: "Two have known holes, in parts that we never call. Six have newer versions; none of them is urgent.",
		},
		{
			agent: "cmo", place: "dashboard:launch-page", label: "Launch page",
			ask: "Take the first. Write the paragraph below it, forty words at most.",
			steps: []step{
				{tool: "read", args: object{"path": "marketing/voice.md"}, result: "Short sentences. No adjectives that a customer would not use.", reads: 1100},
				{tool: "write", args: object{"path": "site/shared-workspaces.md"}, result: "5 lines written", reads: 300},
			},
			answer: "“Several teams, one place. Share a workspace with whom you like, and keep the right to take it back. Everything that is in it can be searched at once.” Twenty-nine words.",
		},
	}
}

func evening() []episode {
	return []episode{
		{
			agent: "cpo", place: "dashboard:shared-brief", label: "Brief for shared workspaces",
			ask: "What becomes of a workspace whose owner leaves? Name the ways, and take one.",
			steps: []step{
				{tool: "read", args: object{"path": "briefs/shared-workspaces.md"}, result: "# Shared workspaces\n\nRights: read, write, share.", reads: 2500},
				{tool: "exec", args: object{"command": "bin/count \"workspaces whose owner is inactive\""}, result: "212 of 9,140, most of them with one person", reads: 600},
				{tool: "write", args: object{"path": "briefs/shared-workspaces.md", "section": "When the owner leaves"}, result: "18 lines written", reads: 300},
			},
			answer: "Of three ways I take this: who has been in it longest with the right to share becomes its owner, and is told. Empty ones wait ninety days. The section is in the brief.",
		},
		{
			agent: "cto", place: "dashboard:flaky-import", label: "The import test fails sometimes",
			ask: "Mend it, and show that it holds.",
			steps: []step{
				{tool: "edit", args: object{"path": "import/reader.go", "lines": "80-96"}, result: "9 lines changed", reads: 600},
				{tool: "exec", args: object{"command": "bin/test import --race --count 200"}, result: "198 ok, 2 failed: timeout after 30 s", failed: true, reads: 1500},
				{says: "Two are too slow, not wrong: the detector takes its time. I give them a minute.", tool: "exec", args: object{"command": "bin/test import --race --count 200 --timeout 60s"}, result: "200 ok", reads: 1200},
			},
			answer: "The row is handed over before the end is told. Two hundred runs with the detector are clean. It is up for review; the change log needs a line, because files were read wrongly.",
		},
		{
			agent: "coo", place: sub, label: "Compare the offers for the audit",
			ask: "Compare the three offers for the yearly audit: price, date, what is left out.",
			steps: []step{
				{tool: "read", args: object{"path": "finance/audit/offer-a.md"}, result: "4,800, in March, without the subsidiaries", reads: 2200},
				{tool: "read", args: object{"path": "finance/audit/offer-b.md"}, result: "5,350, in February, all included", reads: 2300},
				{tool: "read", args: object{"path": "finance/audit/offer-c.md"}, result: "4,100, in May", reads: 1600},
			},
			answer: "B is 550 dearer than A and includes what A leaves out. C comes too late for the bank. I would take B.",
		},
		{
			agent: "cmo", place: "dashboard:newsletter", label: "Newsletter of December",
			ask: "Write three subject lines, none longer than forty characters.",
			steps: []step{
				{tool: "read", args: object{"path": "marketing/newsletters/opened.csv"}, result: "shorter than 40: opened by 44 %; longer: 36 %", reads: 1300},
			},
			answer: "1. Search got fast. 2. Sign in once, for an hour. 3. Soon: workspaces to share. I would take the first; it is the shortest and it is true.",
		},
		{
			agent: "cpo", place: "dashboard:free-plan", label: "What does a free plan cost us?",
			ask: "Three people, one workspace, 1 GB: what would a free plan cost us in a month?",
			steps: []step{
				{tool: "exec", args: object{"command": "bin/cost --per workspace --people 3 --gb 1"}, result: "storage 0.03, search 0.11, mail 0.02; agents unknown", reads: 1400},
				{tool: "read", args: object{"path": "finance/forecast.csv"}, result: "new workspaces per month: 310", reads: 1700},
			},
			answer: "16 cents for each, without the agents, whose share nobody knows yet: about 50 in a month for 310 new ones. I cannot decide before the CTO has that number.",
		},
		{
			agent: "coo", place: "dashboard:invoices", label: "Open invoices",
			ask: "Write a friendly reminder for the three.",
			steps: []step{
				{tool: "read", args: object{"path": "templates/reminder.md"}, result: "Dear …, perhaps this has escaped you …", reads: 500},
				{tool: "write", args: object{"path": "letters/reminders.md"}, result: "3 letters written", reads: 300},
			},
			answer: "Three letters, each with its number, its sum and a date two weeks away. They wait in letters/reminders.md.",
		},
	}
}
