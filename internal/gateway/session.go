package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// Session is a conversation of one agent, as the gateway's list shows it. Texts
// are cleaned and short; a text that is empty, a number that is zero and a time
// that is zero are what the gateway does not say. Two Sessions can be compared.
type Session struct {
	Key          string // such as "agent:cto:main"; exactly as the gateway has it
	ID           string // of the transcript; another one after a reset
	AgentID      string
	Kind         string // main, custom, subagent, cron, dashboard, …
	Label        string
	Status       string // of the last run: running, done, failed, killed, timeout, …
	Active       bool   // a run is going or waits for its turn
	RunID        string // of the run that is going; the gateway often leaves it out
	Model        string // "provider/model"
	LastMessage  string // its beginning, on one line
	ParentKey    string // of the session that made this one
	Context      int64  // tokens of the last prompt
	ContextLimit int64  // tokens that the model can take
	StartedAt    clock.Time
	EndedAt      clock.Time // of the last run that has ended
	ActiveAt     clock.Time // when anything was last said
	UpdatedAt    clock.Time
}

// Sessions are the sessions of a gateway.
type Sessions struct {
	Rows   []Session // the last changed first
	Left   int       // how many more there are than were asked for
	Stamps []int64   // by row: when the gateway made it, in milliseconds of its clock; 0 when it does not say. Nil is all 0
}

// Pricing says how much of what was used has a price.
type Pricing uint8

// The degrees of pricing.
const (
	Unpriced     Pricing = iota // the gateway names no amount, or none for anything that was used
	PartlyPriced                // some of the model calls have no price: the amount is too small
	Priced                      // all of it
)

// Totals are what a session has used since it began.
type Totals struct {
	Input, Output, CacheRead, CacheWrite int64 // tokens

	CostNanoUSD int64 // billionths of a dollar; means nothing while Unpriced
	Pricing     Pricing
}

// SessionUsage is what the sessions have used, by their keys.
type SessionUsage struct {
	// Fresh says that everything of At is counted. The gateway computes the numbers
	// beside its work and otherwise answers what it last had, at first nothing but
	// zeros.
	Fresh bool
	// At is when the gateway counted, by its clock: what has changed since is not in
	// the numbers. It repeats an answer for half a minute, and once more after that
	// however old it is by then. Zero when it does not say.
	At     clock.Time
	Totals map[string]Totals
	// Transcripts are the same by transcript and model, those of deleted sessions
	// among them as far as the gateway still lists them.
	Transcripts []TranscriptUsage
}

const (
	sessionPage  = 200             // rows that we ask for at once; one has about 4 KiB
	sessionPages = 100             // at most, whatever the gateway says of further ones
	usageMost    = 1000            // sessions whose totals we ask for; one has about 5 KiB
	keyMost      = 512             // characters of a session's key
	endOfTime    = 253402300800000 // milliseconds from 1970 to the year 10000, which no time in JSON can tell
)

// Connection identifies the connection that sessions are read over: the value
// equals another one exactly when it is the same connection. Without one the
// error is the fault of the present state.
func (c *Client) Connection() (id any, err error) {
	k, err := c.connection("sessions.subscribe")
	if err != nil {
		return nil, err
	}
	return k, nil
}

// SubscribeSessions asks for the events sessions.changed on the present
// connection. A new connection has to ask again.
func (c *Client) SubscribeSessions(ctx context.Context) error {
	var out struct{}
	if err := c.call(ctx, "sessions.subscribe", struct{}{}, &out); err != nil {
		return fmt.Errorf("subscribe to sessions: %w", err)
	}
	return nil
}

// ListSessions reads the sessions of all agents, the last changed first, and at
// most that many of them. It needs operator.read, like the other readings here.
func (c *Client) ListSessions(ctx context.Context, most int) (Sessions, error) {
	var all Sessions
	place := map[string]int{}
	offset, total := int64(0), int64(0)
	for range sessionPages {
		p := listParams{Limit: min(sessionPage, most-len(all.Rows)), Offset: offset, LastMessage: true}
		var page sessionList
		if err := c.call(ctx, "sessions.list", p, &page); err != nil {
			return Sessions{}, fmt.Errorf("list sessions: %w", err)
		}
		for _, raw := range page.Sessions {
			s, more, ok := c.readRow(raw)
			if !ok {
				continue
			}
			// A session that moves up meanwhile pushes another one onto the next
			// page, where it comes again, as it is by then.
			if i, seen := place[s.Key]; seen {
				all.Rows[i], all.Stamps[i] = s, more.stamp
				continue
			}
			place[s.Key] = len(all.Rows)
			all.Rows, all.Stamps = append(all.Rows, s), append(all.Stamps, more.stamp)
		}
		total, _ = page.TotalCount.whole()
		next, ok := page.NextOffset.whole()
		if !ok {
			next = offset + int64(len(page.Sessions))
		}
		more := page.HasMore.is() && next > offset
		if offset = next; !more {
			return all, nil
		}
		if len(all.Rows) >= most {
			break
		}
	}
	all.Left = int(max(total-int64(len(all.Rows)), 1))
	return all, nil
}

