package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Manifest describes a backup. It is stored in the file's seal.
type Manifest struct {
	Engine    string    `json:"engine"`              // sqlite or postgres
	MadeAt    time.Time `json:"made_at"`             // start of the backup
	Version   string    `json:"version"`             // of Wardroom
	Namespace string    `json:"namespace,omitempty"` // PostgreSQL's schema, such as public
	Server    string    `json:"server,omitempty"`    // the version of the PostgreSQL server
	Size      int64     `json:"size"`                // bytes before the seal
	Facts
}

// The seal is the end of a backup: the manifest as a line of JSON, padded with
// spaces to a whole number of blocks, and this last line:
//
//	wardroom-backup 1 00004096 <SHA-256 of everything before it, in hex>
//
// The third field is the size of the seal in bytes. A block has the size of an SQLite page, so a
// backup file always contains a whole number of pages.
const (
	lastLine   = "wardroom-backup 1 %08d "
	block      = 4096
	largest    = 256 * block // of a seal
	sumLen     = 2*sha256.Size + 1
	lastLength = len("wardroom-backup 1 00004096 ") + sumLen
)

// Errors for files that are not complete backups.
var (
	errNotBackup = errors.New(
		"the seal at the end of a Wardroom backup is missing. The file is not a backup, or it is truncated",
	)
	errBroken = errors.New("it is damaged: its content does not match its checksum. Use another backup")
)

// seal completes the manifest m, appends the seal to f, and returns the size of the file.
func seal(ctx context.Context, f *os.File, m *Manifest) (int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, reader{ctx, f})
	if err != nil {
		return 0, err
	}
	m.Size = size
	text, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	length := (len(text) + 1 + lastLength + block - 1) / block * block
	if length > largest {
		return 0, fmt.Errorf("the manifest is too long: %d bytes", len(text))
	}
	end := bytes.Repeat([]byte(" "), length-lastLength)
	copy(end, text)
	end[len(end)-1] = '\n'
	end = fmt.Appendf(end, lastLine, length)
	sum.Write(end)
	end = fmt.Appendf(end, "%x\n", sum.Sum(nil))
	if _, err := f.Write(end); err != nil {
		return 0, err
	}
	return size + int64(len(end)), nil
}

// unseal reads a whole backup and writes everything before its seal to content. It fails if any
// byte of the file has changed since the backup was written.
func unseal(ctx context.Context, f *os.File, content io.Writer) (m Manifest, err error) {
	size, length, err := findSeal(f)
	if err != nil {
		return m, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	sum, end := sha256.New(), make([]byte, length)
	if _, err := io.CopyN(io.MultiWriter(sum, content), reader{ctx, f}, size-length); err != nil {
		return m, err
	}
	if _, err := io.ReadFull(f, end); err != nil {
		return m, err
	}
	said := end[len(end)-sumLen:]
	sum.Write(end[:len(end)-sumLen])
	if want := hex.EncodeToString(sum.Sum(nil)) + "\n"; string(said) != want {
		return m, errBroken
	}
	if err := json.Unmarshal(end[:len(end)-lastLength], &m); err != nil || m.Size != size-length {
		return m, errBroken
	}
	return m, nil
}

// findSeal returns the size of the file and the length of its seal.
func findSeal(f *os.File) (size, length int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	if size < block || !info.Mode().IsRegular() {
		return 0, 0, errNotBackup
	}
	last := make([]byte, lastLength-sumLen)
	if _, err := f.ReadAt(last, size-int64(lastLength)); err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(string(last), lastLine, &length); err != nil {
		return 0, 0, errNotBackup
	}
	if length < block || length > min(size, largest) {
		return 0, 0, errBroken
	}
	return size, length, nil
}

// isBackup reports whether a file ends like a backup, with a seal. It does not verify the file's
// checksum.
func isBackup(file string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	_, _, err = findSeal(f)
	return err == nil
}

// reader is an io.Reader that stops when ctx ends.
type reader struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no context parameter
	from io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(b)
}
