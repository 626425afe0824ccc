package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel kill the command when this process dies, however it does.
func dieWithParent(a *syscall.SysProcAttr) {
	a.Pdeathsig = syscall.SIGKILL
}

// adoptOrphans makes this process the parent of its descendants' orphans, so that they
// are waited for: in a container, nobody else may do it.
func adoptOrphans() {
	// Without it, a container's init must do its duty.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}
