package demo

import (
	"hash/fnv"
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

// chance is a number below n that is always the same for the same words: the
// demo looks lived in, and two starts look alike.
func chance(n uint32, words ...string) int64 {
	h := fnv.New32a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// Days differ in their last digit alone, which the sum as it is would show.
	sum := h.Sum32()
	sum = (sum ^ sum>>16) * 0x85ebca6b
	sum = (sum ^ sum>>13) * 0xc2b2ae35
	return int64((sum ^ sum>>16) % n)
}

// takes is how long the n-th step of a piece of work takes.
func takes(e episode, n int) time.Duration {
	return 15*time.Second + time.Duration(chance(30_000, e.place, e.ask, strconv.Itoa(n)))*time.Millisecond
}
