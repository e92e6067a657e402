package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/search"
	"wardroom/internal/transcript"
)

const (
	chunk     = 500      // rows of a transcript per request
	tries     = 4        // attempts to read one chunk of a growing transcript
	chunks    = 200      // per transcript and pass, which is 100,000 rows; the next pass continues
	wordsMost = 24 << 10 // bytes of text to index from the beginning, and as many from the end
)

// read archives the messages of a transcript that are not archived yet, oldest first. Each chunk is
// committed separately, so that an interrupted read continues after the last committed chunk.
//
// A chunk begins with the last archived message, because results of its tool calls may have arrived
// since it was archived.
func (k *archiver) read(ctx context.Context, p *kept, why Ended) error {
	version := p.version
	// Retention may have purged the session since the last pass.
	is, err := findKept(ctx, k.s.DB, nameOf(&p.seen))
	if err != nil {
		return fmt.Errorf("find the session: %w", err)
	}
	p.readVersion, p.lastSeq, p.messages, p.coverage, p.purged = is.readVersion, is.lastSeq, is.messages, is.coverage,
		is.purged
	total := int64(0)
	for range chunks {
		if err := k.claim.Hold(ctx); err != nil {
			return err
		}
		c, ok, err := k.chunk(ctx, p, total)
		if err != nil {
			return err
		}
		if !ok { // reset or deleted; the next reading shows which
			p.readVersion = version
			return nil
		}
		if total = c.total; c.done {
			p.readVersion = version
		}
		err = k.write(ctx, p, c, why)
		if err != nil {
			p.readVersion = is.readVersion
		}
		switch {
		case errors.Is(err, errPurged):
			return nil // the next pass starts over
		case err != nil:
			return fmt.Errorf("store the transcript: %w", err)
		}
		if c.done {
			return nil
		}
	}
	return nil
}

// errPurged means that retention purged the archived messages of a transcript while newer ones were
// being read.
var errPurged = errors.New("the archived part was purged")

// piece is a chunk of a transcript.
type piece struct {
	turns   []gateway.Turn // oldest first, each with a Seq
	total   int64          // rows of the whole transcript
	restart bool           // the transcript is shorter than the archived part, which must be replaced
	upTo    int64          // last row read
	done    bool           // there are no more rows
	at      clock.Time     // when its newest rows were requested: rows added later may be missing
}

// chunk reads the next rows of a transcript, starting with the last archived one. The total parameter is the
// transcript's number of rows from an earlier read, or 0 if it is unknown. If the session has switched to a new
// transcript, ok is false.
func (k *archiver) chunk(ctx context.Context, p *kept, total int64) (c piece, ok bool, err error) {
	offset := max(total-(max(p.lastSeq, 1)-1+chunk), 0)
	for range tries {
		if err := k.claim.Renew(ctx); err != nil {
			return piece{}, false, err
		}
		k.wait(ctx)
		c.at = clock.At(k.s.Now())
		page, err := k.s.Runtime.Turns(ctx, p.seen.Key, chunk, offset)
		if err != nil {
			return piece{}, false, err
		}
		if page.SessionID != p.seen.ID {
			return piece{}, false, nil
		}
		c.total, c.restart = page.Total, page.Total < p.lastSeq
		from := max(p.lastSeq, 1)
		if c.restart {
			from = 1
		}
		// Offsets count from the newest row. If only a few rows were added
		// since total was read, keep the page.
		want := max(page.Total-(from-1+chunk), 0)
		if more := want - offset; firstOf(page) > from && (more < 0 || more > chunk) {
			offset = want
			continue
		}
		c.upTo, c.done = page.Total-offset, offset == 0
		turns, whole, err := k.backTo(ctx, p, from, offset, page)
		if err != nil {
			return piece{}, false, err
		}
		if !whole {
			continue
		}
		c.turns = slices.DeleteFunc(turns, func(t gateway.Turn) bool { return t.Seq < from })
		return c, true, nil
	}
	return piece{}, false, link.ErrBusy.With("The transcript is growing faster than Wardroom can read it.")
}

// firstOf returns the number of the oldest row on a page. Row numbers start at 1.
func firstOf(page gateway.TurnPage) int64 {
	if page.Older == 0 {
		return 1
	}
	return page.Total - page.Older + 1
}

// backTo extends a page with earlier rows, so that it starts at row number from or earlier. The
// gateway shortens a page if its rows are large in total (6 MiB in OpenClaw 2026.9.6), so backTo
// requests the missing rows. If rows are added between two requests, the gateway returns some rows
// twice; backTo removes the duplicates. If the transcript was replaced or became shorter, whole is
// false.
func (k *archiver) backTo(
	ctx context.Context, p *kept, from, offset int64, page gateway.TurnPage,
) (turns []gateway.Turn, whole bool, err error) {
	turns = numbered(page.Turns, page.Total-offset)
	for first := firstOf(page); first > from; first = min(first, firstOf(page)) {
		if err := k.claim.Renew(ctx); err != nil {
			return nil, false, err
		}
		k.wait(ctx)
		total := page.Total
		offset = page.Older
		if page, err = k.s.Runtime.Turns(ctx, p.seen.Key, chunk, offset); err != nil {
			return nil, false, err
		}
		if page.SessionID != p.seen.ID || page.Total < total {
			return nil, false, nil
		}
		older := numbered(page.Turns, page.Total-offset)
		if page.Total > total {
			older = slices.DeleteFunc(older, func(t gateway.Turn) bool { return t.Seq >= first })
		}
		turns = append(older, turns...)
	}
	return turns, true, nil
}

