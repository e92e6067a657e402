package wire

// Ring is a map of limited size. When it is full, a new entry replaces the oldest one.
// Create it with NewRing.
type Ring[V any] struct {
	values map[string]V
	order  []string
	most   int
}

// NewRing returns a ring for at most the given number of entries.
func NewRing[V any](most int) Ring[V] { return Ring[V]{values: map[string]V{}, most: most} }

// Get returns the value for a key, and whether the ring has one.
func (r *Ring[V]) Get(key string) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

// Put stores the value for a key.
func (r *Ring[V]) Put(key string, v V) {
	if _, ok := r.values[key]; !ok {
		if len(r.order) >= r.most {
			delete(r.values, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.values[key] = v
}

// Remove removes a key, unless the ring does not have it.
func (r *Ring[V]) Remove(key string) {
	if _, ok := r.values[key]; !ok {
		return
	}
	delete(r.values, key)
	for i, k := range r.order {
		if k == key {
			r.order = append(r.order[:i], r.order[i+1:]...)
			return
		}
	}
}
