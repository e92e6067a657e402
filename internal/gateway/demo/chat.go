package demo

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	taskKey    = regexp.MustCompile(`\bTASK-\d+\b`)
	longWord   = regexp.MustCompile(`[\pL\pN]{4,}`)
	sentenceIn = regexp.MustCompile(`(?:[^.!?\n]|[.!?]\S)+[.!?]?`)

	asksToDo    = regexp.MustCompile(`^(please|(can|could|would|will) you) `)
	asksToTell  = regexp.MustCompile(`^(\S+ )*(tell|explain|show|remind|say)\b`)
	thanks      = regexp.MustCompile(`^(thanks|thank you|great|good work|well done|perfect)\b`)
	asksBlocked = regexp.MustCompile(`\b(blocked|blockers?|blocking|blocks|stuck|waiting)\b`)
	asksStatus  = regexp.MustCompile(`\b(status|progress|update|working on|doing|how far|next|plan|busy|today)\b`)
	states      = map[string]string{
		"backlog": "in the backlog", "todo": "not started", "in_progress": "in progress", "review": "in review",
		"done": "done",
	}
	littleWords = strings.Fields("what when where which whose does have this that with from they them your yours much many could would should please about there tell into more just also been were will task")
)

// chat returns the agent's answer to a message that is not about a standup. It goes by the tasks on
// the board, and by what the agent has said and found in its sessions.
func (r *Runtime) chat(ctx context.Context, a Agent, in Question) (string, error) {
	mine, err := r.options.Board(ctx, a.ID)
	if err != nil {
		return "", err
	}
	text, asked := strings.ToLower(in.Message), clip(in.Message, 200)
	if key := taskKey.FindString(strings.ToUpper(text)); key != "" {
		for _, other := range r.options.Agents {
			tasks, err := r.options.Board(ctx, other.ID)
			if err != nil {
				return "", err
			}
			if i := slices.IndexFunc(tasks, func(t Task) bool { return t.Key == key }); i >= 0 {
				said := fmt.Sprintf("%s (%s) is %s. ", tasks[i].named(), other.Name, states[tasks[i].Status])
				if tasks[i].Blocked != "" {
					said = fmt.Sprintf("%s (%s) is blocked %s: %s. ", tasks[i].named(), other.Name,
						age(tasks[i].BlockedDays), tasks[i].reason())
				}
				return strings.TrimSpace(said + r.recall(a, in.SessionKey, tasks[i].Title+" "+in.Message)), nil
			}
		}
	}
	found, now := r.recall(a, in.SessionKey, in.Message), r.options.Now()
	rep := newReport(mine, now, now)
	plan := "My plan: " + strings.Join(rep.today, "; ") + "."
	question := strings.Contains(text, "?") && !asksToDo.MatchString(text) || asksToTell.MatchString(text)
	switch {
	case strings.Contains(in.SessionKey, ":cron:"): // a job that a visitor created
		return "Done. Nothing came up that needs you.", nil
	case asksBlocked.MatchString(text):
		return "Blocked: " + cmp.Or(strings.Join(rep.blockers, "; "), "nothing") + ". " + plan, nil
	case question && found != "":
		return found, nil
	case asksStatus.MatchString(text) && (question || len(strings.Fields(text)) < 4):
		return plan, nil
	case question:
		return fmt.Sprintf("I don't know yet: “%s” Neither my tasks nor my sessions answer that. Send it to me as a task, and I'll find out. %s", asked, plan), nil
	case thanks.MatchString(text):
		return "You're welcome. " + plan, nil
	case taskKey.MatchString(strings.ToUpper(in.SessionKey)):
		return fmt.Sprintf(
			"To do that I need a run of its own: “%s” Send %s to me again with it as the note, and I'll start at once.", asked,
			taskKey.FindString(strings.ToUpper(in.SessionKey)),
		), nil
	}
	return fmt.Sprintf("I've read it: “%s” %s Send it to me as a task if I should work on it first.", asked, plan), nil
}

// recall returns the sentence in the agent's work that shares the most words with a question, at
// least two, or one in the same session. It is empty if there is none.
func (r *Runtime) recall(a Agent, sessionKey, question string) (best string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, most := stems(question), 0
	for _, s := range r.latest(a.ID) {
		if !slices.ContainsFunc(s.messages, func(m message) bool { return m.line != nil }) {
			continue // it has only answers like this one
		}
		here, from := s.key == canonical(sessionKey), ""
		if !here {
			from = " (from “" + cmp.Or(s.label, taskKey.FindString(strings.ToUpper(s.name())), s.name()) + "”)"
		}
		for _, m := range slices.Backward(s.messages) {
			for _, sentence := range sentenceIn.FindAllString(m.text, -1) {
				shared, weight := 0, 0
				for stem := range stems(sentence) {
					if n := asked[stem]; n > 0 {
						shared, weight = shared+1, weight+n
					}
				}
				if (shared > 1 || shared == 1 && here) && weight > most && m.role != "user" && !strings.Contains(sentence, "“") {
					best, most = clip(sentence, 300)+from, weight
				}
			}
		}
	}
	return best
}

// stems returns the beginnings of the words in a text, with the words' lengths, except words that
// say little.
func stems(text string) map[string]int {
	found := map[string]int{}
	for _, word := range longWord.FindAllString(strings.ToLower(text), -1) {
		if !slices.Contains(littleWords, word) {
			word = strings.TrimSuffix(word, "s")
			found[word[:min(5, len(word))]] = len(word)
		}
	}
	return found
}