// numbered adds missing sequence numbers, counting back from upTo, the number of the last row.
func numbered(turns []gateway.Turn, upTo int64) []gateway.Turn {
	for i := range turns {
		if turns[i].Seq == 0 {
			turns[i].Seq = max(upTo-int64(len(turns)-1-i), 1)
		}
	}
	return turns
}

// write redacts the messages in a chunk and adds them to the archived ones.
func (k *archiver) write(ctx context.Context, p *kept, c piece, why Ended) error {
	messages := make([]transcript.Message, len(c.turns))
	for i, t := range c.turns {
		if err := k.claim.Renew(ctx); err != nil { // redacting many messages takes time
			return err
		}
		messages[i] = transcript.Of(t)
		messages[i].Each(k.mask)
	}
	is := *p
	err := k.s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		is = *p // the transaction may be retried
		if err := k.claim.HoldIn(ctx, tx); err != nil {
			return err
		}
		switch now, err := findKept(ctx, tx, nameOf(&is.seen)); {
		case db.IsNotFound(err) || err == nil && (now.lastSeq != is.lastSeq || now.messages != is.messages):
			return errPurged
		case err != nil:
			return err
		}
		before := is.lastSeq
		if c.restart {
			before, is.messages, is.lastSeq = 0, 0, 0
			if err := deleteParts(ctx, tx, is.id, 0); err != nil {
				return err
			}
		}
		if err := k.append(ctx, tx, &is, messages); err != nil {
			return err
		}
		switch {
		case c.done:
			is.coverage = Whole
		default:
			is.coverage = Partial
			if len(c.turns) == 0 || is.lastSeq <= before {
				is.lastSeq = c.upTo // only tool results of one message: continue after them
			}
		}
		var began *clock.Time
		if len(messages) > 0 && (before == 0) {
			began = messages[0].At
		}
		if err := putRead(ctx, tx, &is, began, c.done, why, c.at); err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(messages), func(m transcript.Message) bool {
			return m.Seq != nil && *m.Seq <= before
		})
		return k.index(ctx, tx, &is, &is.seen, fresh)
	})
	if err == nil {
		is.purged = is.purged && !c.done
		*p = is
	}
	return err
}

// append adds messages to the archived ones. It first deletes the archived messages that
// the new ones replace, starting at the first new message's sequence number.
func (k *archiver) append(ctx context.Context, tx *db.Tx, p *kept, messages []transcript.Message) error {
	if len(messages) == 0 {
		return nil
	}
	number, first := int64(0), int64(0)
	again := *messages[0].Seq
	for {
		last, err := lastPart(ctx, tx, p.id)
		if db.IsNotFound(err) {
			break
		}
		if err != nil {
			return err
		}
		kept, err := last.unpack()
		if err != nil {
			return err
		}
		stay := slices.IndexFunc(kept, func(m transcript.Message) bool { return m.Seq != nil && *m.Seq >= again })
		if stay < 0 && len(kept) >= partMessages {
			number, first = last.number+1, last.first+last.messages
			break
		}
		if err := deleteParts(ctx, tx, p.id, last.number); err != nil {
			return err
		}
		number, first = last.number, last.first
		if stay != 0 {
			if stay > 0 {
				kept = kept[:stay]
			}
			messages = append(kept, messages...)
			break
		}
	}
	parts, err := pack(messages, number, first)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := insertPart(ctx, tx, p.id, part); err != nil {
			return err
		}
	}
	p.messages, p.lastSeq = first+int64(len(messages)), *messages[len(messages)-1].Seq
	return nil
}

// index adds a session's label, key, and text to the full-text search.
func (k *archiver) index(
	ctx context.Context, tx *db.Tx, p *kept, g *gateway.Session, fresh []transcript.Message,
) error {
	w, err := findWords(ctx, tx, p.id)
	if err != nil {
		return err
	}
	var more strings.Builder
	for i := range fresh {
		for _, b := range fresh[i].Blocks {
			switch {
			case b.Type == "text":
				more.WriteString(*b.Text)
			case b.Tool != nil:
				more.WriteString(b.Tool.Name)
				if a := b.Tool.Arguments; a != nil {
					more.WriteString(" " + (*a)[:whole(*a, 500)])
				}
			}
			more.WriteByte('\n')
		}
	}
	w = w.with(strings.ReplaceAll(more.String(), "\x00", "")) // not allowed in database texts
	if err := putWords(ctx, tx, p.id, w); err != nil {
		return err
	}
	title := k.redact.Text(g.Label) + " " + g.Key
	return search.PutSession(ctx, tx, search.SessionText{ID: p.id, Title: title, Body: w.head + " " + w.tail})
}

// with returns w with the given text added. The head field keeps the beginning of the transcript;
// once head is full, the tail field keeps the latest text.
func (w words) with(text string) words {
	if room := wordsMost - len(w.head); room > 0 && w.tail == "" {
		n := whole(text, room)
		w.head, text = w.head+text[:n], text[n:]
	}
	w.tail += text
	if over := len(w.tail) - wordsMost; over > 0 {
		for over < len(w.tail) && !utf8.RuneStart(w.tail[over]) {
			over++
		}
		w.tail = w.tail[over:]
	}
	return w
}

// whole returns how many bytes of text fit into the given limit without splitting a character.
func whole(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
