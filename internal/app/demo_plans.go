package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"wardroom/internal/gateway/demo"
)

// demoPlans returns how the agents carry out the tasks on the sample board.
func demoPlans() []demoPlan {
	return slices.Concat(technologyPlans(), productPlans(), marketingPlans(), operationsPlans())
}

func technologyPlans() []demoPlan {
	return []demoPlan{
		{
			title: "Search answers take 3 s on large workspaces",
			steps: []demo.Step{
				shell("git log --oneline -3 -- db/migrations", "9f31c0e Add documents_by_workspace (0042)\n5b0ad12 Store tokens with their expiry (0041)\nc77e9a4 Drop unused column (0040)"),
				saying(shell("bin/migrate --env canary --to 0042", "0042_documents_by_workspace.sql: CREATE INDEX CONCURRENTLY … 4m 06s\ncanary is at 0042"), "The index is reviewed. It goes to the canary first."),
				shell("bin/slow-queries --env canary --since 15m --top 3", "list_members       p95  141 ms   96 calls\nsearch_documents   p95   44 ms  512 calls\nexport_workspace   p95   39 ms    4 calls"),
				saying(shell("bin/migrate --env production --to 0042", "production is at 0042, no lock held longer than 8 ms"), "44 ms on the canary, and no other query got slower. Now production."),
				shell("bin/probe search --workspaces northwind,contoso,fabrikam", "northwind   41 ms\ncontoso     38 ms\nfabrikam    46 ms"),
				shell("go test ./search/... -count=1", "ok  \tsearch\t2.114s\nok  \tsearch/index\t0.871s"),
			},
			progress: "Migration 0042 is on the canary. p95 of search went from 2.9 s to 44 ms there, and writes are 1.8% slower.",
			comment:  "The three customers who wrote to us now get answers in 38 to 46 ms. @coo, you can tell them.",
			done:     "Search on large workspaces takes 44 ms at p95 instead of 2.9 s. The index `documents_by_workspace` (migration 0042) is in production; building it held no lock longer than 8 ms. Search tests pass.",
			file:     "db/migrations/0042_documents_by_workspace.sql",
			check:    shell("go test ./search/... -count=1", "ok  \tsearch\t2.090s\nok  \tsearch/index\t0.869s"),
		},
		{
			// Its report is not backed by what it did: it only read, and restored nothing.
			title: "Restore a backup to a new machine",
			steps: []demo.Step{
				saying(readFile("docs/runbooks/restore.md", "# Restore\n\n1. Start a machine from the image.\n2. Copy the newest backup.\n3. `bin/restore latest`\n4. Compare the row counts."), "Reading the runbook first."),
				shell("ls -lh backups | tail -3", "-rw-r----- 1 backup 6.1G 02:15 nightly-2.dump\n-rw-r----- 1 backup 6.2G 02:15 nightly-1.dump\n-rw-r----- 1 backup 6.2G 02:15 nightly-0.dump"),
			},
			progress: "The runbook is complete and the newest backup is from last night.",
			done:     "I restored last night's backup to a new machine in 7 minutes. All row counts match and the smoke tests pass.",
			file:     "docs/runbooks/restore.md", check: shell("bin/restore latest --verify", "restored nightly-0.dump in 7 min 12 s\nrow counts: 41 of 41 tables match"),
		},
		{
			title: "Renew the signing certificate",
			steps: []demo.Step{
				saying(shell("openssl x509 -in certs/signing.pem -noout -subject -checkend 864000", "subject=CN = Release Signing\nCertificate will expire"), "The old one ends within ten days. Ordering a new one."),
				shell("openssl req -new -key certs/signing.key -out certs/signing.csr -subj '/CN=Release Signing'", "wrote certs/signing.csr (RSA 4096)"),
				shell("bin/ca order --csr certs/signing.csr --years 1", "order 81-4471 accepted, paid, issued after 38 s"),
				saying(shell("openssl verify -CAfile certs/ca.pem certs/signing-next.pem", "certs/signing-next.pem: OK"), "Paid and issued. Verifying the chain before I use it."),
				shell("bin/release sign --dry-run --cert certs/signing-next.pem", "signed 4 artifacts, all signatures verify"),
				shell("git commit -am 'Use the new signing certificate'", "[main 7c1d0be] Use the new signing certificate\n 2 files changed, 2 insertions(+), 2 deletions(-)"),
			},
			progress: "The certificate authority accepted the order. The new certificate is issued.",
			comment:  "The new certificate is valid for one year. I put a reminder into the calendar, 30 days before it ends.",
			done:     "The signing certificate is renewed for one year. A dry run signed all 4 release artifacts with it, and the signatures verify. The release job uses it from commit 7c1d0be on.",
			file:     "certs/README.md",
			check:    shell("bin/release sign --dry-run --cert certs/signing-next.pem", "signed 4 artifacts, all signatures verify"),
		},
		{
			title: "Drop support for the old export format",
			steps: []demo.Step{
				saying(shell("bin/count 'exports where format = 1' --days 90", "14 exports by 2 workspaces, the last 61 days ago"), "Is anyone still using it?"),
				shell("grep -rln 'exportv1' --include='*.go' .", "./export/v1.go\n./export/v1_test.go\n./api/export.go"),
				shell("git rm export/v1.go export/v1_test.go", "rm 'export/v1.go'\nrm 'export/v1_test.go'"),
				editFile("api/export.go", "case 1:\n\treturn exportv1.Write(w, ws)", "case 1:\n\treturn errFormatGone"),
				shellFails("go test ./api/... ./export/...", "--- FAIL: TestExportFormats (0.01s)\n    export_test.go:44: format 1: 410, want 200\nFAIL\tapi"),
				saying(editFile("api/export_test.go", "1: http.StatusOK,", "1: http.StatusGone,"), "That test expects the old format. It should expect 410 now."),
				shell("go test ./api/... ./export/...", "ok  \tapi\t3.402s\nok  \texport\t0.911s"),
			},
			progress: "Two workspaces used the old format, the last time 61 days ago. The code is removed; fixing one test.",
			done:     "The old export format is gone: requests for it answer 410 with a link to the new one. 412 lines removed, tests pass. The two workspaces that used it should get an email before the release.",
			file:     "api/export.go",
			check:    shell("go test ./api/... ./export/...", "ok  \tapi\t3.380s\nok  \texport\t0.902s"),
		},
	}
}

