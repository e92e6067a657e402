package main

import (
	"encoding/json"
	"fmt"

	"wardroom/internal/platform/db"
)

// story is the state of a task according to the event log.
type story struct {
	steps  []step // one for each version
	title  string
	status string
	holder string // who holds the claim
	claims int64
}

type step struct{ kind, actor, mark string }

// check reads the new events, compares the rows with the whole log, and looks for every
// acknowledged write.
func (v *victim) check() {
	v.t.Helper()
	rows := 0
	err := v.db.View(v.t.Context(), func(q db.Queryer) error {
		if err := v.read(q); err != nil {
			return err
		}
		found, err := q.Query(v.t.Context(), `SELECT id, title, status, version, claim_by, claim_until IS NOT NULL, claim_seq FROM tasks`)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var id string
			var is story
			var version int64
			var holder *string
			var until bool
			if err := found.Scan(&id, &is.title, &is.status, &version, &holder, &until, &is.claims); err != nil {
				return err
			}
			rows++
			if holder != nil {
				is.holder = *holder
			}
			s := v.stories[id]
			if s == nil {
				v.t.Errorf("the log has no creation of %s", id)
				continue
			}
			if version != int64(len(s.steps)) || is.title != s.title || is.status != s.status || is.holder != s.holder || is.claims != s.claims {
				v.t.Errorf("the row of %s has version %d and %+v,\nits history %+v", id, version, is, *s)
			}
			if held := is.holder != ""; held != until || held && is.status != "in_progress" {
				v.t.Errorf("%s is %s, claimed by %q, has an expiry: %t", id, is.status, is.holder, until)
			}
		}
		return found.Err()
	})
	if err != nil {
		v.t.Fatal(err)
	}
	if rows != len(v.stories) {
		v.t.Errorf("there are %d tasks, and the log has %d", rows, len(v.stories))
	}
	for mark, n := range v.told {
		if n != 1 {
			v.t.Errorf("%s is in the log %d times", mark, n)
		}
	}
	for _, w := range v.sent {
		v.wantKept(w)
	}
}

// wantKept looks for an acknowledged write in the history of its task.
func (v *victim) wantKept(w *sent) {
	v.t.Helper()
	if !w.acked {
		return
	}
	s := v.stories[w.task]
	if s == nil || int64(len(s.steps)) < w.version {
		v.t.Errorf("lost: %+v; the log has %+v", *w, s)
		w.acked = false // reported once
		return
	}
	if got, want := s.steps[w.version-1], (step{w.kind, v.ids[w.by], w.mark}); got != want {
		v.t.Errorf("%+v left %+v, want %+v", *w, got, want)
	}
	if w.kind != "task.claimed" {
		return
	}
	n := int64(0)
	for _, at := range s.steps[:w.version] {
		if at.kind == w.kind {
			n++
		}
	}
	if n != w.token {
		v.t.Errorf("claim token %d of %s is claim number %d in the history", w.token, w.task, n)
	}
}

// read applies the new events to the stories.
func (v *victim) read(q db.Queryer) error {
	rows, err := q.Query(v.t.Context(), `SELECT id, kind, actor_id, subject_kind, subject_id, data FROM events WHERE id > ? ORDER BY id`, v.last)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var is step
		var about, task, text string
		if err := rows.Scan(&id, &is.kind, &is.actor, &about, &task, &text); err != nil {
			return err
		}
		if id != v.last+1 {
			v.t.Errorf("event %d is followed by %d", v.last, id)
		}
		if v.last = id; about != "task" {
			continue
		}
		if err := v.tell(task, is, text); err != nil {
			return err
		}
	}
	var last int64
	if err := q.QueryRow(v.t.Context(), `SELECT last FROM event_counter`).Scan(&last); err == nil && last != v.last {
		v.t.Errorf("the counter is at %d, the log at %d", last, v.last)
	}
	return rows.Err()
}

// tell adds one event to the story of its task.
func (v *victim) tell(task string, is step, text string) error {
	var data struct {
		Title, Status, Text string
		Changes             struct {
			Title, Status []string
			Claim         []*struct{ By string }
		}
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	s := v.stories[task]
	switch {
	case is.kind == "task.created" && s == nil:
		s = &story{title: data.Title, status: data.Status}
		v.stories[task], is.mark = s, data.Title
	case is.kind == "task.created" || s == nil:
		v.t.Errorf("%s of %s, whose history is %+v", is.kind, task, s)
		return nil
	case is.kind == "task.claimed":
		s.claims++
	case is.kind == "task.reported":
		is.mark = data.Text
	}
	if c := data.Changes.Title; c != nil {
		s.title, is.mark = c[1], c[1]
	}
	if c := data.Changes.Status; c != nil {
		s.status = c[1]
	}
	if c := data.Changes.Claim; c != nil {
		if s.holder = ""; c[1] != nil {
			s.holder = c[1].By
		}
	}
	if is.mark != "" {
		v.told[is.mark]++
	}
	s.steps = append(s.steps, is)
	return nil
}
