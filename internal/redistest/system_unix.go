//go:build unix && !linux

package redistest

import (
	"bytes"
	"os/exec"
	"strconv"
	"syscall"
)

const (
	stopSignal = syscall.SIGSTOP
	contSignal = syscall.SIGCONT
)

// dieWithParent: there is no such thing here. Cleanup ends the servers.
func dieWithParent() *syscall.SysProcAttr { return nil }

// stopped reports whether a process is stopped.
func stopped(pid int) (bool, error) {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return bytes.HasPrefix(bytes.TrimSpace(state), []byte("T")), err
}
