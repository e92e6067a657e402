package standup

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/patch"
)

// Executive is the key of the team that the specification knows: the one that
// is meant where none is named. It is always there.
const Executive = "executive"

// Team is whose standups there are: who leads them, who is asked, and within
// which limits.
type Team struct {
	ID           string      `json:"id"`
	Key          string      `json:"key" doc:"Names it for people; unique, and never changes." example:"executive"`
	Name         string      `json:"name"`
	Facilitator  string      `json:"facilitator" doc:"The agent_id of who leads its standups."`
	Participants []string    `json:"participants" nullable:"false" doc:"The agent_ids of those who are asked, in that order."`
	Timezone     string      `json:"timezone" doc:"Where its days begin." example:"Europe/Berlin"`
	AgentTimeout clock.Span  `json:"agent_timeout" doc:"How long one agent may take to answer."`
	Deadline     clock.Span  `json:"deadline" doc:"How long a meeting may take."`
	FromSettings []string    `json:"from_settings" nullable:"false" doc:"Which of these five nobody has given here: they follow the settings of the service."`
	ArchivedAt   *clock.Time `json:"archived_at" doc:"Since when it has no new standups; null while it has."`
	CreatedAt    clock.Time  `json:"created_at"`
	UpdatedAt    clock.Time  `json:"updated_at"`
	Version      int64       `json:"version" doc:"Counts the changes; part of the ETag."`

	own own
}

// own is what somebody has given a team; what is nil follows the settings.
type own struct {
	facilitator  *string
	participants *[]string
	timezone     *string
	agentTimeout *clock.Span
	deadline     *clock.Span
}

// AgentID names an agent of the runtime in a body.
type AgentID string

// NewTeam is what a team is made from.
type NewTeam struct {
	Key          string    `json:"key" minLength:"2" maxLength:"30" pattern:"^[a-z][a-z0-9]*(-[a-z0-9]+)*$" doc:"2 to 30 lower-case letters, digits and single hyphens, a letter first. Not all, which stands for every team." example:"design"`
	Name         string    `json:"name" minLength:"1" maxLength:"100"`
	Facilitator  string    `json:"facilitator" maxLength:"64" doc:"The agent_id of who leads its standups; not one of the participants." example:"coo"`
	Participants []AgentID `json:"participants" minItems:"1" maxItems:"20" doc:"The agent_ids of those who are asked, in that order."`
	Timezone     string    `json:"timezone,omitempty" maxLength:"64" doc:"An IANA name; the service's TIMEZONE when left out."`
	AgentTimeout string    `json:"agent_timeout,omitempty" maxLength:"20" doc:"How long one agent may take to answer, such as 90s or 2m; STANDUP_AGENT_TIMEOUT when left out."`
	Deadline     string    `json:"deadline,omitempty" maxLength:"20" doc:"How long a meeting may take; STANDUP_DEADLINE when left out."`
}

