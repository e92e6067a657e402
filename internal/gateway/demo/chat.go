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

	asksBlocked = regexp.MustCompile(`\b(blocked|blockers?|blocking|blocks|stuck|waiting)\b`)
	asksStatus  = regexp.MustCompile(`\b(status|progress|update|working on|doing|how far|next|plan|busy|today)\b`)
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
				return strings.TrimSpace(tasks[i].describe(a, other) + " " + r.recall(a, in.SessionKey, tasks[i].Title+" "+in.Message)), nil
			}
		}
	}
	found, now := r.recall(a, in.SessionKey, in.Message), r.options.Now()
	rep := newReport(mine, now, now)
	plan := "My plan: " + strings.Join(rep.today, "; ") + "."
	switch {
	case asksBlocked.MatchString(text) && len(rep.blockers) > 0:
		return "Blocked: " + strings.Join(rep.blockers, "; ") + ". " + plan, nil
	case asksBlocked.MatchString(text):
		return "Nothing blocks me. " + plan, nil
	case found != "":
		return found, nil
	case asksStatus.MatchString(text):
		return plan, nil
	case strings.Contains(text, "?"):
		return fmt.Sprintf("I don't know yet: “%s” Neither my tasks nor my sessions answer that. Send it to me as a task, and I'll find out. %s", asked, plan), nil
	}
	return fmt.Sprintf("I've read it: “%s” %s Send it to me as a task if I should work on it first.", asked, plan), nil
}

// describe returns what agent a says about a task of the assignee.
func (t Task) describe(a, assignee Agent) string {
	who := "I have "
	state := map[string]string{"backlog": "in the backlog", "todo": "not started", "in_progress": "in progress", "review": "in review", "done": "done"}[t.Status]
	if a.ID != assignee.ID {
		who = assignee.Name + " has "
	}
	if t.Blocked != "" {
		state = "blocked " + age(t.BlockedDays) + ": " + t.reason()
	}
	return who + t.named() + ", which is " + state + "."
}

// recall returns the sentence in the agent's work that shares the most words with a question, at
// least two, or one in the same session. It is empty if there is none.
func (r *Runtime) recall(a Agent, sessionKey, question string) (best string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, most := stems(question), 1
	for _, s := range r.latest(a.ID) {
		if !slices.ContainsFunc(s.messages, func(m message) bool { return m.line != nil }) {
			continue // it has only answers like this one
		}
		from, head := " (from “"+cmp.Or(s.label, s.name())+"”)", 0
		if s.key == canonical(sessionKey) {
			from, head = "", 1
		}
		for _, m := range slices.Backward(s.messages) {
			for _, sentence := range sentenceIn.FindAllString(m.text, -1) {
				n := 0
				for word := range stems(sentence) {
					if asked[word] {
						n++
					}
				}
				if n > 0 && n+head > most && m.role != "user" && !strings.Contains(sentence, "“") {
					best, most = clip(sentence, 300)+from, n+head
				}
			}
		}
	}
	return best
}

// stems returns the beginnings of the words in a text, except words that say little.
func stems(text string) map[string]bool {
	found := map[string]bool{}
	for _, word := range longWord.FindAllString(strings.ToLower(text), -1) {
		if !slices.Contains(littleWords, word) {
			word = strings.TrimSuffix(word, "s")
			found[word[:min(5, len(word))]] = true
		}
	}
	return found
}
