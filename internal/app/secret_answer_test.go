package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
)

// Answers with a secret are not compressed. Their fields are recognized by the
// format, so each token and key must declare one.
func TestSecretsInAnswersAreDeclared(t *testing.T) {
	type schema struct {
		Ref        string
		Properties map[string]struct {
			Type   any // a name, or a list of names
			Format string
		}
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	text := strings.ReplaceAll(string(newHouse(t, db.SQLite, nil).build().API.Document()), `"$ref"`, `"ref"`)
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for status, answer := range op.Responses {
				s := answer.Content["application/json"].Schema
				if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
					s = doc.Components.Schemas[name]
				}
				for name, p := range s.Properties {
					if p.Format == "password" {
						declared[method+" "+path] = true
					} else if strings.Contains(fmt.Sprint(p.Type), "string") && (name == "token" || name == "secret" || name == "password") {
						t.Errorf("%s %s: the %s of the answer %s is not declared as a password", method, path, name, status)
					}
				}
			}
		}
	}
	for _, route := range []string{"post /api/v1/auth/login", "post /api/v1/auth/link", "post /api/v1/auth/register", "post /api/v1/auth/setup", "post /api/v1/users/{id}/keys"} {
		if !declared[route] {
			t.Errorf("%s returns a secret that is not declared", route)
		}
	}
}
