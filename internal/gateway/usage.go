package gateway

import (
	"errors"
	"strconv"

	"wardroom/internal/platform/clock"
)

// mostTokens and mostNanos bound what one number of the gateway may say: a
// trillion tokens, and a hundred thousand dollars for one model call or a million
// for all that a session used. Thousands of them add up without leaving 64 bits;
// what is more counts as not told.
const (
	mostTokens              = 1_000_000_000_000
	mostNanos, mostNanosAll = 100_000_000_000_000, 1_000_000_000_000_000
)

// tokens reads a number of tokens; false where there is none, or none that can be.
func (n number) tokens() (int64, bool) {
	v, ok := n.whole()
	return v, ok && v >= 0 && v <= mostTokens
}

// absurd says whether it is a number of more tokens than there can be.
func (n number) absurd() bool {
	v, err := strconv.ParseFloat(string(n), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && v > mostTokens
}

// TranscriptUsage is what one transcript has used since it began, by model.
type TranscriptUsage struct {
	SessionKey string // of one that was deleted, made of the agent and the transcript
	SessionID  string // of the transcript
	AgentID    string
	LastAt     clock.Time // when anything was last said in it; zero when the gateway does not say
	Models     []ModelTotals
}

// ModelTotals are the totals of one model in one transcript.
type ModelTotals struct {
	Provider, Model string
	Totals
	Other int64 // tokens in the gateway's total and in none of the four classes
}

// usageDetail is the part of a row of sessions.usage that tells of the models.
type usageDetail struct {
	LastActivity number `json:"lastActivity"`
	Models       []struct {
		Provider word      `json:"provider"`
		Model    word      `json:"model"`
		Totals   *usageRow `json:"totals"`
	} `json:"modelUsage"`
}

// transcript reads the models of a row; false where a part of it cannot be read,
// because a sum that leaves a model out would be wrong.
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
		if !ok || m.Totals.Total.absurd() {
			return t, false
		}
		other := max(m.Totals.Total.count()-totals.Input-totals.Output-totals.CacheRead-totals.CacheWrite, 0)
		t.Models = append(t.Models, ModelTotals{
			Provider: c.secrets.words(string(m.Provider)), Model: c.secrets.words(string(m.Model)), Totals: totals, Other: other,
		})
	}
	return t, true
}
