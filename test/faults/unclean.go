package faults

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Unclean is a kind of values that contradict each other or the facts, in frames of the right shape.
type Unclean string

// Kinds of unclean values.
const (
	FractionalTimes  Unclean = "fractional_times"  // times and durations have a fraction of a millisecond
	StuckInFuture    Unclean = "stuck_in_future"   // sessions were always last updated in 2099
	StuckInPast      Unclean = "stuck_in_past"     // sessions were always last updated in 2001
	DisagreeingParts Unclean = "disagreeing_parts" // cached tokens are counted as input, too, so that the parts exceed the total
	NegativeCounts   Unclean = "negative_counts"   // input tokens are negative
	FalseOK          Unclean = "false_ok"          // runs that failed are reported as ok: not delivered, and without tokens
)

// taints contains a function for each kind of Unclean.
var taints = map[Unclean]func(object) object{
	FractionalTimes:  fractionalTimes,
	StuckInFuture:    stuckAt(farFuture),
	StuckInPast:      stuckAt(farPast),
	DisagreeingParts: inObjects(countCachedTwice),
	NegativeCounts: inObjects(func(o object) {
		if in := count(o, "input"); in > 0 && o["output"] != nil {
			o["input"] = -in
		}
	}),
	FalseOK: falseOK,
}

// Taint makes the values in all frames unclean in all the given ways, until the next call to Taint. A call without
// arguments turns the fault off.
func (r *Runtime) Taint(kinds ...Unclean) {
	r.changeFrames(func(w *frameFaults) { w.unclean = slices.Clone(kinds) })
}

// HideJob makes cron.list omit a job. The job still runs, and cron.get still returns it.
func (r *Runtime) HideJob(id string, hidden bool) {
	r.changeFrames(func(w *frameFaults) { set(w.hidden, id, true, !hidden) })
}

// withoutJobs returns an answer to cron.list without the given jobs.
func withoutJobs(frame object, hidden map[string]bool) object {
	out := as[object](decoded(frame))
	payload := as[object](out["payload"])
	listed := []any{}
	for _, j := range as[[]any](payload["jobs"]) {
		if !hidden[as[string](as[object](j)["id"])] {
			listed = append(listed, j)
		}
	}
	payload["jobs"] = listed
	return out
}

// inObjects returns a function that copies a frame and changes every object in its payload.
func inObjects(change func(object)) func(object) object {
	return func(frame object) object {
		return changeMembers(frame, "payload")(func(_ string, v any) any {
			if o, ok := v.(object); ok {
				change(o)
			}
			return v
		})
	}
}

// The values that StuckInFuture and StuckInPast set: 1 January 2099 and 9 September 2001.
const farFuture, farPast = json.Number("4070908800000"), json.Number("1000000000000")

func stuckAt(at json.Number) func(object) object {
	return inObjects(func(o object) {
		if o["updatedAt"] != nil && (o["key"] != nil || o["sessionKey"] != nil) {
			o["updatedAt"] = at
		}
	})
}

func fractionalTimes(frame object) object {
	return changeMembers(frame, "payload")(func(name string, v any) any {
		n, ok := v.(json.Number)
		timed := strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Ms") || strings.HasSuffix(name, "Activity") || name == "ts" || name == "timestamp"
		if !ok || !timed || strings.Contains(n.String(), ".") {
			return v
		}
		return json.Number(n.String() + ".25")
	})
}

// countCachedTwice adds the cached tokens of a usage object, and their cost, to its input.
func countCachedTwice(o object) {
	in, cached := count(o, "input"), count(o, "cacheRead")
	if in <= 0 || cached <= 0 || o["totalTokens"] == nil && o["total"] == nil {
		return
	}
	o["input"] = in + cached
	costs, part, total := o, "inputCost", "totalCost"
	if of, ok := o["cost"].(object); ok {
		costs, part, total = of, "input", "total"
	}
	was, _ := as[json.Number](costs[part]).Float64()
	for _, name := range []string{part, total} {
		if sum, err := as[json.Number](costs[name]).Float64(); err == nil {
			costs[name] = json.Number(strconv.FormatFloat(sum+was*float64(cached)/float64(in), 'f', 12, 64))
		}
	}
}

// count returns a member as a whole number, or 0.
func count(o object, member string) int64 {
	n, _ := as[json.Number](o[member]).Int64()
	return n
}

// falseOK changes a frame as FalseOK says.
func falseOK(frame object) object {
	out := inObjects(func(o object) {
		switch {
		case o["action"] == "finished" && o["status"] == "error":
			o["status"], o["completionStatus"], o["deliveryStatus"] = "ok", "failed", "not-delivered"
			delete(o, "error")
			delete(o, "usage")
		case o["lastRunStatus"] == "error":
			o["lastRunStatus"], o["lastStatus"], o["consecutiveErrors"] = "ok", "ok", 0
			delete(o, "lastError")
		case o["sessionId"] != nil && o["status"] == "failed":
			o["status"] = "done"
			delete(o, "lastRunError")
		}
	})(frame)
	payload := as[object](out["payload"])
	if out["type"] != "res" || payload["runId"] == nil || payload["status"] != "error" {
		return out
	}
	out["ok"], payload["status"] = true, "ok"
	if payload["summary"] != nil { // the second answer to agent
		payload["summary"], payload["result"] = "completed", object{"payloads": []any{}, "meta": object{"stopReason": "stop"}}
	}
	delete(out, "error")
	delete(payload, "error")
	return out
}
