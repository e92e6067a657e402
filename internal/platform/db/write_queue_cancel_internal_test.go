package db

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// fickle is a context that ends after it was asked so many times whether it has.
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

// Who leaves in the very moment in which they are let in must not take the writer
// along: nobody could write any more until the service is started anew.
func TestWritersLetNobodyInWhoLeaves(t *testing.T) {
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
