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
	steps  []Step
	answer string
	paced  bool          // it takes about as long as Options.Work, not minutes
	every  time.Duration // if not zero, how long each step takes
}

// subAgentPlace marks scenarios that run in a sub-agent.
const subAgentPlace = "subagent"

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

// pause returns how long the agent thinks before the n-th step of a scenario, and how long the tool
// then takes.
func (r *Runtime) pause(e scenario, n int) (think, tool time.Duration) {
	if e.every > 0 {
		return e.every * 3 / 4, e.every / 4
	}
	if !e.paced {
		return r.scale(stepDuration(e, n)), r.scale(time.Second)
	}
	if n < len(e.steps) && e.steps[n].Path != "" {
		return r.options.Work / 40, r.options.Work / 80
	}
	return r.options.Work * time.Duration(500+pseudoRandom(1000, e.ask, strconv.Itoa(n))) / 8000, r.options.Work / 40
}

// stepDuration returns the duration of the n-th step in a scenario that is not paced.
func stepDuration(e scenario, n int) time.Duration {
	return 15*time.Second + time.Duration(pseudoRandom(30_000, e.place, e.ask, strconv.Itoa(n)))*time.Millisecond
}

// toolDuration returns the part of a step's duration that its tool takes: most of it for a command,
// little for a file.
func toolDuration(e scenario, n int) time.Duration {
	all := stepDuration(e, n)
	switch e.steps[n].Tool {
	case "exec":
		return all * 3 / 5
	case "fetch", "search":
		return all / 6
	}
	return all / 40
}
