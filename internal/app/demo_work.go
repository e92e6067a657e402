package app

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/task"
)

// pastWork is what an agent did on a task of the sample board before the demo started.
type pastWork struct {
	title     string // of the task
	exchanges []demo.Script
	latest    demo.Script // in the last hour; none for a finished task
}

// demoWork returns what the agents did on the tasks of the sample board before the demo started. It
// derives the tasks' keys from the order in which they are created.
func (d *Demo) demoWork() []demo.Work {
	tasks := demoTasks()
	slices.SortStableFunc(tasks, func(a, b demoTask) int { return cmp.Compare(b.hoursAgo, a.hoursAgo) })
	var work []demo.Work
	for _, w := range slices.Concat(technologyWork(), productWork(), marketingWork(), operationsWork()) {
		i := slices.IndexFunc(tasks, func(t demoTask) bool { return t.title == w.title })
		t := tasks[i]
		ago, before := d.moved(t)
		if t.status != task.InProgress {
			ago += before // it was in progress before it was in review or done
		}
		work = append(work, demo.Work{
			AgentID: t.agent, Key: fmt.Sprintf("TASK-%d", i+1), From: d.began.Add(-ago).Truncate(time.Second), Exchanges: w.exchanges, Latest: w.latest,
		})
	}
	return work
}

// did returns a past exchange with an agent.
func did(ask, answer string, steps ...demo.Step) demo.Script {
	return demo.Script{Ask: ask, Steps: steps, Answer: answer}
}

func technologyWork() []pastWork {
	return []pastWork{
		{
			title: "Search answers take 3 s on large workspaces",
			exchanges: []demo.Script{
				did("Search takes three seconds on large workspaces. Find out where the time goes.", "Search scans the whole documents table, because there is no index by workspace. An index on workspace and date cuts p95 from 2.9 s to 38 ms and takes 84 MB.",
					saying(shell("bin/slow-queries --since 24h --top 5", "search_documents   p95 2911 ms   812 calls\nlist_members       p95  140 ms  9120 calls"), "I'll start with the slowest queries."),
					shell("bin/explain search_documents", "Seq Scan on documents (rows=1204331)\n  Filter: workspace_id = $1\n  Execution time: 2874 ms"),
					saying(readFile("db/schema.sql", "CREATE INDEX documents_by_owner ON documents (owner_id);"), "That's a full table scan. Is there an index?"),
					shell("bin/try-index documents workspace_id,updated_at", "p95 2911 ms -> 38 ms, index 84 MB")),
				did("Does the index make writes slower?", "By 1.8%, which is 0.2 ms per document. Nobody will notice that.",
					shell("bin/bench insert --documents 20000 --with-index", "10.9 ms -> 11.1 ms per document")),
				did("Could a cache do the same?", "No. 71% of searches are new for their workspace, so a cache would help only the other 29%. The index helps all.",
					shell("bin/count 'distinct searches' --by workspace --days 7", "71% new, 29% repeated within a day")),
				did("Build the index on the staging copy without locking, and measure it under load.", "Under Monday load, p95 is 44 ms and writes are 1.8% slower. Building the index takes 4 minutes and holds no lock. It ships as migration 42.",
					shell("bin/copy create-index documents_by_workspace --concurrently", "built in 4 min 12 s, 84 MB, no lock held"),
					saying(shell("bin/load --profile monday --minutes 5", "search p50 21 ms  p95 44 ms  p99 97 ms\nwrites +1.8%"), "The index is built. Now a Monday morning against it."),
					writeFile("db/migrations/0042_documents_by_workspace.sql", "CREATE INDEX CONCURRENTLY documents_by_workspace\n  ON documents (workspace_id, updated_at);")),
				did("What is slow now?", "Nothing that matters: list_members is next with 140 ms at p95, and it runs once per page.",
					shell("bin/slow-queries --env copy --since 15m --top 3", "list_members       p95  140 ms\nsearch_documents   p95   44 ms\nexport_workspace   p95   39 ms")),
			},
			latest: did("Is the migration reviewed?", "Yes. The review asked for IF NOT EXISTS, so that a second run does no harm. I added it, and the migration test passes. Next is the canary.",
				shell("bin/review show 0042", "1 comment: please add IF NOT EXISTS\napproved"),
				editFile("db/migrations/0042_documents_by_workspace.sql", "CREATE INDEX CONCURRENTLY documents", "CREATE INDEX CONCURRENTLY IF NOT EXISTS documents"),
				shell("go test ./db/... -run Migrations", "ok  \tdb\t6.022s")),
		},
		{
			title: "Move sign-in to short-lived tokens",
			exchanges: []demo.Script{
				did("Let tokens expire after an hour, and renew them while the user is active.", "Tokens expire after an hour. Each request in the last ten minutes renews them, so nobody is signed out while working.",
					readFile("auth/token.go", "const lifetime = 30 * 24 * time.Hour"),
					editFile("auth/token.go", "30 * 24 * time.Hour", "time.Hour"),
					shellFails("go test ./auth/...", "--- FAIL: TestSessionSurvivesLunch (0.00s)\n    token_test.go:61: signed out after 1h0m0s"),
					saying(editFile("auth/middleware.go", "next.ServeHTTP(w, r)", "renew(w, r)\n\tnext.ServeHTTP(w, r)"), "As expected. Renewing is the second half."),
					shell("go test ./auth/...", "ok  \tauth\t1.204s")),
				did("And the app?", "The app takes the renewed token from each answer. I left it open for two hours with a click every 40 minutes: it stayed signed in.",
					editFile("app/src/client.ts", "return response", "store(response.headers.get('X-Token'))\n  return response"),
					shell("npm test --silent -- client", "14 passed")),
				did("Add “Sign out everywhere”.", "It is in the account menu. It ends all sessions of the user within a second; I tried it with three browsers.",
					writeFile("auth/sign_out_everywhere.go", "package auth\n\n// SignOutEverywhere ends all sessions of a user.\n"),
					shell("go test ./auth/... ./app/...", "ok  \tauth\t1.311s\nok  \tapp\t0.920s")),
			},
		},
	}
}

