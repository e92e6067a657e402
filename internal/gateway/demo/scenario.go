package demo

import (
	"hash/fnv"
	"strconv"
	"time"
)

// scenario is a scripted agent run, used as sample work.
type scenario struct {
	agent  string // id of the agent
	place  string // session key without the agent; subAgentPlace for a sub-agent
	label  string // title of the session; may be empty
	ask    string
	steps  []step
	answer string
}

// subAgentPlace marks scenarios that run in a sub-agent.
const subAgentPlace = "subagent"

// step is a tool call in a run, together with its result.
type step struct {
	says   string // text of the agent before the call; may be empty
	tool   string
	args   object
	result string
	reads  int64 // context tokens of the result beyond the text shown
	failed bool
}

// pseudoRandom returns a number below n that depends only on the given words. Sample data
// thus looks varied, but is the same each time the demo starts.
func pseudoRandom(n uint32, words ...string) int64 {
	h := fnv.New32a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// FNV alone barely spreads inputs that differ only in the last digit, such as dates.
	sum := h.Sum32()
	sum = (sum ^ sum>>16) * 0x85ebca6b
	sum = (sum ^ sum>>13) * 0xc2b2ae35
	return int64((sum ^ sum>>16) % n)
}

// stepDuration returns the duration of the n-th step in a scenario.
func stepDuration(e scenario, n int) time.Duration {
	return 15*time.Second + time.Duration(pseudoRandom(30_000, e.place, e.ask, strconv.Itoa(n)))*time.Millisecond
}
