package event

import (
	"context"
	"fmt"
	"strconv"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// LogVersion identifies a state of the event log. While the version stays the same, so does all
// data whose changes the log records. The version includes the time of the last event, because a
// restored database reuses event IDs.
type LogVersion struct {
	last int64
	at   *clock.Time
}

// LogVersionColumns are the SQL expressions for a LogVersion. They can be added to any SELECT, so
// that a query returns the version along with its row. Both expressions look up rows by key. A
// table scan could be slow, because after a long transaction PostgreSQL may keep hundreds of pages
// of dead versions of the counter's single row.
const LogVersionColumns = `(SELECT last FROM event_counter WHERE one = 1), (SELECT at FROM events WHERE id = (SELECT last FROM event_counter WHERE one = 1))`

// Columns returns the scan targets for LogVersionColumns.
func (m *LogVersion) Columns() []any { return []any{&m.last, &m.at} }

// String returns a short text that differs for every version.
func (m LogVersion) String() string {
	var at int64
	if m.at != nil {
		at = m.at.UnixMicro()
	}
	return strconv.FormatInt(m.last, 10) + "/" + strconv.FormatInt(at, 10)
}

// ReadLogVersion reads the current version.
func ReadLogVersion(ctx context.Context, q db.Queryer) (m LogVersion, err error) {
	if err = q.QueryRow(ctx, `SELECT `+LogVersionColumns).Scan(m.Columns()...); err != nil {
		err = fmt.Errorf("read the log's version: %w", err)
	}
	return m, err
}
