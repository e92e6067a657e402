package standup

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/patch"
)

// Executive is the key of the default team. It always exists.
const Executive = "executive"

// Team is a team that holds standups. It has a facilitator, participants and time limits.
type Team struct {
	ID           string      `json:"id"`
	Key          string      `json:"key" doc:"Human-readable identifier; unique and permanent." example:"executive"`
	Name         string      `json:"name"`
	Facilitator  string      `json:"facilitator" doc:"The agent_id of the facilitator."`
	Participants []string    `json:"participants" nullable:"false" doc:"The agent_ids of the participants, in the order in which they are asked."`
	Timezone     string      `json:"timezone" doc:"The time zone of the team's days." example:"Europe/Berlin"`
	AgentTimeout clock.Span  `json:"agent_timeout" doc:"Maximum time for one agent's answer."`
	Deadline     clock.Span  `json:"deadline" doc:"Maximum duration of a standup."`
	FromSettings []string    `json:"from_settings" nullable:"false" doc:"The fields that the team does not override. They follow Wardroom's settings."`
	ArchivedAt   *clock.Time `json:"archived_at" doc:"When the team was archived; null if it is active."`
	CreatedAt    clock.Time  `json:"created_at"`
	UpdatedAt    clock.Time  `json:"updated_at"`
	Version      int64       `json:"version" doc:"Increases with every change; part of the ETag."`

	own own
}

// own contains the values that a team sets for itself. If a field is nil, the value from
// the settings applies.
type own struct {
	facilitator  *string
	participants *[]string
	timezone     *string
	agentTimeout *clock.Span
	deadline     *clock.Span
}

// AgentID is the id of a runtime agent in a request body.
type AgentID string

// NewTeam is the request to create a team.
type NewTeam struct {
	Key          string    `json:"key" minLength:"2" maxLength:"30" pattern:"^[a-z][a-z0-9]*(-[a-z0-9]+)*$" doc:"2 to 30 lowercase letters, digits, and single hyphens, starting with a letter. The key \"all\" is reserved." example:"design"`
	Name         string    `json:"name" minLength:"1" maxLength:"100"`
	Facilitator  string    `json:"facilitator" maxLength:"64" doc:"The agent_id of the facilitator, who must not be a participant." example:"coo"`
	Participants []AgentID `json:"participants" minItems:"1" maxItems:"20" doc:"The agent_ids of the participants, in the order in which they are asked."`
	Timezone     string    `json:"timezone,omitempty" maxLength:"64" doc:"An IANA time zone name. Default: the setting TIMEZONE."`
	AgentTimeout string    `json:"agent_timeout,omitempty" maxLength:"20" doc:"Maximum time for one agent's answer, such as 90s or 2m. Default: the setting STANDUP_AGENT_TIMEOUT."`
	Deadline     string    `json:"deadline,omitempty" maxLength:"20" doc:"Maximum duration of a standup, such as 20m. Default: the setting STANDUP_DEADLINE."`
}