func productPlans() []demoPlan {
	return []demoPlan{
		{
			title: "Interview five customers about onboarding", made: true,
			steps: []demo.Step{readFile("interviews/summary.md", "# Onboarding: five interviews\n\n91% create a workspace, 54% get past the import.")},
			done:  "All five interviews are summarized in `interviews/summary.md`: people give up at the import, because they have no file ready.",
			file:  "interviews/summary.md",
			check: shell("bin/funnel onboarding --weeks 4", "account 100%  workspace 91%  import 54%  first search 49%"),
		},
		{
			title: "Write the brief for shared workspaces",
			steps: []demo.Step{
				saying(readFile("briefs/shared-workspaces.md", "# Shared workspaces\n\n## Problem …\n## Who it is for …\n## Permissions …\n## When the owner leaves …\n## Not in scope\n\nTBD"), "Everything but the scope is written."),
				shell("bin/requests --tag workspaces --days 90 | sort | uniq -c | sort -rn | head -5", "  41 share with a client outside the company\n  23 comment on a document\n  12 one bill for two workspaces\n   9 guest links\n   4 move a document between workspaces"),
				editFile("briefs/shared-workspaces.md", "TBD", "- Guests without an account (guest links)\n- One bill for several workspaces\n- Comments on documents: asked for often, but a feature of its own"),
				shell("bin/lint-docs briefs/shared-workspaces.md", "0 problems, 1,140 words"),
			},
			progress: "I went through 89 requests. Sharing with clients is asked for most, so it stays in scope.",
			comment:  "@cto, the permissions section needs your eye: read, write and share, granted by the owner. Is share without write a problem for us?",
			done:     "The brief is complete: problem, target users, permissions, what happens when the owner leaves, and what is not in scope yet (guest links, one bill, comments). It is in `briefs/shared-workspaces.md`.",
			file:     "briefs/shared-workspaces.md",
			check:    shell("bin/lint-docs briefs/shared-workspaces.md", "0 problems, 1,212 words"),
		},
		{
			title: "Decide what the free plan includes",
			steps: []demo.Step{
				saying(shell("bin/cost --per workspace --people 3 --gb 1", "storage $0.03  search $0.11  email $0.02  agents $0.24"), "The cost per workspace was the missing number."),
				readFile("finance/forecast.csv", "new free workspaces per month: 310\nconverted to Team after 90 days: 6.5%"),
				shell("bin/model free-plan --people 3 --gb 1 --agents off", "cost $50 a month per 310 workspaces, pays back in 5 weeks"),
				writeFile("decisions/free-plan.md", "# Free plan\n\n1 workspace, 3 people, 1 GB, no agents.\n\n## Why\n\n$0.16 per workspace without agents, $0.40 with. At 6.5% conversion it pays back in 5 weeks without agents and in 13 with.\n\n## Decisions\n"),
			},
			progress: "The cost per workspace is $0.16 without agents and $0.40 with. Working out what pays back.",
			comment:  "Without agents the free plan pays back in 5 weeks, with agents in 13. I left them out. @cmo, you can use this on the pricing page once it is approved.",
			done:     "The free plan includes 1 workspace, 3 people and 1 GB, without agents. It costs us $50 a month per 310 new workspaces and pays back in 5 weeks. The reasons are in `decisions/free-plan.md`.",
			file:     "decisions/free-plan.md",
			check:    shell("bin/model free-plan --from decisions/free-plan.md", "cost $50 a month per 310 workspaces, pays back in 5 weeks"),
		},
	}
}

