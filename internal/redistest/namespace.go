package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

var namespaces atomic.Int64

// Namespace makes masters that are in a network namespace each, so that [Master.Disconnect]
// can cut them off as a broken cable does: packets are lost, and nobody is told. It needs
// ip(8) of Linux, and a root that may: where that is not so the test is skipped, in CI too.
func Namespace(t T) Option {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		Unavailable(t, "ip is not on PATH: install iproute2")
	}
	if os.Geteuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	return func(m *Master) {
		n := (int64(os.Getpid())*64 + namespaces.Add(1)) % (1 << 14) // other test binaries have some, too
		name := fmt.Sprintf("redistest%d", n)                        // of the namespace, and of the device that leads there
		address := func(host int64) string { return fmt.Sprintf("10.213.%d.%d", n>>6, n%64*4+host) }
		t.Cleanup(func() { _ = ip("netns del " + name) })
		if err := ip("netns add " + name); err != nil {
			t.Skipf("root may not make a network namespace here: %v", err)
		}
		for _, command := range []string{
			"link add " + name + " type veth peer name eth0 netns " + name,
			"addr add " + address(1) + "/30 dev " + name,
			"link set " + name + " up",
			"-n " + name + " addr add " + address(2) + "/30 dev eth0",
			"-n " + name + " link set eth0 up",
			"-n " + name + " link set lo up",
		} {
			if err := ip(command); err != nil {
				t.Fatal(err)
			}
		}
		m.namespace, m.host = name, address(2)
		m.args = append(m.args, "--protected-mode", "no")
	}
}

func ip(args string) error {
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// Disconnect cuts the master off from the network. Connections stay, and nothing comes
// through.
func (m *Master) Disconnect() {
	m.t.Helper()
	m.link("down")
	if !m.Refuses() {
		m.t.Fatalf("master %s can be reached when it is disconnected", m.addr)
	}
}

// Reconnect ends what Disconnect began.
func (m *Master) Reconnect() {
	m.t.Helper()
	m.link("up")
	if !m.Answers() {
		m.t.Fatalf("master %s does not answer when it is connected again", m.addr)
	}
}

func (m *Master) link(state string) {
	m.t.Helper()
	if m.namespace == "" {
		m.t.Fatalf("master %s has no network of its own: see Namespace", m.addr)
	}
	if err := ip("-n " + m.namespace + " link set eth0 " + state); err != nil {
		m.t.Fatal(err)
	}
}
