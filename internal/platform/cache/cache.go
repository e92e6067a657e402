// Package cache keeps what is costly to make out of rows, such as their JSON,
// with the state that each row was in.
//
// It is never asked what is true: whoever reads it has just read the row's state
// from the database, and gets only what was made of exactly that state.
package cache

import (
	"cmp"
	"container/list"
	"sync"
)

// Cache keeps texts by a key, as long as they fit. State is all that the text was
// made from, or what changes whenever that does. What was used last stays
// longest. It may be used by many goroutines, and must not be copied. The zero
// Cache is ready.
type Cache[K, State comparable] struct {
	Most int // bytes, about; 0 is 16 MiB. Set it before anybody uses the cache

	mu     sync.Mutex
	known  map[K]*list.Element
	used   list.List // of *entry, the last used first
	size   int
	hits   int64
	misses int64
}

// usualMost is about ten thousand tasks of a usual length.
const usualMost = 16 << 20

type entry[K, State comparable] struct {
	key   K
	state State
	text  []byte
}

// overhead is about what an entry takes besides its text, in bytes.
const overhead = 300

// Get returns the text that was made of the key in this state. Nobody may change
// it.
func (c *Cache[K, State]) Get(key K, state State) (text []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.known[key]
	if at == nil || c.entry(at).state != state {
		c.misses++
		return nil, false
	}
	c.hits++
	c.used.MoveToFront(at)
	return c.entry(at).text, true
}

// Has reports whether there is a text of the key, of whatever state: whether it is
// worth while to read the state. If there is none, that counts as a miss.
func (c *Cache[K, State]) Has(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key] == nil {
		c.misses++
		return false
	}
	return true
}

// Put keeps a text, instead of what was made of another state of the key. It is
// not to be changed any more. What was not used for the longest time makes room.
func (c *Cache[K, State]) Put(key K, state State, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.known[key]; at != nil {
		c.drop(at)
	}
	most := cmp.Or(c.Most, usualMost)
	if cap(text)+overhead > most {
		return
	}
	if c.known == nil {
		c.known = map[K]*list.Element{}
	}
	c.known[key] = c.used.PushFront(&entry[K, State]{key, state, text})
	c.size += cap(text) + overhead
	for c.size > most {
		c.drop(c.used.Back())
	}
}

func (c *Cache[K, State]) drop(at *list.Element) {
	e := c.entry(at)
	c.used.Remove(at)
	delete(c.known, e.key)
	c.size -= cap(e.text) + overhead
}

func (*Cache[K, State]) entry(at *list.Element) *entry[K, State] {
	return at.Value.(*entry[K, State]) //nolint:errcheck,forcetypeassert // nothing else is put into it
}

// Stats tells how well a cache serves.
type Stats struct {
	Hits, Misses int64 // since the start
	Bytes        int64 // that it takes, about
}

// Stats tells how well the cache serves.
func (c *Cache[K, State]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{c.hits, c.misses, int64(c.size)}
}
