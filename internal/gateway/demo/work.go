package demo

import (
	"context"
	"time"
)

// Step is a tool call in a run, together with its result.
type Step struct {
	Says   string // text of the agent before the call; may be empty
	Tool   string
	Args   map[string]any
	Result string
	Reads  int64 // context tokens of the result beyond the text shown
	Failed bool

	// Path and Body, if set, are a POST request to Wardroom's API with the agent's key, whose answer
	// becomes the Result.
	Path, Body string

	// Asks, if set, asks a person about the call and returns the request's ID. Then returns the call's
	// result after the end of the request, and the rest of the work instead of the later steps.
	Asks func(ctx context.Context, sessionKey, runID string) string
	Then func(Ending) (result string, rest Script)
}

// Script is an agent's work on a message: the steps, and what it says at the end.
type Script struct {
	Ask    string // the message; only in past work
	Steps  []Step
	Answer string
}

// Work describes an agent's past work on a task: one session a day, with up to three exchanges.
type Work struct {
	AgentID, Key string
	From         time.Time // the day of the first session
	Exchanges    []Script
	Latest       Script // takes place in the last hour of the past; none without Ask
}

// perSession is how many exchanges a session of past work has.
const perSession = 3

// session returns the key of the session in which the agent works on the task on the given day.
func (w Work) session(day string) string {
	return "agent:" + w.AgentID + ":task:" + w.Key + ":" + day
}

// on returns the scenarios of a day of work.
func (w Work) on(day time.Time) (all thread) {
	const length = 24 * time.Hour
	first := Midnight(w.From.In(day.Location()))
	n := int(day.Sub(first).Round(length)/length) * perSession // a day of 23 or 25 hours is one, too
	if day.Before(first) || n >= len(w.Exchanges) {
		return nil
	}
	for _, e := range w.Exchanges[n:min(n+perSession, len(w.Exchanges))] {
		all = append(all, w.scenario(e))
	}
	return all
}

func (w Work) scenario(e Script) scenario {
	return scenario{agent: w.AgentID, place: "task:" + w.Key, ask: e.Ask, steps: e.Steps, answer: e.Answer}
}
