package usage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
)

// conversation is a session of the fake runtime.
type conversation struct {
	gateway.Session
	turns   []gateway.Turn
	hidden  map[int64]bool // rows that the history omits
	deleted bool
	forgot  int            // turns that are missing in its totals
	lost    []gateway.Turn // turns that are only in its totals
}

// runtime is a fake gateway with the transcripts of the test.
type runtime struct {
	now      time.Time
	sessions []*conversation
	read     int  // pages of transcripts read
	kept     int  // requests for hidden rows
	unkept   bool // the gateway cannot return hidden rows
	fail     error
	refuse   map[string]error // by session
}

func (r *runtime) tick(d time.Duration) time.Time {
	r.now = r.now.Add(d)
	return r.now
}

// open creates a session, and replaces one with the same key.
func (r *runtime) open(key string) *conversation {
	for _, c := range r.sessions {
		if c.Key == key {
			c.deleted = true
		}
	}
	agent := strings.Split(key, ":")[1]
	c := &conversation{Session: gateway.Session{Key: key, ID: fmt.Sprint("t", len(r.sessions)), AgentID: agent, UpdatedAt: clock.At(r.tick(time.Second))}}
	r.sessions = append(r.sessions, c)
	return c
}

// ask adds a message and the model calls of its run.
func (r *runtime) ask(c *conversation, runID string, calls ...*gateway.Usage) {
	c.turns = append(c.turns, gateway.Turn{Seq: int64(len(c.turns) + 1), Role: "user", At: clock.At(r.tick(time.Second))})
	for _, u := range calls {
		c.turns = append(c.turns, gateway.Turn{ID: fmt.Sprint("m", len(c.turns)), Seq: int64(len(c.turns) + 1), Role: "assistant", RunID: runID, At: clock.At(r.tick(time.Second)), Usage: u})
	}
	c.UpdatedAt = clock.At(r.tick(time.Second))
}

func (r *runtime) Turns(_ context.Context, key string, limit int, offset int64) (gateway.TurnPage, error) {
	r.read++
	if r.fail != nil {
		return gateway.TurnPage{}, r.fail
	}
	if err := r.refuse[key]; err != nil {
		return gateway.TurnPage{}, err
	}
	for _, c := range slices.Backward(r.sessions) {
		if c.Key != key || c.deleted {
			continue
		}
		end := max(len(c.turns)-int(offset), 0)
		begin := max(end-limit, 0)
		page := gateway.TurnPage{SessionID: c.ID, Total: int64(len(c.turns))}
		for _, turn := range c.turns[begin:end] {
			if !c.hidden[turn.Seq] {
				page.Turns, page.Seqs = append(page.Turns, turn), append(page.Seqs, turn.Seq)
			}
		}
		if begin > 0 {
			page.Older = int64(len(c.turns) - begin)
		}
		return page, nil
	}
	return gateway.TurnPage{}, nil
}

func (r *runtime) TurnsBefore(ctx context.Context, key string, limit int, offset, _, _ int64) (gateway.TurnPage, error) {
	return r.Turns(ctx, key, limit, offset)
}

func (r *runtime) RawTurns(_ context.Context, key string, limit int) ([]gateway.Turn, error) {
	r.kept++
	if r.unkept {
		return nil, link.ErrRefused.With("It does not have the method.")
	}
	for _, c := range slices.Backward(r.sessions) {
		if c.Key == key && !c.deleted {
			return slices.Clone(c.turns[max(len(c.turns)-limit, 0):]), nil
		}
	}
	return nil, nil
}

func (r *runtime) Usage(context.Context) (gateway.SessionUsage, error) {
	return gateway.SessionUsage{Fresh: true}, nil
}

func (r *runtime) Models(context.Context) ([]gateway.Model, error) { return nil, nil }

// list returns the gateway's list.
func (r *runtime) list() (rows []gateway.Session) {
	for _, c := range r.sessions {
		if !c.deleted {
			rows = append(rows, c.Session)
		}
	}
	return rows
}

// counted returns the gateway's totals, including those of deleted sessions.
func (r *runtime) counted() *gateway.SessionUsage {
	u := &gateway.SessionUsage{Fresh: true, At: clock.At(r.tick(time.Second))}
	for _, c := range r.sessions {
		t := gateway.TranscriptUsage{SessionKey: c.Key, SessionID: c.ID, AgentID: c.AgentID, LastAt: c.UpdatedAt}
		if c.deleted {
			t.SessionKey = "agent:" + c.AgentID + ":" + c.ID
		}
		for _, turn := range slices.Concat(c.lost, c.turns[c.forgot:]) {
			if turn.Usage != nil {
				count(&t, turn.Usage)
			}
		}
		u.Transcripts = append(u.Transcripts, t)
	}
	return u
}

// count adds a model call to the totals of a transcript.
func count(t *gateway.TranscriptUsage, u *gateway.Usage) {
	i := slices.IndexFunc(t.Models, func(m gateway.ModelTotals) bool { return m.Model == u.Model })
	if i < 0 {
		i, t.Models = len(t.Models), append(t.Models, gateway.ModelTotals{Provider: u.Provider, Model: u.Model})
		t.Models[i].Pricing = gateway.Priced
	}
	m := &t.Models[i]
	m.Input, m.Output, m.CacheRead, m.CacheWrite = m.Input+u.Input, m.Output+u.Output, m.CacheRead+u.CacheRead, m.CacheWrite+u.CacheWrite
	m.Other += u.Other
	if u.Estimated {
		m.Estimated, m.Pricing = true, gateway.PartlyPriced
	}
	if u.CostNanoUSD != nil {
		m.CostNanoUSD += *u.CostNanoUSD
		return
	}
	if m.Pricing = gateway.PartlyPriced; m.CostNanoUSD == 0 {
		m.Pricing = gateway.Unpriced
	}
}

// used returns a model call with a cost.
func used(model string, in, out, nanos int64) *gateway.Usage {
	return &gateway.Usage{Provider: "p", Model: model, Input: in, Output: out, CacheRead: 3, CacheWrite: 2, Other: 1, CostNanoUSD: &nanos}
}

// free returns a model call with an unknown cost.
func free(model string, in, out int64) *gateway.Usage {
	return &gateway.Usage{Provider: "p", Model: model, Input: in, Output: out}
}
