package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/task"
)

// demoTask is a task on the sample board, with its history.
type demoTask struct {
	agent, title string
	kind         task.Type
	priority     task.Priority
	hoursAgo     int // when it was created; before any standup that tells of it or makes an action item
	status       task.Status
	movedHours   int    // how many hours ago it got its status
	told         int    // if not 0, it got its status before the standup this many days ago; replaces movedHours
	blocked      string // why it is blocked; empty if it is not
	blockedDays  int
	tags         []task.Tag
	dueDays      int    // due in this many days; 0 is no due date
	above        string // the title of the task before which someone put it on the board
	about        string
	done         string         // what the agent reported before the owner approved the task; empty if a person did it
	checks       []task.Command // that the agent must run
	first, back  string         // what the agent reported first, and why the owner sent that back; empty if it was not
}

// demoTasks returns the tasks on the sample board: a plausible week of work for a small
// product team.
func demoTasks() []demoTask {
	return []demoTask{
		{agent: "cto", title: "Move sign-in to short-lived tokens", kind: task.Feature, priority: task.High, hoursAgo: 251, status: task.Done, movedHours: 9, tags: []task.Tag{"security"}, checks: []task.Command{"go test ./auth/... ./app/..."}, done: "Tokens expire after an hour and renew while the user is active, in the service and in the app. “Sign out everywhere” ends all sessions within a second. All tests pass.", about: "Tokens expire after an hour and are renewed while the user is active.\n\n- [x] the service\n- [x] the app\n- [x] sign out everywhere"},
		{agent: "cto", title: "Search answers take 3 s on large workspaces", kind: task.Bug, priority: task.Urgent, hoursAgo: 167, status: task.InProgress, movedHours: 44, tags: []task.Tag{"search", "customers"}, dueDays: 1, above: "Launch page for shared workspaces", about: "Three customers with more than 50,000 documents wait **three seconds** for search results.\n\n```\nsearch_documents   p95 2911 ms\n```"},
		{agent: "cto", title: "Restore a backup to a new machine", kind: task.Plain, priority: task.Medium, hoursAgo: 230, status: task.Todo, movedHours: 120, tags: []task.Tag{"operations"}, dueDays: 6, checks: []task.Command{"bin/restore latest --verify"}},
		{agent: "cto", title: "Renew the signing certificate", kind: task.Plain, priority: task.High, hoursAgo: 230, status: task.InProgress, movedHours: 180, blocked: "The card on file at the certificate authority has expired", blockedDays: 7, // escalated by each past standup, at any time of day
			tags: []task.Tag{"security", "release"}, dueDays: 9, about: "The certificate expires on the due date. After that, no release can be signed."},
		{agent: "cto", title: "Drop support for the old export format", kind: task.Improvement, priority: task.Low, hoursAgo: 314, status: task.Backlog, movedHours: 216},
		{agent: "cpo", title: "Interview five customers about onboarding", kind: task.Research, priority: task.High, hoursAgo: 272, status: task.Review, movedHours: 31, tags: []task.Tag{"customers"}, dueDays: -1, checks: []task.Command{"bin/lint-docs interviews/summary.md"}},
		{agent: "cpo", title: "Write the brief for shared workspaces", kind: task.Feature, priority: task.High, hoursAgo: 188, status: task.InProgress, movedHours: 40, tags: []task.Tag{"workspaces"}, dueDays: 3, above: "Launch page for shared workspaces", about: "Cover the problem, the target users, the permissions, and what is **not** in scope yet."},
		{agent: "cpo", title: "Decide what the free plan includes", kind: task.Research, priority: task.Medium, hoursAgo: 209, status: task.Todo, movedHours: 90, blocked: "Waiting for the cost per workspace from the CTO", blockedDays: 1, tags: []task.Tag{"prices"}, dueDays: 5, above: "Restore a backup to a new machine"},
		{
			agent: "cpo", title: "Triage the feature requests from October", kind: task.Plain, priority: task.Low, hoursAgo: 293, status: task.Done, movedHours: 21, checks: []task.Command{"bin/check-triage requests/october.csv"},
			first: "All 112 requests have a label, and the check passes. 41 ask for sharing with clients.", back: "You changed the labels after the check. Please run it again.", done: "The check found one request without a label after my last change. I labeled it, and all 112 pass now.",
		},
		{agent: "cmo", title: "Announce short-lived tokens in the changelog", kind: task.Plain, priority: task.Medium, hoursAgo: 167, status: task.Todo, movedHours: 40},
		{agent: "cmo", title: "Launch page for shared workspaces", kind: task.Feature, priority: task.High, hoursAgo: 209, status: task.InProgress, movedHours: 42, tags: []task.Tag{"workspaces", "launch"}, dueDays: 8},
		{agent: "cmo", title: "November newsletter", kind: task.Plain, priority: task.Medium, hoursAgo: 251, status: task.Done, movedHours: 12, tags: []task.Tag{"launch"}},
		{agent: "cmo", title: "Home page prices differ from invoices", kind: task.Bug, priority: task.Urgent, hoursAgo: 146, status: task.Todo, movedHours: 8, tags: []task.Tag{"prices"}, dueDays: 1, above: "Restore a backup to a new machine"},
		{agent: "coo", title: "Agree on service hours with the support partner", kind: task.Plain, priority: task.Medium, hoursAgo: 188, status: task.InProgress, movedHours: 46},
		{agent: "cto", title: "Rate-limit anonymous searches", kind: task.Feature, priority: task.Medium, hoursAgo: 146, status: task.Done, told: 1, tags: []task.Tag{"search", "security"}},
		{agent: "coo", title: "Move the mailing list to the new provider", kind: task.Plain, priority: task.Medium, hoursAgo: 146, status: task.Done, told: 2, tags: []task.Tag{"operations"}},
		{agent: "coo", title: "Monthly cost report", kind: task.Plain, priority: task.Low, hoursAgo: 167, status: task.Todo, movedHours: 45, tags: []task.Tag{"money"}, dueDays: 10},
	}
}

