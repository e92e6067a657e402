package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtime is a gateway whose transcripts the test writes, row by row.
type runtime struct {
	mu     sync.Mutex
	rows   map[string][]row // by session key
	ids    map[string]string
	cut    int // maximum number of rows per page, as for long rows; 0 means no maximum
	calls  int
	before func() // called before each request
	err    error
	refuse map[string]error // by session key
	sought int              // number of session lookups
}

// row is a row of a transcript: hidden, a tool result, or a message.
type row struct {
	hidden bool
	result string // of a tool call in the previous message
	text   string
	calls  int // number of tool calls in the message
}

func (r *runtime) Session(_ context.Context, key string) (gateway.Session, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sought++
	if err := r.refuse[key]; err != nil {
		return gateway.Session{}, false, err
	}
	return gateway.Session{Key: key, ID: r.ids[key]}, r.rows[key] != nil, r.err
}

// Turns pages like the gateway's client: the offset counts from the newest row,
// the limit counts visible rows, and results stay with their calls.
func (r *runtime) Turns(_ context.Context, key string, limit int, offset int64) (gateway.TurnPage, error) {
	if r.before != nil {
		r.before()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if err := r.refuse[key]; err != nil {
		return gateway.TurnPage{}, err
	}
	rows := r.rows[key]
	total := int64(len(rows))
	if r.err != nil || rows == nil {
		return gateway.TurnPage{}, r.err
	}
	if r.cut > 0 {
		limit = min(limit, r.cut)
	}
	to := max(total-offset, 0)
	from, seen := to, 0
	for from > 0 && seen < limit {
		if from--; !rows[from].hidden {
			seen++
		}
	}
	for from > 0 && rows[from].hidden {
		from++
		if from == to {
			break
		}
	}
	first := from
	for first > 0 && first < to && (rows[first].result != "" || rows[first].hidden) {
		first++
	}
	if first < to {
		from = first
	}
	p := gateway.TurnPage{SessionID: r.ids[key], Total: total, Turns: turnsOf(rows, from, to)}
	if from > 0 {
		p.Older = total - from
	}
	return p, nil
}

func turnsOf(rows []row, from, to int64) []gateway.Turn {
	var turns []gateway.Turn
	for i := from; i < to; i++ {
		switch is := rows[i]; {
		case is.hidden:
		case is.result != "":
			for j := range turns[len(turns)-1].Blocks {
				if call := turns[len(turns)-1].Blocks[j].Tool; call != nil && call.Status == gateway.ToolPending {
					call.Status, call.Result = gateway.ToolDone, is.result
					break
				}
			}
		default:
			t := gateway.Turn{ID: fmt.Sprint(i + 1), Seq: i + 1, Role: "assistant", At: clock.At(monday.Add(time.Duration(i) * time.Second)), Blocks: []gateway.Block{{Kind: gateway.TextBlock, Text: is.text}}}
			for n := range is.calls {
				t.Blocks = append(t.Blocks, gateway.Block{Kind: gateway.ToolBlock, Tool: &gateway.ToolCall{ID: fmt.Sprint(i, "-", n), Name: "ls", Status: gateway.ToolPending, Arguments: `{"path":"."}`}})
			}
			turns = append(turns, t)
		}
	}
	return turns
}

var monday = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)

// bench is an archive with a clock and a runtime controlled by the test.
type bench struct {
	t       testing.TB
	s       *Service
	k       *archiver
	runtime *runtime
	now     time.Time
	rows    []gateway.Session
}

func newBench(t testing.TB, d *db.DB) *bench {
	b := &bench{t: t, now: monday.Add(time.Hour), runtime: &runtime{rows: map[string][]row{}, ids: map[string]string{}}}
	b.s = &Service{DB: d, Runtime: b.runtime, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: func() time.Time { return b.now }, Lists: &mirror.Sessions{}, Pace: Pace{Call: time.Nanosecond, Lease: time.Hour}}
	b.k = newArchiver(b.s)
	return b
}

// observe gives the archive the runtime's current list.
func (b *bench) observe() { b.s.Lists.Put(slices.Clone(b.rows), clock.At(b.now)) }

