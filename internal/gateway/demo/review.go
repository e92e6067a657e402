package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// escalateAfter is for how many days a task may be blocked before a human hears of it.
const escalateAfter = 3

// review is the form in which the facilitator closes a standup.
type review struct {
	Summary     string       `json:"summary"`
	Resolutions []resolution `json:"resolutions"`
	Escalations []escalation `json:"escalations"`
	ActionItems []actionItem `json:"action_items"`
}

type resolution struct {
	Task       *string `json:"task"`
	Blocker    string  `json:"blocker"`
	Resolution string  `json:"resolution"`
}

type escalation struct {
	Title  string  `json:"title"`
	Detail string  `json:"detail"`
	Task   *string `json:"task"`
}

type actionItem struct {
	Title    string `json:"title"`
	Assignee string `json:"assignee"`
}

// held is a task with the agent who has it.
type held struct {
	Task
	agent Agent
}

// review looks at everyone's board, settles what is young, escalates what is
// old, and says it as models do: a sentence, then the JSON in a fence.
func (r *Runtime) review(ctx context.Context, sessionKey string) (string, error) {
	all, done := []held{}, []string{}
	for _, a := range r.options.Agents {
		tasks, err := r.options.Board(ctx, a.ID)
		if err != nil {
			return "", err
		}
		since, err := r.since(ctx, a.ID, sessionKey) // as the agent itself has told
		if err != nil {
			return "", err
		}
		for _, t := range ordered(tasks, urgent) {
			all = append(all, held{t, a})
			if t.finished(since) {
				done = append(done, t.Key)
			}
		}
	}
	blocked := slices.DeleteFunc(slices.Clone(all), func(t held) bool { return t.Blocked == "" || t.Status == "done" })
	slices.SortStableFunc(blocked, func(a, b held) int { return cmp.Compare(b.BlockedDays, a.BlockedDays) })
	out := review{Resolutions: []resolution{}, Escalations: []escalation{}, ActionItems: actions(all, blocked)}
	for _, t := range blocked {
		if t.BlockedDays >= escalateAfter {
			out.Escalations = append(out.Escalations, escalation{
				Title: clip(fmt.Sprintf("%s is stuck: %s", t.Key, t.reason()), 120), Task: &t.Key,
				Detail: fmt.Sprintf("%s has been blocked %s with %s: %s. The team cannot settle this by itself; someone has to decide.",
					t.named(), age(t.BlockedDays), t.agent.Name, t.reason()),
			})
			continue
		}
		out.Resolutions = append(out.Resolutions, resolution{Task: &t.Key, Blocker: t.reason(), Resolution: settle(t)})
	}
	out.Summary = summary(all, done, out)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return "", fmt.Errorf("write the review: %w", err)
	}
	return "I went through the reports; here is how we close today's standup.\n\n```json\n" + b.String() + "```", nil
}

// settle is what to do about a young blocker.
func settle(t held) string {
	reason := strings.ToLower(t.Blocked)
	for _, known := range []struct{ word, way string }{
		{"review", "%s asks for the review in the team channel before noon; whoever is free takes it."},
		{"access", "%s sends the access request again with the owner named; I will follow it up today."},
		{"credential", "%s sends the access request again with the owner named; I will follow it up today."},
		{"waiting", "%s asks for a date today and works on the next task until it is there."},
		{"decision", "I bring the options to the next sync; %s writes them down on the task today."},
	} {
		if strings.Contains(reason, known.word) {
			return fmt.Sprintf(known.way, t.agent.Name)
		}
	}
	return fmt.Sprintf("%s splits off what can be done without it and tells me by the end of the day what is still missing.", t.agent.Name)
}

// actions are one or two things to do, none of which is on the board already:
// the standup of the next day must not make them again.
func actions(all, blocked []held) []actionItem {
	items := []actionItem{}
	propose := func(title, assignee string) {
		title = clip(title, 120)
		onBoard := slices.ContainsFunc(all, func(t held) bool { return t.Status != "done" && strings.EqualFold(clip(t.Title, 120), title) })
		proposed := slices.ContainsFunc(items, func(i actionItem) bool { return i.Title == title })
		if len(items) < 2 && !onBoard && !proposed {
			items = append(items, actionItem{Title: title, Assignee: assignee})
		}
	}
	for _, t := range blocked {
		if t.BlockedDays >= escalateAfter {
			propose("Write down the options for "+t.Key+" and what each costs us", t.agent.ID)
		} else {
			propose("Clear what blocks "+t.Key+": "+t.reason(), t.agent.ID)
		}
	}
	for _, t := range all {
		if len(items) == 0 && t.Status == "review" {
			propose("Review "+t.Key+" and close it", t.agent.ID)
		}
	}
	if len(items) == 0 {
		propose("Agree on the team's next three priorities", nobodys(all))
	}
	return items
}

// nobodys is who gets an item that is nobody's.
func nobodys(all []held) string {
	if len(all) == 0 {
		return "coo"
	}
	return all[0].agent.ID
}

// summary is two to four sentences that name the tasks: those that are done since
// the last standup, those under way, and those in the review.
func summary(all []held, done []string, out review) string {
	going := []string{}
	for _, t := range all {
		if t.Status == "in_progress" && t.Blocked == "" {
			going = append(going, t.Key)
		}
	}
	first := "Nothing was finished since the last standup"
	if len(done) > 0 {
		first = "Since the last standup the team finished " + enumerate(done)
	}
	second := "Nobody has a task under way"
	if len(going) > 0 {
		second = "Work goes on with " + enumerate(going)
	}
	sentences := []string{first + ".", second + "."}
	young, old := []string{}, []string{}
	for _, x := range out.Resolutions {
		young = append(young, *x.Task)
	}
	for _, x := range out.Escalations {
		old = append(old, *x.Task)
	}
	if len(young) > 0 {
		sentences = append(sentences, "What blocks "+enumerate(young)+" we settle among ourselves today.")
	}
	if len(old) > 0 {
		verb := " need"
		if len(old) == 1 {
			verb = " needs"
		}
		sentences = append(sentences, enumerate(old)+verb+" a decision from outside the team.")
	}
	return strings.Join(sentences, " ")
}

// enumerate names the first three of a list, and how many more there are.
func enumerate(keys []string) string {
	more := len(keys) - 3
	switch {
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:3], ", "), more)
	case len(keys) > 1:
		return strings.Join(keys[:len(keys)-1], ", ") + " and " + keys[len(keys)-1]
	}
	return keys[0]
}