func productWork() []pastWork {
	return []pastWork{
		{
			title: "Interview five customers about onboarding",
			exchanges: []demo.Script{
				did("Summarize the five interviews. Where do people give up in the first ten minutes?", "They give up at the import: 91% create a workspace, but only 54% finish the import. Three of the five didn't have a file ready.",
					readFile("interviews/01.md", "… I wasn't sure if I had to invite someone before I could try it …"),
					readFile("interviews/04.md", "… the import asked for a file and I didn't have one handy …"),
					saying(shell("bin/funnel onboarding --weeks 4", "account 100%  workspace 91%  import 54%  first search 49%"), "Two of them mention the same step. Checking the numbers.")),
				did("What did they like?", "The first search: four of five said “oh, that's fast” without being asked. It comes after the import, so half of all people never see it.",
					shell("grep -c 'fast' interviews/0*.md", "interviews/01.md:2\ninterviews/02.md:1\ninterviews/03.md:0\ninterviews/04.md:3\ninterviews/05.md:1")),
				did("Write it up on one page.", "It is in interviews/summary.md: the numbers, three quotes, and one proposal, a sample workspace before the import.",
					writeFile("interviews/summary.md", "# Onboarding: five interviews\n\n91% create a workspace, 54% get past the import.\n\n## Proposal\n\nA sample workspace, so that the first search comes before the import.\n\n## Decisions\n")),
			},
		},
		{
			title: "Triage the feature requests from October",
			exchanges: []demo.Script{
				did("Triage the feature requests from October: one label for each.", "I labeled all 112 requests. Most ask for sharing with clients (41) and for a read-only role (12).",
					readFile("requests/october.csv", "id,text,label\n1,\"share a folder with a client\",\n2,\"export as PDF\","),
					shell("bin/label requests/october.csv --by similarity", "labeled 112 of 112")),
				did("Does the check pass?", "Yes, all 112 requests have a label.",
					shell("bin/check-triage requests/october.csv", "112 requests, 0 without a label")),
				did("“Export” and “PDF” are the same. Merge them.", "Merged: 9 requests have the label export now.",
					editFile("requests/october.csv", "export as PDF\",pdf", "export as PDF\",export")),
				did("You changed the labels after the check. Please run it again.", "The check found one request whose label I had removed. I labeled it, and all 112 pass now.",
					shellFails("bin/check-triage requests/october.csv", "112 requests, 1 without a label: 77"),
					editFile("requests/october.csv", "77,\"print a folder\",", "77,\"print a folder\",export"),
					shell("bin/check-triage requests/october.csv", "112 requests, 0 without a label")),
			},
		},
		{
			title: "Write the brief for shared workspaces",
			exchanges: []demo.Script{
				did("Draft the permissions section of the brief.", "The section is done: three permissions (read, write, share), granted by the owner of the workspace. Still open: what happens when its owner leaves.",
					readFile("briefs/shared-workspaces.md", "# Shared workspaces\n\n## Permissions\n\nTBD"),
					saying(shell("bin/requests --tag permissions --days 90 | head -3", "41 share with a client\n12 read only\n3 share onwards"), "What do customers ask for?"),
					editFile("briefs/shared-workspaces.md", "TBD", "Read, write, share. The owner grants them.")),
				did("Why three and not five?", "Because 53 of 56 requests need only read or share. More levels would mean more settings that nobody changes.",
					shell("bin/requests --tag permissions --days 90 --group", "read 38\nshare 15\nother 3")),
				did("What should happen to a workspace when its owner leaves? List the options and pick one.", "I picked this: the longest-standing member who can share becomes the owner and gets a notification. Empty workspaces are deleted after 90 days.",
					shell("bin/count 'workspaces whose owner is inactive'", "212 of 9,140, most with one member"),
					editFile("briefs/shared-workspaces.md", "## Not in scope", "## When the owner leaves\n\nThe longest-standing member who can share becomes the owner.\n\n## Not in scope")),
			},
			latest: did("What is left in the brief?", "Only the scope. I have the requests of three months; sharing with clients leads with 41. I'll write down what is not in scope next.",
				readFile("briefs/shared-workspaces.md", "# Shared workspaces\n\n## Problem …\n## Permissions …\n## When the owner leaves …\n## Not in scope\n\nTBD"),
				shell("bin/requests --tag workspaces --days 90 | wc -l", "89")),
		},
	}
}