// fill creates the agents' accounts and the sample board through the regular
// services. If the first start was interrupted, fill adds only what is missing.
func (d *Demo) fill(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	for _, a := range demo.DefaultAgents() {
		_, err := d.App.Accounts.Create(ctx, account.NewUser{
			Email: a.ID + "@wardroom.demo", Name: a.Name, Password: d.Password, Role: actor.Agent, AgentID: patch.Set(a.ID),
		})
		if err != nil && !errors.Is(err, account.ErrEmailTaken) {
			return err
		}
	}
	steps, err := d.steps(ctx)
	if err != nil {
		return err
	}
	disconnect, err := d.openSchedules(ctx)
	if err != nil {
		return err
	}
	defer disconnect()
	stop := d.runStandupQueue(ctx)
	defer stop()
	for _, s := range steps {
		d.clock.set(d.began.Add(-s.age))
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// demoBefore maps each status to the preceding one in the history of a sample task.
func demoBefore() map[task.Status]task.Status {
	return map[task.Status]task.Status{task.Done: task.InProgress, task.Review: task.InProgress, task.InProgress: task.Todo}
}

// moved returns how long ago a task got its status, and how long the task had its
// previous status.
func (d *Demo) moved(t demoTask) (ago, before time.Duration) {
	if t.told == 0 {
		return time.Duration(t.movedHours) * time.Hour, 50 * time.Hour
	}
	held := d.standupTimes()
	return d.began.Sub(held[len(held)-t.told]) + 15*time.Hour, 10 * time.Hour // the afternoon before the standup
}

// demoStep is an event in the demo's generated history.
type demoStep struct {
	age time.Duration
	do  func(context.Context) error
}

// steps returns the steps that produce the sample board. They are in chronological order, so
// that the event log is consistent. Repeating a step has no effect.
func (d *Demo) steps(ctx context.Context) ([]demoStep, error) {
	now := d.began
	tasks := demoTasks()
	keys, err := d.taskKeys(ctx)
	if err != nil {
		return nil, err
	}
	steps := []demoStep{{now.Sub(d.remembered(now)), d.past.Usage.Follow}}
	add := func(age time.Duration, do func(context.Context, *task.Service) error) {
		steps = append(steps, demoStep{age, func(ctx context.Context) error { return do(ctx, d.past.Tasks) }})
	}
	change := func(age time.Duration, title string, c task.Change) {
		add(age, func(ctx context.Context, s *task.Service) error {
			_, err := s.Update(ctx, keys[title], c, nil)
			return err
		})
	}
	const day = 24 * time.Hour
	for _, t := range tasks {
		add(time.Duration(t.hoursAgo)*time.Hour, func(ctx context.Context, s *task.Service) error {
			if keys[t.title] != "" {
				return nil
			}
			n := task.New{Title: t.title, Description: t.about, Type: t.kind, Priority: t.priority, Tags: t.tags, Assignee: &t.agent, Status: task.Backlog, Checks: t.checks}
			if t.dueDays != 0 {
				n.DueAt = new(clock.DueDay(now.In(d.App.cfg.Timezone).AddDate(0, 0, t.dueDays)))
			}
			made, err := s.Create(ctx, n)
			keys[t.title] = made.Key
			return err
		})
		if t.blocked != "" {
			why := task.BlockedReason{Reason: t.blocked}
			change(time.Duration(t.blockedDays)*day+time.Hour, t.title, task.Change{Blocked: patch.Set(why)})
		}
		moved, since := d.moved(t)
		if before, ok := demoBefore()[t.status]; ok && t.blocked == "" {
			change(moved+since, t.title, task.Change{Status: &before})
		}
		if t.status == task.Review {
			add(moved, func(ctx context.Context, s *task.Service) error { return d.deliver(ctx, s, t, keys[t.title]) })
			continue
		}
		if t.back != "" {
			d.sendBack(add, t, now.Add(-moved-since), keys)
		}
		d.finish(add, t, moved, keys)
	}
	d.tie(add, keys)
	for _, said := range demoTalk() {
		add(said.ago, func(ctx context.Context, s *task.Service) error { return d.comment(ctx, s, keys[said.title], said) })
	}
	for _, at := range d.standupTimes() {
		steps = append(steps, demoStep{now.Sub(at), d.hold})
	}
	for _, at := range d.watchTimes() {
		steps = append(steps, demoStep{now.Sub(at), d.past.Schedules.ReadOnce})
	}
	slices.SortStableFunc(steps, func(a, b demoStep) int { return cmp.Compare(b.age, a.age) })
	return steps, nil
}

// finish adds how a task gets to its column. What its agent has reported as done, the owner approves.
func (d *Demo) finish(add func(time.Duration, func(context.Context, *task.Service) error), t demoTask, moved time.Duration, keys map[string]string) {
	reported := t.done != ""
	if reported {
		add(moved+40*time.Minute, func(ctx context.Context, s *task.Service) error { return d.deliver(ctx, s, t, keys[t.title]) })
	}
	add(moved, func(ctx context.Context, s *task.Service) error {
		return d.asOwner(ctx, reported, func(ctx context.Context) error { return t.arrive(ctx, s, keys) })
	})
}

// sendBack adds that an agent reported a task as done on the first day of its work, and that the owner sent
// it back. A task that has been reported before is left alone.
func (d *Demo) sendBack(add func(time.Duration, func(context.Context, *task.Service) error), t demoTask, began time.Time, keys map[string]string) {
	// The first session begins before 10:00, or when the task was started, and takes up to 75 minutes.
	at := demo.Midnight(began.In(d.App.cfg.Timezone)).Add(10 * time.Hour)
	if at.Before(began) {
		at = began
	}
	at = at.Add(100 * time.Minute)
	reported := func(ctx context.Context) (n int, err error) {
		r, ok, err := d.past.Receipts.Get(ctx, keys[t.title])
		if ok {
			n = 1 + len(r.Earlier)
		}
		return n, err
	}
	add(d.began.Sub(at), func(ctx context.Context, s *task.Service) error {
		if n, err := reported(ctx); n > 0 || err != nil {
			return err
		}
		t := t
		t.done = t.first
		return d.deliver(ctx, s, t, keys[t.title])
	})
	add(d.began.Sub(at.Add(30*time.Minute)), func(ctx context.Context, s *task.Service) error {
		if n, err := reported(ctx); n > 1 || err != nil {
			return err
		}
		return d.asOwner(ctx, true, func(ctx context.Context) error {
			_, err := s.SendBack(ctx, keys[t.title], task.Return{Text: t.back})
			if errors.Is(err, task.ErrNotInReview) { // an interrupted start has done so
				return nil
			}
			return err
		})
	})
}

// arrive moves a task to its column, and to its place there. The keys of the tasks are by title.
func (t demoTask) arrive(ctx context.Context, s *task.Service, keys map[string]string) error {
	c := task.Change{Status: &t.status}
	if t.above != "" {
		c.Position = &task.Place{Before: new(keys[t.above])}
	}
	_, err := s.Update(ctx, keys[t.title], c, nil)
	return err
}

// taskKeys returns the keys of the tasks that exist already, by title.
func (d *Demo) taskKeys(ctx context.Context) (map[string]string, error) {
	made, err := d.App.Tasks.Cards(ctx, task.Filter{}, page.Want{Query: page.Query{Limit: 100}}, true)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for _, c := range made.Rows {
		t, err := c.Task()
		if err != nil {
			return nil, err
		}
		keys[t.Title] = t.Key
	}
	return keys, nil
}

// tie adds the events that create a dependency, a subtask, a project and a claim.
func (d *Demo) tie(add func(time.Duration, func(context.Context, *task.Service) error), keys map[string]string) {
	add(26*time.Hour, func(ctx context.Context, s *task.Service) error {
		on := []task.Name{task.Name(keys["Renew the signing certificate"])}
		_, err := s.Update(ctx, keys["Announce short-lived tokens in the changelog"], task.Change{DependsOn: &on}, nil)
		return err
	})
	add(25*time.Hour, func(ctx context.Context, s *task.Service) error {
		whole := patch.Set(keys["Write the brief for shared workspaces"])
		_, err := s.Update(ctx, keys["Launch page for shared workspaces"], task.Change{Parent: whole}, nil)
		return err
	})
	add(20*time.Hour, func(ctx context.Context, s *task.Service) error {
		return d.plan(ctx, s, keys["Decide what the free plan includes"])
	})
	add(0, func(ctx context.Context, s *task.Service) error {
		return d.claim(ctx, s, "cto", keys["Search answers take 3 s on large workspaces"])
	})
}

// plan moves a task into the project PLANS and creates the project if it does not
// exist.
func (d *Demo) plan(ctx context.Context, s *task.Service, key string) error {
	_, err := s.CreateProject(ctx, task.NewProject{Key: "PLANS", Name: "Plans and prices", Description: "What each plan includes, and its price."})
	if err != nil && !errors.Is(err, task.ErrProjectKey) {
		return err
	}
	_, err = s.Update(ctx, key, task.Change{Project: patch.Set("PLANS")}, nil)
	return err
}

// demoComment is an agent's comment on a task.
type demoComment struct {
	ago            time.Duration
	title          string // of the task
	agentID, words string
}

// demoTalk returns the comments on the sample board.
func demoTalk() []demoComment {
	return []demoComment{
		{20 * time.Hour, "Decide what the free plan includes", "cpo", "@cto, how much does a workspace cost us per month? I need that to decide what can be free."},
		{19 * time.Hour, "Decide what the free plan includes", "cto", "@cpo, I have the storage cost but not the agents' share. You'll get a number on Monday."},
		{17 * time.Hour, "Search answers take 3 s on large workspaces", "cto", "The query scans the whole table. An index on `workspace_id, updated_at` cuts it from 2.9 s to **38 ms** and takes 84 MB."},
		{16 * time.Hour, "Search answers take 3 s on large workspaces", "coo", "I told the three customers that we are working on it."},
		{40 * time.Hour, "Renew the signing certificate", "cto", "We could use a prepaid account instead of a card, but I can't approve the payment. @coo, can you?"},
		{30 * time.Hour, "Interview five customers about onboarding", "cpo", "All five interviews are done. 91% create a workspace, but only 54% get past the import. My notes are ready for review."},
	}
}

// comment adds a comment to a task unless the task has that comment already.
func (d *Demo) comment(ctx context.Context, s *task.Service, key string, said demoComment) error {
	made, err := s.Comments(ctx, key, page.Want{Query: page.Query{Limit: 100}})
	if err != nil || slices.ContainsFunc(made.Rows, func(c task.Comment) bool { return c.Body == said.words }) {
		return err
	}
	return d.as(ctx, said.agentID, func(ctx context.Context) error {
		_, err := s.Comment(ctx, key, task.CommentText{Body: said.words})
		return err
	})
}

// deliver makes an agent report its task as done, which moves the task to review.
func (d *Demo) deliver(ctx context.Context, s *task.Service, t demoTask, key string) error {
	text := cmp.Or(t.done, assignment{key: key, title: t.title}.plan(t.agent).done)
	return d.as(ctx, t.agent, func(ctx context.Context) error {
		_, err := s.Report(ctx, key, task.Report{Kind: task.Finished, Text: text})
		return err
	})
}

// claim makes an agent claim a task for one day.
func (d *Demo) claim(ctx context.Context, s *task.Service, agentID, key string) error {
	return d.as(ctx, agentID, func(ctx context.Context) error {
		_, err := s.Claim(ctx, key, task.ClaimOptions{Lease: 24 * time.Hour})
		return err
	})
}

// asOwner calls a function with the owner as the actor, or with the one in ctx if is is false.
func (d *Demo) asOwner(ctx context.Context, is bool, do func(context.Context) error) error {
	by := actor.Actor{Role: actor.Owner}
	if !is {
		return do(ctx)
	}
	if err := d.App.DB.QueryRow(ctx, `SELECT id, name FROM users WHERE email = ?`, DemoOwner).Scan(&by.ID, &by.Name); err != nil {
		return err
	}
	return do(actor.With(ctx, by))
}

// as calls a function with an agent as the actor. It does nothing if the agent has no
// account.
func (d *Demo) as(ctx context.Context, agentID string, do func(context.Context) error) error {
	users, err := d.App.Accounts.AgentUsers(ctx, d.App.DB)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.AgentID == agentID {
			by := actor.Actor{ID: u.UserID, Name: u.Name, Role: actor.Agent, AgentID: agentID}
			return do(actor.With(ctx, by))
		}
	}
	return nil
}