// pass runs a pass as Run does.
func (b *bench) pass(ctx context.Context) {
	loop := mirror.Loop{DB: b.s.DB, Log: b.s.Log, Pass: b.k.pass}
	loop.Step(ctx)
}

// release gives up the claim, as at the end of Run.
func (b *bench) release() {
	if err := b.k.claim.Release(context.Background()); err != nil {
		b.t.Error(err)
	}
}

// say adds rows to a session and updates it.
func (b *bench) say(key string, rows ...row) {
	b.runtime.mu.Lock()
	b.runtime.rows[key] = append(append([]row{}, b.runtime.rows[key]...), rows...)
	if b.runtime.ids[key] == "" {
		b.runtime.ids[key] = "t-" + key
	}
	b.runtime.mu.Unlock()
	b.now = b.now.Add(time.Second)
	g := gateway.Session{Key: key, ID: b.runtime.ids[key], AgentID: "cto", Kind: "custom", Status: "done", UpdatedAt: clock.At(b.now), EndedAt: clock.At(b.now)}
	b.rows = append(slices.DeleteFunc(b.rows, func(g gateway.Session) bool { return g.Key == key }), g)
}

// look runs a pass after all sessions have become idle.
func (b *bench) look(ctx context.Context) {
	b.now = b.now.Add(time.Minute)
	b.observe()
	b.pass(ctx)
}

// stored returns the archived session and all its messages, read in pages of
// limit.
func (b *bench) stored(key string, limit int) (Archived, []transcript.Message) {
	ctx := context.Background()
	part, err := b.s.List(ctx, Filter{}, page.Want{Query: page.Query{Limit: 500}})
	if err != nil {
		b.t.Fatal(err)
	}
	i := slices.IndexFunc(part.Rows, func(a Archived) bool { return a.Key == key })
	if i < 0 {
		return Archived{}, nil
	}
	var all []transcript.Message
	for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
		some, next, err := b.s.Messages(ctx, part.Rows[i].ID, cursor, limit)
		if err != nil {
			b.t.Fatal(err)
		}
		all, cursor = slices.Concat(some, all), next
	}
	return part.Rows[i], all
}

// wanted returns the conversation as the runtime reports it.
func (b *bench) wanted(key string) []transcript.Message {
	rows := b.runtime.rows[key]
	all := []transcript.Message{}
	for _, t := range turnsOf(rows, 0, int64(len(rows))) {
		all = append(all, transcript.Of(t))
	}
	return all
}

func someRows(t *rapid.T) []row {
	var rows []row
	for range rapid.IntRange(0, 20).Draw(t, "bursts") {
		calls := rapid.IntRange(0, 3).Draw(t, "calls")
		for range rapid.IntRange(0, 40).Draw(t, "plain") {
			rows = append(rows, row{text: "plain"})
		}
		rows = append(rows, row{text: rapid.StringN(0, 20, 60).Draw(t, "text"), calls: calls})
		for n := range calls {
			rows = append(rows, row{result: fmt.Sprint("result ", n)})
		}
		for range rapid.IntRange(0, 2).Draw(t, "hidden") {
			rows = append(rows, row{hidden: true})
		}
	}
	return rows
}

// The archive has each message once, in order, with its tool results, for
// transcripts of any length, any page sizes, and across continuations and
// restarts.
func TestArchiveEqualsTheTranscript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			b := newBench(t, d)
			defer func() { b.release() }()
			n++
			b.now = b.now.Add(time.Duration(n) * 24 * time.Hour) // later than earlier iterations
			b.runtime.cut = rapid.SampledFrom([]int{0, 7, 100, 499}).Draw(rt, "cut")
			key := fmt.Sprint("agent:cto:", n)
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				b.say(key, someRows(rt)...)
				if rapid.Bool().Draw(rt, "another process") {
					b.release()
					b.k = newArchiver(b.s)
				}
				b.look(t.Context())
				a, got := b.stored(key, rapid.IntRange(20, 300).Draw(rt, "page"))
				want, all := b.wanted(key), append([]transcript.Message{}, got...)
				if !reflect.DeepEqual(want, all) || a.Coverage != Whole || a.Messages != int64(len(all)) {
					rt.Fatalf("%+v (-runtime +archive):\n%s", a, cmp.Diff(want, all))
				}
			}
		})
	})
}

