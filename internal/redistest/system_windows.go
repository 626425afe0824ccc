package redistest

import (
	"errors"
	"syscall"
)

// There is no redis-server for Windows, so these only let the tests build.
const (
	stopSignal = syscall.Signal(0x13)
	contSignal = syscall.Signal(0x12)
)

func dieWithParent() *syscall.SysProcAttr { return nil }

func stopped(int) (bool, error) {
	return false, errors.New("stopping a process is not possible on Windows")
}