type listParams struct {
	Limit       int   `json:"limit"`
	Offset      int64 `json:"offset,omitempty"`
	LastMessage bool  `json:"includeLastMessage"`
}

type sessionList struct {
	Sessions   []json.RawMessage `json:"sessions"`
	TotalCount number            `json:"totalCount"`
	NextOffset number            `json:"nextOffset"`
	HasMore    flag              `json:"hasMore"`
}

// Session reads one session; false when there is none of that key. The gateway
// does not say here whether a run is going, so that Active is what the status
// says: ask ListSessions where that matters.
func (c *Client) Session(ctx context.Context, key string) (Session, bool, error) {
	params := struct {
		Key         string `json:"key"`
		LastMessage bool   `json:"includeLastMessage"`
	}{key, true}
	var out struct {
		Session json.RawMessage `json:"session"`
	}
	if err := c.call(ctx, "sessions.describe", params, &out); err != nil {
		if noSession(err) {
			return Session{}, false, nil
		}
		return Session{}, false, fmt.Errorf("read session: %w", err)
	}
	s, ok := c.readSession(out.Session)
	return s, ok && s.Key == key, nil
}

// sessionRow is a session on the wire. Whatever has an unexpected type counts
// as absent: a row must not be lost for one member.
type sessionRow struct {
	Key            word   `json:"key"`
	SessionID      word   `json:"sessionId"`
	AgentID        word   `json:"agentId"`
	Kind           word   `json:"kind"`
	Classification word   `json:"classification"`
	Label          word   `json:"label"`
	DisplayName    word   `json:"displayName"`
	Status         word   `json:"status"`
	HasActiveRun   flag   `json:"hasActiveRun"`
	ActiveRunIDs   words  `json:"activeRunIds"`
	Provider       word   `json:"modelProvider"`
	Model          word   `json:"model"`
	LastMessage    word   `json:"lastMessagePreview"`
	Parent         word   `json:"parentSessionKey"`
	SpawnedBy      word   `json:"spawnedBy"`
	TotalTokens    number `json:"totalTokens"` // of the last prompt
	TotalFresh     flag   `json:"totalTokensFresh"`
	ContextTokens  number `json:"contextTokens"` // that the model can take
	StartedAt      number `json:"startedAt"`
	EndedAt        number `json:"endedAt"`
	LastActivityAt number `json:"lastActivityAt"`
	UpdatedAt      number `json:"updatedAt"`
	SnapshotAt     number `json:"snapshotAt"`
	Archived       flag   `json:"archived"`
}

// readSession reads a row; false for one without a key that can be asked for.
func (c *Client) readSession(raw json.RawMessage) (Session, bool) {
	s, _, ok := c.readRow(raw)
	return s, ok
}

// rowFacts is what a row says beside the session.
type rowFacts struct {
	stamp    int64 // when it was made; 0 when it does not say
	whole    bool  // it says whether a run is going, as those do that have everything
	archived bool
}

// readRow is readSession with what else the row says.
func (c *Client) readRow(raw json.RawMessage) (Session, rowFacts, bool) {
	var r sessionRow
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.Key)) {
		return Session{}, rowFacts{}, false
	}
	clean := func(w word) string { return c.short(string(w)) }
	s := Session{
		Key: string(r.Key), ID: clean(r.SessionID), AgentID: clean(r.AgentID), Kind: clean(first(r.Classification, r.Kind)),
		Label: clean(first(r.Label, r.DisplayName)), Status: clean(r.Status), Model: clean(r.Model),
		LastMessage: clean(r.LastMessage),
		Active:      r.HasActiveRun.is() || r.HasActiveRun == absent && r.Status == "running",
		StartedAt:   r.StartedAt.time(), EndedAt: r.EndedAt.time(), ActiveAt: r.LastActivityAt.time(), UpdatedAt: r.UpdatedAt.time(),
		ContextLimit: r.ContextTokens.count(),
	}
	if parent := string(first(r.Parent, r.SpawnedBy)); validKey(parent) {
		s.ParentKey = parent
	}
	if s.AgentID == "" {
		s.AgentID = agentOf(s.Key)
	}
	if r.Provider != "" && s.Model != "" {
		s.Model = clean(r.Provider) + "/" + s.Model
	}
	if r.TotalFresh != no {
		s.Context = r.TotalTokens.count()
	}
	if s.Active && len(r.ActiveRunIDs) > 0 {
		s.RunID = clean(r.ActiveRunIDs[0])
	}
	return s, rowFacts{stamp: r.SnapshotAt.count(), whole: r.HasActiveRun != absent, archived: r.Archived.is()}, true
}

