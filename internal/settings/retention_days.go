package settings

import (
	"context"
	"fmt"
	"strconv"

	"wardroom/internal/platform/db"
)

// Days is the number of days after which retention archives or deletes data.
type Days struct {
	Setting  string `json:"setting" doc:"The environment variable. Its lower-case form is the field of a change." example:"ARCHIVE_AFTER_DAYS"`
	Value    int    `json:"value" doc:"Days in use; 0 keeps the data forever."`
	Source   Source `json:"source" enum:"default,environment,stored" doc:"environment: the variable or its flag, which takes precedence. stored: set here."`
	Editable bool   `json:"editable" doc:"Whether it can be changed here."`
	Detail   string `json:"detail" doc:"Why it cannot be changed; empty if it can."`
}

// ConfiguredDays is a number of days as Wardroom was started.
type ConfiguredDays struct {
	Setting string
	Days    int
	Fixed   bool // the environment determines it; otherwise it is the default
}

// RetentionChange is a partial update of the numbers of days.
type RetentionChange struct {
	ArchiveAfterDays         *int `json:"archive_after_days,omitempty" minimum:"0" maximum:"36500" doc:"0 keeps done tasks on the board forever."`
	ActivityLogRetentionDays *int `json:"activity_log_retention_days,omitempty" minimum:"0" maximum:"36500" doc:"0 keeps activity forever."`
	HistoryRetentionDays     *int `json:"history_retention_days,omitempty" minimum:"0" maximum:"36500" doc:"0 keeps resolved inbox items, and runs and slots of jobs, forever."`
	SubagentRetentionDays    *int `json:"subagent_retention_days,omitempty" minimum:"0" maximum:"36500" doc:"0 keeps archived sub-agent sessions forever."`
}

func (c RetentionChange) empty() bool { return c == RetentionChange{} }

// of returns the new number of days of a setting, or nil.
func (c RetentionChange) of(setting string) *int {
	switch setting {
	case "ARCHIVE_AFTER_DAYS":
		return c.ArchiveAfterDays
	case "ACTIVITY_LOG_RETENTION_DAYS":
		return c.ActivityLogRetentionDays
	case "HISTORY_RETENTION_DAYS":
		return c.HistoryRetentionDays
	case "SUBAGENT_RETENTION_DAYS":
		return c.SubagentRetentionDays
	}
	return nil
}

// show returns a number of days as clients see it. The stored map has the numbers set here.
func (d ConfiguredDays) show(stored map[string]int) Days {
	out := Days{Setting: d.Setting, Value: d.Days, Source: Default, Editable: true}
	if v, ok := stored[d.Setting]; ok && !d.Fixed {
		out.Value, out.Source = v, Stored
	}
	if d.Fixed {
		out.Source, out.Editable = Environment, false
		out.Detail = fmt.Sprintf("%s in Wardroom's environment, .env file or flags determines this number. Remove it there and restart Wardroom to change it here.", d.Setting)
	}
	return out
}

// Days returns the numbers of days in use, by the names of their variables. Because they are read
// from the database, all replicas use a change at once.
func (s *Service) Days(ctx context.Context) (map[string]int, error) {
	all, err := s.days(ctx, s.DB)
	out := map[string]int{}
	for _, d := range all {
		out[d.Setting] = d.Value
	}
	return out, err
}

func (s *Service) days(ctx context.Context, q db.Queryer) ([]Days, error) {
	stored, err := loadDays(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the numbers of days: %w", err)
	}
	out := []Days{}
	for _, d := range s.Configured {
		out = append(out, d.show(stored))
	}
	return out, nil
}

// refuse returns ErrFixed if the change is about a number that the environment determines.
func (c RetentionChange) refuse(all []ConfiguredDays) error {
	for _, d := range all {
		if d.Fixed && c.of(d.Setting) != nil {
			return ErrFixed.With("%s", d.show(nil).Detail).Fact("variable", d.Setting)
		}
	}
	return nil
}

// changeDays stores new numbers of days and adds what differs to facts, for the audit log.
func (s *Service) changeDays(ctx context.Context, tx *db.Tx, c RetentionChange, facts map[string]change) error {
	if c.empty() {
		return nil
	}
	all, err := s.days(ctx, tx)
	if err != nil {
		return err
	}
	for _, was := range all {
		is := c.of(was.Setting)
		if is == nil || *is == was.Value {
			continue
		}
		if err := saveDays(ctx, tx, was.Setting, *is); err != nil {
			return err
		}
		facts[was.Setting] = change{strconv.Itoa(was.Value), strconv.Itoa(*is)}
	}
	return nil
}
