package db

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// fickle is a context that ends after Err was called a number of times.
type fickle struct {
	context.Context
	asked, ends int
}

func (f *fickle) Err() error {
	if f.asked++; f.asked > f.ends {
		return context.Canceled
	}
	return nil
}

// A caller whose context ends at the moment of its turn must not block the writer:
// no other writer would ever get a turn.
func TestWritersCanceledAtTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for ends := range 4 {
			var w writers
			if _, err := w.enter(&fickle{Context: t.Context(), ends: ends}, false); err == nil {
				w.next(nil)
			}
			ctx, leave := context.WithTimeout(t.Context(), time.Minute)
			if _, err := w.enter(ctx, false); err != nil {
				t.Errorf("after one who had left when they were asked again after %d times nobody gets in: %v", ends, err)
			}
			leave()
		}
	})
}
