//go:build unix && !aix && !solaris

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal at standard input. One process group is in its
// foreground: it reads, and gets what Ctrl-C and Ctrl-Z send.
type terminal struct {
	fd   int
	lent bool // the command was put into the foreground
}

// openTerminal returns nil if f is not this process's controlling terminal.
func openTerminal(f *os.File) *terminal {
	t := &terminal{fd: int(f.Fd())}
	if _, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err != nil {
		return nil
	}
	return t
}

func (t *terminal) foreground() int {
	pgid, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0 // it was hung up
	}
	return pgid
}

// ours reports whether this process's group is in the foreground.
func (t *terminal) ours() bool { return t.foreground() == unix.Getpgrp() }

func (t *terminal) lend(pgid int) {
	t.lent = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, pgid) == nil
}

// takeBack makes this process's group the foreground one again, if pgid is that.
func (t *terminal) takeBack(pgid int) {
	if t.foreground() == pgid {
		_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp())
	}
}

// isTerminal reports whether somebody can answer a question there. /dev/null is a
// character device too, but has no window.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
