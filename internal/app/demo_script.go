package app

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"wardroom/internal/gateway/demo"
)

// This file tells the demo's agents how to carry out a task that is sent to them. Like a real agent,
// a demo agent reads the prompt, works with tools, and reports over HTTP with its own API key.

// demoPlan is how an agent carries out a task.
type demoPlan struct {
	title    string // of the task
	steps    []demo.Step
	progress string    // reported after half of the steps; empty for nothing
	comment  string    // on the task, before the end; empty for none
	done     string    // the result that the agent reports
	file     string    // where the result is; the agent changes this file if the task is sent back
	check    demo.Step // how the agent checks the changed file; it does not if Tool is empty
	made     bool      // the result exists before the task is sent for the first time
}

// assignment is a task that Wardroom has sent to an agent, as the prompt describes it.
type assignment struct {
	key, title, kind, blocked string
	by, note                  string // who sent it, and what they added; empty if they added nothing
}

var (
	promptTask = regexp.MustCompile(`^You are assigned task (\S+) on your team's board\.`)
	promptLine = regexp.MustCompile(`(?m)^> (title|status|blocked): (.*)$`)
	promptNote = regexp.MustCompile(`(?s)^\n([^\n]+), who sent you this task, adds:\n(.*?)\n\n(?:Report to the board over HTTP|The result is accepted if:|After your last change, run these checks)`)
)

// parseAssignment reads a prompt. It returns false for any other message.
func parseAssignment(message string) (t assignment, ok bool) {
	key := promptTask.FindStringSubmatch(message)
	data, rest, cut := strings.Cut(message, "\n--- end of data ---\n")
	if key == nil || !cut {
		return t, false
	}
	fields := map[string]string{}
	for _, m := range promptLine.FindAllStringSubmatch(data, -1) {
		if _, known := fields[m[1]]; !known { // a later line belongs to the description
			fields[m[1]] = m[2]
		}
	}
	t = assignment{key: key[1], title: fields["title"], blocked: fields["blocked"]}
	_, t.kind, _ = strings.Cut(fields["status"], "type: ")
	if m := promptNote.FindStringSubmatch(rest); m != nil {
		t.by, t.note = m[1], strings.TrimSpace(m[2])
	}
	return t, true
}

// demoScript returns how an agent carries out the scheduled job or the task that a message is about,
// or false for any other message. again is whether the agent has reported the task as done in the same session.
func demoScript(q demo.Question, again bool) (demo.Script, bool) {
	jobs := demoJobs()
	if i := slices.IndexFunc(jobs, func(j demo.Job) bool { return j.AgentID == q.AgentID && j.Ask == q.Message }); i >= 0 {
		return jobs[i].Run(q.RunID), true
	}
	t, ok := parseAssignment(q.Message)
	if !ok {
		return demo.Script{}, false
	}
	p := t.plan(q.AgentID)
	switch {
	case t.blocked != "" && t.note == "":
		return t.wait(p), true
	case again || p.made:
		return t.revise(p), true
	}
	return t.carryOut(p), true
}

// plan returns the agent's plan for the task: a written one, or one that fits any task of its type.
func (t assignment) plan(agentID string) demoPlan {
	for _, p := range demoPlans() {
		if p.title == t.title {
			return p
		}
	}
	if agentID == "cto" && t.kind != "research" && !standupAction.MatchString(t.title) {
		return codePlan(t)
	}
	return textPlan(t)
}

// carryOut is the work on a task that is sent for the first time.
func (t assignment) carryOut(p demoPlan) demo.Script {
	half := (len(p.steps) + 1) / 2
	begin := saying(t.report("ack", ""), "I'll start with "+t.key+": "+t.title+".")
	steps, done := slices.Clone(p.steps[half:]), p.done
	if t.note != "" {
		begin.Says = fmt.Sprintf("%s wrote: “%s” I'll go by that.", t.by, t.note)
		done += fmt.Sprintf("\n\n%s wrote: “%s” I went by that.", t.by, t.note)
		steps = append(steps, saying(editFile(p.file, "## Decisions\n", "## Decisions\n\n- "+t.by+": "+t.note+"\n"), "Keeping that in the file, so that nobody asks again."))
	}
	all := append([]demo.Step{begin}, p.steps[:half]...)
	if p.progress != "" {
		all = append(all, t.report("progress", p.progress))
	}
	all = append(all, steps...)
	all = append(all, t.report("done", done))
	said := done
	if p.comment != "" {
		all = slices.Insert(all, len(all)-1, t.comment(p.comment))
		said += "\n\nI also commented: " + p.comment
	}
	return demo.Script{Steps: all, Answer: said + "\n\n" + t.key + " is in review."}
}

