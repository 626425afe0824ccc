// Package embedded runs Redis masters inside this process, for demos on a machine
// that has nothing but this program. They keep nothing and survive nothing: never
// protect anything real with them.
package embedded

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Masters are independent masters on loopback. Close them.
type Masters struct {
	servers []*miniredis.Miniredis
}

// Start runs n masters, on ports that the kernel chooses.
func Start(n int) (*Masters, error) {
	m := &Masters{}
	for i := range n {
		if err := m.add(); err != nil {
			m.Close()
			return nil, fmt.Errorf("embedded master %d of %d: %w", i+1, n, err)
		}
	}
	return m, nil
}

func (m *Masters) add() error {
	s := miniredis.NewMiniRedis()
	s.ClockTTL(true) // keys end by themselves, as on a real master
	if err := s.Start(); err != nil {
		return err
	}
	s.Server().SetPreHook(newIdentity(s.Port()).answer)
	m.servers = append(m.servers, s)
	return nil
}

// Addrs returns the masters' addresses.
func (m *Masters) Addrs() []string {
	addrs := make([]string, len(m.servers))
	for i, s := range m.servers {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Close ends the masters, with all connections to them. It is idempotent.
func (m *Masters) Close() {
	for _, s := range m.servers {
		s.Close()
	}
}
