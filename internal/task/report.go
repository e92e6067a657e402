package task

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Kind is the kind of a report, such as a blocker.
type Kind string

// The kinds of reports.
const (
	Ack      Kind = "ack"      // work has begun
	Progress Kind = "progress" // progress note
	Blocker  Kind = "blocker"  // work is blocked
	Finished Kind = "done"     // work is finished
)

// Kinds returns the kinds of reports.
func Kinds() []Kind { return []Kind{Ack, Progress, Blocker, Finished} }

// maxReport is the maximum length of a report's text in characters.
const maxReport = 10_000

// Report is a status report on a task. A report can also move the task; both
// are then recorded as a single event.
type Report struct {
	Kind       Kind    `json:"kind" doc:"ack: work has begun; moves the task from backlog or todo to in_progress. progress: a note. blocker: work is blocked for the reason in text. done: moves the task to review if sent by an agent, to done if sent by a human, and unblocks it."`
	Text       string  `json:"text,omitempty" maxLength:"10000" doc:"Markdown. Required for progress and blocker; at most 2000 characters for blocker."`
	SessionKey *string `json:"session_key,omitempty" maxLength:"512" doc:"Runtime session in which the work happens. If session_key, branch, or pr_url is omitted, its value is kept."`
	Branch     *string `json:"branch,omitempty" maxLength:"255"`
	PRURL      *string `json:"pr_url,omitempty" maxLength:"2000" doc:"An http or https URL."`
	ClaimToken *int64  `json:"claim_token,omitempty" minimum:"1" doc:"Token of your claim. The report is refused if the token is no longer current."`
}

// change returns the change that the report makes to a task, given the task's
// current column.
func (r Report) change(at Status) (Change, error) {
	var bad fault.Fields
	c := Change{
		ClaimToken: r.ClaimToken, SessionKey: patch.Given(r.SessionKey), Branch: patch.Given(r.Branch),
		PRURL: patch.Given(r.PRURL),
	}
	text := strings.TrimSpace(r.Text)
	if utf8.RuneCountInString(text) > maxReport {
		bad.Add("/text", "Must be at most %d characters.", maxReport)
	}
	enum.Check(&bad, "kind", r.Kind, Kinds())
	switch r.Kind {
	case Ack:
		if at == Backlog || at == Todo {
			c.Status = new(InProgress)
		}
	case Progress:
		if text == "" {
			bad.Add("/text", "A progress report must contain text.")
		}
	case Blocker:
		if n := utf8.RuneCountInString(text); n == 0 || n > maxReason {
			bad.Add("/text", "A blocker report must give the reason, in 1 to %d characters.", maxReason)
		}
		c.Blocked = patch.Set(BlockedReason{Reason: text})
	case Finished:
		c.Status, c.Blocked = new(Done), patch.Clear[BlockedReason]()
	}
	return c, bad.Err()
}

// digest returns a hash of a report and its author, which is used to detect
// repeated reports. It ignores the claim token, which may differ when a report
// is repeated.
func (r Report) digest(by actor.Actor) string {
	r.ClaimToken = nil
	text, err := json.Marshal(r) //nolint:gosec // G117: a session key is a name, not a secret
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(append([]byte(by.ID+"\n"), text...))
	return hex.EncodeToString(sum[:12])
}

// unchangedBy reports whether the change c from a repeated report would leave
// the task unchanged. It ignores claims, because the caller's claim may have
// ended with the original report.
func (t Task) unchangedBy(c Change, by actor.Actor) bool {
	updated := t
	return updated.apply(c, t.UpdatedAt.Time, by) == nil && len(diff(t, updated)) == 0
}

// Report applies a report to a task. If the task is claimed, only the holder
// can report. A client that got no response can send the same report again: if
// it is identical to the task's last report and would change nothing, Report
// returns the task and records nothing.
func (s *Service) Report(ctx context.Context, ref string, r Report) (Task, error) {
	by := actor.From(ctx)
	r.Text = s.redact(ctx, strings.TrimSpace(plaintext.Lines(r.Text)))
	return s.write(ctx, "report on task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		old, err := find(ctx, tx, ref)
		if err != nil {
			return Task{}, nil, err
		}
		c, err := r.change(old.Status)
		if err != nil {
			return Task{}, nil, err
		}
		digest := r.digest(by)
		if old.lastReport != nil && *old.lastReport == digest && old.unchangedBy(c, by) {
			return old, nil, nil
		}
		t, err := s.changed(ctx, tx, old, c)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := old.checkHolder(by, now); err != nil {
			return Task{}, nil, err
		}
		t.lastReport = &digest
		data := map[string]any{"report": r.Kind}
		if r.Text != "" {
			data["text"] = r.Text
		}
		return s.save(ctx, tx, old, t, "task.reported", data)
	})
}

// Reported is a report as read from the event log.
type Reported struct {
	Key  string // of the task
	Kind Kind
	Text string // may be empty
	At   time.Time
}

// maxListed is the maximum number of reports that ReportsBy returns, and of
// tasks that CreatedBy considers.
const maxListed = 50

// ReportsBy returns up to 50 reports that an agent has submitted since the
// given time, newest first. Standups use it.
func (s *Service) ReportsBy(ctx context.Context, agentID string, since time.Time) ([]Reported, error) {
	newer := func(a, b Reported) int { return b.At.Compare(a.At) }
	return newestOf(ctx, s.DB, agentID, maxListed, newer, scanReported, `
		SELECT at, subject_name, data FROM events WHERE kind = 'task.reported' AND actor_id = ? AND at >= ? ORDER BY at DESC, id DESC`, since)
}

func scanReported(row db.Row) (r Reported, err error) {
	var at clock.Time
	var data string
	if err := row.Scan(&at, &r.Key, &data); err != nil {
		return r, err
	}
	var said struct {
		Report Kind
		Text   string
	}
	err = json.Unmarshal([]byte(data), &said)
	r.At, r.Kind, r.Text = at.Time, said.Report, said.Text
	return r, err
}

// CreatedBy returns the tasks that an agent has created since the given time
// and that are not assigned to the agent itself. It considers only the agent's
// 50 newest tasks that are not archived. Standups use it.
func (s *Service) CreatedBy(ctx context.Context, agentID string, since time.Time) ([]Task, error) {
	newer := func(a, b Task) int { return cmp.Compare(b.number, a.number) }
	all, err := newestOf(ctx, s.DB, agentID, maxListed, newer, scan,
		`SELECT `+columns+` FROM tasks WHERE reporter_id = ? AND archived_at IS NULL ORDER BY number DESC`)
	return slices.DeleteFunc(all, func(t Task) bool {
		own := t.AssigneeID != nil && t.ReporterID != nil && *t.AssigneeID == *t.ReporterID
		return own || t.CreatedAt.Before(since)
	}), err
}
