package web

import "context"

// RequestID returns the ID of the request in ctx, or "" if there is none. The same ID appears
// in the X-Request-Id header, in problem responses and in the log.
func RequestID(ctx context.Context) string {
	if x := from(ctx); x != nil {
		return x.id
	}
	return ""
}

// CheckJSON returns a fault unless data is JSON that Wardroom accepts. Besides RFC
// 8259, Wardroom requires valid UTF-8, strings without NUL or unpaired surrogates,
// objects without duplicate keys, at most maxDepth levels of nesting, and nothing
// after the value. The fault gives the position and the reason, and never quotes a
// value.
func CheckJSON(data []byte) error {
	s := scanner{data: data}
	return s.document(nil)
}