// validKey says whether a key can be shown and asked for as it is.
func validKey(key string) bool {
	return key != "" && utf8.RuneCountInString(key) <= keyMost && !strings.ContainsFunc(key, plaintext.Hidden)
}

// agentOf is the agent in a key like "agent:cto:main".
func agentOf(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	id, _, more := strings.Cut(rest, ":")
	if !ok || !more {
		return ""
	}
	return id
}

func first(a, b word) word {
	if a != "" {
		return a
	}
	return b
}

// Usage reads the totals of the sessions, those that changed last where there
// are very many. A session that the answer does not have is unknown, not free.
func (c *Client) Usage(ctx context.Context) (SessionUsage, error) {
	params := struct {
		AgentScope string `json:"agentScope"` // without it only the default agent is counted
		Range      string `json:"range"`
		Mode       string `json:"mode"`
		Limit      int    `json:"limit"`
	}{"all", "all", "utc", usageMost}
	var out struct {
		Sessions []json.RawMessage `json:"sessions"`
		At       number            `json:"updatedAt"`
		Cache    struct {
			Status word `json:"status"`
		} `json:"cacheStatus"`
	}
	if err := c.call(ctx, "sessions.usage", params, &out); err != nil {
		return SessionUsage{}, fmt.Errorf("read usage of sessions: %w", err)
	}
	// A gateway without sessions has nothing to count, and says no status.
	fresh := out.Cache.Status == "fresh" || out.Cache.Status == "" && out.Sessions != nil && len(out.Sessions) == 0
	u := SessionUsage{Fresh: fresh, At: out.At.time(), Totals: map[string]Totals{}}
	for _, raw := range out.Sessions {
		var row struct {
			Key       word `json:"key"`
			SessionID word `json:"sessionId"`
			AgentID   word `json:"agentId"`
			Usage     *struct {
				usageRow
				usageDetail
			} `json:"usage"`
		}
		if json.Unmarshal(raw, &row) != nil || row.Usage == nil {
			continue
		}
		if t, ok := row.Usage.totals(); ok {
			u.Totals[string(row.Key)] = t
		}
		if t, ok := c.transcript(row.Key, row.SessionID, row.AgentID, row.Usage.usageDetail); ok {
			u.Transcripts = append(u.Transcripts, t)
		}
	}
	return u, nil
}

type usageRow struct {
	Input        number `json:"input"`
	Output       number `json:"output"`
	CacheRead    number `json:"cacheRead"`
	CacheWrite   number `json:"cacheWrite"`
	Total        number `json:"totalTokens"`
	TotalCost    number `json:"totalCost"`
	MissingCosts number `json:"missingCostEntries"` // messages of models without a price
}

// totals reads a row; false when it counts nothing that we know.
func (r usageRow) totals() (Totals, bool) {
	input, in := r.Input.tokens()
	output, out := r.Output.tokens()
	if !in || !out || r.CacheRead.absurd() || r.CacheWrite.absurd() {
		return Totals{}, false
	}
	t := Totals{Input: input, Output: output, CacheRead: r.CacheRead.count(), CacheWrite: r.CacheWrite.count()}
	cost, err := r.TotalCost.nanos()
	missing, said := r.MissingCosts.whole()
	// An amount of nothing for something is a model without a price, for which the
	// runtime writes rates of zero by itself.
	free := cost == 0 && t != (Totals{})
	switch {
	case err != nil || cost > mostNanosAll || free:
	case said && missing == 0:
		t.CostNanoUSD, t.Pricing = cost, Priced
	case cost > 0:
		t.CostNanoUSD, t.Pricing = cost, PartlyPriced
	}
	return t, true
}

// word is a text, and absent where the gateway has anything else.
type word string

// UnmarshalJSON keeps texts and ignores everything else.
func (w *word) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = ""
	}
	*w = word(s)
	return nil
}

// words are texts, and absent where the gateway has anything else.
type words []word

// UnmarshalJSON keeps lists and ignores everything else.
func (w *words) UnmarshalJSON(data []byte) error {
	var list []word
	if json.Unmarshal(data, &list) != nil {
		list = nil
	}
	*w = list
	return nil
}

// flag is true or false, and absent where the gateway has anything else.
type flag uint8

const (
	absent flag = iota
	no
	yes
)

// UnmarshalJSON keeps true and false and ignores everything else.
func (f *flag) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*f = yes
	case "false":
		*f = no
	default:
		*f = absent
	}
	return nil
}

func (f flag) is() bool { return f == yes }

// count is the number as a count; zero when it is none.
func (n number) count() int64 {
	v, _ := n.whole()
	return max(v, 0)
}

// time reads milliseconds since 1970; zero when there are none, or more than a
// time in JSON can tell.
func (n number) time() clock.Time {
	ms, ok := n.whole()
	if !ok || ms <= 0 || ms >= endOfTime {
		return clock.Time{}
	}
	return clock.At(time.UnixMilli(ms))
}