func plain(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{text: fmt.Sprint("Line ", i)}
	}
	return rows
}

// A transcript of 20,000 rows takes few requests and continues after an
// interruption.
func TestArchiveOfALongTranscript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const rows, key = 20_000, "agent:cto:long"
		b.say(key, plain(rows)...)
		b.runtime.before = func() {
			if b.runtime.calls == 15 {
				b.runtime.err = link.ErrUnreachable.With("The line broke.")
			}
		}
		b.look(t.Context())
		part, _ := b.stored(key, 500)
		if part.ID != "" {
			t.Errorf("half of it counts as archived: %+v", part)
		}
		b.runtime.before, b.runtime.err = nil, nil
		b.release()
		b.k = newArchiver(b.s)
		b.look(t.Context())
		a, got := b.stored(key, 500)
		if a.Coverage != Whole || len(got) != rows || *got[rows-1].Blocks[0].Text != "Line 19999" {
			t.Errorf("%+v, %d messages", a, len(got))
		}
		if b.runtime.calls > 50 {
			t.Errorf("it took %d readings", b.runtime.calls)
		}
		t.Logf("%d readings", b.runtime.calls)
		calls := b.runtime.calls
		b.look(t.Context())
		if b.runtime.calls != calls {
			t.Error("what has not changed was read again")
		}
		b.say(key, row{text: "One more"})
		b.look(t.Context())
		if _, got := b.stored(key, 500); len(got) != rows+1 || b.runtime.calls != calls+1 {
			t.Errorf("%d messages after one more, with %d readings", len(got), b.runtime.calls-calls)
		}
	})
}

// A transcript of long rows that grows while it is read is archived without
// duplicates.
func TestArchiveOfAGrowingTranscript(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const key = "agent:cto:main"
		b.say(key, plain(600)...)
		b.runtime.cut = 50
		b.runtime.before = func() {
			b.runtime.rows[key] = append(b.runtime.rows[key], row{text: "Still at it", calls: 1}, row{result: "yes"})
		}
		b.look(t.Context())
		b.runtime.before = nil
		if _, got := b.stored(key, 500); len(got) < 600 || b.runtime.calls > 40 {
			t.Errorf("%d messages are here after %d readings", len(got), b.runtime.calls)
		}
		b.say(key, row{text: "Done"})
		b.look(t.Context())
		a, got := b.stored(key, 100)
		if diff := cmp.Diff(b.wanted(key), got); diff != "" || a.Coverage != Whole {
			t.Errorf("%+v (-runtime +archive):\n%s", a, diff)
		}
		t.Logf("%d readings", b.runtime.calls)
	})
}

// A transcript that became shorter replaces the archived one.
func TestArchiveOfAShorterTranscript(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const key = "agent:cto:main"
		b.say(key, plain(700)...)
		b.look(t.Context())
		b.runtime.rows[key] = nil
		b.say(key, row{text: "Summed up", calls: 1}, row{result: "yes"})
		b.look(t.Context())
		a, got := b.stored(key, 10)
		if diff := cmp.Diff(b.wanted(key), got); diff != "" || a.Messages != 1 || a.Coverage != Whole {
			t.Errorf("%+v (-runtime +archive):\n%s", a, diff)
		}
	})
}

