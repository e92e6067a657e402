package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/search"
	"wardroom/internal/transcript"
)

const (
	chunk     = 500      // rows of a transcript that are read at once
	tries     = 4        // readings of one chunk, while the transcript grows
	chunks    = 200      // of one transcript in one pass: 100,000 rows; the next pass goes on
	wordsMost = 24 << 10 // bytes of text, from the beginning and from the end each, that a session is found by
)

// read brings what a transcript has beyond what is here, the oldest first, in
// chunks that are written one by one: whoever comes after an interruption goes
// on behind the last.
//
// A chunk begins with the last message that is here, because that may have got
// the results of its tools since.
func (k *keeper) read(ctx context.Context, p *kept, why Ended) error {
	version := versionOf(&p.seen)
	// Retention may have taken it meanwhile.
	is, err := findKept(ctx, k.s.DB, nameOf(&p.seen))
	if err != nil {
		return fmt.Errorf("look for it: %w", err)
	}
	p.readVersion, p.lastSeq, p.messages, p.coverage, p.purged = is.readVersion, is.lastSeq, is.messages, is.coverage, is.purged
	total := int64(0)
	for range chunks {
		if err := k.claim(ctx); err != nil {
			return err
		}
		c, ok, err := k.chunk(ctx, p, total)
		if err != nil {
			return err
		}
		if !ok { // it was begun anew, or is gone; the next list tells
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
		case errors.Is(err, errTaken):
			return nil // the next pass begins anew
		case err != nil:
			return fmt.Errorf("write it: %w", err)
		}
		if c.done {
			return nil
		}
	}
	return nil
}

// errTaken says that what was here of a transcript went by retention while more of
// it was read.
var errTaken = errors.New("what was here is gone")

// piece is a chunk of a transcript.
type piece struct {
	turns []gateway.Turn // the oldest first, with a Seq each
	total int64          // rows of the whole transcript
	anew  bool           // what is here is of a transcript that was longer: it goes
	upTo  int64          // the last row that was looked at
	done  bool           // there are no more
}

// chunk reads the rows behind those that are here; false when the session has
// another transcript by now. total is how many rows it had a moment ago, or 0.
func (k *keeper) chunk(ctx context.Context, p *kept, total int64) (c piece, ok bool, err error) {
	offset := max(total-(max(p.lastSeq, 1)-1+chunk), 0)
	for range tries {
		if err := k.hold(ctx); err != nil {
			return piece{}, false, err
		}
		k.wait(ctx)
		page, err := k.s.Runtime.Turns(ctx, p.seen.Key, chunk, offset)
		if err != nil {
			return piece{}, false, err
		}
		if page.SessionID != p.seen.ID {
			return piece{}, false, nil
		}
		c.total, c.anew = page.Total, page.Total < p.lastSeq
		from := max(p.lastSeq, 1)
		if c.anew {
			from = 1
		}
		// Rows are counted from the newest one. A few more than a chunk, which have
		// come since the total was told, are no reason to begin anew.
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
	return piece{}, false, gateway.ErrBusy.With("The transcript grows faster than it can be read.")
}

// firstOf is the oldest row that a page has, from 1.
func firstOf(page gateway.TurnPage) int64 {
	if page.Older == 0 {
		return 1
	}
	return page.Total - page.Older + 1
}

// backTo is what a page has, and what is before it as far as a row: the gateway
// ends a page whose rows have many bytes before it has as many as it was asked for
// (6 MiB in OpenClaw 2026.9.6). What is said meanwhile moves the rows and repeats
// some. whole is false when the transcript has become another or shorter meanwhile.
func (k *keeper) backTo(ctx context.Context, p *kept, from, offset int64, page gateway.TurnPage) (turns []gateway.Turn, whole bool, err error) {
	turns = numbered(page.Turns, page.Total-offset)
	for first := firstOf(page); first > from; first = min(first, firstOf(page)) {
		if err := k.hold(ctx); err != nil {
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

// numbered gives turns whose place the runtime does not tell the place that they
// have at least.
func numbered(turns []gateway.Turn, upTo int64) []gateway.Turn {
	for i := range turns {
		if turns[i].Seq == 0 {
			turns[i].Seq = max(upTo-int64(len(turns)-1-i), 1)
		}
	}
	return turns
}

// write puts a chunk behind what is here.
func (k *keeper) write(ctx context.Context, p *kept, c piece, why Ended) error {
	messages := make([]transcript.Message, len(c.turns))
	for i, t := range c.turns {
		if err := k.hold(ctx); err != nil { // to mask very many takes its time
			return err
		}
		messages[i] = transcript.Of(t)
		messages[i].Each(func(text *string, cut, json bool) {
			if json {
				*text = k.mask.json(*text)
				return
			}
			*text = k.mask.text(*text, cut)
		})
	}
	is := *p
	err := k.s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		is = *p // the transaction may run again
		if mine, err := claim(ctx, tx, k.owner, k.s.Now(), k.pace.Lease, false); err != nil || !mine {
			return orClaimed(err)
		}
		switch now, err := findKept(ctx, tx, nameOf(&is.seen)); {
		case db.IsNotFound(err) || err == nil && (now.lastSeq != is.lastSeq || now.messages != is.messages):
			return errTaken
		case err != nil:
			return err
		}
		before := is.lastSeq
		if c.anew {
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
				is.lastSeq = c.upTo // nothing but results of one message: go on behind them
			}
		}
		var began *clock.Time
		if len(messages) > 0 && (before == 0) {
			began = messages[0].At
		}
		if err := putRead(ctx, tx, &is, began, c.done, why, clock.At(k.s.Now())); err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(messages), func(m transcript.Message) bool { return m.Seq != nil && *m.Seq <= before })
		return k.index(ctx, tx, &is, &is.seen, fresh)
	})
	if err == nil {
		is.purged = is.purged && !c.done
		*p = is
	}
	return err
}

func orClaimed(err error) error {
	if err == nil {
		return errClaimed
	}
	return err
}

// append writes messages behind those that are here, of which those give way
// that come again.
func (k *keeper) append(ctx context.Context, tx *db.Tx, p *kept, messages []transcript.Message) error {
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

// index makes a session findable by its name and by what was said in it.
func (k *keeper) index(ctx context.Context, tx *db.Tx, p *kept, g *gateway.Session, fresh []transcript.Message) error {
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
	w = w.with(strings.ReplaceAll(more.String(), "\x00", "")) // which no database takes
	if err := putWords(ctx, tx, p.id, w); err != nil {
		return err
	}
	title := k.mask.text(g.Label, false) + " " + g.Key
	return search.PutSession(ctx, tx, search.SessionText{ID: p.id, Title: title, Body: w.head + " " + w.tail})
}

// with are the words and further ones: the beginning is full at some time, of the
// rest the end counts.
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

// whole is how many bytes of a text are at most that many, and no half character.
func whole(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
