package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// RunOfJob splits the key of the session of a job's run: agent:<agent>:cron:<job>:run:<transcript>. Events, totals,
// approvals, questions and the list of runs use such keys. Lists of sessions have only the session of the job's latest
// run, under the key listed. After a run that succeeded, the gateway has its session only under that key, until the
// next run (observed in OpenClaw 2026.9.6). For any other key, ok is false.
func RunOfJob(key string) (listed, transcript string, ok bool) {
	part := strings.Split(key, ":")
	if len(part) != 6 || part[0] != "agent" || part[2] != "cron" || part[4] != "run" || part[5] == "" {
		return "", "", false
	}
	return strings.Join(part[:4], ":"), part[5], true
}

// listedKey returns the key under which lists have a session.
func listedKey(key string) string {
	if listed, _, ok := RunOfJob(key); ok {
		return listed
	}
	return key
}

// Session is a conversation with an agent, from the gateway's list of sessions. Its text
// fields are truncated, and secrets and control characters are removed from them. An
// empty string, a zero number or a zero time means that the value is unknown. Two
// Sessions can be compared with ==.
type Session struct {
	Key          string // such as "agent:cto:main"; exactly as the gateway sends it
	ID           string // id of the transcript; changes with a reset
	AgentID      string
	Kind         string // main, task, standup, dashboard, cron, subagent, heartbeat, custom, …
	Label        string
	Status       string // of the last run: running, done, failed, killed, timeout, …
	Active       bool   // a run is in progress or queued
	RunID        string // of the run in progress; often unknown
	Model        string // "provider/model"
	LastMessage  string // its beginning, on one line
	ParentKey    string // of the session that created this one
	Context      int64  // tokens of the last prompt
	ContextLimit int64  // context window of the model in tokens
	StartedAt    clock.Time
	EndedAt      clock.Time // of the last completed run
	ActiveAt     clock.Time // time of the last message
	UpdatedAt    clock.Time
}

// Sessions is a list of sessions.
type Sessions struct {
	Rows   []Session // most recently changed first
	Left   int       // sessions beyond the requested number
	Stamps []int64   // when the gateway built each row, in milliseconds of its clock; 0 when unknown. Nil means all 0
}

// Pricing says whether all, some or none of the usage has a price.
type Pricing uint8

// Possible values of Pricing.
const (
	Unpriced     Pricing = iota // there is no cost
	PartlyPriced                // some model calls have no price: the cost is too low
	Priced                      // the cost is complete
)

// Totals contains a session's usage since it began.
type Totals struct {
	Input, Output, CacheRead, CacheWrite int64 // tokens

	CostNanoUSD int64 // billionths of a dollar; meaningless if Unpriced
	Pricing     Pricing
}

// SessionUsage contains the runtime's own totals of its sessions.
type SessionUsage struct {
	// Fresh means that all usage up to the time At is included. The gateway computes the
	// numbers in the background. Until a computation is complete, it returns its previous
	// result, initially zeros, and Fresh is false.
	Fresh bool
	// At is the time, by the gateway's clock, at which the gateway computed the usage, or zero
	// if unknown. Later usage is not included. The gateway caches the result for 30 seconds.
	// The first request after that still gets the cached result, however old it is.
	At clock.Time
	// Transcripts contains the usage by transcript and model. It includes deleted
	// sessions for as long as the gateway lists them.
	Transcripts []TranscriptUsage
}

const (
	sessionPage  = 200  // rows per request; a row has about 4 KiB
	sessionPages = 100  // maximum number of pages, even if the gateway reports more
	usageMost    = 1000 // sessions per usage request; one has about 5 KiB
	keyMost      = 512  // characters of a session key
)

// Connection returns a value that identifies the connection used for reading sessions.
// Two such values are equal only if they belong to the same connection. If there is no
// connection, the method returns an error that describes the current state.
func (c *Client) Connection() (id any, err error) {
	k, err := c.ConnFor("sessions.subscribe")
	if err != nil {
		return nil, err
	}
	return k, nil
}

