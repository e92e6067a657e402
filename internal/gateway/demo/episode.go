package demo

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// episode is a piece of work as an agent of the demo does it.
type episode struct {
	agent  string // who does it
	place  string // the session below the agent's; see sub
	label  string // what people call the session; empty when they do not
	ask    string
	steps  []step
	answer string
}

// sub is the place of an episode that an agent gives to a sub-agent.
const sub = "subagent"

// step is a call of a tool in a run, and what comes of it.
type step struct {
	says   string // what the agent says before it
	tool   string
	args   object
	result string
	reads  int64 // tokens of the model's context that the result takes beside what is shown of it
	failed bool
}

// episodes are what the default team does all day, one after the other.
func episodes() []episode { return slices.Concat(morning(), afternoon()) }

func morning() []episode {
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
	}
}

func afternoon() []episode {
	return []episode{
		{
			agent: "cto", place: sub, label: "Read the certificate authority's terms",
			ask: "What does the certificate authority accept besides a card?",
			steps: []step{
				{tool: "fetch", args: object{"url": "https://ca.example.com/terms"}, result: "Payment: card or prepaid account. Invoices from ten certificates on.", reads: 5200},
			},
			answer: "A prepaid account works at once; an invoice only from ten certificates on. We have three.",
		},
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
	}
}

// chance is a number below n that is always the same for the same words: the
// demo looks lived in, and two starts look alike.
func chance(n uint32, words ...string) int64 {
	h := fnv.New32a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return int64(h.Sum32() % n)
}

// takes is how long the n-th step of a piece of work takes.
func takes(e episode, n int) time.Duration {
	return 2*time.Second + time.Duration(chance(6000, e.place, e.ask, strconv.Itoa(n)))*time.Millisecond
}