// TeamChange is a partial update. What is not given stays as it is, and what is
// null follows the settings from now on.
type TeamChange struct {
	Name         *string                `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Facilitator  patch.Field[string]    `json:"facilitator,omitzero" maxLength:"64" doc:"An agent_id. In the team executive null follows STANDUP_FACILITATOR."`
	Participants patch.Field[[]AgentID] `json:"participants,omitzero" minItems:"1" maxItems:"20" doc:"All the agent_ids, in the order in which they are asked. In the team executive null follows STANDUP_PARTICIPANTS."`
	Timezone     patch.Field[string]    `json:"timezone,omitzero" maxLength:"64" doc:"An IANA name; null follows TIMEZONE."`
	AgentTimeout patch.Field[string]    `json:"agent_timeout,omitzero" maxLength:"20" doc:"Such as 90s or 2m, at most 1d; null follows STANDUP_AGENT_TIMEOUT."`
	Deadline     patch.Field[string]    `json:"deadline,omitzero" maxLength:"20" doc:"Such as 20m, at most 1w, and no shorter than agent_timeout; null follows STANDUP_DEADLINE."`
	Archived     *bool                  `json:"archived,omitempty" doc:"Whether it is in the archive: then it has no new standups."`
}

// Limits of a team. Those of time are the settings'.
const (
	maxTeamName     = 100 // characters
	maxParticipants = 20  // each of them may take the whole of its time
	minLimit        = time.Millisecond
	maxAgentTimeout = 24 * time.Hour
	maxDeadline     = 7 * 24 * time.Hour
)

// The failures of requests about teams.
var (
	ErrTeamNotFound = fault.New(fault.NotFound, "team_not_found", "There is no such team.")
	ErrTeamChanged  = fault.New(fault.Stale, "team_changed", "The team was changed meanwhile.")
	ErrTeamKey      = fault.New(fault.Conflict, "team_key_taken", "There is a team with this key already.")
	ErrTeamArchived = fault.New(fault.Conflict, "team_archived", "The team is in the archive.")
	ErrTeamKept     = fault.New(fault.Conflict, "team_kept", "The team executive cannot be archived.")
	ErrTeam         = fault.New(fault.Invalid, "team_unknown", "There is no team like that.")
)

var (
	// teamKey leaves no key that could be taken for an id.
	teamKey = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	// agentID is the same rule as in the settings and in accounts.
	agentID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// allTeams stands for every team in a filter, and is no team's key.
const allTeams = "all"

// makeTeam builds a team from n, or says everything that is wrong with it.
func (s *Service) makeTeam(n NewTeam, id string, now time.Time) (Team, error) {
	t := Team{ID: id, Key: n.Key, CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1}
	var bad fault.Fields
	if !teamKey.MatchString(n.Key) || len(n.Key) < 2 || len(n.Key) > 30 || n.Key == allTeams {
		bad.Add("/key", "Give it 2 to 30 lower-case letters, digits and single hyphens, a letter first, and not all.")
	}
	given := func(text string) patch.Field[string] {
		return patch.Field[string]{Given: text != "", Value: &text}
	}
	t = s.apply(t, TeamChange{
		Name: &n.Name, Facilitator: patch.Set(n.Facilitator), Participants: patch.Set(n.Participants),
		Timezone: given(n.Timezone), AgentTimeout: given(n.AgentTimeout), Deadline: given(n.Deadline),
	}, now, &bad)
	return t, bad.Err()
}

// apply makes the change to t, and notes in bad what is wrong with it.
func (s *Service) apply(t Team, c TeamChange, now time.Time, bad *fault.Fields) Team {
	if c.Name != nil {
		t.Name = strings.TrimSpace(*c.Name)
		if wrong := label.Wrong(t.Name, maxTeamName); wrong != "" {
			bad.Add("/name", "%s", wrong)
		}
	}
	if c.Facilitator.Given {
		t.own.facilitator = c.Facilitator.Value
		checkFacilitator(t, bad)
	}
	if c.Participants.Given {
		t.own.participants = nil
		if c.Participants.Value != nil {
			ids := make([]string, len(*c.Participants.Value))
			for i, id := range *c.Participants.Value {
				ids[i] = string(id)
			}
			t.own.participants = &ids
		}
		checkParticipants(t, bad)
	}
	if c.Timezone.Given {
		t.own.timezone = c.Timezone.Value
		if v := c.Timezone.Value; v != nil {
			if _, err := clock.Zone(*v); err != nil {
				bad.Add("/timezone", "Give an IANA name, such as Europe/Berlin.")
			}
		}
	}
	if c.AgentTimeout.Given {
		t.own.agentTimeout = readLimit("/agent_timeout", c.AgentTimeout.Value, maxAgentTimeout, bad)
	}
	if c.Deadline.Given {
		t.own.deadline = readLimit("/deadline", c.Deadline.Value, maxDeadline, bad)
	}
	if c.Archived != nil && *c.Archived != (t.ArchivedAt != nil) {
		if t.ArchivedAt = nil; *c.Archived {
			t.ArchivedAt = clock.Ptr(now)
		}
	}
	if bad.Err() == nil {
		s.checkCombination(t, c, bad)
	}
	return s.effective(t)
}

func checkFacilitator(t Team, bad *fault.Fields) {
	switch v := t.own.facilitator; {
	case v == nil && t.Key != Executive:
		bad.Add("/facilitator", "Name an agent: the settings name the facilitator of the team executive alone.")
	case v != nil && !agentID.MatchString(*v):
		bad.Add("/facilitator", "Give an agent_id: 1 to 64 of a-z, 0-9, _ and -, a letter or a digit first.")
	}
}

func checkParticipants(t Team, bad *fault.Fields) {
	if t.own.participants == nil {
		if t.Key != Executive {
			bad.Add("/participants", "Name the agents: the settings name the participants of the team executive alone.")
		}
		return
	}
	ids := *t.own.participants
	if len(ids) == 0 || len(ids) > maxParticipants {
		bad.Add("/participants", "Name 1 to %d agents.", maxParticipants)
	}
	for i, id := range first(ids, maxParticipants) {
		switch {
		case !agentID.MatchString(id):
			bad.Add(fmt.Sprintf("/participants/%d", i), "Give an agent_id: 1 to 64 of a-z, 0-9, _ and -, a letter or a digit first.")
		case slices.Contains(ids[:i], id):
			bad.Add(fmt.Sprintf("/participants/%d", i), "It is named twice: remove one of them.")
		}
	}
}

// readLimit reads a limit as the settings write it; null is nil.
func readLimit(where string, text *string, most time.Duration, bad *fault.Fields) *clock.Span {
	if text == nil {
		return nil
	}
	d, err := clock.ParseDuration(*text)
	if err != nil || d < minLimit || d > most {
		bad.Add(where, "Give a duration such as 90s, 2m, 1h or a number of seconds, from %s to %s.", clock.FormatDuration(minLimit), clock.FormatDuration(most))
	}
	span := clock.Span(d)
	return &span
}

// checkTogether looks at what changed beside what did not, which may come from
// the settings.
func (s *Service) checkCombination(t Team, c TeamChange, bad *fault.Fields) {
	if c.Facilitator.Given || c.Participants.Given {
		if who := orSetting(t.own.facilitator, s.Facilitator); slices.Contains(orSetting(t.own.participants, s.Participants), who) {
			bad.Add("/participants", "%s leads the standup and is not asked in it: name another facilitator, or leave %s out.", who, who)
		}
	}
	t = s.effective(t)
	if (c.AgentTimeout.Given || c.Deadline.Given) && t.Deadline < t.AgentTimeout {
		bad.Add("/deadline", "It is %s, and one agent alone may take %s (agent_timeout): make it longer, or the other shorter.", t.Deadline, t.AgentTimeout)
	}
}

func orSetting[T any](own *T, setting T) T {
	if own != nil {
		return *own
	}
	return setting
}

// effective fills in what t has: its own, or what the settings say.
func (s *Service) effective(t Team) Team {
	t.Facilitator = orSetting(t.own.facilitator, s.Facilitator)
	// Who leads is not asked. A change of the settings may make somebody both.
	t.Participants = slices.DeleteFunc(slices.Clone(orSetting(t.own.participants, s.Participants)), func(id string) bool { return id == t.Facilitator })
	t.Timezone = s.zone(t).String()
	t.AgentTimeout = orSetting(t.own.agentTimeout, clock.Span(s.AgentTimeout))
	t.Deadline = orSetting(t.own.deadline, clock.Span(s.Deadline))
	t.FromSettings = []string{}
	for _, f := range t.own.fields() {
		if reflect.ValueOf(f.value).IsNil() {
			t.FromSettings = append(t.FromSettings, f.name)
		}
	}
	return t
}

// field is one that the settings have, too: its value is a pointer, nil where
// they count.
type field struct {
	name  string
	value any
}

func (o own) fields() []field {
	return []field{
		{"facilitator", o.facilitator},
		{"participants", o.participants},
		{"timezone", o.timezone},
		{"agent_timeout", o.agentTimeout},
		{"deadline", o.deadline},
	}
}

// changes tells what an update changed, for the event: field → [before, after];
// null is what the settings say.
func (t Team) changes(was Team) map[string][2]any {
	changes := map[string][2]any{}
	if was.Name != t.Name {
		changes["name"] = [2]any{was.Name, t.Name}
	}
	before := was.own.fields()
	for i, f := range t.own.fields() {
		if !reflect.DeepEqual(before[i].value, f.value) {
			changes[f.name] = [2]any{before[i].value, f.value}
		}
	}
	if (was.ArchivedAt == nil) != (t.ArchivedAt == nil) {
		changes["archived_at"] = [2]any{was.ArchivedAt, t.ArchivedAt}
	}
	return changes
}

// zone is where t's days begin. A name that is known no more, after the zones
// of the world were changed, is the service's.
func (s *Service) zone(t Team) *time.Location {
	if t.own.timezone != nil {
		if zone, err := clock.Zone(*t.own.timezone); err == nil {
			return zone
		}
	}
	return s.Zone
}

// title is what a standup of t is called that is given no title.
func (t Team) title(date string) string {
	if t.Key == Executive {
		return "Standup of " + date
	}
	return t.Name + ": standup of " + date
}

// ofTeam is what stands behind a standup's day where it has to be told from
// other teams' of the same day: nothing for the executive one.
func (s Standup) teamSuffix(before string) string {
	if s.Team == Executive {
		return ""
	}
	return before + s.Team
}

// sessionKey names the conversation with an agent about a day. Teams that share
// an agent each have one of their own. The word before a team's key is there
// because some last parts have a meaning in the runtime (main, and heartbeat:
// OpenClaw 2026.9.6), and keys may be such words.
func (s Standup) sessionKey(agentID string) string {
	return "agent:" + agentID + ":standup:" + s.Date + s.teamSuffix(":team-")
}

// origin is what the tasks that come from the standup say of where they come from.
func (s Standup) origin() string { return "standup:" + s.Date + s.teamSuffix(":") }