func marketingWork() []pastWork {
	return []pastWork{
		{
			title: "Launch page for shared workspaces",
			exchanges: []demo.Script{
				did("Give me three headlines for the page, and tell me which one you would pick.", "1. One place, every team. 2. Share the work, keep control. 3. Your workspace, their workspace. I would pick the first: it says what it is in four words.",
					readFile("briefs/shared-workspaces.md", "# Shared workspaces\n\nOne place for work that spans teams."),
					fetchPage("https://one.example.com/workspaces", "Collaborate seamlessly across your organization")),
				did("Let's go with the first one. Write the paragraph below it, 40 words at most.", "“Bring every team into one place. Share a workspace with anyone you like, and take access back whenever you want. Everything in it is searchable right away.” That's 27 words.",
					readFile("marketing/voice.md", "Short sentences. No adjectives that a customer wouldn't use."),
					writeFile("site/shared-workspaces.md", "# One place, every team\n\nBring every team into one place. …")),
				did("Can people sign up for it?", "Yes, there is a waiting list below the paragraph. One field, the email; 2 seconds to fill in.",
					editFile("site/shared-workspaces.md", "…", "…\n\n{{waiting-list}}"),
					shell("npm run --silent build", "built 34 pages in 1.9 s")),
			},
			latest: did("How does the page look on a phone?", "Well, after one change: the headline took three lines at 360 px, so I made it one size smaller there. The screenshot is still missing.",
				shell("bin/screenshot --page workspaces --width 360", "headline: 3 lines"),
				editFile("site/style.css", "h1 { font-size: 40px; }", "h1 { font-size: 40px; }\n@media (max-width: 480px) { h1 { font-size: 32px; } }"),
				shell("bin/screenshot --page workspaces --width 360", "headline: 2 lines")),
		},
		{
			title: "November newsletter",
			exchanges: []demo.Script{
				did("Send the newsletter to the first tenth, and tell me how it does.", "41% opened it within four hours, 3 points more than last month. Nobody unsubscribed. I would send the rest.",
					shell("bin/newsletter send --share 10", "sent to 1,204"),
					shell("bin/newsletter stats --hours 4", "opened 41%  clicked 12%  unsubscribed 0")),
				did("Send the rest.", "Sent to 10,838 people. 19 addresses bounced; I took them off the list.",
					shell("bin/newsletter send --rest", "sent to 10,838, 19 bounced"),
					shell("bin/list remove --bounced", "19 removed")),
			},
		},
	}
}

func operationsWork() []pastWork {
	return []pastWork{
		{
			title: "Agree on service hours with the support partner",
			exchanges: []demo.Script{
				did("Which hours should we book with the support partner?", "Option A plus one hour in the morning: 07:00 to 18:00 covers 91% of our tickets. Option B costs twice as much for another 8%.",
					shell("bin/tickets --by hour --days 30", "07-09 12%  09-12 38%  12-17 41%  17-20 8%"),
					saying(readFile("partners/offer.md", "Option A 08-18, option B 06-22 at twice the price"), "Nine of ten tickets come in between 7:00 and 17:00. Comparing that with the offer.")),
				did("Tell the partner that we want option A plus one hour in the morning.", "The draft is in partners/drafts/hours.md: option A, 07:00 to 18:00, for three months. It is ready for you to send.",
					readFile("partners/contact.md", "Two contacts, prefer short emails"),
					writeFile("partners/drafts/hours.md", "Hello, we would like option A with one more hour in the morning, 07:00 to 18:00, for three months.")),
			},
			latest: did("Did they answer?", "Yes, an hour ago: they can do 07:00 to 18:00 for $2,150 a month, $50 below our budget. They want a confirmation this week.",
				readFile("partners/inbox/offer-2.eml", "We can do 07:00 to 18:00 … $2,150 a month. Please confirm this week."),
				readFile("finance/budget.csv", "support partner,2200,monthly")),
		},
	}
}
