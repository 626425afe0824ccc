package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

const (
	stopSignal = syscall.SIGSTOP
	contSignal = syscall.SIGCONT
)

// dieWithParent has a child die with its parent, and not before: what is typed at a terminal
// goes to the parent alone, which ends its children in good order.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// stopped reports whether all of a process is stopped, as the kernel sees it.
func stopped(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	// "pid (name) state …": the name may hold anything, a parenthesis too.
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(bytes.TrimSpace(after), []byte("T")), nil
}
