//go:build unix && !aix && !solaris && !linux

package main

import "syscall"

// dieWithParent does nothing: there is no such thing here.
func dieWithParent(*syscall.SysProcAttr) {}

// adoptOrphans does nothing: init waits for them here.
func adoptOrphans() {}
