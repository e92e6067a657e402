package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
)

const (
	onceHeader     = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

// Once makes the route accept an Idempotency-Key. The service must create the resource in
// once.Do.
func Once() Option {
	return func(r *route) {
		r.once = true
		r.fails = append(r.fails, once.ErrConflict, once.ErrGone)
	}
}

// documentOnce documents the Idempotency-Key header.
func (r *route) documentOnce() {
	if !r.once {
		return
	}
	if r.Permission == actor.Public {
		panic(fmt.Sprintf("web: %s %s: idempotency keys belong to a caller, and this route is public", r.Method, r.Path))
	}
	least, most := 1, once.MaxKey
	r.op.Parameters = append(r.op.Parameters, &huma.Param{
		Name: onceHeader, In: "header",
		Schema: &huma.Schema{
			Type: huma.TypeString, MinLength: &least, MaxLength: &most, Examples: []any{"6f1c1f0e-2f0d-4d4b-9d0e-0d3b7f0c9a55"},
		},
		Description: "Makes it safe to retry the request: for 24 hours, the same key with the same request returns the resource in its current state " +
			"instead of creating another one. The same key with a different request is rejected. Use a random key, such as a UUID.",
	})
	usual := r.op.Responses[strconv.Itoa(r.op.DefaultStatus)]
	if usual.Headers == nil {
		usual.Headers = map[string]*huma.Param{}
	}
	usual.Headers[replayedHeader] = &huma.Param{
		Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}},
		Description: "Set if an earlier request with the same " + onceHeader + " created the resource.",
	}
}

// repeatable returns a context with the client's idempotency key, or ctx itself if
// the client sent no key.
func (x *exchange) repeatable(ctx context.Context) (context.Context, *once.Request, error) {
	given := x.r.Header.Values(onceHeader)
	if !x.route.once || len(given) == 0 {
		return ctx, nil, nil
	}
	if len(given) > 1 || !isKey(given[0]) {
		var f fault.Fields
		f.Add("header."+onceHeader, "Send one key of 1 to %d visible ASCII characters, such as a UUID, or omit the header.",
			once.MaxKey)
		return ctx, nil, f.Err()
	}
	var sent bytes.Buffer
	sent.WriteString(x.r.URL.RequestURI())
	sent.WriteByte('\n')
	if x.body != nil && x.body.Len() > 0 {
		if err := json.Compact(&sent, x.body.Bytes()); err != nil {
			return ctx, nil, fmt.Errorf("compact the body: %w", err) // unexpected: the scanner accepted it
		}
	}
	r := once.New(x.caller.ID, x.route.Method+" "+x.route.Path, given[0], sent.Bytes())
	return once.With(ctx, r), r, nil
}

func isKey(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= once.MaxKey
}

// setReplayed sets the Idempotency-Replayed header if the resource was created by an
// earlier request with r's idempotency key.
func setReplayed(h http.Header, r *once.Request) {
	if r != nil && r.Replayed() {
		h.Set(replayedHeader, "true")
	}
}
