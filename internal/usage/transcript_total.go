package usage

import (
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// Total is the usage of a transcript so far, including that of a run in progress. Two of them can be compared with ==.
type Total struct {
	Tokens   Tokens
	Cost     money.Nano
	Priced   bool // whether Cost is known, at least in part
	Complete bool // whether all usage has a price
	// Version is the gateway.Session.Version up to which the transcript has been read; 0 if it has never been read to
	// its end.
	Version int64
}

// OfTranscripts returns the usage of the given transcripts by ID, without what was copied from other transcripts. It
// omits transcripts that have not been read and have no usage.
func (s *Service) OfTranscripts(ctx context.Context, ids []string) (map[string]Total, error) {
	by := make(map[string]Total, len(ids))
	for some := range slices.Chunk(ids, 500) {
		args := make([]any, 0, 3*len(some))
		for range 3 {
			for _, id := range some {
				args = append(args, id)
			}
		}
		rows, err := s.DB.Query(ctx, `
			SELECT id, MAX(version), `+addedUp+` FROM (
				SELECT session_id AS id, version, `+eachSum("0 AS %[1]s")+` FROM usage_transcripts
					WHERE TRUE`+inCondition("session_id", some)+`
				UNION ALL
				SELECT name AS id, 0 AS version, `+sumColumns+` FROM usage_rollup
					WHERE dimension = 'transcript' AND span = 0 AND start = 0`+inCondition("name", some)+`
				UNION ALL
				SELECT session_id AS id, 0 AS version, `+rowAmounts+` FROM `+inProgress+`
					WHERE TRUE`+inCondition("session_id", some)+`
			) AS used GROUP BY id`, args...)
		_, err = db.All(rows, err, func(r db.Row) (id string, err error) {
			var a amounts
			var version int64
			err = r.Scan(append([]any{&id, &version}, a.pointers()...)...)
			by[id] = Total{
				Tokens: a.tokens, Cost: money.Nano(a.cost), Priced: a.priced > 0 || a.unpriced == 0,
				Complete: a.unpriced == 0, Version: version,
			}
			return id, err
		})
		if err != nil {
			return nil, fmt.Errorf("read the usage of transcripts: %w", err)
		}
	}
	return by, nil
}