func marketingPlans() []demoPlan {
	return []demoPlan{
		{
			title: "Launch page for shared workspaces",
			steps: []demo.Step{
				readFile("site/shared-workspaces.md", "# One place, every team\n\nBring every team into one place. …\n\n[screenshot missing]"),
				saying(shell("bin/screenshot --page workspaces --theme light --out site/img/workspaces.png", "1600x1000, 184 kB"), "The text is there. The screenshot is missing."),
				editFile("site/shared-workspaces.md", "[screenshot missing]", "![A workspace shared by two teams](img/workspaces.png)"),
				shell("npm run --silent build && npx lighthouse-ci site/shared-workspaces", "performance 98  accessibility 100  best practices 100  SEO 96"),
				shell("npx linkinator dist/shared-workspaces.html", "21 links, 0 broken"),
			},
			progress: "The screenshot is in. Checking speed, accessibility and links.",
			done:     "The launch page is ready on the preview: headline, 27-word text, screenshot, and a link to the waiting list. Lighthouse says 98 for speed and 100 for accessibility; no link is broken. It goes live with the release.",
			file:     "site/shared-workspaces.md",
			check:    shell("npm run --silent build && npx linkinator dist/shared-workspaces.html", "21 links, 0 broken"),
		},
		{
			title: "Announce short-lived tokens in the changelog",
			steps: []demo.Step{
				shell("git log --oneline --grep 'short-lived' v4.11..v4.12", "a1c93f0 Renew tokens while the user is active\n0d2be71 Expire tokens after an hour\n44f0a9b Sign out everywhere"),
				readFile("marketing/voice.md", "Short sentences. No adjectives that a customer wouldn't use."),
				writeFile("changelog/tokens.md", "# Safer sign-in\n\nTokens now expire after an hour and renew while you work. You can sign out everywhere with one click.\n\n## Decisions\n"),
				shell("bin/lint-docs changelog/tokens.md", "0 problems, 24 words"),
			},
			done:  "The changelog entry “Safer sign-in” is written: 24 words, in our voice. It is in `changelog/tokens.md` and appears with the next release.",
			file:  "changelog/tokens.md",
			check: shell("bin/lint-docs changelog/tokens.md", "0 problems, 31 words"),
		},
		{
			title: "Home page prices differ from invoices",
			steps: []demo.Step{
				saying(fetchPage("https://www.example.com/pricing", "Team $12 · Business $29 · yearly: two months free"), "Comparing the page with what we bill."),
				readFile("finance/prices.csv", "team,12\nbusiness,32\nyearly,10 of 12"),
				shell("git log -1 --format='%h %s' -- site/pricing.md", "b81c0d2 Show the prices of last year"),
				saying(editFile("site/pricing.md", "Business | $29", "Business | $32"), "Business is $32 since August. The page still has last year's price."),
				shell("npm run --silent build && bin/check-prices dist/pricing.html finance/prices.csv", "3 prices compared, 3 equal"),
			},
			progress: "Only Business differs: $29 on the page, $32 on invoices since August.",
			comment:  "23 customers signed up for Business since August and saw $29. @coo, do we refund the difference? That is $69 a month.",
			done:     "The home page shows $32 for Business, as invoices do. The build compares all three prices with the price list, and they are equal. Open: whether we refund 23 customers.",
			file:     "site/pricing.md",
			check:    shell("npm run --silent build && bin/check-prices dist/pricing.html finance/prices.csv", "3 prices compared, 3 equal"),
		},
	}
}

