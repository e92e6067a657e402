package wire

import "testing"

// A ring has a limited size.
func TestRing(t *testing.T) {
	t.Parallel()
	r := NewRing[int](3)
	for i, key := range []string{"a", "b", "a", "c", "d", "e"} {
		r.Put(key, i)
	}
	r.Remove("d")
	r.Remove("d")
	r.Put("f", 6)
	got := ""
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if _, ok := r.Get(key); ok {
			got += key
		}
	}
	if got != "cef" || len(r.order) != 3 || len(r.values) != 3 {
		t.Errorf("kept %s, %v", got, r.order)
	}
}
