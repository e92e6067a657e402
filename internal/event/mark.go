package event

import (
	"context"
	"fmt"
	"strconv"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Mark names a state of the log, and so of everything whose changes are in it:
// what is read twice at the same mark is the same. It has the time of the last
// event beside its number, because a database that was set back gives its
// numbers anew.
type Mark struct {
	last int64
	at   *clock.Time
}

// MarkColumns is what a Mark is scanned from. They go into any SELECT, so that
// who reads one row anyhow gets the mark with it. Both are found by their key:
// the counter has one row, but after a long transaction beside many changes,
// such as that of a backup, PostgreSQL's table of it is hundreds of pages of what
// that row was before, and stays so.
const MarkColumns = `(SELECT last FROM event_counter WHERE one = 1), (SELECT at FROM events WHERE id = (SELECT last FROM event_counter WHERE one = 1))`

// Columns are where MarkColumns are scanned to.
func (m *Mark) Columns() []any { return []any{&m.last, &m.at} }

// String is short, and differs from that of every other mark.
func (m Mark) String() string {
	var at int64
	if m.at != nil {
		at = m.at.UnixMicro()
	}
	return strconv.FormatInt(m.last, 10) + "/" + strconv.FormatInt(at, 10)
}

// ReadMark reads the mark alone.
func ReadMark(ctx context.Context, q db.Queryer) (m Mark, err error) {
	if err = q.QueryRow(ctx, `SELECT `+MarkColumns).Scan(m.Columns()...); err != nil {
		err = fmt.Errorf("read the log's mark: %w", err)
	}
	return m, err
}
