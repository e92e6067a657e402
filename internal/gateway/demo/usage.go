package demo

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// sum adds up the usage of several answers.
type sum struct {
	input, output, cacheRead, cacheWrite       int64 // tokens
	inputCost, outputCost, readCost, writeCost int64 // nano-dollars
	answers                                    int
}

func (s *sum) add(u spent) {
	s.input, s.output = s.input+u.input, s.output+u.output
	s.cacheRead, s.cacheWrite = s.cacheRead+u.cacheRead, s.cacheWrite+u.cacheWrite
	s.inputCost, s.outputCost = s.inputCost+u.input*u.model.input, s.outputCost+u.output*u.model.output
	s.readCost, s.writeCost = s.readCost+u.cacheRead*u.model.cacheRead, s.writeCost+u.cacheWrite*u.model.cacheWrite
	s.answers++
}

func (s *sum) tokens() int64 { return s.input + s.output + s.cacheRead + s.cacheWrite }

func (s *sum) cost() json.Number { return usd(s.inputCost + s.outputCost + s.readCost + s.writeCost) }

func (s *sum) json() object {
	return object{
		"input": s.input, "output": s.output, "cacheRead": s.cacheRead, "cacheWrite": s.cacheWrite,
		"totalTokens": s.tokens(), "totalCost": s.cost(), "inputCost": usd(s.inputCost), "outputCost": usd(s.outputCost),
		"cacheReadCost": usd(s.readCost), "cacheWriteCost": usd(s.writeCost), "missingCostEntries": 0,
	}
}

// counts holds the number of user messages, assistant messages and errors in a session or
// on a day.
type counts struct{ user, assistant, errors int }

func (c *counts) add(m message) {
	switch {
	case m.role == "toolResult":
	case m.role == "user":
		c.user++
	case m.stop == "stop", m.stop == "toolUse":
		c.assistant++
	default:
		c.assistant++
		c.errors++
	}
}

func (c *counts) json() object {
	return object{
		"total": c.user + c.assistant, "user": c.user, "assistant": c.assistant,
		"toolCalls": 0, "toolResults": 0, "errors": c.errors,
	}
}

// latencies is a list of response times in milliseconds.
type latencies []int64

func (l latencies) json() object {
	if len(l) == 0 {
		return object{"count": 0, "avgMs": 0, "p95Ms": 0, "minMs": 0, "maxMs": 0}
	}
	slices.Sort(l)
	total := int64(0)
	for _, ms := range l {
		total += ms
	}
	return object{
		"count": len(l), "avgMs": float64(total) / float64(len(l)), "p95Ms": l[(len(l)*95+99)/100-1],
		"minMs": l[0], "maxMs": l[len(l)-1],
	}
}

// modelKey identifies a model.
type modelKey struct{ provider, id string }

// dayModel identifies the usage of one model on one day.
type dayModel struct {
	day   string
	model modelKey
}

// ledger aggregates the usage in the transcripts of one session or of all sessions.
type ledger struct {
	total     sum
	counts    counts
	took      latencies
	first     int64
	last      int64
	models    map[modelKey]*sum
	days      map[string]*sum
	dayCounts map[string]*counts
	dayTook   map[string]latencies
	dayModels map[dayModel]*sum
	quarters  map[int64]*ledger // by quarter hour since 1970; nil in the ledger of a quarter hour
}

func newLedger(quarters bool) *ledger {
	l := &ledger{
		models: map[modelKey]*sum{}, days: map[string]*sum{}, dayCounts: map[string]*counts{},
		dayTook: map[string]latencies{}, dayModels: map[dayModel]*sum{},
	}
	if quarters {
		l.quarters = map[int64]*ledger{}
	}
	return l
}

// SpentSince returns what the agents have spent since a time, in nano-dollars.
func (r *Runtime) SpentSince(from time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all sum
	for _, s := range r.sessions {
		for _, m := range s.messages {
			if m.spent != nil && m.at >= from.UnixMilli() && (m.stop == "stop" || m.stop == "toolUse") {
				all.add(*m.spent)
			}
		}
	}
	return all.inputCost + all.outputCost + all.readCost + all.writeCost
}