// TeamChange is a partial update of a team. Omitted fields stay unchanged. Null resets a field to its value from the
// settings.
type TeamChange struct {
	Name         *string                `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Facilitator  patch.Field[string]    `json:"facilitator,omitzero" maxLength:"64" doc:"The facilitator's agent_id. For the executive team, null uses the setting STANDUP_FACILITATOR."`
	Participants patch.Field[[]AgentID] `json:"participants,omitzero" minItems:"1" maxItems:"20" doc:"The agent_ids of all participants, in the order in which they are asked. For the executive team, null uses the setting STANDUP_PARTICIPANTS."`
	Timezone     patch.Field[string]    `json:"timezone,omitzero" maxLength:"64" doc:"An IANA time zone name. null uses the setting TIMEZONE."`
	AgentTimeout patch.Field[string]    `json:"agent_timeout,omitzero" maxLength:"20" doc:"A duration such as 90s or 2m, at most 1d. null uses the setting STANDUP_AGENT_TIMEOUT."`
	Deadline     patch.Field[string]    `json:"deadline,omitzero" maxLength:"20" doc:"A duration such as 20m, at most 1w and at least agent_timeout. null uses the setting STANDUP_DEADLINE."`
	Archived     *bool                  `json:"archived,omitempty" doc:"Whether the team is archived. An archived team opens no new standups."`
}

// Limits on a team's fields. The time limits are the same as in the settings.
const (
	maxTeamName     = 100 // characters
	maxParticipants = 20  // each of them may use its full timeout
	minLimit        = time.Millisecond
	maxAgentTimeout = 24 * time.Hour
	maxDeadline     = 7 * 24 * time.Hour
)

// Errors that team operations return.
var (
	ErrTeamNotFound = fault.New(fault.NotFound, "team_not_found", "Team not found.")
	ErrTeamChanged  = fault.New(fault.Stale, "team_changed", "The team has changed since you read it.")
	ErrTeamKey      = fault.New(fault.Conflict, "team_key_taken", "A team with this key already exists.")
	ErrTeamArchived = fault.New(fault.Conflict, "team_archived", "The team is archived.")
	ErrTeamKept     = fault.New(fault.Conflict, "team_kept", "The executive team cannot be archived.")
	ErrTeam         = fault.New(fault.Invalid, "team_unknown", "Unknown team.")
)

var (
	// teamKey matches valid team keys. A valid key cannot be mistaken for an id.
	teamKey = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	// agentID matches valid agent ids. The same format applies in the settings and in accounts.
	agentID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// allTeams selects all teams in a filter. No team can have it as its key.
const allTeams = "all"

// makeTeam builds a team from a request. If fields are invalid, it returns an error that
// lists them.
func (s *Service) makeTeam(n NewTeam, id string, now time.Time) (Team, error) {
	t := Team{ID: id, Key: n.Key, CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1}
	var bad fault.Fields
	if !teamKey.MatchString(n.Key) || len(n.Key) < 2 || len(n.Key) > 30 || n.Key == allTeams {
		bad.Add("/key",
			"Use 2 to 30 lowercase letters, digits, and single hyphens, starting with a letter. The key \"all\" is reserved.")
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

// apply returns t with the change applied. It adds an error to bad for each invalid field.
func (s *Service) apply(t Team, c TeamChange, now time.Time, bad *fault.Fields) Team {
	if c.Name != nil {
		var wrong string
		if t.Name, wrong = label.Clean(*c.Name, maxTeamName); wrong != "" {
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
				bad.Add("/timezone", "Use an IANA time zone name, such as Europe/Berlin.")
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
		bad.Add("/facilitator", "Specify an agent. Only the executive team can use the facilitator from the settings.")
	case v != nil && !agentID.MatchString(*v):
		bad.Add("/facilitator",
			"Use an agent_id: 1 to 64 characters from a-z, 0-9, _, and -, starting with a letter or digit.")
	}
}

func checkParticipants(t Team, bad *fault.Fields) {
	if t.own.participants == nil {
		if t.Key != Executive {
			bad.Add("/participants",
				"Specify the participants. Only the executive team can use the participants from the settings.")
		}
		return
	}
	ids := *t.own.participants
	if len(ids) == 0 || len(ids) > maxParticipants {
		bad.Add("/participants", "Specify 1 to %d agents.", maxParticipants)
	}
	for i, id := range first(ids, maxParticipants) {
		switch {
		case !agentID.MatchString(id):
			bad.Add(fmt.Sprintf("/participants/%d", i),
				"Use an agent_id: 1 to 64 characters from a-z, 0-9, _, and -, starting with a letter or digit.")
		case slices.Contains(ids[:i], id):
			bad.Add(fmt.Sprintf("/participants/%d", i), "This agent is listed twice. Remove one entry.")
		}
	}
}

// readLimit parses a time limit in the same format as durations in the settings. If text is nil, it returns nil.
func readLimit(where string, text *string, most time.Duration, bad *fault.Fields) *clock.Span {
	if text == nil {
		return nil
	}
	d, err := clock.ParseDuration(*text)
	if err != nil || d < minLimit || d > most {
		bad.Add(where, "Use a duration such as 90s, 2m or 1h, or a number of seconds, from %s to %s.",
			clock.FormatDuration(minLimit), clock.FormatDuration(most))
	}
	span := clock.Span(d)
	return &span
}

// checkCombination checks that the changed fields are compatible with the unchanged
// fields, whose values may come from the settings.
func (s *Service) checkCombination(t Team, c TeamChange, bad *fault.Fields) {
	if c.Facilitator.Given || c.Participants.Given {
		if who := or(t.own.facilitator, s.Facilitator); slices.Contains(or(t.own.participants, s.Participants), who) {
			bad.Add("/participants", "Agent %s is the facilitator and cannot also be a participant. Choose another facilitator, or remove agent %s from the participants.", who, who)
		}
	}
	t = s.effective(t)
	if (c.AgentTimeout.Given || c.Deadline.Given) && t.Deadline < t.AgentTimeout {
		bad.Add("/deadline",
			"The deadline (%s) is shorter than agent_timeout (%s). Use a longer deadline or a shorter agent_timeout.",
			t.Deadline, t.AgentTimeout)
	}
}

// effective sets the exported fields of a team from the team's own values and the settings.
func (s *Service) effective(t Team) Team {
	t.Facilitator = or(t.own.facilitator, s.Facilitator)
	// The facilitator is not asked, even if the settings now list it as a participant.
	t.Participants = slices.DeleteFunc(slices.Clone(or(t.own.participants, s.Participants)), func(id string) bool {
		return id == t.Facilitator
	})
	t.Timezone = s.zone(t).String()
	t.AgentTimeout = or(t.own.agentTimeout, clock.Span(s.AgentTimeout))
	t.Deadline = or(t.own.deadline, clock.Span(s.Deadline))
	t.FromSettings = []string{}
	for _, f := range t.own.fields() {
		if reflect.ValueOf(f.value).IsNil() {
			t.FromSettings = append(t.FromSettings, f.name)
		}
	}
	return t
}

// field is a field of a team that has a default in the settings. Its value is a pointer,
// which is nil if the default applies.
type field struct {
	name  string
	value any
}

// fields returns the fields of a team that have a default in the settings.
func (o own) fields() []field {
	return []field{
		{"facilitator", o.facilitator},
		{"participants", o.participants},
		{"timezone", o.timezone},
		{"agent_timeout", o.agentTimeout},
		{"deadline", o.deadline},
	}
}

// changes returns the fields that an update changed, each with its old and new value, for use in an event. If the
// value of a setting is null, the team inherits it.
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

// zone returns the team's time zone. If the name of that zone is no longer known, zone
// returns Wardroom's time zone.
func (s *Service) zone(t Team) *time.Location {
	if t.own.timezone != nil {
		if zone, err := clock.Zone(*t.own.timezone); err == nil {
			return zone
		}
	}
	return s.Zone
}

// title returns the default title of the team's standup.
func (t Team) title(date string) string {
	if t.Key == Executive {
		return "Standup of " + date
	}
	return t.Name + ": standup of " + date
}

// teamSuffix returns the team's key with the given prefix. For the executive team, it returns "".
// The suffix distinguishes the standups of different teams on the same day, and the inbox items of an
// agent that reports the same blocker in two teams.
func (s Standup) teamSuffix(before string) string {
	if s.Team == Executive {
		return ""
	}
	return before + s.Team
}

// sessionKey returns the key of the runtime session in which the standup asks an agent its
// questions. Each team uses separate sessions. The prefix team- ensures that the key does not end
// in a name that the runtime reserves (main and heartbeat in OpenClaw 2026.9.6).
func (s Standup) sessionKey(agentID string) string {
	return "agent:" + agentID + ":standup:" + s.Date + s.teamSuffix(":team-")
}

// origin returns the value of the origin field for tasks that the standup creates.
func (s Standup) origin() string { return "standup:" + s.Date + s.teamSuffix(":") }
