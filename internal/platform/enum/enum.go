// Package enum describes strings that are one of a few words. A type lists its words
// once; its OpenAPI schema and its validation use that list.
package enum

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/fault"
)

// Schema returns the OpenAPI schema of a string that is one of the words.
func Schema[T ~string](words []T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, w := range words {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// Check adds an error to bad unless v is one of the words. The name is that of the field in the
// request. Services call Check because not all of their callers use the API.
func Check[T ~string](bad *fault.Fields, name string, v T, words []T) {
	if slices.Contains(words, v) {
		return
	}
	var all strings.Builder
	for _, w := range words[:len(words)-1] {
		all.WriteString(string(w) + ", ")
	}
	bad.Add("/"+name, "The %s must be %sor %s.", name, &all, words[len(words)-1])
}