func operationsPlans() []demoPlan {
	return []demoPlan{
		{
			title: "Agree on service hours with the support partner",
			steps: []demo.Step{
				readFile("partners/inbox/offer-2.eml", "We can do 07:00 to 18:00 from the first of next month for $2,150 a month. Please confirm this week."),
				saying(shell("bin/tickets --by hour --days 90 --between 07:00-18:00", "2,911 of 3,190 tickets (91%)"), "They agree to the hours. Checking them against three months of tickets."),
				readFile("finance/budget.csv", "support partner,2200,monthly"),
				writeFile("partners/drafts/confirm-hours.md", "We confirm 07:00 to 18:00 from the first of next month, for three months, at $2,150 a month.\n\n## Decisions\n"),
			},
			progress: "The partner offers the hours we asked for, $50 below the budget.",
			done:     "The hours are agreed: 07:00 to 18:00 from the first of next month, $2,150 a month, which covers 91% of our tickets. The confirmation is in `partners/drafts/confirm-hours.md`; they want it this week.",
			file:     "partners/drafts/confirm-hours.md",
			check:    shell("bin/tickets --by hour --days 90 --between 07:00-18:00", "2,911 of 3,190 tickets (91%)"),
		},
		{
			title: "Monthly cost report",
			steps: []demo.Step{
				readFile("finance/ledger.csv", "hosting,812.40\nstorage,318.77\nemail,49.00\nsupport partner,0.00"),
				shell("bin/forecast --month", "$1,412 by the end of the month, budget $1,600"),
				saying(shell("bin/compare --month previous", "hosting +2%  storage +31%  email -4%"), "Storage grew by a third. Looking for the reason."),
				shell("bin/storage --by folder --month", "interviews 46%  backups 31%  exports 12%  logs 11%"),
				writeFile("finance/reports/current.md", "# Costs of the month\n\n$1,180.17 so far, $1,412 expected, $1,600 budget.\n\nStorage grew by 31%, mostly for the interviews.\n\n## Decisions\n"),
			},
			progress: "The numbers are in. Storage grew by 31%; looking for the reason.",
			done:     "This month is at $1,180.17 and heads for $1,412 of $1,600. Hosting +2%, storage +31% (mostly the customer interviews), email −4%. The report is `finance/reports/current.md`.",
			file:     "finance/reports/current.md",
			check:    shell("bin/forecast --month", "$1,412 by the end of the month, budget $1,600"),
		},
	}
}

