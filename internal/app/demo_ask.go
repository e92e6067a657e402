package app

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/limit"
	"wardroom/internal/platform/actor"
	"wardroom/internal/usage"
)

// stepsPerWork is how many steps an agent makes in the time of a task.
const stepsPerWork = 4

// option is an option of a question.
type option struct{ label, description string }

// ask makes the agents need people: one waits for an approval and one for an answer, after which they continue
// accordingly, and one is in a loop. On the first start, it adds a limit that is almost reached. work is
// DemoOptions.Work.
func (d *Demo) ask(ctx context.Context, first bool, work time.Duration) error {
	every := max(work/stepsPerWork, 100*time.Millisecond)
	d.Runtime.StartWork("cto", "dashboard:release", "Release 2.4", every/stepsPerWork, did("Remove the test account from the history of release/2.4, and publish the branch.", "",
		saying(shell("git rebase --onto v2.3 add-test-account release/2.4", "Successfully rebased and updated refs/heads/release/2.4."), "I'll take the commit out."),
		saying(d.asksToRun(demo.Command{
			AgentID: "cto", Text: "git push --force-with-lease origin release/2.4", Directory: "/srv/app", Warnings: []string{"Rewrites the history of a remote branch"}, Always: true,
		}, "+ 4f1c9d2...a87e310 release/2.4 -> release/2.4 (forced update)", "I pushed release/2.4. Its checks are running."),
			"The branch is rebased, and its tests pass. Publishing it replaces the branch on the server.")))
	d.Runtime.StartWork("cmo", "dashboard:announcement", "Announce version 2.4", every/stepsPerWork, did("Announce version 2.4.", "",
		saying(d.asks("cmo", "I'll announce version 2.4 here: %s.", "I'll announce version 2.4 in the blog, because no one chose a channel.",
			part("channel", "Where shall I announce version 2.4?", true, option{"Blog", "a post of 400 words"}, option{"Newsletter", "to 3,200 readers"}, option{"Wait", ""}),
			part("day", "When?", false, option{"Today", ""}, option{"Tuesday", "most readers are online"})), "The text is ready.")))
	lost := readFile("/shared/interviews/index.md", "ENOENT: no such file or directory")
	lost.Failed = true
	d.Runtime.StartWork("cpo", "dashboard:interviews", "Interview notes", every, did("Are the interviews in the shared folder yet?", "I give up.", slices.Repeat([]demo.Step{lost}, 200)...))
	if !first {
		return nil
	}
	_, err := d.App.Limits.Create(actor.With(ctx, actor.System), d.limit(d.App.opts.Now()))
	if err != nil {
		return fmt.Errorf("add a limit: %w", err)
	}
	return nil
}

// limit returns a limit of which 90 percent are used. It is for the month or the week, whichever began
// earlier.
func (d *Demo) limit(now time.Time) limit.New {
	zone := d.App.cfg.Timezone
	y, m, day := now.In(zone).Date()
	n := limit.New{Scope: limit.All, Measure: limit.Dollars, Window: limit.PerMonth, Action: limit.Tell}
	from, week := usage.StartOfDay(y, m, 1, zone), usage.StartOfDay(y, m, day-int(now.In(zone).Weekday()+6)%7, zone)
	if week.Before(from) {
		n.Window, from = limit.PerWeek, week
	}
	amount := float64(d.Runtime.SpentSince(from)) / 1e9 / 0.9
	if amount = max(amount, 0.01); amount > 10 {
		amount = math.Round(amount)
	}
	n.Amount = strconv.FormatFloat(amount, 'f', 2, 64)
	return n
}

// asksToRun returns the call of a command for which a person is asked. If a person allows it, the agent runs it.
func (d *Demo) asksToRun(c demo.Command, result, done string) demo.Step {
	st := shell(c.Text, "")
	st.Asks = func(ctx context.Context, sessionKey, runID string) string {
		// While no client is there that may answer, the gateway would deny it.
		for !d.Runtime.HasRoute() {
			select {
			case <-ctx.Done():
				return ""
			case <-time.After(20 * time.Millisecond):
			}
		}
		c.SessionKey, c.RunID = sessionKey, runID
		return d.Runtime.AskApproval(c)
	}
	st.Then = func(e demo.Ending) (string, demo.Script) {
		switch e.Decision {
		case "":
			return "Approval timed out.", did("", fmt.Sprintf("I didn't run `%s`, because no one allowed it in time.", c.Text))
		case "deny":
			return "Denied.", did("", fmt.Sprintf("I didn't run `%s`, because you denied it. Everything is as it was.", c.Text))
		}
		return result, did("", done)
	}
	return st
}

// asks returns the call of a question. The agent says what it does after an answer, or without one.
func (d *Demo) asks(agent, answered, skipped string, parts ...map[string]any) demo.Step {
	st := toolCall("ask_user", map[string]any{"questions": parts}, "")
	st.Asks = func(_ context.Context, sessionKey, runID string) string {
		return d.Runtime.AskQuestion(agent, sessionKey, runID, 0, parts...)
	}
	st.Then = func(e demo.Ending) (string, demo.Script) {
		var all []string
		for _, p := range parts {
			id, _ := p["questionId"].(string)
			all = append(all, e.Answers[id]...)
		}
		if len(all) == 0 {
			return "No answer.", did("", skipped)
		}
		given := strings.Join(all, ", ")
		return given, did("", fmt.Sprintf(answered, given))
	}
	return st
}

// part returns a part of a question. People may also answer in their own words.
func part(id, text string, multiple bool, options ...option) map[string]any {
	var all []map[string]any
	for _, o := range options {
		all = append(all, map[string]any{"label": o.label, "description": o.description})
	}
	return map[string]any{"questionId": id, "header": "Question", "question": text, "isOther": true, "multiSelect": multiple, "options": all}
}
