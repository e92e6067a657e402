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
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Kind says what a report is for.
type Kind string

// The kinds of reports.
const (
	Ack      Kind = "ack"      // I have begun
	Progress Kind = "progress" // a note on the way
	Blocker  Kind = "blocker"  // I cannot go on
	Finished Kind = "done"     // I am done
)

// maxReport is how long the text of a report may be, in characters.
const maxReport = 10_000

// Report is what whoever works on a task says of it. It moves the task, and one
// event tells of both.
type Report struct {
	Kind       Kind    `json:"kind" enum:"ack,progress,blocker,done" doc:"ack: I have begun; it goes to in_progress from backlog and todo. progress: a note. blocker: I cannot go on, because of text. done: it goes to review when an agent says so, to done when a human does; it is not blocked any more."`
	Text       string  `json:"text,omitempty" maxLength:"10000" doc:"Markdown; required for progress and blocker, and at most 2000 characters for a blocker."`
	SessionKey *string `json:"session_key,omitempty" maxLength:"512" doc:"Where the work happens; these three stay as they are when left out."`
	Branch     *string `json:"branch,omitempty" maxLength:"255"`
	PRURL      *string `json:"pr_url,omitempty" maxLength:"2000" doc:"An http or https address."`
	ClaimToken *int64  `json:"claim_token,omitempty" minimum:"1" doc:"The token of your claim: the report is refused when you do not hold the task by it any more."`
}

// change is what the report changes of a task in that column.
func (r Report) change(at Status) (Change, error) {
	var bad fault.Fields
	c := Change{ClaimToken: r.ClaimToken}
	text := strings.TrimSpace(r.Text)
	if utf8.RuneCountInString(text) > maxReport {
		bad.Add("/text", "It may have %d characters at most.", maxReport)
	}
	switch r.Kind {
	case Ack:
		if at == Backlog || at == Todo {
			c.Status = new(InProgress)
		}
	case Progress:
		if text == "" {
			bad.Add("/text", "Say what there is to tell.")
		}
	case Blocker:
		if n := utf8.RuneCountInString(text); n == 0 || n > maxReason {
			bad.Add("/text", "Say why it cannot go on, in 1 to %d characters.", maxReason)
		}
		c.Blocked = patch.Set(BlockedReason{Reason: text})
	case Finished:
		c.Status, c.Blocked = new(Done), patch.Clear[BlockedReason]()
	default:
		bad.Add("/kind", "It is ack, progress, blocker or done.")
	}
	for _, f := range []struct {
		given *string
		to    *patch.Field[string]
	}{{r.SessionKey, &c.SessionKey}, {r.Branch, &c.Branch}, {r.PRURL, &c.PRURL}} {
		if f.given != nil {
			*f.to = patch.Set(*f.given)
		}
	}
	return c, bad.Err()
}

// digest tells a report that is sent again from another one. The token is not
// in it: it does not matter by which claim somebody said the same.
func (r Report) digest(by actor.Actor) string {
	r.ClaimToken = nil
	text, err := json.Marshal(r) //nolint:gosec // G117: the key of a session is its name
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(append([]byte(by.ID+"\n"), text...))
	return hex.EncodeToString(sum[:12])
}

// says reports whether the change of a report would change nothing. Who does not
// know whether their report has arrived may have lost, or ended, their claim by it.
func (t Task) says(c Change, by actor.Actor) bool {
	is := t
	return is.apply(c, t.UpdatedAt.Time, by) == nil && len(diff(t, is)) == 0
}

// Report takes a report on a task. Who does not hold a task that somebody holds
// cannot report on it. A report that repeats the last one on the task word for
// word, by the same caller, and would change nothing, is answered as that was
// and leaves no trace: so a caller who got no answer may send it again.
func (s *Service) Report(ctx context.Context, ref string, r Report) (Task, error) {
	by := actor.From(ctx)
	r.Text = strings.TrimSpace(plaintext.Lines(r.Text))
	return s.write(ctx, "report on task", func(tx *db.Tx) (Task, []note, error) {
		was, err := find(ctx, tx, ref)
		if err != nil {
			return Task{}, nil, err
		}
		c, err := r.change(was.Status)
		if err != nil {
			return Task{}, nil, err
		}
		if c.reaches(was) {
			if err := tx.Lock(ctx, board); err != nil {
				return Task{}, nil, err
			}
			if was, err = findOpen(ctx, tx, was.ID); err != nil {
				return Task{}, nil, err
			}
		}
		digest := r.digest(by)
		if was.lastReport != nil && *was.lastReport == digest && was.says(c, by) {
			return was, nil, nil
		}
		t, err := s.changed(ctx, tx, was, c)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := was.free(by, now); err != nil {
			return Task{}, nil, err
		}
		t.lastReport = &digest
		data := map[string]any{"report": r.Kind}
		if r.Text != "" {
			data["text"] = r.Text
		}
		return s.save(ctx, tx, was, t, "task.reported", data)
	})
}

// Reported is a report as the log has it.
type Reported struct {
	Key  string // of the task, as it was called then
	Kind Kind
	Text string // empty when there is none
	At   time.Time
}

// maxTold is how many reports, and how many tasks made, are told of an agent.
const maxTold = 50

// ReportsBy returns what an agent has reported on tasks since then, the newest
// first and 50 at most. A standup asks for it.
func (s *Service) ReportsBy(ctx context.Context, agentID string, since time.Time) ([]Reported, error) {
	newer := func(a, b Reported) int { return b.At.Compare(a.At) }
	return newestOf(ctx, s.DB, agentID, maxTold, newer, scanReported, `
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

// MadeBy returns the tasks that an agent has made for others since then, of its
// newest 50. A standup asks for it.
func (s *Service) MadeBy(ctx context.Context, agentID string, since time.Time) ([]Task, error) {
	newer := func(a, b Task) int { return cmp.Compare(b.number, a.number) }
	all, err := newestOf(ctx, s.DB, agentID, maxTold, newer, scan,
		`SELECT `+columns+` FROM tasks WHERE reporter_id = ? AND archived_at IS NULL ORDER BY number DESC`)
	return slices.DeleteFunc(all, func(t Task) bool {
		own := t.AssigneeID != nil && t.ReporterID != nil && *t.AssigneeID == *t.ReporterID
		return own || t.CreatedAt.Before(since)
	}), err
}