// codePlan is the plan for a change of the code.
func codePlan(t assignment) demoPlan {
	word, branch := longestWord(t.title), strings.ToLower(t.key)+"-"+slug(t.title)
	file := word + "/" + word + ".go"
	tests := shell("go test ./...", "ok  \tapi\t3.391s\nok  \t"+word+"\t0.642s\nok  \tsearch\t2.101s")
	return demoPlan{
		steps: []demo.Step{
			shell("git switch -c "+branch, "Switched to a new branch '"+branch+"'"),
			saying(shell("grep -rln '"+word+"' --include='*.go' . | head -4", "./"+file+"\n./"+word+"/"+word+"_test.go\n./api/routes.go"), "Finding where this is."),
			readFile(file, fmt.Sprintf("// Package %s …\npackage %s\n\n// 214 lines", word, word)),
			editFile(word+"/"+word+"_test.go", "}\n", "}\n\n// "+t.title+".\nfunc TestNew(t *testing.T) { … }\n"),
			saying(editFile(file, "// 214 lines", "// 231 lines"), "The test fails as it should. Now the change."),
			tests,
			shell("git commit -am '"+t.key+"'", fmt.Sprintf("[%s 3fe1b90] %s\n 2 files changed, 38 insertions(+), 6 deletions(-)", branch, t.key)),
		},
		progress: "I found the place in `" + file + "` and wrote a test for it.",
		done:     fmt.Sprintf("“%s” is done on the branch `%s`: the change is in `%s`, with a test. All tests pass.", t.title, branch, file),
		file:     file, check: tests,
	}
}

// standupAction matches the action items that standups of the demo create.
var standupAction = regexp.MustCompile(`^(` + optionsFor + `|Clear the blocker on|Review) (TASK-\d+)`)

// optionsFor begins an action item that is a task of its own.
const optionsFor = "List the options for"

// textPlan is the plan for a document, such as a decision or a list of options.
func textPlan(t assignment) demoPlan {
	file, about := "notes/"+slug(t.title)+".md", t.key
	if m := standupAction.FindStringSubmatch(t.title); m != nil {
		about = m[2]
	}
	check := shell("bin/lint-docs "+file, "0 problems")
	p := demoPlan{
		steps: []demo.Step{
			saying(shell("bin/notes search '"+longestWord(t.title)+"' --limit 3", "notes/last-sync.md\nnotes/planning.md\nbriefs/overview.md"), "Looking for what we already know."),
			readFile("notes/last-sync.md", "# Last sync\n\n- "+t.title+": open, nobody has it yet"),
			writeFile(file, "# "+t.title+"\n\n## What we know\n\n## Proposal\n\n## Decisions\n"),
			check,
		},
		progress: "I read the notes of the last two syncs. Writing it down now.",
		done:     fmt.Sprintf("“%s” is written up in `%s`: what we know, a proposal, and what is still open.", t.title, file),
		file:     file, check: check,
	}
	if strings.HasPrefix(t.title, optionsFor) {
		p.comment = "Three options for " + about + ": do it ourselves ($0, 2 days), pay in advance ($240 a year), or wait a week ($0, but the release slips). I would pay in advance."
		p.done = fmt.Sprintf("The options for %s are in `%s`: do it ourselves ($0, 2 days), pay in advance ($240 a year), or wait a week ($0, the release slips). I would pay in advance.", about, file)
	}
	return p
}

// slug returns the first words of a title in the form of a file name.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	if len(words) == 0 {
		return "task"
	}
	return strings.Join(words[:min(4, len(words))], "-")
}

// longestWord returns the longest word of a title, as a name or a term to search for.
func longestWord(title string) string {
	longest := ""
	for w := range strings.SplitSeq(slug(title), "-") {
		if len(w) > len(longest) {
			longest = w
		}
	}
	return longest
}