// A session that existed only between two passes is archived, and one that is
// merely unlisted is not marked as deleted.
func TestArchiveOfTheGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		b.say("agent:cto:main", plain(3)...)
		b.say("agent:cto:away", plain(3)...)
		b.look(t.Context())
		b.say("agent:cto:brief", plain(1)...)
		b.observe()
		b.rows = b.rows[:1]
		delete(b.runtime.rows, "agent:cto:brief")
		b.look(t.Context())
		if a, _ := b.stored("agent:cto:brief", 10); a.ID == "" || *a.Ended != Deleted || a.Coverage != None || a.Present {
			t.Errorf("it was brief, and is %+v", a)
		}
		if a, _ := b.stored("agent:cto:away", 10); !a.Present || a.Coverage != Whole {
			t.Errorf("it is only in no list, and is %+v", a)
		}
		b.runtime.err = errors.New("refused")
		b.rows = nil
		delete(b.runtime.rows, "agent:cto:main")
		b.look(t.Context())
		if a, _ := b.stored("agent:cto:main", 10); !a.Present {
			t.Error("nobody could say whether it is gone")
		}
		b.runtime.err = nil
		b.look(t.Context())
		a, got := b.stored("agent:cto:main", 10)
		if a.Present || *a.Ended != Deleted || a.Coverage != Whole || len(got) != 3 {
			t.Errorf("it is gone, and is %+v with %d messages", a, len(got))
		}
		var at int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM archive_sessions`).Scan(&at); err != nil || at != 3 {
			t.Errorf("%d rows, %v", at, err)
		}
	})
}

// A transcript that cannot be archived does not block the others.
func TestArchiveGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		b.say("agent:cto:a", row{text: "x"})
		b.say("agent:cto:bad", plain(1)...)
		b.say("agent:cto:z", row{text: "x"})
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO archive_sessions (id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message,
				active, last_at, version, as_of, present, ended, coverage, read_version, last_seq, messages, purged)
				VALUES ('bad', 'agent:cto:bad', 't-agent:cto:bad', '', '', '', '', '', '', '', FALSE, ?, 0, ?, TRUE, '', 'partial', -1, 1, 1, FALSE)`, monday, monday)
			if err == nil {
				_, err = tx.Exec(t.Context(), `INSERT INTO archive_parts (session_id, part, first, messages, size, data) VALUES ('bad', 0, 0, 1, 5, ?)`, []byte("rubbish"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.look(t.Context())
		for _, key := range []string{"agent:cto:a", "agent:cto:z"} {
			if a, _ := b.stored(key, 10); a.Coverage != Whole {
				t.Errorf("%s is %+v", key, a)
			}
		}
		calls := b.runtime.calls
		b.look(t.Context())
		if b.runtime.calls != calls {
			t.Error("what failed is tried again at once")
		}
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `DELETE FROM archive_parts WHERE session_id = 'bad'`)
			if err == nil {
				_, err = tx.Exec(t.Context(), `UPDATE archive_sessions SET messages = 0, last_seq = 0 WHERE id = 'bad'`)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(refused)
		b.look(t.Context())
		if a, got := b.stored("agent:cto:bad", 10); a.Coverage != Whole || len(got) != 1 {
			t.Errorf("what failed is not tried again: %+v", a)
		}
	})
}

// Only one replica archives, and another takes over when it stops.
func TestArchiveIsClaimed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		b.say("agent:cto:main", plain(3)...)
		b.look(t.Context())
		other := newBench(t, d)
		other.runtime, other.s.Runtime, other.rows, other.now = b.runtime, b.runtime, b.rows, b.now
		other.k.claim.Alone = false // otherwise a new process takes over at once on SQLite
		calls := b.runtime.calls
		b.say("agent:cto:main", plain(3)...)
		other.rows = b.rows
		other.look(t.Context())
		if b.runtime.calls != calls {
			t.Error("both read")
		}
		b.release()
		other.look(t.Context())
		if a, got := other.stored("agent:cto:main", 10); len(got) != 6 || b.runtime.calls != calls+1 {
			t.Errorf("%+v, %d messages, %d readings", a, len(got), b.runtime.calls-calls)
		}
	})
}

// The indexed text is bounded and consists of whole characters.
func TestWordsBounded(t *testing.T) {
	t.Parallel()
	var w words
	for range 100 {
		w = w.with(strings.Repeat("zäh ", 500))
	}
	w = w.with("the end")
	if len(w.head) > wordsMost || len(w.tail) > wordsMost || !strings.HasSuffix(w.tail, "the end") || !strings.HasPrefix(w.head, "zäh") || strings.ContainsRune(w.head+w.tail, '�') {
		t.Errorf("%d and %d bytes", len(w.head), len(w.tail))
	}
}