// SubscribeSessions requests sessions.changed events on the current connection. Call it
// again after each reconnection.
func (c *Client) SubscribeSessions(ctx context.Context) error {
	var out struct{}
	if err := c.call(ctx, "sessions.subscribe", struct{}{}, &out); err != nil {
		return fmt.Errorf("subscribe to sessions: %w", err)
	}
	return nil
}

// ListSessions lists the sessions of all agents, most recently changed first, up to the given
// number of sessions. Like the other methods that read sessions, it requires the scope
// operator.read.
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
			// When a session moves up between two pages, another one moves to the next
			// page and appears again, with its newer state.
			if i, seen := place[s.Key]; seen {
				all.Rows[i], all.Stamps[i] = s, more.stamp
				continue
			}
			place[s.Key] = len(all.Rows)
			all.Rows, all.Stamps = append(all.Rows, s), append(all.Stamps, more.stamp)
		}
		total, _ = page.TotalCount.Whole()
		next, ok := page.NextOffset.Whole()
		if !ok {
			next = offset + int64(len(page.Sessions))
		}
		more := page.HasMore.Is() && next > offset
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
	TotalCount wire.Number       `json:"totalCount"`
	NextOffset wire.Number       `json:"nextOffset"`
	HasMore    wire.Flag         `json:"hasMore"`
}

// Session reads one session. It returns false if no session has the given key. The
// response does not say whether a run is in progress, so Active is derived from the
// session's status. If Active must be exact, use ListSessions instead.
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

// sessionRow is a session as the gateway sends it. A field of an unexpected type is
// treated as absent, so that the rest of the row can still be read.
type sessionRow struct {
	Key            wire.Word   `json:"key"`
	SessionID      wire.Word   `json:"sessionId"`
	AgentID        wire.Word   `json:"agentId"`
	Kind           wire.Word   `json:"kind"`
	Classification wire.Word   `json:"classification"`
	Label          wire.Word   `json:"label"`
	DisplayName    wire.Word   `json:"displayName"`
	Status         wire.Word   `json:"status"`
	LastRunError   wire.Word   `json:"lastRunError"`
	HasActiveRun   wire.Flag   `json:"hasActiveRun"`
	ActiveRunIDs   wire.Words  `json:"activeRunIds"`
	Provider       wire.Word   `json:"modelProvider"`
	Model          wire.Word   `json:"model"`
	LastMessage    wire.Word   `json:"lastMessagePreview"`
	Parent         wire.Word   `json:"parentSessionKey"`
	SpawnedBy      wire.Word   `json:"spawnedBy"`
	TotalTokens    wire.Number `json:"totalTokens"` // of the last prompt
	TotalFresh     wire.Flag   `json:"totalTokensFresh"`
	ContextTokens  wire.Number `json:"contextTokens"` // context window of the model
	StartedAt      wire.Number `json:"startedAt"`
	EndedAt        wire.Number `json:"endedAt"`
	LastActivityAt wire.Number `json:"lastActivityAt"`
	UpdatedAt      wire.Number `json:"updatedAt"`
	SnapshotAt     wire.Number `json:"snapshotAt"`
	Archived       wire.Flag   `json:"archived"`
}

// readSession reads a session row. It returns false if the row has no valid key.
func (c *Client) readSession(raw json.RawMessage) (Session, bool) {
	s, _, ok := c.readRow(raw)
	return s, ok
}

// rowFacts holds the data from a session row that Session has no field for.
type rowFacts struct {
	stamp    int64 // when the row was built; 0 when unknown
	whole    bool  // complete: it says whether a run is in progress
	archived bool
}