// Usage is the usage of runs.
type Usage struct {
	Runs                                 int
	Input, Output, CacheRead, CacheWrite int64 // tokens
	CostNano                             int64 // billionths of a dollar
}

// UsageBetween returns the usage of an agent's runs that ended in the given period, which includes
// both of its ends. Like a ledger of usage, it leaves out runs that used nothing.
func (r *Runtime) UsageBetween(agentID string, from, to time.Time) Usage {
	type run struct {
		used sum
		last int64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var u Usage
	for _, s := range r.sessions {
		if s.agentID != agentID {
			continue
		}
		runs := map[string]*run{}
		for _, m := range s.messages {
			if m.role != "assistant" || m.runID == "" {
				continue
			}
			of := entryAt(runs, m.runID)
			if of.last = max(of.last, m.at); m.spent != nil {
				of.used.add(*m.spent)
			}
		}
		for _, of := range runs {
			if t := &of.used; of.last >= from.UnixMilli() && of.last <= to.UnixMilli() && t.tokens() > 0 {
				u.Runs++
				u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+t.input, u.Output+t.output, u.CacheRead+t.cacheRead, u.CacheWrite+t.cacheWrite
				u.CostNano += t.inputCost + t.outputCost + t.readCost + t.writeCost
			}
		}
	}
	return u
}

// entryAt returns the map entry for the key k. It creates the entry if necessary.
func entryAt[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

func (l *ledger) add(m message) {
	day := dayOf(m.at)
	l.counts.add(m)
	entryAt(l.dayCounts, day).add(m)
	if l.first == 0 {
		l.first = m.at
	}
	l.last = max(l.last, m.at)
	if l.quarters != nil {
		q := m.at / (15 * time.Minute).Milliseconds()
		if l.quarters[q] == nil {
			l.quarters[q] = newLedger(false)
		}
		l.quarters[q].add(m)
	}
	if m.spent == nil || m.stop != "stop" && m.stop != "toolUse" {
		return
	}
	key := modelKey{m.spent.model.provider, m.spent.model.id}
	for _, s := range []*sum{&l.total, entryAt(l.models, key), entryAt(l.days, day), entryAt(l.dayModels, dayModel{day, key})} {
		s.add(*m.spent)
	}
	l.took = append(l.took, m.took)
	l.dayTook[day] = append(l.dayTook[day], m.took)
}

func dayOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

var usageParams = params{optional: words(`key agentId agentScope startDate endDate mode range groupBy includeHistorical
	utcOffset timeZone limit includeContextWeight`)}

type usageRequest struct {
	Key, AgentID, AgentScope, StartDate, EndDate, Range, Mode string
	Limit                                                     int
}

// check returns the gateway's error for invalid parameters, or nil if the parameters are
// valid.
func (in usageRequest) check() *Failure {
	const name = "invalid sessions.usage params: "
	switch {
	case in.AgentScope != "" && in.AgentScope != "all":
		return invalid(name + "at /agentScope: must be equal to constant")
	case !slices.Contains(words("utc gateway specific"), cmp.Or(in.Mode, "utc")):
		return invalid(name + "at /mode: must be equal to constant; at /mode: must match a schema in anyOf")
	case !slices.Contains(words("7d 30d 90d 1y all"), cmp.Or(in.Range, "all")):
		return invalid(name + "at /range: must be equal to constant; at /range: must match a schema in anyOf")
	case (in.StartDate == "") != (in.EndDate == ""):
		return invalid("startDate and endDate must be provided together")
	case in.AgentScope != "" && in.Key+in.AgentID != "":
		return invalid("agentScope=all cannot be combined with key or agentId")
	}
	return checkRange("sessions.usage", "limit", in.Limit, 1, math.MaxInt)
}

// days returns the first and last day of the requested period. If a request contains both
// dates and a range, the dates take precedence. The default period is 30 days.
func (in usageRequest) days(now time.Time) (first, last string) {
	if in.StartDate != "" {
		return in.StartDate, in.EndDate
	}
	now = now.UTC()
	if in.Range == "all" {
		return dayOf(0), now.Format(time.DateOnly)
	}
	count, ok := map[string]int{"7d": 7, "90d": 90, "1y": 365}[in.Range]
	if !ok {
		count = 30
	}
	return now.AddDate(0, 0, 1-count).Format(time.DateOnly), now.Format(time.DateOnly)
}

// handleUsage returns the usage of the selected sessions. Days are in UTC, and other time zones are not supported.
func (r *Runtime) handleUsage(c call) (any, *Failure) {
	in := usageRequest{Limit: 50}
	if f := usageParams.read("sessions.usage", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := in.check(); f != nil {
		return nil, f
	}
	first, last := in.days(r.options.Now())
	if in.Key == "" && in.AgentID == "" && in.AgentScope != "all" {
		in.AgentID = r.options.Agents[0].ID // as on the gateway: only the default agent
	}
	fresh := r.options.Behavior.UsageFresh()
	all, agents := newLedger(false), map[string]*sum{}
	rows, longest := []object{}, int64(0)
	for _, s := range r.latest(in.AgentID) {
		if in.Key != "" && s.key != in.Key {
			continue
		}
		own := newLedger(true)
		for _, m := range s.messages {
			if day := dayOf(m.at); fresh && day >= first && day <= last {
				own.add(m)
				all.add(m)
				if m.spent != nil && (m.stop == "stop" || m.stop == "toolUse") {
					entryAt(agents, s.agentID).add(*m.spent)
				}
			}
		}
		switch {
		case !fresh:
			rows = append(rows, merge(s.usage(own), object{"usage": nil}))
		case own.counts.user+own.counts.assistant > 0:
			longest = max(longest, own.last-own.first)
			rows = append(rows, s.usage(own))
		}
	}
	count := len(rows)
	answer := object{
		"updatedAt": r.now(), "startDate": first, "endDate": last,
		"sessions": rows[:min(in.Limit, count)], "totals": all.total.json(),
		"aggregates": all.aggregates(count, longest, agents), "creatorOptions": []object{},
	}
	if count > 0 { // the gateway omits the status if there are no sessions
		answer["cacheStatus"] = r.cacheStatus(fresh, count)
	}
	return answer, nil
}

// cacheStatus returns an object that says whether the usage numbers are up to date. If
// fresh is false, the object says that the gateway has not read any of its files yet.
func (r *Runtime) cacheStatus(fresh bool, files int) object {
	if !fresh {
		return object{"status": "refreshing", "cachedFiles": 0, "pendingFiles": files, "staleFiles": files}
	}
	return object{"status": "fresh", "cachedFiles": files, "pendingFiles": 0, "staleFiles": 0, "refreshedAt": r.now()}
}

// usage returns the sessions.usage row for one session.
func (s *session) usage(l *ledger) object {
	m := modelOf(s.agent)
	days := []object{}
	for _, day := range slices.Sorted(maps.Keys(l.days)) {
		days = append(days, merge(l.days[day].json(), object{
			"date": day, "tokens": l.days[day].tokens(), "cost": l.days[day].cost(),
		}))
	}
	usage := merge(l.total.json(), object{
		"sessionId": s.id, "sessionFile": "sqlite:" + s.agentID + ":" + s.id + ":" + storePath(s.agentID),
		"firstActivity": l.first, "lastActivity": l.last, "durationMs": l.last - l.first,
		"messageCounts": l.counts.json(), "modelUsage": l.byModel(), "latency": l.took.json(),
		"activityDates": slices.Sorted(maps.Keys(l.dayCounts)), "dailyBreakdown": days,
		"dailyMessageCounts": l.dailyCounts(), "dailyLatency": l.dailyLatency(), "dailyModelUsage": l.dailyModels(),
	})
	messages, spending := []object{}, []object{}
	for _, q := range slices.Sorted(maps.Keys(l.quarters)) {
		start := time.UnixMilli(q * (15 * time.Minute).Milliseconds()).UTC()
		when := object{"date": start.Format(time.DateOnly), "quarterIndex": start.Hour()*4 + start.Minute()/15}
		messages = append(messages, merge(l.quarters[q].counts.json(), when))
		if t := l.quarters[q].total; t.answers > 0 {
			spending = append(spending, merge(object{
				"input": t.input, "output": t.output, "cacheRead": t.cacheRead, "cacheWrite": t.cacheWrite,
				"totalTokens": t.tokens(), "totalCost": t.cost(),
			}, when))
		}
	}
	usage["utcQuarterHourMessageCounts"], usage["utcQuarterHourTokenUsage"] = messages, spending
	return object{
		"key": s.key, "sessionId": s.id, "scope": "instance", "updatedAt": s.updatedAt, "agentId": s.agentID,
		"creatorKey": `["unknown"]`, "modelProvider": m.provider, "model": m.id, "usage": usage, "hasContextWeight": false,
	}
}

// aggregates returns the totals by model, provider, agent and day.
func (l *ledger) aggregates(sessions int, longest int64, agents map[string]*sum) object {
	providers := map[string]*sum{}
	for key, s := range l.models {
		entryAt(providers, key.provider).merge(s)
	}
	byProvider, byAgent, costDaily, daily := []object{}, []object{}, []object{}, []object{}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		byProvider = append(byProvider, object{
			"provider": name, "count": providers[name].answers, "totals": providers[name].json(),
		})
	}
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		byAgent = append(byAgent, object{"agentId": id, "totals": agents[id].json()})
	}
	for _, day := range slices.Sorted(maps.Keys(l.dayCounts)) {
		s, c := entryAt(l.days, day), l.dayCounts[day]
		costDaily = append(costDaily, merge(s.json(), object{"date": day}))
		daily = append(daily, object{
			"date": day, "tokens": s.tokens(), "cost": s.cost(), "messages": c.user + c.assistant,
			"toolCalls": 0, "errors": c.errors,
		})
	}
	return object{
		"sessionCount": sessions, "longestSessionDurationMs": longest, "messages": l.counts.json(),
		"tools":   object{"totalCalls": 0, "uniqueTools": 0, "tools": []object{}},
		"byModel": l.byModel(), "byProvider": byProvider, "byAgent": byAgent, "byChannel": []object{}, "byCreator": []object{},
		"costDaily": costDaily, "latency": l.took.json(), "dailyLatency": l.dailyLatency(),
		"modelDaily": l.dailyModels(), "daily": daily,
	}
}

func (s *sum) merge(o *sum) {
	s.input, s.output, s.cacheRead, s.cacheWrite = s.input+o.input, s.output+o.output, s.cacheRead+o.cacheRead, s.cacheWrite+o.cacheWrite
	s.inputCost, s.outputCost = s.inputCost+o.inputCost, s.outputCost+o.outputCost
	s.readCost, s.writeCost = s.readCost+o.readCost, s.writeCost+o.writeCost
	s.answers += o.answers
}

func (l *ledger) byModel() []object {
	list := []object{}
	for _, k := range slices.SortedFunc(maps.Keys(l.models), modelKey.compare) {
		list = append(list, object{
			"provider": k.provider, "model": k.id, "count": l.models[k].answers, "totals": l.models[k].json(),
		})
	}
	return list
}

func (k modelKey) compare(o modelKey) int {
	return cmp.Or(cmp.Compare(k.provider, o.provider), cmp.Compare(k.id, o.id))
}

func (l *ledger) dailyCounts() []object {
	list := []object{}
	for _, day := range slices.Sorted(maps.Keys(l.dayCounts)) {
		list = append(list, merge(l.dayCounts[day].json(), object{"date": day}))
	}
	return list
}

func (l *ledger) dailyLatency() []object {
	list := []object{}
	for _, day := range slices.Sorted(maps.Keys(l.dayTook)) {
		list = append(list, merge(l.dayTook[day].json(), object{"date": day}))
	}
	return list
}

func (l *ledger) dailyModels() []object {
	keys := slices.SortedFunc(maps.Keys(l.dayModels), func(a, b dayModel) int {
		return cmp.Or(cmp.Compare(a.day, b.day), a.model.compare(b.model))
	})
	list := []object{}
	for _, k := range keys {
		s := l.dayModels[k]
		list = append(list, object{
			"date": k.day, "provider": k.model.provider, "model": k.model.id,
			"tokens": s.tokens(), "cost": s.cost(), "count": s.answers,
		})
	}
	return list
}
