// Package schema contains the database migrations: numbered SQL files for SQLite and
// PostgreSQL. The files up to Base create the tables of one feature each. Later files change them.
package schema

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// Base is the schema version of a new database before any later migration. Lower versions are
// those of unreleased programs, or of a first start that was interrupted.
const Base = 226

// FS returns the migrations for db.Migrate.
func FS() fs.FS { return files }
