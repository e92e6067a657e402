package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// hasDisplay reports whether a person at a terminal would see a browser window: out is a terminal,
// and the session is graphical and not remote.
func hasDisplay(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// browserCommand returns the command that opens a URL in the default browser of an operating system.
// No shell is involved.
func browserCommand(system, url string) []string {
	switch system {
	case "darwin":
		return []string{"open", url}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	return []string{"xdg-open", url}
}

// openBrowser opens a URL in the default browser, without waiting for it. If that fails, the person
// opens the printed link.
func openBrowser(ctx context.Context, url string) {
	command := browserCommand(runtime.GOOS, url)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // G204: a fixed program; the URL is the demo's own
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
