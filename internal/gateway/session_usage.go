package gateway

import (
	"errors"
	"strconv"

	"wardroom/internal/platform/clock"
)

// Upper limits for plausible numbers: a trillion tokens, $100,000 for one model call (mostNanos)
// and $1,000,000 for a session (mostNanosAll). Larger numbers are treated as absent, so that sums
// of thousands of numbers do not overflow 64 bits.
const (
	mostTokens              = 1_000_000_000_000
	mostNanos, mostNanosAll = 100_000_000_000_000, 1_000_000_000_000_000
)

// tokens returns the number as a token count. It returns false if the number is absent or
// not plausible.
func (n number) tokens() (int64, bool) {
	v, ok := n.whole()
	return v, ok && v >= 0 && v <= mostTokens
}

// tooLarge reports whether the number exceeds mostTokens.
func (n number) tooLarge() bool {
	v, err := strconv.ParseFloat(string(n), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && v > mostTokens
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
	Other int64 // tokens in the gateway's total that belong to none of the four classes
}

// usageDetail is the part of a sessions.usage row that gives the usage for each model.
type usageDetail struct {
	LastActivity number `json:"lastActivity"`
	Models       []struct {
		Provider word      `json:"provider"`
		Model    word      `json:"model"`
		Totals   *usageRow `json:"totals"`
	} `json:"modelUsage"`
}

// transcript reads the usage for each model from a sessions.usage row. It returns false
// if any part of the row is unreadable, because an incomplete sum would be wrong.
func (c *Client) transcript(key, id, agentID word, d usageDetail) (TranscriptUsage, bool) {
	t := TranscriptUsage{SessionKey: c.short(string(key)), SessionID: c.short(string(id)), AgentID: c.short(string(agentID)), LastAt: d.LastActivity.time()}
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
		if !ok || m.Totals.Total.tooLarge() {
			return t, false
		}
		other := max(m.Totals.Total.count()-totals.Input-totals.Output-totals.CacheRead-totals.CacheWrite, 0)
		t.Models = append(t.Models, ModelTotals{
			Provider: c.secrets.line(string(m.Provider)), Model: c.secrets.line(string(m.Model)), Totals: totals, Other: other,
		})
	}
	return t, true
}