// revise is the work on a task that is sent again, usually with a note about what to change.
func (t assignment) revise(p demoPlan) demo.Script {
	begin := t.report("ack", "")
	if t.note == "" {
		done := "I went through `" + p.file + "` once more and found nothing to change."
		all := []demo.Step{saying(begin, "I have reported this as done. Reading it once more."), readFile(p.file, firstLine(p.done)), t.report("done", done)}
		return demo.Script{Steps: all, Answer: done + " " + t.key + " is in review again."}
	}
	done := fmt.Sprintf("%s wrote: “%s” I changed `%s` accordingly.", t.by, t.note, p.file)
	all := []demo.Step{
		saying(begin, fmt.Sprintf("%s sent this back: “%s”", t.by, t.note)),
		saying(readFile(p.file, firstLine(p.done)), "Finding the part that this is about."),
		editFile(p.file, "## Decisions\n", "## Decisions\n\n- "+t.by+": "+t.note+"\n"),
		shell("git diff --stat -- "+p.file, " "+p.file+" | 9 +++++++--\n 1 file changed, 7 insertions(+), 2 deletions(-)"),
	}
	if p.check.Tool != "" {
		all = append(all, saying(p.check, "Checking it again after the change."))
		done += " The check after the change passes."
	}
	return demo.Script{Steps: append(all, t.comment(done), t.report("done", done)), Answer: done + "\n\n" + t.key + " is in review again."}
}

// wait is what an agent does with a task that is still blocked: it looks again and says so.
func (t assignment) wait(p demoPlan) demo.Script {
	said := fmt.Sprintf("I can't go on: %s. As soon as somebody decides that, unblock %s and send it to me again.", strings.TrimRight(t.blocked, "."), t.key)
	all := []demo.Step{saying(p.steps[0], "The task is blocked. Checking whether that still holds."), t.comment(said)}
	return demo.Script{Steps: all, Answer: said}
}

// report returns the call that reports on the task.
func (t assignment) report(kind, text string) demo.Step {
	if text == "" {
		return t.post("reports", map[string]string{"kind": kind})
	}
	return t.post("reports", map[string]string{"kind": kind, "text": text})
}

// comment returns the call that comments on the task.
func (t assignment) comment(text string) demo.Step {
	return t.post("comments", map[string]string{"body": text})
}

func (t assignment) post(what string, body map[string]string) demo.Step {
	data, _ := json.Marshal(body) // strings always encode
	path := "/api/v1/tasks/" + t.key + "/" + what
	st := shell(fmt.Sprintf(`curl -sS -X POST "$WARDROOM_URL%s" -H "Authorization: Bearer $WARDROOM_API_KEY" -H 'Content-Type: application/json' -d '%s'`,
		path, strings.ReplaceAll(string(data), "'", `'\''`)), "")
	st.Path, st.Body = path, string(data)
	return st
}

// shell returns the call of a shell command.
func shell(command, result string) demo.Step {
	return toolCall("exec", map[string]any{"command": command}, result)
}

// shellFails returns the call of a shell command that fails.
func shellFails(command, result string) demo.Step {
	st := shell(command, result)
	st.Failed = true
	return st
}

// readFile returns the call that reads a file.
func readFile(path, result string) demo.Step {
	return toolCall("read", map[string]any{"path": path}, result)
}

// writeFile returns the call that creates a file.
func writeFile(path, text string) demo.Step {
	return toolCall("write", map[string]any{"path": path, "content": text}, fmt.Sprintf("Wrote %d bytes to %s", len(text), path))
}

// editFile returns the call that replaces a part of a file.
func editFile(path, was, is string) demo.Step {
	return toolCall("edit", map[string]any{"path": path, "oldText": was, "newText": is}, "Replaced 1 block in "+path)
}

// fetchPage returns the call that reads a web page.
func fetchPage(url, result string) demo.Step {
	return toolCall("fetch", map[string]any{"url": url}, result)
}

// toolCall returns a tool call whose result adds 1,000 to 5,000 tokens to what is shown.
func toolCall(tool string, args map[string]any, result string) demo.Step {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, tool, args) // never fails
	return demo.Step{Tool: tool, Args: args, Result: result, Reads: 1000 + int64(h.Sum32()%4000)}
}

// saying returns a step with a text of the agent before the call.
func saying(st demo.Step, text string) demo.Step {
	st.Says = text
	return st
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
