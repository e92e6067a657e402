// Package schema contains the database migrations: numbered SQL files for SQLite and
// PostgreSQL.
package schema

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS returns the migrations for db.Migrate.
func FS() fs.FS { return files }
