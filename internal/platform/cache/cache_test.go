package cache

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
)

// Whoever got the text of another state would show what is not so any more.
func TestGet(t *testing.T) {
	var c Cache[string, int]
	if _, ok := c.Get("a", 1); ok || c.Has("a") {
		t.Error("an empty cache has something")
	}
	c.Put("a", 1, []byte("one"))
	if text, ok := c.Get("a", 1); !ok || string(text) != "one" || !c.Has("a") {
		t.Errorf("%s, %t", text, ok)
	}
	if text, ok := c.Get("a", 2); ok {
		t.Errorf("of a later state there is %s", text)
	}
	c.Put("a", 2, []byte("two"))
	if text, ok := c.Get("a", 1); ok {
		t.Errorf("of the state before there is %s", text)
	}
	if text, _ := c.Get("a", 2); string(text) != "two" {
		t.Errorf("%s", text)
	}
	if s := c.Stats(); s != (Stats{Hits: 2, Misses: 4, Bytes: int64(cap([]byte("two"))) + overhead}) {
		t.Errorf("%+v", s)
	}
}

// A cache without an end would take all memory, and one that throws away what is
// in use would be of none.
func TestMost(t *testing.T) {
	const size = 700
	text := bytes.Repeat([]byte("x"), size)
	c := Cache[int, int]{Most: 10 * (size + overhead)}
	for i := range 100 {
		c.Put(i, 0, text)
		if _, ok := c.Get(0, 0); !ok {
			t.Fatalf("after %d others the one in use is gone", i)
		}
	}
	for i, want := range map[int]bool{98: true, 99: true, 1: false, 50: false, 90: false, 91: true} {
		if c.Has(i) != want {
			t.Errorf("%d: %t", i, c.Has(i))
		}
	}
	if s := c.Stats(); s.Bytes != 10*(size+overhead) {
		t.Errorf("%d bytes", s.Bytes)
	}
	c.Put(0, 0, make([]byte, c.Most))
	if c.Has(0) || !c.Has(99) {
		t.Error("what is larger than the cache has taken the place of others, or left its older self")
	}
}

// Many read and write at once, also the same key.
func TestTogether(t *testing.T) {
	c := Cache[int, int]{Most: 20 * (overhead + 10)}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 2000 {
				key, state := i%40, i/40%3
				if text, ok := c.Get(key, state); ok && string(text) != fmt.Sprint(key, state) {
					t.Errorf("of %d in %d there is %s", key, state, text)
				}
				c.Put(key, state, fmt.Append(nil, key, state))
			}
		})
	}
	all.Wait()
	if s := c.Stats(); s.Bytes > int64(c.Most) || s.Bytes <= 0 {
		t.Errorf("%+v", s)
	}
}
