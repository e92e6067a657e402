// Package schema holds every table, as numbered SQL files that serve both engines.
package schema

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS returns the migrations, to be given to db.Migrate.
func FS() fs.FS { return files }