// readRow is like readSession, but also returns the data that Session has no field for.
func (c *Client) readRow(raw json.RawMessage) (Session, rowFacts, bool) {
	var r sessionRow
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.Key)) {
		return Session{}, rowFacts{}, false
	}
	clean := func(w wire.Word) string { return c.short(string(w)) }
	s := Session{
		Key: string(r.Key), ID: clean(r.SessionID), AgentID: clean(r.AgentID),
		Kind: clean(kindOf(string(r.Key), first(r.Classification, r.Kind))), Label: clean(first(r.Label, r.DisplayName)),
		Status: clean(r.Status), Model: clean(r.Model), LastMessage: clean(r.LastMessage),
		Active:    r.HasActiveRun.Is() || r.HasActiveRun == wire.Absent && r.Status == "running",
		StartedAt: r.StartedAt.Time(), EndedAt: r.EndedAt.Time(), ActiveAt: r.LastActivityAt.Time(),
		ContextLimit: r.ContextTokens.Count(),
	}
	s.UpdatedAt = r.updated(s)
	if s.Status == "done" && r.LastRunError != "" {
		s.Status = "failed"
	}
	if parent := string(first(r.Parent, r.SpawnedBy)); validKey(parent) {
		s.ParentKey = listedKey(parent)
	}
	if s.AgentID == "" {
		s.AgentID = agentOf(s.Key)
	}
	if r.Provider != "" && s.Model != "" {
		s.Model = clean(r.Provider) + "/" + s.Model
	}
	if r.TotalFresh != wire.No {
		s.Context = r.TotalTokens.Count()
	}
	if s.Active && len(r.ActiveRunIDs) > 0 {
		s.RunID = clean(r.ActiveRunIDs[0])
	}
	return s, rowFacts{stamp: r.SnapshotAt.Count(), whole: r.HasActiveRun != wire.Absent, archived: r.Archived.Is()}, true
}

// updated returns when the session was last updated. The gateway's own time for that can stand still while
// others advance, and can be later than the time at which the gateway sent it.
func (r *sessionRow) updated(s Session) (at clock.Time) {
	now := r.SnapshotAt.Time()
	for _, t := range []clock.Time{r.UpdatedAt.Time(), s.ActiveAt, s.EndedAt, s.StartedAt} {
		if t.After(at.Time) && (now.IsZero() || !t.After(now.Add(time.Minute))) {
			at = t
		}
	}
	return at
}

// Version identifies the state of the session's transcript: it differs as soon as the transcript may have
// new messages. No time alone decides that, because the gateway's times can stand still. It is never 0.
func (s *Session) Version() int64 {
	sum := uint64(fnvOffset)
	for _, text := range []string{s.ID, s.LastMessage} {
		for i := range len(text) {
			sum = (sum ^ uint64(text[i])) * fnvPrime
		}
		sum = (sum ^ 0xff) * fnvPrime // ends the text
	}
	for _, n := range []int64{
		s.UpdatedAt.UnixMilli(), s.ActiveAt.UnixMilli(), s.EndedAt.UnixMilli(), s.StartedAt.UnixMilli(), s.Context,
	} {
		sum = (sum ^ uint64(n)) * fnvPrime
	}
	return int64(sum>>1) | 1
}

// The constants of the hash function FNV-1a. Version hashes thousands of sessions a second.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// validKey reports whether a session key can be displayed and sent unchanged.
func validKey(key string) bool {
	return key != "" && utf8.RuneCountInString(key) <= keyMost && !strings.ContainsFunc(key, plaintext.Hidden)
}

// agentOf returns the agent's id from a session key such as "agent:cto:main".
func agentOf(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	id, _, more := strings.Cut(rest, ":")
	if !ok || !more {
		return ""
	}
	return id
}

// kindOf returns the kind of a session. The gateway calls each session that a client named "custom" or "direct", also
// those that Wardroom names for tasks and standups, so for these two the key decides.
func kindOf(key string, class wire.Word) wire.Word {
	if class != "custom" && class != "direct" && class != "" {
		return class
	}
	place, more, in := "", "", false
	if rest, ok := strings.CutPrefix(strings.ToLower(key), "agent:"); ok {
		_, place, _ = strings.Cut(rest, ":")
		place, more, in = strings.Cut(place, ":")
	}
	switch {
	case place == "main" && !in, (place == "task" || place == "standup" || place == "dashboard") && more != "":
		return wire.Word(place)
	default:
		return class
	}
}

