package gateway

import (
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// tokenCounts are numbers of tokens by class.
type tokenCounts struct{ input, output, cacheRead, cacheWrite int64 }

func (t tokenCounts) sum() int64 { return t.input + t.output + t.cacheRead + t.cacheWrite }

// wireTokens are the token counts in the gateway's objects. There are two fields for the total, because
// the gateway uses two names for it.
type wireTokens struct {
	Input       wire.Number `json:"input"`
	Output      wire.Number `json:"output"`
	CacheRead   wire.Number `json:"cacheRead"`
	CacheWrite  wire.Number `json:"cacheWrite"`
	Total       wire.Number `json:"total"`
	TotalTokens wire.Number `json:"totalTokens"`
}

// counted are the token counts of a wireTokens.
type counted struct {
	tokenCounts
	other int64       // tokens in the total that belong to none of the classes
	sent  tokenCounts // the counts before they were made to fit the total
	known bool        // there is a count
	agree bool        // all numbers are plausible and fit together
}

// read reads the counts. If their sum exceeds the total, and the input can include as many cached tokens, the
// provider has counted these twice, and they are subtracted from the input. Cached tokens that still exceed the
// total are dropped.
func (w wireTokens) read() counted {
	c, total := counted{agree: true}, int64(0)
	read := func(n wire.Number, to func(int64)) {
		v, ok := n.Tokens()
		signed, _ := n.Whole()
		c.known, c.agree = c.known || n != "", c.agree && (ok || n == "") && signed >= 0
		to(v)
	}
	read(w.Input, func(v int64) { c.input = v })
	read(w.Output, func(v int64) { c.output = v })
	read(w.CacheRead, func(v int64) { c.cacheRead = v })
	read(w.CacheWrite, func(v int64) { c.cacheWrite = v })
	read(w.Total, func(v int64) { total = v })
	read(w.TotalTokens, func(v int64) { total = max(total, v) })
	c.sent = c.tokenCounts
	over := c.sum() - total
	c.other = max(-over, 0)
	if total == 0 || over <= 0 {
		return c
	}
	c.agree = false
	cut := func(n *int64, most int64) {
		by := min(over, *n, most)
		*n, over = *n-by, over-by
	}
	if twice := min(over, c.cacheRead+c.cacheWrite); c.input >= twice {
		cut(&c.input, twice)
	}
	cut(&c.cacheRead, over)
	cut(&c.cacheWrite, over)
	return c
}

// wireCosts are the gateway's costs of tokens, in dollars.
type wireCosts struct {
	Input      wire.Number `json:"input"`
	Output     wire.Number `json:"output"`
	CacheRead  wire.Number `json:"cacheRead"`
	CacheWrite wire.Number `json:"cacheWrite"`
	Total      wire.Number `json:"total"`
}

// of returns the cost of tokens in nano-dollars, or false if the gateway sent none. If counts were
// reduced, or if there is no total, it is the sum of the costs by class, each reduced like its count.
func (w wireCosts) of(t counted) (nanos int64, ok bool) {
	total, err := w.Total.Nanos()
	if t.sent == t.tokenCounts && err == nil {
		return total, true
	}
	for _, class := range []struct {
		cost     wire.Number
		is, sent int64
	}{
		{w.Input, t.input, t.sent.input},
		{w.Output, t.output, t.sent.output},
		{w.CacheRead, t.cacheRead, t.sent.cacheRead},
		{w.CacheWrite, t.cacheWrite, t.sent.cacheWrite},
	} {
		cost, err := class.cost.Nanos()
		if err != nil || cost > wire.MostNanosAll {
			continue
		}
		if class.sent > class.is {
			cost = int64(float64(cost) / float64(class.sent) * float64(class.is))
		}
		nanos, ok = nanos+cost, true
	}
	if !ok || nanos == 0 {
		return total, err == nil
	}
	return nanos, true
}

// TranscriptUsage is the total usage of one transcript, by model.
type TranscriptUsage struct {
	SessionKey string // for a deleted session, derived from the agent and the transcript
	SessionID  string // id of the transcript
	AgentID    string
	LastAt     clock.Time // time of the last message; zero when unknown
	Models     []ModelTotals
}

// ModelTotals is the usage for one model in one transcript.
type ModelTotals struct {
	Provider, Model string
	Totals
	Other     int64 // tokens in the gateway's total that belong to none of the four classes
	Estimated bool  // as in Usage
}

// usageDetail is the part of a sessions.usage row that gives the usage for each model.
type usageDetail struct {
	LastActivity wire.Number `json:"lastActivity"`
	Models       []struct {
		Provider wire.Word `json:"provider"`
		Model    wire.Word `json:"model"`
		Totals   *usageRow `json:"totals"`
	} `json:"modelUsage"`
}

// transcript reads the usage for each model from a sessions.usage row. It returns false
// if any part of the row is unreadable, because an incomplete sum would be wrong.
func (c *Client) transcript(key, id, agentID wire.Word, d usageDetail) (TranscriptUsage, bool) {
	t := TranscriptUsage{
		SessionKey: listedKey(c.short(string(key))), SessionID: c.short(string(id)), AgentID: c.short(string(agentID)),
		LastAt: d.LastActivity.Time(),
	}
	if t.SessionID == "" || !validKey(string(key)) {
		return t, false
	}
	if t.AgentID == "" {
		t.AgentID = agentOf(string(key))
	}
	for _, m := range d.Models {
		if m.Totals == nil {
			return t, false
		}
		totals, ok := m.Totals.totals()
		if !ok || m.Totals.TotalTokens.TooLarge() {
			return t, false
		}
		totals.Provider, totals.Model = c.secrets.Line(string(m.Provider)), c.secrets.Line(string(m.Model))
		t.Models = append(t.Models, totals)
	}
	return t, true
}
