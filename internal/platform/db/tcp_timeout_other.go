//go:build !linux

package db

import "syscall"

// setUserTimeout does nothing, because only Linux has TCP_USER_TIMEOUT. TCP keepalive
// still detects dead connections.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