func first(a, b wire.Word) wire.Word {
	if a != "" {
		return a
	}
	return b
}

// Usage reads the usage totals of the 1,000 most recently changed sessions. If a session
// is missing from the result, its usage is unknown, not zero.
func (c *Client) Usage(ctx context.Context) (SessionUsage, error) {
	params := struct {
		AgentScope string `json:"agentScope"` // by default only the default agent is included
		Range      string `json:"range"`
		Mode       string `json:"mode"`
		Limit      int    `json:"limit"`
	}{"all", "all", "utc", usageMost}
	var out usageList
	if err := c.call(ctx, "sessions.usage", params, &out); err != nil {
		return SessionUsage{}, fmt.Errorf("read usage of sessions: %w", err)
	}
	return c.readUsage(out), nil
}

// usageList is the payload of the answer to sessions.usage.
type usageList struct {
	Sessions []json.RawMessage `json:"sessions"`
	At       wire.Number       `json:"updatedAt"`
	Cache    struct {
		Status wire.Word `json:"status"`
	} `json:"cacheStatus"`
}

func (c *Client) readUsage(out usageList) SessionUsage {
	// A gateway without sessions sends no status.
	fresh := out.Cache.Status == "fresh" || out.Cache.Status == "" && out.Sessions != nil && len(out.Sessions) == 0
	u := SessionUsage{Fresh: fresh, At: out.At.Time()}
	for _, raw := range out.Sessions {
		var row struct {
			Key       wire.Word    `json:"key"`
			SessionID wire.Word    `json:"sessionId"`
			AgentID   wire.Word    `json:"agentId"`
			Usage     *usageDetail `json:"usage"`
		}
		if json.Unmarshal(raw, &row) != nil || row.Usage == nil {
			continue
		}
		if t, ok := c.transcript(row.Key, row.SessionID, row.AgentID, *row.Usage); ok {
			if !u.At.IsZero() && t.LastAt.After(u.At.Add(time.Minute)) {
				t.LastAt = clock.Time{}
			}
			u.Transcripts = append(u.Transcripts, t)
		}
	}
	return u
}

type usageRow struct {
	wireTokens
	InputCost      wire.Number `json:"inputCost"`
	OutputCost     wire.Number `json:"outputCost"`
	CacheReadCost  wire.Number `json:"cacheReadCost"`
	CacheWriteCost wire.Number `json:"cacheWriteCost"`
	TotalCost      wire.Number `json:"totalCost"`
	MissingCosts   wire.Number `json:"missingCostEntries"` // messages of models without a price
}

// totals returns the totals from a usage row. It returns false if the row has no valid
// token counts.
func (r usageRow) totals() (m ModelTotals, ok bool) {
	if _, ok := r.Input.Tokens(); !ok {
		return m, false
	}
	if _, ok := r.Output.Tokens(); !ok || r.CacheRead.TooLarge() || r.CacheWrite.TooLarge() {
		return m, false
	}
	t := r.read()
	m.Totals = Totals{Input: t.input, Output: t.output, CacheRead: t.cacheRead, CacheWrite: t.cacheWrite}
	m.Other, m.Estimated = t.other, !t.agree
	cost, known := wireCosts{r.InputCost, r.OutputCost, r.CacheReadCost, r.CacheWriteCost, r.TotalCost}.of(t)
	missing, said := r.MissingCosts.Whole()
	// A cost of zero for a nonzero number of tokens means that the model has no price:
	// the gateway uses rates of zero then.
	free := cost == 0 && m.Totals != (Totals{})
	switch {
	case !known || cost > wire.MostNanosAll || free:
	case said && missing == 0 && t.agree:
		m.CostNanoUSD, m.Pricing = cost, Priced
	case cost > 0:
		m.CostNanoUSD, m.Pricing = cost, PartlyPriced
	}
	return m, true
}
